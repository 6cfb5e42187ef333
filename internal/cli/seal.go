package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/seal"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/local"
)

// Seal returns the user's key that signs the journal. It creates the key on first use.
func (a *App) Seal() (*seal.Seal, error) {
	dir, err := a.UserDir()
	if err != nil {
		return nil, err
	}
	s, err := seal.Open(dir)
	if errors.Is(err, seal.ErrKey) {
		return nil, Fail(ExitCannotRun, err, "")
	}
	return s, a.OfUser(err)
}

// Signed makes a journal sign and verify its events.
func (a *App) Signed(j *store.Journal) error {
	s, err := a.Seal()
	if err == nil {
		j.Seal(s)
	}
	return err
}

// SignedJournal opens the journal of a project, and makes it sign and verify its events.
func (p *Project) SignedJournal(ctx context.Context) (*store.Journal, error) {
	j, err := p.OpenJournal(ctx)
	if err != nil {
		return nil, err
	}
	if err := p.Signed(j); err != nil {
		j.Close()
		return nil, err
	}
	return j, nil
}

// Vouch verifies the seals of a run before a resume. It sets aside events that runplan did not write, and resets the
// run branch to the last verified event. It returns its findings.
func (p *Project) Vouch(ctx context.Context, run string) (found []string, err error) {
	j, err := p.SignedJournal(ctx)
	if err != nil {
		return nil, err
	}
	defer j.Close()
	c, err := j.Verify(ctx, run)
	if err != nil {
		return nil, err
	}
	switch {
	case c.Rows == 0:
		return nil, nil
	case !c.Sealed:
		return nil,
			Named("run-unverified",
				Usage(fmt.Errorf("run %s was started by a version that did not sign its journal, so it cannot be verified",
					run[:8]),
					"finish it with that version, or start a new run: runplan run --new PLAN"))
	case c.Last.Seq == 0:
		return nil,
			Named("run-unverified", Usage(
				fmt.Errorf(
					"no event of run %s verifies with the key %s: the journal was signed with another key, or another program wrote it", run[:8], j.Signs().Path()),
				"set RUNPLAN_HOME to the folder used when the run started; or start a new run: runplan run --new PLAN"))
	}
	if c.Missing > 0 {
		found = append(found, fmt.Sprintf(
			"the journal lacks the last %s of this run: another program removed them, or the machine lost power; their work "+
				"is done again", phrase.Count(c.Missing, "event", "events")))
	}
	if c.Bad == nil {
		return found, nil
	}
	kept, err := local.Rewind(ctx, p.Repo, j, run, c.Last.Seq)
	if err != nil {
		return nil, err
	}
	claims, err := j.SetAside(ctx, run, c.Bad.Seq, c.Bad.Why, time.Now())
	if err != nil {
		return nil, err
	}
	text := fmt.Sprintf(
		"event %d of this run %s. This event and all later ones have no effect and were set aside (%s: %s); "+
			"their work is done and gated again",
		c.Bad.Seq, c.Bad.Why, phrase.Count(len(claims), "event", "events"), phrase.Cut(ListOf(claims, 6), 200))
	if kept != "" {
		text += "; the run branch was reset to the last verified event, and branch " + kept + " keeps the old commits"
	}
	return append(found, text), nil
}

// ForgedEnd reports whether the last event of a run was not written by runplan. Then the status of the run cannot be
// trusted.
func (p *Project) ForgedEnd(ctx context.Context, run string) bool {
	j, err := p.SignedJournal(ctx)
	if err != nil {
		return false
	}
	defer j.Close()
	return errors.Is(j.VerifyEnd(ctx, run), store.ErrForged)
}

// TellForged warns on standard error about runs that contain events not written by runplan. It creates no key: without
// one, nothing was signed.
func (p *Project) TellForged(ctx context.Context, runs ...string) {
	dir, err := p.UserDir()
	if err != nil {
		return
	}
	if _, err := os.Stat(filepath.Join(dir, seal.FileName)); err != nil {
		return
	}
	j, err := p.SignedJournal(ctx)
	if err != nil {
		return
	}
	defer j.Close()
	for _, run := range runs {
		c, err := j.Verify(ctx, run)
		if err != nil || !c.Sealed || c.Bad == nil {
			continue
		}
		fmt.Fprintf(p.Stderr,
			"run %s: event %d %s; events from there on are not trustworthy. runplan resume %s sets it aside\n", run[:8],
			c.Bad.Seq, c.Bad.Why, run[:8])
	}
}

// DamagedRun finds the named run among those whose events do not verify, if the journal cannot be read otherwise.
func (p *Project) DamagedRun(ctx context.Context, name string) (runner.Summary, bool) {
	j, err := p.SignedJournal(ctx)
	if err != nil {
		return runner.Summary{}, false
	}
	defer j.Close()
	runs, err := j.Runs(ctx)
	if err != nil {
		return runner.Summary{}, false
	}
	for _, r := range runs {
		if !Selects(name, r.ID, r.Slug, r.Plan) {
			continue
		}
		if c, err := j.Verify(ctx, r.ID); err == nil && c.Bad != nil {
			return runner.Summary{Run: r.ID, Slug: r.Slug, Plan: r.Plan}, true
		}
	}
	return runner.Summary{}, false
}
