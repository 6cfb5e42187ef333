package gates

import (
	"path"
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
)

var checkName = lazyre.New(`(?i)^(?:.*[._-])?(?:checks?|checker|verify|verifier|validate|validator|audit|lint|assert\w*|expect\w*|tests?|selftest|smoke|ci)(?:[._-].*)?$`)

// IsCheck reports whether the name of a file says that it is a check, such as verify.sh.
func IsCheck(p string) bool { return checkName.MatchString(path.Base(p)) }

// Checks returns the files that configured commands run, if their names say that they are checks.
func (s Settings) Checks() []string {
	var out []string
	for _, c := range s.Commands {
		words := c.Command
		if len(words) == 0 {
			words = strings.Fields(c.Shell)
		}
		for _, w := range words {
			if w = strings.Trim(w, "\"'`();"); strings.ContainsAny(w, "/.") && IsCheck(w) {
				out = append(out, path.Join(c.Dir, w))
			}
		}
	}
	return out
}
