package gates

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/runplan/runplan/gates/testout"
	"github.com/runplan/runplan/planparse"
)

// A project uses pytest if its settings or its tests ask for it; then a Python without pytest is an error that says so.
func TestWhatAsksForPytest(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  string // what asks; "" runs unittest
	}{
		"pytest.ini": {map[string]string{"pytest.ini": "", "test_a.py": "import unittest"}, "pytest.ini"},
		"pyproject.toml": {map[string]string{"pyproject.toml": "[tool.pytest.ini_options]\n",
			"test_a.py": "import unittest"}, "pyproject.toml"},
		"setup.cfg": {map[string]string{"setup.cfg": "[tool:pytest]\n", "test_a.py": "import unittest"}, "setup.cfg"},
		"tox.ini":   {map[string]string{"tox.ini": "[pytest]\n", "test_a.py": "import unittest"}, "tox.ini"},
		"conftest.py": {map[string]string{"tests/conftest.py": "", "tests/test_a.py": "import unittest"},
			"tests/conftest.py"},
		"an import": {map[string]string{"tests/test_a.py": "import pytest, unittest"}, "tests/test_a.py"},
		"a partial import": {map[string]string{"tests/test_a.py": "from pytest import x\nimport unittest"},
			"tests/test_a.py"},
		"functions": {map[string]string{"test_a.py": "def test_a(): pass"}, "pytest tests, which are plain functions"},
		"unittest":  {map[string]string{"test_a.py": "import unittest", "setup.cfg": "[metadata]\n"}, ""},
	} {
		dir := tree(t, with(c.files, map[string]string{"setup.py": "", ".venv/bin/python!": "#!/bin/sh\nexit 1\n"}))
		suites := pythonSuite(dir, Project{LangPython, ".", "setup.py"}, nil)
		if len(suites) != 1 {
			t.Fatalf("%s: %d suites", name, len(suites))
		}
		runner := "unittest"
		if c.want != "" {
			runner = "pytest"
		}
		_, err := suites[0].plan(t.Context(), &Look{subject: Subject{Dir: dir}, limit: DefaultTimeout,
			end: time.Now().Add(time.Minute)})
		if suites[0].command != "python3 -m "+runner || (err != nil) != (c.want != "") ||
			err != nil && !strings.HasPrefix(err.Error(), c.want+" asks for pytest, which ") {
			t.Errorf("%s: %s, %v", name, suites[0].command, err)
		}
	}
}

// pytest does not find test.py, which unittest runs.
func TestPythonTestsInTestPy(t *testing.T) {
	for name, want := range map[string]string{"test.py": "unittest", "test_a.py": "pytest"} {
		dir := tree(t, map[string]string{name: "import unittest", "setup.py": "", ".venv/bin/python!": "#!/bin/sh\nexit 0\n"})
		suites := pythonSuite(dir, Project{LangPython, ".", "setup.py"}, nil)
		runs, err := suites[0].plan(t.Context(), &Look{subject: Subject{Dir: dir}, limit: DefaultTimeout,
			end: time.Now().Add(time.Minute)})
		if err != nil || len(runs) != 1 || !slices.Contains(runs[0].args, want) && !slices.Contains(runs[0].shown, want) {
			t.Errorf("%s: %v, %v", name, runs, err)
		}
	}
}

// The interpreter is that of the project, of the environment, or of the PATH.
func TestInterpreter(t *testing.T) {
	own := tree(t, map[string]string{"venv/bin/python!": "", "api/a.py": ""})
	bare := tree(t, map[string]string{"api/a.py": ""})
	active := tree(t, map[string]string{"bin/python!": "#!/bin/sh\n"})
	old := tree(t, map[string]string{"python!": "#!/bin/sh\n"})
	for name, c := range map[string]struct {
		dir  string
		env  []string
		want string
	}{
		"above the project":  {own, []string{"PATH=/nowhere"}, filepath.Join(own, "venv/bin/python")},
		"of the environment": {bare, []string{"PATH=/nowhere", "VIRTUAL_ENV=" + active}, filepath.Join(active, "bin/python")},
		"gone":               {bare, []string{"PATH=" + old, "VIRTUAL_ENV=" + bare}, "python"},
		"of the PATH":        {bare, []string{"PATH=" + old}, "python"},
		"none":               {bare, []string{"PATH=/nowhere"}, ""},
	} {
		got, err := (&Look{subject: Subject{Dir: c.dir, Env: c.env}}).Interpreter("api")
		if got != c.want || (err != nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), "python3") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// Settings by which pytest may omit the planted tests are known.
func TestPytestThatSelectsTests(t *testing.T) {
	for config, want := range map[string]struct{ class, function, masks bool }{
		"[pytest]\n": {}, "[pytest]\naddopts = -k fast\n": {class: true, function: true},
		"[pytest]\npython_functions = check_*\n": {function: true}, "[pytest]\naddopts = --cov-fail-under=9\n": {masks: true},
	} {
		dir := tree(t, map[string]string{"pytest.ini": config, "tests/a_test.py": "", "deep/test_b.py": ""})
		w, r, b := &Look{subject: Subject{Dir: dir}}, &testRun{}, &bed{word: "qw"}
		folders := map[string]string{"tests": "a_test.py", "deep": "test_b.py"}
		if err := plantPytest(".", folders, []string{"tests/a_test.py::test_a"})(w, r, b); err != nil || len(b.plants) != 2 {
			t.Fatal(err, b.plants)
		}
		if got := b.plants; (got[0].unsure != "") != want.class || (got[1].unsure != "") != want.function ||
			b.masks != want.masks ||
			strings.Join(r.args, " ") != "--maxfail=0 tests/qw_0_test.py" || !exists(dir, ".", "tests/qw_0_test.py") ||
			!got[0].like(testout.Case{Path: "tests/b_test.py"}) || got[0].like(testout.Case{Path: "tests/test_b.py"}) {
			t.Errorf("%q: %+v %v", config, got, r.args)
		}
		b.clear()
	}
}

// A crate, or each crate of a workspace without one, gets planted tests.
func TestPlantedTestsOfCrates(t *testing.T) {
	const pkg = "[package]\nname = \"x\"\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"a crate":      {map[string]string{"Cargo.toml": pkg, "tests/a.rs": ""}, "tests"},
		"with members": {map[string]string{"Cargo.toml": pkg + "[workspace]\n", "a/Cargo.toml": pkg}, "tests"},
		"a workspace alone": {map[string]string{"Cargo.toml": "[workspace]\n", "a/Cargo.toml": pkg, "b/Cargo.toml": pkg},
			"a/tests b/tests"},
		"without autotests": {map[string]string{"Cargo.toml": pkg + "autotests = false\n"}, ""},
	} {
		dir := tree(t, c.files)
		before := listing(t, dir)
		w, r, b := &Look{subject: Subject{Dir: dir}}, &testRun{}, &bed{word: "qw"}
		r.args = []string{"cargo", "test"}
		if err := plantCargo(Project{LangRust, ".", "Cargo.toml"})(w, r, b); err != nil {
			t.Fatal(err)
		}
		var places []string
		for _, p := range b.plants {
			places = append(places, p.place)
			if !exists(dir, p.place, "qw.rs") {
				t.Errorf("%s: nothing in %s", name, p.place)
			}
		}
		if strings.Join(places, " ") != c.want || strings.Join(r.args, " ") != "cargo test --no-fail-fast" ||
			strings.Join(r.shown, " ") != "cargo test" || b.exits(1, 1) || !b.exits(101, 1) {
			t.Errorf("%s: %v %v", name, places, r.args)
		}
		b.clear()
		if listing(t, dir) != before || exists(dir, ".", "tests") != strings.Contains(before, "tests/a.rs") {
			t.Errorf("%s: left in the tree", name)
		}
	}
}

// The commands of a Ruby project come from its bundle if it has one.
func TestCommandsOfRuby(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  string
		tool  string // the advice of the last tool
	}{
		"rails": {map[string]string{"Gemfile": "", "bin/rails": "", "test/a_test.rb": "", "Gemfile.lock": ""},
			"bundle exec ruby bin/rails test", "gem install bundler, then bundle install"},
		"rake": {map[string]string{"Rakefile": "Rake::TestTask.new", "test/a_test.rb": ""}, "rake test",
			"gem install rake"},
		"rake with a task of another name": {map[string]string{"Rakefile": "Rake::TestTask.new(\"spec\") do |t|\nend\n",
			"spec/a_spec.rb": ""}, "rake spec", "gem install rake"},
		"rake with two tasks": {map[string]string{"Rakefile": "Rake::TestTask.new :more\nMinitest::TestTask.create\n",
			"test/a_test.rb": ""}, "rake test", "gem install rake"},
		"rake with a task for all": {map[string]string{"Rakefile": "Rake::TestTask.new(:unit)\ntask test: :unit\n",
			"test/a_test.rb": ""}, "rake test", "gem install rake"},
		"rake of a Gemfile": {map[string]string{"Rakefile": "Rake::TestTask.new", "Gemfile": "gem 'rake'",
			"test/a_test.rb": ""}, "rake test", "bundle install"},
		"rspec": {map[string]string{"a.gemspec": "rspec", "Gemfile": "gemspec", "spec/a_spec.rb": ""},
			"rspec", "bundle install"},
		"specs of minitest": {map[string]string{"Gemfile": "", "spec/a_spec.rb": "", "spec/spec_helper.rb": ""},
			"ruby -Ilib -Itest -e 'ARGV.each { |f| require File.expand_path(f) }' spec/a_spec.rb",
			"https://www.ruby-lang.org/en/downloads"},
		"both": {map[string]string{".rspec": "", "spec/a_spec.rb": "", "test/b_test.rb": "",
			"lib/c_test.rb": ""}, "rspec && ruby -Ilib -Itest -e 'ARGV.each { |f| require File.expand_path(f) }' " +
			"test/b_test.rb", "gem install rspec"},
	} {
		suites := rubySuite(tree(t, c.files), Project{LangRuby, ".", "Gemfile"})
		if len(suites) != 1 || suites[0].command != c.want || suites[0].tools[len(suites[0].tools)-1].Install != c.tool {
			t.Errorf("%s: %+v", name, suites)
		}
	}
}

// Tests are compared with the base's unless a test, a build or another gate failed.
func TestComparableVerdicts(t *testing.T) {
	bad := func(gate, rule string, s Severity) Report {
		return Report{Gate: gate, Status: Fail, Findings: []Finding{{Rule: rule, Severity: s}, {Rule: "x", Severity: Error}}}
	}
	for name, c := range map[string]struct {
		r    Report
		want bool
	}{
		"a pass":            {Report{Gate: "tests:go", Status: Pass}, true},
		"another gate":      {bad("lint", "vet", Error), false},
		"the plan":          {bad("plan", "promise", Error), true},
		"a calibration":     {bad("tests:go", RuleCalibration, Error), true},
		"a test":            {bad("tests:go", ruleTest, Error), false},
		"a build":           {bad("tests:go", RuleBuild, Error), false},
		"an exit":           {bad("tests:go", ruleExit, Error), false},
		"no reason":         {bad("tests:go", RuleNoReason, Error), false},
		"a flaky test only": {bad("tests:go", ruleTest, Warning), true},
	} {
		if got := (Verdict{Reports: []Report{c.r}}).comparable(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	g := fixed{info: Info{Name: "g", Blocking: true}, rep: Report{Status: Fail, Note: "why"}}
	v, err := Run(t.Context(), []Gate{g}, Subject{Batch: planparse.Batch{}}, nil)
	if err != nil || !hasFinding(v.Reports[0], RuleNoReason, "", 0, "why") {
		t.Errorf("a failure without a finding: %+v, %v", v, err)
	}
	f := File{Before: "a\n", After: "b\na\nc\n"}
	if got := f.FreshLines(); len(got) != 2 || !got[1] || !got[3] {
		t.Errorf("%v", got)
	}
}
