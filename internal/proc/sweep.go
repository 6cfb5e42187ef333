package proc

import (
	"fmt"
	"strings"
	"syscall"
	"time"
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
		err = fmt.Errorf(
			"it left processes that could not be killed, so runplan does not continue: %s; end them, then start again",
			strings.Join(stuck, "; "))
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
