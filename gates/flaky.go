package gates

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/runplan/runplan/gates/testout"
	"github.com/runplan/runplan/internal/lists"
)

// RuleFlaky marks a test that failed and then passed on the same tree. It only warns, because the code may not be the
// cause. But the result must not look clean.
const RuleFlaky = "flaky"

// maxRerun limits how many failing tests are run again, besides those that failed on the base. More failures than this
// are not flakiness.
const maxRerun = 10

// rerun runs failing tests again, a bounded number of times. Tests that fail each time stay in the result; mixed
// results become a finding.
func (w *Look) rerun(ctx context.Context, r testRun, res testout.Result, out ran) (testout.Result, ran, error) {
	for _, f := range res.Failures {
		if f.Build || f.Name == "build" {
			return res, out, nil
		}
	}
	if w.reruns <= 0 {
		return res, out, nil
	}
	known := w.failedBefore(ctx, res.Failures)
	if named := len(res.Failures); named-known > maxRerun || res.Failed-known > maxRerun ||
		known > 0 && known == named && res.Failed <= named { // nothing new failed
		return res, out, nil
	}
	for n := 1; n <= w.reruns && !out.ok(); n++ {
		next := r
		next.done, next.show = nil, nil
		if r.again != nil && len(res.Failures) > 0 && len(res.Failures) >= res.Failed {
			var err error
			if next, err = r.again(res.Failures); err != nil {
				return res, out, err
			}
		} else if r.again != nil {
			return res, out, nil // the failing tests are unknown
		}
		if w.subject.Fresh != nil { // a test that passes only because of leftovers of the first run counts as failed
			env, err := w.subject.Fresh()
			if err != nil {
				w.Note("the failing tests could not be run again: %v", err)
				return res, out, nil
			}
			w.subject.Env = env
		}
		proof := w.rep.Proof
		again, second, err := w.try(ctx, next)
		if next.done != nil {
			next.done()
		}
		if ctx.Err() != nil {
			return res, out, context.Cause(ctx)
		}
		if err != nil {
			w.Note("the failing tests could not be run again: %v", err)
			return res, out, nil
		}
		if proof != nil && proof.Calibration == Calibrated && w.rep.Proof.Calibration != Calibrated {
			w.Note("the failing tests were run again, but the result of the second run is not trusted")
			return res, out, nil
		}
		res, out = w.mixed(r, res, out, again, second)
	}
	return res, out, nil
}

// failedBefore counts the failures that the base has, as far as that is known.
func (w *Look) failedBefore(ctx context.Context, failures []testout.Failure) int {
	if w.subject.FailedBefore == nil {
		return 0
	}
	before := w.subject.FailedBefore(ctx)
	return lists.Count(failures, func(f testout.Failure) bool { return slices.Contains(before, cmp.Or(f.ID, f.Name)) })
}

// mixed returns the failures of a first run that the second does not have.
func (w *Look) mixed(r testRun, res testout.Result, out ran, again testout.Result, second ran) (testout.Result, ran) {
	if !second.ok() && len(again.Failures) == 0 {
		return res, out // it failed again, without a name
	}
	failed := map[string]bool{}
	for _, f := range again.Failures {
		if f.Build {
			return res, out
		}
		failed[testKey(f)] = true
	}
	flaky := func(f testout.Failure, how string) {
		at := Finding{Rule: RuleFlaky, Severity: Warning, Path: w.Rel(r.dir, f.Path), Line: f.Line,
			Test: cmp.Or(f.ID, f.Name)}
		if at.Path == "" {
			at.Line = 0
			if f.Name != "" {
				at.Path, at.Line = w.named(r.about, f.Name)
			}
		}
		at.Message = fmt.Sprintf("%s %s", cmp.Or(f.Name, "the suite"), how)
		if f.Message != "" {
			at.Message += ": " + f.Message
		}
		w.Find(at)
	}
	var still []testout.Failure
	first := map[string]bool{}
	for _, f := range res.Failures {
		first[testKey(f)] = true
		if failed[testKey(f)] {
			still = append(still, f)
			continue
		}
		flaky(f, "failed, and passed when it was run again")
		for i, c := range res.Cases {
			if c.Name == f.Name && c.Group == f.Group || c.Group+"."+c.Name == f.Name {
				res.Cases[i].Status = testout.Passed
			}
		}
		if res.Failed > 0 {
			res.Failed--
			res.Passed++
		}
	}
	for _, f := range again.Failures {
		if !first[testKey(f)] {
			flaky(f, "passed, and failed when it was run again")
		}
	}
	if len(res.Failures) == 0 && second.ok() {
		flaky(testout.Failure{}, "failed, and passed when it was run again")
		res.Passed, res.Failed = res.Passed+res.Failed, 0
	}
	res.Failures = still
	if len(still) == 0 {
		out.exit, out.signal = 0, ""
	}
	return res, out
}

func testKey(f testout.Failure) string { return cmp.Or(f.ID, f.Path+"\x00"+f.Name) }
