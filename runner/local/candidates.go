package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/journal"
	"github.com/runplan/runplan/sampling"
)

// lastWord adds the reports and the patch of the last failed candidate to the end of a tournament without a winner. The
// next attempt gets them like those of any failed attempt.
func (w *work) lastWord(c runner.Command, e *runner.Event, r round) error {
	for n := len(r.slots) + 1; n > 0; n-- {
		for _, ev := range []runner.Event{r.gated[n], r.executed[n]} {
			if len(ev.Reports) == 0 || ev.Outcome == runner.OutcomeOK {
				continue
			}
			e.Reports, e.Fingerprint, e.Tree = slices.Clone(ev.Reports), ev.Fingerprint, r.executed[n].Tree
			for i := range e.Reports {
				if e.Reports[i].Status == gates.Pass { // not needed, and the scores need space
					e.Reports[i].Findings, e.Reports[i].Output = nil, ""
				}
			}
			return w.copyUp(c, n, journal.PatchFile)
		}
	}
	return nil
}

// copyUp copies a file of a candidate to the files of the batch. A missing file is not an error.
func (w *work) copyUp(c runner.Command, number int, name string) error {
	data, err := os.ReadFile(filepath.Join(w.candidateDir(c, number), name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		c.Slot = nil
		err = writeFile(filepath.Join(w.attemptDir(c), name), data)
	}
	return err
}

func (w *work) candidateDir(c runner.Command, number int) string {
	return w.Layout.Candidate(w.run, c.Batch, c.Attempt, number)
}

// keepCandidate stores the patch of a candidate, passed or not (SAMP-19): a synthesis and later training read it.
// Its worktree is not kept.
func (w *work) keepCandidate(ctx context.Context, c runner.Command, number int, r round) error {
	tree := r.executed[number].Tree
	if tree == "" {
		return nil
	}
	if err := w.writePatch(ctx, w.candidateDir(c, number), c.Base, tree); err != nil {
		return fmt.Errorf("keep the changes of candidate %d of batch %s: %w", number, c.Batch, err)
	}
	return nil
}

// inherit copies the winner's critique and its changes outside the workspace to the batch, for later reviews.
func (w *work) inherit(c runner.Command, number int) {
	if err := w.copyUp(c, number, journal.CritiqueFile); err != nil {
		w.Note(fmt.Sprintf("the critique of candidate %d of batch %s could not be copied to the batch: %v", number, c.Batch,
			err))
	}
	w.outsideReports.Delete(c.Batch)
	place := c
	place.Slot = &runner.Slot{Number: number}
	if seen, ok := w.outsideReports.Load(place.Place()); ok {
		w.outsideReports.Store(c.Batch, seen)
	}
}

// candidateBranch matches the branches of candidates; its group is the branch of the batch.
var candidateBranch = lazyre.New(`^(.+)\.c[0-9]+$`)

// measured returns one candidate with its measurements.
func (w *work) measured(ctx context.Context, base string, s runner.Slot, r round) (sampling.Candidate, error) {
	variant, _ := sampling.Named(s.Variant)
	variant.Name = cmp.Or(variant.Name, s.Variant)
	out := sampling.Candidate{Number: s.Number,
		Slot: sampling.Slot{Number: s.Number, Variant: variant, Kind: sampling.Kind(s.Kind), Digest: s.Digest, Why: s.Why}}
	made, done := r.executed[s.Number]
	checked, gated := r.gated[s.Number]
	if !done || made.Outcome == runner.OutcomeOK && !gated {
		out.Void = "it was cancelled: another candidate had passed"
		return out, nil
	}
	out.Tree = made.Tree
	m := &out.Measure
	m.Passed = gated && checked.Outcome == runner.OutcomeOK
	if checked.Tests != nil {
		m.Tests = checked.Tests.Passed
	} else {
		m.Unknown = append(m.Unknown, "tests")
	}
	countFindings(m, checked.Reports)
	var err error
	if made.Tree != "" {
		m.DiffLines, err = w.diffLines(ctx, base, made.Tree)
	}
	if err != nil {
		return out, err
	}
	out.Score, err = w.Sampling.Scorer.Score(*m)
	if !m.Passed {
		out.Score = 0
	}
	return out, err
}

// countFindings counts findings of lesson rules, structural patterns and other gates separately. The count of a
// skipped gate is unknown, not zero.
func countFindings(m *sampling.Measure, reports []gates.Report) {
	looked := map[string]bool{}
	for _, r := range reports {
		if r.Status == gates.Skipped {
			continue
		}
		switch r.Gate {
		case "outside": // changes outside the workspace are not lint
		case "lessons":
			looked["lessons"] = true
			m.LessonViolations += len(r.Findings)
		case "patterns":
			looked["ast"] = true
			m.ASTViolations += len(r.Findings)
		default:
			if r.Tests == nil {
				looked["lint"] = true
				m.LintWarnings += len(r.Findings)
			}
		}
	}
	for _, name := range []string{"lint", "lessons", "ast"} {
		if !looked[name] {
			m.Unknown = append(m.Unknown, name)
		}
	}
}

// diffLines returns the number of added and removed lines.
func (w *work) diffLines(ctx context.Context, base, tree string) (int, error) {
	files, err := w.Repo.LineCounts(ctx, base, tree)
	if err != nil {
		return 0, fmt.Errorf("measure a candidate: %w", err)
	}
	n := 0
	for _, f := range files {
		if n += f.Added + f.Removed; f.Binary {
			n++
		}
	}
	return n, nil
}

func (w *work) scored(c sampling.Candidate) runner.CandScore {
	s := runner.CandScore{Candidate: c.Number, Variant: c.Slot.Variant.Name, Passed: c.Measure.Passed &&
		c.Void == "", Score: c.Score, Void: c.Void}
	if c.Void == "" {
		for _, t := range w.Sampling.Scorer.Explain(c.Measure) {
			s.Terms = append(s.Terms, runner.ScoreTerm{Name: t.Name, Value: t.Value, Points: t.Points})
		}
	}
	return s
}
