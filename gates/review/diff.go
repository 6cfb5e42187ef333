package review

import (
	"context"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/fence"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
)

// shown is the change that reviewers see, and that findings are proven with.
type shown struct {
	files   []shownFile
	unseen  []string // files that cannot be shown: too large, or no text
	changed int      // all files that differ
	hide    func(string) string
}

// shownFile is one file of the diff.
type shownFile struct {
	path  string
	text  string // unified diff, without invisible characters and secrets
	lines []shownLine
	after []string // the current lines of the file
}

// shownLine is a line of the diff as reviewers see it.
type shownLine struct {
	text   string // without the sign, its white space evened out
	number int    // in the new file; 0 for a removed line
}

// show reads the change.
func show(ctx context.Context, s gates.Subject) (shown, error) {
	out := shown{hide: s.Redact}
	if s.Diff == nil {
		return out, nil
	}
	changes, err := s.Diff.Changes(ctx)
	if err != nil {
		return out, err
	}
	out.changed = len(changes)
	files, large, err := gates.Files(ctx, s.Diff, func(c gates.Change) bool { return !locked(c.Path) })
	if err != nil {
		return out, err
	}
	out.unseen = append(out.unseen, lists.Map(large, fence.Line)...)
	for _, f := range files {
		if f.Before == f.After {
			out.unseen = append(out.unseen, fence.Line(f.Path)) // binary, a mode, or an empty file
			continue
		}
		out.files = append(out.files, showFile(f, s.Redact))
	}
	return out, nil
}

// locked reports whether p is a generated lock file, which people do not read.
func locked(p string) bool {
	return slices.Contains([]string{
		"go.sum", "package-lock.json", "pnpm-lock.yaml", "yarn.lock", "Cargo.lock", "poetry.lock", "uv.lock", "Pipfile.lock",
		"composer.lock", "Gemfile.lock",
	}, path.Base(p))
}

func showFile(f gates.File, hide func(string) string) shownFile {
	name := fence.Line(f.Path)
	from, to := "a/"+name, "b/"+name
	switch f.Status {
	case gates.Added:
		from = "/dev/null"
	case gates.Deleted:
		to = "/dev/null"
	}
	text := string(diff.Diff(from, []byte(f.Before), to, []byte(f.After)))
	if _, rest, ok := strings.Cut(text, "\n"); ok {
		text = rest // the first line only repeats the names
	}
	out := shownFile{path: f.Path, after: strings.Split(f.After, "\n")}
	n := 0
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case strings.HasPrefix(line, "--- ") && n == 0, strings.HasPrefix(line, "+++ ") &&
			n == 0, strings.HasPrefix(line, `\ `):
		case strings.HasPrefix(line, "@@ "):
			n = hunkStart(line)
		case strings.HasPrefix(line, "-"):
			out.lines = append(out.lines, shownLine{phrase.Line(safe(line[1:], hide)), 0})
		case line != "":
			out.lines = append(out.lines, shownLine{phrase.Line(safe(line[1:], hide)), n})
			n++
		}
	}
	out.text = safe(text, hide)
	return out
}

// safe removes secrets and invisible characters.
func safe(text string, hide func(string) string) string {
	if hide != nil {
		text = hide(text)
	}
	return fence.Hide(fence.Clean(text))
}

// hunkStart reads the first new line of "@@ -1,3 +4,5 @@".
func hunkStart(line string) int {
	_, rest, _ := strings.Cut(line, "+")
	number, _, _ := strings.Cut(rest, " ")
	number, _, _ = strings.Cut(number, ",")
	n, err := strconv.Atoi(number)
	if err != nil {
		return 1
	}
	return max(1, n)
}

// fewestLetters is the minimum number of letters and digits in a quotation. A shorter one proves nothing: every diff
// has a brace. With enoughLetters, the quotation may be a part of a line, because a line may be too long for an answer.
const (
	fewestLetters = 3
	enoughLetters = 20
)

// prove looks for a quotation in the diff of a file. It returns the matching line that is nearest to the claimed one.
// The line is 0 if only a removed line matches.
func (s shown) prove(file, citation string, claimed int) (line int, ok bool) {
	i := slices.IndexFunc(s.files, func(f shownFile) bool { return f.path == file })
	if i < 0 {
		return 0, false
	}
	first := true
	for part := range strings.Lines(citation) {
		want := phrase.Line(strings.TrimRight(part, "\r\n"))
		if want == "" {
			continue
		}
		at, found := s.files[i].find(want, claimed)
		if !found {
			return 0, false
		}
		if first {
			line, first = at, false
		}
	}
	return line, !first && letters(citation) >= fewestLetters
}

// find looks for one line, with or without the sign of the diff.
func (f shownFile) find(want string, claimed int) (at int, found bool) {
	wants := []string{want}
	if strings.ContainsAny(want[:1], "+-") {
		wants = append(wants, strings.TrimSpace(want[1:]))
	}
	for _, l := range f.lines {
		if !slices.Contains(wants, l.text) && !(letters(want) >= enoughLetters && strings.Contains(l.text, want)) {
			continue
		}
		if !found || l.number > 0 && (at == 0 || distance(l.number, claimed) < distance(at, claimed)) {
			at = l.number
		}
		found = true
	}
	return at, found
}

func distance(a, b int) int { return max(a-b, b-a) }

func letters(s string) int {
	n := 0
	for _, r := range s {
		if r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r > 127 {
			n++
		}
	}
	return n
}

// line returns a line of the current version of a changed file, without secrets; "" if it is unknown.
func (s shown) line(file string, number int) string {
	for _, f := range s.files {
		if f.path == file && number > 0 && number <= len(f.after) {
			return phrase.Line(safe(f.after[number-1], s.hide))
		}
	}
	return ""
}

// has reports whether a changed file has this line now.
func (s shown) has(file, line string) bool {
	i := slices.IndexFunc(s.files, func(f shownFile) bool { return f.path == file })
	return i >= 0 && slices.ContainsFunc(s.files[i].after,
		func(l string) bool { return phrase.Cut(phrase.Line(safe(l, s.hide)), mostCitation) == line })
}
