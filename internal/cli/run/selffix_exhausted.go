package run

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/runplan/runplan/feedback"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/runner"
)

// exhausted creates a feedback for each batch that failed its last attempt, if the configuration enables this
// (FIX-32). It skips the runs of fixes, because their own feedback records the failure.
func (x *Execution) exhausted() {
	fixes := x.Project.PlanPath(x.Project.Layout.SelfFix())
	if !x.Project.Config.Feedback.OnExhausted || strings.HasPrefix(x.Info.Plan, fixes+"/") {
		return
	}
	if err := x.openFeedback(context.Background()); err != nil {
		x.App.Warn("the failed batches were not recorded as feedback: " + err.Error())
	}
}

func (x *Execution) openFeedback(ctx context.Context) error {
	sums, err := x.Project.Summaries(ctx, runner.Filter{Run: x.Run})
	if err != nil || len(sums) == 0 {
		return err
	}
	s, err := store.OpenFeedback(ctx, x.Project.Layout.Feedback())
	if err != nil {
		return err
	}
	defer s.Close()
	for _, b := range sums[0].Batches {
		if b.State != string(runner.Failed) {
			continue
		}
		w := feedback.Words{
			ID: "run-" + x.Run[:8] + "-" + cli.SlugOf(strings.ReplaceAll(b.Key, ".", "-")+".x"), Severity: "medium",
			At:     time.Now(),
			Source: fmt.Sprintf("run %s, batch %s", x.Run, b.Number),
			Body: x.Project.Redactor().String(fmt.Sprintf("Batch %s (%s) of %s failed after %s: %s",
				b.Number, b.Title, filepath.ToSlash(x.Info.Plan), phrase.Count(b.Attempts, "attempt"),
				cmp.Or(b.Reason, "the reason is unknown"))),
		}
		if _, err := s.Get(ctx, w.ID); err == nil {
			continue // an earlier session of the run created it
		}
		if _, err := feedback.Enqueue(ctx, s, w); err != nil {
			return err
		}
		fmt.Fprintf(x.App.Stderr, "feedback %s is pending; to continue: runplan self-fix process\n", w.ID)
	}
	return nil
}
