package gates

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// runplan runs a lint script only if each of its programs is known to change no file.
func TestLintScriptMustOnlyCheck(t *testing.T) {
	for script, want := range map[string]string{
		"eslint .": "eslint", "xo && tsc --noEmit": "xo", "npx prettier --check .": "prettier",
		"cross-env NODE_ENV=test node_modules/.bin/eslint src": "eslint", "prettier -c .": "prettier",
		"prettier -l .": "prettier", "prettier --list-different .": "prettier", "next lint": "next", "vp lint": "vp",
		"vp check": "vp", "biome check .": "biome", "turbo lint": "turbo", "nx run-many": "nx", "&& eslint": "eslint",
		"npm run":        "what run does to files is unknown",
		"eslint --fix .": "it fixes its findings", "biome check --write": "it fixes its findings",
		"prettier -w .": "it fixes its findings", "eslint . | tee log": "it also runs programs that are not checkers",
		"eslint $(ls)": "it also runs programs that are not checkers", "rimraf dist": "what rimraf does to files is unknown",
		"eslint . && node build.js": "what build.js does to files is unknown",
		"prettier .":                "prettier would write files", "tsc": "tsc would write files",
		"next build": "next would write files",
		"vp build":   "vp would write files", "biome migrate": "biome would write files", "nx": "nx would write files",
		"turbo": "turbo would write files",
	} {
		program, why := lintScript(script)
		if program+why != want || (why != "") != strings.Contains(want, " ") {
			t.Errorf("%s: %q, %q, want %q", script, program, why, want)
		}
	}
}

// The first script that only checks is run; a script that writes is named in the skip.
func TestLintScriptOfPackage(t *testing.T) {
	const stylish = `
DIR/src/a.js
  1:2  error    'x' is not defined  no-undef
  3:4  warning  Odd
  5:6  ⚠  Unused  unused

src/b.ts(7,8): error TS2304: Cannot find name 'y'.
src/c.js:9:10 Broken.
  1:2  error  of a file that is not in the tree`
	files := map[string]string{
		"package.json": `{"scripts":{"lint":"eslint --fix .","check":"xo","lint:ci":" "},"devDependencies":{"xo-x":"1"}}`,
		"src/a.js":     "", "src/b.ts": "", "src/c.js": "",
	}
	for name, c := range map[string]struct {
		files  map[string]string
		says   string
		exit   int
		status Status
		want   []string
		note   string
	}{
		"findings": {files, stylish, 1, Fail, []string{"src/a.js:1:2 error no-undef 'x' is not defined",
			"src/a.js:3:4 warning lint Odd", "src/a.js:5:6 warning unused Unused",
			"src/b.ts:7:8 error TS2304 Cannot find name 'y'.", "src/c.js:9:10 error lint Broken.",
			"src/a.js:1:2 error lint of a file that is not in the tree"}, ""},
		"none": {files, "all fine", 0, Pass, nil, ""},
		"without a place": {files, "error: it broke", 3, Fail, []string{"package.json:0:0 error exit exit 3: error: it " +
			"broke"}, ""},
		"another program": {map[string]string{"package.json": `{"scripts":{"lint":"a && b"}}`}, "", 0, Skipped, nil,
			"runplan does not run the script lint of package.json: what a does to files is unknown; to have it run: " +
				`[[gates.command]] name = "lint:node", run = "npm run lint"`},
		"no script": {map[string]string{"package.json": `{"scripts":{"check":"rm x"}}`}, "", 0, Skipped, nil,
			"no linter is configured: runplan does not run the script check of package.json"},
		"a program that is not installed": {map[string]string{
			"package.json": `{"scripts":{"lint":"xo-x && y","check":"tsc --noEmit"},"devDependencies":{"tsc":"1"}}`}, "", 0,
			Skipped,
			nil, "the lint script needs tsc, which is not installed in node_modules: npm install"},
	} {
		rep, err := fakes(t, "lint:node", with(c.files, map[string]string{"bin/npm!": prints(c.says, c.exit)}))
		if d := cmp.Diff(c.want, said(rep.Findings)); d != "" || err != nil || rep.Status != c.status ||
			!strings.Contains(rep.Note, c.note) {
			t.Errorf("%s: %s %s %s %v", name, d, rep.Status, rep.Note, err)
		}
	}
	if _, err := fakes(t, "lint:node", with(files, map[string]string{"bin/npm!": prints("sh: 1: xo: not found",
		127)})); err == nil ||
		!strings.Contains(err.Error(), "the program xo is not installed") {
		t.Errorf("a missing program must be an error: %v", err)
	}
	dir := tree(t, files)
	rep, err := find(t, Builtin(dir, Settings{Detect: true}), "lint:node").Check(t.Context(),
		Subject{Dir: dir, Env: []string{"PATH=/nowhere"}})
	if err != nil || rep.Status != Skipped || !strings.Contains(rep.Note, "the lint script cannot run") {
		t.Errorf("without npm: %s %s, %v", rep.Status, rep.Note, err)
	}
}

// eslint may check no file, and may run without rules. A rule is off by its number or its name, also in a list.
func TestESLintWithoutFilesOrRules(t *testing.T) {
	files := map[string]string{"package.json": `{"eslintConfig":{}}`, "a.js": ""}
	rep, err := fakes(t, "lint:node", with(files, map[string]string{"node_modules/.bin/eslint!": prints("[]", 0)}))
	if err != nil || rep.Status != Skipped || !strings.Contains(rep.Note, "eslint checked no file") {
		t.Errorf("%s %s, %v", rep.Status, rep.Note, err)
	}
	for config, want := range map[string]bool{
		`{"rules":{"a":0,"b":"off","c":["off"],"d":[ 0, {}]}}`: true, `{"rules":{}}`: true, `{}`: true,
		`{"rules":{"a":0,"b":1}}`: false, `{"rules":{"a":["warn"]}}`: false, `no JSON`: false,
	} {
		if got := noRules([]byte(config)); got != want {
			t.Errorf("%s: %v", config, got)
		}
	}
	says := `[{"filePath":"DIR/a.js","messages":[]}]`
	fake := strings.Replace(prints(says, 0), "#!/bin/bash\n", "#!/bin/bash\n[ $1 = --print-config ] && { echo '{}'; "+
		"exit 1; }\n", 1)
	rep, err = fakes(t, "lint:node", with(files, map[string]string{"node_modules/.bin/eslint!": fake}))
	if err != nil || rep.Status != Pass || len(rep.Findings) > 0 {
		t.Errorf("rules that cannot be shown: %s %v, %v", rep.Status, rep.Findings, err)
	}
}

// shellcheck checks the scripts that changed, or all if that is unknown.
func TestShellcheckChecksChangedScripts(t *testing.T) {
	files := map[string]string{"a.sh": "", "lib/b.bash": "", "c.txt": "",
		"bin/shellcheck!": "#!/bin/sh\necho \"$*\" >\"${0%/*}/called\"\necho " +
			"'[{\"file\":\"'$3'\",\"line\":1,\"column\":2,\"level\":\"warning\",\"code\":86,\"message\":\"" +
			"quote\"}]'\n"}
	for changed, want := range map[string]struct {
		status Status
		said   string
	}{"": {Warn, "a.sh:1:2 warning SC0086 quote"}, "lib/b.bash": {Warn, "lib/b.bash:1:2 warning SC0086 quote"},
		"c.txt": {Skipped, ""}} {
		var list []string
		if changed != "" {
			list = []string{changed}
		}
		rep, err := fakes(t, "lint:shell", files, list...)
		if got := strings.Join(said(rep.Findings), "\n"); err != nil || rep.Status != want.status || got != want.said {
			t.Errorf("%q: %s %s %s, %v", changed, rep.Status, rep.Note, got, err)
		}
	}
	dir := tree(t, map[string]string{"a.sh": ""})
	lint := find(t, Builtin(dir, Settings{Detect: true}), "lint:shell")
	rep, err := lint.Check(t.Context(), Subject{Dir: dir, Env: []string{"PATH=/nowhere"}})
	if err != nil || rep.Status != Skipped || rep.Note != "shellcheck is not installed" {
		t.Errorf("%s %s, %v", rep.Status, rep.Note, err)
	}
	if _, err := lint.Check(t.Context(), Subject{Dir: dir, Timeout: time.Nanosecond}); !errors.Is(err, ErrTimeLimit) {
		t.Errorf("without time to run: %v", err)
	}
}
