package proc

import (
	"os"
	"runtime"
	"syscall"
)

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
