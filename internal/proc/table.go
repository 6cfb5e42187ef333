package proc

import (
	"cmp"
	"crypto/rand"
	"slices"
	"time"

	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/redact"
)

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
