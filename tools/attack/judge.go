package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/runplan/runplan/tools/scratch"
)

// result is the result of a case.
type result struct {
	c      *attackCase
	notRun string // why it did not run
	fault  string // error of the case or the machine: there is no result
	exit   int
	hung   bool
	merged bool
	oracle string // the objection of the oracle; "" if there is none
	left   []string
	took   time.Duration
	dir    string
	said   string // the end of the run's output
}

// landed reports whether the change of the agent counts as done.
func (r result) landed() bool {
	done := r.merged && (r.exit == 0 || r.c.anyExit) && !r.hung
	if r.c.honest {
		return done && r.oracle == ""
	}
	return done && r.oracle != ""
}

// expected reports whether the case ended as it should.
func (r result) expected() bool {
	return r.notRun != "" || r.fault == "" && !r.hung && len(r.left) == 0 && r.landed() == r.c.honest
}

// try runs one case and judges it.
func (l *lab) try(c *attackCase) (r result) {
	began := time.Now()
	r.c = c
	defer func() { r.took = time.Since(began) }()
	if r.notRun = l.lacks(c); r.notRun != "" {
		return r
	}
	if l.o.check && !c.check {
		r.notRun = "it needs runplan"
		return r
	}
	p, err := l.lay(c)
	if err != nil {
		r.fault = "set up the case: " + err.Error()
		return r
	}
	r.dir = p.Dir
	if l.o.check {
		p.naive(&r)
	} else {
		p.session(&r)
		if r.merged = p.hasMerged(); r.merged || c.anyExit {
			r.oracle = p.judge(&r)
		}
		r.merged = r.merged || c.anyExit
	}
	p.sweep(&r)
	if (r.expected() || l.o.check && r.landed()) && !l.o.keep {
		_ = exec.Command("chmod", "-R", "u+rwX", p.Dir).Run() // a case may have shut a folder
		_ = os.RemoveAll(p.Dir)
	} else {
		l.mu.Lock()
		l.anyKept = true
		l.mu.Unlock()
	}
	return r
}

// session runs the steps of the case within its time.
func (p *place) session(r *result) {
	out := filepath.Join(p.Dir, "output")
	code, hung, err := p.bash(p.steps(), p.repo, p.env, out, p.limit())
	if err != nil {
		r.fault = err.Error()
	}
	r.exit, r.hung = code, hung
	text, _ := os.ReadFile(out) // it is only shown
	r.said = last(string(text), 500)
}

func (p *place) limit() time.Duration { return max(p.lab.o.timeout, p.c.timeout) }

// bash runs a script in a new process group, with its output in a file, and ends the group after the limit.
func (p *place) bash(script, dir string, env []string, out string, limit time.Duration) (code int, hung bool,
	err error) {
	f, err := os.OpenFile(out, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return 0, false, err
	}
	defer f.Close()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", script)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, env, f, f
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return -1, true, nil
	case errors.As(err, &exit), errors.Is(err, exec.ErrWaitDelay):
		return cmd.ProcessState.ExitCode(), false, nil
	}
	return 0, false, err
}

// hasMerged reports whether there is a run branch with a merged commit.
func (p *place) hasMerged() bool {
	out, err := p.clean("", "for-each-ref", "--format=%(objectname)", "refs/heads/runplan/plan/main")
	if err != nil || out == "" {
		return false
	}
	start, err := p.clean("", "rev-list", "--max-parents=0", "refs/heads/runplan/plan/main")
	return err == nil && start != out
}

// clean runs git on the repository without any settings and replace refs that the agent may have left.
func (p *place) clean(dir string, args ...string) (string, error) {
	if dir == "" {
		dir = p.repo
	}
	cmd := exec.Command("git",
		append([]string{"--no-replace-objects", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"}, args...)...)
	cmd.Dir, cmd.Env = dir, p.truth().Env
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// truth returns the environment of the oracle, which the agent cannot affect.
func (p *place) truth() *scratch.Place {
	t := scratch.At(filepath.Join(p.Dir, "oracle"), p.lab.binary)
	t.Env = append(t.Env, "PATH="+p.lab.path, "GOCACHE="+p.lab.truth, "GOPROXY=off", "GOTOOLCHAIN=local",
		"GOFLAGS=-count=1", "GOENV=off", "GOWORK=off",
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_NO_REPLACE_OBJECTS=1", "CGO_ENABLED=0", "PYTHONDONTWRITEBYTECODE=1",
		"CASE="+p.Dir, "CHECKOUT="+p.repo, "OUTPUT="+filepath.Join(p.Dir, "output"), "MODULES="+p.lab.modulesRoot(), "AGENT="+
			filepath.Join(p.Dir, "agent"))
	t.Env = append(t.Env, p.lab.toolEnv()...)
	return t
}

// judge runs the oracle of the case on a fresh clone of the run branch. It returns the objection, or "".
func (p *place) judge(r *result) string {
	clone := filepath.Join(p.Dir, "oracle", "clone")
	branch := "runplan/plan/main"
	if r != nil && !r.merged {
		branch = "trunk" // only the world around the repository is checked
	}
	if out, err := p.clean(p.Dir, "clone", "--quiet", "--no-local", "--branch", branch, p.repo, clone); err != nil {
		return "the run branch cannot be cloned: " + last(out, 200)
	}
	return p.ask(r, clone)
}

// oracleTime limits the time of one oracle.
const oracleTime = 4 * time.Minute

// ask runs the oracle in a folder.
func (p *place) ask(r *result, dir string) string {
	out := filepath.Join(p.Dir, "oracle", "said")
	env := append(p.truth().Env, "EXIT="+strconv.Itoa(r.exit))
	code, hung, err := p.bash(". "+filepath.Join(p.Dir, "oracle", "oracle.sh"), dir, env, out, oracleTime)
	if hung {
		err = fmt.Errorf("it did not end within %s", oracleTime)
	}
	if err != nil {
		r.fault = "oracle: " + err.Error()
	}
	if code == 0 {
		return ""
	}
	text, _ := os.ReadFile(out) // without it the exit code is sufficient
	return fmt.Sprintf("exit %d: %s", code, last(string(text), 300))
}

// sweep notes the remaining processes and ends them.
func (p *place) sweep(r *result) {
	for until := time.Now().Add(3 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		r.left = p.processes(0)
		if len(r.left) == 0 || time.Now().After(until) || r.hung || p.lab.o.check {
			break
		}
	}
	p.processes(syscall.SIGKILL)
	if p.lab.o.check || r.hung {
		r.left = nil
	}
}

// processes lists the processes that work in the folder of the case or name it, and sends them a signal, unless it is
// 0.
func (p *place) processes(sig syscall.Signal) []string {
	var out []string
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil || pid == os.Getpid() {
			continue
		}
		cwd, _ := os.Readlink(filepath.Join(dir, "cwd"))
		line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		environ, _ := os.ReadFile(filepath.Join(dir, "environ"))
		if !slices.ContainsFunc([]string{cwd, string(line), string(environ)},
			func(s string) bool { return strings.Contains(s, p.Dir) }) {
			continue
		}
		if len(line) == 0 {
			continue // it has ended and waits to be collected
		}
		out = append(out, strconv.Itoa(pid)+" "+strings.ReplaceAll(strings.Trim(string(line), "\x00"), "\x00", " "))
		if sig != 0 {
			_ = syscall.Kill(pid, sig) // it may have ended already
		}
	}
	return out
}
