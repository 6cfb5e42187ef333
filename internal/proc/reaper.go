package proc

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Reaper is a child process that outlives this one, if only for a moment: it knows which programs run,
// and when this process is gone, however it went, it kills them. All methods work on a nil Reaper.
type Reaper struct {
	mu    sync.Mutex
	pipe  io.WriteCloser // its only other end is the child: the system closes it when we die
	child *exec.Cmd
}

// StartReaper starts the reaper: args is this program with the command that calls [ReapMain]. It lives in
// its own session, where no ^C and no signal to our group reaches it.
func StartReaper(args []string) (*Reaper, error) {
	if len(args) == 0 {
		return nil, fmt.Errorf("start the reaper: no command given")
	}
	x := exec.Command(args[0], args[1:]...)
	x.SysProcAttr = detached()
	pipe, err := x.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start the reaper: %w", err)
	}
	if err := x.Start(); err != nil {
		return nil, fmt.Errorf("start the reaper: %w", err)
	}
	return &Reaper{pipe: pipe, child: x}, nil
}

// Close ends the reaper. It kills what is still registered.
func (r *Reaper) Close() error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pipe == nil {
		return nil
	}
	_ = r.pipe.Close()
	r.pipe = nil
	if err := r.child.Wait(); err != nil {
		return fmt.Errorf("end the reaper: %w", err)
	}
	return nil
}

// Tag registers an environment entry for programs that are not started with [Run]; the function it
// returns takes that back.
func (r *Reaper) Tag(entry string) (untag func()) {
	r.send("tag", entry)
	return func() { r.send("untag", entry) }
}

func (r *Reaper) start(pid int, born string) { r.send("start", strconv.Itoa(pid), born) }

func (r *Reaper) end(pid int) { r.send("end", strconv.Itoa(pid)) }

// send writes one line. A reaper that is gone is no reason to stop: it matters only if we are killed too.
func (r *Reaper) send(verb string, args ...string) {
	if r == nil {
		return
	}
	for i, a := range args {
		args[i] = strconv.Quote(a)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pipe != nil {
		_, _ = io.WriteString(r.pipe, verb+" "+strings.Join(args, " ")+"\n")
	}
}

// ReapMain is the reaper's side: it reads what was started and what ended until in closes, then kills
// what is left. A process is killed only if its start time is the one that was registered, so that a
// process id that has been given to another program does no harm.
func ReapMain(in io.Reader) {
	deaf := make(chan os.Signal, 1) // it ends when its parent does, not before
	signal.Notify(deaf, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(deaf)
	groups := map[int]string{}
	tags := map[string]bool{}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		verb, args := parseLine(lines.Text())
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
		}
	}
	for pid, born := range groups {
		reapGroup(pid, born)
	}
	for tag := range tags {
		Sweep(tag)
	}
}

// reapGroup kills the program pid and its family. Once the leader is gone its group may still have
// members, and the id cannot have been reused while it has; but nobody can tell that group from a new
// one, so then only members younger than the leader count, as in survivors.
func reapGroup(pid int, born string) {
	if born == "" {
		return
	}
	family := []member(nil)
	if bornAt(pid) == born {
		family = familyOf(pid)
	} else if bornAt(pid) != "" {
		return // the id belongs to somebody else now
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

// parseLine takes a verb and its quoted arguments apart.
func parseLine(line string) (verb string, args []string) {
	verb, rest, _ := strings.Cut(line, " ")
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
