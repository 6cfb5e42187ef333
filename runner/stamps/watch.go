// Package stamps detects which files outside a workspace changed while an agent worked, and restores them.
//
// A [Watch] checks the settings of a user, and the files in the folders above a workspace that affect tools: git, go,
// npm, Python, linters. [Watch.Take] records them, and [Watch.Changes] lists the differences. Both first check the file
// information of folders and existing files, and read only changed files. So a comparison costs about a millisecond.
//
// It compares only the files in the tables: not the programs themselves, package caches, or deeper folders of packages.
package stamps

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/glob"
)

// maxContent is the size in bytes up to which a file is kept in memory, so that it can be restored.
const maxContent = 4 << 20

// maxForeign is the size in bytes up to which a file is kept that this user may not change, such as a program of the
// system. It would not be restored, so only its state is needed.
const maxForeign = 64 << 10

// maxFolder limits how many files of a folder of programs are watched.
const maxFolder = 500

// Watch compares files that affect tools with their recorded state.
type Watch struct {
	env    map[string]string
	above  []string // folders that tools search, see places.toml
	except string   // the user's checkout, which others compare
	more   []string // git configurations besides those of the user

	users  []spot // settings of the user and programs on PATH
	upward []spot // files in the folders above
	dirs   []*dirNames

	seen  map[string]record
	read  map[string]File        // the files that [Watch.Take] has read, by their stat
	may   func(path string) bool // see [writable]; a test replaces it
	files []string               // that configurations of git name, as of the last Take
	hooks []string               // folders that they name
}

type record struct {
	place place
	stat  string // "" for a file that does not exist
	file  File
	there bool
}

// Change is a file that differs from its recorded state.
type Change struct {
	Path   string
	Tool   string
	Steers string // the effect on the tool
	Was    File
	Had    bool // it existed
	Is     File
	There  bool // it exists as a file or link

	Reported bool // it is reported and stays as it is
	Mild     bool // it does not make a tool run or skip anything

	place place
}

// New returns a watch for programs that run with env in the folders dirs, which are absolute. It ignores the checkout
// at root, except for the folders above dirs. configs are further configurations of git.
func New(env []string, root string, dirs []string, configs ...string) *Watch {
	w := &Watch{env: map[string]string{}, except: root, more: configs, seen: map[string]record{}, may: writable}
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		w.env[name] = value
	}
	for _, dir := range dirs {
		for up := filepath.Dir(filepath.Clean(dir)); !slices.Contains(w.above, up); up = filepath.Dir(up) {
			if up != filepath.Clean(root) {
				w.above = append(w.above, up)
			}
			if up == filepath.Dir(up) {
				break
			}
		}
	}
	return w
}

// Take records the current state of the files.
func (w *Watch) Take() {
	w.files, w.hooks = nil, nil
	for _, path := range append(w.gitConfigs(), w.more...) {
		files, hooks := w.follow(path, 0)
		w.files, w.hooks = append(w.files, files...), append(w.hooks, hooks...)
	}
	now := map[string]record{}
	w.read = map[string]File{} // /bin and /usr/bin are often the same folder
	defer func() { w.read = nil }()
	w.each(func(path string, p place) {
		if _, known := now[path]; known {
			return
		}
		if r := w.look(path, p); r.stat != "" {
			now[path] = r
		}
	})
	w.seen = now
}

// Changes lists the files that differ from their recorded state, sorted by path.
func (w *Watch) Changes() []Change {
	var changes []Change
	met := map[string]bool{}
	compare := func(path string, p place) {
		if met[path] {
			return
		}
		met[path] = true
		was, is := w.seen[path], w.look(path, p)
		if was.stat == is.stat {
			return
		}
		if was.stat != "" && is.stat != "" && was.there && is.there && was.file == is.file {
			w.seen[path] = is // rewritten with the same content
			return
		}
		c := change(path, p, was, is)
		switch {
		case !w.may(path):
			c.Reported, c.Mild = true, true // another user made it, such as an administrator who installs a program
		case p.Kind == program && !c.Had && !w.hides(path):
			c.Reported = true // its user may just have installed it
		}
		changes = append(changes, c)
	}
	w.each(compare)
	for path, r := range w.seen { // files that no glob matches any more
		compare(path, r.place)
	}
	slices.SortFunc(changes, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return changes
}

// hides reports whether a program is in another folder of PATH too, under the same name.
func (w *Watch) hides(path string) bool {
	return slices.ContainsFunc(filepath.SplitList(w.env["PATH"]), func(dir string) bool {
		return w.seen[filepath.Join(dir, filepath.Base(path))].stat != ""
	})
}

// Accept records the current state of one file.
func (w *Watch) Accept(c Change) {
	r := w.look(c.Path, c.place)
	if r.stat == "" {
		delete(w.seen, c.Path)
		return
	}
	w.seen[c.Path] = r
}

func change(path string, p place, was, is record) Change {
	c := Change{Path: path, Tool: p.Tool, Steers: p.Steers, Was: was.file, Had: was.stat != "", Is: is.file,
		There: is.there, place: p}
	switch {
	case p.Kind == reported:
		c.Reported = true
	case p.Kind == listing:
		c.Reported = c.Had // its content is unknown, so it cannot be restored
	case c.Had && !was.there && is.stat != "":
		c.Reported = true // too large to be kept, or no file
	case p.Tool == "git" && c.There:
		_, c.Mild = Weigh(was.file.Data, is.file.Data)
	case p.Tool == "go" && c.There:
		c.Mild = mildGoEnv(was.file.Data, is.file.Data)
	}
	return c
}

// look returns the state of one file, with its content if that is not yet known.
func (w *Watch) look(path string, p place) record {
	r := record{place: p, stat: statOf(path)}
	if r.stat == "" || path == os.DevNull {
		return record{place: p}
	}
	if old, ok := w.seen[path]; ok && old.stat == r.stat {
		return old
	}
	if p.Kind == listing {
		r.file, r.there = readListing(path)
		return r
	}
	if r.file, r.there = w.read[r.stat]; r.there {
		return r
	}
	fi, err := os.Lstat(path)
	if err != nil || fi.Size() > maxContent || fi.Size() > maxForeign && !w.may(path) {
		return r
	}
	if r.file, r.there = Read(path); r.there && w.read != nil {
		w.read[r.stat] = r.file
	}
	return r
}

// readListing returns the names in a folder. It ignores Python's caches.
func readListing(path string) (File, bool) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return File{}, false
	}
	var names []string
	for _, e := range entries {
		if e.Name() != "__pycache__" {
			names = append(names, e.Name())
		}
	}
	return File{fs.ModeDir, strings.Join(names, "\n")}, true
}

// spot is a path that is watched, whether it exists or not.
type spot struct {
	place place
	dir   *dirNames
	name  string // in dir, or a pattern for names
	lower string // name in lower case; "" for a pattern
	path  string
	glob  string // pattern below path, with wildcards in the folders too; dir, name and lower are empty then
}

// prepare lists the spots. The environment and the folders above do not change.
func (w *Watch) prepare() {
	folders := map[string]*dirNames{}
	at := func(path string, p place) spot {
		dir, name := filepath.Dir(path), filepath.Base(path)
		switch {
		case strings.Contains(dir, "*"):
			above := filepath.Dir(path[:strings.IndexByte(path, '*')] + "*") // it may look like a pattern, but is none
			glob, _ := filepath.Rel(above, path)
			return spot{place: p, path: above, glob: filepath.ToSlash(glob)}
		case folders[dir] == nil:
			folders[dir] = &dirNames{path: dir}
			w.dirs = append(w.dirs, folders[dir])
		}
		s := spot{place: p, dir: folders[dir], name: name, path: path}
		if !strings.Contains(name, "*") {
			s.lower = strings.ToLower(name)
		}
		return s
	}
	for _, p := range places().User {
		for _, pattern := range p.Paths {
			if path := w.expand(pattern); path != "" {
				w.users = append(w.users, at(path, p))
			}
		}
	}
	for _, dir := range filepath.SplitList(w.env["PATH"]) {
		if !filepath.IsAbs(dir) {
			continue
		}
		for _, name := range places().Programs {
			w.users = append(w.users,
				at(filepath.Join(dir, name), place{Tool: name, Steers: "which program runs under this name", Kind: program}))
		}
	}
	for _, p := range places().Upward {
		for _, dir := range w.above {
			for _, name := range p.Paths {
				w.upward = append(w.upward, at(filepath.Join(dir, filepath.FromSlash(name)), p))
			}
		}
	}
	except := func(s spot) bool { return s.lower != "" && w.excepted(s.path) }
	w.users, w.upward = slices.DeleteFunc(w.users, except), slices.DeleteFunc(w.upward, except)
}

// each calls f for every path that is watched and exists or is in seen. One path may come more than once: the first
// place that names it counts.
func (w *Watch) each(f func(path string, p place)) {
	if w.dirs == nil {
		w.prepare()
	}
	for _, dir := range w.dirs {
		dir.refresh()
	}
	visit := func(path string, p place) {
		if !w.excepted(path) {
			f(path, p)
		}
	}
	scan := func(spots []spot) {
		for _, s := range spots {
			switch {
			case s.lower != "":
				if _, known := w.seen[s.path]; known || !s.dir.lacks(s.lower) {
					f(s.path, s.place)
				}
			case s.glob != "":
				for _, path := range glob.Below(s.path, s.glob) {
					visit(path, s.place)
				}
			default:
				for _, path := range s.dir.match(s.name) {
					visit(path, s.place)
				}
			}
		}
	}
	scan(w.users)
	for _, path := range w.files {
		visit(path, gitPlace())
	}
	for _, dir := range w.hooks {
		hooksIn(dir, visit)
	}
	scan(w.upward)
}

// gitConfigs returns the configurations of the user's git.
func (w *Watch) gitConfigs() (paths []string) {
	for _, pattern := range []string{"$GIT_CONFIG_GLOBAL", "~/.gitconfig", "$XDG_CONFIG_HOME/git/config"} {
		if path := w.expand(pattern); path != "" {
			paths = append(paths, path)
		}
	}
	return paths
}

// excepted reports whether a path is in the checkout and not in a folder above a workspace.
func (w *Watch) excepted(path string) bool {
	return within(path, w.except) &&
		!slices.ContainsFunc(w.above, func(dir string) bool { return within(dir, w.except) && within(path, dir) })
}

func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// expand returns a pattern of the table with the value of the variable that it begins with, or "" if that is not set.
func (w *Watch) expand(pattern string) string {
	first, rest, _ := strings.Cut(pattern, "/")
	base := w.base(first)
	if base == "" || !filepath.IsAbs(base) {
		return "" // not set, or "off" as GOENV may be
	}
	return filepath.Join(base, filepath.FromSlash(rest))
}

// base resolves the beginning of a pattern.
func (w *Watch) base(name string) string {
	home := w.env["HOME"]
	if runtime.GOOS == "windows" {
		home = w.env["USERPROFILE"]
	}
	name, isVariable := strings.CutPrefix(name, "$")
	switch {
	case !isVariable:
		return home
	case w.env[name] != "":
		return w.env[name]
	case name == "OS_CONFIG" && runtime.GOOS == "windows":
		return w.env["APPDATA"]
	case name == "OS_CONFIG" && runtime.GOOS == "darwin":
		return under(home, "Library/Application Support")
	case name == "OS_CONFIG":
		return w.base("$XDG_CONFIG_HOME")
	}
	if rest, ok := strings.CutPrefix(places().Defaults[name], "~/"); ok {
		return under(home, rest)
	}
	return ""
}

func under(home, rest string) string {
	if home == "" {
		return ""
	}
	return filepath.Join(home, filepath.FromSlash(rest))
}

// mildGoEnv reports whether a change of go env's file only affects the sources of modules.
func mildGoEnv(before, after string) bool {
	harmless := []string{"GOPROXY", "GOSUMDB", "GOPRIVATE", "GONOPROXY", "GONOSUMDB", "GOAUTH", "GOTELEMETRY"}
	lines := func(text string) []string { return strings.Split(strings.TrimSpace(text), "\n") }
	differs := func(of, other []string) bool {
		return slices.ContainsFunc(of, func(line string) bool {
			name, _, _ := strings.Cut(line, "=")
			return line != "" && !slices.Contains(other, line) && !slices.Contains(harmless, strings.TrimSpace(name))
		})
	}
	a, b := lines(before), lines(after)
	return !differs(a, b) && !differs(b, a)
}
