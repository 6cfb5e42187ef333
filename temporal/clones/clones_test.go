package clones

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/runplan/runplan/runner/local"
	"github.com/runplan/runplan/temporal/teamtest"
)

var day = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(t time.Time) func() time.Time { return func() time.Time { return t } }

func take(t *testing.T, dir string, now time.Time) (*Folder, int) {
	t.Helper()
	f, killed, err := Take(dir, at(now))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f, killed
}

// use creates the clone of a run.
func use(t *testing.T, f *Folder, run string) Clone {
	t.Helper()
	team := teamtest.New(t)
	c, err := f.Begin(run)
	if err == nil {
		_, err = f.Fill(t.Context(), c, team.URL, team.Env)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// detached starts a process in its own session and process group, for which no process waits.
func detached(t *testing.T, mark string) (pid string) {
	t.Helper()
	cmd := exec.Command("bash", "-c", "setsid sleep 300 >/dev/null 2>&1 & echo $!")
	cmd.Env = append(os.Environ(), mark)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	pid = strings.TrimSpace(string(out))
	t.Cleanup(func() { _ = exec.Command("kill", "-9", pid).Run() })
	return pid
}

// alive reports whether a process has memory. A process that is exiting has none, and no zombie has.
func alive(pid string) bool {
	memory, err := os.ReadFile("/proc/" + pid + "/statm")
	return err == nil && !strings.HasPrefix(string(memory), "0 ")
}

// A worker that takes the folder of a killed worker kills the processes that the killed worker started, and no
// others.
func TestNextWorkerKillsLeftoverProcesses(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells the environment of processes")
	}
	dir := t.TempDir()
	dead, _ := take(t, dir, day)
	c, err := dead.Begin("r")
	if err != nil {
		t.Fatal(err)
	}
	ours, other := detached(t, c.Mark), detached(t, "RUNPLAN_WORKER=another")
	dead.Close() // as the system does when it dies: the note still has the mark
	next, killed := take(t, dir, day)
	if killed != 1 || alive(ours) || !alive(other) {
		t.Errorf("killed %d; ours alive: %v, another's alive: %v", killed, alive(ours), alive(other))
	}
	if again, err := next.Begin("r"); err != nil || again.Mark == c.Mark {
		t.Errorf("the mark of a worker that is gone is given out again: %v %v", again, err)
	}
}

// A worker that finishes a run kills the processes in its clone; the next worker finds none to kill.
func TestRunEndKillsCloneProcesses(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells the environment of processes")
	}
	dir := t.TempDir()
	f, _ := take(t, dir, day)
	c, err := f.Begin("r")
	if err != nil {
		t.Fatal(err)
	}
	pid := detached(t, c.Mark)
	if err := f.End(c); err != nil || alive(pid) {
		t.Errorf("%v, alive: %v", err, alive(pid))
	}
	f.Close()
	if _, killed := take(t, dir, day); killed != 0 {
		t.Errorf("killed %d", killed)
	}
}

// A folder belongs to one worker.
func TestSecondWorkerCannotTakeFolder(t *testing.T) {
	dir := t.TempDir()
	f, _ := take(t, dir, day)
	if _, _, err := Take(dir, at(day)); !errors.Is(err, local.ErrLocked) {
		t.Errorf("a second worker: %v", err)
	}
	f.Close()
	take(t, dir, day)
}

// Clones that have not been used for a long time are removed; active clones and recently used ones stay.
func TestUnusedClonesAreRemoved(t *testing.T) {
	dir := t.TempDir()
	f, _ := take(t, dir, day)
	old, lately, busy := use(t, f, "old"), use(t, f, "lately"), use(t, f, "busy")
	for _, c := range []Clone{old, lately} {
		if err := f.End(c); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(old.Dir, 0o555); err != nil { // as some caches do
		t.Fatal(err)
	}
	later := day.AddDate(0, 0, 8)
	f.Now = at(later.AddDate(0, 0, -1))
	if c, err := f.Begin("lately"); err != nil || f.End(c) != nil {
		t.Fatal(err)
	}
	f.Now = at(later)
	list, err := List(dir, DefaultKeep, later)
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]string{}
	for _, x := range list {
		said[filepath.Join(dir, x.Name)] = fmt.Sprintf("%s %v %s", x.Kind, x.Remove, x.Why)
		if x.Bytes < 1000 {
			t.Errorf("clone %s has %d bytes", x.Name, x.Bytes)
		}
	}
	for c, want := range map[Clone]string{
		old:    "clone true of run old, not used since 2026-03-01",
		lately: "clone false of run lately, last used on 2026-03-08; it stays until 2026-03-15",
		busy:   "clone false a worker works in it for run busy",
	} {
		if said[c.Dir] != want {
			t.Errorf("%s: %q, not %q", c.Run, said[c.Dir], want)
		}
	}
	gone, err := f.Prune(DefaultKeep)
	if err != nil || len(gone) != 1 {
		t.Fatalf("%v %v", gone, err)
	}
	for c, want := range map[Clone]bool{old: false, lately: true, busy: true} {
		if _, err := os.Stat(c.Dir); (err == nil) != want {
			t.Errorf("%s: there: %v", c.Run, err == nil)
		}
	}
	if left, err := List(dir, DefaultKeep, later); err != nil || len(left) != 2 {
		t.Errorf("%v %v", left, err)
	}
}

// A worker that is killed while it creates or removes a clone leaves a partial clone, which the next worker removes.
func TestNextWorkerRemovesPartialClone(t *testing.T) {
	dir := t.TempDir()
	f, _ := take(t, dir, day)
	c := use(t, f, "r")
	if err := os.Rename(c.Dir, c.Dir+half); err != nil {
		t.Fatal(err)
	}
	f.Close()
	take(t, dir, day)
	if left, err := filepath.Glob(filepath.Join(dir, "*"+half)); err != nil || len(left) != 0 {
		t.Errorf("%v %v", left, err)
	}
}

// A clone of an earlier build has no note; its age comes from the modification time in the file system.
func TestCloneWithoutNoteUsesFileTime(t *testing.T) {
	dir := t.TempDir()
	f, _ := take(t, dir, day)
	c := use(t, f, "r")
	if err := os.Remove(c.Dir + ".json"); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(c.Dir, day, day); err != nil {
		t.Fatal(err)
	}
	for after, want := range map[time.Duration]bool{DefaultKeep - time.Hour: false, DefaultKeep: true} {
		list, err := List(dir, DefaultKeep, day.Add(after))
		if err != nil || len(list) != 1 || list[0].Remove != want {
			t.Errorf("after %s: %+v %v", after, list, err)
		}
	}
}
