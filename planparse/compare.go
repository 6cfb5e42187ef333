package planparse

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
)

// Change describes the change of one batch between two versions of a plan.
type Change struct {
	Old, New *Batch // nil if the batch exists only in the other version
	Kind     ChangeKind
	What     []string // with ChangedWork: each difference, for people
	Unsure   bool     // same number, but the title and most of the text differ
	From     []*Batch // with Added: old batches that contain all of its tasks, as after a split
	Partly   []*Batch // with Added: old batches that contain some of its tasks
}

// ChangeKind says how a [Change] affects finished work.
type ChangeKind string

// The kinds of changes.
const (
	Unchanged   ChangeKind = "unchanged"
	ChangedText ChangeKind = "text" // only prose differs; files, commands, code, tasks and order are the same
	ChangedWork ChangeKind = "work" // the required work differs
	Added       ChangeKind = "new"
	Removed     ChangeKind = "removed"
)

// Thresholds of [alike]: for titles or texts of the same thing, and for unrelated texts.
const (
	samePart   = 0.6
	otherWords = 0.25
)

// Compare matches the batches of two versions of a plan: by key and title, by title, by text, and last by number.
// The changes follow the order of the new plan, with the removed batches last.
func Compare(old, now *Plan) []Change {
	of := matches(old, now)
	var out []Change
	used := map[*Batch]bool{}
	for i := range now.Batches {
		b := &now.Batches[i]
		m, ok := of[b]
		if !ok {
			out = append(out, Change{New: b, Kind: Added})
			continue
		}
		used[m] = true
		c := Change{Old: m, New: b}
		c.What = differences(m, b, needs(old, m, nil), needs(now, b, of))
		switch {
		case len(c.What) > 0:
			c.Kind = ChangedWork
			c.Unsure = alike(m.Title, b.Title) < samePart && alike(content(m), content(b)) < samePart
		case words(m.Title) != words(b.Title) || words(m.Text) != words(b.Text):
			c.Kind = ChangedText
		default:
			c.Kind = Unchanged
		}
		out = append(out, c)
	}
	for i := range old.Batches {
		if b := &old.Batches[i]; !used[b] {
			out = append(out, Change{Old: b, Kind: Removed})
		}
	}
	for i := range out {
		if out[i].Kind == Added {
			out[i].origins(old)
		}
	}
	return out
}

// matches maps the new plan's batches to the old one's, the most reliable criterion first. A criterion counts only
// if it matches exactly one batch with one batch.
func matches(old, now *Plan) map[*Batch]*Batch {
	of, used := map[*Batch]*Batch{}, map[*Batch]bool{}
	by := func(name func(b *Batch) string) {
		left, right := map[string][]*Batch{}, map[string][]*Batch{}
		group := func(p *Plan, into map[string][]*Batch, taken func(*Batch) bool) {
			for i := range p.Batches {
				if b := &p.Batches[i]; !taken(b) {
					if n := name(b); n != "" {
						into[n] = append(into[n], b)
					}
				}
			}
		}
		group(old, left, func(b *Batch) bool { return used[b] })
		group(now, right, func(b *Batch) bool { return of[b] != nil })
		for _, n := range slices.Sorted(maps.Keys(right)) {
			if l, r := left[n], right[n]; len(l) == 1 && len(r) == 1 {
				of[r[0]], used[l[0]] = l[0], true
			}
		}
	}
	text := func(b *Batch) string { return words(b.Title) + "\n" + words(b.Text) }
	by(func(b *Batch) string { return b.Key + "\n" + text(b) })
	by(text)
	by(func(b *Batch) string { return b.Key + "\n" + words(b.Title) })
	by(func(b *Batch) string { return words(b.Title) })
	by(func(b *Batch) string { return words(b.Text) })
	by(func(b *Batch) string { // the same number, unless the batches are clearly different
		if o, ok := old.Batch(b.Key); ok {
			if n, ok := now.Batch(b.Key); ok && alike(o.Title, n.Title) < samePart &&
				alike(content(o), content(n)) < otherWords {
				return ""
			}
		}
		return b.Key
	})
	return of
}

// origins finds the old batches with tasks of a new batch.
func (c *Change) origins(old *Plan) {
	all := true
	for _, t := range parts(c.New) {
		found := false
		for i := range old.Batches {
			b := &old.Batches[i]
			if !slices.Contains(parts(b), t) {
				continue
			}
			found = true
			c.Partly = lists.Add(c.Partly, b)
		}
		all = all && found
	}
	if all && len(c.Partly) > 0 {
		c.From = c.Partly
	}
}

// content returns the text of a batch without headings.
func content(b *Batch) string {
	out := titles(b)
	for line := range strings.Lines(b.Text) {
		if !strings.HasPrefix(line, "#") {
			out = append(out, line)
		}
	}
	return strings.Join(out, " ")
}

// parts returns the task titles of a batch in comparable form; without tasks, its steps.
func parts(b *Batch) []string {
	out := titles(b)
	if len(b.Tasks) == 0 {
		out = steps(b)
	}
	for i := range out {
		out[i] = words(out[i])
	}
	return out
}

// differences lists the differences between the work of two versions of a batch.
func differences(old, now *Batch, then, needs []string) []string {
	var out []string
	lists := func(what string, a, b []string) {
		gone, added := unmatched(a, b)
		out = append(out, lists.Map(added, func(x string) string { return fmt.Sprintf("%s %s is new", what, x) })...)
		out = append(out, lists.Map(gone, func(x string) string { return fmt.Sprintf("%s %s is gone", what, x) })...)
	}
	lists("task", titles(old), titles(now))
	lists("step", steps(old), steps(now))
	lists("creating", old.Files.Create, now.Files.Create)
	lists("modifying", old.Files.Modify, now.Files.Modify)
	lists("test file", old.Files.Test, now.Files.Test)
	lists("deleting", old.Files.Delete, now.Files.Delete)
	lists("command", commands(old), commands(now))
	lists("the need of", then, needs)
	lists("regression test", old.Regression, now.Regression)
	for _, f := range []struct {
		name     string
		old, now any
	}{
		{"when", old.When, now.When}, {"critical", old.Critical, now.Critical}, {"approve", old.Approve, now.Approve},
		{"parallel_safe", old.ParallelSafe, now.ParallelSafe}, {"test_first", old.TestFirst, now.TestFirst},
		{"mutants", old.Mutants, now.Mutants},
	} {
		if f.old != f.now {
			out = append(out, fmt.Sprintf("%s is %v instead of %v", f.name, f.now, f.old))
		}
	}
	if !slices.Equal(code(old.Text), code(now.Text)) {
		out = append(out, "its code blocks differ")
	}
	return out
}

// needs returns the titles of the batches that b waits for. If of maps such a batch to its old version, the old title
// is used.
func needs(p *Plan, b *Batch, of map[*Batch]*Batch) []string {
	var out []string
	for _, key := range b.DependsOn {
		n, ok := p.Batch(key)
		if !ok {
			continue
		}
		if was, ok := of[n]; ok {
			n = was
		}
		out = append(out, fmt.Sprintf("%q", n.Title))
	}
	return out
}

// unmatched returns the elements that only one of two lists has, with duplicates. Nearly equal texts match.
func unmatched(a, b []string) (gone, added []string) {
	left := slices.Clone(a)
	take := func(fits func(x string) bool) bool {
		i := slices.IndexFunc(left, fits)
		if i >= 0 {
			left = slices.Delete(left, i, i+1)
		}
		return i >= 0
	}
	rest := lists.Filter(b, func(y string) bool { return !take(func(x string) bool { return words(x) == words(y) }) })
	added = lists.Filter(rest, func(y string) bool { return !take(func(x string) bool { return mended(x, y) }) })
	return left, added
}

// mended reports whether two texts differ only in small typos: the same number of words, each equal or nearly
// equal. Single words and code must be equal, because they may be paths, commands or keys.
func mended(a, b string) bool {
	x, y := strings.Fields(words(a)), strings.Fields(words(b))
	if len(x) != len(y) || len(x) < 2 || strings.HasPrefix(a, "`") {
		return false
	}
	slips := 0
	for i := range x {
		if x[i] == y[i] {
			continue
		}
		shorter := min(len(x[i]), len(y[i]))
		slips++
		if shorter < 3 || !isLetter(x[i][0]) || !isLetter(y[i][0]) || distance(x[i], y[i]) > 1+shorter/6 {
			return false
		}
	}
	return slips <= 1+len(x)/6
}

func titles(b *Batch) []string {
	return lists.Map(b.Tasks, func(t Task) string { return t.Title })
}

func steps(b *Batch) []string {
	var out []string
	for _, t := range b.Tasks {
		out = append(out, lists.Map(t.Steps, func(s Step) string { return s.Text })...)
	}
	out = append(out, lists.Map(b.Steps, func(s Step) string { return s.Text })...)
	return out
}

func commands(b *Batch) []string {
	var out []string
	for _, c := range b.Commands {
		text := "`" + c.Run + "`"
		if c.Expected != "" {
			text += ", expected " + c.Expected
		}
		out = append(out, text)
	}
	return out
}

// code returns the fenced lines of a text.
func code(text string) []string {
	var out []string
	var stack []fenceLevel
	for line := range strings.Lines(text) {
		trimmed := bytes.TrimSpace([]byte(line))
		level, info, ok := fenceLine(trimmed)
		if ok {
			stack = nest(stack, level, info)
		}
		if len(stack) > 0 || ok {
			out = append(out, string(trimmed))
		}
	}
	return out
}

// words normalizes a text for comparison: without box states, extra white space and case.
func words(text string) string {
	return phrase.Line(strings.ReplaceAll(strings.ToLower(text), "[x]", "[ ]"))
}

// alike returns the similarity of two texts, from 0 to 1: the share of their letter pairs that both have.
func alike(a, b string) float64 {
	x, y := pairs(a), pairs(b)
	n, both := 0, 0
	for p, c := range x {
		n += c
		both += min(c, y[p])
	}
	for _, c := range y {
		n += c
	}
	if n == 0 {
		if words(a) == words(b) {
			return 1
		}
		return 0
	}
	return 2 * float64(both) / float64(n)
}

// pairs counts the letter pairs in the words of a text.
func pairs(text string) map[[2]rune]int {
	out := map[[2]rune]int{}
	last := ' '
	for _, r := range strings.ToLower(text) {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			r = ' '
		}
		if last != ' ' || r != ' ' {
			out[[2]rune{last, r}]++
		}
		last = r
	}
	return out
}

// Rename replaces the batch keys of the plan by those of a run.
func (p *Plan) Rename(keys map[string]string) {
	of := func(key string) string {
		if k, ok := keys[key]; ok {
			return k
		}
		return key
	}
	for i := range p.Batches {
		b := &p.Batches[i]
		b.Key = of(b.Key)
		for j := range b.DependsOn {
			b.DependsOn[j] = of(b.DependsOn[j])
		}
		if b.Checkpoint != nil {
			b.Checkpoint.At = of(b.Checkpoint.At)
		}
	}
}
