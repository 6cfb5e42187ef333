package held

import (
	"context"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/testcode"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/lazyre"
)

// mix is the candidate's tree with the base's tests in it.
type mix struct {
	repo     *git.Repo
	put      map[string]git.TreeFile // of the base
	drop     []string                // of the candidate
	added    []string                // new test files, which are dropped only where something is put back
	helpers  []string                // of put: code that tests call, among the code of the product
	left     []string                // test files of the base that do not build with the candidate
	code     bool                    // something else than tests changed
	reverted bool
}

// nothing reports whether the candidate runs the base's tests as they are.
func (m *mix) nothing() bool { return len(m.put)+len(m.drop) == 0 }

// add decides about one path that the candidate changed.
func (m *mix) add(ctx context.Context, e git.Entry, before, after []byte) error {
	old, now := e.Blobs()
	restore := func() { m.put[e.Path] = git.TreeFile{Mode: e.OldMode, Blob: old} }
	test := testcode.Language(e.Path) != ""
	m.code = m.code || !test && !decides(e.Path) && !fixture(e.Path)
	switch base := path.Base(e.Path); {
	case old == "" && now == "": // a submodule
	case base == "package.json" && old != "" && now != "":
		return m.merged(ctx, e, before, after, mergePackage)
	case base == "go.mod" && now != "":
		return m.merged(ctx, e, before, after, mergeModule)
	case base == "pyproject.toml" && old != "" && now != "":
		if section(before, "[tool.pytest") != section(after, "[tool.pytest") {
			restore()
		}
	case (base == "setup.cfg" || base == "tox.ini") && old != "" && now != "":
		if section(before, "[tool:pytest") != section(after, "[tool:pytest") || section(before, "[pytest") != section(after, "[pytest") {
			restore()
		}
	case old != "" && (test || decides(e.Path) || fixture(e.Path)):
		restore()
	case old != "" && helps(e.Path, string(before)):
		m.helpers = append(m.helpers, e.Path)
		restore()
	case old == "" && (decides(e.Path) || test && reaches(e.Path, string(after))):
		m.drop = append(m.drop, e.Path)
	case old == "" && test && len(testcode.Read(e.Path, string(after)).Units) > 0:
		m.added = append(m.added, e.Path)
	}
	if !m.nothing() {
		m.drop, m.added = append(m.drop, m.added...), nil
	}
	return nil
}

// merged puts a file that is partly the candidate's and partly the base's.
func (m *mix) merged(ctx context.Context, e git.Entry, before, after []byte, merge func(before, after string) (string, bool)) error {
	text, changed := merge(string(before), string(after))
	if !changed {
		return nil
	}
	blob, err := m.repo.WriteBlob(ctx, []byte(text))
	if err != nil {
		return err
	}
	m.put[e.Path] = git.TreeFile{Mode: e.NewMode, Blob: blob}
	return nil
}

// leave gives test files of the base that do not build up, and returns those: the candidate's own take their place.
func (m *mix) leave(findings []gates.Finding) []string {
	var out []string
	for _, f := range findings {
		if f.Rule != gates.RuleBuild || slices.Contains(out, f.Path) {
			continue
		}
		if _, ours := m.put[f.Path]; !ours || testcode.Language(f.Path) == "" && !slices.Contains(m.helpers, f.Path) {
			continue
		}
		delete(m.put, f.Path) // as the candidate has it, there or gone
		m.left, out = append(m.left, f.Path), append(out, f.Path)
	}
	return out
}

// fixture reports whether a file is what tests read: data, recorded answers. New ones stay, since new code may need them.
func fixture(p string) bool {
	return gates.Match([]string{
		"**/{testdata,fixtures,__fixtures__,__snapshots__,snapshots,golden,goldens,cassettes}/**", "*.snap", "*.ambr", "*.golden", "*.golden.*", "*.approved.*", "*.snapshot",
	}, p)
}

// decides reports whether a file decides how tests run, and holds nothing else: settings of runners, what takes the
// place of a test library, settings of package managers.
func decides(p string) bool {
	return gates.Match([]string{
		"conftest.py", "**/conftest.py", "sitecustomize.py", "**/sitecustomize.py", "usercustomize.py", "**/usercustomize.py", "*.pth",
		"pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "noxfile.py", "**/pytest.ini",
		"jest.config.*", "jest.setup.*", "jest-setup.*", "vitest.config.*", "vitest.workspace.*", "vitest.setup.*", ".mocharc", ".mocharc.*", "karma.conf.*",
		"babel.config.*", ".babelrc", ".npmrc", "**/.npmrc", ".yarnrc", ".yarnrc.yml", "go.work", "go.work.sum",
		"Makefile", "makefile", "GNUmakefile", ".cargo/config.toml", ".cargo/config", ".mvn/**", ".rspec", "run-all-tests.sh",
		"**/unittest/**", "**/pytest/**", "**/_pytest/**", "unittest.py", "pytest.py", "doctest.py", "mock.py",
		"**/node_modules/**", "**/.venv/**", "**/venv/**", "**/site-packages/**", "vendor/**",
	}, p)
}

var (
	goHelps = lazyre.New(`(?m)^(?:import\s+)?\s*(?:\w+\s+)?"testing"`)
	pyHelps = lazyre.New(`(?m)^\s*(?:import|from)\s+(?:unittest|pytest|_pytest)\b`)
	jsHelps = lazyre.New(`['"](?:node:test|vitest|@jest/globals|chai|expect)['"]`)
)

// helps reports whether a file that holds no tests is made for them: it uses what only tests use.
func helps(p, text string) bool {
	switch path.Ext(p) {
	case ".go":
		return goHelps.MatchString(text)
	case ".py":
		return pyHelps.MatchString(text)
	case ".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".tsx", ".jsx":
		return jsHelps.MatchString(text)
	}
	return false
}

var (
	goReaches = lazyre.New(`(?m)^func (?:init|TestMain)\(|^var _ = `)
	pyReaches = lazyre.New(`(?m)^(?:[\w.]+\.\w+\s*=[^=]|setattr\(|os\.|sys\.|def (?:load_tests|pytest_|setUpModule))`)
	jsReaches = lazyre.New(`(?m)^(?:[\w.]+\.\w+\s*=[^=]|Object\.(?:assign|defineProperty)\(|process\.|globalThis|(?:before|after)(?:Each|All)?\(|(?:setup|teardown)\()`)
)

// reaches reports whether a new test file does something when it is loaded, so that it may change what other tests see.
func reaches(p, text string) bool {
	switch testcode.Language(p) {
	case testcode.LangGo:
		return goReaches.MatchString(text)
	case testcode.LangPython:
		return pyReaches.MatchString(text)
	case testcode.LangNode:
		return jsReaches.MatchString(text)
	}
	return false
}

// mergePackage puts the scripts and the settings of test runners of the base into the candidate's package.json.
func mergePackage(before, after string) (string, bool) {
	var old, now map[string]json.RawMessage
	if json.Unmarshal([]byte(before), &old) != nil || json.Unmarshal([]byte(after), &now) != nil {
		return before, true
	}
	changed := false
	for _, key := range []string{"scripts", "jest", "mocha", "vitest", "ava", "tap", "nyc", "c8", "config", "overrides", "resolutions"} {
		if string(compact(old[key])) == string(compact(now[key])) {
			continue
		}
		changed = true
		if old[key] == nil {
			delete(now, key)
		} else {
			now[key] = old[key]
		}
	}
	text, err := json.MarshalIndent(now, "", "  ")
	if err != nil {
		return before, true
	}
	return string(text) + "\n", changed
}

func compact(data json.RawMessage) []byte {
	var v any
	if json.Unmarshal(data, &v) != nil {
		return data
	}
	out, _ := json.Marshal(v)
	return out
}

var replaceLine = lazyre.New(`^\s*(?:replace\s+)?\S+(?:\s+v\S+)?\s*=>\s*\.{0,2}/`)

// mergeModule takes out what a go.mod newly replaces by a folder.
func mergeModule(before, after string) (string, bool) {
	var out []string
	changed := false
	for l := range strings.Lines(after) {
		if replaceLine.MatchString(l) && !strings.Contains(before, strings.TrimSpace(l)) {
			changed = true
			continue
		}
		out = append(out, l)
	}
	return strings.Join(out, ""), changed
}

// section returns the lines of the sections whose heads begin with a text.
func section(data []byte, head string) string {
	var out strings.Builder
	in := false
	for l := range strings.Lines(string(data)) {
		if strings.HasPrefix(strings.TrimSpace(l), "[") && !strings.HasPrefix(l, " ") {
			in = strings.HasPrefix(strings.TrimSpace(l), head)
		}
		if in {
			out.WriteString(strings.TrimSpace(l) + "\n")
		}
	}
	return out.String()
}
