package feedback

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/runplan/runplan/internal/fence"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
)

// Place is a range of lines that a feedback may concern.
type Place struct {
	Path  string `json:"path"`
	Start int    `json:"start"`
	End   int    `json:"end"`
	Text  string `json:"text"`
	Why   string `json:"why"` // the feedback names the place, or which of its words occur there
}

// Places lists the places to examine.
type Places struct {
	Base    string   `json:"base"` // the examined commit
	Places  []Place  `json:"places"`
	Skipped []string `json:"skipped,omitempty"` // named files that do not exist
}

// String describes the places for people.
func (p Places) String() string {
	list := lists.Map(p.Places, func(at Place) string { return fmt.Sprintf("%s:%d-%d", at.Path, at.Start, at.End) })
	text := "places: " + cmp.Or(strings.Join(list, ", "), "none was found")
	if len(p.Skipped) > 0 {
		text += "; not found: " + strings.Join(p.Skipped, ", ")
	}
	return text
}

// Files reads files of a commit. ok is false for a missing or binary file.
type Files func(ctx context.Context, path string) (text string, ok bool, err error)

var rangeForm = lazyre.New(`([\w./-]*\w):(\d{1,7})(?:-(\d{1,7}))?`)

// Limits of the search.
const (
	mostPlaces = 8
	mostLines  = 60 // for one place
	around     = 4  // context lines around a match
)

// Localise finds the places that a feedback concerns, deterministically and without a model (FIX-10). It returns the
// ranges that the feedback names. If there are none, it returns the lines of the candidate files with the most of its
// words. Missing files are listed and skipped.
func Localise(ctx context.Context, read Files, body string, candidates []string) (Places, error) {
	var out Places
	load := func(name string) ([]string, bool, error) {
		if !localPath(name) {
			out.skip(name)
			return nil, false, nil
		}
		text, ok, err := read(ctx, name)
		if err != nil {
			return nil, false, err
		}
		if !ok {
			out.skip(name)
			return nil, false, nil
		}
		return strings.Split(strings.TrimSuffix(text, "\n"), "\n"), true, nil
	}
	for _, m := range rangeForm.FindAllStringSubmatch(body, -1) {
		name := path.Clean(m[1])
		if strings.HasPrefix(m[1], "//") || strings.Contains(body, "://"+m[1]) || len(out.Places) == mostPlaces ||
			!strings.ContainsAny(name, "./") {
			continue // an address with a port, or a time
		}
		lines, ok, err := load(name)
		if err != nil {
			return Places{}, err
		}
		start, _ := strconv.Atoi(m[2])
		end, _ := strconv.Atoi(cmp.Or(m[3], m[2]))
		if !ok || start < 1 || start > len(lines) || end < start {
			continue
		}
		out.add(name, lines, start, min(end, len(lines)), "the feedback names it")
	}
	if len(out.Places) > 0 {
		return out, nil
	}
	words := keywords(body)
	for _, name := range candidates {
		lines, ok, err := load(path.Clean(name))
		if err != nil {
			return Places{}, err
		}
		if ok {
			out.search(path.Clean(name), lines, words)
		}
	}
	return out, nil
}

func (p *Places) skip(name string) {
	p.Skipped = lists.Add(p.Skipped, name)
}

func (p *Places) add(name string, lines []string, start, end int, why string) {
	end = min(end, start+mostLines-1)
	p.Places = append(p.Places,
		Place{Path: name, Start: start, End: end, Text: strings.Join(lines[start-1:end], "\n"), Why: why})
}

// search adds the lines of a file with the most words of a feedback, or its beginning if no word matches.
func (p *Places) search(name string, lines []string, words []string) {
	if len(p.Places) >= mostPlaces {
		return
	}
	type hit struct {
		line  int
		words []string
	}
	var hits []hit
	for n, line := range lines {
		has := keywords(line)
		found := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return !slices.Contains(has, w) })
		if len(found) > 0 {
			hits = append(hits, hit{n + 1, found})
		}
	}
	if len(hits) == 0 {
		p.add(name, lines, 1, len(lines), "triage names it")
		return
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Or(len(b.words)-len(a.words), a.line-b.line) })
	for _, h := range hits[:min(2, len(hits))] {
		start, end := max(1, h.line-around), min(len(lines), h.line+around)
		near := slices.IndexFunc(p.Places, func(o Place) bool { return o.Path == name && start <= o.End && o.Start <= end })
		if near < 0 && len(p.Places) < mostPlaces {
			p.add(name, lines, start, end, "it has "+strings.Join(h.words, ", "))
		}
	}
}

// keywords returns the significant words of a text in lower case without duplicates. Parts of camel-case and
// underscored names count as well.
func keywords(text string) []string {
	var out []string
	add := func(w string) {
		w = strings.ToLower(w)
		if len([]rune(w)) >= 3 && !slices.Contains(common(), w) && !slices.Contains(out, w) &&
			strings.ContainsFunc(w, unicode.IsLetter) {
			out = append(out, w)
		}
	}
	for _, name := range strings.FieldsFunc(text,
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' }) {
		add(name)
		for _, part := range strings.Split(name, "_") {
			add(part)
		}
	}
	return out
}

// common lists words that are too frequent to be significant.
func common() []string {
	return strings.Fields(
		"the and for with that this from not are was has have does doesn should would could when then than but its into " +
			"out all any can will there here which what who how why wrong bug fix return func def class import string int " +
			"true false")
}

// localPath reports whether a path is inside of the repository and may be part of a fix.
func localPath(name string) bool {
	clean := path.Clean(strings.ReplaceAll(name, `\`, "/"))
	top, _, _ := strings.Cut(clean, "/")
	return name != "" && fence.Line(name) == name && clean != "." && !path.IsAbs(clean) && top != ".." &&
		!strings.EqualFold(top, ".git") && !strings.EqualFold(top, ".runplan") &&
		!strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f || r == '`' || r == ':' }) &&
		!strings.HasPrefix(clean, "-")
}
