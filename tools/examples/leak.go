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

// edited returns for each line of the parts whether an edit quotes it or a line close to it.
func edited(parts []part, completion string) ([][]bool, error) {
	const close = 3
	answer, err := solver.ParseAnswer(completion)
	if err != nil {
		return nil, err
	}
	out := make([][]bool, len(parts))
	for i, p := range parts {
		out[i] = make([]bool, len(p.lines))
		for _, e := range answer.Edits {
			quote := strings.Split(strings.TrimSuffix(e.Search, "\n"), "\n")
			if e.Path != p.path || strings.TrimSpace(e.Search) == "" {
				continue
			}
			for at := 0; at+len(quote) <= len(p.lines); at++ {
				if slices.Equal(p.lines[at:at+len(quote)], quote) {
					for k := max(0, at-close); k < min(len(p.lines), at+len(quote)+close); k++ {
						out[i][k] = true
					}
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

// margin limits the share by which a guess may beat chance: functions change more often in the middle than at their
// first and last lines, even without a leak.
const margin = 0.06

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
		marks, err := edited(parts, e.Completion)
		if err != nil {
			return fmt.Errorf("%s: %w", e.ID, err)
		}
		has := make([]bool, len(parts))
		with := 0
		for i, m := range marks {
			if has[i] = slices.Contains(m, true); has[i] {
				with++
			}
		}
		if with == 0 {
			continue // only new files, or an edit of a deleted file
		}
		for k, p := range picks {
			trials[k].name = p.name
			trials[k].add(has[p.of(parts)], float64(with)/float64(len(parts)))
		}
		for i, m := range marks {
			if !has[i] {
				continue
			}
			near := 0
			for _, yes := range m {
				if yes {
					near++
				}
			}
			for k, p := range places {
				t := &trials[len(picks)+k]
				t.name = "in an edited part, " + p.name
				t.add(m[p.of(len(m))], float64(near)/float64(len(m)))
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
