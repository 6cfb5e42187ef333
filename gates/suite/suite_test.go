package suite_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/blueprint"
	"github.com/runplan/runplan/gates/measured"
	"github.com/runplan/runplan/gates/promise"
	"github.com/runplan/runplan/gates/review/prose"
	"github.com/runplan/runplan/gates/rules"
	"github.com/runplan/runplan/gates/suite"
)

func names(dir string, s gates.Settings) []string {
	var out []string
	for _, g := range suite.All(dir, s) {
		out = append(out, g.Info().Name)
	}
	slices.Sort(out)
	return out
}

func TestAll(t *testing.T) {
	dir := t.TempDir()
	if got, want := names(dir, gates.Settings{Detect: true}),
		[]string{"denied", "docs", "license", "links", "protected", "secrets", "security:built-in", "tamper",
			"tests"}; !slices.Equal(got, want) {
		t.Errorf("an empty tree has %v", got)
	}
	for name, text := range map[string]string{"package.json": "{}", "tsconfig.json": "{}", "mypy.ini": "[mypy]\n",
		"setup.py": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s := gates.Settings{Detect: true}
	s.MaxFileLines, s.MinMemoryMB, s.Acceptance = 300, 1, "scripts"
	got := names(dir, s)
	for _, want := range []string{"size", "memory", "acceptance", "types:ts", "types:mypy"} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is not among %v", want, got)
		}
	}
}

// docs/gates.md describes each gate of this package.
func TestDocsDescribeEachGate(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mypy.ini"), []byte("[mypy]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "gates.md"))
	if err != nil {
		t.Fatal(err)
	}
	s := gates.Settings{Detect: true}
	s.MaxFileLines, s.MinMemoryMB, s.Acceptance = 300, 1, "scripts"
	for _, name := range names(dir, s) {
		family, _, _ := strings.Cut(name, ":")
		row := regexp.MustCompile("(?m)^\\| (?:`[^|]*`, )?`" + family + "(?::[^`]*)?`")
		if !row.Match(text) {
			t.Errorf("docs/gates.md does not describe %s", name)
		}
	}
}

// The gates that the settings turn off, as the table of rules says, exist.
func TestRulesNameGates(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"mypy.ini": "[mypy]\n", "setup.py": "", "go.mod": "module m\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s := gates.Settings{Detect: true, MaxFileLines: 300, MinMemoryMB: 1, Acceptance: "scripts"}
	s.More = []gates.Gate{rules.Lessons(nil), blueprint.Gate(nil), prose.New(), prose.Names()}
	known := append(names(dir, s), promise.Family+":run:34")
	for _, r := range measured.Rules() {
		for _, m := range regexp.MustCompile(`disable = \["([^"]+)"\]`).FindAllStringSubmatch(r.Off, -1) {
			if !slices.ContainsFunc(known, func(gate string) bool { return gate == m[1] || strings.HasPrefix(gate, m[1]+":") }) {
				t.Errorf("%s: no gate %s is among %v", r.ID, m[1], known)
			}
		}
	}
}

// A gate of this package can be turned off and replaced by name, like any other.
func TestDisableAndReplace(t *testing.T) {
	s := gates.Settings{Disable: []string{"secrets"}, Commands: []gates.CommandGate{{Name: "docs", Shell: "true"}}}
	dir := t.TempDir()
	for _, g := range suite.All(dir, s) {
		rep, err := g.Check(t.Context(), gates.Subject{Dir: dir})
		switch name := g.Info().Name; {
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case name == "secrets" && rep.Note != "turned off in the configuration":
			t.Errorf("secrets: %+v", rep)
		case name == "docs" && rep.Status != gates.Pass:
			t.Errorf("docs: %+v", rep)
		}
	}
	if n := len(names(dir, s)); n != 9 {
		t.Errorf("there are %d gates", n)
	}
}
