package proc

import (
	"crypto/rand"
	"time"
)

// member is a process that belongs to a program that was started here.
type member struct {
	pid   int
	born  string
	group bool // the whole group of that id is meant: this system lists no processes
}

// NewTag returns an environment entry for [Cmd.Sweep] that nothing else has.
func NewTag() string { return "RUNPLAN_TAG=" + rand.Text() }

// Sweep kills whatever process has the environment entry KEY=VALUE, this program and those it descends
// from excepted, and returns how many there were. It finds none where the system does not tell (all but
// Linux).
func Sweep(entry string) int {
	seen := map[int]bool{}
	for range 100 {
		left := survivors(0, "", entry, nil)
		if len(left) == 0 {
			break
		}
		for _, m := range left {
			seen[m.pid] = true
		}
		killMembers(left)
		time.Sleep(2 * time.Millisecond)
	}
	return len(seen)
}
