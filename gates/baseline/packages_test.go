package baseline

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/planparse"
)

func TestMissingPackage(t *testing.T) {
	python := "tests.test_pdf: collection failure E ModuleNotFoundError: No module named 'pdfplumber'"
	version := "tests.test_add: collection failure E ModuleNotFoundError: No module named 'x._version'"
	node := "Cannot find package 'left-pad' imported from /room/a.test.js"
	metadata := "tests.test_x: collection failure E importlib.metadata.PackageNotFoundError: No package metadata was " +
		"found for x"
	ruby := "cannot load such file -- nokogiri (LoadError)"
	broken := func(messages ...string) gates.Report {
		r := gates.Report{Status: gates.Fail}
		for _, m := range messages {
			r.Findings = append(r.Findings, gates.Finding{Rule: gates.RuleBuild, Severity: gates.Error, Message: m})
		}
		return r
	}
	passing := func(r gates.Report) gates.Report {
		r.Tests = &gates.TestCount{Passed: 1}
		return r
	}
	exit := gates.Finding{Rule: "exit", Severity: gates.Error, Message: "exit 2"}
	crashed := gates.Report{Findings: []gates.Finding{{Rule: "exit", Severity: gates.Error, Message: "exit 1: " + ruby}}}
	for name, c := range map[string]struct {
		files       map[string]string
		batch       string
		now, before gates.Report
		want        string
	}{
		"neither side has it": {nil, "", broken(python), broken(python), "No module named 'pdfplumber'"},
		"the exit status adds nothing": {nil, "", gates.Report{Findings: append(broken(python).Findings, exit)},
			broken(python), "No module named 'pdfplumber'"},
		"a new test needs it, too": {nil, "", broken(python, "tests.test_new: E No module named 'pdfplumber'"),
			broken(python),
			"No module named 'pdfplumber'"},
		"the change needs it first": {nil, "", broken(python), broken(), ""},
		"the change needs another one first": {nil, "", broken("No module named 'stringcase'"), broken(python),
			"No module named 'pdfplumber'"},
		"the change needs another one first, beside tests that pass": {nil, "",
			passing(broken("No module named 'stringcase'")),
			broken(python), ""},
		"something else fails, too": {nil, "", broken(python, "invalid syntax"), broken(python, "invalid syntax"), ""},
		"the batch is about it":     {nil, "Install pdfplumber.", broken(python), broken(python), ""},
		"a module of the project":   {map[string]string{"src/pdfplumber.py": ""}, "", broken(python), broken(python), ""},
		"a package of the project":  {map[string]string{"lib/pdfplumber/x.py": ""}, "", broken(python), broken(python), ""},
		"a module of the project that its build writes": {map[string]string{"src/x/a.py": "",
			"pyproject.toml": "version-file = 'src/x/_version.py'\n"}, "Change x.", broken(version), broken(version),
			"No module named 'x._version', which the build of the project writes"},
		"compiled code of the project": {map[string]string{"x/a.py": "", "setup.py": "Extension('x._version', [])\n"}, "",
			broken(version), broken(version), "No module named 'x._version', which the build of the project writes"},
		"the batch writes it": {map[string]string{"x/a.py": "", "setup.py": "Extension('x._version', [])\n"},
			"Write _version.", broken(version), broken(version), ""},
		"another module of the project": {map[string]string{"x/a.py": "", "setup.py": "Extension('x._speed', [])\n"}, "",
			broken(version), broken(version), ""},
		"an undeclared Node package": {nil, "", broken(node), broken(node), ""},
		"a declared Node package": {map[string]string{"package.json": `{"dependencies":{"left-pad":"1"}}`}, "",
			broken(node), broken(node), "Cannot find package 'left-pad' imported from /room/a.test.js"},
		"a declared package that the batch names, too": {map[string]string{"Gemfile": "gem 'nokogiri'\n"},
			"Parse with nokogiri.", broken(ruby), broken(ruby), "cannot load such file -- nokogiri (LoadError)"},
		"a package that the settings of jest name": {map[string]string{"package.json": `{"devDependencies":{"ts-jest":"1"}}`},
			"", broken("Module ts-jest in the transform option was not found."),
			broken("Module ts-jest in the transform option was not found."),
			"Module ts-jest in the transform option was not found."},
		"a file of the project": {map[string]string{"package.json": `{}`}, "", broken("Cannot find module './a.js'"),
			broken("Cannot find module './a.js'"), ""},
		"the project is not installed": {map[string]string{"src/x/__init__.py": ""}, "Correct x.", broken(metadata),
			broken(metadata), "No package metadata was found for x"},
		"a gem with a longer name than its files": {map[string]string{"x.gemspec": "s.add_dependency 'nokogiri-ng', '~> 1'\n"},
			"", broken(ruby), broken(ruby), ruby},
		"a gem with another name": {map[string]string{"Gemfile": "gem 'nokogirish'\n"}, "", broken(ruby), broken(ruby),
			""},
		"only the exit status tells": {map[string]string{"Gemfile": "gem 'nokogiri'\n"}, "", crashed, crashed, ruby},
		"a declared gem": {map[string]string{"Gemfile": "gem 'nokogiri'\n"}, "", broken(ruby), broken(ruby),
			ruby},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, text := range c.files {
				file = filepath.Join(dir, file)
				if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			got := missingPackage(c.now, c.before, gates.Subject{Dir: dir, Batch: planparse.Batch{Text: c.batch}})
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// No change can be judged by tests that need a submodule that is not checked out.
func TestMissingSubmodule(t *testing.T) {
	const at = "vendor/data"
	broken := func(message string, passed int) gates.Report {
		return gates.Report{Status: gates.Fail, Tests: &gates.TestCount{Passed: passed, Failed: 1},
			Findings: []gates.Finding{{Rule: gates.RuleBuild, Path: "conftest.py", Severity: gates.Error, Message: message}}}
	}
	absent := broken("No such file or directory: '/room/vendor/data/cases'", 0)
	for name, c := range map[string]struct {
		file        string
		now, before gates.Report
		want        string
	}{
		"neither side has it": {"", absent, absent, at},
		"it is there":         {"vendor/data/cases", absent, absent, ""},
		"some tests pass":     {"", broken(absent.Findings[0].Message, 2), absent, ""},
		"another failure":     {"", broken("division by zero", 0), absent, ""},
		"the base has none":   {"", absent, gates.Report{}, ""},
	} {
		dir := t.TempDir()
		for _, sub := range []string{at, filepath.Dir(c.file)} {
			if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		for file, text := range map[string]string{".gitmodules": "[submodule \"x\"]\n\tpath = " + at + "\n", c.file: "x"} {
			if file == "" {
				continue
			}
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, _ := missingSubmodule(c.now, c.before, gates.Subject{Dir: dir}); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		g := gates.New(gates.Info{Name: "tests:python", Blocking: true}, func(_ context.Context, l *gates.Look) error {
			l.Find(c.now.Findings[0])
			l.Count(*c.now.Tests)
			return nil
		})
		_, err := Around(g, "abc", func(context.Context, string) (gates.Report, error) { return c.before, nil }).
			Check(t.Context(), gates.Subject{Dir: dir, Batch: planparse.Batch{Key: "1"}})
		if errors.Is(err, gates.ErrHindered) != (c.want != "") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
