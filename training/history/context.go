package history

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/fence"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/knowledge/outline"
	"github.com/runplan/runplan/knowledge/retrieve"
	"github.com/runplan/runplan/training/edits"
	"github.com/runplan/runplan/training/guess"
)

// context builds a retrieval result for a change: chunks of the changed files and of the files that they use, and
// signatures of used code. Within changed files, these are the symbols that new lines call. Changed files also get
// other signatures: otherwise signatures would only be in files without an edit, and so reveal them.
func (m *maker) context(w *work, answers []edits.Answer) (retrieve.Package, []*source, string) {
	p := retrieve.Package{Task: w.Hash, Budget: m.Budget.Retrieval()}
	parts, texts, must, bad := m.windows(w, answers)
	if bad != "" {
		return p, nil, bad
	}
	p.Parts = parts
	described := func(s *source, i, tier int) bool {
		x := &s.symbols[i]
		if !x.piece || slices.ContainsFunc(parts,
			func(o retrieve.Part) bool { return o.Path == s.path && o.Start <= x.end && x.start <= o.End }) {
			return false
		}
		p.Parts = append(p.Parts, m.described(s, x, tier))
		return true
	}
	var counts []int
	for _, d := range w.deps {
		texts = append(texts, d.source)
		n := 0
		for _, u := range d.uses {
			for _, i := range d.find(u) {
				if d.symbols[i].short == u && described(d.source, i, d.tier) {
					n++
				}
			}
		}
		counts = append(counts, n)
	}
	fresh := w.fresh()
	for _, s := range w.before() {
		for i := range s.symbols {
			if x := &s.symbols[i]; x.telling() && !common.Has(x.short) && fresh[x.usage()] {
				described(s, i, 2)
			}
		}
	}
	if len(counts) > 0 {
		for _, s := range w.before() {
			n := counts[w.rng.IntN(len(counts))]
			for _, i := range w.usedFirst(s) {
				if n > 0 && described(s, i, 2) {
					n--
				}
			}
		}
	}
	p = p.Trimmed(p.Budget, m.Budget)
	kept := lists.Count(p.Parts, func(part retrieve.Part) bool { return part.Detail == retrieve.Primary })
	switch {
	case kept < must:
		return p, nil, "the changed code does not fit into the context"
	case len(p.Parts) == 0:
		return p, nil, "no code of the repository is shown"
	}
	paths := p.Paths()
	texts = slices.DeleteFunc(texts, func(s *source) bool { return !slices.Contains(paths, s.path) })
	return p, texts, ""
}

// guesses tries to guess from the parts of a context where the edits are.
func (w *work) guesses(p retrieve.Package, answers []edits.Answer) guess.Trials {
	var parts []guess.Part
	for _, part := range p.Parts {
		if part.Detail != retrieve.Primary {
			continue
		}
		shown := guess.Part{Path: part.Path, Lines: part.End - part.Start + 1}
		for i, c := range w.changes {
			for _, b := range answers[i].Blocks {
				if c.before != nil && c.path == part.Path && part.Start <= b.From+1 && b.To <= part.End && b.From < b.To {
					shown.Edits = append(shown.Edits, guess.Quote{At: b.From + 1 - part.Start, Lines: b.To - b.From})
				}
			}
		}
		parts = append(parts, shown)
	}
	return guess.Try(parts)
}

// fresh returns the identifiers that are in the new lines but not in the old lines, in the form of [words].
func (w *work) fresh() map[string]bool {
	old, now := map[string]bool{}, map[string]bool{}
	for _, c := range w.changes {
		for _, h := range c.hunks {
			python := strings.HasSuffix(c.path, ".py")
			maps.Copy(old, words(bareCode(c.old(h), python)))
			maps.Copy(now, words(bareCode(c.now(h), python)))
		}
	}
	maps.DeleteFunc(now, func(word string, _ bool) bool { return old[word] })
	return now
}

// usage returns a use of a symbol as [words] writes it: a member follows a dot.
func (s *symbol) usage() string {
	if s.parent >= 0 || s.kind == outline.Method {
		return "." + s.short
	}
	return "=" + s.short
}

// usedFirst returns the symbols of a file in random order, those that the changed code uses first.
func (w *work) usedFirst(s *source) []int {
	used, other := []int(nil), []int(nil)
	for _, i := range w.rng.Perm(len(s.symbols)) {
		if w.words[s.symbols[i].short] {
			used = append(used, i)
		} else {
			other = append(other, i)
		}
	}
	return append(used, other...)
}

// edits returns the edits with which a model would make the change: its hunks, and nothing else of the new version.
func (c *change) edits() (edits.Answer, error) {
	before, after := c.sides()
	var now []string
	at := 0
	for _, h := range c.hunks {
		now = append(append(now, before[at:h.From]...), after[h.NewFrom:h.NewTo]...)
		at = h.To
	}
	now = append(now, before[at:]...)
	return edits.Change{Path: c.path, Before: before, After: now, Made: c.before == nil, Deleted: c.after == nil,
		Hunks: c.hunks}.Write(strings.Join(before, ""), strings.Join(now, ""))
}

// described shows a symbol by signature and documentation, and a class with the signatures of its members.
func (m *maker) described(s *source, x *symbol, tier int) retrieve.Part {
	text := cmp.Or(x.signature, string(x.kind)+" "+x.name)
	if doc := strings.TrimSpace(x.doc); doc != "" {
		text += "\n" + retrieve.Indented(doc)
	}
	if x.kind == outline.Class {
		var members []string
		for i := range s.symbols {
			if y := &s.symbols[i]; y.start > x.start && y.end <= x.end {
				members = append(members,
					fmt.Sprintf("%s  (line %d)", phrase.Cut(cmp.Or(y.signature, string(y.kind)+" "+y.short), 200), y.start))
			}
		}
		if len(members) > 0 {
			text += "\n" + retrieve.Indented(strings.Join(members, "\n"))
		}
	}
	p := retrieve.Part{
		Path: s.path, Symbol: x.name, Kind: string(x.kind), Start: x.start, End: x.end, Tier: tier,
		Detail: retrieve.Supporting, Why: "the change uses it",
		Text: m.sentry.hide(fence.Clean(text)),
	}
	p.Tokens = m.Budget.Of(p.String())
	return p
}
