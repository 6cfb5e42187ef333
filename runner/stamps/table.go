package stamps

import (
	_ "embed"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/tables"
)

// kind says how a place is compared.
type kind string

const (
	plain    kind = ""         // a file: its content is kept, and restored when it changes
	reported kind = "reported" // a file that people edit and that starts no gate: a change is reported and stays
	listing  kind = "listing"  // a folder: a new one is moved aside, a change of its entries is reported
	program  kind = "program"  // a program on PATH: a new one that hides no other is reported and stays
)

// place is one entry of the table: the paths of a tool's settings, and their effect.
type place struct {
	Tool   string
	Steers string
	Kind   kind
	Paths  []string
}

//go:embed places.toml
var placeTable string

var places = sync.OnceValue(func() (t struct {
	Programs     []string
	Defaults     map[string]string
	User, Upward []place
}) {
	tables.Read(placeTable, &t)
	return t
})

// Upward returns the names of the files that tools search in every folder above their working directory.
func Upward() (names []string) {
	for _, p := range places().Upward {
		if p.Kind == plain { // a folder of packages changes whenever its user installs one
			names = append(names, p.Paths...)
		}
	}
	return names
}

type setting struct{ section, sub, key, value string }

var (
	sectionLine = lazyre.New(`^\[\s*([\w.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\](.*)$`)
	keyLine     = lazyre.New(`^([A-Za-z][A-Za-z0-9-]*)\s*(?:=\s*(.*))?$`)
)

// powerful lists settings that make git run programs, use other files, or fetch from elsewhere.
var powerful = lazyre.New(`hook|fsmonitor|sshcommand|askpass|pager|editor|textconv|clean|smudge|process|helper|command|cmd|program|alias|insteadof|external|driver|worktree|include|` +
	`filter|proxy|pack|vcs|protocol|attributesfile|excludesfile|update|browser|man\.|template|extensions|tool|bare`)

// Weigh assesses a change of git's configuration. left means that the change may stay, because it only concerns
// branches, new remotes or submodules. Users make such changes all the time, and so does runplan when it checks out
// submodules. mild means that the change does not make git run programs.
func Weigh(before, after string) (left, mild bool) {
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
			return nil, false // it continues in the next line
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

// gitPlace is the table's line for files that a configuration of git names.
func gitPlace() place {
	return place{Tool: "git", Steers: "the hooks, filters and programs that git runs"}
}

// maxIncludes limits how deep included configurations are followed, as in git.
const maxIncludes = 10

// follow returns the files and the folders of hooks that a configuration of git and its includes name.
func (w *Watch) follow(path string, depth int) (files, hooks []string) {
	if depth > maxIncludes {
		return nil, nil
	}
	file, _ := Read(path)
	lines, _ := settings(file.Data)
	for _, s := range lines {
		to := w.target(path, strings.Trim(s.value, `"`))
		if to == "" {
			continue
		}
		switch s.section + "." + s.key {
		case "include.path", "includeif.path":
			f, h := w.follow(to, depth+1)
			files, hooks = append(append(files, to), f...), append(hooks, h...)
		case "core.attributesfile", "core.excludesfile":
			files = append(files, to)
		case "core.hookspath":
			hooks = append(hooks, to)
		}
	}
	return files, hooks
}

// hooksIn visits the files in a folder of hooks.
func hooksIn(dir string, visit func(path string, p place)) {
	n := 0
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if n++; n > maxFolder {
			return fs.SkipAll
		}
		if err == nil && !d.IsDir() {
			visit(path, gitPlace())
		}
		return nil // what cannot be read cannot be run
	})
}

// target returns the absolute path in a value of a configuration, "" for none.
func (w *Watch) target(config, value string) string {
	switch rest, inHome := strings.CutPrefix(value, "~/"); {
	case value == "":
		return ""
	case inHome:
		return under(w.base("~"), rest)
	case filepath.IsAbs(value):
		return filepath.Clean(value)
	}
	return filepath.Join(filepath.Dir(config), filepath.FromSlash(value))
}
