package held

import (
	"context"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
)

var (
	// servesCode and servesData match words in the names of code and of data that serve tests.
	servesCode = lazyre.New(`^(?:assert\w*|checks?|checkers?|expect\w*|tests?|testing|helpers?|setup|teardown|verify|matchers?|runner|reports?|reporters?|plugins?|hooks?)$`)
	servesData = lazyre.New(`^(?:expected|expectations?|wants?|wanted|golden|cases|vectors|samples?|fixtures?|references?|answers?)$`)
	aboutTests = lazyre.New(`(?i)^test(?:s|ing)?$`) // each plan mentions them
	pyWords    = lazyre.New(`\w+`)
	nameWord   = lazyre.New(`[A-Z]?[a-z]+|[A-Z]+`)
	dataFile   = lazyre.New(`^\.(?:json|ya?ml|toml|csv|tsv|txt|xml|html|out|dat|sql|md)?$`)
	forUsers   = lazyre.New(`"(?:main|module|browser|bin|exports|types|files)"`) // of package.json
	// inSettings matches the extensions of code and data that settings of test runners name, and everyProgram the names of files
	// that each program has.
	inSettings   = lazyre.New(`^\.(?:[cm]?[jt]sx?|py|rb|sh|bash|txt|json|csv|tsv|ya?ml|toml|ini|cfg)$`)
	everyProgram = lazyre.New(`^(?:index|main|app|cli|__init__|__main__|package|pyproject|tsconfig.*)$`)
	// runnerLine matches lines of shared settings about test runners.
	runnerLine = lazyre.New(`^\s*"(?:pre|post)?(?:test|check|ci|verify)[\w:-]*"\s*:|"(?:setupFiles\w*|globalSetup|globalTeardown|testEnvironment|testRunner|runner|reporters|resolver|snapshotSerializers|preset)"|"require"\s*:\s*\[|` +
		`addopts|pytest_plugins|-p[ =]`)
	forPytest = lazyre.New(`addopts|pytest_plugins|-p[ =]`) // of pyproject.toml
)

// servant is a changed file of the base whose name says that it serves tests.
type servant struct {
	path, key      string // key is the part of the path that has the word
	tests, product bool   // who names it
	configured     bool   // the settings of a test runner name it, so a test that names it tests it
}

// servants returns the changed files that serve tests although no rule for paths says so: scripts that a test command
// calls, assertions that import no test library, expected results beside the code. Their names say so, only tests and
// their configuration name them, no test has their name, and the batch does not mention them.
func (r *Runner) servants(ctx context.Context, entries []git.Entry) (map[string]bool, error) {
	var list []*servant
	named := map[string]*regexp.Regexp{}
	texts := []string{"#[cfg(test)]"}
	add := func(s *servant) {
		list = append(list, s)
		if named[s.key] == nil {
			named[s.key] = reference(s.key)
			texts = append(texts, s.key)
		}
	}
	var others []*servant
	for _, e := range entries {
		old, _ := e.Blobs()
		if old == "" || language.OfTest(e.Path) != "" || Decides(e.Path) || fixture(e.Path) || !utf8.ValidString(e.Path) {
			continue
		}
		key, word := servingName(e.Path)
		stem := strings.TrimSuffix(path.Base(e.Path), path.Ext(e.Path))
		switch {
		case key != "" && !r.mentions(key) && (aboutTests.MatchString(word) || !r.mentions(word)):
			add(&servant{path: e.Path, key: key})
		case key == "" && inSettings.MatchString(path.Ext(e.Path)) && !everyProgram.MatchString(stem) &&
			!r.mentions(path.Base(e.Path)):
			others = append(others, &servant{path: e.Path, key: stem, tests: true, configured: true})
		}
	}
	if err := r.configured(ctx, others, add); err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, nil
	}
	var last git.Hit // the last attribute of Rust that says that the next line is only built for tests
	err := r.Repo.Grep(ctx, r.subject.Base, texts, func(h git.Hit) {
		if strings.TrimSpace(h.Text) == "#[cfg(test)]" {
			last = h
		}
		names := map[string]bool{}
		for key, line := range named {
			names[key] = line.MatchString(h.Text)
		}
		for _, s := range list {
			if names[s.key] || s.inPython(h) {
				s.note(h, h.Path == last.Path && h.Line == last.Line+1)
			}
		}
	})
	out := map[string]bool{}
	for _, s := range list {
		out[s.path] = s.tests && !s.product
	}
	return out, err
}

// configured passes on those files that the settings of a test runner name, whatever their own names say.
func (r *Runner) configured(ctx context.Context, list []*servant, add func(*servant)) error {
	if len(list) == 0 {
		return nil
	}
	var texts, in []string
	for _, s := range list {
		texts = append(texts, s.key)
	}
	for _, glob := range append(runnerSettings(), "package.json", "pyproject.toml", "setup.cfg", "tox.ini") {
		in = append(in, ":(glob)**/"+glob)
	}
	found := map[*servant]bool{}
	err := r.Repo.Grep(ctx, r.subject.Base, texts, func(h git.Hit) {
		if !gates.Match(runnerSettings(), h.Path) && !runnerLine.MatchString(h.Text) {
			return
		}
		for _, s := range list {
			found[s] = found[s] || reference(s.key).MatchString(h.Text)
		}
	}, in...)
	for _, s := range list {
		if found[s] {
			add(s)
		}
	}
	return err
}

// runnerSettings returns the files with which only test runners are set up.
func runnerSettings() []string {
	return []string{"conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "*jest*.config.*",
		"*vitest*.config.*", "vitest.workspace.*", ".mocharc", ".mocharc.*", "karma.conf.*", "ava.config.*", ".taprc", ".rspec",
		"bunfig.toml"}
}

// servingName returns the part of a path that says that the file serves tests, and the word in it; "" if none does.
func servingName(p string) (key, word string) {
	dir, base := path.Split(p)
	ext := path.Ext(base)
	parts := []string{strings.TrimSuffix(base, ext), path.Base(dir)}
	if slices.Contains([]string{".go", ".java", ".kt", ".cs", ".swift"}, ext) {
		parts = parts[1:] // nobody imports such a file by its name
	}
	words := servesCode
	if dataFile.MatchString(ext) {
		words = servesData
		parts = append(parts[:1], strings.Split(strings.Trim(dir, "/"), "/")...)
	}
	for _, part := range parts {
		for _, w := range nameWord.FindAllString(part, -1) {
			if words.MatchString(strings.ToLower(w)) && p != "setup.py" {
				return part, w
			}
		}
	}
	return "", ""
}

// mentions reports whether the batch mentions a word. Then the file may be what it asks to change.
func (r *Runner) mentions(word string) bool {
	b := r.subject.Batch
	return regexp.MustCompile(`(?i)\b` + regexp.QuoteMeta(word) + `\b`).MatchString(b.Title + "\n" + b.Text)
}

// reference matches lines that name a file or a folder by key: a path, an import, a command.
func reference(key string) *regexp.Regexp {
	k := regexp.QuoteMeta(key)
	command := `\b(?:import|from|mod|source|sh|bash|node|python3?)\s+[\w./@:-]*?`
	return regexp.MustCompile("(?:[\"'`/]|" + command + `|\W-p\s*)\b` + k + `\b|\b` + k + "/")
}

// inPython reports whether a line of a Python program has the key in any form: in a list of imports, as a part of the
// name of an entry point. Such a program may import the file.
func (s *servant) inPython(h git.Hit) bool {
	text := strings.TrimSpace(h.Text)
	return path.Ext(s.path) == ".py" && path.Ext(h.Path) == ".py" && language.OfTest(h.Path) == "" &&
		!strings.HasPrefix(text, "#") && slices.Contains(pyWords.FindAllString(text, -1), s.key)
}

// note takes a line that names the file.
func (s *servant) note(h git.Hit, onlyBuiltForTests bool) {
	base := path.Base(h.Path)
	own := language.Subject(h.Path) == language.Subject(s.key) // a test of the file itself
	switch {
	case h.Path == s.path, path.Dir(h.Path) == path.Dir(s.path) && path.Base(path.Dir(s.path)) == s.key &&
		language.OfTest(h.Path) == "":
	case language.OfTest(h.Path) != "" && !(s.configured && Decides(h.Path)):
		s.tests, s.product = true, s.product || s.configured || own
	case onlyBuiltForTests, Decides(h.Path),
		base == "package.json" && !forUsers.MatchString(h.Text) && (!s.configured || runnerLine.MatchString(h.Text)),
		slices.Contains([]string{"pyproject.toml", "setup.cfg", "tox.ini"}, base) && forPytest.MatchString(h.Text):
		s.tests = true
	case gates.Match([]string{"*.md", "*.rst", "*.txt", "*.yml", "*.yaml", "*.lock", "package-lock.json"}, h.Path):
	default:
		s.product = true
	}
}
