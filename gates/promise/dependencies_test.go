package promise

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/tools/gatetest"
)

// A plan that wants no new dependencies gets none, in any manifest; those that it names are wanted.
func TestNoNewDependencies(t *testing.T) {
	const plan = "Add total() to the shop, without new dependencies."
	mod := "module example.org/shop\n\ngo 1.24\n"
	for _, c := range []worded{
		{"go.mod", plan, files{"go.mod": mod},
			files{"go.mod": mod + "\nrequire github.com/pkg/sums v1.0.0\n"}, "new-dependency"},
		{"a newer version", plan, files{"go.mod": mod + "\nrequire github.com/pkg/sums v1.0.0\n"},
			files{"go.mod": mod + "\nrequire github.com/pkg/sums v1.1.0\n"}, ""},
		{"an indirect one", plan, files{"go.mod": mod},
			files{"go.mod": mod + "\nrequire github.com/pkg/sums v1.0.0 // indirect\n"}, ""},
		{"package.json", plan, files{"package.json": `{"dependencies":{"a":"1"}}`},
			files{"package.json": `{"dependencies":{"a":"1","left-pad":"1"}}`}, "new-dependency"},
		{"for development", plan, files{"package.json": `{}`},
			files{"package.json": `{"devDependencies":{"left-pad":"1"}}`}, "new-dependency"},
		{"for development only", "Add total(), with no new runtime dependencies.", files{"package.json": `{}`},
			files{"package.json": `{"devDependencies":{"left-pad":"1"}}`}, ""},
		{"Cargo.toml", plan, files{"Cargo.toml": "[package]\nname = \"shop\"\n"},
			files{"Cargo.toml": "[package]\nname = \"shop\"\n\n[target.'cfg(unix)'.dependencies]\nsums = \"1\"\n"}, "new-dependency"},
		{"pyproject.toml", "Add total(). Use only the standard library.", files{"pyproject.toml": "[project]\nname = \"shop\"\n"},
			files{"pyproject.toml": "[project]\nname = \"shop\"\ndependencies = [\"sums>=2\"]\n"}, "new-dependency"},
		{"a group", plan, files{"pyproject.toml": "[project]\nname = \"shop\"\n"},
			files{"pyproject.toml": "[project]\nname = \"shop\"\n\n[dependency-groups]\ntest = [\"sums>=2\"]\n"}, "new-dependency"},
		{"requirements.txt", plan, files{"requirements.txt": "# all\nrequests==2\n"},
			files{"requirements.txt": "# all\nrequests==2\nsums\n"}, "new-dependency"},
		{"a moved one", plan, files{"requirements.txt": "sums\n"},
			files{"requirements.txt": "\n", "requirements-test.txt": "sums\n"}, ""},
		{"Gemfile", plan, files{"Gemfile": "gem 'rake'\n"}, files{"Gemfile": "gem 'rake'\ngem 'sums'\n"}, "new-dependency"},
		{"one that the plan names", plan + " Except sums.", files{"Gemfile": "gem 'rake'\n"},
			files{"Gemfile": "gem 'rake'\ngem 'sums'\n"}, ""},
		{"a wish", "Add total(), if possible without new dependencies.", files{"Gemfile": "gem 'rake'\n"},
			files{"Gemfile": "gem 'rake'\ngem 'sums'\n"}, ""},
		{"dependencies of tasks", "Add total(). No external dependencies on other tasks.", files{"Gemfile": "gem 'rake'\n"},
			files{"Gemfile": "gem 'rake'\ngem 'sums'\n"}, ""},
		{"a fixture", plan, files{"testdata/Gemfile": "gem 'rake'\n"},
			files{"testdata/Gemfile": "gem 'rake'\ngem 'sums'\n"}, ""},
		{"a broken manifest", plan, files{"package.json": `{`}, files{"package.json": `{"dependencies":`}, ""},
	} {
		c.check(t)
	}
}

// The text before all batches counts for each of them.
func TestPreambleWantsNoDependencies(t *testing.T) {
	after := files{"Gemfile": "gem 'sums'\n"}
	s := gatetest.Change(t, files{"Gemfile": "\n"}, after)
	s.Batch.Text = "Count the prices."
	o := Options{Tree: tree(slices.Sorted(maps.Keys(after))), Preamble: "## Constraints\n\n- Do not add third-party gems.\n"}
	_, got := gatetest.Look(t, Gates(&planparse.Batch{Text: s.Batch.Text}, o)[0], s)
	if len(got) != 1 || !strings.Contains(got[0], "new-dependency") {
		t.Errorf("found %q", got)
	}
}

func FuzzDeclared(f *testing.F) {
	for _, s := range []string{"module a\nrequire b v1\n", `{"dependencies":[1,{"a":null}]}`, "[a.dependencies]\nb=[[\"c\"]]\n", "gem 'a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, p := range []string{"go.mod", "package.json", "Cargo.toml", "requirements.txt", "a.gemspec"} {
			for name := range declared(p, text) {
				if !asksFor(text+" "+name, name) {
					t.Errorf("%s: %q", p, name)
				}
			}
		}
	})
}
