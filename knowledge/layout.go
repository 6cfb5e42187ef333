package knowledge

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
	"golang.org/x/mod/modfile"

	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/wordset"
	"github.com/runplan/runplan/knowledge/outline"
)

// layout resolves imports to files. It knows the files and the settings of go.mod, tsconfig.json and package.json.
type layout struct {
	ids       map[string]int64 // file by path
	folders   map[string]bool  // folders that contain an indexed file, at any depth
	modules   []goModule
	configs   map[string]tsConfig // by folder
	packages  map[string]string   // name of a package in this repository → its folder
	main      map[string]string   // folder of a package → value of "main"
	goFiles   map[string][]string // folder → Go files without tests, sorted
	python    map[string]bool     // folders that contain Python files
	modulesOf map[string]pyModule // cache of pyModule
	roots     map[string]string   // cache of pyRoot
	hash      string              // of the settings and the set of files
}

type goModule struct{ path, dir string }

type tsConfig struct {
	base  string // folder of baseUrl; "" for none
	set   bool   // base is set
	paths map[string][]string
}

// settings holds the names of the files that decide how imports are resolved.
var settings = wordset.New("go.mod tsconfig.json jsconfig.json package.json tsconfig.base.json")

// newLayout reads the settings among all files. It ignores unreadable settings: the compiler reports them, and their
// imports stay unresolved.
func newLayout(root string, all []string, ids map[string]int64) *layout {
	l := &layout{ids: ids, folders: map[string]bool{}, configs: map[string]tsConfig{}, packages: map[string]string{},
		main: map[string]string{}, goFiles: map[string][]string{}, python: map[string]bool{},
		modulesOf: map[string]pyModule{}, roots: map[string]string{}}
	sum := sha256.New()
	for _, p := range slices.Sorted(maps.Keys(ids)) {
		sum.Write([]byte(p + "\x00"))
		for dir := path.Dir(p); !l.folders[dir]; dir = path.Dir(dir) {
			l.folders[dir] = true
		}
		l.python[path.Dir(p)] = l.python[path.Dir(p)] || outline.LanguageOf(p) == outline.Python
		if outline.LanguageOf(p) == outline.Go && !language.GoTest(p) {
			l.goFiles[path.Dir(p)] = append(l.goFiles[path.Dir(p)], p)
		}
	}
	for _, p := range all {
		if !settings.Has(path.Base(p)) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(p)))
		if err != nil || len(text) > 1<<20 {
			continue
		}
		sum.Write([]byte(p + "\x00"))
		sum.Write(text)
		l.setting(p, text)
	}
	slices.SortFunc(l.modules, func(a, b goModule) int { // the longest matching path wins
		return cmp.Or(len(b.path)-len(a.path), strings.Compare(a.dir, b.dir))
	})
	l.hash = hex.EncodeToString(sum.Sum(nil))
	return l
}

func (l *layout) setting(p string, text []byte) {
	dir := path.Dir(p)
	switch path.Base(p) {
	case "go.mod":
		if name := modfile.ModulePath(text); name != "" {
			l.modules = append(l.modules, goModule{name, dir})
		}
	case "package.json":
		var pkg struct{ Name, Main, Module, Types string }
		if json.Unmarshal(text, &pkg) == nil && pkg.Name != "" {
			if _, taken := l.packages[pkg.Name]; !taken {
				l.packages[pkg.Name] = dir
			}
			for _, m := range []string{pkg.Types, pkg.Module, pkg.Main} {
				if m != "" && l.main[dir] == "" {
					l.main[dir] = path.Join(dir, m)
				}
			}
		}
	default:
		var c struct {
			CompilerOptions struct {
				BaseURL *string             `json:"baseUrl"`
				Paths   map[string][]string `json:"paths"`
			} `json:"compilerOptions"`
		}
		plain, err := hujson.Standardize(text) // tsconfig.json may have comments and trailing commas
		if err != nil || json.Unmarshal(plain, &c) != nil ||
			c.CompilerOptions.BaseURL == nil && c.CompilerOptions.Paths == nil {
			return
		}
		t := tsConfig{base: dir, paths: c.CompilerOptions.Paths}
		if c.CompilerOptions.BaseURL != nil {
			t.base, t.set = path.Join(dir, *c.CompilerOptions.BaseURL), true
		}
		if _, taken := l.configs[dir]; !taken || path.Base(p) == "tsconfig.json" {
			l.configs[dir] = t
		}
	}
}

// goDir returns the folder of a Go package in this repository.
func (l *layout) goDir(spec string) (string, bool) {
	for _, m := range l.modules {
		dir := ""
		switch {
		case m.path == "std": // the Go standard library
			dir = path.Join(m.dir, spec)
		case spec == m.path:
			dir = m.dir
		case strings.HasPrefix(spec, m.path+"/"):
			dir = path.Join(m.dir, spec[len(m.path)+1:])
		default:
			continue
		}
		if len(l.goFiles[dir]) > 0 {
			return dir, true
		}
	}
	return "", false
}

// goSpec returns the import paths of a folder.
func (l *layout) goSpec(dir string) (specs []string) {
	for _, m := range l.modules {
		rel, ok := dir, m.dir == "."
		if !ok {
			rel, ok = strings.CutPrefix(dir+"/", m.dir+"/")
			rel = strings.TrimSuffix(rel, "/")
		}
		if !ok {
			continue
		}
		switch {
		case rel == "" || rel == ".":
			specs = append(specs, m.path)
		case m.path == "std":
			specs = append(specs, rel)
		default:
			specs = append(specs, m.path+"/"+rel)
		}
	}
	return specs
}

// pyModule is a Python module: a file, or a folder without __init__.py.
type pyModule struct {
	file   int64
	folder string // folder of its submodules; "" for none
}

func (m pyModule) found() bool { return m.file != 0 || m.folder != "" }

// pyAt returns the module at a path without extension.
func (l *layout) pyAt(p string) pyModule {
	p = path.Clean(p)
	for _, file := range language.PythonFiles(p) {
		if id := l.ids[file]; id != 0 {
			m := pyModule{file: id}
			if path.Dir(file) == p {
				m.folder = p
			}
			return m
		}
	}
	if l.folders[p] {
		return pyModule{folder: p}
	}
	return pyModule{}
}

func (l *layout) pyPackage(dir string) bool {
	return l.ids[path.Join(dir, "__init__.py")] != 0 || l.ids[path.Join(dir, "__init__.pyi")] != 0
}

// pyModule resolves "import a.b" in a file. It searches the root of the file's own package, then each parent folder,
// and in each of these also src and lib.
func (l *layout) pyModule(from string, level int, name string) pyModule {
	dir := path.Dir(from)
	if level > 0 {
		for ; level > 1; level-- {
			if dir == "." {
				return pyModule{}
			}
			dir = path.Dir(dir)
		}
		return l.pyAt(path.Join(dir, strings.ReplaceAll(name, ".", "/")))
	}
	dir = l.pyRoot(dir)
	key := dir + "\x00" + name
	m, known := l.modulesOf[key]
	if !known {
		m = l.pyAbove(dir, name)
		l.modulesOf[key] = m
	}
	return m
}

// pyRoot returns the folder that contains the outermost package around a folder.
func (l *layout) pyRoot(dir string) string {
	root, known := l.roots[dir]
	if !known {
		if root = dir; l.pyPackage(dir) && dir != "." {
			root = l.pyRoot(path.Dir(dir))
		}
		l.roots[dir] = root
	}
	return root
}

func (l *layout) pyAbove(dir, name string) pyModule {
	sub := strings.ReplaceAll(name, ".", "/")
	for {
		for _, more := range []string{"", "src", "lib", "python"} {
			m := l.pyAt(path.Join(dir, more, sub))
			// A folder that only shares the name of a third-party package is not that package.
			if m.file != 0 || m.folder != "" && strings.Contains(name, ".") {
				return m
			}
			if m.folder != "" && l.python[m.folder] {
				return m
			}
		}
		if dir == "." {
			return pyModule{}
		}
		dir = path.Dir(dir)
	}
}

// script resolves an import of JavaScript or TypeScript. It returns 0 for an import from outside of the repository.
func (l *layout) script(from, spec string) int64 {
	spec, _, _ = strings.Cut(spec, "?")
	if strings.HasPrefix(spec, ".") {
		return l.scriptAt(path.Join(path.Dir(from), spec))
	}
	if spec == "" || strings.HasPrefix(spec, "/") {
		return 0
	}
	for dir := path.Dir(from); ; dir = path.Dir(dir) {
		if c, ok := l.configs[dir]; ok {
			if id := l.mapped(c, spec); id != 0 {
				return id
			}
			break // the nearest one applies
		}
		if dir == "." {
			break
		}
	}
	name, sub, found := strings.Cut(spec, "/")
	if scope := name; found && strings.HasPrefix(spec, "@") {
		name, sub, _ = strings.Cut(sub, "/")
		name = scope + "/" + name
	}
	dir, ok := l.packages[name]
	if !ok {
		return 0
	}
	tries := []string{path.Join(dir, sub), path.Join(dir, "src", sub)}
	if sub == "" {
		tries = []string{path.Join(dir, "src/index"), path.Join(dir, "index"), l.main[dir]}
	}
	for _, t := range tries {
		if id := l.scriptAt(t); t != "" && id != 0 {
			return id
		}
	}
	return 0
}

// mapped applies paths and baseUrl of a tsconfig.json. The pattern with the longest prefix wins.
func (l *layout) mapped(c tsConfig, spec string) int64 {
	best, rest := "", ""
	for pattern := range c.paths {
		before, after, star := strings.Cut(pattern, "*")
		fits := pattern == spec
		if star {
			fits = strings.HasPrefix(spec, before) && strings.HasSuffix(spec, after) && len(spec) >= len(before)+len(after)
		}
		if fits && (best == "" || len(pattern) > len(best) || len(pattern) == len(best) && pattern < best) {
			best, rest = pattern, ""
			if star {
				rest = spec[len(before) : len(spec)-len(after)]
			}
		}
	}
	for _, to := range c.paths[best] {
		if id := l.scriptAt(path.Join(c.base, strings.Replace(to, "*", rest, 1))); id != 0 {
			return id
		}
	}
	if c.set {
		return l.scriptAt(path.Join(c.base, spec))
	}
	return 0
}

// scriptAt finds a file by its path with or without extension. "./a.js" may also mean a.ts.
func (l *layout) scriptAt(p string) int64 {
	for file := range language.ScriptFiles(p) {
		if id := l.ids[file]; id != 0 {
			return id
		}
	}
	return 0
}
