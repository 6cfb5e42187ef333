package routing

import (
	"path"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/wordset"
	"github.com/runplan/runplan/planparse"
)

// maker is a thing that earlier batches create, under one of its possible names.
type maker struct {
	batches []int  // by plan order
	what    string // the path or name in full
	isPath  bool
}

// vocabulary maps unambiguous words to the things that the batches of a plan create.
type vocabulary struct {
	paths map[string]*maker // paths, their endings, folders of packages; nil for an ending that several paths have
	stems map[string]*maker // the same without the extension, as imports write it
	names map[string]*maker // functions, types and constants
	tests map[string]*maker // tests, by the name of their subject
	own   []map[string]bool // names that each batch declares itself
	build []manifest
}

// manifest is a file that a tree of code is built with.
type manifest struct {
	batch     int
	path, dir string
	only      bool // it affects files directly next to it, and not further down
}

// tooMany is the number of batches that declare a name before it counts as common.
const tooMany = 3

// vocabulary collects what the batches create. Batches come in the order in which they can run.
func (g *graph) vocabulary() *vocabulary {
	v := &vocabulary{paths: map[string]*maker{}, stems: map[string]*maker{}, names: map[string]*maker{},
		tests: map[string]*maker{}}
	v.own = make([]map[string]bool, len(g.plan.Batches))
	for _, i := range g.order {
		for _, p := range g.does[i].makes {
			v.file(p, i)
		}
		v.own[i] = map[string]bool{}
		for _, name := range declarations(&g.plan.Batches[i], g.says[i]) {
			v.own[i][name] = true
			if m := v.names[name]; m == nil {
				v.names[name] = &maker{batches: []int{i}, what: name}
			} else {
				m.batches = lists.Add(m.batches, i)
			}
		}
	}
	made := map[string]bool{}
	for _, m := range v.paths {
		if m != nil {
			made[m.what] = true
		}
	}
	for _, i := range g.order { // changed files make an ending ambiguous too
		for _, p := range g.does[i].all {
			if !made[p] {
				for _, end := range endings(p) {
					if m, ok := v.paths[end]; ok && (m == nil || m.what != p) {
						v.paths[end] = nil
					}
				}
			}
		}
	}
	v.packages(g)
	return v
}

// file adds a created path to the vocabulary, under the whole path and under each of its endings.
func (v *vocabulary) file(p string, i int) {
	put := func(m map[string]*maker, key string) {
		old, ok := m[key]
		switch {
		case !ok:
			m[key] = &maker{[]int{i}, p, true}
		case old != nil && old.what == p:
			old.batches = lists.Add(old.batches, i)
		default:
			m[key] = nil
		}
	}
	if isPattern(p) || strings.HasSuffix(p, "/") {
		return
	}
	base := path.Base(p)
	for _, end := range endings(p) {
		if end == p || end != base || !anywhere(base) {
			put(v.paths, end)
		}
	}
	ext := path.Ext(p)
	if !codeFiles.Has(ext) {
		return
	}
	if subject, ok := subjectOf(p); ok {
		put(v.tests, subject)
	}
	stem := strings.TrimSuffix(p, ext)
	if name := path.Base(stem); name != stem && slices.Contains([]string{"index", "__init__", "mod"}, name) {
		stem = path.Dir(stem)
	}
	for _, end := range endings(stem) {
		put(v.stems, end)
	}
	// The full path wins over a mere ending of another one.
	if m := v.paths[p]; m == nil || m.what != p {
		v.paths[p] = &maker{[]int{i}, p, true}
	}
}

// endings returns a path and its endings without the first folders.
func endings(p string) []string {
	out := []string{p}
	for {
		_, rest, ok := strings.Cut(p, "/")
		if !ok || rest == "" {
			return out
		}
		out, p = append(out, rest), rest
	}
}

// packages records Go packages whose first file a batch creates.
func (v *vocabulary) packages(g *graph) {
	first := map[string]bool{}
	for _, i := range g.order {
		for _, p := range g.does[i].all {
			dir := path.Dir(p)
			if first[dir] || path.Ext(p) != ".go" {
				continue
			}
			first[dir] = true
			if _, made := slices.BinarySearch(g.does[i].makes, p); made && dir != "." && (g.hasGo == nil || !g.hasGo(dir)) {
				v.build = append(v.build, manifest{i, p, dir, true})
				if !strings.Contains(dir, "/") {
					continue
				}
				if _, taken := v.paths[dir]; !taken {
					v.paths[dir] = &maker{[]int{i}, dir, true}
				}
			}
		}
	}
	for _, i := range g.order {
		for _, p := range g.does[i].makes {
			if manifests.Has(path.Base(p)) {
				v.build = append(v.build, manifest{i, p, path.Dir(p), false})
			}
		}
	}
}

// anywhere reports whether many folders have a file of this name.
func anywhere(base string) bool {
	stem := strings.TrimSuffix(base, path.Ext(base))
	return stem == "" || everywhere.Has(strings.ToLower(stem))
}

var everywhere = wordset.New(
	"index main mod lib init __init__ readme test tests types utils util package config settings setup conftest " +
		"makefile dockerfile license changelog page layout route routes app models views style styles doc go skill")

// manifests holds the names of files that a tree of code is built with.
var manifests = wordset.New(
	"go.mod package.json pyproject.toml Cargo.toml CMakeLists.txt pom.xml build.gradle build.gradle.kts Gemfile " +
		"composer.json Package.swift mix.exs project.yml __init__.py")

var codeFiles = wordset.New(
	".go .py .js .mjs .cjs .jsx .ts .tsx .vue .svelte .rs .rb .php .java .kt .swift .c .cc .cpp .h .cs .sh .ex " +
		".exs .scala .lua")

// declarations lists the names that the code of a batch declares, or that it says it produces.
func declarations(b *planparse.Batch, s statement) []string {
	var out []string
	seen := map[string]bool{}
	add := func(name string) {
		if usable(name) && !seen[name] {
			seen[name] = true
			out = append(out, name)
		}
	}
	for _, it := range s.produces {
		add(declaredIn(it.text))
	}
	planparse.EachLine(b, func(l planparse.Line) {
		if !l.Fenced {
			for _, span := range planparse.Spans(l.Text) {
				if strings.Contains(span, " ") {
					add(declaredBy(span))
				}
			}
			return
		}
		text := l.Text
		if l.Lang == "diff" || l.Lang == "patch" {
			if !strings.HasPrefix(text, "+") || strings.HasPrefix(text, "+++") {
				return
			}
			text = text[1:]
		}
		add(declaredBy(text))
	})
	return out
}

// declaration matches a line of code in any language that declares something: a function or a method, a type, a
// constant, a table, a function of the shell.
var declaration = lazyre.New(`^(\s*)((?:(?:export|pub(?:\s*\([^)]*\))?|default|async|public|private|protected|internal|` +
	`static|final|abstract|open|override|declare|unsafe|data|sealed|partial|suspend|virtual)\s+)*)(?:` +
	`(?:func|fn|def|function)\b\s*(?:\([^)]*\) *)?\**` + nameChars + `|` +
	`(?:class|type|interface|struct|enum|trait|protocol|record|actor|module|object|namespace)\s+` + nameChars + `|` +
	`(const|let|var)\s+` + nameChars + `|` +
	"(?:CREATE|create)\\s+(?i:TABLE (?:IF )?(?:NOT )?(?:EXISTS )?)[`\"\\[]*" + nameChars + `|` +
	nameChars + `\(\) *\{)`)

var exported = lazyre.New(`\b(?:export|pub)\b`)

const nameChars = `([\w$[:^ascii:]]*)`

// declaredBy returns the name that a line of code declares, "" if none. A constant must be exported or at the outermost
// level.
func declaredBy(line string) string {
	m := declaration.FindStringSubmatch(line)
	if m == nil || m[5] != "" && m[1] != "" && !exported.MatchString(m[2]) {
		return ""
	}
	return m[3] + m[4] + m[6] + m[7] + m[8]
}

// declaredIn returns the name that a code span of an interface is about: Settings for "class Settings", and
// load_settings for "load_settings(path) -> Settings".
func declaredIn(span string) string {
	if name := declaredBy(span); name != "" {
		return name
	}
	word := firstWord(strings.TrimLeft(span, " *&"))
	if rest := strings.TrimLeft(span, " *&")[len(word):]; strings.HasPrefix(rest, "/") || strings.HasPrefix(rest, ".") &&
		!strings.Contains(rest, "(") || strings.HasPrefix(rest, "-") {
		return "" // a path
	}
	return word
}

var leadingName = lazyre.New(`^` + nameChars)

func firstWord(s string) string { return leadingName.FindString(s) }

// usable reports whether a name is specific. Short and common names are not.
func usable(name string) bool {
	return len(name) >= 4 && !(name[0] >= '0' && name[0] <= '9') && !common(name)
}

// common reports whether any code or text may use a name.
func common(name string) bool { return commonNames.Has(strings.ToLower(strings.Trim(name, "_"))) }

var commonNames = wordset.New(
	"main init setup teardown test tests run name value values data item items list result results error errors " +
		"option options config handler state props string number object index test_main testmain tostring beforeeach " +
		"aftereach describe module class type self this true false none null json text path file files line lines " +
		"user users args params request response context process start stop open close read write load save parse " +
		"print render update create delete remove insert get set add call exec execute help usage version new from " +
		"with into next info debug warn done status body header node tree root base default build enter exit java " +
		"script style table event events message callback iter repr call_args setupclass pass fail task step batch " +
		"plan phase github javascript typescript cleanup kind mode model models view views component server client " +
		"test_case testcase expected actual input output fixture mock helper helpers util utils logger check validate " +
		"format filter apply reset clear")

// distinctive reports whether a name is not a word of any language: it has a capital or an underscore inside.
func distinctive(name string) bool {
	return len(name) >= 4 && joint.MatchString(strings.Trim(name, "_$-"))
}

var joint = lazyre.New(`[_-]|[a-z][A-Z]`)

// isPlainWord reports whether a name is one word, of at least four letters.
func isPlainWord(name string) bool {
	return len(name) >= 4 && firstWord(name) == name
}
