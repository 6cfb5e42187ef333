package mutants

import (
	"context"
	"errors"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/mutants/mutant"
	"github.com/runplan/runplan/internal/lists"
)

const (
	mostNear     = 200 // maximum of tests that run one by one for a mutant; more of them run as files
	mostNearLong = 16 << 10
)

// python uses the tests that run a line, if pytest can report them. Else it uses the test files that name the file.
func (r *runner) python(ctx context.Context, file string) (*target, error) {
	if _, ok := r.traced[file]; !ok {
		if err := r.trace(ctx, file); err != nil {
			return nil, err
		}
	}
	if t := r.traced[file]; t != nil {
		return t, nil
	}
	return r.script(ctx, file)
}

// trace runs the suite once for all mutated files of a project, in at most half of the time that is left.
func (r *runner) trace(ctx context.Context, file string) error {
	var files []string
	for _, f := range slices.Sorted(maps.Keys(r.texts)) {
		if gates.LanguageOf(f) == gates.LangPython && gates.SameProject(r.dir, f, file) {
			files = append(files, f)
			r.traced[f] = nil
		}
	}
	limited, stop := context.WithTimeoutCause(ctx, time.Until(r.until)/2, errSlow)
	defer stop()
	began := time.Now()
	got, ok, err := r.in.PytestLines(limited, files)
	if context.Cause(limited) == errSlow {
		return nil
	}
	if ctx.Err() != nil {
		for _, f := range files {
			delete(r.traced, f) // it is unknown, and may be asked again
		}
		return context.Cause(ctx)
	}
	if err != nil || !ok || !got.Passed {
		return err
	}
	r.takes = time.Since(began)
	for _, f := range files {
		of := got.Tests[f]
		if len(of) == 0 {
			continue // it did not run at all, perhaps because another copy is installed
		}
		t := &target{near: of, lines: map[int]bool{}, covers: !got.Children}
		for line := range of {
			t.lines[line] = true
		}
		r.traced[f] = t
	}
	return nil
}

// nearest runs the tests that run the lines of the mutant that is in the tree. Only a test that fails by name, and
// that passes alone without the mutant, kills it.
func (r *runner) nearest(ctx context.Context, m mutant.Mutant, t *target) (outcome, error) {
	ids := near(t.near, m.Line, m.Last())
	if len(ids) == 0 {
		return invalid, nil
	}
	one, err := r.runTests(ctx, m.Path, ids)
	if err != nil || one.Outcome != gates.RunFailed || len(one.Failed) == 0 {
		if err == errSlow { // the whole suite is given more time
			err = nil
		}
		return invalid, err
	}
	alone, err := r.passesAlone(ctx, m, failedTest(one, t.near))
	if alone {
		return killed, err
	}
	return invalid, err
}

// failedTest returns the id of the first failed test. The report of pytest names a generated test by the file of its
// function, which need not be the file that it is selected by, so the summary of pytest decides.
func failedTest(one gates.SingleRun, known map[int][]string) string {
	for line := range strings.Lines(one.Text) {
		rest, ok := strings.CutPrefix(line, "FAILED ")
		if !ok {
			continue
		}
		best := ""
		for _, ids := range known {
			for _, id := range ids {
				if strings.Contains(id, "::") && len(id) > len(best) && strings.HasPrefix(rest, id) {
					best = id
				}
			}
		}
		if best != "" {
			return best
		}
	}
	return one.Failed[0]
}

// passesAlone runs a test without the mutant that is in the tree, and puts the mutant back.
func (r *runner) passesAlone(ctx context.Context, m mutant.Mutant, id string) (ok bool, err error) {
	if ok, known := r.alone[id]; known {
		return ok, nil
	}
	if err := r.write(m.Path, r.texts[m.Path]); err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, r.write(m.Path, m.Apply(r.texts[m.Path]))) }()
	one, err := r.runTests(ctx, m.Path, []string{id})
	if err != nil && err != errSlow {
		return false, err
	}
	r.alone[id] = err == nil && one.Outcome == gates.RunPassed
	return r.alone[id], nil
}

// runTests runs some tests, up to the first that fails.
func (r *runner) runTests(ctx context.Context, file string, ids []string) (one gates.SingleRun, err error) {
	ctx, stop := context.WithTimeoutCause(ctx, 3*r.takes+slack, errSlow)
	defer stop()
	err = r.in.Single(ctx, gates.Single{Path: file, Tests: ids}, 1, func(got gates.SingleRun) bool {
		one = got
		return false
	})
	if context.Cause(ctx) == errSlow {
		err = errSlow
	}
	return one, err
}

// near returns the tests of some lines. Tests that belong to all lines of the file stand in for the whole suite, which
// runs afterwards.
func near(of map[int][]string, from, to int) []string {
	var ids []string
	for line := from; line <= to; line++ {
		ids = append(ids, of[line]...)
	}
	ids = lists.Unique(ids)
	if len(ids) > 0 && ids[0] == "" {
		for _, more := range of {
			ids = append(ids, more...)
		}
		ids = lists.Unique(ids)[1:]
	}
	if len(ids) <= mostNear && len(strings.Join(ids, " ")) <= mostNearLong {
		return ids
	}
	var files []string
	for _, id := range ids {
		name, _, _ := strings.Cut(id, "::")
		files = append(files, path.Clean(name))
	}
	return lists.Unique(files)
}
