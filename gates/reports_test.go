package gates

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// said lists findings as PATH:LINE:COL SEVERITY RULE MESSAGE, with the fix if there is one.
func said(findings []Finding) (out []string) {
	for _, f := range findings {
		text := fmt.Sprintf("%s:%d:%d %s %s %s", f.Path, f.Line, f.Col, f.Severity, f.Rule, f.Message)
		if f.Fix != "" {
			text += "; " + f.Fix
		}
		out = append(out, text)
	}
	return out
}

// prints is a program that prints a text to its standard output, DIR replaced by its folder, and exits.
func prints(text string, exit int) string {
	return "#!/bin/bash\nr=$(cat <<'END'\n" + text + "\nEND\n)\necho \"${r//DIR/$PWD}\"\nexit " + strconv.Itoa(exit) + "\n"
}

// fakes runs a detected gate of a tree whose folder bin is first in PATH.
func fakes(t *testing.T, gate string, files map[string]string, changed ...string) (Report, error) {
	t.Helper()
	needs(t, "bash")
	dir := tree(t, files)
	env := append(os.Environ(), "PATH="+filepath.Join(dir, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
	return find(t, Builtin(dir, Settings{Detect: true}), gate).Check(t.Context(),
		Subject{Dir: dir, Env: env, Changed: changed})
}

// Each linter that a project configures has its own form of report.
func TestReportsOfLinters(t *testing.T) {
	golangci := map[string]string{"go.mod": "module m\n", "a.go": "package m\n", ".golangci.yml": "version: '2'\n"}
	clippy := map[string]string{"Cargo.toml": "[package]\n", "src/lib.rs": ""}
	rubocop := map[string]string{"Gemfile": "", ".rubocop.yml": "", "a.rb": ""}
	swift := map[string]string{"Package.swift": "", ".swiftlint.yml": "", ".swift-format": "{}", "Sources/a.swift": ""}
	xo := map[string]string{"package.json": `{"devDependencies":{"xo":"1"}}`, "a.js": ""}
	kotlin := map[string]string{"build.gradle": "", ".editorconfig": "ktlint_code_style = official\n", "src/A.kt": ""}
	spotless := map[string]string{"build.gradle": `plugins { id "com.diffplug.spotless" }`, "src/A.java": ""}
	maven := map[string]string{"pom.xml": "spotless-maven-plugin", "src/A.java": ""}
	dotnet := map[string]string{"M.sln": "", ".editorconfig": "dotnet_x = 1\n", "src/A.cs": ""}
	for name, c := range map[string]struct {
		gate    string
		files   map[string]string
		program string // in bin, or with a path
		says    string
		exit    int
		want    []string
		err     string
	}{
		"golangci-lint": {
			"lint:golangci-lint", golangci, "golangci-lint", `level=info msg="started"
{"Issues":[{"FromLinter":"errcheck","Text":"not checked","Severity":"","Pos":{"Filename":"a.go","Line":3,"Column":2}},
{"FromLinter":"typecheck","Text":"undefined: x","Severity":"warning","Pos":{"Filename":"DIR/a.go","Line":4,"Column":5}},
{"FromLinter":"revive","Text":"rename","Severity":"warning","Pos":{"Filename":"a.go","Line":5,"Column":1}},
{"FromLinter":"misspell","Text":"teh","Severity":"info","Pos":{"Filename":"a.go","Line":6,"Column":1}},
{"FromLinter":"gosec","Text":"weak","Severity":"high","Pos":{"Filename":"../a.go","Line":7,"Column":1}}]}
4 issues`, 1, []string{
				"a.go:3:2 error errcheck not checked", "a.go:4:5 error build undefined: x",
				"a.go:5:1 warning revive rename", "a.go:6:1 warning misspell teh", ":7:1 error gosec weak",
			}, "",
		},
		"golangci-lint without a report": {"lint:golangci-lint", golangci, "golangci-lint", "{no", 1, nil,
			"golangci-lint could not run, exit"},
		"golangci-lint that could not run": {"lint:golangci-lint", golangci, "golangci-lint", "error: bad config", 3, nil,
			"golangci-lint could not run, exit 3: error: bad config"},
		"golangci-lint that fails without a finding": {"lint:golangci-lint", golangci, "golangci-lint", "{}", 1, nil,
			"golangci-lint failed, exit 1, without naming a place"},
		"golangci-lint without findings": {"lint:golangci-lint", golangci, "golangci-lint", "{}", 0, nil, ""},
		"clippy": {
			"lint:clippy", clippy, "cargo", `{"reason":"compiler-artifact"}
{"reason":"compiler-message","message":{"code":{"code":"clippy::needless_return"},"level":"warning","message":"unneeded","spans":[{"file_name":"x.rs","line_start":1,"column_start":1,"is_primary":false},{"file_name":"src/lib.rs","line_start":2,"column_start":3,"is_primary":true},{"file_name":"y.rs","line_start":9,"column_start":9,"is_primary":false}]}}
{"reason":"compiler-message","message":{"code":{"code":"clippy::needless_return"},"level":"warning","message":"unneeded","spans":[{"file_name":"src/lib.rs","line_start":2,"column_start":3,"is_primary":true}]}}
{"reason":"compiler-message","message":{"code":{"code":"clippy::eq_op"},"level":"error","message":"equal","spans":[{"file_name":"src/lib.rs","line_start":3,"column_start":1,"is_primary":false}]}}
{"reason":"compiler-message","message":{"code":{"code":"E0425"},"level":"error","message":"not found","spans":[{"file_name":"src/lib.rs","line_start":4,"column_start":1,"is_primary":true}]}}
{"reason":"compiler-message","message":{"code":null,"level":"error","message":"expected ;","spans":[{"file_name":"src/lib.rs","line_start":5,"column_start":1,"is_primary":true}]}}
{"reason":"compiler-message","message":{"code":null,"level":"warning","message":"odd","spans":[{"file_name":"src/lib.rs","line_start":6,"column_start":1,"is_primary":true}]}}
{"reason":"compiler-message","message":{"code":null,"level":"error","message":"aborting","spans":[]}}`, 101, []string{
				"src/lib.rs:2:3 warning needless_return unneeded", "src/lib.rs:3:1 error eq_op equal",
				"src/lib.rs:4:1 error build not found", "src/lib.rs:5:1 error build expected ;",
				"src/lib.rs:6:1 warning rustc odd",
			}, "",
		},
		"clippy that could not run": {"lint:clippy", clippy, "cargo", "error: no lock file", 101, nil,
			"clippy could not run, exit 101: error: no lock file"},
		"rustfmt": {"lint:rustfmt", clippy, "cargo", "DIR/src/lib.rs\nDIR/src/gone.rs", 1,
			[]string{"src/lib.rs:0:0 warning rustfmt not formatted with rustfmt; cargo fmt"}, ""},
		"rubocop": {
			"lint:rubocop", rubocop, "rubocop", `{"files":[{"path":"a.rb","offenses":[
{"severity":"error","message":"unexpected end","cop_name":"Lint/Syntax","location":{"line":1,"column":2}},
{"severity":"convention","message":"indent","cop_name":"Layout/Indent","location":{"line":2,"column":1}},
{"severity":"info","message":"maybe","cop_name":"Style/Maybe","location":{"line":3,"column":1}},
{"severity":"warning","message":"unused","cop_name":"Lint/Unused","location":{"line":4,"column":1}}]}]}`, 1, []string{
				"a.rb:1:2 error build unexpected end", "a.rb:2:1 warning Layout/Indent indent",
				"a.rb:3:1 info Style/Maybe maybe", "a.rb:4:1 error Lint/Unused unused",
			}, "",
		},
		"rubocop without a report": {"lint:rubocop", rubocop, "rubocop", "{", 1, nil, "rubocop could not run, exit"},
		"swiftlint": {
			"lint:swiftlint", swift, "swiftlint",
			`[{"file":"DIR/Sources/a.swift","severity":"Error","reason":"force","line":2,"character":3,"rule_id":"force_cast"},
{"file":"DIR/Sources/a.swift","severity":"Warning","reason":"long","line":4,"rule_id":"line_length"}]`, 2, []string{
				"Sources/a.swift:2:3 error force_cast force", "Sources/a.swift:4:0 warning line_length long",
			}, "",
		},
		"swiftlint without a report": {"lint:swiftlint", swift, "swiftlint", "[", 2, nil, "swiftlint could not run, exit"},
		"swift-format": {"lint:swift-format", swift, "swift-format", "Sources/a.swift:2:3: warning: [Spacing] add 1 space", 1,
			[]string{"Sources/a.swift:2:3 warning Spacing add 1 space"}, ""},
		"ktlint": {
			"lint:ktlint", kotlin, "ktlint",
			`[{"file":"DIR/src/A.kt","errors":[{"line":1,"column":2,"message":"no","rule":"standard:x"}]}]`,
			1, []string{"src/A.kt:1:2 error standard:x no"}, "",
		},
		"ktlint without a report": {"lint:ktlint", kotlin, "ktlint", "[", 1, nil, "ktlint could not run, exit"},
		"spotless": {"lint:spotless", spotless, "gradle", "The following files had format violations:\n    src/A.java\n" +
			"        @@ -1 +1 @@\n    src/gone.java\nRun './gradlew :spotlessApply' to fix them.", 1,
			[]string{"src/A.java:0:0 warning spotless not formatted with spotless; gradle spotlessApply"}, ""},
		"spotless of Maven, without a file": {"lint:spotless-maven", maven, "mvn", "Run 'mvn spotless:apply' to fix it.", 1,
			[]string{":0:0 warning spotless some files are not formatted with spotless; mvn spotless:apply"}, ""},
		"spotless without findings": {"lint:spotless", spotless, "gradle", "BUILD SUCCESSFUL", 0, nil, ""},
		"a build that fails before spotless": {"lint:spotless", spotless, "gradle", "BUILD FAILED", 1, nil,
			"spotless could not run, exit 1: BUILD FAILED"},
		"xo": {
			"lint:xo", xo, "node_modules/.bin/xo",
			`[{"filePath":"DIR/a.js","messages":[{"ruleId":"semi","severity":1,"message":"m","line":1,"column":2},{"ruleId":"eqeqeq","severity":2,"message":"n","line":2,"column":1}]}]`,
			1, []string{"a.js:1:2 warning semi m", "a.js:2:1 error eqeqeq n"}, "",
		},
		"xo without a report": {"lint:xo", xo, "node_modules/.bin/xo", "[", 1, nil, "xo could not run, exit"},
		"dotnet format": {"lint:dotnet-format", dotnet, "dotnet", "DIR/src/A.cs(3,5): error WHITESPACE: Fix it. " +
			"[DIR/M.csproj]",
			2, []string{"src/A.cs:3:5 warning WHITESPACE Fix it.; dotnet format"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			program := c.program
			if !strings.Contains(program, "/") {
				program = "bin/" + program
			}
			rep, err := fakes(t, c.gate, with(c.files, map[string]string{program + "!": prints(c.says, c.exit)}))
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("error %v, want %q", err, c.err)
				}
				return
			}
			if d := cmp.Diff(c.want, said(rep.Findings)); d != "" || err != nil {
				t.Error(d, err)
			}
			if len(c.want) == 0 && rep.Output != "no findings" || len(c.want) > 0 && !strings.Contains(rep.Output, ":") ||
				strings.Contains(rep.Output, "{") {
				t.Errorf("the report shows %q", rep.Output)
			}
		})
	}
}

// A part of Rust's tool chain that is missing is no failure of the code.
func TestMissingComponentSkipsLinter(t *testing.T) {
	for _, says := range []string{"error: no such command: `clippy`",
		"error: 'cargo-clippy' is not installed for the toolchain 'stable'"} {
		rep, err := fakes(t, "lint:clippy", map[string]string{"Cargo.toml": "[package]\n", "src/lib.rs": "",
			"bin/cargo!": "#!/bin/sh\necho \"" + strings.ReplaceAll(says, "`", "\\`") + "\" >&2\nexit 101\n"})
		if err != nil || rep.Status != Skipped || !strings.Contains(rep.Note, "rustup component add clippy") {
			t.Errorf("%s: %s %s, %v", says, rep.Status, rep.Note, err)
		}
	}
}

// A linter that a project configures, and that is not installed, is a skip that says how to install it.
func TestMissingLinterIsSkipped(t *testing.T) {
	for gate, files := range map[string]map[string]string{
		"lint:biome":         {"package.json": "{}", "biome.json": "{}"},
		"lint:golangci-lint": {"go.mod": "module m\n", ".golangci.yml": ""},
	} {
		dir := tree(t, files)
		rep, err := find(t, Builtin(dir, Settings{Detect: true}), gate).Check(t.Context(),
			Subject{Dir: dir, Env: []string{"PATH=/nowhere"}})
		if err != nil || rep.Status != Skipped || !strings.Contains(rep.Note, "not installed: ") {
			t.Errorf("%s: %s %s, %v", gate, rep.Status, rep.Note, err)
		}
	}
}

// golangci-lint of version 1 has another option for its report.
func TestGolangciOptionsFitVersion(t *testing.T) {
	for config, want := range map[string]string{"version: \"2\"\n": "--output.json.path=stdout",
		`{"version": "2"}`: "--output.json.path=stdout", "linters:\n  enable: [x]\n": "--out-format=json",
		"version: \"1\"\n": "--out-format=json"} {
		dir := tree(t, map[string]string{".golangci.yml": config})
		args := golangciArgs(&Look{subject: Subject{Dir: dir}}, Project{}, ".golangci.yml")
		if got := strings.Join(args, " "); !strings.Contains(got, want) {
			t.Errorf("%q: %s", config, got)
		}
	}
}

// ruff and flake8 report certain errors only, if the project configures neither, and their own findings otherwise.
func TestPythonLinters(t *testing.T) {
	ruff := map[string]string{"setup.py": "", "a.py": "", "b.py": "", "ruff.toml": ""}
	flake := map[string]string{"setup.py": "", "a.py": "", "sub/b.py": "", ".flake8": "[flake8]\n"}
	const none = `[{"code":null,"message":"expected ':'","filename":"DIR/a.py","location":{"row":2,"column":3}},` +
		`{"code":"F401","message":"unused","filename":"DIR/b.py","location":{"row":1,"column":8},"fix":{"message":"Remove it"}}]`
	for name, c := range map[string]struct {
		files   map[string]string
		program string
		says    string
		exit    int
		status  Status
		want    []string
		err     string
	}{
		"ruff": {ruff, "ruff", none, 1, Fail,
			[]string{"a.py:2:3 error syntax expected ':'", "b.py:1:8 error F401 unused; Remove it"}, ""},
		"ruff without findings": {ruff, "ruff", "[]", 0, Pass, nil, ""},
		"ruff that gave up":     {ruff, "ruff", "error: bad setting", 2, "", nil, "ruff gave up, exit 2: error: bad setting"},
		"ruff without a report": {ruff, "ruff", "hello", 0, "", nil, "read what ruff found"},
		"ruff without rules": {with(ruff, map[string]string{"ruff.toml": "select = []\n"}), "ruff", "[]", 0, Warn,
			[]string{"ruff.toml:0:0 warning linter-without-rules ruff has no rules enabled: select is empty"}, ""},
		"ruff with only further rules": {with(ruff, map[string]string{"ruff.toml": "select = []\nextend-select = ['E']\n"}),
			"ruff", "[]", 0, Pass, nil, ""},
		"ruff without rules in pyproject.toml": {map[string]string{"pyproject.toml": "[tool.ruff.lint]\nselect = []\n",
			"a.py": ""}, "ruff", "[]", 0, Warn,
			[]string{"pyproject.toml:0:0 warning linter-without-rules ruff has no rules enabled: select is empty"}, ""},
		"ruff with further rules in pyproject.toml": {map[string]string{
			"pyproject.toml": "[tool.ruff]\nselect = []\nextend-select = ['E']\n", "a.py": ""}, "ruff", "[]", 0, Pass, nil, ""},
		"ruff with rules in pyproject.toml": {map[string]string{"pyproject.toml": "[tool.ruff]\nselect = ['E']\n",
			"a.py": ""},
			"ruff", "[]", 0, Pass, nil, ""},
		"flake8": {flake, "flake8", "./a.py:1:2: F401 'os' imported but unused\n./sub/b.py:3:80: E501 line too " +
			"long\nnoise", 1,
			Fail, []string{"a.py:1:2 error F401 'os' imported but unused", "sub/b.py:3:80 error E501 line too long"}, ""},
		"flake8 without findings": {flake, "flake8", "", 0, Pass, nil, ""},
		"flake8 that could not run": {flake, "flake8", "ValueError: no such plugin", 1, "", nil,
			"flake8 could not run, exit 1"},
		"flake8 without rules": {with(flake, map[string]string{".flake8": "[flake8]\nselect =\n"}), "flake8", "", 0, Warn,
			[]string{".flake8:0:0 warning linter-without-rules flake8 has no rules enabled: select is empty"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			rep, err := fakes(t, "lint:python", with(c.files, map[string]string{"bin/" + c.program + "!": prints(c.says,
				c.exit)}))
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("error %v, want %q", err, c.err)
				}
				return
			}
			if d := cmp.Diff(c.want, said(rep.Findings)); d != "" || err != nil || rep.Status != c.status {
				t.Error(d, rep.Status, err)
			}
		})
	}
}

// A configured linter that is missing is a skip; it does not give way to another one.
func TestMissingPythonLinter(t *testing.T) {
	for name, c := range map[string]struct {
		files  map[string]string
		note   string
		status Status
	}{
		"ruff is configured": {map[string]string{"ruff.toml": ""}, "ruff is configured in ruff.toml but not installed",
			Skipped},
		"flake8 is configured": {map[string]string{"tox.ini": "[flake8]\n"},
			"flake8 is configured in tox.ini but not installed", Skipped},
		"none is configured": {nil, "neither ruff nor flake8 is installed", Skipped},
	} {
		dir := tree(t, with(c.files, map[string]string{"setup.py": "", "a.py": ""}))
		rep, err := find(t, Builtin(dir, Settings{Detect: true}), "lint:python").Check(t.Context(),
			Subject{Dir: dir, Env: []string{"PATH=/nowhere"}})
		if err != nil || rep.Status != c.status || !strings.Contains(rep.Note, c.note) {
			t.Errorf("%s: %s %s, %v", name, rep.Status, rep.Note, err)
		}
	}
}

// go vet may fail without a place, and a module may have no packages yet.
func TestGoVetWithoutPlaces(t *testing.T) {
	files := map[string]string{"go.mod": "module m\n", "a.go": "package m\n", "bin/gofmt!": "#!/bin/sh\n"}
	for says, want := range map[string]struct {
		status Status
		said   []string
	}{
		"pattern ./...: directory matched no packages": {Skipped, nil},
		"go: go.mod has errors": {Fail, []string{"go.mod:0:0 error build exit 1: go: go.mod has " +
			"errors"}},
		"go.mod:3: unknown directive: x":    {Fail, []string{"go.mod:3:0 error build unknown directive: x"}},
		"vet: ./a.go:1:2: undefined: x":     {Fail, []string{"a.go:1:2 error build undefined: x"}},
		"# m\n./a.go:4:2: unreachable code": {Fail, []string{"a.go:4:2 error vet unreachable code"}},
	} {
		rep, err := fakes(t, "lint:go", with(files, map[string]string{"bin/go!": prints(says, 1)}))
		if d := cmp.Diff(want.said, said(rep.Findings)); d != "" || err != nil || rep.Status != want.status {
			t.Errorf("%q: %s %s %v", says, d, rep.Status, err)
		}
	}
	rep, err := fakes(t, "lint:go", with(files, map[string]string{"bin/go!": prints("./a.go:4:2: it is fine", 0),
		"bin/gofmt!": "#!/bin/sh\necho ./a.go\n"}))
	if d := cmp.Diff([]string{"a.go:0:0 warning gofmt not formatted with gofmt; gofmt -w a.go"},
		said(rep.Findings)); d != "" ||
		err != nil {
		t.Error(d, err)
	}
	// With core.autocrlf the files of the tree have other line ends than those of the commit.
	rep, err = fakes(t, "lint:go", with(files, map[string]string{"bin/go!": prints("", 0), "a.go": "package m\r\n",
		"bin/gofmt!": "#!/bin/sh\necho ./a.go\n"}))
	if len(rep.Findings) != 0 || err != nil {
		t.Error(rep.Findings, err)
	}
	dir := tree(t, with(files, map[string]string{"bin/go!": prints("", 0)}))
	if err := os.Remove(filepath.Join(dir, "bin", "gofmt")); err != nil {
		t.Fatal(err)
	}
	write(t, dir, map[string]string{"bin/bash!": "#!/bin/sh\n"})
	rep, err = find(t, Builtin(dir, Settings{Detect: true}), "lint:go").Check(t.Context(),
		Subject{Dir: dir, Env: []string{"PATH=" + filepath.Join(dir, "bin")}})
	if err != nil || rep.Status != Pass || rep.Note != "formatting was not checked: gofmt is not installed" {
		t.Errorf("without gofmt: %s %s, %v", rep.Status, rep.Note, err)
	}
}

// Findings in nested projects, which have their own gate, are left out. Errors in unchanged files warn.
func TestFindingsOfNestedProjectsAndUnchangedFiles(t *testing.T) {
	p := Project{LangPython, ".", "setup.py"}
	all := []Project{p, {LangPython, "sub", "sub/setup.py"}, {LangNode, "web", "web/package.json"}}
	w := &Look{subject: Subject{Changed: []string{"a.py"}}}
	w.rep.Findings = []Finding{
		{Rule: "E", Path: "a.py", Severity: Error, Message: "changed"},
		{Rule: "E", Path: "b.py", Severity: Error, Message: "old"},
		{Rule: "W", Path: "b.py", Severity: Warning, Message: "old warning"},
		{Rule: RuleBuild, Path: "b.py", Severity: Error, Message: "does not build"},
		{Rule: ruleNoRules, Path: "setup.cfg", Severity: Warning, Message: "no rules"},
		{Rule: "E", Path: "sub/c.py", Severity: Error, Message: "nested"},
		{Rule: "E", Path: "web/d.py", Severity: Error, Message: "another language"},
		{Rule: "E", Severity: Error, Message: "no place"},
	}
	w.settleLint(p, all)
	want := []string{"a.py:0:0 error E changed", "b.py:0:0 warning E old", "b.py:0:0 info W old warning",
		"b.py:0:0 error build does not build", "setup.cfg:0:0 warning linter-without-rules no rules",
		"web/d.py:0:0 warning E another language", ":0:0 error E no place"}
	if d := cmp.Diff(want, said(w.rep.Findings)); d != "" || w.rep.Note != "2 findings in unchanged files only warn" {
		t.Error(d, w.rep.Note)
	}
}

// A linter's warning about a line that was there before is no warning of the change. An error stays.
func TestLintWarnsAboutAddedLines(t *testing.T) {
	w := &Look{subject: Subject{Changed: []string{"a.js"}, Diff: oneChange{"a.js", "var a = 1\n", "var b = 2\nvar a = 1\n"}}}
	for line := range 3 { // 0 is the whole file
		w.rep.Findings = append(w.rep.Findings, Finding{Rule: "magic", Path: "a.js", Line: line, Severity: Warning})
	}
	w.rep.Findings = append(w.rep.Findings, Finding{Rule: "wrong", Path: "a.js", Line: 2, Severity: Error})
	if err := w.calmLint(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, f := range w.rep.Findings {
		want := Warning
		switch {
		case f.Rule == "wrong":
			want = Error
		case f.Line == 2:
			want = Note
		}
		if f.Severity != want {
			t.Errorf("%s at line %d: %s, want %s", f.Rule, f.Line, f.Severity, want)
		}
	}
}
