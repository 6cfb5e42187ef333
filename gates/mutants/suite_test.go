package mutants

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/mutants/mutant"
)

// A whole suite kills a mutant only if it fails; a skipped suite gives no result. Until its duration is known, a
// suite may use the rest of the budget.
func TestSuiteKillsOnlyByFailing(t *testing.T) {
	for status, want := range map[gates.Status]outcome{
		gates.Pass: survived, gates.Warn: survived, gates.Fail: killed, gates.Skipped: invalid,
	} {
		suite := gates.New(gates.Info{Name: "tests:python"}, func(ctx context.Context, l *gates.Look) error {
			if d, ok := ctx.Deadline(); !ok || time.Until(d) > time.Hour {
				t.Errorf("the suite has no limit, or one of %s", time.Until(d))
			}
			switch status {
			case gates.Warn:
				l.Find(gates.Finding{Rule: "r", Severity: gates.Warning, Message: "m"})
			case gates.Fail:
				l.Find(gates.Finding{Rule: "r", Severity: gates.Error, Message: "m"})
			case gates.Skipped:
				l.Skip("no tests")
			}
			return nil
		})
		var got outcome
		outer := gates.New(gates.Info{Name: "mutants"}, func(ctx context.Context, l *gates.Look) (err error) {
			r := &runner{look: l, in: l, until: time.Now().Add(time.Minute)}
			got, err = r.run(ctx, test{suite: suite})
			return err
		})
		if _, err := outer.Check(t.Context(), gates.Subject{Dir: t.TempDir()}); err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", status, got, want)
		}
	}
}

// If the whole suite cannot run, a survivor has only passed the related tests, and the finding says so.
func TestFindingNamesTestsThatRan(t *testing.T) {
	for name, c := range map[string]struct {
		suite target
		want  string
	}{
		"the suite runs":    {target{tests: []test{{}}}, "no test fails if"},
		"the suite is lost": {target{}, "no test in the files that name the code fails if"},
	} {
		t.Run(name, func(t *testing.T) {
			gate := gates.New(gates.Info{Name: Name}, func(_ context.Context, l *gates.Look) error {
				r := &runner{look: l}
				r.suites = map[gates.Language]*target{gates.LangNode: &c.suite}
				survivor := mutant.Mutant{Path: "a.js", Old: "<", New: "<=", Kind: mutant.Boundary}
				return r.report(Options{}, nil, Score{Tried: 1}, []mutant.Mutant{survivor}, nil)
			})
			rep, err := gate.Check(t.Context(), gates.Subject{Dir: t.TempDir()})
			if err != nil || len(rep.Findings) != 1 || !strings.HasPrefix(rep.Findings[0].Message, c.want) {
				t.Errorf("%+v, %v", rep.Findings, err)
			}
		})
	}
}
