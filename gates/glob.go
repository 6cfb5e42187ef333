package gates

import (
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// matches reports whether an entry of a plan or a configuration means the file at p: the file itself, a folder above
// it, or a glob.
func matches(entry, p string) bool {
	entry = strings.Trim(strings.TrimSpace(entry), "`")
	entry = path.Clean(strings.TrimPrefix(entry, "./"))
	if entry == "." || entry == "/" || strings.HasPrefix(entry, "..") {
		return false // the whole tree is not a name
	}
	if entry == p || strings.HasPrefix(p, entry+"/") {
		return true
	}
	if !strings.ContainsAny(entry, "*?[{") || strings.Trim(entry, "*/") == "" {
		return false
	}
	return doublestar.MatchUnvalidated(entry, p)
}

// Match reports whether one of the globs matches the file at p. A glob without a slash matches the name in any folder.
func Match(globs []string, p string) bool {
	for _, g := range globs {
		if !strings.Contains(g, "/") {
			g = "**/" + g
		}
		if strings.HasSuffix(g, "/") {
			g += "**"
		}
		if doublestar.MatchUnvalidated(g, p) {
			return true
		}
	}
	return false
}
