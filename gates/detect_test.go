package gates

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Projects are found by markers, and tests without any packaging by their names.
func TestDetectProjects(t *testing.T) {
	for name, c := range map[string]struct {
		files []string
		want  string
	}{
		"markers of one language": {[]string{"setup.py", "pyproject.toml"}, "python . pyproject.toml"},
		"an extension":            {[]string{"b.gemspec", "a.gemspec"}, "ruby . a.gemspec"},
		"a part of a name":        {[]string{"my-go.mod", "x.gemspec.txt"}, ""},
		"loose tests of Python":   {[]string{"tests/test_a.py"}, "python . tests/test_a.py"},
		"loose tests by suffix":   {[]string{"a_test.py"}, "python . a_test.py"},
		"loose tests in a folder": {[]string{"go.mod", "tools/a/test_a.py", "tools/a/b/test_b.py", "ci/tests/test_c.py"},
			"go . go.mod; python ci ci/tests/test_c.py; python tools/a tools/a/test_a.py"},
		"no loose tests of samples":  {[]string{"tests/py/test_a.py", "a/examples/test_b.py", "fixtures/tests/test_c.py"}, ""},
		"not by a part of a name":    {[]string{"latest_a.py", "test_a.txt"}, ""},
		"loose tests of Ruby":        {[]string{"spec/a_spec.rb"}, "ruby . spec/a_spec.rb"},
		"loose tests of Node":        {[]string{"__tests__/a.test.js"}, "node . __tests__/a.test.js"},
		"not too deep":               {[]string{"test/x/a.test.js"}, ""},
		"not in lib":                 {[]string{"lib/a.test.js"}, ""},
		"not beside a project":       {[]string{"go.mod", "a.test.js"}, "go . go.mod"},
		"shell suites":               {[]string{"x/tests/test-b.sh", "a.bats"}, "shell . a.bats"},
		"no shell suite":             {[]string{"x/test-b.sh", "run-tests.sh"}, ""},
		"crates of a workspace":      {[]string{"Cargo.toml", "a/Cargo.toml", "b/c/Cargo.toml"}, "rust . Cargo.toml"},
		"crates without a workspace": {[]string{"a/Cargo.toml", "b/Cargo.toml"}, "rust a a/Cargo.toml; rust b b/Cargo.toml"},
		"modules of Go":              {[]string{"go.mod", "a/go.mod"}, "go . go.mod; go a a/go.mod"},
		"requirements of a page":     {[]string{"go.mod", "docs/requirements.txt", "docs/conf.py"}, "go . go.mod"},
		"requirements with code": {[]string{"go.mod", "api/requirements.txt", "api/a.py"},
			"go . go.mod; python api api/requirements.txt"},
		"requirements of tests": {[]string{"pyproject.toml", "parse.py", "tests/requirements.txt", "tests/test_a.py"},
			"python . pyproject.toml"},
		"requirements of tests, loose": {[]string{"a.py", "tests/requirements.txt", "tests/test_a.py"},
			"python . tests/test_a.py"},
		"requirements of tests inside a package": {[]string{"setup.py", "a/b.py", "a/tests/requirements.txt",
			"a/tests/test_b.py"}, "python . setup.py"},
		"requirements of examples": {[]string{"setup.cfg", "a.py", "examples/requirements.txt", "examples/b.py"},
			"python . setup.cfg"},
		"requirements of tests that test no Python": {[]string{"go.mod", "tests/requirements.txt", "tests/test_a.py"},
			"go . go.mod; python . tests/test_a.py; python tests tests/requirements.txt"},
		"tests with settings of their own": {[]string{"setup.py", "a.py", "tests/pytest.ini", "tests/requirements.txt",
			"tests/test_a.py"}, "python . setup.py; python tests tests/pytest.ini"},
		"a service below a project": {[]string{"setup.py", "a.py", "api/requirements.txt", "api/b.py", "api/test_b.py"},
			"python . setup.py; python api api/requirements.txt"},
		"requirements at the root": {[]string{"requirements.txt"}, "python . requirements.txt"},
		"folders of tools": {[]string{"node_modules/a/package.json", "testdata/go.mod", ".x/go.mod",
			"__pycache__/setup.py"}, ""},
		"at the greatest depth": {[]string{"a/b/c/go.mod", "a/b/c/d/setup.py"}, "go a/b/c a/b/c/go.mod"},
	} {
		files := map[string]string{}
		for _, f := range c.files {
			files[f] = ""
		}
		var got []string
		for _, p := range Detect(tree(t, files)) {
			got = append(got, fmt.Sprint(p.Language, " ", p.Root, " ", p.Marker))
		}
		if strings.Join(got, "; ") != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
	dir := tree(t, map[string]string{"package.json": `{"scripts":{"test":"x"}}`, "pnpm-workspace.yaml": "",
		"p/package.json": "{}"})
	if got := Detect(dir); len(got) != 1 {
		t.Errorf("a member of a pnpm workspace: %v", got)
	}
	write(t, dir, map[string]string{"package.json": "{}"})
	if got := Detect(dir); len(got) != 2 {
		t.Errorf("a workspace that does not test its members: %v", got)
	}
	if err := os.Symlink(filepath.Join(dir, "p"), filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if got := Detect(dir); len(got) != 2 {
		t.Errorf("a link was followed: %v", got)
	}
	s := Settings{Found: DetectIn(dir), When: []When{{}}, Affected: true, RequireTests: true}
	s.Found.Projects = s.Found.Projects[:1]
	if len(s.Projects(dir)) != 1 || len(s.Projects(filepath.Join(dir, "p"))) != 1 || s.Projects(filepath.Join(dir,
		"p"))[0].Root != "." {
		t.Error("what was detected in one tree counts for that tree")
	}
	if w := s.Whole(); w.Found != nil || w.When != nil || w.Affected || w.RequireTests {
		t.Errorf("%+v", w)
	}
}

// A file is read up to a limit, and only if it is a regular file.
func TestReadSome(t *testing.T) {
	dir := tree(t, map[string]string{"a": "abcdef"})
	for most, want := range map[int64]string{3: "abc", 6: "abcdef", 100: "abcdef"} {
		if got := ReadSome(filepath.Join(dir, "a"), most); got != want {
			t.Errorf("%d bytes: %q", most, got)
		}
	}
	if ReadSome(dir, 9) != "" || ReadSome(filepath.Join(dir, "b"), 9) != "" {
		t.Error("a folder and a missing file have no text")
	}
}

// The recipe of a target ends at the next line that is not indented.
func TestMakeTarget(t *testing.T) {
	got, ok := makeTarget("all:\n\ttrue\ntest: all\n\techo a\n\n\techo b\nlint:\n\tlint\n", "test")
	if want := "test: all\n\techo a\n\n\techo b"; got != want || !ok {
		t.Errorf("%q", got)
	}
}

// make test is a suite of its own only if no better runner has the same root, or a shell suite that it calls.
func TestMakeBesideOtherSuites(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"alone":          {map[string]string{"Makefile": "test:\n\ttrue\n"}, "tests:make"},
		"no such target": {map[string]string{"Makefile": "all:\n\ttrue\n"}, "tests"},
		"with Go": {map[string]string{"Makefile": "test:\n\ttrue\n", "go.mod": "", "a_test.go": ""},
			"tests:go"},
		"with Go below": {map[string]string{"Makefile": "test:\n\ttrue\n", "m/go.mod": "", "m/a_test.go": ""},
			"tests:go:m tests:make"},
		"beside a shell suite": {map[string]string{"Makefile": "test:\n\ttrue\n", "test-a.sh": ""},
			"tests:make tests:shell"},
		"it calls the script": {map[string]string{"Makefile": "test:\n\t./test-a.sh\n", "test-a.sh": ""},
			"tests:shell"},
		"it calls all scripts": {map[string]string{"Makefile": "test:\n\t./run-all-tests.sh\n",
			"tests/run-all-tests.sh": ""}, "tests:shell"},
		"it calls bats":       {map[string]string{"Makefile": "test:\n\tbats .\n", "a.bats": ""}, "tests:shell"},
		"Swift without tests": {map[string]string{"Package.swift": "", "Sources/a.swift": ""}, "tests"},
		"Swift with tests":    {map[string]string{"Package.swift": "", "Tests/a/a.swift": ""}, "tests:swift"},
		"Swift, only data of tests": {map[string]string{"Package.swift": "", "Tests/a.json": "",
			"TestsOfOthers/a.swift": ""}, "tests"},
		".NET without tests": {map[string]string{"a.csproj": "<Project/>", "b.txt": "xunit"}, "tests"},
		".NET with shared settings": {map[string]string{"a.csproj": "<Project/>", "Directory.Packages.props": "xunit.v3"},
			"tests:dotnet"},
		".NET with its own mark": {map[string]string{"a.fsproj": "<IsTestProject>true</IsTestProject>"}, "tests:dotnet"},
		".NET with NUnit":        {map[string]string{"a.vbproj": `Include="NUnit"`}, "tests:dotnet"},
		".NET with MSTest": {map[string]string{"a.csproj": "", "Directory.Build.props": `Include="MSTest"`},
			"tests:dotnet"},
		".NET with TUnit":    {map[string]string{"a.csproj": `Include="TUnit"`}, "tests:dotnet"},
		"Java without tests": {map[string]string{"pom.xml": "", "src/main/java/A.java": ""}, "tests"},
	} {
		var got []string
		for _, g := range Builtin(tree(t, c.files), Settings{Detect: true}) {
			if IsSuite(g.Info().Name) {
				got = append(got, g.Info().Name)
			}
		}
		slices.Sort(got)
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// The solution is named to dotnet, which would else refuse to choose; a project file is not.
func TestSolutionIsNamed(t *testing.T) {
	for marker, want := range map[string]string{"M.sln": "dotnet test M.sln --nologo",
		"M.slnx":   "dotnet test M.slnx --nologo",
		"M.csproj": "dotnet test --nologo"} {
		dir := tree(t, map[string]string{marker: "xunit", "t/t.csproj": "xunit"})
		suites := dotnetSuite(dir, Project{LangDotnet, ".", marker})
		if len(suites) != 1 || !strings.HasPrefix(suites[0].command, want+" ") {
			t.Errorf("%s: %+v", marker, suites)
		}
	}
}

// Only gates of test suites are suites, and the skip for a tree without tests is none.
func TestSuitesOfTree(t *testing.T) {
	count := func(files map[string]string, s Settings) int { return len(Suites(tree(t, files), s)) }
	if n := count(map[string]string{"a": ""}, Settings{Detect: true}); n != 0 {
		t.Errorf("%d suites without tests", n)
	}
	if n := count(goProject, Settings{Detect: true}); n != 1 {
		t.Errorf("%d suites of Go", n)
	}
	if n := count(nil, Settings{Commands: []CommandGate{{Name: "tests", Shell: "true"}, {Name: "lint",
		Shell: "true"}}}); n != 1 {
		t.Errorf("%d configured suites", n)
	}
	cargo := map[string]string{"Cargo.toml": "[package]\nname = \"x\"\n", "src/lib.rs": "#[test]\nfn a() {}\n"}
	for _, c := range []struct {
		files             map[string]string
		linters, parallel bool
	}{{goProject, true, true}, {unittestProject, true, false}, {cargo, false, false}} {
		for _, g := range Suites(tree(t, c.files), Settings{Detect: true}) {
			if i := g.Info(); i.WithLinters != c.linters || i.Parallel != c.parallel {
				t.Errorf("%s: runs together with linters %v, with other suites %v", i.Name, i.WithLinters, i.Parallel)
			}
		}
		if n := count(c.files, Settings{Detect: true}); n != 1 {
			t.Errorf("%d suites", n)
		}
	}
	more := New(Info{Name: "more:x"}, nil)
	for disable, want := range map[string]string{"": "", "more": "more:x", "more:x": "more:x", "mor": ""} {
		off := ""
		for _, g := range Builtin(t.TempDir(), Settings{Disable: []string{disable}}, more) {
			if g.Info().Off {
				off = g.Info().Name
			}
		}
		if off != want {
			t.Errorf("%q turns %q off", disable, off)
		}
	}
	if got := Builtin(t.TempDir(), Settings{Commands: []CommandGate{{Name: "more", Shell: "true"}}},
		more); len(got) != 2 || got[0].Info().Name != "more" {
		t.Errorf("a configured gate replaces others of its name: %d", len(got))
	}
	const why = "no test suite found, but there is go.mod"
	if got := noSuite(t.TempDir(), []Project{{Marker: "go.mod"}}); got != why {
		t.Error(got)
	}
	if got := noSuite(t.TempDir(), slices.Repeat([]Project{{Marker: "x"}}, 9)); strings.Count(got, "x,") != 4 {
		t.Error(got)
	}
}

// A tree without a gate for tests gets a proposal: the command of its build tool.
func TestProposedTests(t *testing.T) {
	for want, files := range map[string]map[string]string{
		"composer test": {"composer.json": `{"scripts": {"test": "phpunit"}}`, "phpunit.xml": ""},
		"phpunit":       {"composer.json": "{}", "phpunit.xml.dist": ""}, "mix test": {"mix.exs": ""},
		"vendor/bin/phpunit": {"composer.json": `{"require-dev": {"phpunit/phpunit": "^9"}}`},
		"ant test":           {"build.xml": `<target name="test">`},
		"invoke test":        {"tasks.py": "@task\ndef test(c):\n"}, "task test": {"Taskfile.dist.yml": "tasks:\n  test:\n"},
		"Rscript -e 'testthat::test_local()'": {"DESCRIPTION": "Suggests: testthat\n"},
		"deno test":                           {"deno.jsonc": ""}, "dart test": {"pubspec.yaml": "name: x"},
		"flutter test": {"pubspec.yaml": "dependencies:\n  flutter:\n    sdk: flutter\n"},
		"cmake -S . -B build && cmake --build build && ctest --test-dir build --output-on-failure": {
			"CMakeLists.txt": "enable_testing()"},
		"":           {"CMakeLists.txt": "project(x C)", "sub/mix.exs": "", "justfile": "build:\n"},
		"make check": {"Makefile": "all:\n\ncheck: all\n"}, "npm run test:unit": {"package.json": `{"scripts": {"test:unit": "x"}}`},
		"just test": {"justfile": "build:\n\ntest: build\n"}, "cabal test": {"x.cabal": ""},
		"prove -lr t": {"cpanfile": "", "t/a.t": ""}, "busted": {"a.lua": "", "spec/a_spec.lua": ""},
		"GO111MODULE=off go test ./...": {"sum.go": "package sum\n", "sum_test.go": "package sum\n"},
	} {
		dir := tree(t, files)
		if _, got := ProposedTests(dir); got != want {
			t.Errorf("%v: %q, want %q", files, got, want)
		}
		if why := noSuite(dir, nil); want != "" && !strings.Contains(why, ": "+want) {
			t.Error(why)
		}
	}
}

// With the setting for affected projects, gates of a folder are skipped if nothing changed there.
func TestUnaffectedProjectIsSkipped(t *testing.T) {
	dir := tree(t, map[string]string{"a/package.json": `{"scripts":{"test":"x"}}`, "b/package.json": "{}",
		"package.json": `{"scripts":{"test":"y"}}`})
	for name, c := range map[string]struct {
		on      bool
		changed string
		want    bool
	}{"elsewhere": {true, "b/x.js", true}, "there": {true, "a/x.js", false}, "off": {false, "b/x.js", false}} {
		rep, err := find(t, Builtin(dir, Settings{Detect: true, Affected: c.on}), "lint:node:a").Check(t.Context(),
			Subject{Dir: dir, Changed: []string{c.changed}})
		if err != nil || (rep.Note == "nothing changed under a/") != c.want {
			t.Errorf("%s: %+v, %v", name, rep, err)
		}
		rep, err = find(t, Builtin(dir, Settings{Detect: true, Affected: c.on}), "lint:node").Check(t.Context(),
			Subject{Dir: dir, Changed: []string{c.changed}})
		if err != nil || strings.Contains(rep.Note, "nothing changed") {
			t.Errorf("%s: the root: %+v, %v", name, rep, err)
		}
	}
}
