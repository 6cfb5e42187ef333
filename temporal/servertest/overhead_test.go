package servertest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var noops = flag.Int("noops", 0, "batches without work to measure the overhead of both engines with; 0 measures nothing")

// What a batch costs that does nothing, on this machine: agents, gates and git are those of both engines, the rest is theirs.
func TestOverhead(t *testing.T) {
	if *noops == 0 {
		t.Skip("nothing is measured without -noops N; make bench-temporal does it")
	}
	for _, engine := range []string{"local", "temporal"} {
		s := newStage(t)
		var plan strings.Builder
		plan.WriteString("# Nothing\n\n")
		for i := 1; i <= *noops; i++ {
			fmt.Fprintf(&plan, "## Batch %d: nothing\n\n```sh\ntrue\n```\n\n", i)
		}
		s.write("plan.md", plan.String())
		s.commit()
		var args []string
		if engine == "temporal" {
			s.serve()
			s.worker("w1")
			args = s.on()
		}
		began := time.Now()
		out, code := s.callFor(20*time.Minute, append([]string{"run", "plan.md", "--plain"}, args...)...)
		took := time.Since(began)
		if code != 0 {
			t.Fatalf("%s: exit status %d\n%s", engine, code, out[max(0, len(out)-2000):])
		}
		line := fmt.Sprintf("%-8s  %d no-op batches in %s: %s a batch", engine, *noops, took.Round(10*time.Millisecond), (took / time.Duration(*noops)).Round(time.Millisecond))
		if engine == "temporal" {
			db, err := os.Stat(filepath.Join(s.dir, "server.db"))
			if err != nil {
				t.Fatal(err)
			}
			line += fmt.Sprintf("; the server's file has %.1f MB", float64(db.Size())/1e6)
		}
		fmt.Println(line)
	}
	for _, name := range []string{"runplan-temporal", "devserver"} {
		if fi, err := os.Stat(filepath.Join(filepath.Dir(runplan), name)); err == nil {
			fmt.Printf("%-16s  %.1f MB\n", name, float64(fi.Size())/1e6)
		}
	}
}
