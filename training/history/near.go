package history

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/recent"
	"github.com/runplan/runplan/internal/wordset"
	"github.com/runplan/runplan/knowledge/outline"
	"github.com/runplan/runplan/knowledge/retrieve"
)

// surroundings are the files that commits do not change.
type surroundings struct {
	objects *git.Objects
	cache   *versionCache
	sentry  sentry
	modules *recent.Map[string, string] // blob of a go.mod → module path
}

func newSurroundings(o *git.Objects, c *versionCache, s sentry) surroundings {
	return surroundings{o, c, s, recent.New[string](5000, func(string) int { return 1 })}
}

// near reads the files that the changed files import.
func (r surroundings) near(ctx context.Context, all []*work) error {
	var wants []want
	for _, w := range all {
		var unused []target
		for _, c := range w.changes {
			s := cmp.Or(c.after, c.before)
			targets, err := r.targets(s, w.tree)
			if err != nil {
				return err
			}
			for _, t := range targets {
				switch {
				case w.changed(t.path):
				case w.takes(t):
					w.targets = append(w.targets, t)
				default:
					unused = append(unused, t)
				}
			}
		}
		w.rng.Shuffle(len(unused), func(a, b int) { unused[a], unused[b] = unused[b], unused[a] })
		w.targets = append(w.targets, unused[:min(mostUnused, len(unused))]...)
		wants = append(wants, lists.Map(w.targets, func(t target) want { return t.want })...)
	}
	have, _, err := r.cache.get(r.objects, wants)
	if err != nil {
		return err
	}
	if err := r.outlineAll(ctx, have); err != nil {
		return err
	}
	for _, w := range all {
		w.depend(have)
	}
	return nil
}

// outlineAll outlines file versions and searches them for secrets, in a fixed order.
func (r surroundings) outlineAll(ctx context.Context, have versions) error {
	list := slices.SortedFunc(maps.Values(have), func(a, b *source) int {
		return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.blob, b.blob))
	})
	if err := r.cache.search(ctx, r.sentry, list); err != nil {
		return err
	}
	return r.cache.outline(ctx, list)
}

// takes reports whether the changed code may use an imported file.
func (w *work) takes(t target) bool {
	return t.sibling || slices.ContainsFunc(t.names,
		func(n outline.Name) bool { return n.Name == "*" || w.words[called(n)] }) ||
		slices.ContainsFunc(t.aliases, func(a string) bool { return w.words[a[strings.LastIndexByte(a, '.')+1:]] })
}

// common lists method names that are too frequent to identify a type.
var common = wordset.New(
	"Error String Close Write Read Name Len Less Swap Run Get Set Add Next Reset Start Stop Unwrap Is As MarshalJSON " +
		"UnmarshalJSON close write read")

// uses reports whether the changed code uses a symbol of a file.
func (w *work) uses(t target, x *symbol, own map[string]bool) bool {
	switch {
	case !x.piece:
		return false
	case t.sibling && x.kind == outline.Method:
		return w.words["."+x.short] && x.telling() && !common.Has(x.short) && !own[x.short]
	case t.sibling:
		return w.words["="+x.short] && x.telling() && !own[x.short]
	case x.parent >= 0 || x.kind == outline.Method:
		return false
	}
	return slices.ContainsFunc(t.aliases,
		func(a string) bool { return w.words[a[strings.LastIndexByte(a, '.')+1:]+"."+x.short] }) ||
		slices.ContainsFunc(t.names, func(n outline.Name) bool {
			return n.Name == x.short && w.words[called(n)] || n.Name == "*" && w.words[x.short] && x.telling()
		})
}

func (w *work) changed(path string) bool {
	return slices.ContainsFunc(w.changes, func(c *change) bool { return c.path == path })
}

// Limits for showing unchanged files.
const (
	mostDeps   = 8
	mostOthers = 8
	mostUnused = 4
	mostUses   = 8
)

// depend separates related files into files that the changed code uses and other files (TRAIN-12).
func (w *work) depend(have versions) {
	seen := map[string]bool{}
	own := map[string]bool{} // names that the changed files define
	for _, c := range w.changes {
		for _, side := range c.versions() {
			for _, x := range side.symbols {
				own[x.short] = true
			}
		}
	}
	for _, t := range w.targets {
		f := have[t.want]
		if f == nil || seen[t.path] || !f.sound() {
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
		default:
			w.unused = append(w.unused, r)
		}
	}
	slices.SortStableFunc(w.deps, func(a, b related) int {
		return cmp.Or(cmp.Compare(len(b.uses), len(a.uses)), cmp.Compare(a.path, b.path))
	})
	w.deps = w.deps[:min(mostDeps, len(w.deps))]
	w.rng.Shuffle(len(w.unused), func(a, b int) { w.unused[a], w.unused[b] = w.unused[b], w.unused[a] })
	w.unused = w.unused[:min(max(1, len(w.deps)), mostUnused, len(w.unused))]
	slices.SortFunc(w.others, func(a, b related) int { return cmp.Compare(a.path, b.path) })
}

// choose draws the irrelevant files: neighbours, and files whose path contains words of the task.
func (r surroundings) choose(ctx context.Context, all []*work) error {
	const pool = 200
	hits := make([][]found, len(all))
	err := parallel(ctx, len(all), func(i int) error {
		w := all[i]
		stems := map[string]string{}
		for _, k := range w.keywords {
			if stems[retrieve.Stem(k)] == "" {
				stems[retrieve.Stem(k)] = k
			}
		}
		list := slices.DeleteFunc(w.tree.having(stems, pool), func(f found) bool {
			return w.changed(f.path) || slices.ContainsFunc(slices.Concat(w.deps, w.unused),
				func(d related) bool { return d.path == f.path })
		})
		w.rng.Shuffle(len(list), func(a, b int) { list[a], list[b] = list[b], list[a] })
		slices.SortStableFunc(list, func(a, b found) int { return cmp.Compare(len(b.words), len(a.words)) })
		hits[i] = list[:min(mostOthers, len(list))]
		return nil
	})
	if err != nil {
		return err
	}
	var wants []want
	for _, list := range hits {
		wants = append(wants, lists.Map(list, func(f found) want { return want{f.path, f.blob} })...)
	}
	have, _, err := r.cache.get(r.objects, wants)
	if err != nil {
		return err
	}
	if err := r.outlineAll(ctx, have); err != nil {
		return err
	}
	for i, w := range all {
		neighbours := w.others
		w.rng.Shuffle(len(neighbours), func(a, b int) { neighbours[a], neighbours[b] = neighbours[b], neighbours[a] })
		w.others = nil
		for _, f := range hits[i] {
			s := have[want{f.path, f.blob}]
			if s != nil && s.skip == "" && !s.secret {
				w.others = append(w.others,
					related{source: s, why: "it has words of the task: " + strings.Join(f.words, ", "), tier: 1})
			}
		}
		for _, n := range neighbours {
			if len(w.others) < mostOthers && !slices.ContainsFunc(w.others, func(o related) bool { return o.path == n.path }) {
				w.others = append(w.others, n)
			}
		}
	}
	return nil
}
