package main

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/runplan/runplan/agents/solver"
	"github.com/runplan/runplan/training/guess"
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

// edited returns the parts with what the edits quote of them.
func edited(parts []part, completion string) ([]guess.Part, error) {
	answer, err := solver.ParseAnswer(completion)
	if err != nil {
		return nil, err
	}
	var out []guess.Part
	for _, p := range parts {
		part := guess.Part{Path: p.path, Lines: len(p.lines)}
		for _, e := range answer.Edits {
			text := strings.Split(strings.TrimSuffix(e.Search, "\n"), "\n")
			if e.Path != p.path || strings.TrimSpace(e.Search) == "" {
				continue
			}
			for at := 0; at+len(text) <= len(p.lines); at++ {
				if slices.Equal(p.lines[at:at+len(text)], text) {
					part.Edits = append(part.Edits, guess.Quote{At: at, Lines: len(text)})
				}
			}
		}
		out = append(out, part)
	}
	return out, nil
}

// leaks measures how often each way of guessing finds the edited part, or the edited lines of one, compared with chance.
func leaks(w io.Writer, dirs []string) error {
	all, err := readCode(dirs)
	if err != nil {
		return err
	}
	var trials guess.Trials
	for _, e := range all {
		parts, err := edited(slices.DeleteFunc(shown(prompt(e)), func(p part) bool { return len(p.lines) == 0 }), e.Completion)
		if err != nil {
			return fmt.Errorf("%s: %w", e.ID, err)
		}
		trials = trials.Plus(guess.Try(parts))
	}
	if trials[0].N == 0 {
		return fmt.Errorf("no example edits an existing file")
	}
	fmt.Fprintf(w, "%-48s %6s %7s %7s  %s\n", "guess", "times", "right", "chance", "at most")
	var better []string
	for i, name := range guess.Names() {
		t := trials[i]
		share := func(x float64) float64 { return 100 * x / float64(t.N) }
		fmt.Fprintf(w, "%-48s %6d %5.1f %% %5.1f %%  %5.1f %%\n", name, t.N, share(float64(t.Hits)), share(t.Chance),
			share(t.Chance+t.Limit()))
		if float64(t.Hits) > t.Chance+t.Limit() {
			better = append(better, name)
		}
	}
	if len(better) > 0 {
		return fmt.Errorf("better than chance: %s", strings.Join(better, "; "))
	}
	return nil
}
