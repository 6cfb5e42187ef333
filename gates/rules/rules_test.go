package rules

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/secrets"
	"github.com/runplan/runplan/lessons"
	"github.com/runplan/runplan/patterns"
	"github.com/runplan/runplan/tools/gatetest"
)

func subject(t *testing.T, files map[string]string, changed ...string) gates.Subject {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return gates.Subject{Dir: dir, Changed: changed}
}

func TestLessonsCheckOnlyChangedFiles(t *testing.T) {
	lib, err := lessons.Load(lessons.BuiltIn())
	if err != nil {
		t.Fatal(err)
	}
	scanner, err := lessons.NewScanner(lib.Lessons, lessons.Options{})
	if err != nil {
		t.Fatal(err)
	}
	bare := "try:\n    f()\nexcept:\n    pass\n"
	for name, tt := range map[string]struct {
		subject gates.Subject
		status  gates.Status
		rule    string
	}{
		"a blocker fails": {subject(t, map[string]string{"a.py": bare}, "a.py"), gates.Fail,
			"lesson/0001"},
		"a file that did not change is not read": {subject(t, map[string]string{"a.py": bare, "b.py": "x = 1\n"}, "b.py"),
			gates.Pass, ""},
		"a deleted file is not checked":        {subject(t, nil, "gone.py"), gates.Skipped, ""},
		"without a change the gate is skipped": {subject(t, map[string]string{"a.py": bare}), gates.Skipped, ""},
	} {
		t.Run(name, func(t *testing.T) {
			rep, err := Lessons(func() (*lessons.Scanner, error) { return scanner, nil }).Check(t.Context(), tt.subject)
			if err != nil || rep.Status != tt.status {
				t.Fatalf("%s %v: %+v", rep.Status, err, rep)
			}
			if tt.rule != "" && (len(rep.Findings) == 0 || rep.Findings[0].Rule != tt.rule ||
				rep.Findings[0].Severity != gates.Error) {
				t.Errorf("findings %+v", rep.Findings)
			}
		})
	}
}

// The gate for secrets and the lesson about secrets agree: an example key from the documentation of a vendor is not a
// secret, and a usable key is one.
func TestSecretsLessonAgreesWithGate(t *testing.T) {
	lib, err := lessons.Load(lessons.BuiltIn())
	if err != nil {
		t.Fatal(err)
	}
	scanner, err := lessons.NewScanner(lib.Lessons, lessons.Options{})
	if err != nil {
		t.Fatal(err)
	}
	lesson := Lessons(func() (*lessons.Scanner, error) { return scanner, nil })
	// The keys are concatenated here, so that no scanner reports this file as a leak.
	for line, secret := range map[string]bool{
		`aws_access_key_id = "AKIA` + `IOSFODNN7EXAMPLE"`:                                                 false,
		`AccessKeyId: ASIA` + `IOSFODNN7EXAMPLE`:                                                          false,
		`aws_secret_access_key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCY` + `EXAMPLEKEY"`:                         false,
		`aws_access_key_id = "AKIA` + `Z7QWERT5PLMK2VNB"`:                                                 true,
		`ids: [AKIA` + `IOSFODNN7EXAMPLE, AKIA` + `Z7QWERT5PLMK2VNB]`:                                     true,
		`aws_secret_access_key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCY` + `Zk8Qw2Xr9L"`:                         true,
		`# an EXAMPLE of a key` + "\n" + `github_token = "ghp_` + `q8Zr2LkV0mXw9TbYc4NfHs7JdPu1Ga6EoR3i"`: true,
	} {
		s := gatetest.Change(t, nil, map[string]string{"settings.yml": line + "\n"})
		for _, g := range []gates.Gate{lesson, secrets.New()} {
			rep, found := gatetest.Look(t, g, s)
			if (rep.Status == gates.Fail) != secret {
				t.Errorf("%s about %s: %s %v", g.Info().Name, line[:12], rep.Status, found)
			}
		}
	}
}

// A warning is known if its line changed only after the first bracket, and only as often as the base had it.
func TestChangedLineKeepsOldWarning(t *testing.T) {
	files := []gates.File{{Change: gates.Change{Path: "a.py"}, Before: "def f(a, b=[]):\n    pass\n",
		After: "def f(a, b=[], c=1):\n    pass\n\n\ndef g(b=[]):\n    pass\n"}}
	at := func(line int, s gates.Severity) gates.Finding {
		return gates.Finding{Rule: "r", Path: "a.py", Line: line, Severity: s, Message: "shared"}
	}
	for s, want := range map[gates.Severity][2]bool{gates.Warning: {true, false}, gates.Error: {false, false}} {
		found := []gates.Finding{at(1, s), at(5, s)}
		mark(found, []gates.Finding{at(1, s)}, files)
		if got := [2]bool{found[0].Known, found[1].Known}; got != want {
			t.Errorf("%s: %v, want %v", s, got, want)
		}
	}
}

func TestPatternsWithMissingOrBrokenProgram(t *testing.T) {
	s := subject(t, map[string]string{"a.py": "x = 1\n"}, "a.py")
	find := func(err error) func(context.Context) (patterns.Program, error) {
		return func(context.Context) (patterns.Program, error) { return patterns.Program{}, err }
	}
	rep, err := Patterns(find(patterns.ErrMissing), nil, false).Check(t.Context(), s)
	if err != nil || rep.Status != gates.Skipped || !strings.Contains(rep.Note, patterns.MissingNote) {
		t.Errorf("missing: %+v %v", rep, err)
	}
	if rep, err := Patterns(find(errors.New("crashed")), nil, false).Check(t.Context(), s); err == nil {
		t.Errorf("broken: no error, but %+v", rep)
	}
}

func TestPatternsFailOnlyWhenStrict(t *testing.T) {
	for severity, want := range map[patterns.Severity][2]gates.Severity{
		patterns.Error:   {gates.Warning, gates.Error},
		patterns.Warning: {gates.Warning, gates.Warning},
		patterns.Info:    {gates.Note, gates.Note},
		patterns.Hint:    {gates.Note, gates.Note},
	} {
		h := patterns.Hit{Rule: "r", Severity: severity}
		if got := [2]gates.Severity{finding(h, false).Severity, finding(h, true).Severity}; got != want {
			t.Errorf("%s: %v, want %v", severity, got, want)
		}
	}
}
