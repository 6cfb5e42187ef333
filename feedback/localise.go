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
)

// Place is a range of lines that a feedback may be about.
type Place struct {
	Path  string `json:"path"`
	Start int    `json:"start"`
	End   int    `json:"end"`
	Text  string `json:"text"`
	Why   string `json:"why"` // the feedback names it, or which of its words stand there
}

// Places is where to look.
type Places struct {
	Base    string   `json:"base"` // the commit that was looked at
	Places  []Place  `json:"places"`
	Skipped []string `json:"skipped,omitempty"` // files that were named and are not there
}

// String tells it to people.
func (p Places) String() string {
	var list []string
	for _, at := range p.Places {
		list = append(list, fmt.Sprintf("%s:%d-%d", at.Path, at.Start, at.End))
	}
	text := "places: " + first(strings.Join(list, ", "), "none was found")
	if len(p.Skipped) > 0 {
		text += "; not there: " + strings.Join(p.Skipped, ", ")
	}
	return text
}

// Files reads the files of a commit. One that is not there, or is no text, is told with false.
type Files func(ctx context.Context, path string) (text string, ok bool, err error)

var rangeForm = lazyre.New(`([\w./-]*\w):(\d{1,7})(?:-(\d{1,7}))?`)

// The bounds of what localise finds.
const (
	mostPlaces = 8
	mostLines  = 60 // of one place
	around     = 4  // lines before and behind a line that has a word of the feedback
)

// Localise finds the places that a feedback is about, without a model and always the same (FIX-10): ranges that it names,
// and without one the lines of the candidate files that have the most of its words. Files that are not there are told of
// and left out.
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
		if strings.HasPrefix(m[1], "//") || strings.Contains(body, "://"+m[1]) || len(out.Places) == mostPlaces || !strings.ContainsAny(name, "./") {
			continue // an address with a port, or a time of day
		}
		lines, ok, err := load(name)
		if err != nil {
			return Places{}, err
		}
		start, _ := strconv.Atoi(m[2])
		end, _ := strconv.Atoi(first(m[3], m[2]))
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
	if !slices.Contains(p.Skipped, name) {
		p.Skipped = append(p.Skipped, name)
	}
}

func (p *Places) add(name string, lines []string, start, end int, why string) {
	end = min(end, start+mostLines-1)
	p.Places = append(p.Places, Place{Path: name, Start: start, End: end, Text: strings.Join(lines[start-1:end], "\n"), Why: why})
}

// search adds the lines of a file that have the most words of a feedback; where none has, its beginning.
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

// keywords are the words of a text that say something, in small letters, each once; parts of a name in camel case or
// with underscores count as well.
func keywords(text string) []string {
	var out []string
	add := func(w string) {
		w = strings.ToLower(w)
		if len([]rune(w)) >= 3 && !slices.Contains(common(), w) && !slices.Contains(out, w) && strings.ContainsFunc(w, unicode.IsLetter) {
			out = append(out, w)
		}
	}
	for _, name := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' }) {
		add(name)
		for _, part := range strings.Split(name, "_") {
			add(part)
		}
	}
	return out
}

// common are words that stand everywhere.
func common() []string {
	return strings.Fields("the and for with that this from not are was has have does doesn should would could when then than but its into out all any can will there here which what who how why wrong bug fix return func def class import string int true false")
}

// localPath tells whether a name is a path inside of the repository that a fix may be about.
func localPath(name string) bool {
	clean := path.Clean(strings.ReplaceAll(name, `\`, "/"))
	top, _, _ := strings.Cut(clean, "/")
	return name != "" && fence.Line(name) == name && clean != "." && !path.IsAbs(clean) && top != ".." && !strings.EqualFold(top, ".git") && !strings.EqualFold(top, ".runplan") &&
		!strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f || r == '`' || r == ':' }) && !strings.HasPrefix(clean, "-")
}
