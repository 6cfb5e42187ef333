package proc

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Reaper is a child process that ends the processes of this one if this one is killed. On Linux it also starts the
// keepers, under which [Run] runs programs, see keeper_linux.go. All methods work on a nil Reaper.
type Reaper struct {
	mu      sync.Mutex
	link    io.WriteCloser // its only other end is the child: the system closes ours when we die
	child   *exec.Cmd
	closing bool
	lost    atomic.Bool // the child ended before Close
	keepers keepers
}

// ErrReaperLost reports that another process killed the reaper. No further programs start, because they would have no
// clean-up.
var ErrReaperLost = errors.New("the reaper process of runplan was killed by another process; " +
	"look for programs that are still running, then start again")

// closeTime limits how long Close waits for the reaper to kill the remaining processes.
const closeTime = 15 * time.Second

// StartReaper starts the reaper. args is this program with the command that calls [ReapMain]. The reaper runs in its
// own session, so ^C and signals to our group do not reach it.
func StartReaper(args []string) (*Reaper, error) {
	if len(args) == 0 {
		return nil, errors.New("start the reaper: no command given")
	}
	x := exec.Command(args[0], args[1:]...)
	x.SysProcAttr = detached()
	link, far, err := connect(x)
	if err != nil {
		return nil, fmt.Errorf("start the reaper: %w", err)
	}
	err = x.Start()
	if far != nil {
		_ = far.Close()
	}
	if err != nil {
		_ = link.Close()
		return nil, fmt.Errorf("start the reaper: %w", err)
	}
	r := &Reaper{link: link, child: x}
	r.open()
	return r, nil
}

// Close ends the reaper, which kills everything that still runs under it.
func (r *Reaper) Close() error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	closed := r.closing
	r.closing = true
	r.mu.Unlock()
	if closed {
		return nil
	}
	r.shut()
	_ = r.link.Close()
	late := time.AfterFunc(closeTime, func() { _ = r.child.Process.Kill() })
	defer late.Stop()
	if err := r.child.Wait(); err != nil {
		return fmt.Errorf("end the reaper: %w", err)
	}
	return nil
}

// Tag registers an environment entry KEY=VALUE: the reaper kills all processes with it when this process ends. untag
// removes the registration.
func (r *Reaper) Tag(entry string) (untag func()) {
	r.send("tag", entry)
	return func() { r.send("untag", entry) }
}

// start and end register a program that runs without a keeper.
func (r *Reaper) start(pid int, born string) { r.send("start", strconv.Itoa(pid), born) }

func (r *Reaper) end(pid int) { r.send("end", strconv.Itoa(pid)) }

// send writes one line. It neither waits for an answer nor fails: the reaper is checked before a program starts.
func (r *Reaper) send(verb string, args ...string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closing {
		_, _ = io.WriteString(r.link, encodeLine(verb, args...))
	}
}

// encodeLine writes a verb and its arguments, which may contain any bytes, as one line.
func encodeLine(verb string, args ...string) string {
	var b strings.Builder
	b.WriteString(verb)
	for _, a := range args {
		b.WriteByte(' ')
		b.WriteString(strconv.Quote(a))
	}
	b.WriteByte('\n')
	return b.String()
}

// decodeLine parses a line of encodeLine. The verb is empty if the line is invalid.
func decodeLine(line string) (verb string, args []string) {
	verb, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
	for rest = strings.TrimSpace(rest); rest != ""; rest = strings.TrimSpace(rest) {
		q, err := strconv.QuotedPrefix(rest)
		if err != nil {
			return "", nil
		}
		arg, err := strconv.Unquote(q)
		if err != nil {
			return "", nil
		}
		args, rest = append(args, arg), rest[len(q):]
	}
	return verb, args
}

// ReapMain is the reaper's side. It reads which programs to start, which started and which ended until in closes, then
// kills the rest. It kills a program of another process only if its start time is the registered one, so a reused
// process id does no harm.
func ReapMain(in io.Reader) {
	deaf := make(chan os.Signal, 1) // it ends with its parent, not before
	signal.Notify(deaf, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(deaf)
	groups := map[int]string{}
	tags := map[string]bool{}
	lines := receive(in)
	m := newMinder(lines)
	for {
		verb, args, err := lines.next()
		if err != nil {
			break
		}
		switch {
		case verb == "start" && len(args) == 2:
			if pid, err := strconv.Atoi(args[0]); err == nil {
				groups[pid] = args[1]
			}
		case verb == "end" && len(args) == 1:
			if pid, err := strconv.Atoi(args[0]); err == nil {
				delete(groups, pid)
			}
		case verb == "tag" && len(args) == 1:
			tags[args[0]] = true
		case verb == "untag" && len(args) == 1:
			delete(tags, args[0])
		default:
			m.do(verb, args)
		}
	}
	m.end()
	for pid, born := range groups {
		reapGroup(pid, born)
	}
	for tag := range tags {
		Sweep(tag)
	}
}

// reapGroup kills the program pid and its family. After the end of the leader, its group may still have members, and
// then its id is not reused. But a new group with the same id looks the same. So then only members younger than the
// leader count, as in survivors.
func reapGroup(pid int, born string) {
	if born == "" {
		return
	}
	family := []member(nil)
	if bornAt(pid) == born {
		family = familyOf(pid)
	} else if bornAt(pid) != "" {
		return // the id belongs to another process now
	}
	for range 100 {
		left := survivors(pid, born, "", family)
		if len(left) == 0 {
			return
		}
		killMembers(left)
		time.Sleep(2 * time.Millisecond)
	}
}
