package mutants

import (
	"context"
	"testing"
	"time"

	"github.com/runplan/runplan/gates"
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
