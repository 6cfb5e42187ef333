package gates

import (
	"encoding/json"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
)

// Language is the language or build tool of a [Project].
type Language string

// The languages and build tools that runplan detects.
const (
	LangGo     Language = "go"
	LangPython Language = "python"
	LangNode   Language = "node"
	LangRust   Language = "rust"
	LangJava   Language = "java"
	LangShell  Language = "shell"
	LangRuby   Language = "ruby"
	LangSwift  Language = "swift"
	LangDotnet Language = "dotnet"
	LangMake   Language = "make"
)

// Project is a part of a tree with its own linters and tests.
type Project struct {
	Language Language `json:"language"`
	Root     string   `json:"root"`   // relative to the tree, slashes; "." is the tree itself
	Marker   string   `json:"marker"` // the file by which it was detected, relative to the tree
}

// maxDepth limits how deep below the tree's root a project may begin; the root has depth 0.
const maxDepth = 3

// markers are in order of significance; for each language the first match counts.
var markers = []marker{
	{LangGo, "go.mod"},
	{LangPython, "pyproject.toml setup.py setup.cfg pytest.ini tox.ini requirements.txt"},
	{LangNode, "package.json"},
	{LangRust, "Cargo.toml"},
	{LangJava, "pom.xml build.gradle build.gradle.kts"},
	{LangRuby, "Gemfile *.gemspec Rakefile .rspec"},
	{LangSwift, "Package.swift"},
	{LangDotnet, "*.sln *.slnx *.csproj *.fsproj *.vbproj"},
	{LangMake, "GNUmakefile makefile Makefile"},
}

type marker struct {
	lang  Language
	files string // names, or *.EXTENSION
}

// among returns the first of the sorted names that is the marker.
func (m marker) among(names []string) string {
	for file := range strings.FieldsSeq(m.files) {
		ext, any := strings.CutPrefix(file, "*")
		if n, ok := lists.Find(names, func(n string) bool { return n == file || any && strings.HasSuffix(n, ext) }); ok {
			return n
		}
	}
	return ""
}

// Detect finds the projects of the tree in dir (GATE-02), sorted by root. A tree may contain several projects, and
// one root several languages. Detect skips folders of dependencies, fixtures and tools.
func Detect(dir string) []Project {
	var out []Project
	has := func(lang Language, root string) bool {
		return slices.ContainsFunc(out, func(p Project) bool { return p.Language == lang && p.Root == root })
	}
	for root, names := range walk(dir, maxDepth) {
		for _, m := range markers {
			if file := m.among(names); file != "" && !has(m.lang, root) {
				out = append(out, Project{m.lang, root, path.Join(root, file)})
			}
		}
		// Tests without packaging files are a project, too.
		if root == "." || root == "tests" || root == "test" {
			if i := slices.IndexFunc(names, language.PythonTest); i >= 0 && !has(LangPython, ".") {
				out = append(out, Project{LangPython, ".", path.Join(root, names[i])})
			}
		}
		if scripts := shellScripts(root, names); len(scripts) > 0 && !has(LangShell, ".") {
			out = append(out, Project{LangShell, ".", scripts[0]})
		}
	}
	if len(out) == 0 {
		out = unpackaged(dir)
	}
	out = slices.DeleteFunc(out, func(p Project) bool { return p.Language == LangNode && workspaceMember(dir, p, out) })
	all := slices.Clone(out)
	out = slices.DeleteFunc(out, func(p Project) bool {
		switch p.Language {
		case LangRust, LangJava, LangDotnet, LangSwift: // their roots build the parts as well
			return below(p, all)
		case LangPython:
			return listsPackages(dir, p, all)
		}
		return false
	})
	slices.SortStableFunc(out, func(a, b Project) int { return strings.Compare(a.Root, b.Root) })
	return out
}

// listsPackages reports whether a folder only lists packages and is not a Python project: it has no code, for example
// because it builds the docs, or it is the folder of the tests, docs or examples of a project above it that has code.
// Only there can its code be imported.
func listsPackages(dir string, p Project, all []Project) bool {
	list := path.Base(p.Marker)
	if p.Root == "." || !slices.Contains([]string{"requirements.txt", "setup.cfg", "tox.ini"}, list) {
		return false
	}
	code := func(p Project) bool {
		return anyFile(dir, p, all, func(_, name string) bool { return strings.HasSuffix(name, ".py") && name != "conf.py" })
	}
	serves := []string{"test", "tests", "doc", "docs", "example", "examples"}
	return !code(p) || list == "requirements.txt" && slices.Contains(serves, path.Base(p.Root)) &&
		slices.ContainsFunc(all, func(q Project) bool {
			return q.Language == LangPython && within(p.Root, q.Root) && code(q)
		})
}

// unpackaged finds tests of Ruby and Node in a tree without any project.
func unpackaged(dir string) []Project {
	for root, names := range walk(dir, 1) {
		if !slices.Contains([]string{".", "test", "tests", "spec", "__tests__"}, root) {
			continue
		}
		for _, name := range names {
			switch {
			case rubyTest.MatchString(name):
				return []Project{{LangRuby, ".", path.Join(root, name)}}
			case nodeTest.MatchString(name):
				return []Project{{LangNode, ".", path.Join(root, name)}}
			}
		}
	}
	return nil
}

var nodeTest = lazyre.New(`(?:^test|[._-]test)\.[cm]?js$|^test-.*\.[cm]?js$`) // as node --test finds them

// Detection is the result of [Detect] for a folder. It is valid until the folder's content changes.
type Detection struct {
	Dir      string
	Projects []Project
}

// DetectIn returns the result of [Detect] to share between callers.
func DetectIn(dir string) *Detection { return &Detection{dir, Detect(dir)} }

// Ignored reports whether a folder with this name contains files that do not belong to the project.
func Ignored(name string) bool {
	// .git, .runplan, .tox, caches
	return name == "testdata" || name == "__pycache__" || language.Vendored(name) || strings.HasPrefix(name, ".")
}

// walk yields each folder down to depth, with the names of its files, sorted. Links are not followed.
func walk(dir string, depth int) iter.Seq2[string, []string] {
	type folder struct {
		rel   string
		depth int
	}
	return func(yield func(root string, files []string) bool) {
		queue := []folder{{".", 0}}
		for len(queue) > 0 {
			f := queue[0]
			queue = queue[1:]
			entries, err := os.ReadDir(filepath.Join(dir, filepath.FromSlash(f.rel)))
			if err != nil {
				continue // an unreadable folder has nothing to run
			}
			var files []string
			for _, e := range entries {
				switch {
				case e.IsDir() && f.depth < depth && !Ignored(e.Name()):
					queue = append(queue, folder{path.Join(f.rel, e.Name()), f.depth + 1})
				case e.Type().IsRegular() || e.Type()&fs.ModeSymlink != 0:
					files = append(files, e.Name())
				}
			}
			if !yield(f.rel, files) {
				return
			}
		}
	}
}

// shellScripts finds shell suites (GATE-03) in the root and in folders named tests or test: run-all-tests.sh, which
// covers its whole folder, else test-*.sh and *.bats.
func shellScripts(root string, files []string) []string {
	if base := path.Base(root); root != "." && base != "tests" && base != "test" {
		return nil
	}
	var out []string
	for _, f := range files {
		if f == "run-all-tests.sh" {
			return []string{path.Join(root, f)}
		}
		if ok, _ := path.Match("test-*.sh", f); ok || strings.HasSuffix(f, ".bats") {
			out = append(out, path.Join(root, f))
		}
	}
	return out
}

// below reports whether a project of the same language is above p.
func below(p Project, all []Project) bool {
	return slices.ContainsFunc(all, func(q Project) bool { return q.Language == p.Language && within(p.Root, q.Root) })
}

// within reports whether root is strictly below the folder above.
func within(root, above string) bool {
	return root != above && (above == "." || strings.HasPrefix(root, above+"/"))
}

// workspaceMember reports whether p is part of a package above it that tests its members itself.
func workspaceMember(dir string, p Project, all []Project) bool {
	for _, q := range all {
		if q.Language != LangNode || !within(p.Root, q.Root) {
			continue
		}
		pkg := readPackage(dir, q.Root)
		if pkg.testScript() != "" && (len(pkg.Workspaces) > 0 || exists(dir, q.Root, "pnpm-workspace.yaml")) {
			return true
		}
	}
	return false
}

// nodePackage is the part of package.json that matters here.
type nodePackage struct {
	Scripts      map[string]string `json:"scripts"`
	Deps         map[string]string `json:"dependencies"`
	DevDeps      map[string]string `json:"devDependencies"`
	Type         string            `json:"type"`
	Workspaces   json.RawMessage   `json:"workspaces"`
	ESLintConfig json.RawMessage   `json:"eslintConfig"`
	Prettier     json.RawMessage   `json:"prettier"`
}

func readPackage(dir, root string) nodePackage {
	var p nodePackage
	_ = json.Unmarshal([]byte(readText(dir, root, "package.json")), &p) // npm itself reports errors in it
	return p
}

// testScript returns the script of `npm test`, or "" for the placeholder of npm init.
func (p nodePackage) testScript() string {
	s := strings.TrimSpace(p.Scripts["test"])
	if strings.Contains(s, "no test specified") {
		return ""
	}
	return s
}

// pyproject is the part of pyproject.toml that matters here; nil where a table is absent.
type pyproject struct {
	Tool struct {
		Pytest map[string]any `toml:"pytest"`
		Ruff   map[string]any `toml:"ruff"`
		Black  map[string]any `toml:"black"`
	} `toml:"tool"`
	Project struct {
		Extras map[string][]string `toml:"optional-dependencies"`
	} `toml:"project"`
	Groups map[string][]any `toml:"dependency-groups"` // requirements, and tables that include other groups
}

func readPyproject(dir, root string) pyproject {
	var p pyproject
	_ = toml.Unmarshal([]byte(readText(dir, root, "pyproject.toml")), &p) // Python's tools report errors in it
	return p
}

// makeTarget reports whether a Makefile has a target of that name, and returns its recipe.
func makeTarget(text, name string) (recipe string, ok bool) {
	head := regexp.MustCompile(`(?m)^(?:[\w./-]+[ \t]+)*` + regexp.QuoteMeta(name) +
		`(?:[ \t]+[\w./-]+)*[ \t]*::?(?:[^=]|$)`)
	at := head.FindStringIndex(text)
	if at == nil {
		return "", false
	}
	lines := strings.Split(text[at[0]:], "\n")
	end := 1
	for end < len(lines) && (strings.HasPrefix(lines[end], "\t") || strings.TrimSpace(lines[end]) == "") {
		end++
	}
	return strings.Join(lines[:end], "\n"), true
}

// maxConfig is the number of bytes read of a configuration file.
const maxConfig = 1 << 20

// readText reads a small file of a project; a missing one is empty.
func readText(dir, root, name string) string {
	return ReadSome(filepath.Join(dir, filepath.FromSlash(root), filepath.FromSlash(name)), maxConfig)
}

// readTexts reads several small files of a project, each with a line feed at its end.
func readTexts(dir, root string, names ...string) string {
	var b strings.Builder
	for _, name := range names {
		b.WriteString(readText(dir, root, name) + "\n")
	}
	return b.String()
}

// ReadSome reads at most n bytes of a file. It returns nothing for a missing or unreadable file.
func ReadSome(file string, most int64) string {
	if fi, err := os.Stat(file); err != nil || !fi.Mode().IsRegular() {
		return "" // opening a named pipe would block forever
	}
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		return ""
	}
	return string(text)
}

func exists(dir, root, name string) bool {
	_, err := os.Stat(filepath.Join(dir, filepath.FromSlash(root), filepath.FromSlash(name)))
	return err == nil
}

// firstOf returns the path of the first of the names that root has; "" if it has none.
func firstOf(dir, root string, names ...string) string {
	for _, name := range names {
		if exists(dir, root, name) {
			return path.Join(root, name)
		}
	}
	return ""
}

// upwards looks for name in root and in each folder above it within the tree, and returns the folder.
func upwards(dir, root, name string) (string, bool) {
	at := above(root, func(at string) bool { return exists(dir, at, name) })
	return path.Join(at, name), at != ""
}

// above returns the first folder that satisfies ok: root, or the closest folder above it within the tree; "" if there
// is none.
func above(root string, ok func(root string) bool) string {
	for at := root; ; at = path.Dir(at) {
		if ok(at) {
			return at
		}
		if at == "." {
			return ""
		}
	}
}
