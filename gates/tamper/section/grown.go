package section

import (
	"path"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
)

// further matches commands that run only if all commands before them succeeded, and that hide no failure.
var further = lazyre.New(`^(?:\s*&&\s*[^;&|\n]+)+$`)

// Grown reports whether a section still has all its old commands, and new commands cannot hide a failure of these. A
// new command must follow all old commands, or differ from an old one only in the name of a file.
func Grown(name, old, now string) bool {
	if strings.HasPrefix(name, "scripts.") {
		rest, ok := strings.CutPrefix(now, old)
		return ok && further.MatchString(rest)
	}
	if !strings.HasPrefix(name, "the target ") && !strings.HasPrefix(name, "[testenv") {
		return false
	}
	apart := func(s string) string { return strings.TrimSpace(firstCommand.ReplaceAllString(s, "commands =\n$1")) }
	left := strings.Split(apart(old), "\n")
	had := left
	for l := range strings.SplitSeq(apart(now), "\n") {
		switch {
		case len(left) > 0 && l == left[0]:
			left = left[1:]
		case len(left) > 0 && !slices.ContainsFunc(had, func(o string) bool { return sameButFile(o, l) }),
			iniKey.MatchString(l):
			return false
		}
	}
	return len(left) == 0
}

// sameButFile reports whether two commands differ only in the name of a file.
func sameButFile(a, b string) bool {
	own, other := strings.Fields(a), strings.Fields(b)
	if len(own) != len(other) {
		return false
	}
	for i, w := range own {
		o := other[i]
		if w != o && (path.Ext(w) == "" || path.Ext(w) != path.Ext(o) || !plainPath.MatchString(o)) {
			return false
		}
	}
	return true
}

var (
	firstCommand = lazyre.New(`(?m)^commands *= *(\S)`)
	plainPath    = lazyre.New(`^[\w./-]+$`)
)
