package store

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// writerEnv names the file to which this program writes until it is killed, when a test starts it again; writerJob
// names what it writes.
const (
	writerEnv = "RUNPLAN_TEST_WRITER"
	writerJob = "RUNPLAN_TEST_WRITER_JOB"
)

func TestMain(m *testing.M) {
	path, job := os.Getenv(writerEnv), os.Getenv(writerJob)
	if path == "" {
		os.Exit(m.Run())
	}
	jobs := map[string]func(string) error{"journal": writeForEver, "session": rememberForEver, "archive": archiveForEver,
		"calls": addCalls}
	if err := jobs[job](path); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// writeForEver appends three events at a time, and prints the last number after each write.
func writeForEver(path string) error {
	ctx := context.Background()
	j, err := OpenJournal(ctx, path)
	if err != nil {
		return err
	}
	last := 0
	for r, err := range j.Events(ctx, "r", 0) {
		if err != nil {
			return err
		}
		last = r.Seq
	}
	if last == 0 {
		if err := j.AddRun(ctx, started("r")); err != nil {
			return err
		}
	}
	for seq := last + 1; ; seq += 3 {
		if err := j.Append(ctx, events("r", seq, seq+2)...); err != nil {
			return err
		}
		fmt.Println(seq + 2)
	}
}

// A writer that is killed at any moment leaves a valid file with everything that it reported, and no incomplete
// write.
func TestKilledWriterKeepsReportedWrites(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "raw.sqlite")
	for round := range 8 {
		said := killed(t, self, "journal", path, 20+7*round)
		j := opened(t, path)
		var verdict string
		if err := j.db.QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
			t.Fatalf("integrity: %s, %v", verdict, err)
		}
		got := read(t, j, "r", 0)
		if len(got) < said || len(got)%3 != 0 {
			t.Fatalf("%d events; the writer said %d, by threes", len(got), said)
		}
		if d := cmp.Diff(events("r", 1, len(got)), got); d != "" {
			t.Fatal(d)
		}
		j.Close()
	}
}

// killed starts a writer, kills it shortly after a number of reports, and returns the last number that it reported.
func killed(t *testing.T, self, job, path string, words int) int {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), writerEnv+"="+path, writerJob+"="+job)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := 0
	lines := bufio.NewScanner(out)
	for n := 0; lines.Scan(); n++ {
		if _, err := fmt.Sscan(lines.Text(), &said); err != nil {
			break // the last word was cut short
		}
		if n == words {
			// Not directly after a report, because no write is in progress then.
			time.AfterFunc(time.Duration(words)*37*time.Microsecond, func() { cmd.Process.Kill() })
		}
	}
	cmd.Wait() // it was killed: that is no news
	if said == 0 {
		t.Fatal("the writer wrote nothing")
	}
	return said
}
