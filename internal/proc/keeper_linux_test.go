package proc

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/runplan/runplan/tools/tooltest"
)

// escape is a shell function that starts a process which writes its id to the file $1. The process is detached by a
// double fork, with its own session, an empty environment and none of our files.
const escape = `escape() { (setsid env -i /bin/sh -c "$2 cd /; echo \$\$ >$1.new; mv $1.new $1; while :; do sleep 0.05; done" </dev/null >/dev/null 2>&1 &); while [ ! -s $1 ]; do sleep 0.01; done; }
`

func keptReaper(t *testing.T) *Reaper {
	t.Helper()
	r, err := testReaper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func TestKeeperEndsEscapedProcesses(t *testing.T) {
	tooltest.Slow(t)
	r := keptReaper(t)
	for name, script := range map[string]string{
		"double fork, session, empty environment": `escape $F; exit 0`,
		"and it ignores TERM":                     `escape $F "trap '' TERM HUP INT;"; exit 0`,
		"and the program is stopped by its limit": `escape $F; sleep 30`,
		"after it killed its keeper":              `escape $F; kill -KILL $PPID; sleep 30`,
		"after it killed its keeper, later":       `kill -KILL $PPID; escape $F; sleep 30`,
		"in group and session after session":      `escape $F "setsid setsid sleep 0.3 & set -m;"; exit 0`,
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "pid")
			c := bash(escape + script)
			c.Env, c.Reaper = append(os.Environ(), "F="+file), r
			c.Limits = Limits{Total: 1500 * time.Millisecond, Grace: 200 * time.Millisecond}
			if _, err := Run(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			next := bash("true")
			next.Reaper = r
			if res := run(t, next); !res.OK() {
				t.Errorf("the next program: %+v", res)
			}
			if b, err := os.ReadFile(file); err != nil && strings.Contains(script, "KILL $PPID; escape") {
				return // it was ended before
			} else if pid := strings.TrimSpace(string(b)); bornAt(number([]byte(pid))) != "" {
				t.Errorf("%s survived", pid)
			}
		})
	}
}

// A program that forks endlessly is ended.
func TestForkBombIsEnded(t *testing.T) {
	r := keptReaper(t)
	for name, script := range map[string]string{
		"a relay": `relay() { [ -e $F ] || { sleep 0.002; relay & }; }; relay; sleep 0.1; touch $F.on`,
		"a crowd": `crowd() { [ -e $F ] || { n=$((n+1)); [ $n -gt 4 ] && sleep 5 || { crowd & crowd & wait; }; }; }; n=0; crowd & sleep 0.2`,
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "stop")
			defer os.WriteFile(file, nil, 0o600)
			c := bash(script)
			c.Env, c.Reaper = append(os.Environ(), "F="+file), r
			res, err := Run(t.Context(), c)
			if err != nil || res.Swept == 0 {
				t.Errorf("swept %d, %v", res.Swept, err)
			}
			c.Args[2] = "true"
			if res := run(t, c); !res.OK() {
				t.Errorf("the next program: %+v", res)
			}
		})
	}
}

// A keeper ends the processes that its program leaves, and not those of another program.
func TestKeeperSparesOtherPrograms(t *testing.T) {
	r := keptReaper(t)
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	ready, done := make(chan bool, 1), make(chan Result, 1)
	go func() {
		c := bash(escape + "escape " + dir + "/other; echo ready; sleep 30")
		c.Reaper = r
		c.Line = func(string) { ready <- true }
		res, _ := Run(ctx, c)
		done <- res
	}()
	<-ready
	other, _ := os.ReadFile(dir + "/other")
	for _, script := range []string{"escape " + dir + "/one", "escape " + dir + "/two; kill -KILL $PPID"} {
		c := bash(escape + script)
		c.Reaper = r
		run(t, c)
		if bornAt(number([]byte(strings.TrimSpace(string(other))))) == "" {
			t.Errorf("%s: a process of another program was ended", script)
		}
	}
	for _, name := range []string{"one", "two"} {
		if alive(t, filepath.Join(dir, name)) {
			t.Errorf("%s survived", name)
		}
	}
	cancel()
	if res := <-done; res.Ended != Cancelled || res.Swept == 0 {
		t.Errorf("the other program: %+v", res)
	}
	if alive(t, filepath.Join(dir, "other")) {
		t.Error("a child of the other program survived")
	}
}

// busyMain starts other programs without a pause until it is killed.
func busyMain() {
	r, err := testReaper()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for range 3 {
		go func() {
			for {
				c := bash(`(setsid env -i /bin/sleep 61 </dev/null >/dev/null 2>&1 &); sleep 61 & exit 0`)
				c.Dir, c.Reaper, c.Sweep = os.Getenv("D"), r, NewTag()
				_, _ = Run(context.Background(), c)
			}
		}()
	}
	select {}
}

// If this program is killed at any moment, no process that it was starting survives.
func TestKilledParentLeavesNoProcess(t *testing.T) {
	tooltest.Slow(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for i := range 40 {
		dir := t.TempDir()
		x := exec.Command(exe)
		x.Env = append(os.Environ(), "PROC_TEST_ROLE=busy", "D="+dir)
		if err := x.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(20+i*3) * time.Millisecond)
		_ = x.Process.Kill()
		_ = x.Wait()
		var left []string
		for range 300 {
			if left = at(dir); len(left) == 0 {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		if len(left) > 0 {
			t.Fatalf("kill %d: the processes %q still run", i, left)
		}
	}
}

// at lists the processes whose working directory is dir.
func at(dir string) (out []string) {
	links, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, l := range links {
		if to, err := os.Readlink(l); err == nil && to == dir {
			out = append(out, nameOf(number([]byte(filepath.Base(filepath.Dir(l))))))
		}
	}
	return out
}

// Without the reaper no program is started, because nothing would end it.
func TestStartRequiresReaper(t *testing.T) {
	r := keptReaper(t)
	c := bash("true")
	c.Reaper = r
	run(t, c)
	_ = r.child.Process.Signal(syscall.SIGKILL)
	<-r.keepers.gone
	if _, err := Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), "killed by another process") {
		t.Errorf("got %v", err)
	}
}

// A program under a keeper gets its input, its folder and the last value of a variable, at any length.
func TestKeeperForwardsInputAndEnvironment(t *testing.T) {
	r := keptReaper(t)
	c := bash(`pwd; echo "$A"; printf %s "$B" | wc -c; wc -c; ls -l /proc/$$/fd | grep -c -- '->'`)
	c.Dir, c.Reaper = t.TempDir(), r
	c.Env = append(os.Environ(), "A=1", "A=\xff\n2", "B="+strings.Repeat("b", 100000))
	c.Stdin = strings.NewReader(strings.Repeat("x", 1<<20))
	want := c.Dir + "\n\xff\n2\n100000\n1048576\n"
	if res := run(t, c); !strings.HasPrefix(res.Tail, want) {
		t.Errorf("got %q, want %q", res.Tail, want)
	}
}

// A program can run after the cgroup of an earlier one was killed.
func TestRunAfterKilledCgroup(t *testing.T) {
	r := keptReaper(t)
	for range 3 {
		c := bash("sleep 30 & exit 0")
		c.Reaper = r
		p, err := begin(c, "/bin/bash", [2]*os.File{os.Stderr, os.Stderr})
		if err != nil {
			t.Fatal(err)
		}
		<-p.ended
		if exit, signal := p.holder.outcome(); exit != 0 || signal != 0 {
			t.Errorf("exit %d, signal %v", exit, signal)
		}
		p.holder.(*kept).kills = patience
		p.holder.kill()
		if _, _, err := p.sweep(c, 0); err != nil {
			t.Error(err)
		}
	}
}

// A process that waits for another one does not reach its next step when both are killed, in any order.
func TestKillStopsWaitingProcess(t *testing.T) {
	for range 5 {
		file := filepath.Join(t.TempDir(), "late")
		x := exec.Command("bash", "-c", "sleep 30 & p=$!; for i in {1..100}; do sleep 31 & done; wait $p; echo late >"+file)
		x.SysProcAttr = detached()
		if err := x.Start(); err != nil {
			t.Fatal(err)
		}
		var ms []member
		for len(ms) < 102 {
			ms = familyOf(x.Process.Pid)
		}
		time.Sleep(20 * time.Millisecond) // until it waits
		slices.SortFunc(ms, func(a, b member) int { return a.pid - b.pid })
		killMembers(append(ms[1:], ms[0])) // its child first, itself last
		_ = x.Wait()
		if _, err := os.Stat(file); err == nil {
			t.Fatal("the parent continued when its child was killed")
		}
	}
}
