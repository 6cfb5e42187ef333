package gates

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates/names"
	"github.com/runplan/runplan/gates/testout"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lists"
)

const (
	maxMissing    = 50 // maximum of names in a proof
	maxNew        = 100
	maxNewText    = 8 << 10 // maximum of bytes for names of new tests, to keep events small
	maxMissingSay = 20      // maximum of findings about missing tests in a report
)

// proven holds the known results of one suite.
type proven struct {
	at   int            // index of its report
	base []testout.Case // tests that ran on the base; nil if unknown
	now  []testout.Case
	held HeldRun
	ran  bool // the base's tests ran, or did not need to run

	broken []string // files with tests that fail in their base version and were not approved; "" for an unknown file
}

// whole reports whether the only known test of a suite is its command.
func (p proven) whole() bool {
	return !slices.ContainsFunc(p.base, func(c testout.Case) bool { return c.Name != c.Group })
}

// prove compares the tests that ran with those of the base: by name if the names are known, else by number (RUN-07,
// GATE-05). Then it revises findings that come only from reading tests. The error says that the work was stopped.
func prove(ctx context.Context, v *Verdict, s Subject) error {
	p := &prover{Verdict: v, s: s, plan: names.PlanOf(s.Batch)}
	if err := p.gather(ctx); err != nil {
		return err
	}
	if len(p.suites) > 0 {
		if err := p.read(ctx); err != nil {
			return &GateError{Gate: v.Reports[p.suites[0].at].Gate, Err: err}
		}
		for i := range p.suites {
			p.compare(&p.suites[i])
		}
	}
	p.once()
	if err := p.counts(ctx); err != nil {
		return err
	}
	p.uncollected()
	p.unrun()
	p.advice()
	p.explain()
	return nil
}

// prover turns the known results of the suites into findings in their reports.
type prover struct {
	*Verdict
	s       Subject
	plan    names.Plan
	suites  []proven // suites whose tests are known by name on both sides
	changes []names.File

	explained []names.Answered // missing tests of the base that have an explanation
}

// gather gets the names of the base's tests, and runs changed ones in their base version on the candidate.
func (p *prover) gather(ctx context.Context) error {
	if p.s.BaseTests == nil {
		return nil
	}
	asked := map[string]bool{}
	for i := range p.Reports {
		r := &p.Reports[i]
		if !IsSuite(r.Gate) || r.Gate == testsName && r.Status == Skipped {
			continue
		}
		asked[r.Gate] = true
		if r.Status == Skipped {
			continue
		}
		base, err := p.s.BaseTests(ctx, r.Gate)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			r.AddNote(fmt.Sprintf("the tests that ran on the base are unknown: %v", err))
		case base == nil:
		case r.Cases == nil && r.Tests != nil && r.Tests.Passed >= len(base):
			r.AddNote("the suite no longer names its tests, so only their number is compared")
		default:
			p.suites = append(p.suites, proven{at: i, base: base, now: r.Cases})
		}
	}
	if err := p.vanished(ctx, asked); err != nil {
		return err
	}
	for i := range p.suites {
		if p.Reports[p.suites[i].at].decided() {
			continue // the report fails anyway
		}
		if err := p.hold(ctx, &p.suites[i]); err != nil {
			return err
		}
	}
	return nil
}

// vanished finds suites of the base that no longer exist. It adds a report for each.
func (p *prover) vanished(ctx context.Context, asked map[string]bool) error {
	if p.s.BaseSuites == nil || !slices.ContainsFunc(p.s.Changed, mayHideSuite) {
		return nil
	}
	suites, err := p.s.BaseSuites(ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return nil // the reports of the suites show it
	}
	for _, gate := range suites {
		if asked[gate] {
			continue
		}
		base, err := p.s.BaseTests(ctx, gate)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil || len(base) == 0 {
			continue
		}
		p.Reports = append(p.Reports,
			Report{Gate: gate, Status: Pass, Note: "the suite of the base is no longer found"})
		p.suites = append(p.suites, proven{at: len(p.Reports) - 1, base: base})
	}
	return nil
}

// mayHideSuite reports whether a change of that file may make a suite disappear: it contains tests, or identifies a
// project.
func mayHideSuite(file string) bool {
	return language.OfTest(file) != "" ||
		slices.ContainsFunc(markers, func(m marker) bool { return slices.Contains(strings.Fields(m.files), path.Base(file)) })
}

// hold runs the base's tests on the candidate's code.
func (p *prover) hold(ctx context.Context, one *proven) error {
	if p.s.Held == nil {
		return nil
	}
	rep := &p.Reports[one.at]
	held, err := p.s.Held(ctx, rep.Gate)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		held = HeldRun{Why: err.Error()}
	}
	one.held, one.ran = held, held.Why == ""
	if held.Nothing {
		return nil
	}
	proofOf(rep).Held = &Held{Why: held.Why}
	if held.Why != "" {
		rep.AddNote("the base's tests could not be run on this code: " + held.Why)
	} else if len(held.Left) > 0 {
		proofOf(rep).Held.Why = "omitted because they do not build with this code: " + strings.Join(held.Left, ", ")
	}
	known := lists.SetBy(one.base, func(b testout.Case) string { return b.Group })
	for _, h := range held.Cases { // a file that did not build on the base failed there
		if !known[h.Group] {
			h.Status = testout.Failed
			one.base = append(one.base, h)
		}
	}
	return nil
}

// proofOf returns the proof of a report, and creates one for a suite without calibration.
func proofOf(r *Report) *Proof {
	if r.Proof == nil {
		r.Proof = &Proof{Calibration: Uncalibrated, Why: "this suite is not calibrated"}
	}
	return r.Proof
}

// read reads the changed files.
func (p *prover) read(ctx context.Context) error {
	if p.s.Diff == nil {
		return nil
	}
	files, _, err := Files(ctx, p.s.Diff, nil)
	for _, f := range files {
		p.changes = append(p.changes, names.File{Path: f.Path, Before: f.Before, After: f.After})
	}
	return err
}
