package proc

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/redact"
)

const (
	// endTime limits the wait for killed processes to disappear. A process in an uninterruptible call to a disk or a
	// network stays until the call returns.
	endTime = 10 * time.Second
	pause   = 10 * time.Millisecond
)

// sweep ends the processes that outlived the program. It returns their number and some names. The error means that
// some are still alive.
func (p *process) sweep(c Cmd, grace time.Duration) (int, []string, error) {
	seen := map[int]bool{}
	names, stuck := p.end(c, grace, seen)
	more, err := p.holder.leave()
	if len(stuck) > 0 {
		err = fmt.Errorf("it left processes that could not be killed, so runplan does not continue: %s; end them, then "+
			"start again", strings.Join(stuck, "; "))
	}
	return len(seen) + more, names, err
}

// end asks the remaining processes to end, then kills them. It adds their ids to seen, and returns the names of all and
// of those still alive.
func (p *process) end(c Cmd, grace time.Duration, seen map[int]bool) (names, stuck []string) {
	left, none := p.holder.left()
	if none {
		return nil, nil
	}
	time.Sleep(pause) // processes that were about to end do not count
	if left, none = p.holder.left(); none {
		return nil, nil
	}
	note := func() {
		for _, m := range left {
			seen[m.pid] = true
		}
	}
	note()
	names = namesOf(left, c.Redact) // read the names now, because killed processes have none
	signalMembers(left, syscall.SIGTERM)
	for until := time.Now().Add(grace); time.Now().Before(until); {
		time.Sleep(pause)
		if left, none = p.holder.left(); none {
			return names, nil
		}
	}
	for until := time.Now().Add(endTime); ; { // a fork bomb needs more than one round
		note()
		killMembers(left)
		p.holder.kill()
		time.Sleep(2 * time.Millisecond)
		if left, none = p.holder.left(); none {
			return names, nil
		}
		if time.Now().After(until) {
			return names, append(namesOf(left, c.Redact), fmt.Sprintf("%d in all", len(left)))
		}
	}
}

// member is a process of a program that was started here.
type member struct {
	pid   int
	born  string
	group bool // the whole process group with this id, because this system lists no processes
}

const (
	mostNames   = 10
	longestName = 120 // bytes of a command line that are shown
)

// namesOf returns the command lines of processes, oldest first, redacted and cut.
func namesOf(ms []member, hide func(string) string) []string {
	ms = slices.Clone(ms)
	slices.SortFunc(ms, func(a, b member) int {
		// Start times are counts of ticks without leading zeros.
		return cmp.Or(cmp.Compare(len(a.born), len(b.born)), cmp.Compare(a.born, b.born), cmp.Compare(a.pid, b.pid))
	})
	var out []string
	for _, m := range ms {
		name := nameOf(m.pid)
		if name == "" || m.group {
			continue
		}
		if hide != nil {
			name = hide(name)
		}
		if out = append(out, phrase.CutBytes(phrase.Line(redact.Clean(name)), longestName)); len(out) == mostNames {
			break
		}
	}
	return out
}

// NewTag returns a unique environment entry for [Cmd.Sweep].
func NewTag() string { return "RUNPLAN_TAG=" + rand.Text() }

// sweepTime limits how long a sweep waits for killed processes to disappear. On a busy machine that takes time, and
// until then a process may finish its present call.
const sweepTime = 5 * time.Second

// Sweep kills every process with the environment entry KEY=VALUE, except this program and its ancestors, and returns
// their number. It works only on Linux; other systems do not show the environment.
func Sweep(entry string) int {
	seen := map[int]bool{}
	for end := time.Now().Add(sweepTime); ; time.Sleep(2 * time.Millisecond) {
		left := survivors(0, "", entry, nil)
		if len(left) == 0 || time.Now().After(end) {
			break
		}
		for _, m := range left {
			seen[m.pid] = true
		}
		killMembers(left)
	}
	return len(seen)
}
