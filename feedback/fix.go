package feedback

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/differential"
	"github.com/runplan/runplan/internal/atomicfile"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/phrase"
)

// Fix is the result of running a plan.
type Fix struct {
	Run      string   `json:"run"`
	Plan     string   `json:"plan"` // file of the plan
	Base     string   `json:"base"` // start commit
	Tip      string   `json:"tip"`
	Branch   string   `json:"branch"`
	Into     string   `json:"into"`  // the integration branch
	Lines    int      `json:"lines"` // added plus removed
	Files    []string `json:"files"`
	Attempts int      `json:"attempts"`
	CostUSD  *float64 `json:"cost_usd"` // nil: unknown
	Agent    string   `json:"agent,omitempty"`
}

// String describes the fix for people.
func (f Fix) String() string {
	return fmt.Sprintf("%s is at %s: %d lines in %s, attempt %d of run %s", f.Branch, git.Short(f.Tip), f.Lines,
		strings.Join(f.Files, ", "), f.Attempts, f.Run[:min(8, len(f.Run))])
}

// Ran is the result of a run. Its Fix has what the run knows.
type Ran struct {
	Fix
	Done   bool   // Tip contains the whole result
	Reason string // why it is not finished
}

// Fixer runs plans and keeps each result on a separate branch.
type Fixer struct {
	Repo  *git.Repo
	Plans string                                    // folder of the plans
	Base  func(ctx context.Context) (Target, error) // the integration branch
	// Run is the normal runner. It starts a run of the plan in a file, resumes a stopped run, or returns the result of a
	// finished run. Rounds count from 1. An error means that there is no result yet.
	Run func(ctx context.Context, file string, round int) (Ran, error)
}

// PlanFile returns the path of a plan. Each round has its own file and so its own run branch.
func PlanFile(dir string, p Plan) string {
	return filepath.Join(dir, p.FeedbackID, fmt.Sprintf("%s-r%d.md", p.FeedbackID, p.Round))
}

// Write writes the plan as markdown.
func (f Fixer) Write(body string, p Plan) (string, error) {
	text, err := Render(p, body)
	if err != nil {
		return "", err
	}
	file := PlanFile(f.Plans, p)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return "", err
	}
	return file, atomicfile.Write(file, []byte(text), 0o644)
}

// Fix runs a plan and puts the result on the branch of the feedback (FIX-16). It extends an existing branch unless
// that contains foreign commits.
func (f Fixer) Fix(ctx context.Context, i Item, p Plan) (Fix, error) {
	target, err := f.Base(ctx)
	if err != nil {
		return Fix{}, err
	}
	file, err := f.Write(i.Body, p)
	if err != nil {
		return Fix{}, err
	}
	ran, err := f.Run(ctx, file, p.Round)
	switch {
	case err != nil:
		return Fix{}, err
	case !ran.Done:
		return Fix{}, refuse("see the report of run "+ran.Run, "the run failed: %s", ran.Reason)
	case ran.Tip == "" || ran.Tip == ran.Base:
		return Fix{}, refuse("", "the fix is empty: the run changed nothing")
	}
	out := ran.Fix
	out.Plan, out.Branch, out.Into = filepath.Base(file), Branch(i.ID), target.Branch
	if out.Lines, out.Files, err = numstat(ctx, f.Repo, ran.Base, ran.Tip); err != nil {
		return Fix{}, err
	}
	if len(out.Files) == 0 {
		return Fix{}, refuse("", "the fix is empty: the run changed nothing")
	}
	return out, f.branch(ctx, i, out)
}

// branch moves the branch of the feedback to the tip. If the branch is at a commit that this loop did not make, it is
// an error.
func (f Fixer) branch(ctx context.Context, i Item, x Fix) error {
	ref := "refs/heads/" + x.Branch
	at, err := f.Repo.Resolve(ctx, ref)
	if err != nil || at == x.Tip {
		return err
	}
	if at != "" && !i.made(at) {
		return blocked("move or merge that branch, then process the feedback again",
			"%s is at %s, a commit that self-fix did not make", x.Branch, git.Short(at))
	}
	old := cmp.Or(at, strings.Repeat("0", len(x.Tip)))
	return f.Repo.UpdateRefs(ctx, git.RefUpdate{Ref: ref, New: x.Tip, Old: old})
}

// made reports whether a commit is a fix of an earlier round.
func (i Item) made(commit string) bool {
	for _, n := range i.Notes {
		var f *Fix
		if n.Stage == StageFix && take(n, &f) == nil && f.Tip == commit {
			return true
		}
	}
	return false
}

// numstat counts the added and removed lines of a change and lists its files. A binary file counts as one line.
func numstat(ctx context.Context, r *git.Repo, base, tip string) (lines int, files []string, err error) {
	all, err := r.LineCounts(ctx, base, tip)
	if err != nil {
		return 0, nil, fmt.Errorf("count what changed: %w", err)
	}
	for _, f := range all {
		files = append(files, f.Path)
		if lines += f.Added + f.Removed; f.Binary {
			lines++
		}
	}
	return lines, files, nil
}

// maxFile is the highest size of a file read from a commit, in bytes.
const maxFile = 1 << 20

// AtCommit reads files of a commit.
func AtCommit(r *git.Repo, commit string) Files {
	return func(ctx context.Context, path string) (string, bool, error) {
		found, err := r.ReadObjects(ctx, []string{commit + ":" + path})
		if err != nil {
			return "", false, fmt.Errorf("read %s: %w", path, err)
		}
		o := found[0]
		ok := o.Kind == "blob" && o.Size <= maxFile && !bytes.Contains(o.Data, []byte{0})
		return string(o.Data), ok, nil
	}
}

// Differential is the result of the differential check.
type Differential struct {
	Base   string       `json:"base"`
	Tip    string       `json:"tip"`
	Report gates.Report `json:"report"`
}

// String describes the result for people.
func (d Differential) String() string {
	return fmt.Sprintf("the regression test fails on %s and passes on %s", git.Short(d.Base), git.Short(d.Tip))
}

// Differ runs regression tests.
type Differ interface {
	// Both runs the test on the base, with the test file of the tip, and on the tip. An error means that it could not run.
	Both(ctx context.Context, base, tip, test string) (gates.Report, error)
	// One runs the test on a commit as it is.
	One(ctx context.Context, commit, test string) (gates.Report, error)
}

// CheckDifferential requires that the regression test fails on the base and passes on the tip (FIX-19). Skipped does
// not count as passed.
func CheckDifferential(ctx context.Context, d Differ, base, tip, test string) (Differential, error) {
	rep, err := d.Both(ctx, base, tip, test)
	if err != nil {
		return Differential{}, err
	}
	if rep.Status != gates.Pass && rep.Status != gates.Warn {
		return Differential{}, refuse("", "%s",
			cmp.Or(findings(rep), rep.Note, "the regression test was not checked: "+string(rep.Status)))
	}
	rep.Output = "" // the note has the essentials; the logs have the output
	return Differential{base, tip, rep}, nil
}

// findings joins the findings of a report in one line.
func findings(r gates.Report) string {
	var list []string
	for _, f := range r.Findings {
		if f.Severity == gates.Error && len(list) < 5 {
			list = append(list, f.Message)
		}
	}
	return strings.Join(list, "; ")
}

// Trees runs regression tests in scratch trees, with the gate that the run of the fix used.
type Trees struct {
	Repo *git.Repo
	// common gate input: environment, limits, redaction
	Subject gates.Subject
	// makes a tree of a commit, set up like a workspace
	Tree func(ctx context.Context, commit string) (dir string, done func(), err error)
}

// Both implements [Differ].
func (t Trees) Both(ctx context.Context, base, tip, test string) (gates.Report, error) {
	dir, done, err := t.Tree(ctx, tip)
	defer done()
	if err != nil {
		return gates.Report{}, err
	}
	s := t.Subject
	s.Dir, s.Base = dir, base
	before, err := t.Repo.TreeOf(ctx, base)
	if err != nil {
		return gates.Report{}, err
	}
	if s.Tree, err = t.Repo.TreeOf(ctx, tip); err != nil {
		return gates.Report{}, err
	}
	s.Diff = gates.GitDiff(t.Repo, before, s.Tree)
	changes, err := s.Diff.Changes(ctx)
	if err != nil {
		return gates.Report{}, err
	}
	for _, c := range changes {
		s.Changed = append(s.Changed, c.Path)
	}
	g := differential.New(differential.Options{
		Files: []string{test}, Base: func(ctx context.Context, s gates.Subject) (string, []string, func(), error) {
			dir, done, err := t.Tree(ctx, s.Base)
			return dir, nil, done, err
		},
	})
	return g.Check(ctx, s)
}

// One implements [Differ].
func (t Trees) One(ctx context.Context, commit, test string) (gates.Report, error) {
	dir, done, err := t.Tree(ctx, commit)
	defer done()
	if err != nil {
		return gates.Report{}, err
	}
	s := t.Subject
	s.Dir, s.Base = dir, commit
	if s.Tree, err = t.Repo.TreeOf(ctx, commit); err != nil {
		return gates.Report{}, err
	}
	path, only := differential.Split(test)
	info := gates.Info{Name: "regression", Kind: gates.Static, Cost: gates.Costly, Blocking: true, Command: test}
	g := gates.New(info, func(ctx context.Context, l *gates.Look) error {
		if _, ok, err := AtCommit(t.Repo, commit)(ctx, path); err != nil {
			return err
		} else if !ok {
			l.Find(gates.Finding{Rule: differential.RuleNoTest, Path: path, Severity: gates.Error,
				Message: "the regression test no longer exists"})
			return nil
		}
		return l.Single(ctx, gates.Single{Path: path, Only: only}, 1, func(run gates.SingleRun) bool {
			l.Show(run.Text)
			if run.Outcome != gates.RunPassed {
				l.Find(gates.Finding{Rule: "regression", Path: path, Severity: gates.Error,
					Message: fmt.Sprintf("it %s%s", run.Outcome, phrase.After(oneLine(run.Why))), Test: only})
			}
			return false
		})
	})
	return g.Check(ctx, s)
}
