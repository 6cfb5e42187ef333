package proc

import (
	"io"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

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
