package retrieve

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/knowledge/outline"
)

// Weights of the signals for a symbol. Only their order matters. It decides what is asked about if there is no room
// for all, and what is dropped first if the budget is too small.
const (
	weightNamed     = 100 // the task names it
	weightTrace     = 90  // an error was raised in it
	weightNeighbour = 40  // multiplied by the confidence of the edge
	weightAssert    = 25  // a test asserts something about it
	weightName      = 15  // it uses a core symbol by name, or is used by one
	weightKeyword   = 8   // for each word of the task in its name
	weightRationale = 5
	weightText      = 60 // best search result
)

// weightTier returns the weight that the tier of its file gives a symbol.
func weightTier(tier int) int { return []int{40, 30, 10, 5, 5}[min(max(tier, 0), 4)] }

var (
	identRE  = lazyre.New(`[A-Za-z_$][\w$]*`)
	assertRE = lazyre.New(`\bassert\w*\b|\bexpect\(|\bt\.(?:Error|Fatal)f?\(|\bcmp\.Diff\(`)
)

// core is a symbol that the task is about.
type core struct {
	file File
	*symbol
	lines string
}

// signals weighs the symbols of all files in scope: Python by its reference edges, other languages by names, tests by
// their assertions, and all by the names in the task (RETR-09).
func (p *pass) signals(ctx context.Context, s State, contents []*content) error {
	cores := p.cores(s, contents)
	edges := map[int64]string{}
	weights := map[int64]int{}
	for _, c := range cores {
		if c.id == 0 || c.file.Language != string(outline.Python) {
			continue
		}
		for _, end := range []struct {
			d   store.Direction
			why string
		}{{store.Out, c.name + " refers to it"}, {store.In, "refers to " + c.name}} {
			found, err := p.Base.Neighbors(ctx, c.id, end.d)
			if err != nil {
				return err
			}
			for _, n := range found {
				weights[n.ID] = max(weights[n.ID], int(weightNeighbour*n.Confidence))
				edges[n.ID] = fmt.Sprintf("%s (%s, %.2f)", end.why, n.Reference, n.Confidence)
			}
		}
	}
	for i, f := range s.Files {
		c := contents[i]
		for j := range c.symbols {
			x := &c.symbols[j]
			if w := weights[x.id]; w > 0 && x.id != 0 {
				x.say(w, edges[x.id])
			}
			for _, k := range s.Query.Keywords {
				if slices.Contains(Humps(x.short), k) {
					x.say(weightKeyword, "has the word "+k)
				}
			}
			if len(x.rationale) > 0 {
				x.say(weightRationale, "a comment in it gives a reason")
			}
		}
		c.byName(f, cores)
	}
	return nil
}

// cores returns the symbols that the task names, and those around the lines of its errors. If there are none, it
// returns all symbols of the seeds.
func (p *pass) cores(s State, contents []*content) []core {
	var out, all []core
	for i, f := range s.Files {
		c := contents[i]
		for _, n := range s.Query.Symbols {
			if n.Path != f.Path {
				continue
			}
			for _, x := range c.find(n.Name) {
				if x.id == n.ID || c.fresh {
					x.say(weightNamed, "the task names it")
				}
			}
		}
		for _, n := range s.Query.Files {
			if n.Path == f.Path && n.Line > 0 {
				if x := c.around(n.Line); x != nil {
					x.say(weightTrace, fmt.Sprintf("line %d, which the task names, is in it", n.Line))
				}
			}
		}
		for j := range c.symbols {
			x := core{f, &c.symbols[j], ""}
			if x.score > 0 {
				out = append(out, x)
			} else if f.Tier <= 1 && c.choosable(j) {
				all = append(all, x)
			}
		}
	}
	if len(out) == 0 {
		out = all
	}
	for i := range out {
		if c := p.contents[out[i].file.Path]; c != nil {
			out[i].lines = c.span(out[i].start, out[i].end)
		}
	}
	return out[:min(len(out), 200)]
}

// byName weighs by names: what the core uses, what uses the core, and what tests assert about it. Python code uses
// edges instead, but its tests are weighed by names.
func (c *content) byName(f File, cores []core) {
	test := language.IsTest(f.Path)
	if f.Language == string(outline.Python) && !test {
		return
	}
	for j := range c.symbols {
		x := &c.symbols[j]
		text := c.span(x.start, x.end)
		words := wordsOf(text)
		for k := range cores {
			o := &cores[k]
			if o.symbol == x || o.file.Path == f.Path &&
				(o.start <= x.start && x.end <= o.end || x.start <= o.start && o.end <= x.end) || !o.telling() {
				continue
			}
			if words[o.short] {
				x.say(weightName, "uses "+o.name)
				if line := asserting(text, o.short); test && line != "" {
					x.say(weightAssert, "its test: "+line)
				}
			}
			if !test && x.telling() && strings.Contains(o.lines, x.short) && wordsOf(o.lines)[x.short] {
				x.say(weightName, o.name+" uses its name")
			}
		}
	}
}

// telling reports whether a symbol name is specific. Names such as get and __init__ are not.
func (s *symbol) telling() bool {
	return len(s.short) >= 5 && !strings.HasPrefix(s.short, "__") || s.parent < 0 && len(s.short) >= 3
}

// asserting returns the first line of a test that asserts something about a name.
func asserting(text, name string) string {
	for line := range strings.Lines(text) {
		if strings.Contains(line, name) && assertRE.MatchString(line) {
			return phrase.Cut(phrase.Line(line), 100)
		}
	}
	return ""
}

func wordsOf(text string) map[string]bool {
	return lists.Set(identRE.FindAllString(text, -1))
}
