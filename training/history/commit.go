package history

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/knowledge/outline"
	"github.com/runplan/runplan/training/edits"
)

// change is what a commit does to one file.
type change struct {
	path          string
	before, after *source // nil: there is none
	hunks         []edits.Hunk
	touched       []int // symbols of before that change
	made          []int // symbols of after that are in what changes
}

// related is a file that a commit does not change.
type related struct {
	*source
	why  string
	uses []string // names of it that the changed code uses; none: it is no part of the change
	tier int
}

// work is a commit on its way to examples.
type work struct {
	git.Past
	reason  Reason
	task    string
	tree    *folder // before the commit
	changes []*change
	lines   int
	words   map[string]bool // identifiers in and around the changed lines, and pairs of them: owner.name
	targets []target
	deps    []related // what the changed code uses, the most used first
	others  []related // what has to do with the commit by its looks alone
	rng     *rand.Rand
}

// loader reads what commits are made of, many at a time. All of it happens on one goroutine, but for what needs nobody.
type loader struct {
	objects  *git.Objects
	forest   *forest
	shelf    *shelf
	sentry   sentry
	seed     uint64
	reverted map[string]bool
}

// parallel does a thing n times, several at a time. The error is that of the first one that failed, by number.
func parallel(ctx context.Context, n int, do func(int) error) error {
	workers := min(n, runtime.GOMAXPROCS(0))
	errs := make([]error, n)
	next := make(chan int)
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for i := range next {
				errs[i] = do(i)
			}
		})
	}
	for i := range n {
		if ctx.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	group.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// load reads commits. Each one comes back with a reason, or with all that its examples need.
func (l *loader) load(ctx context.Context, commits []git.Past) ([]*work, error) {
	all := make([]*work, len(commits))
	for i, c := range commits {
		w := &work{Past: c}
		all[i] = w
		for _, h := range revertedBy(c.Message) {
			l.reverted[h] = true
		}
		if w.reason = byItself(c, l.reverted, l.shelf.reader.reads); w.reason == "" {
			w.task = taskOf(c.Message)
			w.rng = rand.New(rand.NewPCG(l.seed, hashOf(c.Hash)))
		}
	}
	for _, step := range []func(context.Context, []*work) error{l.contents, l.trees, l.look, l.near, l.choose} {
		if err := step(ctx, open(all)); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// open are the commits that nothing speaks against yet.
func open(all []*work) []*work {
	return slices.DeleteFunc(slices.Clone(all), func(w *work) bool { return w.reason != "" })
}

// hashOf makes a number of the name of a commit.
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
	have, bad, err := l.shelf.get(wants)
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

// compare makes changes of the entries of a commit.
func (w *work) compare(have versions, bad map[want]Reason) Reason {
	generated := false
	for _, e := range w.Entries {
		if !wanted(e) {
			continue
		}
		before, after := e.Blobs()
		if before == after {
			continue // its rights alone
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
		if why == Generated {
			generated = true
			continue
		}
		if why != "" {
			return why
		}
		var old, now []string
		if c.before != nil {
			old = c.before.ended
		}
		if c.after != nil {
			now = c.after.ended
		}
		hunks, n, ok := edits.Compare(old, now, mostLines-1-w.lines)
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

// trees reads the trees that the commits were made on.
func (l *loader) trees(_ context.Context, all []*work) error {
	parents := make([]string, len(all))
	for i, w := range all {
		parents[i] = w.Parents[0]
	}
	if len(all) == 0 {
		return nil
	}
	roots, err := l.forest.roots(parents)
	for i, w := range all {
		if err == nil {
			if w.tree = roots[i]; w.tree == nil {
				w.reason = Missing
			}
		}
	}
	return err
}

// look keeps secrets out, and outlines what is left.
func (l *loader) look(ctx context.Context, all []*work) error {
	// What is beside the code is read for secrets alone: a commit that adds a key to a file of settings is no example.
	var beside []string
	var of []*work
	var paths []string
	for _, w := range all {
		for _, e := range w.Entries {
			_, after := e.Blobs()
			if after != "" && !slices.ContainsFunc(w.changes, func(c *change) bool { return c.path == e.Path }) && !pictures[extension(e.Path)] {
				beside, of, paths = append(beside, after), append(of, w), append(paths, e.Path)
			}
		}
	}
	var texts []text
	if len(beside) > 0 {
		objects, err := l.objects.Read(beside)
		if err != nil {
			return err
		}
		for i, o := range objects {
			if len(o.Data) > mostBytes {
				o.Data = nil
			}
			texts = append(texts, text{paths[i], string(o.Data)})
		}
	}
	for _, w := range all {
		texts, of = append(texts, text{"message.txt", w.Message}), append(of, w)
	}
	found, err := l.sentry.look(ctx, texts)
	if err != nil {
		return err
	}
	for i, w := range of {
		if found[i] {
			w.reason = Secret
		}
	}
	all = open(all)
	if err := l.sentry.sources(ctx, sidesOf(all)); err != nil {
		return err
	}
	for _, w := range all {
		if slices.ContainsFunc(w.changes, func(c *change) bool {
			return c.before != nil && *c.before.secret || c.after != nil && *c.after.secret
		}) {
			w.reason = Secret
		}
	}
	all = open(all)
	if err := l.shelf.outlined(ctx, sidesOf(all)); err != nil {
		return err
	}
	for _, w := range all {
		w.understand()
	}
	return nil
}

// sidesOf are the versions of files that commits change, each once.
func sidesOf(all []*work) []*source {
	var out []*source
	seen := map[*source]bool{}
	for _, w := range all {
		for _, c := range w.changes {
			for _, s := range []*source{c.before, c.after} {
				if s != nil && !seen[s] {
					seen[s] = true
					out = append(out, s)
				}
			}
		}
	}
	return out
}

var pictures = wordSet(".png .jpg .jpeg .gif .ico .webp .pdf .zip .gz .tgz .xz .bz2 .tar .jar .war .class .so .dll .exe .o .a .woff .woff2 .ttf .eot .otf .mp3 .mp4 .mov .avi .wasm .bin .dat .db .sqlite .psd .svg")

func extension(name string) string {
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		return strings.ToLower(name[i:])
	}
	return ""
}

// around is how many lines beside a change count as part of it, where it is asked what it uses.
const around = 2

// understand finds the symbols that a commit changes, and the names that it uses.
func (w *work) understand() {
	w.words = map[string]bool{}
	for _, c := range w.changes {
		for _, side := range []struct {
			s    *source
			of   func(edits.Hunk) (int, int)
			into *[]int
		}{
			{c.before, func(h edits.Hunk) (int, int) { return h.From, h.To }, &c.touched},
			{c.after, func(h edits.Hunk) (int, int) { return h.NewFrom, h.NewTo }, &c.made},
		} {
			if side.s == nil {
				continue
			}
			if side.s.broken || side.s.skip != "" {
				w.reason = Broken
				return
			}
			*side.into = side.s.touched(c.hunks, side.of)
			for _, h := range c.hunks {
				from, to := side.of(h)
				for word := range words(bareCode(side.s.span(from+1-around, to+around), side.s.language == outline.Python)) {
					w.words[word] = true
				}
			}
		}
	}
}

// near reads what the changed files import.
func (l *loader) near(ctx context.Context, all []*work) error {
	var wants []want
	for _, w := range all {
		for _, c := range w.changes {
			s := c.before
			if s == nil {
				s = c.after
			}
			targets, err := l.shelf.targets(s, w.tree)
			if err != nil {
				return err
			}
			for _, t := range targets {
				if !w.takes(t) {
					continue
				}
				w.targets = append(w.targets, t)
				wants = append(wants, t.want)
			}
		}
	}
	have, _, err := l.shelf.get(wants)
	if err != nil {
		return err
	}
	used := versions{}
	for _, w := range all {
		for _, t := range w.targets {
			if f := have[t.want]; f != nil && w.mayUse(f) {
				used[t.want] = f
			}
		}
	}
	if err := l.outlineAll(ctx, used); err != nil {
		return err
	}
	for _, w := range all {
		w.depend(have)
	}
	return nil
}

// outlineAll outlines versions, and looks for secrets in them, in an order that does not depend on chance.
func (l *loader) outlineAll(ctx context.Context, have versions) error {
	list := make([]*source, 0, len(have))
	for _, s := range have {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b *source) int { return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.blob, b.blob)) })
	if err := l.sentry.sources(ctx, list); err != nil {
		return err
	}
	return l.shelf.outlined(ctx, list)
}

// mayUse tells by the words of a file alone whether the changed code may use it: to outline a file takes a hundred times as
// long as to read it, and most that are near are not used.
func (w *work) mayUse(f *source) bool {
	names := f.declares()
	if names == nil {
		return true
	}
	for n := range names {
		if w.words[n] {
			return true
		}
	}
	return false
}

// takes tells whether the changed code may use a file that is imported.
func (w *work) takes(t target) bool {
	if w.changed(t.path) {
		return false
	}
	return t.sibling || slices.ContainsFunc(t.names, func(n outline.Name) bool { return n.Name == "*" || w.words[called(n)] }) ||
		slices.ContainsFunc(t.aliases, func(a string) bool { return w.words[a[strings.LastIndexByte(a, '.')+1:]] })
}

// common are methods that stand everywhere, whosever they are.
var common = wordSet("Error String Close Write Read Name Len Less Swap Run Get Set Add Next Reset Start Stop Unwrap Is As MarshalJSON UnmarshalJSON close write read")

// uses tells whether the changed code uses a symbol of a file.
func (w *work) uses(t target, x *symbol, own map[string]bool) bool {
	switch {
	case !x.piece:
		return false
	case t.sibling && x.kind == outline.Method:
		return w.words["."+x.short] && x.telling() && !common[x.short] && !own[x.short]
	case t.sibling:
		return w.words["="+x.short] && x.telling() && !own[x.short]
	case x.parent >= 0 || x.kind == outline.Method:
		return false
	}
	return slices.ContainsFunc(t.aliases, func(a string) bool { return w.words[a[strings.LastIndexByte(a, '.')+1:]+"."+x.short] }) ||
		slices.ContainsFunc(t.names, func(n outline.Name) bool {
			return n.Name == x.short && w.words[called(n)] || n.Name == "*" && w.words[x.short] && x.telling()
		})
}

func (w *work) changed(path string) bool {
	return slices.ContainsFunc(w.changes, func(c *change) bool { return c.path == path })
}

// The most that is shown of what a commit does not change.
const (
	mostDeps   = 8
	mostOthers = 8
	mostUses   = 8
)

// depend sorts what is near into what the changed code uses, and what it does not (TRAIN-12).
func (w *work) depend(have versions) {
	seen := map[string]bool{}
	own := map[string]bool{} // what the changed files define themselves
	for _, c := range w.changes {
		for _, side := range []*source{c.before, c.after} {
			if side == nil {
				continue
			}
			for _, x := range side.symbols {
				own[x.short] = true
			}
		}
	}
	for _, t := range w.targets {
		f := have[t.want]
		if f == nil || seen[t.path] || f.outlined && !f.sound() {
			continue
		}
		seen[t.path] = true
		r := related{source: f, why: t.why, tier: 2}
		for i := range f.symbols {
			x := &f.symbols[i]
			if len(r.uses) < mostUses && !slices.Contains(r.uses, x.short) && w.uses(t, x, own) {
				r.uses = append(r.uses, x.short)
			}
		}
		switch {
		case len(r.uses) > 0:
			w.deps = append(w.deps, r)
		case t.sibling:
			w.others = append(w.others, r)
		}
	}
	slices.SortStableFunc(w.deps, func(a, b related) int {
		return cmp.Or(cmp.Compare(len(b.uses), len(a.uses)), cmp.Compare(a.path, b.path))
	})
	w.deps = w.deps[:min(mostDeps, len(w.deps))]
	slices.SortFunc(w.others, func(a, b related) int { return cmp.Compare(a.path, b.path) })
}

// choose draws the files that are no part of a change: neighbours, and files whose path has words of the task. Only the
// draw depends on the seed.
func (l *loader) choose(ctx context.Context, all []*work) error {
	const pool = 200
	var wants []want
	hits := make([][]found, len(all))
	for i, w := range all {
		stems := map[string]string{}
		for _, k := range keywords(w.task) {
			if stems[stem(k)] == "" {
				stems[stem(k)] = k
			}
		}
		list := slices.DeleteFunc(w.tree.having(stems, pool), func(f found) bool {
			return w.changed(f.path) || slices.ContainsFunc(w.deps, func(d related) bool { return d.path == f.path })
		})
		w.rng.Shuffle(len(list), func(a, b int) { list[a], list[b] = list[b], list[a] })
		slices.SortStableFunc(list, func(a, b found) int { return cmp.Compare(len(b.words), len(a.words)) }) // the most alike are the hardest
		list = list[:min(mostOthers, len(list))]
		for _, f := range list {
			wants = append(wants, want{f.path, f.blob})
		}
		hits[i] = list
	}
	have, _, err := l.shelf.get(wants)
	if err != nil {
		return err
	}
	if err := l.outlineAll(ctx, have); err != nil {
		return err
	}
	drawn := versions{}
	for i, w := range all {
		neighbours := w.others
		w.rng.Shuffle(len(neighbours), func(a, b int) { neighbours[a], neighbours[b] = neighbours[b], neighbours[a] })
		w.others = nil
		for _, f := range hits[i] {
			s := have[want{f.path, f.blob}]
			if s != nil && s.skip == "" && !*s.secret {
				w.others = append(w.others, related{source: s, why: "it has words of the task: " + strings.Join(f.words, ", "), tier: 1})
			}
		}
		for _, n := range neighbours {
			if len(w.others) < mostOthers && !slices.ContainsFunc(w.others, func(o related) bool { return o.path == n.path }) {
				w.others = append(w.others, n)
				drawn[want{n.path, n.blob}] = n.source
			}
		}
	}
	if err := l.outlineAll(ctx, drawn); err != nil {
		return err
	}
	for _, w := range all {
		w.others = slices.DeleteFunc(w.others, func(o related) bool { return o.tier == 2 && !o.sound() })
	}
	return nil
}

// String names a commit in messages.
func (w *work) String() string { return fmt.Sprintf("commit %.12s", w.Hash) }
