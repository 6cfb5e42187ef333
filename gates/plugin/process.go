package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/runplan/runplan/internal/proc"
)

// process is the program of a plugin. go-plugin drives it through its runner interface. This package does what
// go-plugin does less well: it ends all processes, reads their output without ever blocking them, and explains errors.
type process struct {
	program string
	args    []string // of it
	dir     string
	env     []string
	log     *capture
	tag     string
	reaper  *proc.Reaper

	stdin  *os.File // our end; the plugin ends with it
	stderr *os.File
	greets *greeting

	mu      sync.Mutex
	child   *proc.Child // nil before it was started
	killed  bool
	err     error          // why it could not be started
	gone    chan struct{}  // closed when the program has ended
	done    chan struct{}  // closed when all its processes have ended and their output has been read
	exit    int            // its exit status, after it has ended
	signal  syscall.Signal // the signal that ended it; 0 is none
	readers sync.WaitGroup
	dry     chan struct{}
}

const drainTime = time.Second // for output that an unkillable process may still hold

func newProcess(program string, args []string) *process {
	return &process{program: program, args: args, tag: proc.NewTag(), gone: make(chan struct{}), done: make(chan struct{}),
		dry: make(chan struct{}, 1)}
}

// Start implements runner.Runner.
func (p *process) Start(context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err = p.start()
	return p.err
}

func (p *process) start() error {
	if p.killed {
		return errors.New("stopped before it was started")
	}
	in, stdin, err := os.Pipe()
	if err != nil {
		return err
	}
	stdout, out, err := os.Pipe()
	if err != nil {
		closeAll(in, stdin)
		return err
	}
	stderr, errs, err := os.Pipe()
	if err != nil {
		closeAll(in, stdin, stdout, out)
		return err
	}
	child, err := proc.Start(p.program, proc.Cmd{
		Args: append([]string{p.program}, p.args...), Dir: p.dir, Env: p.env, Sweep: p.tag, Reaper: p.reaper,
	}, [3]*os.File{in, out, errs})
	closeAll(in, out, errs)
	if err != nil {
		closeAll(stdin, stdout, stderr)
		return startError(err, p.program, p.dir)
	}
	p.child, p.stdin, p.stderr = child, stdin, stderr
	p.greets = newGreeting(p.log)
	p.readers.Go(func() { p.greets.read(stdout) })
	p.readers.Go(func() { p.readStderr() })
	go func() {
		p.exit, p.signal = child.Wait()
		close(p.gone)
		child.Signal(syscall.SIGKILL) // the group; the system does not reuse its id while it has a member
		if err := child.End(); err != nil {
			_, _ = fmt.Fprintln(p.log, err)
		}
		closer := time.AfterFunc(drainTime, func() { closeAll(stdout, stderr) })
		p.readers.Wait()
		closer.Stop()
		closeAll(stdin, stdout, stderr)
		p.greets.end()
		close(p.done)
	}()
	return nil
}

func startError(err error, program, dir string) error {
	if err == nil {
		return nil
	}
	if fi, derr := os.Stat(dir); dir != "" && (derr != nil || !fi.IsDir()) {
		return fmt.Errorf("its working directory %s cannot be entered", dir)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: the interpreter in the first line of %s is missing, or it was built for another system",
			proc.ErrNotFound, program)
	case errors.Is(err, syscall.ENOEXEC):
		return fmt.Errorf("it is neither a program for this machine nor a script that begins with #!: %w", err)
	}
	return err
}

// readStderr writes the plugin's output to the log until the end. A deadline only marks that all available output has
// been read.
func (p *process) readStderr() {
	defer close(p.dry)
	buf := make([]byte, 32<<10)
	for {
		n, err := p.stderr.Read(buf)
		_, _ = p.log.Write(buf[:n])
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			_ = p.stderr.SetReadDeadline(time.Time{})
			p.dry <- struct{}{}
		case err != nil:
			return
		}
	}
}

// settle waits until the log contains all output so far.
func (p *process) settle() {
	if p.stderr.SetReadDeadline(time.Now().Add(2*time.Millisecond)) != nil {
		return // pipes of this system have no deadlines
	}
	select {
	case <-p.dry:
	case <-p.done:
	case <-time.After(drainTime):
	}
}

// end ends the program and all its processes, with a signal first if grace allows. It returns when all have ended.
func (p *process) end(grace time.Duration) {
	p.mu.Lock()
	p.killed = true
	child := p.child
	p.mu.Unlock()
	if child == nil {
		return // it will never start now
	}
	if grace > 0 && !p.ended(0) {
		_ = p.stdin.Close()
		child.Signal(syscall.SIGTERM)
		p.ended(grace)
	}
	if !p.ended(0) {
		child.Signal(syscall.SIGKILL)
	}
	p.ended(5 * time.Second) // the kernel may be slow to release it
}

// ended waits up to d for the end of the program.
func (p *process) ended(d time.Duration) bool {
	select {
	case <-p.done:
		return true
	default:
	}
	if d <= 0 {
		return false
	}
	select {
	case <-p.done:
		return true
	case <-time.After(d):
		return false
	}
}

// dead reports whether the program has ended by itself, and if so waits for its other processes.
func (p *process) dead() bool {
	select {
	case <-p.gone:
		p.ended(5 * time.Second)
		return true
	default:
		return false
	}
}

// how returns how the program ended, for people.
func (p *process) how() string {
	if !p.ended(0) {
		return "it ended"
	}
	switch {
	case p.signal == syscall.SIGKILL:
		return "it was killed from outside; is there enough memory?"
	case p.signal != 0:
		return fmt.Sprintf("it was killed by a signal (%v)", p.signal)
	}
	return fmt.Sprintf("it exited with status %d", p.exit)
}

// The rest of runner.Runner.

// Wait waits for the end.
func (p *process) Wait(context.Context) error { <-p.done; return nil }

// Kill ends the program immediately.
func (p *process) Kill(context.Context) error { p.end(0); return nil }

// Stdout returns the handshake line, after validation, and then nothing until the end.
func (p *process) Stdout() io.ReadCloser { return p.greets.out }

// Stderr returns an empty reader: this package reads the standard error.
func (p *process) Stderr() io.ReadCloser { return io.NopCloser(strings.NewReader("")) }

// Name returns the program.
func (p *process) Name() string { return p.program }

// ID returns the process id, "" before there is one.
func (p *process) ID() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.child == nil {
		return ""
	}
	return strconv.Itoa(p.child.Pid)
}

// Diagnose returns "": this package reports the errors.
func (p *process) Diagnose(context.Context) string { return "" }

// PluginToHost and HostToPlugin change nothing: both sides see the same files.
func (p *process) PluginToHost(network, addr string) (string, string, error) {
	return network, addr, nil
}

// HostToPlugin returns the address unchanged.
func (p *process) HostToPlugin(network, addr string) (string, string, error) {
	return network, addr, nil
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}
