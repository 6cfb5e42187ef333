package baseline

import (
	"testing"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/planparse"
)

func TestCrash(t *testing.T) {
	exit := func(message string) gates.Report {
		return gates.Report{Findings: []gates.Finding{{Rule: "exit", Severity: gates.Error,
			Message: "exit 1, without naming a failed test: " + message}}}
	}
	syntax, module := exit("SyntaxError: invalid syntax"), exit("Error: Cannot find module './lib/greet'")
	ran := syntax
	ran.Tests = &gates.TestCount{Passed: 1}
	conftest := exit("E   ZeroDivisionError: division by zero")
	conftest.Output = "ImportError while loading conftest '/room/tests/conftest.py'.\nE   ZeroDivisionError: division " +
		"by zero"
	built := gates.Report{Findings: []gates.Finding{{Rule: gates.RuleBuild, Severity: gates.Error,
		Message: "SyntaxError: invalid syntax"}}}
	compiler := exit("add.c:5:17: error: unused variable ‘x’ [-Werror=unused-variable]")
	library := gates.Report{Output: "rake test/test_add.rb", Findings: []gates.Finding{{Rule: gates.RuleBuild,
		Severity: gates.Error, Message: "cannot load such file -- core_assertions (LoadError)"}}}
	preset := exit("Preset ts-jest not found.")
	preset.Output = "● Validation Error:\n\n  Preset ts-jest not found."
	for name, c := range map[string]struct {
		gate, batch string
		changed     []string
		now, before gates.Report
		want        bool
	}{
		"neither side loads":        {"tests:python", "Add a file.", nil, syntax, syntax, true},
		"the settings of Jest":      {"tests:node", "Add a file.", []string{"a.js"}, preset, preset, true},
		"the settings of the tests": {"tests:python", "Add a file.", []string{"a.py"}, conftest, conftest, true},
		"a module that nobody adds": {"tests:node", "Add a file.", nil, module, module, true},
		"the module that it adds":   {"tests:node", "Write lib/greet.js.", nil, module, module, false},
		"the batch names the file":  {"tests:python", "Correct conftest.py.", nil, conftest, conftest, false},
		"the change has the file": {"tests:python", "Add a file.", []string{"tests/conftest.py"}, conftest, conftest,
			false},
		"the failure is new":         {"tests:python", "Add a file.", nil, syntax, exit("another"), false},
		"tests ran on the base":      {"tests:python", "Add a file.", nil, syntax, ran, false},
		"the script of a red base":   {"tests:shell", "Add a file.", nil, exit("no greeting"), exit("no greeting"), false},
		"a file that does not build": {"tests:python", "Add a file.", nil, built, built, false},
		"a library that no gem is named after": {"tests:ruby", "Add a file.", []string{"test/test_add.rb"}, library, library,
			true},
		"the library that it adds": {"tests:ruby", "Write core_assertions.", nil, library, library, false},
		"the change has the library": {"tests:ruby", "Add a file.", []string{"lib/core_assertions.rb"}, library, library,
			false},
		"a warning of another compiler": {"tests:make", "Add a file.", []string{"b.c"}, compiler, compiler, true},
		"a warning in a changed file":   {"tests:make", "Add a file.", []string{"add.c"}, compiler, compiler, false},
		"a gate of the configuration":   {"own", "Add a file.", nil, syntax, syntax, false},
	} {
		s := gates.Subject{Dir: t.TempDir(), Changed: c.changed, Batch: planparse.Batch{Key: "1", Text: c.batch}}
		if got := crash(gates.Info{Name: c.gate}, c.now, c.before, s); (got != "") != c.want {
			t.Errorf("%s: %q, want a crash: %v", name, got, c.want)
		}
	}
	if got := crash(gates.Info{Name: "tests:python"}, syntax, syntax, gates.Subject{}); got == "" {
		t.Error("a change without a batch is judged by tests that cannot start")
	}
}
