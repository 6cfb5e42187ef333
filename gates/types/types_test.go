package types

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/tools/gatetest"
)

// tree writes files into a new folder; those that begin with #! are executable.
func tree(t *testing.T, files map[string]string) gates.Subject {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		p := filepath.Join(dir, name)
		mode := os.FileMode(0o644)
		if strings.HasPrefix(text, "#!") {
			mode = 0o755
		}
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	return gates.Subject{Dir: dir}
}

const (
	// Output in the format of mypy 1 and pyright 1.
	mypySays = "#!/bin/sh\ncat <<'END'\ncore/a.py:3:5: error: Incompatible return value type (got \"str\", expected " +
		"\"int\")  [return-value]\n" +
		"core/a.py:3:5: note: see the docs\nlib/b.py:7: error: Name \"x\" is not defined  [name-defined]\nEND\nexit 1\n"
	// mypyTwins stops, as mypy does, until only one setup.py is left, and fails without a target.
	mypyTwins = "#!/bin/sh\ncase \"$*\" in *demo/setup*) ;; *) echo 'demo/setup.py: error: Duplicate module named " +
		"\"setup\" (also at \"./setup.py\")'; echo 'Found 1 error in 1 file'; exit 2 ;; esac\n" +
		"case \"$*\" in *' .') echo 'core/a.py:3:5: error: no  [arg-type]' ;; *) exit 2 ;; esac\nexit 1\n"
	mypyFine    = "#!/bin/sh\nexit 0\n"
	mypyBroken  = "#!/bin/sh\necho 'mypy: error: cannot read mypy.ini' >&2\nexit 2\n"
	pyrightSays = "#!/bin/sh\ncat <<'END'\n{\"version\": \"1.1\", \"generalDiagnostics\": [{\"file\": " +
		"\"DIR/core/a.py\", \"severity\": \"error\", \"message\": \"no\", \"rule\": \"reportX\", " +
		"\"range\": {\"start\": {\"line\": 2, \"character\": 4}}}, {\"file\": \"DIR/core/a.py\", \"severity\": " +
		"\"warning\", \"message\": \"hm\", \"range\": {\"start\": {\"line\": 0, \"character\": 0}}}], \"summary\": " +
		"{}}\nEND\nexit 1\n"
	tscSays = "#!/bin/sh\necho \"core/a.ts(3,5): error TS2322: Type 'string' is not assignable to type " +
		"'number'.\"\necho \"  Deeper down.\"\nexit 2\n"
	tscBroken = "#!/bin/sh\necho \"error TS18003: No inputs were found in config file.\"\nexit 2\n"
)

func TestCheckers(t *testing.T) {
	python := func(checker string, text string) map[string]string {
		return map[string]string{"pyproject.toml": "[tool." + checker + "]\n[tool.build]\nfiles = [\"a\"]\n",
			".venv/bin/" + checker: text,
			"core/a.py":            "x\n", "lib/b.py": "x\n"}
	}
	node := func(text string) map[string]string {
		return map[string]string{"package.json": "{}", "tsconfig.json": "{}", "node_modules/.bin/tsc": text,
			"core/a.ts": "x\n"}
	}
	cases := map[string]struct {
		files  map[string]string
		want   []string
		status gates.Status
		broken bool
	}{
		"mypy": {files: python("mypy", mypySays),
			want: []string{"error types/return-value core/a.py:3", "warning types/name-defined lib/b.py:7"}, status: gates.Fail},
		"two files are a module of one name": {files: python("mypy", mypyTwins),
			want: []string{"error types/arg-type core/a.py:3"}, status: gates.Fail},
		"mypy is content": {files: python("mypy", mypyFine), status: gates.Pass},
		"mypy gives up":   {files: python("mypy", mypyBroken), broken: true},
		"mypy is missing": {files: map[string]string{"pyproject.toml": "[project]\n", "mypy.ini": "[mypy]\n",
			"a.py": "x"}, status: gates.Skipped},
		"pyright": {files: python("pyright", pyrightSays), want: []string{"error types/reportX core/a.py:3"},
			status: gates.Fail},
		"pyright says nothing": {files: python("pyright", mypyFine), broken: true},
		"tsc":                  {files: node(tscSays), want: []string{"error types/TS2322 core/a.ts:3"}, status: gates.Fail},
		"tsc gives up":         {files: node(tscBroken), broken: true},
		"tsc is missing": {files: map[string]string{"package.json": "{}", "tsconfig.json": "{}"},
			status: gates.Skipped},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := tree(t, c.files)
			if p := filepath.Join(s.Dir, ".venv/bin/pyright"); c.files[".venv/bin/pyright"] != "" {
				if err := os.WriteFile(p, []byte(strings.ReplaceAll(c.files[".venv/bin/pyright"], "DIR", s.Dir)),
					0o755); err != nil {
					t.Fatal(err)
				}
			}
			s.Env = []string{"PATH=/usr/bin:/bin"}
			if c.status == gates.Skipped {
				s.Env = []string{"PATH=" + t.TempDir()} // this machine may have the checker
			}
			all := All(s.Dir, gates.Detect(s.Dir), []string{"core/**"})
			if len(all) != 1 {
				t.Fatalf("there are %d gates", len(all))
			}
			if c.broken {
				if rep, err := all[0].Check(t.Context(), s); err == nil {
					t.Errorf("it answered %+v", rep)
				}
				return
			}
			rep, got := gatetest.Look(t, all[0], s)
			if rep.Status != c.status || !slices.Equal(got, c.want) {
				t.Errorf("%s %v: %s", rep.Status, got, rep.Note)
			}
		})
	}
}

// Without a baseline, an error in a file that the change does not touch does not warn.
func TestErrorOfUnchangedFileIsNote(t *testing.T) {
	s := tree(t, map[string]string{"pyproject.toml": "[tool.mypy]\n", ".venv/bin/mypy": mypySays, "core/a.py": "x\n",
		"lib/b.py": "x\n"})
	s.Env, s.Changed = []string{"PATH=/usr/bin:/bin"}, []string{"core/a.py"}
	_, got := gatetest.Look(t, All(s.Dir, gates.Detect(s.Dir), nil)[0], s)
	want := []string{"warning types/return-value core/a.py:3", "info types/name-defined lib/b.py:7"}
	if !slices.Equal(got, want) {
		t.Error(got)
	}
}

// A change cannot take a file out of the check by adding another one of its name.
func TestNewModuleOfSameNameStopsMypy(t *testing.T) {
	s := tree(t, map[string]string{"mypy.ini": "[mypy]\n", ".venv/bin/mypy": mypyTwins, "demo/setup.py": "", "setup.py": ""})
	s.Changed = []string{"demo/setup.py"}
	_, err := All(s.Dir, gates.Detect(s.Dir), nil)[0].Check(t.Context(), s)
	if err == nil || !strings.Contains(err.Error(), "Duplicate module") {
		t.Error(err)
	}
}

func TestUnconfiguredProjectHasNoGate(t *testing.T) {
	s := tree(t, map[string]string{"pyproject.toml": "[project]\n", "go.mod": "module x\n", "web/package.json": "{}"})
	if all := All(s.Dir, gates.Detect(s.Dir), nil); len(all) > 0 {
		t.Errorf("there are %d gates", len(all))
	}
}

func TestConformance(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"mypy": {"mypy.ini": "[mypy]\n", "pyproject.toml": "",
			".venv/bin/mypy": strings.ReplaceAll(mypySays, "Name", "\x1b[31mName")},
		"tsc":  {"package.json": "{}", "tsconfig.json": "{}", "node_modules/.bin/tsc": tscSays},
		"skip": {"package.json": "{}", "tsconfig.json": "{}"},
	} {
		t.Run(name, func(t *testing.T) {
			gatetest.Run(t, func(t *testing.T) (gates.Gate, gates.Subject) {
				s := tree(t, files)
				return All(s.Dir, gates.Detect(s.Dir), nil)[0], s
			})
		})
	}
}

// Any output of a checker is parsed without a crash and gives no negative line or column.
func FuzzParse(f *testing.F) {
	f.Add("a.py:3:5: error: x  [y]", "a.ts(1,2): error TS1: x",
		`{"generalDiagnostics": [{"range": {"start": {"line": -1}}}]}`)
	f.Fuzz(func(t *testing.T, a, b, c string) {
		var all []problem
		if p, ok := parseMypy(a); ok {
			all = append(all, p)
		}
		if p, ok := parseTSC(b); ok {
			all = append(all, p)
		}
		list, _ := parsePyright([]byte(c))
		for _, p := range append(all, list...) {
			if p.Line < 0 || p.Col < 0 {
				t.Errorf("%+v", p)
			}
		}
	})
}
