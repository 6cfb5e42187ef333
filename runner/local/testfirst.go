package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/testout"
	"github.com/runplan/runplan/internal/atomicfile"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/sampling"
)

// firstTests are tests that were written before the code of a batch. They are stored with the logs of the run, so that
// all attempts, candidates and resumed runs have the same ones.
type firstTests struct {
	Commit  string   `json:"commit"`   // it holds the files
	Files   []string `json:"files"`    // all of them, sorted
	HeldOut []string `json:"held_out"` // files that no agent sees which writes the code
	Red     []string `json:"red"`      // tests that fail before the change

	trees map[string]git.TreeFile
}

// testsFirst returns the tests of a batch with the header test-first, nil for other batches. If no agent has written
// them yet, testsFirst runs one. If this agent fails, failed is the event that ends the attempt.
func (w *work) testsFirst(ctx context.Context, c runner.Command, b *planparse.Batch,
	p runner.Progress) (first *firstTests, failed *runner.Event, err error) {
	if !b.TestFirst || literal(w.Agent) || c.Slot != nil && c.Slot.Variant == sampling.TestsOnly {
		return nil, nil, nil
	}
	one, _ := w.firsts.LoadOrStore(c.Batch, &sync.Mutex{})
	one.(*sync.Mutex).Lock() // the candidates of a tournament share the tests
	defer one.(*sync.Mutex).Unlock()
	first, err = w.readFirst(ctx, c)
	if first != nil || err != nil {
		return first, nil, err
	}
	writes := c // candidate 0: no candidate of a tournament has this number
	writes.Slot = &runner.Slot{Variant: sampling.TestsOnly, Digest: c.After > 0}
	e, err := w.execute(ctx, writes, p)
	defer func() {
		if err := w.pool.Retire(context.WithoutCancel(ctx), writes.Place(), w.info.Base); err != nil {
			w.Note(fmt.Sprintf("the leftovers of the writer of the tests of batch %s could not be removed: %v", c.Batch, err))
		}
	}()
	if err != nil {
		return nil, &e, err
	}
	if e.Outcome == runner.OutcomeOK {
		first, err = w.judgeFirst(ctx, c, e.Tree, &e)
	}
	if err != nil || e.Outcome != runner.OutcomeOK {
		e.Reason, e.Tree, e.Commit = "the tests of the batch, written first: "+e.Reason, "", ""
		return nil, &e, err
	}
	if e.Usage != nil {
		w.wroteFirst.Store(c.ID, e)
	}
	return first, nil, nil
}

// judgeFirst keeps the test files of a tree and drops the rest. It sets the outcome to failed unless a test fails
// before the change.
func (w *work) judgeFirst(ctx context.Context, c runner.Command, made string, e *runner.Event) (*firstTests, error) {
	entries, err := w.Repo.Compare(c.Base, made).Entries(ctx)
	if err != nil {
		return nil, err
	}
	first := &firstTests{trees: map[string]git.TreeFile{}}
	var dropped []string
	for _, n := range entries {
		_, now := n.Blobs()
		if now != "" && language.ServesTests(n.Path) {
			first.Files, first.trees[n.Path] = append(first.Files, n.Path), git.TreeFile{Mode: n.NewMode, Blob: now}
		} else {
			dropped = append(dropped, n.Path)
		}
	}
	slices.Sort(first.Files)
	if len(dropped) > 0 {
		w.Note(fmt.Sprintf("batch %s: tests come first, so other changes of their writer are dropped: %s", c.Batch,
			strings.Join(dropped, ", ")))
	}
	refuse := func(reason string) (*firstTests, error) {
		e.Outcome, e.Reason, e.Fingerprint = runner.OutcomeFailed, reason, runner.Fingerprint(reason)
		return nil, nil
	}
	if len(first.Files) == 0 {
		return refuse("no test file was written")
	}
	tree, err := w.treeWith(ctx, c.Base, first, first.Files)
	if err != nil {
		return nil, err
	}
	red, green, err := w.redTests(ctx, c.Base, tree)
	if err != nil {
		return nil, err
	}
	if len(red) == 0 {
		return refuse("none of them fails before the change, so they prove nothing: " + strings.Join(green, ", "))
	}
	if len(green) > 0 {
		w.Note(fmt.Sprintf("batch %s: tests written first pass without the change: %s", c.Batch, strings.Join(green, ", ")))
	}
	first.Red, first.HeldOut = red, w.holdOut(c.Batch, first.Files)
	if first.Commit, err = w.Repo.CommitTree(ctx, tree, c.Base, "tests of batch "+c.Batch); err != nil {
		return nil, err
	}
	if err := w.hold(ctx, first.Commit); err != nil {
		return nil, err
	}
	if err := writeJSON(w.firstPath(c), first); err != nil {
		return nil, fmt.Errorf("keep the tests of batch %s: %w", c.Batch, err)
	}
	held := ""
	if len(first.HeldOut) > 0 {
		held = fmt.Sprintf("; %d of %s held out", len(first.HeldOut), phrase.Count(len(first.Files), "file", "files"))
	}
	w.Note(fmt.Sprintf("batch %s: its tests are written, and fail before the change: %s%s", c.Batch,
		strings.Join(red, ", "), held))
	return first, nil
}

// holdOut chooses the test files that the writers of the code do not see: a share of them, but not all.
func (w *work) holdOut(batch string, files []string) []string {
	list := slices.DeleteFunc(slices.Clone(files), func(f string) bool { return !language.IsTest(f) })
	n := min(len(list)*w.Sampling.HoldOut/100, len(list)-1)
	rank := func(f string) uint64 {
		h := fnv.New64a()
		fmt.Fprint(h, w.info.Seed, batch, f)
		return h.Sum64()
	}
	slices.SortFunc(list, func(a, b string) int { return cmp.Compare(rank(a), rank(b)) })
	list = list[:max(n, 0)]
	slices.Sort(list)
	return list
}

// redTests runs the suites of a tree that has the base's code and more tests. red tests fail there but not on the base;
// green tests are new and pass.
func (w *work) redTests(ctx context.Context, base, tree string) (red, green []string, err error) {
	at := w.baseline(w.on(base))
	with := w.baseline(at.Subject)
	with.tree = tree
	defer at.Close(context.WithoutCancel(ctx))
	defer with.Close(context.WithoutCancel(ctx))
	for _, g := range w.suitesOf(w.Repo.Root) {
		info := gates.Info{Name: g.Info().Name}
		before, err := at.look(ctx, info)
		if err != nil {
			return nil, nil, err
		}
		now, err := with.look(ctx, info)
		if err != nil {
			return nil, nil, err
		}
		was := map[string]testout.Status{}
		for _, k := range before.BaseCases() {
			was[k.Key()] = k.Status
		}
		for _, k := range now.BaseCases() {
			name := strings.TrimSpace(k.Group + " " + k.Name)
			if how, known := was[k.Key()]; k.Status == testout.Failed && how != testout.Failed {
				red = append(red, name)
			} else if k.Status == testout.Passed && !known {
				green = append(green, name)
			}
		}
		if len(red) == 0 && now.Status == gates.Fail && before.Status != gates.Fail { // the tests do not build yet
			for _, f := range now.Findings {
				if f.Severity == gates.Error {
					red = append(red, phrase.Cut(strings.TrimPrefix(f.Path+": ", ": ")+phrase.Line(f.Message), 120))
				}
			}
		}
	}
	return red, green, nil
}

func (w *work) firstPath(c runner.Command) string {
	return filepath.Join(filepath.Dir(w.Layout.Attempt(w.run, c.Batch, c.Attempt)), c.Batch+"-tests.json")
}

// readFirst returns the tests that were written in this run, nil if there are none yet.
func (w *work) readFirst(ctx context.Context, c runner.Command) (*firstTests, error) {
	first := &firstTests{trees: map[string]git.TreeFile{}}
	err := atomicfile.ReadJSON(w.firstPath(c), first)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the tests of batch %s: %w", c.Batch, err)
	}
	entries, err := w.Repo.Compare(first.Commit+"^", first.Commit).Entries(ctx)
	for _, n := range entries {
		_, now := n.Blobs()
		first.trees[n.Path] = git.TreeFile{Mode: n.NewMode, Blob: now}
	}
	return first, err
}

// treeWith returns the tree of a commit with files of the tests in it.
func (w *work) treeWith(ctx context.Context, commit string, first *firstTests, files []string) (string, error) {
	tree, err := w.Repo.TreeOf(ctx, commit)
	if err != nil {
		return "", err
	}
	put := map[string]git.TreeFile{}
	for _, f := range files {
		put[f] = first.trees[f]
	}
	return w.Repo.EditTree(ctx, tree, put, nil)
}

// startOf returns the tree that the writer of the code starts from; "" if no tests were written first.
func (w *work) startOf(ctx context.Context, base string, first *firstTests, err error) (string, error) {
	if first == nil || err != nil {
		return "", err
	}
	return w.treeWith(ctx, base, first, first.shown())
}

// shown lists the files that the writer of the code sees.
func (t *firstTests) shown() []string {
	return slices.DeleteFunc(slices.Clone(t.Files), func(f string) bool { return slices.Contains(t.HeldOut, f) })
}

// lay writes all tests into the workspace and overwrites the agent's versions.
func (w *work) lay(ctx context.Context, c runner.Command, first *firstTests, s *Space) error {
	if first == nil {
		return nil
	}
	root, err := os.OpenRoot(s.Dir)
	if err != nil {
		return fmt.Errorf("copy the tests of batch %s into the workspace: %w", c.Batch, err)
	}
	defer root.Close()
	compared := w.Repo.Compare(first.Commit+"^", first.Commit)
	var changed []string
	for _, f := range first.Files {
		text, err := compared.After(ctx, f)
		if err != nil {
			return err
		}
		name := filepath.FromSlash(f)
		if is, err := root.ReadFile(name); (err != nil || string(is) != string(text)) && !slices.Contains(first.HeldOut, f) {
			changed = append(changed, f)
		}
		mode := fs.FileMode(0o644)
		if first.trees[f].Mode == "100755" {
			mode = 0o755
		}
		if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := root.RemoveAll(name); err != nil {
			return err
		}
		if err := root.WriteFile(name, text, mode); err != nil {
			return err
		}
	}
	if len(changed) > 0 {
		w.Note(fmt.Sprintf("batch %s: the agent changed tests that were written first; they are restored: %s", c.Place(),
			strings.Join(changed, ", ")))
	}
	return nil
}

// words describes the tests for the writer of the code.
func (t *firstTests) words() string {
	if t == nil {
		return ""
	}
	text := "\n## The tests of this batch are written\n\nThey fail now, because the code is missing. Make them pass. " +
		"Changes of their files are reverted:\n\n"
	for _, f := range t.shown() {
		text += "- `" + f + "`\n"
	}
	if len(t.HeldOut) > 0 {
		text += fmt.Sprintf("\n%s not shown here. They run on your code too, so do what the batch asks for and not only "+
			"what these tests check.\n", phrase.Count(len(t.HeldOut), "more test file is", "more test files are"))
	}
	return text
}
