package main

import (
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/runplan/runplan/agents/solver"
	"github.com/runplan/runplan/internal/lists"
)

// part is a range of lines of a file as a prompt shows it.
type part struct {
	path  string
	start int
	lines []string
}

var (
	fileRE  = regexp.MustCompile("^### `(.*)`$")
	linesRE = regexp.MustCompile(`(?:^|, )lines? (\d+)(?:-\d+)?, (?:whole|exact).*:$`)
	fenceRE = regexp.MustCompile("^(~{3,}|`{3,})")
)

// shown parses the parts of a prompt that are lines as in their files.
func shown(prompt string) []part {
	var out []part
	path, start, fence := "", 0, ""
	for _, l := range strings.Split(prompt, "\n") {
		switch {
		case fence != "" && l == fence:
			fence, start = "", 0
		case fence != "":
			if start > 0 {
				last := &out[len(out)-1]
				last.lines = append(last.lines, l)
			}
		case fenceRE.MatchString(l):
			if fence = fenceRE.FindString(l); start > 0 {
				out = append(out, part{path: path, start: start})
			}
		case fileRE.MatchString(l):
			path = fileRE.FindStringSubmatch(l)[1]
		case path != "" && linesRE.MatchString(l):
			start, _ = strconv.Atoi(linesRE.FindStringSubmatch(l)[1])
		}
	}
	return out
}

// quote is the place of an edit in a part: its first line, and the number of its lines.
type quote struct{ at, lines int }

// close is the greatest distance in lines of a guess from an edit that it finds.
const close = 3

// finds reports whether a guessed line is close to the quote.
func (q quote) finds(line int) bool { return line >= q.at-close && line < q.at+q.lines+close }

// byChance returns the share of the places in a part of n lines at which a quote of this length could be, so that the
// guessed line would be close to it. A line in the middle is close to more of them than the first and the last line.
func (q quote) byChance(line, n int) float64 {
	hits := 0
	for at := 0; at+q.lines <= n; at++ {
		if (quote{at, q.lines}).finds(line) {
			hits++
		}
	}
	return float64(hits) / float64(n-q.lines+1)
}

// edited returns for each part what edits quote of it.
func edited(parts []part, completion string) ([][]quote, error) {
	answer, err := solver.ParseAnswer(completion)
	if err != nil {
		return nil, err
	}
	out := make([][]quote, len(parts))
	for i, p := range parts {
		for _, e := range answer.Edits {
			text := strings.Split(strings.TrimSuffix(e.Search, "\n"), "\n")
			if e.Path != p.path || strings.TrimSpace(e.Search) == "" {
				continue
			}
			for at := 0; at+len(text) <= len(p.lines); at++ {
				if slices.Equal(p.lines[at:at+len(text)], text) {
					out[i] = append(out[i], quote{at, len(text)})
				}
			}
		}
	}
	return out, nil
}

// picks lists ways to guess the edited part without reading it.
var picks = []struct {
	name string
	of   func(parts []part) int
}{
	{"the first part", func([]part) int { return 0 }},
	{"the last part", func(p []part) int { return len(p) - 1 }},
	{"the part in the middle", func(p []part) int { return len(p) / 2 }},
	{"the longest part", func(p []part) int { return extreme(p, 1) }},
	{"the shortest part", func(p []part) int { return extreme(p, -1) }},
	{"the first of the file with most parts", func(p []part) int {
		count, best := map[string]int{}, 0
		for _, x := range p {
			count[x.path]++
		}
		for i, x := range p {
			if count[x.path] > count[p[best].path] {
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
func extreme(p []part, sign int) int {
	best := 0
	for i, x := range p {
		if sign*len(x.lines) > sign*len(p[best].lines) {
			best = i
		}
	}
	return best
}

// trial counts the hits of a method of guessing, and the expected hits of random guesses.
type trial struct {
	name                 string
	n                    int
	hits, chance, spread float64
}

func (t *trial) add(hit bool, chance float64) {
	if t.n++; hit {
		t.hits++
	}
	t.chance, t.spread = t.chance+chance, t.spread+chance*(1-chance)
}

// margin is the share by which a guess may beat chance: commits change the ends of functions and files more often than
// other places, wherever a part begins and ends.
const margin = 0.05

// limit is the highest number of hits that counts as chance: three standard deviations above it, or the margin.
func (t *trial) limit() float64 { return t.chance + max(3*math.Sqrt(t.spread), margin*float64(t.n)) }

// guess measures how often each way of guessing finds the edited part, or the edited lines of one, compared with
// chance.
func guess(w io.Writer, dirs []string) error {
	all, err := readCode(dirs)
	if err != nil {
		return err
	}
	trials := make([]trial, len(picks)+len(places))
	for _, e := range all {
		parts := slices.DeleteFunc(shown(prompt(e)), func(p part) bool { return len(p.lines) == 0 })
		quotes, err := edited(parts, e.Completion)
		if err != nil {
			return fmt.Errorf("%s: %w", e.ID, err)
		}
		with := lists.Count(quotes, func(q []quote) bool { return len(q) > 0 })
		if with == 0 {
			continue // only new files, or an edit of a deleted file
		}
		for k, p := range picks {
			trials[k].name = p.name
			trials[k].add(len(quotes[p.of(parts)]) > 0, float64(with)/float64(len(parts)))
		}
		for i, all := range quotes {
			if len(all) == 0 {
				continue
			}
			n := len(parts[i].lines)
			for k, p := range places {
				line, missed := p.of(n), 1.0
				for _, q := range all {
					missed *= 1 - q.byChance(line, n)
				}
				t := &trials[len(picks)+k]
				t.name = "in an edited part, " + p.name
				t.add(slices.ContainsFunc(all, func(q quote) bool { return q.finds(line) }), 1-missed)
			}
		}
	}
	if trials[0].n == 0 {
		return fmt.Errorf("no example edits an existing file")
	}
	fmt.Fprintf(w, "%-48s %6s %7s %7s  %s\n", "guess", "times", "right", "chance", "at most")
	var better []string
	for _, t := range trials {
		share := func(x float64) float64 { return 100 * x / float64(t.n) }
		fmt.Fprintf(w, "%-48s %6d %5.1f %% %5.1f %%  %5.1f %%\n", t.name, t.n, share(t.hits), share(t.chance),
			share(t.limit()))
		if t.hits > t.limit() {
			better = append(better, t.name)
		}
	}
	if len(better) > 0 {
		return fmt.Errorf("better than chance: %s", strings.Join(better, "; "))
	}
	return nil
}
