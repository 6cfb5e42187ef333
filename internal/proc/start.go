package proc

import (
	"errors"
	"os"
	"os/exec"
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
