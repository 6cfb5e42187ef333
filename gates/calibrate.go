package gates

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/gates/testout"
)

// RuleCalibration marks a test suite that does not report the results of its tests. It names no file and no test, so no
// baseline excuses it.
const RuleCalibration = "calibration"

// bed holds what calibrates one call of a runner: tests planted next to the project's own. One test of each pair must
// fail and one must pass. Their names contain a random word, so code in the tree cannot treat them specially.
type bed struct {
	word   string
	plants []plant
	why    string   // why nothing could be planted
	undo   []func() // remove the planted files

	// alone is the call without planted tests; nil means the same call.
	alone func() (testRun, error)
	// masks says that a failing test prevents another check, such as for leftovers or a coverage limit. Then the call
	// must also pass without planted tests.
	masks bool
	// ignores says that the runner was told to exit with 0 even if tests fail, so that it continues with later
	// commands. Set masks as well: then the call is expected to exit as it does without planted tests.
	ignores bool
	// exits are the exit statuses with which the runner says that tests failed; nil means 1.
	exits func(exit, failed int) bool
}

// plant is a pair of planted tests at one place.
type plant struct {
	place      string // the folder, package or file, for people
	fail, pass string // their names, or a part of them that no other name holds
	// like reports whether a test of the project runs only if the planted tests run too.
	like func(c testout.Case) bool
	// unsure is the reason why the runner may omit the planted tests although it runs those of the project.
	unsure string
	// fine reports whether the runner reported a pass of the whole place; nil if it reports only tests.
	fine func() bool
}

// recipe plants tests for one call of a runner. It may change the call.
type recipe func(w *Look, r *testRun, b *bed) error

// pair returns two random names. They do not reveal which of the two tests must fail.
func (b *bed) pair(prefix string) (fail, pass string) {
	n := len(b.plants)
	names := []string{fmt.Sprintf("%s%s%da", prefix, b.word, n), fmt.Sprintf("%s%s%db", prefix, b.word, n)}
	flip := make([]byte, 1)
	_, _ = rand.Read(flip) // it never fails
	return names[flip[0]&1], names[1-flip[0]&1]
}

// sow appends text to a file of the tree.
func (b *bed) sow(w *Look, file, text string) error {
	at := filepath.Join(w.subject.Dir, filepath.FromSlash(file))
	if w.subject.Planted != nil {
		w.subject.Planted(path.Clean(file))
	}
	before, err := os.ReadFile(at)
	switch {
	case os.IsNotExist(err):
		b.undo = append(b.undo, func() { _ = os.Remove(at) })
	case err != nil:
		return fmt.Errorf("plant a test: %w", err)
	default:
		info, err := os.Lstat(at)
		if err != nil || !info.Mode().IsRegular() {
			return fmt.Errorf("plant a test: %s is not a regular file", file)
		}
		b.undo = append(b.undo, func() {
			if os.WriteFile(at, before, info.Mode().Perm()) == nil {
				_ = os.Chtimes(at, time.Time{}, info.ModTime())
			}
		})
	}
	if err := os.WriteFile(at, append(bytes.Clone(before), text...), 0o644); err != nil {
		return fmt.Errorf("plant a test: %w", err)
	}
	return nil
}

func (b *bed) clear() {
	for _, undo := range slices.Backward(b.undo) {
		undo()
	}
	b.undo = nil
}

// try runs r once. If the tree is a room of the runner, it plants tests and accepts the suite only if their results are
// right. It removes all traces of them from the answer.
func (w *Look) try(ctx context.Context, r testRun) (testout.Result, ran, error) {
	b, r, err := w.prepare(r)
	if err != nil {
		return testout.Result{}, ran{}, err
	}
	if len(b.plants) == 0 {
		b.alone = func() (testRun, error) { r.done = nil; return r, nil }
		res, out, err := w.plain(ctx, b)
		if !r.rest || res.Known {
			w.uncalibrated(b.why)
		}
		return res, out, err
	}
	exit := w.rep.Exit
	r.drop = b.clean
	r.tests = true
	out, err := w.run(ctx, r.program)
	b.clear()
	if err != nil {
		return testout.Result{}, out, err
	}
	if err := b.cleanLog(w.logName()); err != nil {
		return testout.Result{}, out, err
	}
	raw := r.result(out)
	if b.breaks(raw) {
		w.uncalibrated("the planted tests do not load here")
		return w.plain(ctx, b)
	}
	if !out.ok() && out.signal == "" && raw.Passed+raw.Skipped == 0 && !b.reached(raw) {
		w.rep.Exit = exit // a command before the tests, such as a linter, may reject the planted ones
		w.uncalibrated("the planted tests did not run: no test ran in their presence")
		return w.plain(ctx, b)
	}
	res, out := b.judge(ctx, w, raw, out, r.exact)
	out.text, out.shown = b.clean(out.text), out.text
	if r.show != nil {
		out.shown = r.show()
	}
	out.shown = b.clean(out.shown) + totals(res)
	if out.ok() {
		if zero := 0; exit == nil || *exit == 0 {
			w.rep.Exit = &zero
		}
		if b.masks && res.Failed == 0 {
			if alone, last, err := w.plain(ctx, b); err != nil || !last.ok() {
				return alone, last, err
			}
		}
	}
	return res, out, nil
}

// reached reports whether a result names a test at a place with planted tests, or a file. Otherwise the result may come
// from a linter whose number of findings looks like a number of tests.
func (b *bed) reached(raw testout.Result) bool {
	return slices.ContainsFunc(raw.Failures, func(f testout.Failure) bool { return f.Path != "" || f.Build }) ||
		slices.ContainsFunc(raw.Cases, func(c testout.Case) bool {
			return b.own(c.Name) || b.own(c.Group) || slices.ContainsFunc(b.plants, func(p plant) bool { return p.like(c) })
		})
}

// prepare plants tests for r. Without a room, or a recipe, the bed is empty and says why.
func (w *Look) prepare(r testRun) (*bed, testRun, error) {
	b := &bed{word: "q" + strings.ToLower(rand.Text()[:15])}
	switch {
	case r.plant == nil:
		b.why = r.why
		if b.why == "" {
			b.why = "runplan cannot plant tests for " + r.args[0]
		}
		return b, r, nil
	case !w.subject.Sealed:
		b.why = "the tree is not a sealed room"
		return b, r, nil
	}
	before := r
	before.args, before.env, before.done = slices.Clone(r.args), slices.Clone(r.env), nil
	b.alone = func() (testRun, error) { return before, nil }
	r.args, r.env = slices.Clone(r.args), slices.Clone(r.env)
	if err := r.plant(w, &r, b); err != nil {
		b.clear()
		return nil, r, err
	}
	if len(b.plants) == 0 {
		b.clear()
		b.why = cmp.Or(b.why, "found no test file next to which a test could be planted")
	}
	return b, r, nil
}

// plain runs the call without planted tests.
func (w *Look) plain(ctx context.Context, b *bed) (testout.Result, ran, error) {
	r, err := b.alone()
	if err != nil {
		return testout.Result{}, ran{}, err
	}
	return w.once(ctx, r)
}

// once makes one call of a runner.
func (w *Look) once(ctx context.Context, r testRun) (testout.Result, ran, error) {
	if r.done != nil {
		defer r.done()
	}
	r.tests = true
	out, err := w.run(ctx, r.program)
	out.shown = out.text
	if r.show != nil {
		out.shown = r.show()
	}
	if err != nil {
		return testout.Result{}, out, err
	}
	return r.result(out), out, nil
}

// uncalibrated records that the results of the suite, or of a part of it, count although no planted test showed that it
// reports failures.
func (w *Look) uncalibrated(why string) {
	w.rep.Proof = &Proof{Calibration: Uncalibrated, Why: why}
}

// lies fails the gate because the suite does not report the results of its tests.
func (w *Look) lies(format string, args ...any) {
	msg := fmt.Sprintf(format, args...)
	w.Find(Finding{
		Rule: RuleCalibration, Severity: Error, Message: msg,
		Fix: "make the suite run all tests and report their results: check TestMain, init, conftest.py, load_tests, " +
			"the runner's configuration, and calls that end the process",
	})
	w.uncalibrated(msg)
}

// own reports whether text is about a planted test.
func (b *bed) own(text string) bool { return strings.Contains(text, b.word) }

// breaks reports whether a planted file did not compile or load.
func (b *bed) breaks(res testout.Result) bool {
	return slices.ContainsFunc(res.Failures, func(f testout.Failure) bool {
		return f.Build && (b.own(f.Path) || b.own(f.Message) || b.own(f.Name))
	})
}

// cleanLog removes the lines of planted tests from a log, so that its end shows the project's own tests.
func (b *bed) cleanLog(name string) error {
	if name == "" {
		return nil
	}
	text, err := os.ReadFile(name)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the log of the tests: %w", err)
	}
	if !bytes.Contains(text, []byte(b.word)) {
		return nil
	}
	kept := slices.DeleteFunc(bytes.SplitAfter(text, []byte("\n")),
		func(line []byte) bool { return bytes.Contains(line, []byte(b.word)) })
	if err := os.WriteFile(name, bytes.Join(kept, nil), 0o600); err != nil {
		return fmt.Errorf("write the log of the tests: %w", err)
	}
	return nil
}
