package held

import (
	"context"
	_ "embed"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/testcode"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
)

// mix is the candidate's tree with the base's tests in it.
type mix struct {
	repo     *git.Repo
	put      map[string]git.TreeFile // of the base
	drop     []string                // of the candidate
	added    []string                // new test files, which are dropped only if other files are restored
	helpers  []string                // restored files with code that tests call, in product folders
	folders  []string                // folders that only the base's go.mod names as replacements
	left     []string                // test files of the base that do not build with the candidate
	code     bool                    // a file other than tests changed
	chance   bool                    // such a file newly uses random numbers
	reverted bool
	stays    func(path string) bool // base and candidate have that file
	imported func(stem string) bool // the base imports a module by that name, without its ending
	serves   func(path string) bool // only tests and their configuration name that file of the base
}

// nothing reports whether the candidate runs the base's tests unchanged.
func (m *mix) nothing() bool { return len(m.put)+len(m.drop) == 0 }

// add decides for one changed path which side's version the mixed tree gets.
func (m *mix) add(ctx context.Context, e git.Entry, before, after []byte) error {
	old, now := e.Blobs()
	restore := func() { m.put[e.Path] = git.TreeFile{Mode: e.OldMode, Blob: old} }
	test := language.OfTest(e.Path) != ""
	m.code = m.code || !test && !Decides(e.Path) && !fixture(e.Path)
	m.chance = m.chance || !test && language.IsCode(e.Path) && !fixture(e.Path) &&
		len(random.FindAllString(string(after), -1)) > len(random.FindAllString(string(before), -1))
	switch base := path.Base(e.Path); {
	case old == "" && now == "": // a submodule
	case base == "package.json" && old != "" && now != "":
		return m.merged(ctx, e, before, after, mergePackage)
	case base == "go.mod" && now != "":
		m.folders = append(m.folders, replacedFolders(path.Dir(e.Path), before, after)...)
		return m.merged(ctx, e, before, after, mergeModule)
	case base == "pyproject.toml" || base == "setup.cfg" || base == "tox.ini":
		if pytestSections(before) == pytestSections(after) {
			break
		}
		if old != "" {
			restore()
		} else {
			m.drop = append(m.drop, e.Path)
		}
	case old != "" && (test || Decides(e.Path) || fixture(e.Path)):
		restore()
	case old != "" && (helps(e.Path, string(before)) || m.serves(e.Path)):
		m.helpers = append(m.helpers, e.Path)
		restore()
	case !test && path.Ext(base) == ".rs" && old != "" && now != "":
		m.helpers = append(m.helpers, e.Path)
		return m.merged(ctx, e, before, after, mergeRust)
	case old == "" && (Decides(e.Path) || support(e.Path, string(after)) || shadows(e.Path) || m.hides(e.Path) ||
		test && reaches(e.Path, string(after))):
		m.drop = append(m.drop, e.Path)
	case old == "" && test && len(testcode.Read(e.Path, string(after)).Units) > 0:
		m.added = append(m.added, e.Path)
	}
	if !m.nothing() {
		m.drop, m.added = append(m.drop, m.added...), nil
	}
	return nil
}

// merged restores the base's part of a file that candidate and base share.
func (m *mix) merged(ctx context.Context, e git.Entry, before, after []byte,
	merge func(before, after string) (string, bool)) error {
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

// leave excludes test files of the base that do not build, and returns them. The tree gets the candidate's versions
// instead.
func (m *mix) leave(findings []gates.Finding) []string {
	var out []string
	for _, f := range findings {
		if f.Rule != gates.RuleBuild || slices.Contains(out, f.Path) {
			continue
		}
		if _, ours := m.put[f.Path]; !ours || language.OfTest(f.Path) == "" && !slices.Contains(m.helpers, f.Path) {
			continue
		}
		delete(m.put, f.Path) // in the candidate's state, present or removed
		m.left, out = append(m.left, f.Path), append(out, f.Path)
	}
	return out
}

// inTests matches folders with tests and their data. Languages that recognize tests by file names may have product code
// there as well.
const inTests = "**/{test,tests,__tests__,spec,specs,e2e}/**"

// fixture reports whether tests read the file: data, recorded answers. New fixtures stay, because new code may need
// them.
func fixture(p string) bool {
	return gates.Match([]string{inTests}, p) &&
		!slices.Contains([]string{".go", ".rs", ".java", ".kt", ".c", ".cc", ".cpp", ".h", ".rb", ".cs"}, path.Ext(p)) ||
		gates.Match([]string{
			"**/{testdata,fixtures,__fixtures__,__snapshots__,snapshots,golden,goldens,cassettes}/**", "*.snap", "*.ambr",
			"*.golden", "*.golden.*", "*.approved.*", "*.snapshot",
		}, p)
}

// Decides reports whether a file only controls how tests run: settings of test runners or package managers, or a
// replacement of a test library.
func Decides(p string) bool { return gates.Match(strings.Fields(deciding), p) }

//go:embed decides.txt
var deciding string

var (
	goHelps = lazyre.New(`(?m)^(?:import\s+)?\s*(?:\w+\s+)?"testing"|\b\w+\.Helper\(\)|^\s*(?:Helper|FailNow)\(\)\s*$`)
	pyHelps = lazyre.New(`(?m)^\s*(?:import|from)\s+(?:unittest|pytest|_pytest)\b`)
	jsHelps = lazyre.New(`['"](?:node:test|vitest|@jest/globals|chai|expect)['"]`)
)

// asserts matches the names of files with assertions, if the text agrees.
var asserts = lazyre.New(`(?i)(?:^|[_\-.])(?:assert\w*|checks?|expect\w*|test\w*|helpers?)(?:[_\-.]|$)`)

// helps reports whether a file without tests serves tests: it uses names that only tests use.
func helps(p, text string) bool {
	if strings.Contains(text, "AssertionError") && asserts.MatchString(path.Base(p)) {
		return true
	}
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

// mergePackage puts the scripts and the settings of test runners of the base into the candidate's package.json.
func mergePackage(before, after string) (string, bool) {
	var old, now map[string]json.RawMessage
	if json.Unmarshal([]byte(before), &old) != nil || json.Unmarshal([]byte(after), &now) != nil {
		return before, true
	}
	changed := false
	for _, key := range []string{"scripts", "jest", "mocha", "vitest", "ava", "tap", "nyc", "c8", "babel", "config",
		"overrides", "resolutions"} {
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
	if mergeImports(old, now) {
		changed = true
	}
	if exports := conditions(now["exports"]); old["exports"] != nil &&
		slices.ContainsFunc(exports, func(c string) bool { return !slices.Contains(conditions(old["exports"]), c) }) {
		now["exports"], changed = old["exports"], true
	}
	text, err := json.MarshalIndent(now, "", "  ")
	if err != nil {
		return before, true
	}
	return string(text) + "\n", changed
}

// mergeImports restores the base's import aliases of the package, such as "#calc". It keeps new ones.
func mergeImports(old, now map[string]json.RawMessage) bool {
	var was, is map[string]json.RawMessage
	if json.Unmarshal(old["imports"], &was) != nil || json.Unmarshal(now["imports"], &is) != nil {
		return false
	}
	changed := false
	for name, target := range was {
		if string(compact(is[name])) != string(compact(target)) {
			is[name], changed = target, true
		}
	}
	if changed {
		now["imports"], _ = json.Marshal(is) // it was read from JSON
	}
	return changed
}

// conditions returns the conditions in the exports of a package that some programs set and others do not, such as
// "development".
func conditions(exports json.RawMessage) []string {
	var sub map[string]json.RawMessage
	if json.Unmarshal(exports, &sub) != nil {
		return nil
	}
	var out []string
	for key, value := range sub {
		if !strings.HasPrefix(key, ".") && !slices.Contains([]string{"types", "import", "require", "default"}, key) {
			out = append(out, key)
		}
		out = append(out, conditions(value)...)
	}
	return out
}

func compact(data json.RawMessage) []byte {
	var v any
	if json.Unmarshal(data, &v) != nil {
		return data
	}
	out, _ := json.Marshal(v)
	return out
}

// pytestSections returns the pytest settings of a file with other settings.
func pytestSections(data []byte) string {
	var out strings.Builder
	in := false
	for l := range strings.Lines(string(data)) {
		if strings.HasPrefix(strings.TrimSpace(l), "[") && !strings.HasPrefix(l, " ") {
			in = pytestHead.MatchString(l)
		}
		if in {
			out.WriteString(strings.TrimSpace(l) + "\n")
		}
	}
	return out.String()
}

var pytestHead = lazyre.New(`^\s*\[(?:tool[.:])?pytest`)
