package scripttest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

func cmdNoProcs(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 1 {
		ts.Fatalf("usage: noprocs [TEXT]")
	}
	var left []string
	for end := time.Now().Add(3 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		left = processes(ts.Getenv("WORK"), strings.Join(args, ""))
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			ts.Fatalf("processes are left:\n%s", strings.Join(left, "\n"))
		}
	}
}

// processes lists the processes whose folder is in work, those that a run in it started, and those with text in their
// command line.
func processes(work, text string) []string {
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		return psProcesses(work, text)
	}
	var left []string
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		if dir == "/proc/"+strconv.Itoa(os.Getpid()) {
			continue
		}
		cmdline, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		cmdline = bytes.ReplaceAll(cmdline, []byte{0}, []byte{' '})
		environ, _ := os.ReadFile(filepath.Join(dir, "environ"))
		cwd, _ := os.Readlink(filepath.Join(dir, "cwd"))
		ran := bytes.Contains(environ, []byte("RUNPLAN_RUN=")) && bytes.Contains(environ, []byte(work))
		if ran || cwd == work || strings.HasPrefix(cwd, work+"/") || text != "" && bytes.Contains(cmdline, []byte(text)) {
			left = append(left, fmt.Sprintf("%s %q in %s", filepath.Base(dir), cmdline, cwd))
		}
	}
	return left
}

// psProcesses replaces processes on systems without /proc; ps shows the environment of the user's own processes.
func psProcesses(work, text string) []string {
	out, _ := exec.Command("ps", "axeww", "-o", "pid=,command=").Output()
	var left []string
	for line := range strings.Lines(string(out)) {
		ran := strings.Contains(line, "RUNPLAN_RUN=") && strings.Contains(line, work)
		if ran || text != "" && strings.Contains(line, text) && !strings.Contains(line, filepath.Base(os.Args[0])) {
			left = append(left, strings.TrimSpace(line))
		}
	}
	return left
}
