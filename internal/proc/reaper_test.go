//go:build unix

package proc

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func testReaper() (*Reaper, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return StartReaper([]string{"/usr/bin/env", "PROC_TEST_ROLE=reaper", exe})
}

// parentMain is the program that is killed; it runs a child that tries to survive.
func parentMain() {
	r, err := testReaper()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_, _ = Run(context.Background(), Cmd{
		Args: []string{"bash", "-c", `
			trap '' TERM HUP INT
			setsid bash -c 'echo $$ >$D/setsid; while :; do sleep 0.05; done' &
			bash -c 'echo $$ >$D/child; while :; do sleep 0.05; done' &
			echo $$ >$D/leader
			while :; do sleep 0.05; done`},
		Env:    append(os.Environ(), "PROC_TEST_ROLE="),
		Sweep:  NewTag(),
		Reaper: r,
	})
}

func TestReaperEndsOrphanedProcesses(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	x := exec.Command(exe)
	x.Env = append(os.Environ(), "PROC_TEST_ROLE=parent", "D="+dir)
	x.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := x.Start(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"leader", "child", "setsid"} {
		for range 500 {
			if b, _ := os.ReadFile(filepath.Join(dir, name)); len(b) > 0 {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	// Kill the whole group, like the kill of a shell: the reaper must not be in it.
	_ = syscall.Kill(-x.Process.Pid, syscall.SIGKILL)
	_ = x.Wait()
	for _, name := range []string{"leader", "child", "setsid"} {
		if alive(t, filepath.Join(dir, name)) {
			t.Errorf("%s survived", name)
		}
	}
}

func TestReaperSparesReusedProcessID(t *testing.T) {
	x := exec.Command("sleep", "20")
	x.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := x.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = x.Process.Kill(); _ = x.Wait() }()
	pid := strconv.Itoa(x.Process.Pid)
	ReapMain(strings.NewReader(`start "` + pid + `" "12345"` + "\n" + `start "` + pid + `x" ""` +
		"\nnonsense\nstart \"\n"))
	time.Sleep(20 * time.Millisecond)
	if bornAt(x.Process.Pid) == "" {
		t.Error("a process that only has the same id was killed")
	}
	ReapMain(strings.NewReader(`start "` + pid + `" "` + bornAt(x.Process.Pid) + "\"\nend \"" + pid + "\"\n"))
	if bornAt(x.Process.Pid) == "" {
		t.Error("a process whose end was reported was killed")
	}
}

func TestReaperClosesRepeatedly(t *testing.T) {
	r, err := testReaper()
	if err != nil {
		t.Fatal(err)
	}
	c := bash("true")
	c.Reaper, c.Sweep = r, NewTag()
	run(t, c)
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if err := r.Close(); err != nil {
		t.Errorf("a second time: %v", err)
	}
	run(t, c) // a reaper that is gone does no harm
}
