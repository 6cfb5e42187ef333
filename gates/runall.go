package gates

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// RunAll is like [Run], but runs more gates, so that one round reports everything. It continues after a gate that
// cannot run, and after a failure of a gate that only reads files, such as tamper. The report of a gate that could not
// run has the status [Errored] and the reason; the verdict has that status too. An error means that the work was
// stopped.
func RunAll(ctx context.Context, gates []Gate, s Subject, observe func(Report)) (Verdict, []*GateError, error) {
	var errs []*GateError
	blind := map[string]*GateError{}
	var mu sync.Mutex // gates run in parallel
	wrapped := make([]Gate, len(gates))
	for i, g := range gates {
		wrapped[i] = Wrap(g, func(ctx context.Context, s Subject) (Report, error) {
			rep, err := check(ctx, g, g.Info(), s)
			e, ok := errors.AsType[*GateError](err)
			if !ok || ctx.Err() != nil {
				return rep, err
			}
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, e)
			blind[e.Gate] = e
			return Report{Status: Skipped, Note: "it could not run", Duration: e.Report.Duration}, nil
		})
	}
	mark := func(r Report) Report {
		mu.Lock()
		e := blind[r.Gate]
		mu.Unlock()
		if e == nil {
			return r
		}
		r = e.Report
		r.Gate, r.Status = e.Gate, Errored
		r.AddNote("could not run: " + e.Err.Error())
		return tidy(r, s.Redact)
	}
	v, err := run(ctx, wrapped, s, func(r Report) {
		if observe != nil {
			observe(mark(r))
		}
	}, true)
	for i, r := range v.Reports {
		v.Reports[i] = mark(r)
	}
	if ctx.Err() != nil {
		return v, errs, fmt.Errorf("check the tree: %w", context.Cause(ctx))
	}
	if err != nil {
		return v, errs, err
	}
	if len(errs) > 0 {
		v.Status = Errored
	}
	return v, errs, nil
}

// Wrap returns g with another check.
func Wrap(g Gate, check func(ctx context.Context, s Subject) (Report, error)) Gate {
	return wrapped{g, check}
}

type wrapped struct {
	Gate
	check func(ctx context.Context, s Subject) (Report, error)
}

func (w wrapped) Check(ctx context.Context, s Subject) (Report, error) { return w.check(ctx, s) }

// Seeing wraps g so that it checks the change d.
func Seeing(g Gate, d Diff) Gate {
	return Wrap(g, func(ctx context.Context, s Subject) (Report, error) {
		s.Diff = d
		return g.Check(ctx, s)
	})
}
