package proc

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"github.com/go-cmd/cmd"
)

// start starts c. It uses its own pipes, not those of os/exec, so it notices the end of the program at once, even if
// a grandchild still has the other end open.
func start(c Cmd, path string, out *sink) (*process, error) {
	var pipes []*pipe
	stdout, err := newPipe(&pipes)
	if err != nil {
		return nil, err
	}
	stderr := stdout
	file, toFile := c.Stdout.(*os.File)
	apart := !toFile && (c.KeepStdout > 0 || c.Stdout != nil)
	if apart {
		if stderr, err = newPipe(&pipes); err != nil {
			stdout.close()
			return nil, err
		}
	}
	outputs := [2]*os.File{stdout.w, stderr.w}
	if toFile {
		outputs[0] = file
	}
	p, err := begin(c, path, outputs)
	if err != nil {
		for _, pp := range pipes {
			pp.close()
		}
		return nil, err
	}
	p.pipes = pipes
	for i, pp := range p.pipes {
		p.readers.Go(func() { pp.copy(out, out.stream(i == 0 && apart)) })
	}
	return p, nil
}

// begin starts c under a keeper of its reaper, or directly if there is none.
func begin(c Cmd, path string, outputs [2]*os.File) (*process, error) {
	for try := 1; ; try++ {
		p := &process{}
		start := p.direct
		if c.Reaper.keeps() {
			start = p.kept
		}
		err := start(c, path, outputs)
		// A child forked by another goroutine while the program's file was being written holds it open
		// for a moment (golang.org/issue/22315).
		if !errors.Is(err, syscall.ETXTBSY) || try == 5 {
			return p, err
		}
		time.Sleep(time.Duration(try) * 20 * time.Millisecond)
	}
}

// direct is a program that this process itself started.
type direct struct {
	cmd    Cmd
	pid    int
	began  time.Time
	born   string    // its start time, which distinguishes it from a later process with the same id
	os     *exec.Cmd // to be read only once it has ended
	family []member  // its processes when it was asked to end
}

func (p *process) direct(c Cmd, path string, outputs [2]*os.File) error {
	h := &direct{cmd: c, began: time.Now()}
	prepare := func(ec *exec.Cmd) {
		ec.Args[0] = c.Args[0]
		ec.Stdout, ec.Stderr = outputs[0], outputs[1]
		ec.SysProcAttr = detached()
		ec.WaitDelay = stdinDelay
		h.os = ec
	}
	gc := cmd.NewCmdOptions(cmd.Options{BeforeExec: []func(*exec.Cmd){prepare}}, path, c.Args[1:]...)
	gc.Dir, gc.Env = c.Dir, c.Env
	if gc.Env == nil {
		gc.Env = os.Environ()
	}
	gc.StartWithStdin(c.Stdin)
	status := gc.Status()
	for status.StartTs == 0 { // go-cmd has no signal for "started"; it takes about a millisecond
		time.Sleep(100 * time.Microsecond)
		status = gc.Status()
	}
	if status.PID == 0 {
		return status.Error
	}
	h.pid, h.born = status.PID, bornAt(status.PID)
	p.pid, p.ended, p.holder = h.pid, gc.Done(), h
	c.Reaper.start(h.pid, h.born)
	return nil
}

func (h *direct) outcome() (exit int, signal syscall.Signal) {
	state := h.os.ProcessState
	if state == nil {
		return -1, 0
	}
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return -1, ws.Signal()
	}
	return state.ExitCode(), 0
}

func (h *direct) asking() { h.family = familyOf(h.pid) }

func (h *direct) left() ([]member, bool) {
	if time.Since(h.began) < shortRun && len(h.family) == 0 && nobodyNew(h.pid, h.cmd.Sweep) {
		return nil, true
	}
	alive := survivors(h.pid, h.born, h.cmd.Sweep, h.family)
	return alive, len(alive) == 0
}

func (h *direct) kill() { signalGroup(h.pid, syscall.SIGKILL) }

func (h *direct) leave() (int, error) {
	h.cmd.Reaper.end(h.pid)
	return 0, nil
}

// Child is a program, such as a plugin, whose caller reads its output and decides when it ends.
type Child struct {
	Pid int
	p   *process
	c   Cmd
}

// Start starts the program path. It uses Args, Dir, Env, Sweep and Reaper of c. files are the program's standard
// input, output and error. The caller closes its own copies and must call [Child.Wait].
func Start(path string, c Cmd, files [3]*os.File) (*Child, error) {
	if c.Env == nil {
		c.Env = os.Environ()
	}
	if c.Sweep != "" {
		c.Env = append(c.Env[:len(c.Env):len(c.Env)], c.Sweep)
	}
	c.Stdin = files[0]
	p, err := begin(c, path, [2]*os.File{files[1], files[2]})
	if err != nil {
		return nil, err
	}
	return &Child{Pid: p.pid, p: p, c: c}, nil
}

// Wait waits until the program itself has ended. The exit status is -1 if a signal ended it, and signal is 0 if none
// did.
func (c *Child) Wait() (exit int, signal syscall.Signal) {
	<-c.p.ended
	return c.p.holder.outcome()
}

// Signal sends a signal to the process group of the program. Windows has no way to ask it to end, only to kill it.
func (c *Child) Signal(sig syscall.Signal) {
	if runtime.GOOS != "windows" || sig == syscall.SIGKILL {
		signalGroup(c.Pid, sig)
	}
}

// End kills the remaining processes of the program. Call it once, after Wait. The error means that a process is still
// alive.
func (c *Child) End() error {
	_, _, err := c.p.sweep(c.c, 0)
	return err
}
