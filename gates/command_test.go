package gates

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCommandGates(t *testing.T) {
	no := false
	cases := map[string]struct {
		gate    CommandGate
		changed []string
		status  Status
		note    string
		rule    string
		path    string
		err     string
	}{
		"exit 0 passes": {gate: CommandGate{Command: []string{"true"}}, status: Pass},
		"another exit fails": {gate: CommandGate{Shell: "echo oops: error 5; exit 3"}, status: Fail,
			rule: "exit"},
		"a broken pipe is not hidden": {gate: CommandGate{Shell: "false | cat"}, status: Fail, rule: "exit"},
		"places are found": {gate: CommandGate{Shell: "echo 'sub/a.c:2:1: error: no'; exit 1"}, status: Fail,
			rule: "exit", path: "sub/a.c"},
		"places are relative to dir": {gate: CommandGate{Dir: "sub", Shell: "echo 'a.c:2:1: error: no'; exit 1"},
			status: Fail, rule: "exit", path: "sub/a.c"},
		"advisory": {gate: CommandGate{Shell: "exit 1", Blocking: &no}, status: Warn},
		"nothing that changed matches": {gate: CommandGate{Command: []string{"false"}, Paths: []string{"web/**"}},
			changed: []string{"a/b.go"}, status: Skipped, note: "web/**"},
		"something that changed matches": {gate: CommandGate{Command: []string{"false"}, Paths: []string{"web/**"}},
			changed: []string{"web/x/b.ts"}, status: Fail},
		"unknown changes may match": {gate: CommandGate{Command: []string{"false"}, Paths: []string{"web/**"}},
			status: Fail},
		"a bad glob": {gate: CommandGate{Command: []string{"true"}, Paths: []string{"[a"}},
			err: "is not a valid glob"},
		"no such program": {gate: CommandGate{Command: []string{"no-such-program-here"}},
			err: "program not found"},
		"no such program in the shell": {gate: CommandGate{Shell: "no-such-program-here"}, err: "exit 127"},
		"nothing to run":               {gate: CommandGate{}, err: "no command"},
		"a figure that the exit hides": {gate: CommandGate{Shell: "echo 3 passed, 1 failed"}, status: Warn,
			rule: "exit-hides-failures"},
		"no folder": {gate: CommandGate{Command: []string{"true"}, Dir: "gone"},
			err: "working directory"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			dir := tree(t, map[string]string{"sub/a.c": "x\n"})
			c.gate.Name = "own"
			v, err := Run(t.Context(), Builtin(dir, Settings{Commands: []CommandGate{c.gate}})[:1],
				Subject{Dir: dir, Changed: c.changed}, nil)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("error %v, want %q", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			rep := v.Reports[0]
			if rep.Status != c.status || !strings.Contains(rep.Note, c.note) ||
				(c.rule != "" && !hasFinding(rep, c.rule, c.path, 0, "")) {
				t.Errorf("%+v", rep)
			}
		})
	}
}

func TestConfiguredGatesReplaceDetectedGates(t *testing.T) {
	dir := tree(t, with(goProject, map[string]string{"web/package.json": `{"scripts":{"test":"x"}}`}))
	names := func(s Settings) (out []string) {
		for _, g := range Builtin(dir, s) {
			out = append(out, g.Info().Name)
		}
		return out
	}
	for name, c := range map[string]struct {
		s    Settings
		want []string
	}{
		"detected": {Settings{Detect: true}, []string{"lint:go", "lint:node:web", "tests:go", "tests:node:web"}},
		"one taken": {Settings{Detect: true, Commands: []CommandGate{{Name: "tests:go"}}},
			[]string{"lint:go", "lint:node:web", "tests:node:web", "tests:go"}},
		"all taken": {Settings{Detect: true, Commands: []CommandGate{{Name: "tests"}}},
			[]string{"lint:go", "lint:node:web", "tests"}},
		"nothing":     {Settings{}, []string{"tests"}},
		"only theirs": {Settings{Commands: []CommandGate{{Name: "tests"}, {Name: "x"}}}, []string{"tests", "x"}},
	} {
		if d := cmp.Diff(c.want, names(c.s)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	for _, g := range Builtin(dir, Settings{Detect: true, Disable: []string{"tests", "lint:go"}}) {
		if g.Info().Name == "lint:node:web" {
			continue
		}
		rep, err := g.Check(t.Context(), Subject{Dir: dir})
		if err != nil || rep.Status != Skipped || rep.Note != "turned off in the configuration" {
			t.Errorf("%v %+v", err, rep)
		}
	}
}

func TestLogs(t *testing.T) {
	dir, logs := t.TempDir(), filepath.Join(t.TempDir(), "logs")
	g := Builtin(dir,
		Settings{Commands: []CommandGate{{Name: "own/gate",
			Shell: `seq -f "line %.0f" 20000; printf '\033[31merror: red\033[0m\n'; exit 1`}}})[:1]
	s := Subject{Dir: dir, LogDir: logs, Before: &TestCount{Passed: 3}}
	for range 2 { // the second run replaces the log
		v, err := Run(t.Context(), g, s, nil)
		if err != nil {
			t.Fatal(err)
		}
		rep := v.Reports[0]
		data, err := os.ReadFile(filepath.Join(logs, "own-gate.log"))
		if err != nil || strings.Count(string(data), "\n") != 20001 || rep.LogHash == "" || rep.Log == "" {
			t.Errorf("%v, %d bytes of log, %+v", err, len(data), rep)
		}
		if len(rep.Output) > maxOutput || !strings.Contains(rep.Output, "error: red") ||
			strings.Contains(rep.Output, "\x1b") {
			t.Errorf("output: %q", rep.Output)
		}
	}
}

func TestFormat(t *testing.T) {
	ruff := "#!/bin/bash\necho \"$@\" >> \"$RUFF_LOG\"\nfor a; do case $a in *.py) echo '# formatted' >> \"$a\";; esac; " +
		"done\n"
	dir := tree(t, map[string]string{
		"a.go": "package a\nfunc  A() {}\n", "ok.go": "package a\n", "broken.go": "package {\n", "other.go": "package  a\n",
		"testdata/x.go": "package  x\n", "py/ruff.toml": "", "py/m.py": "x=1\n", "loose.py": "x=1\n",
		".venv/bin/ruff!": ruff, "web/.prettierrc": "{}", "web/a.ts": "x", "s.sh": "x",
	})
	outside := filepath.Join(t.TempDir(), "out.go")
	write(t, filepath.Dir(outside), map[string]string{"out.go": "package  out\n"})
	if err := os.Symlink(outside, filepath.Join(dir, "link.go")); err != nil {
		t.Fatal(err)
	}
	calls := filepath.Join(t.TempDir(), "calls")
	env := append(os.Environ(), "RUFF_LOG="+calls)
	changed := []string{"a.go", "ok.go", "broken.go", "testdata/x.go", "py/m.py", "loose.py", "gone.go", "link.go",
		"../out.go", "web/a.ts", "s.sh"}
	res, err := Format(t.Context(), dir, changed, env, Settings{Detect: true})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"a.go", "py/m.py"}, res.Changed); d != "" {
		t.Error(d)
	}
	notes := strings.Join(res.Notes, "\n")
	if len(res.Notes) != 2 || !strings.Contains(notes, "broken.go:1:9") ||
		!strings.Contains(notes, "prettier is configured in web") {
		t.Errorf("notes:\n%s", notes)
	}
	if data, _ := os.ReadFile(outside); string(data) != "package  out\n" {
		t.Error("a link was followed out of the tree")
	}
	got, _ := os.ReadFile(calls)
	if want := "format --no-cache ./m.py\ncheck --fix --select I --no-cache --exit-zero ./m.py\n"; string(got) != want {
		t.Errorf("ruff was called as\n%s", got)
	}
	res, err = Format(t.Context(), dir, []string{"other.go"}, []string{"PATH=/nowhere"}, Settings{Detect: true})
	if err != nil || len(res.Notes) != 1 || !strings.Contains(res.Notes[0], "gofmt is not installed") {
		t.Errorf("%v %+v", err, res)
	}
}
