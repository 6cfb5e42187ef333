// Package proc runs other programs; no other package does.
//
// [Run] starts a program in a new session, without a terminal and with empty standard input unless the caller gives
// some. It watches output and limits. When Run returns, none of the program's processes is alive: no child, no
// background process and, with [Cmd.Sweep], not even a detached one. [Output] is the short form for short trusted
// programs such as git. A [Reaper] does the same clean-up if runplan itself is killed.
//
// Memory use is limited, whatever a program prints. Exit status, exceeded limits and signals are in the [Result]; an
// error means that the program could not be started.
package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
)

// ErrNotFound reports that the program does not exist or is not executable.
var ErrNotFound = errors.New("program not found")

// Cmd is a program to run.
type Cmd struct {
	Args   []string  // the program and its arguments; a bare name is looked up in the PATH of Env
	Dir    string    // working directory; "" is the current one
	Env    []string  // complete environment, KEY=VALUE; nil inherits
	Stdin  io.Reader // nil is empty: the program reads EOF at once
	Limits Limits

	// Line receives each line of output while the program runs, free of control codes and cut at 4 KiB.
	// Calls come one at a time; a slow Line slows the program down.
	Line func(string)
	// Redact, if set, removes secrets from everything in Line, Log and Result.Tail. It gets whole lines.
	Redact func(string) string
	// Log names a file to which the combined output is appended. It grows to at most 64 MiB and then notes the cut.
	Log string

	Keep       int // bytes of the end of the combined output to keep; 0 is 64 KiB
	KeepStdout int // if > 0, standard output is also kept separately, up to this many bytes
	// Stdout receives standard output alone, complete and unchanged, while the program runs. Writes are sequential and
	// end before Run returns; their results are ignored. If it is an *os.File, the program writes to it directly: that
	// output counts neither for Limits.Idle nor for Result.
	Stdout io.Writer

	// Sweep is a unique environment entry KEY=VALUE, see [NewTag]. Run adds it to Env and finally kills every process
	// that has it, even one that has left session and group (Linux).
	Sweep string
	// Reaper, if not nil, kills the program if this process is killed.
	Reaper *Reaper
}

// Limits end a program. Zero means no such limit.
type Limits struct {
	Total time.Duration // from start to end
	Idle  time.Duration // without a byte of output
	Grace time.Duration // between asking to end (TERM) and killing (KILL); 0 is two seconds
}

// Reason says how a program ended.
type Reason string

// The reasons.
const (
	Exited    Reason = "exited"
	Signaled  Reason = "signaled"  // by another process
	Total     Reason = "total"     // stopped here: Limits.Total was reached
	Idle      Reason = "idle"      // stopped here: Limits.Idle was reached
	Cancelled Reason = "cancelled" // stopped here: the context ended, see Result.Cause
)

// Result describes a program that has ended.
type Result struct {
	Exit      int    // exit status; -1 if it was killed by a signal or never ran
	Signal    string // "SIGKILL" and the like, if a signal ended it
	Ended     Reason
	Cause     error  // why the context ended, with Cancelled
	Tail      string // the end of the combined output, as printed
	Stdout    []byte // with Cmd.KeepStdout
	Truncated bool   // Stdout is truncated
	Bytes     int64  // size of all output
	Duration  time.Duration
	Swept     int // processes that outlived the program and were killed
	// Left lists their command lines, ten at most, redacted and safe to show. It is empty if the system does not report
	// them; see Swept.
	Left   []string
	LogErr error // Cmd.Log could not be written to its end
}

// OK reports whether the program exited on its own, with status 0.
func (r Result) OK() bool { return r.Ended == Exited && r.Exit == 0 }

// How says how the program ended, as the predicate of a sentence.
func (r Result) How() string {
	switch r.Ended {
	case Exited:
		return fmt.Sprintf("exited with status %d", r.Exit)
	case Signaled:
		return "was killed by " + r.Signal
	case Total:
		return "reached its time limit"
	case Idle:
		return "printed nothing for too long"
	}
	return "was stopped"
}

// LeftBehind names the processes that outlived the program; "" for none.
func (r Result) LeftBehind() string {
	if r.Swept == 0 {
		return ""
	}
	text := phrase.Count(r.Swept, "process left in the background was killed", "processes left in the background were killed")
	if len(r.Left) > 0 {
		text += ": " + strings.Join(r.Left, ", ")
	}
	return text
}

const (
	defaultGrace = 2 * time.Second
	sweepGrace   = 250 * time.Millisecond // for processes that outlive a program which exited on its own
	stdinDelay   = time.Second            // for a Cmd.Stdin reader that does not end
	lostDelay    = 5 * time.Second        // for a killed process that the kernel does not release
	shortRun     = 200 * time.Millisecond // too short for a process ID to be used again
)

// Run runs c to its end. The error is not nil only if c could not be started.
func Run(ctx context.Context, c Cmd) (Result, error) {
	if len(c.Args) == 0 {
		return Result{Exit: -1}, errors.New("run a program: no program given")
	}
	if ctx.Err() != nil {
		return Result{Exit: -1, Ended: Cancelled, Cause: context.Cause(ctx)}, nil
	}
	path, err := LookPath(c.Args[0], c.Env)
	if err != nil {
		return Result{Exit: -1}, fmt.Errorf("run %s: %w", c.Args[0], err)
	}
	out, err := newSink(c)
	if err != nil {
		return Result{Exit: -1}, fmt.Errorf("run %s: %w", c.Args[0], err)
	}
	defer out.close()
	if c.Sweep != "" {
		if c.Env == nil {
			c.Env = os.Environ()
		}
		c.Env = append(slices.Clip(c.Env), c.Sweep)
	}
	if c.Limits.Grace <= 0 {
		c.Limits.Grace = defaultGrace
	}

	began := time.Now()
	p, err := start(c, path, out)
	if err != nil {
		return Result{Exit: -1}, fmt.Errorf("run %s: %w", c.Args[0], startError(err, c))
	}
	res := p.supervise(ctx, c.Limits, out)
	res.Swept, res.Left, err = p.sweep(c, min(c.Limits.Grace, sweepGrace))
	p.drain()
	res.Duration = time.Since(began)
	out.finish(&res)
	if err != nil {
		return res, fmt.Errorf("run %s: %w", c.Args[0], err)
	}
	return res, nil
}

type process struct {
	pid     int
	ended   <-chan struct{} // closed when the program itself has ended
	holder  holder
	pipes   []*pipe
	readers sync.WaitGroup
}

// holder finds the processes of a running program: [direct] by the system's process table, [kept] because all are below
// one keeper.
type holder interface {
	// outcome returns how the program ended. It is called after that.
	outcome() (exit int, signal syscall.Signal)
	// asking is called when the program is about to be asked to end.
	asking()
	// left lists the living processes of the program. none is true if certainly none exists.
	left() (alive []member, none bool)
	// kill kills in one operation all processes that the kernel can kill this way.
	kill()
	// leave is called last. It returns how many processes others had to kill.
	leave() (more int, err error)
}

// supervise waits for the end of the program, or ends it.
func (p *process) supervise(ctx context.Context, l Limits, out *sink) Result {
	res := Result{Exit: -1}
	total, idle := newTimer(l.Total), newTimer(l.Idle)
	defer total.Stop()
	defer idle.Stop()
	for res.Ended == "" {
		select {
		case <-p.ended:
			p.outcome(&res)
			return res
		case <-ctx.Done():
			res.Ended, res.Cause = Cancelled, context.Cause(ctx)
		case <-total.C:
			res.Ended = Total
		case <-idle.C:
			if left := l.Idle - time.Since(out.lastByte()); left > 0 {
				idle.Reset(left)
			} else {
				res.Ended = Idle
			}
		}
	}

	if p.waitEnd(0) { // it was faster
		res.Cause = nil
		p.outcome(&res)
		return res
	}
	p.holder.asking()
	signalGroup(p.pid, syscall.SIGTERM)
	if !p.waitEnd(l.Grace) {
		signalGroup(p.pid, syscall.SIGKILL) // agents trap TERM
		left, _ := p.holder.left()
		killMembers(left)
		if !p.waitEnd(lostDelay) {
			return res
		}
	}
	ended := res.Ended
	p.outcome(&res)
	res.Ended = ended
	return res
}

// newTimer returns a timer that never fires for a limit of zero.
func newTimer(d time.Duration) *time.Timer {
	if d > 0 {
		return time.NewTimer(d)
	}
	t := time.NewTimer(time.Hour)
	t.Stop()
	return t
}

// waitEnd waits for the end of the program, for d at most.
func (p *process) waitEnd(d time.Duration) bool {
	select {
	case <-p.ended:
	case <-time.After(d):
	}
	return isClosed(p.ended)
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// outcome reads exit status and signal. A program that exits with 137 was not killed, whatever shells report.
func (p *process) outcome(res *Result) {
	res.Ended = Exited
	exit, signal := p.holder.outcome()
	res.Exit = exit
	if signal != 0 {
		res.Ended, res.Exit, res.Signal = Signaled, -1, signalName(signal)
	}
}

func (p *process) drain() {
	for _, pp := range p.pipes {
		pp.drain()
	}
	p.readers.Wait()
}

// ExitError reports a program that ran and did not exit with status 0.
type ExitError struct {
	Args   []string
	Code   int    // -1 if a signal ended it
	Signal string // its name
	Stderr string // the last 64 KiB
}

func (e *ExitError) Error() string {
	how := fmt.Sprintf("exit status %d", e.Code)
	if e.Signal != "" {
		how = "killed by " + e.Signal
	}
	text := strings.Join(e.Args, " ")
	if len(text) > 200 {
		text = text[:200] + "…"
	}
	if msg := strings.TrimSpace(e.Stderr); msg != "" {
		return text + ": " + how + ": " + msg
	}
	return text + ": " + how
}

// Is reports a program that says that the disk is full as [syscall.ENOSPC].
func (e *ExitError) Is(target error) bool {
	return target == syscall.ENOSPC && strings.Contains(strings.ToLower(e.Stderr), syscall.ENOSPC.Error())
}

// Output runs a short trusted program and returns its standard output. It uses only Args, Dir, Env and Stdin of c.
// The program is killed when ctx ends; its background processes are not.
func Output(ctx context.Context, c Cmd) ([]byte, error) {
	out, _, err := Outputs(ctx, c)
	return out, err
}

// Outputs is [Output] for callers that also need the standard error of a successful program. It keeps the last 64 KiB
// of that.
func Outputs(ctx context.Context, c Cmd) (stdout, stderr []byte, err error) {
	if len(c.Args) == 0 {
		return nil, nil, errors.New("run a program: no program given")
	}
	path, err := LookPath(c.Args[0], c.Env)
	if err != nil {
		return nil, nil, fmt.Errorf("run %s: %w", c.Args[0], err)
	}
	var said bytes.Buffer
	complained := &ring{max: defaultKeep}
	x := exec.CommandContext(ctx, path, c.Args[1:]...)
	x.Args[0] = c.Args[0]
	x.Dir, x.Env, x.Stdin = c.Dir, c.Env, c.Stdin
	x.Stdout, x.Stderr = &said, ringWriter{complained}
	// Without a terminal, a git that would prompt fails instead, and only this program handles ^C.
	x.SysProcAttr = detached()
	x.Cancel = func() error { signalGroup(x.Process.Pid, syscall.SIGKILL); return nil }
	x.WaitDelay = time.Second
	err = x.Run()
	var exit *exec.ExitError
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		return said.Bytes(), complained.bytes(), nil
	case ctx.Err() != nil:
		return said.Bytes(), complained.bytes(), fmt.Errorf("%s: %w", strings.Join(c.Args, " "), context.Cause(ctx))
	case errors.As(err, &exit):
		e := &ExitError{Args: c.Args, Code: exit.ExitCode(), Stderr: string(complained.bytes())}
		if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			e.Signal = signalName(ws.Signal())
		}
		return said.Bytes(), complained.bytes(), e
	}
	return nil, nil, fmt.Errorf("run %s: %w", c.Args[0], startError(err, c))
}

type ringWriter struct{ *ring }

func (w ringWriter) Write(p []byte) (int, error) {
	w.write(p)
	return len(p), nil
}

// Getenv returns the value of a variable in env, a list of KEY=VALUE; "" means empty or not set. The last entry counts,
// as in [os/exec.Cmd].
func Getenv(env []string, name string) string {
	for _, kv := range slices.Backward(env) {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}

// Pairs returns variables as KEY=VALUE, sorted.
func Pairs(env map[string]string) []string {
	return lists.Map(slices.Sorted(maps.Keys(env)), func(key string) string { return key + "=" + env[key] })
}

// LookPath finds the program that [Run] starts for name in the environment env: in the PATH of env, not of this
// process, and there only in absolute folders. A name with a slash is returned unchanged. A missing program is an
// [ErrNotFound].
func LookPath(name string, env []string) (string, error) {
	if strings.ContainsRune(name, '/') || name != filepath.Base(name) {
		return name, nil
	}
	if env == nil || runtime.GOOS == "windows" {
		path, err := exec.LookPath(name)
		if err != nil {
			return "", NotFound(name)
		}
		return path, nil
	}
	for _, dir := range filepath.SplitList(Getenv(env, "PATH")) {
		if !filepath.IsAbs(dir) {
			continue // "." in PATH would run programs of the workspace
		}
		path := filepath.Join(dir, name)
		if fi, err := os.Stat(path); err == nil && fi.Mode().IsRegular() && fi.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", NotFound(name)
}

// NotFound returns an [ErrNotFound] that says what to do.
func NotFound(name string) error {
	return fmt.Errorf("%w: install %s, or put its folder into PATH", ErrNotFound, name)
}

// barredError reports that a program exists but is not executable. It matches [ErrNotFound] with a clearer message.
type barredError struct{ file string }

func (e *barredError) Error() string {
	return fmt.Sprintf("%s is not executable; try chmod +x %[1]s", e.file)
}
func (e *barredError) Is(target error) bool { return target == ErrNotFound }

// startError distinguishes a missing program from a missing working directory and other causes.
func startError(err error, c Cmd) error {
	if c.Dir != "" { // the system reports a missing directory as a missing program
		if fi, derr := os.Stat(c.Dir); derr != nil {
			return fmt.Errorf("its working directory cannot be entered: %w", derr)
		} else if !fi.IsDir() {
			return fmt.Errorf("its working directory %s is a file", c.Dir)
		}
	}
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return NotFound(c.Args[0])
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: the file does not exist, or the interpreter in its first line is missing", ErrNotFound)
	case errors.Is(err, fs.ErrPermission):
		return &barredError{c.Args[0]}
	case errors.Is(err, syscall.ENOEXEC):
		return fmt.Errorf("%w: it is neither a program nor a script with #! in its first line", err)
	}
	return err
}
