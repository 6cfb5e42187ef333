package proc

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A process that a program leaves is found among the few processes that started later: by its group, its session or
// its tag.
func TestFindLeftProcesses(t *testing.T) {
	tag := NewTag()
	for name, script := range map[string]string{
		"nothing": "true",
		"group":   "sleep 30 & echo $!",
		"session": "set -m; sleep 30 & echo $!",
		"tag":     "setsid sleep 30 & sleep 0.05; echo $!",
	} {
		x := exec.Command("bash", "-c", script+" 2>/dev/null </dev/null")
		x.Env = append(x.Environ(), tag)
		x.SysProcAttr = detached()
		out, err := output(x)
		if err != nil {
			t.Fatal(err)
		}
		left, _ := strconv.Atoi(out)
		if got, want := nobodyNew(x.Process.Pid, tag), name == "nothing"; got != want {
			t.Errorf("%s: no process is left: %v", name, got)
		}
		if left > 0 {
			_ = syscall.Kill(left, syscall.SIGKILL)
		}
	}
	if nobodyNew(1<<29, "") {
		t.Error("an id that was never given out")
	}
}

// A process that is in the middle of exec, where its environment is absent or incomplete, is swept too. A large
// environment makes exec take longer.
func TestSweepKillsProcessesInExec(t *testing.T) {
	var large []string
	for i := range 2_000 {
		large = append(large, fmt.Sprintf("ENTRY_%d=1", i))
	}
	for i := range 100 {
		tag := NewTag()
		x := exec.Command("sh", "-c", "setsid sleep 30 >/dev/null 2>&1 & echo $!")
		x.Env = append(x.Environ(), tag)
		if i%2 == 0 {
			x.Env = append(x.Env, large...)
		}
		out, err := x.Output()
		if err != nil {
			t.Fatal(err)
		}
		Sweep(tag)
		pid, _ := strconv.Atoi(strings.TrimSpace(string(out)))
		for end := time.Now().Add(time.Second); bornAt(pid) != "" && time.Now().Before(end); { // it may still be exiting
			time.Sleep(time.Millisecond)
		}
		if bornAt(pid) != "" {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			t.Fatalf("process %s survived", out)
		}
	}
}

// output reads the first line that a program prints, even if a process that it leaves holds the pipe open.
func output(x *exec.Cmd) (string, error) {
	r, err := x.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := x.Start(); err != nil {
		return "", err
	}
	buf := make([]byte, 64)
	n, _ := r.Read(buf)
	time.Sleep(20 * time.Millisecond)
	_, err = x.Process.Wait()
	line := string(buf[:n])
	for len(line) > 0 && line[len(line)-1] == '\n' {
		line = line[:len(line)-1]
	}
	return line, err
}
