// Package proc is the one door to other programs.
//
// [Run] starts a program in a session of its own, without a terminal and with nothing to read unless it
// is given something, watches its output and its limits, and makes sure that nothing of it is alive when
// Run returns: not its children, not what they left in the background, and with [Cmd.Sweep] not even
// what detached itself from them. [Output] is the short way for short trusted programs such as git. A
// [Reaper] does the same clean-up where this program itself is killed and can do nothing any more.
//
// Memory is bounded whatever a program prints. What a program does, a limit it runs into or a signal it
// dies of is a [Result]; an error means that it could not be started.
package proc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"
)

// ErrNotFound says that the program to run does not exist, or that nobody may execute it.
var ErrNotFound = errors.New("program not found")

// Cmd is a program to run.
type Cmd struct {
	Args   []string  // the program and its arguments; a bare name is looked up in the PATH of Env
	Dir    string    // working directory; "" is the current one
	Env    []string  // complete environment, KEY=VALUE; nil inherits
	Stdin  io.Reader // nil is empty: the program reads the end of its input at once
	Limits Limits

	// Line receives each line of output while the program runs, free of control codes and cut at 4 KiB.
	// Calls come one at a time; a slow Line slows the program down.
	Line func(string)
	// Redact, if set, is applied to what goes to Line, to Log and to Result.Tail. It gets whole lines.
	Redact func(string) string
	// Log names a file to which the combined output is appended. It grows to LogCap at most, and says so.
	Log    string
	LogCap int64 // 0 is 64 MiB

	Keep       int // bytes of the end of the combined output to keep; 0 is 64 KiB
	KeepStdout int // if > 0, standard output is kept apart as well, up to that many bytes
	// Stdout receives standard output alone, all of it and as it is, while the program runs. Writes come one at a
	// time and are over when Run returns; what they return is not looked at. To an *os.File the program writes by
	// itself: it is no output for Limits.Idle, nor for Result.
	Stdout io.Writer

	// Sweep is an environment entry KEY=VALUE that no other program has, see [NewTag]. It is put into Env,
	// and in the end whatever process holds it is killed, even if it has left session and group (Linux).
	Sweep string
	// Reaper, if not nil, kills the program should this one be killed.
	Reaper *Reaper
}

// Limits end a program. Zero means no such limit.
type Limits struct {
	Total time.Duration // from start to end
	Idle  time.Duration // without a byte of output
	Grace time.Duration // between asking to end (TERM) and killing (KILL); 0 is two seconds
}

// Reason says how a program came to its end.
type Reason string

// The reasons.
const (
	Exited    Reason = "exited"
	Signaled  Reason = "signaled"  // by somebody else
	Total     Reason = "total"     // stopped here: Limits.Total was reached
	Idle      Reason = "idle"      // stopped here: Limits.Idle was reached
	Cancelled Reason = "cancelled" // stopped here: the context ended, see Result.Cause
)

// Result is what is known of a program that has ended.
type Result struct {
	Exit      int    // exit status; -1 if it was killed by a signal or never ran
	Signal    string // "SIGKILL" and the like, if a signal ended it
	Ended     Reason
	Cause     error  // why the context ended, with Cancelled
	Tail      string // the end of the combined output, as printed
	Stdout    []byte // with Cmd.KeepStdout
	Truncated bool   // Stdout is not all there was
	Bytes     int64  // size of all output
	Duration  time.Duration
	Swept     int // processes that outlived the program and were killed
	// Left names them by their command lines, ten at most, redacted and safe to show. Where the system does not tell
	// there are none, see Swept.
	Left   []string
	LogErr error // Cmd.Log could not be written to its end
}

// OK reports whether the program ended by itself, with status 0.
func (r Result) OK() bool { return r.Ended == Exited && r.Exit == 0 }

const (
	defaultGrace = 2 * time.Second
	sweepGrace   = 250 * time.Millisecond // for what outlives a program that ended by itself
	stdinDelay   = time.Second            // for a reader behind Cmd.Stdin that does not end
	lostDelay    = 5 * time.Second        // for a killed process that the kernel does not let go
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

// process is a running program.
type process struct {
	pid     int
	ended   <-chan struct{} // closed when the program itself has ended
	holder  holder
	pipes   []*pipe
	readers sync.WaitGroup
}

// holder knows what belongs to a running program: [direct] by what the system tells of all processes, [kept] because all
// of it is below one keeper.
type holder interface {
	// outcome is how the program itself ended. It is called after that.
	outcome() (exit int, signal syscall.Signal)
	// asking is called when the program is about to be asked to end.
	asking()
	// left lists what is alive of the program. None says that nothing is, for certain.
	left() (alive []member, none bool)
	// kill kills at once what the kernel can kill at once.
	kill()
	// leave is called in the end. It returns how many processes somebody else had to kill.
	leave() (more int, err error)
}

// supervise waits for the end of the program, or brings it about.
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

// newTimer is a timer that never fires for a limit of zero.
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
		return true
	default:
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-p.ended:
		return true
	case <-t.C:
		return false
	}
}

// outcome reads exit status and signal. A program that exits with 137 was not killed, whatever shells say.
func (p *process) outcome(res *Result) {
	res.Ended = Exited
	exit, signal := p.holder.outcome()
	res.Exit = exit
	if signal != 0 {
		res.Ended, res.Exit, res.Signal = Signaled, -1, signalName(signal)
	}
}

// drain reads what is left in the pipes.
func (p *process) drain() {
	for _, pp := range p.pipes {
		pp.drain()
	}
	p.readers.Wait()
}
