package gates

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/runplan/runplan/gates/testout"
)

// sealed runs one builtin gate on a tree in which it may plant tests, and checks that no planted test is left.
func sealed(t *testing.T, dir, name string, env ...string) Report {
	t.Helper()
	before := listing(t, dir)
	s := Subject{Dir: dir, Sealed: true, LogDir: t.TempDir()}
	if len(env) > 0 {
		s.Env = append(os.Environ(), env...)
	}
	rep, err := find(t, Builtin(dir, Settings{Detect: true, FlakyReruns: 1}), name).Check(t.Context(), s)
	if err != nil {
		t.Fatalf("%s could not run: %v", name, err)
	}
	if after := listing(t, dir); after != before {
		t.Errorf("planted tests were left in the tree:\n%s\nwas\n%s", after, before)
	}
	return rep
}

// listing returns the names and contents of the files of a tree, without the caches of tools.
func listing(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "node_modules" || d.Name() == "target" || d.Name() == "__pycache__") {
			return filepath.SkipDir
		}
		if d.Type().IsRegular() && d.Name() != "Cargo.lock" {
			text, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			b.WriteString(p + "\n" + string(text) + "\n")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// honest checks that a report is calibrated, has exactly these counts, and does not mention planted tests.
func honest(t *testing.T, rep Report, want TestCount) {
	t.Helper()
	status := Pass
	if want.Failed > 0 {
		status = Fail
	}
	if rep.Status != status || rep.Tests == nil || *rep.Tests != want {
		t.Errorf("%s %+v, want %s %+v\n%+v\n%s", rep.Status, rep.Tests, status, want, rep.Findings, rep.Output)
	}
	if rep.Proof == nil || rep.Proof.Calibration != Calibrated {
		t.Errorf("proof %+v (%s)\n%s", rep.Proof, rep.Proof.Why, rep.Output)
	}
	if (rep.Exit == nil || *rep.Exit != 0) == (want.Failed == 0) {
		t.Errorf("exit %v", rep.Exit)
	}
	if len(rep.Cases) != want.Passed+want.Failed+want.Skipped {
		t.Errorf("cases %+v", rep.Cases)
	}
	for _, c := range rep.Cases {
		if traced.MatchString(c.Name + c.Path + c.Group) {
			t.Errorf("a planted test is among the cases: %+v", c)
		}
	}
	log, _ := os.ReadFile(rep.Log)
	if traced.MatchString(rep.Output) || traced.Match(log) {
		t.Errorf("a planted test is in the output:\n%s\nlog:\n%s", rep.Output, log)
	}
}

// lying checks for the finding that a suite does not report the results of its tests.
func lying(t *testing.T, rep Report, part string) {
	t.Helper()
	if rep.Status != Fail || !hasFinding(rep, RuleCalibration, "", 0, part) {
		t.Errorf("%s %+v %+v, want %q\n%s", rep.Status, rep.Findings, rep.Proof, part, rep.Output)
	}
}

func status(rep Report, name string) testout.Status {
	for _, c := range rep.Cases {
		if c.Name == name {
			return c.Status
		}
	}
	return ""
}

// A planted file did not load if a build failure names it by its path, its message or its name.
func TestPlantedFileThatDoesNotLoad(t *testing.T) {
	b := &bed{word: "qword"}
	for name, c := range map[string]struct {
		failure testout.Failure
		want    bool
	}{
		"its path":              {testout.Failure{Build: true, Path: "a/qword.go"}, true},
		"its message":           {testout.Failure{Build: true, Message: "qword.go:1: no"}, true},
		"its name":              {testout.Failure{Build: true, Name: "Testqword"}, true},
		"a file of the project": {testout.Failure{Build: true, Path: "a.go"}, false},
		"a failed planted test": {testout.Failure{Name: "Testqword"}, false},
	} {
		if got := b.breaks(testout.Result{Failures: []testout.Failure{c.failure}}); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A log that cannot be read is an error, because it may contain planted tests. A missing log contains none.
func TestUnreadableLogOfTestsIsAnError(t *testing.T) {
	dir := t.TempDir()
	b := &bed{word: "qword"}
	if err := b.cleanLog(dir); err == nil {
		t.Error("a folder is no log")
	}
	if err := b.cleanLog(filepath.Join(dir, "missing.log")); err != nil {
		t.Error(err)
	}
}

// If tests cannot be planted, the error is reported and no planted file is left.
func TestErrorOfPlantLeavesNoFile(t *testing.T) {
	dir := t.TempDir()
	w := &Look{subject: Subject{Dir: dir, Sealed: true}}
	r := testRun{plant: func(w *Look, _ *testRun, b *bed) error {
		if err := b.sow(w, "planted.go", "package a"); err != nil {
			t.Fatal(err)
		}
		return fs.ErrPermission
	}}
	if _, _, err := w.prepare(r); !errors.Is(err, fs.ErrPermission) || exists(dir, ".", "planted.go") {
		t.Errorf("error %v; the planted file is left: %v", err, exists(dir, ".", "planted.go"))
	}
}

// The reports of several processes are one. Without any, or with an incomplete one, there is no result.
func TestReportsOfSeveralProcesses(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  int
		ok    bool
	}{
		"two":           {map[string]string{"a.report": "", "b.report": ""}, 2, true},
		"none":          {map[string]string{"a.txt": ""}, 0, false},
		"an incomplete": {map[string]string{"a.report": "", "b.report": "broken"}, 0, false},
	} {
		f := reportFile{folder: tree(t, c.files)}
		res, ok := f.readAll(func(in io.Reader) (testout.Result, error) {
			if text, err := io.ReadAll(in); err != nil || len(text) > 0 {
				return testout.Result{}, errors.New("incomplete")
			}
			return testout.Result{Passed: 1}, nil
		})
		if res.Passed != c.want || ok != c.ok {
			t.Errorf("%s: %d passed, %v", name, res.Passed, ok)
		}
	}
}
