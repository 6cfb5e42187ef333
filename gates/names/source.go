package names

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates/testcode"
	"github.com/runplan/runplan/gates/testout"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
)

// test is a test in a file, on one side of the change.
type test struct {
	path string
	lang string
	unit testcode.Unit
}

// doctest is the language of examples in documentation.
const doctest = "doctest"

// side is one side of the change: its tests, and the other declarations in its test files.
type side struct {
	tests   []test
	helpers map[string][]string // texts of functions and tables by name
	texts   map[string]string   // of whole files
}

// readSide reads the test files of one side.
func readSide(files []File, text func(File) string) side {
	s := side{helpers: map[string][]string{}, texts: map[string]string{}}
	for _, f := range files {
		lang, src, above := language.OfTest(f.Path), text(f), 0
		if path.Ext(f.Path) == ".py" {
			for _, u := range doctests(f.Path, src) {
				s.tests = append(s.tests, test{f.Path, doctest, u})
			}
		}
		units := testcode.Read(f.Path, src).Units
		if lang == "" && path.Ext(f.Path) == ".rs" { // Rust has unit tests in the file of the code, after it
			if at := strings.Index(src, "#[cfg(test)]"); at >= 0 {
				lang, src, above = language.Rust, src[at:], strings.Count(src[:at], "\n")
				units = testcode.Read("tests/"+path.Base(f.Path), src).Units
			}
		}
		if lang == "" || src == "" {
			continue
		}
		s.texts[f.Path] = src
		names := map[string]bool{}
		for _, u := range units {
			u.Line += above
			s.tests = append(s.tests, test{f.Path, lang, u})
			names[u.Bare()] = true
		}
		for name, body := range declared(src) {
			if !names[name] {
				s.helpers[lang+" "+name] = append(s.helpers[lang+" "+name], body)
			}
		}
	}
	return s
}

var declares = lazyre.New(`^(\s*)(?:export\s+)?(?:default\s+)?(?:pub\s+)?(?:(?:async\s+)?(?:func\s*(?:\([^)]*\)\s*)?|function\s*\*?\s*|def\s+|class\s+|fn\s+|type\s+|interface\s+|struct\s+|enum\s+)|(?:var|let|const|static)\s+)(\w+)|^()([A-Za-z_]\w*)\s*(?::\s*[^=]+)?=[^=]|^(\s+)(?:async\s+|static\s+|public\s+|private\s+)*(\w+)\s*\([^()]*\)\s*\{\s*$`)

// declaration returns the name that a line declares, "" if none, and how far it is indented.
func declaration(line string) (name string, indent int) {
	m := declares.FindStringSubmatch(line)
	if m == nil {
		return "", 0
	}
	for _, pair := range [][2]string{{m[1], m[2]}, {m[3], m[4]}, {m[5], m[6]}} {
		if pair[1] != "" && !slices.Contains(plainCalls, pair[1]) {
			return pair[1], len(pair[0])
		}
	}
	return "", 0
}

// declared returns the declarations of a file with their text: up to the next line that is indented no deeper and
// starts another one.
func declared(text string) map[string]string {
	out := map[string]string{}
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		name, indent := declaration(l)
		if name == "" {
			continue
		}
		end := i + 1
		for end < len(lines) {
			t := strings.TrimLeft(lines[end], " \t")
			if t != "" && len(lines[end])-len(t) <= indent && !strings.ContainsAny(t[:1], ")}]") {
				break
			}
			end++
		}
		if _, again := out[name]; !again {
			out[name] = strings.Join(lines[i:end], "\n")
		}
	}
	return out
}

// mostHelpers limits how many levels of helpers are followed.
const mostHelpers = 3

// evidence returns what a test checks, including its helpers and tables.
func (s side) evidence(t test) evidence {
	e := gather(t.lang, t.unit.Text)
	if t.lang == language.Node && strings.Contains(t.unit.Name, "${") {
		e.add(gather(t.lang, s.texts[t.path])) // the test is in a loop; its values are around it
	}
	seen := map[string]bool{}
	for range mostHelpers {
		more := newEvidence()
		found := false
		for _, from := range []map[string]bool{e.calls, e.idents} {
			for name := range from {
				key := t.lang + " " + name
				if seen[name] || s.helpers[key] == nil {
					continue
				}
				seen[name], found = true, true
				for _, body := range s.helpers[key] {
					more.add(gather(t.lang, body))
				}
			}
		}
		e.add(more)
		if !found {
			break
		}
	}
	for name := range seen {
		delete(e.calls, name)
	}
	return e
}

// of finds the test of a case. Of several possible tests it returns the one whose file fits best.
func (s side) of(c testout.Case) (test, bool) {
	best, at := 0, -1
	for i, t := range s.tests {
		if fit := t.fits(c); fit > best {
			best, at = fit, i
		}
	}
	if at < 0 {
		return test{}, false
	}
	return s.tests[at], true
}

// fits rates how well a test fits a case: 0 means that it does not.
func (t test) fits(c testout.Case) int {
	if !t.named(c) {
		return 0
	}
	dir, stem := path.Dir(t.path), strings.TrimSuffix(path.Base(t.path), path.Ext(t.path))
	fit := 1
	if !strings.Contains(t.unit.Name, "${") {
		fit += 5 // and without a placeholder in its name
	}
	switch {
	case c.Path != "" && (c.Path == t.path || strings.HasSuffix(t.path, "/"+c.Path)):
		fit += 100
	case c.Path != "" && t.lang != language.Script:
		return 0
	case t.lang == language.Go && dir != ".":
		fit += alike(strings.Split(dir, "/"), strings.Split(c.Group, "/")) // a module need not begin at the root of the tree
	case t.lang == language.Python && c.Group != "":
		if !slices.Contains(strings.FieldsFunc(c.Group, func(r rune) bool { return r == '.' || r == '/' || r == ':' }),
			stem) {
			return 0
		}
		fit += 10
	case t.lang == language.Node && strings.Contains(c.Group, path.Base(t.path)):
		fit += 10
	}
	return fit
}

// cases counts the cases of a test.
func (t test) cases(list []testout.Case) int {
	return lists.Count(list, func(c testout.Case) bool { return t.fits(c) > 0 })
}

// alike counts the folders that two paths have in common at their ends.
func alike(a, b []string) int {
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

// named reports whether a case bears the name of the test.
func (t test) named(c testout.Case) bool {
	bare := t.unit.Bare()
	if at := strings.LastIndex(bare, " #"); at > 0 {
		bare = bare[:at]
	}
	switch t.lang {
	case language.Go:
		first, _, _ := strings.Cut(c.Name, "/")
		return first == bare || strings.Contains(t.unit.Name, testcode.GroupMark) &&
			slices.Contains(strings.Split(c.Name, "/"), bare)
	case language.Python:
		fn, _, _ := strings.Cut(c.Name, "[")
		fn = fn[strings.LastIndexAny(fn, ".:")+1:]
		group, _, in := strings.Cut(t.unit.Name, testcode.GroupMark)
		return fn == bare && (!in || c.Group == "" || strings.Contains(c.Group+"."+c.Name, group))
	case doctest: // the runner's name is relative to another folder
		return c.Name == bare || strings.Contains(c.Name, ".") && strings.HasSuffix(bare, "."+c.Name)
	case language.Script:
		return c.Name[strings.LastIndexByte(c.Name, '/')+1:] == strings.TrimSuffix(bare, path.Ext(bare))
	case language.Rust, language.Java:
		fn, _, _ := strings.Cut(c.Name, "(")
		return fn[strings.LastIndexAny(fn, ".:")+1:] == bare
	case language.Shell: // a script is a test under its path
		return c.Name == t.path || c.Name == t.unit.Name
	case language.Node:
		return sameTitle(t.unit.Name, c.Name) || sameTitle(t.unit.Bare(), c.Name)
	}
	return c.Name == t.unit.Name || c.Name == bare
}

var holes = lazyre.New(`\\\$\\\{.*?\\\}|%[a-zA-Z#]|\\\$[\w.]+`)

// sameTitle compares the title of a Node test with the runner's name. Runners join groups in several ways, and a
// title may have placeholders for the values of a row.
func sameTitle(title, name string) bool {
	join := func(s string) string {
		for _, mark := range []string{testcode.GroupMark, " > ", " / ", "/"} {
			s = strings.ReplaceAll(s, mark, " ")
		}
		return phrase.Line(s)
	}
	title, name = join(title), join(name)
	if title == name {
		return true
	}
	pattern := holes.ReplaceAllString(regexp.QuoteMeta(title), ".*")
	if pattern == regexp.QuoteMeta(title) {
		return false
	}
	re, err := regexp.Compile("^(?:.* )?" + pattern + "$")
	return err == nil && re.MatchString(name)
}
