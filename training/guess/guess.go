// Package guess guesses where the edits of an example are, by the order and the lengths of the parts that its prompt
// shows. No way to guess may be right more often than a random guess, or a model learns the way instead of reading.
package guess

import (
	"math"
	"slices"

	"github.com/runplan/runplan/internal/lists"
)

// Part is a range of lines of a file as a prompt shows it.
type Part struct {
	Path  string
	Lines int
	Edits []Quote
}

// Quote is the place of an edit in a part: its first line, from 0 on, and the number of its lines.
type Quote struct{ At, Lines int }

// near is the greatest distance in lines of a guess from an edit that it finds.
const near = 3

// finds reports whether a guessed line is close to the quote.
func (q Quote) finds(line int) bool { return line >= q.At-near && line < q.At+q.Lines+near }

// byChance returns the probability that a guessed line is close to a quote of this length at a random place in n lines.
// It is higher for a line in the middle than for the first and the last line.
func (q Quote) byChance(line, n int) float64 {
	hits := 0
	for at := 0; at+q.Lines <= n; at++ {
		if (Quote{at, q.Lines}).finds(line) {
			hits++
		}
	}
	return float64(hits) / float64(n-q.Lines+1)
}

// picks lists ways to guess the edited part.
var picks = []struct {
	name string
	of   func([]Part) int
}{
	{"the first part", func([]Part) int { return 0 }},
	{"the last part", func(p []Part) int { return len(p) - 1 }},
	{"the part in the middle", func(p []Part) int { return len(p) / 2 }},
	{"the longest part", func(p []Part) int { return extreme(p, 1) }},
	{"the shortest part", func(p []Part) int { return extreme(p, -1) }},
	{"the first of the file with most parts", func(p []Part) int {
		count, best := map[string]int{}, 0
		for _, x := range p {
			count[x.Path]++
		}
		for i, x := range p {
			if count[x.Path] > count[p[best].Path] {
				best = i
			}
		}
		return best
	}},
}

// places lists ways to guess the line in an edited part of n lines.
var places = []struct {
	name string
	of   func(n int) int
}{
	{"its middle", func(n int) int { return n / 2 }},
	{"its fourth line", func(n int) int { return min(3, n-1) }},
	{"the fourth line from its end", func(n int) int { return max(0, n-4) }},
	{"its first line", func(int) int { return 0 }},
	{"its last line", func(n int) int { return n - 1 }},
}

// extreme returns the longest (1) or shortest (-1) part.
func extreme(p []Part, sign int) int {
	best := 0
	for i, x := range p {
		if sign*x.Lines > sign*p[best].Lines {
			best = i
		}
	}
	return best
}

// Trial counts the hits of one way to guess.
type Trial struct {
	N      int     `json:"n"`
	Hits   int     `json:"hits"`
	Chance float64 `json:"chance"` // expected hits of random guesses
	Spread float64 `json:"spread"` // their variance
}

func (t *Trial) add(hit bool, chance float64) {
	if t.N++; hit {
		t.Hits++
	}
	t.Chance, t.Spread = t.Chance+chance, t.Spread+chance*(1-chance)
}

// margin is the share by which a guess may be better than a random one: commits change the ends of functions and files
// more often than other places, wherever a part begins and ends.
const margin = 0.05

// Limit returns the number of hits above Chance that is still chance: three standard deviations, or the margin.
func (t *Trial) Limit() float64 { return max(3*math.Sqrt(t.Spread), margin*float64(t.N)) }

// Names returns the ways to guess, in the order of the trials of [Try].
func Names() []string {
	var out []string
	for _, p := range picks {
		out = append(out, p.name)
	}
	for _, p := range places {
		out = append(out, "in an edited part, "+p.name)
	}
	return out
}

// Trials are the hits of each way to guess.
type Trials []Trial

// Try guesses the edited part of an example, and the place in each edited part. The trials are empty if no part is
// edited.
func Try(parts []Part) Trials {
	out := make(Trials, len(picks)+len(places))
	edited := lists.Count(parts, func(p Part) bool { return len(p.Edits) > 0 })
	if edited == 0 {
		return out
	}
	for k, p := range picks {
		out[k].add(len(parts[p.of(parts)].Edits) > 0, float64(edited)/float64(len(parts)))
	}
	for _, part := range parts {
		if len(part.Edits) == 0 {
			continue
		}
		for k, p := range places {
			line, missed := p.of(part.Lines), 1.0
			for _, q := range part.Edits {
				missed *= 1 - q.byChance(line, part.Lines)
			}
			found := slices.ContainsFunc(part.Edits, func(q Quote) bool { return q.finds(line) })
			out[len(picks)+k].add(found, 1-missed)
		}
	}
	return out
}

// Plus returns the sum of two series of trials.
func (t Trials) Plus(o Trials) Trials {
	out := slices.Clone(o)
	for i, x := range t {
		out[i] = Trial{x.N + o[i].N, x.Hits + o[i].Hits, x.Chance + o[i].Chance, x.Spread + o[i].Spread}
	}
	return out
}

// Tell reports whether one more example makes a way to guess better than chance: it is right for this example, and then
// right more often than by half of the limit. The other half is for those who measure all examples of several
// histories.
func (t Trials) Tell(more Trials) bool {
	for i, sum := range t.Plus(more) {
		if x := more[i]; float64(x.Hits) > x.Chance && float64(sum.Hits) > sum.Chance+sum.Limit()*0.8 {
			return true
		}
	}
	return false
}
