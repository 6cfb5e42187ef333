package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/seal"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/local"
)

// seal returns the user's key that signs the journal. It creates the key on first use.
func (a *App) seal() (*seal.Seal, error) {
	dir, err := a.userDir()
	if err != nil {
		return nil, err
	}
	s, err := seal.Open(dir)
	if errors.Is(err, seal.ErrKey) {
		return nil, fail(exitCannotRun, err, "")
	}
	if err != nil {
		return nil, a.ofUser(fail(exitCannotRun, err, ""))
	}
	return s, nil
}

// signed makes a journal sign and verify its events.
func (a *App) signed(j *store.Journal) error {
	s, err := a.seal()
	if err == nil {
		j.Seal(s)
	}
	return err
}

// vouch verifies the seals of a run before a resume. It sets aside events that runplan did not write, and resets the
// run branch to the last verified event. It returns its findings.
func (a *App) vouch(ctx context.Context, p *project, run string) (found []string, err error) {
	j, err := p.openJournal(ctx)
	if err != nil {
		return nil, err
	}
	defer j.Close()
	if err := a.signed(j); err != nil {
		return nil, err
	}
	c, err := j.Verify(ctx, run)
	if err != nil {
		return nil, err
	}
	switch {
	case c.Rows == 0:
		return nil, nil
	case !c.Sealed:
		return nil,
			usage(fmt.Errorf("run %s was started by a version that did not sign its journal, so it cannot be verified", run[:8]),
				"finish it with that version, or start a new run: runplan run --new PLAN")
	case c.Last.Seq == 0:
		return nil,
			usage(
				fmt.Errorf(
					"no event of run %s verifies with the key %s: the journal was signed with another key, or another program wrote it", run[:8], j.Signs().Path()),
				"set RUNPLAN_HOME to the folder used when the run started; or start a new run: runplan run --new PLAN")
	}
	if c.Missing > 0 {
		found = append(found, fmt.Sprintf(
			"the journal lacks the last %s of this run: somebody removed them, or the machine lost power; what they told of "+
				"is done again", phrase.Count(c.Missing, "event", "events")))
	}
	if c.Bad == nil {
		return found, nil
	}
	kept, err := local.Rewind(ctx, p.repo, j, run, c.Last.Seq)
	if err != nil {
		return nil, err
	}
	claims, err := j.SetAside(ctx, run, c.Bad.Seq, c.Bad.Why, time.Now())
	if err != nil {
		return nil, err
	}
	text := fmt.Sprintf(
		"event %d of this run %s. From there on %s (%s) %s set aside and %s for nothing: what they tell of is done and "+
			"gated again",
		c.Bad.Seq, c.Bad.Why, phrase.Count(len(claims), "event", "events"), phrase.Cut(listOf(claims, 6), 200),
		phrase.Noun(len(claims), "was", "were"), phrase.Noun(len(claims), "counts", "count"))
	if kept != "" {
		text += "; the run branch went back to what verifies, and branch " + kept + " keeps what it held"
	}
	return append(found, text), nil
}

// forgedEnd reports whether the last event of a run was not written by runplan. Then the status of the run cannot be
// trusted.
func (a *App) forgedEnd(ctx context.Context, p *project, run string) bool {
	j, err := p.openJournal(ctx)
	if err != nil {
		return false
	}
	defer j.Close()
	return a.signed(j) == nil && errors.Is(j.VerifyEnd(ctx, run), store.ErrForged)
}

// tellForged warns on standard error about runs that contain events not written by runplan. It creates no key: without
// one, nothing was signed.
func (a *App) tellForged(ctx context.Context, p *project, runs ...string) {
	dir, err := a.userDir()
	if err != nil {
		return
	}
	if _, err := os.Stat(filepath.Join(dir, seal.FileName)); err != nil {
		return
	}
	j, err := p.openJournal(ctx)
	if err != nil {
		return
	}
	defer j.Close()
	if a.signed(j) != nil {
		return
	}
	for _, run := range runs {
		c, err := j.Verify(ctx, run)
		if err != nil || !c.Sealed || c.Bad == nil {
			continue
		}
		fmt.Fprintf(a.Stderr,
			"run %s: event %d %s; events from there on are not trustworthy. runplan resume %s sets it aside\n", run[:8],
			c.Bad.Seq, c.Bad.Why, run[:8])
	}
}

// damagedRun finds the named run among those whose events do not verify, if the journal cannot be read otherwise.
func (a *App) damagedRun(ctx context.Context, p *project, name string) (runner.Summary, bool) {
	j, err := p.openJournal(ctx)
	if err != nil {
		return runner.Summary{}, false
	}
	defer j.Close()
	runs, err := j.Runs(ctx)
	if err != nil || a.signed(j) != nil {
		return runner.Summary{}, false
	}
	for _, r := range runs {
		if !selects(name, r.ID, r.Slug, r.Plan) {
			continue
		}
		if c, err := j.Verify(ctx, r.ID); err == nil && c.Bad != nil {
			return runner.Summary{Run: r.ID, Slug: r.Slug, Plan: r.Plan}, true
		}
	}
	return runner.Summary{}, false
}

// lost explains what remains of a run whose journal is missing or not authentic.
func (x *execution) lost(ctx context.Context, err error) error {
	gone := errors.Is(err, store.ErrGone) || errors.Is(err, store.ErrReplaced) || errors.Is(err, store.ErrCut)
	if !gone && !errors.Is(err, store.ErrForged) {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	l := x.project.layout
	kept := []string{"nothing more was merged; kept are branch " + x.info.Branch}
	if tip, rerr := x.project.repo.Resolve(ctx, "refs/heads/"+x.info.Branch); rerr == nil && tip != "" {
		kept[0] += " at " + tip[:min(12, len(tip))]
	}
	kept = append(kept, "the worktrees in "+x.project.rel(l.Worktrees()))
	err = fmt.Errorf("run %s stopped: %w", x.run[:8], err)
	if !gone {
		return fail(exitCannotRun, err, "%s. continue: runplan resume %s, which sets aside what does not verify",
			strings.Join(kept, " and "), x.run[:8])
	}
	save := filepath.Join(l.Logs(x.run), "journal.sqlite")
	if serr := x.journal.Save(ctx, save); serr != nil || !x.whole(ctx, save) {
		return fail(exitCannotRun, err, "%s. Bring back a copy of the journal, or start a new run: runplan run --new %s",
			strings.Join(kept, " and "), x.info.Plan)
	}
	kept = append(kept, "the journal as this run knew it in "+x.project.rel(save))
	journal := x.project.rel(l.Journal())
	return fail(exitCannotRun, err, "%s. Go on: rm -f %s*; cp %s %s; runplan resume %s", strings.Join(kept, ", "), journal,
		x.project.rel(save), journal, x.run[:8])
}

// whole reports whether a copy of the journal contains all events of the run.
func (x *execution) whole(ctx context.Context, path string) bool {
	j, err := store.OpenExistingJournal(ctx, path)
	if err != nil {
		return false
	}
	defer j.Close()
	j.Seal(x.journal.Signs())
	c, err := j.Verify(ctx, x.run)
	return err == nil && c.Bad == nil && c.Missing == 0 && c.Rows > 0
}
