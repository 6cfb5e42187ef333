package gates

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The gates read the recorded output of real linters. See testdata/README.md.
func TestRealLinterOutput(t *testing.T) {
	replay := func(file string) string {
		abs, err := filepath.Abs(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		return "#!/bin/bash\nsed \"s#DIR#$PWD#g\" '" + abs + "'\nexit 1\n"
	}
	for gate, c := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"lint:node": {
			map[string]string{
				"package.json": "{}", "eslint.config.js": "", "a.js": "", "broken.js": "", "unused.js": "",
				"node_modules/.bin/eslint!": replay("eslint-9.39.5.json"),
			},
			[]string{
				"a.js:1:7 error no-unused-vars 'a' is assigned a value but never used.",
				"a.js:2:5 error no-undef 'b' is not defined.",
				"a.js:2:7 warning eqeqeq Expected '===' and instead saw '=='.",
				"a.js:2:19 error no-unused-vars 'c' is defined but never used.",
				"broken.js:1:10 error syntax Parsing error: Unexpected token (",
				"unused.js:1:1 warning eslint Unused eslint-disable directive (no problems were reported from 'no-undef').",
			},
		},
		"lint:shell": {
			map[string]string{"tests/test-a.sh": "", "a.sh": "", "b.sh": "", "bin/shellcheck!": replay("shellcheck-0.9.0.json")},
			[]string{
				"a.sh:4:1 info SC1009 The mentioned syntax error was in this if expression.",
				"a.sh:4:4 error SC1073 Couldn't parse this test expression. Fix to allow more checks.",
				"a.sh:4:13 error SC1072 Expected test to end here (don't wrap commands in []/[[]]). Fix any mentioned problems " +
					"and try again.",
				"b.sh:2:1 warning SC2164 Use 'cd ... || exit' or 'cd ... || return' in case cd fails.",
				"b.sh:3:1 warning SC3043 In POSIX sh, 'local' is undefined.",
				"b.sh:4:9 warning SC2010 Don't use ls | grep. Use a glob or a for loop with a condition to allow " +
					"non-alphanumeric filenames.",
				"b.sh:4:12 info SC2035 Use ./*glob* or -- *glob* so names with dashes won't become options.",
				"b.sh:5:10 error SC2045 Iterating over ls output is fragile. Use globs.",
				"b.sh:5:25 info SC2086 Double quote to prevent globbing and word splitting.",
				"b.sh:6:8 warning SC2115 Use \"${var:?}\" to ensure this never expands to /* .",
				"b.sh:7:14 warning SC3010 In POSIX sh, [[ ]] is undefined.",
			},
		},
	} {
		t.Run(gate, func(t *testing.T) {
			needs(t, "bash")
			dir := tree(t, c.files)
			env := append(os.Environ(), "PATH="+filepath.Join(dir, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
			rep, err := find(t, Builtin(dir, Settings{Detect: true}), gate).Check(t.Context(), Subject{Dir: dir, Env: env})
			if err != nil || rep.Status != Fail {
				t.Errorf("%s %v", rep.Status, err)
			}
			var got []string
			for _, f := range rep.Findings {
				got = append(got, fmt.Sprintf("%s:%d:%d %s %s %s", f.Path, f.Line, f.Col, f.Severity, f.Rule, f.Message))
			}
			slices.Sort(got)
			slices.Sort(c.want)
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(strings.TrimSpace(d))
			}
		})
	}
}

// A GitHub annotation names the place before or after the title.
func TestReadGitHubAnnotations(t *testing.T) {
	dir := tree(t, map[string]string{"src/a.js": ""})
	got, err := readGitHub(&Look{subject: Subject{Dir: dir}}, Project{LangNode, ".", "package.json"}, ran{text: "" +
		"::error file=src/a.js,line=5,endLine=5,col=1,endColumn=10,title=eslint(no-debugger)::`debugger` is not allowed\n" +
		"::warning title=lint/style/useConst,file=src/a.js,line=2,endLine=2,col=3,endColumn=4::Use const%3A no change.\n" +
		"::error title=format,file=src/a.js,line=1::Not formatted.\nFinished in 6ms: a::b\n"})
	want := []Finding{
		{Rule: "eslint(no-debugger)", Severity: Error, Path: "src/a.js", Line: 5, Col: 1,
			Message: "`debugger` is not allowed"},
		{Rule: "style/useConst", Severity: Warning, Path: "src/a.js", Line: 2, Col: 3,
			Message: "Use const: no change."},
		{Rule: "format", Severity: Warning, Path: "src/a.js", Line: 1, Message: "Not formatted."},
	}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Error(d, err)
	}
}

// A library of shell functions needs no shebang.
func TestMissingShebangDoesNotBlock(t *testing.T) {
	needs(t, "bash")
	const says = `[{"file":"./lib.sh","line":1,"column":1,"level":"error","code":2148,"message":"Add a shebang."}]`
	dir := tree(t, map[string]string{"lib.sh": "", "bin/shellcheck!": "#!/bin/sh\necho '" + says + "'\nexit 1\n"})
	env := append(os.Environ(), "PATH="+filepath.Join(dir, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
	rep, err := find(t, Builtin(dir, Settings{Detect: true}), "lint:shell").Check(t.Context(), Subject{Dir: dir, Env: env})
	if err != nil || rep.Status != Pass || len(rep.Findings) != 1 {
		t.Errorf("%s %v %v", rep.Status, rep.Findings, err)
	}
}

// Without a configured linter, an installed one checks only the changed files. Errors elsewhere were there before.
func TestUnconfiguredPythonLinterChecksChangedFiles(t *testing.T) {
	needs(t, "bash")
	for name, c := range map[string]struct {
		config  string
		changed []string
		want    string
		status  Status
	}{
		"changed files": {changed: []string{"pkg/a.py", "gone.py", "notes.md"}, want: basicRules + " ./pkg/a.py",
			status: Pass},
		"no Python file":      {changed: []string{"notes.md"}, status: Skipped},
		"changes are unknown": {want: basicRules + " .", status: Pass},
		"a configured linter": {config: "[flake8]\n", changed: []string{"pkg/a.py"}, want: ".", status: Pass},
	} {
		t.Run(name, func(t *testing.T) {
			dir := tree(t, map[string]string{"setup.py": "", "pkg/a.py": "", "pkg/b.py": "", "setup.cfg": c.config,
				"notes.md": "", "bin/flake8!": "#!/bin/sh\necho \"$*\" >\"${0%/*}/called\"\n"})
			env := append(os.Environ(), "PATH="+filepath.Join(dir, "bin"))
			rep, err := find(t, Builtin(dir, Settings{Detect: true}), "lint:python").Check(t.Context(),
				Subject{Dir: dir, Env: env, Changed: c.changed})
			called, _ := os.ReadFile(filepath.Join(dir, "bin", "called"))
			if err != nil || rep.Status != c.status || strings.TrimSpace(string(called)) != c.want {
				t.Errorf("%s %v, called with %q, want %q", rep.Status, err, called, c.want)
			}
		})
	}
}
