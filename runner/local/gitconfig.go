package local

import (
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
)

// setting is one line of git's configuration.
type setting struct{ section, sub, key, value string }

var (
	sectionLine = lazyre.New(`^\[\s*([\w.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\](.*)$`)
	keyLine     = lazyre.New(`^([A-Za-z][A-Za-z0-9-]*)\s*(?:=\s*(.*))?$`)
)

// powerful are settings that make git run programs, heed other files, or fetch from elsewhere.
var powerful = lazyre.New(`hook|fsmonitor|sshcommand|askpass|pager|editor|textconv|clean|smudge|process|helper|command|cmd|program|alias|insteadof|external|driver|worktree|include|` +
	`filter|proxy|pack|vcs|protocol|attributesfile|excludesfile|update|browser|man\.|template|extensions|tool|bare`)

// weigh judges a change of git's configuration. It may be left where it only tells of branches, of remotes that are new,
// or of submodules: whoever works in the checkout makes such lines all the time, and so does runplan when it checks
// submodules out. It is mild where it makes git run nothing.
func weigh(before, after string) (left, mild bool) {
	was, ok := settings(before)
	is, readable := settings(after)
	if !ok || !readable {
		return false, false
	}
	known := func(s setting) bool {
		return slices.ContainsFunc(was, func(o setting) bool { return o.section == s.section && o.sub == s.sub })
	}
	everyday := func(s setting) bool {
		switch s.section {
		case "branch":
			return s.sub != "" && slices.Contains([]string{"remote", "merge", "rebase", "description"}, s.key)
		case "remote":
			return s.sub != "" && !known(s) && (s.key == "url" || s.key == "fetch")
		case "submodule":
			return s.sub != "" && !known(s) && (s.key == "url" || s.key == "active")
		}
		return false
	}
	rest := func(all []setting) []setting { return slices.DeleteFunc(slices.Clone(all), everyday) }
	a, b := rest(was), rest(is)
	if slices.Equal(a, b) {
		return true, true
	}
	strong := func(of, other []setting) bool {
		return slices.ContainsFunc(of, func(s setting) bool {
			return !slices.Contains(other, s) && powerful.MatchString(s.section+"."+s.key)
		})
	}
	return false, !strong(b, a) && !strong(a, b)
}

// settings reads a configuration. What it cannot read for certain it does not read at all.
func settings(text string) (out []setting, ok bool) {
	var section, sub string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasSuffix(line, `\`) {
			return nil, false // it goes on in the next one
		}
		if m := sectionLine.FindStringSubmatch(line); m != nil {
			section, sub = strings.ToLower(m[1]), m[2]
			line = strings.TrimSpace(m[3])
		}
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		m := keyLine.FindStringSubmatch(line)
		if m == nil {
			return nil, false
		}
		out = append(out, setting{section, sub, strings.ToLower(m[1]), m[2]})
	}
	return out, true
}
