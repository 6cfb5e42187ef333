package history

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/linediff"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/knowledge/outline"
)

// change is the change of one file in a commit.
type change struct {
	path          string
	before, after *source // nil if the side does not exist
	hunks         []linediff.Hunk
	touched       []int // changed symbols of the old version
	made          []int // symbols of after within the changed lines
}

// old and now return the lines of a hunk before and after the change.
func (c *change) old(h linediff.Hunk) string { return c.before.span(h.From+1, h.To) }
func (c *change) now(h linediff.Hunk) string { return c.after.span(h.NewFrom+1, h.NewTo) }

// sides returns the lines of the file before and after the change.
func (c *change) sides() (old, now []string) {
	if c.before != nil {
		old = c.before.ended
	}
	if c.after != nil {
		now = c.after.ended
	}
	return old, now
}

// versions returns the file before and after the change, without a side that does not exist.
func (c *change) versions() []*source {
	return lists.Filter([]*source{c.before, c.after}, func(s *source) bool { return s != nil })
}

// related is a file that a commit does not change.
type related struct {
	*source
	why  string
	uses []string // its names that the changed code uses; empty: not needed by the change
	tier int
}

// work is a commit that is being processed.
type work struct {
	git.Past
	reason   Reason
	task     string
	keywords []string // keywords of the task
	tree     *folder  // tree before the commit
	changes  []*change
	beside   []*source // changed files that are not in the answer, see [work.answer]
	bundles  []string  // paths of the changed bundles, which are in no example
	lines    int
	later    [len(lasting)]map[string]string  // blobs that its files have some time after it, see [successors]
	futures  [len(lasting)]map[string]*source // the files of its answer that have one
	words    map[string]bool                  // identifiers in and around the changed lines, and pairs owner.name
	targets  []target
	deps     []related // files that the changed code uses, most used first
	others   []related // files that only resemble the commit
	unused   []related // files that the changed files import, without a use in the changed code
	rng      *rand.Rand
}

// loader reads the changes of commits, many at a time.
type loader struct {
	objects  *git.Objects
	forest   *forest
	cache    *versionCache
	seed     uint64
	reverted map[string]bool
	later    successors
}

// parallel calls do n times, several at a time. It returns the error with the lowest index.
func parallel(ctx context.Context, n int, do func(int) error) error {
	errs := make([]error, n)
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				errs[i] = do(i)
			}
		})
	}
	group.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return cmp.Or(errs...)
}

// begin reads commits, their changes and their parent trees.
func (l *loader) begin(ctx context.Context, commits []git.Past) ([]*work, error) {
	all := make([]*work, len(commits))
	for i, c := range commits {
		w := &work{Past: c}
		all[i] = w
		for _, h := range revertedBy(c.Message) {
			l.reverted[h] = true
		}
		if w.reason = byItself(c, l.reverted, l.cache.reader.reads); w.reason == "" {
			w.task = taskOf(c.Message)
			w.keywords = keywords(w.task)
			w.rng = rand.New(rand.NewPCG(l.seed, hashOf(c.Hash)))
			for i, lasts := range lasting {
				w.later[i] = l.later.after(c, lasts.span)
			}
		}
		l.later.add(c)
	}
	return all, each(ctx, all, l.contents, tell, l.futures, l.trees)
}

// each runs steps on the commits that have no reason yet.
func each(ctx context.Context, all []*work, steps ...step) error {
	for _, step := range steps {
		if err := step(ctx, open(all)); err != nil {
			return err
		}
	}
	return nil
}

// open returns the commits without a reason.
func open(all []*work) []*work {
	return slices.DeleteFunc(slices.Clone(all), func(w *work) bool { return w.reason != "" })
}

// hashOf derives a number from a commit hash.
func hashOf(hash string) uint64 {
	var n uint64
	for _, c := range []byte(hash) {
		n = n*31 + uint64(c)
	}
	return n
}

// contents reads both sides of changed files and compares them.
func (l *loader) contents(ctx context.Context, all []*work) error {
	var wants []want
	for _, w := range all {
		for _, e := range w.Entries {
			if !wanted(e) {
				continue
			}
			before, after := e.Blobs()
			for _, blob := range []string{before, after} {
				if blob != "" {
					wants = append(wants, want{e.Path, blob})
				}
			}
		}
	}
	have, bad, err := l.cache.get(l.objects, wants)
	if err != nil {
		return err
	}
	for _, x := range have {
		x.split()
	}
	return parallel(ctx, len(all), func(i int) error {
		w := all[i]
		w.reason = w.compare(have, bad)
		return nil
	})
}

// compare makes changes from the entries of a commit.
func (w *work) compare(have versions, bad map[want]Reason) Reason {
	generated := false
	for _, e := range w.Entries {
		if !wanted(e) {
			continue
		}
		before, after := e.Blobs()
		if before == after {
			continue // only the mode changed
		}
		c := &change{path: e.Path}
		var why Reason
		for _, side := range []struct {
			blob string
			to   **source
		}{{before, &c.before}, {after, &c.after}} {
			if side.blob == "" {
				continue
			}
			if why = cmp.Or(why, bad[want{e.Path, side.blob}]); why == "" {
				*side.to = have[want{e.Path, side.blob}]
			}
		}
		if why == bundle {
			w.bundles = append(w.bundles, e.Path)
			why = Generated
		}
		if why == Generated {
			generated = true
			continue
		}
		if why != "" {
			return why
		}
		old, now := c.sides()
		hunks, n, ok := linediff.Compare(old, now, mostLines-1-w.lines)
		if !ok {
			return TooMany
		}
		c.hunks = hunks
		if w.lines += n; n > 0 {
			w.changes = append(w.changes, c)
		}
	}
	switch {
	case len(w.changes) == 0 && generated:
		return Generated
	case len(w.changes) == 0:
		return NoChange
	}
	return ""
}

// trees reads the parent trees of the commits.
func (l *loader) trees(_ context.Context, all []*work) error {
	roots, err := l.forest.roots(lists.Map(all, func(w *work) string { return w.Parents[0] }))
	if err != nil {
		return err
	}
	for i, w := range all {
		if w.tree = roots[i]; w.tree == nil {
			w.reason = Missing
		}
	}
	return nil
}

// around is the number of lines next to a change that count as part of it when its used names are collected.
const around = 2

// understand finds the symbols that a commit changes, and the names that the changes use for which the task asks.
func (w *work) understand() {
	w.words = map[string]bool{}
	for _, c := range w.changes {
		for i, s := range []*source{c.before, c.after} {
			if s == nil {
				continue
			}
			if s.broken || s.skip != "" {
				if w.reason = Broken; s.skip == notInstalled {
					w.reason = NoReader
				}
				return
			}
			for _, h := range c.hunks {
				if !w.asks(c.path) {
					break
				}
				from, to := linesOf[i](h)
				for word := range words(bareCode(s.span(from+1-around, to+around), s.language == outline.Python)) {
					w.words[word] = true
				}
			}
		}
		c.outlined()
	}
}

// linesOf are the lines of a hunk before and after the change.
var linesOf = [2]func(linediff.Hunk) (from, to int){
	func(h linediff.Hunk) (int, int) { return h.From, h.To },
	func(h linediff.Hunk) (int, int) { return h.NewFrom, h.NewTo },
}

// outlined finds the symbols in the changed lines.
func (c *change) outlined() {
	if c.before != nil {
		c.touched = c.before.touched(c.hunks, linesOf[0])
	}
	if c.after != nil {
		c.made = c.after.touched(c.hunks, linesOf[1])
	}
}

// String names a commit in messages.
func (w *work) String() string { return fmt.Sprintf("commit %.12s", w.Hash) }
