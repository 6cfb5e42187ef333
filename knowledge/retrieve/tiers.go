package retrieve

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/knowledge/outline"
)

// widen adds the tiers 2 to 4 to the seeds (RETR-06).
func (p *pass) widen(ctx context.Context, s *State) error {
	seeds := lists.Filter(s.Files, func(f File) bool { return f.Tier <= 1 && f.ID != 0 })
	seeds = append(seeds, p.found(s)...)
	if err := p.dependencies(ctx, s, seeds); err != nil {
		return err
	}
	if err := p.coChanges(ctx, s, seeds); err != nil {
		return err
	}
	if err := p.metadata(ctx, s); err != nil {
		return err
	}
	p.rest(s)
	return nil
}

// rest adds the other search results that a model may judge (tier 4). A task may share no word with its files.
func (p *pass) rest(s *State) {
	open := lists.Count(s.Files, func(f File) bool { return !f.Sure })
	for _, r := range p.ranked {
		if open >= p.Limits.Candidates {
			return
		}
		if !s.has(r.Path) {
			s.add(p.names.at(r.Path), 4, false, "%s", r.reason())
			open++
		}
	}
}

// Limits for candidates from the search.
const (
	mostFound = 36 // files
	bestFound = 4  // of these, files whose neighbours are candidates too
)

// found adds the files that the search ranks first, and returns the best of them (tier 2).
func (p *pass) found(s *State) []File {
	var out []File
	n := 0
	seen := map[string]bool{}
	for _, r := range p.ranked {
		if seen[r.Path] || r.Score <= 0 || r.Features[fWords] == 0 && r.Features[fMeaning] < alike {
			continue
		}
		if seen[r.Path], n = true, n+1; n > mostFound {
			break
		}
		f := p.names.at(r.Path)
		if !s.has(r.Path) && len(out) < bestFound && f.ID != 0 {
			out = append(out, File{ID: f.ID, Path: f.Path})
		}
		s.add(f, 2, false, "%s", r.reason())
	}
	return out
}

// near is a file related to seeds. Within its tier, files with a higher weight come first.
type near struct {
	file   int64
	weight int
	why    []string
}

// neighbours collects files in the order in which they are found.
type neighbours struct {
	byID  map[int64]*near
	order []*near
}

func (n *neighbours) add(file int64, weight int, why string) {
	if n.byID == nil {
		n.byID = map[int64]*near{}
	}
	x := n.byID[file]
	if x == nil {
		x = &near{file: file}
		n.byID[file], n.order = x, append(n.order, x)
	}
	x.weight += weight
	x.why = lists.Add(x.why, why)
}

// into adds the files to the scope, highest weight first.
func (n *neighbours) into(ctx context.Context, p *pass, s *State, tier int) error {
	ids := lists.Map(n.order, func(x *near) int64 { return x.file })
	files, err := p.Base.FilesByID(ctx, ids)
	if err != nil {
		return err
	}
	slices.SortStableFunc(files, func(a, b store.File) int {
		return cmp.Or(cmp.Compare(n.byID[b.ID].weight, n.byID[a.ID].weight), cmp.Compare(a.Path, b.Path))
	})
	for _, f := range files {
		s.add(f, tier, false, "%s", strings.Join(phrase.First(n.byID[f.ID].why, 3), ", "))
	}
	return nil
}

// dependencies adds the files that seeds import, and those that import seeds (tier 2).
func (p *pass) dependencies(ctx context.Context, s *State, seeds []File) error {
	ids, paths := make([]int64, len(seeds)), map[int64]string{}
	for i, f := range seeds {
		ids[i], paths[f.ID] = f.ID, f.Path
	}
	if len(ids) == 0 {
		return nil
	}
	edges, err := p.Base.Edges(ctx, ids)
	if err != nil {
		return err
	}
	var n neighbours
	for _, e := range edges {
		from, isFrom := paths[e.Source]
		to, isTo := paths[e.Target]
		switch {
		case isFrom && isTo:
		case isFrom:
			n.add(e.Target, 1, "imported by "+from)
		default:
			n.add(e.Source, 1, "imports "+to)
		}
	}
	for _, f := range seeds {
		for _, name := range p.names.siblings(f.Path) {
			n.add(p.names.files[name].ID, 1, "in the package of "+f.Path)
		}
	}
	return n.into(ctx, p, s, 2)
}

// siblings returns the files of the same Go package, which use each other without imports.
func (n names) siblings(of string) []string {
	if outline.LanguageOf(of) != outline.Go {
		return nil
	}
	return lists.Filter(slices.Sorted(maps.Keys(n.files)), func(name string) bool {
		return name != of && path.Dir(name) == path.Dir(of) && outline.LanguageOf(name) == outline.Go
	})
}

// coChanges adds files that often changed together with seeds (tier 3).
func (p *pass) coChanges(ctx context.Context, s *State, seeds []File) error {
	var n neighbours
	for _, f := range seeds {
		found, err := p.Base.CoChanges(ctx, f.ID, coChange)
		if err != nil {
			return err
		}
		for _, c := range found {
			n.add(c.File, c.Count, fmt.Sprintf("changed with %s in %d commits", f.Path, c.Count))
		}
	}
	return n.into(ctx, p, s, 3)
}

// metadata finds files by their enrichment (tier 4). Without enrichment the tier is empty (IDX-13).
func (p *pass) metadata(ctx context.Context, s *State) error {
	all, err := p.Base.FilesByMetadata(ctx, p.Repo, "", "", nil)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		p.note("no enrichment is promoted, so tier 4 (by domain, module and concepts) is skipped")
		return nil
	}
	var n neighbours
	find := func(weight int, why, domain, module string, concepts ...string) error {
		found, err := p.Base.FilesByMetadata(ctx, p.Repo, domain, module, concepts)
		for _, f := range found {
			n.add(f.ID, weight, why)
		}
		return err
	}
	q := s.Query
	if q.Domain != "" {
		if err := find(2, "domain "+q.Domain, q.Domain, ""); err != nil {
			return err
		}
	}
	if q.Module != "" {
		if err := find(2, "module "+q.Module, "", q.Module); err != nil {
			return err
		}
	}
	for _, c := range lists.Unique(slices.Concat(q.Concepts, q.Keywords)) {
		if err := find(1, "concept "+c, "", "", c); err != nil {
			return err
		}
	}
	return n.into(ctx, p, s, 4)
}
