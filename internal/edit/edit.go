// Package edit applies search/replace edits of plans, models and fixes; no other package does.
//
// An edit names a text and its replacement. The text must occur exactly once. An edit that matches several places, or
// none, is an error that quotes it, and nothing is changed. The file keeps its line endings and its final newline,
// whatever line endings the edit has.
package edit

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Errors to branch on. [MatchError] matches one of the first two.
var (
	ErrNotFound  = errors.New("search text not found")
	ErrAmbiguous = errors.New("search text is not unique")
	ErrExists    = errors.New("file exists")
	ErrNone      = errors.New("no edit block found")
	ErrSame      = errors.New("search and replace are the same")
)

// Edit replaces Search by Replace in the file Path.
type Edit struct {
	Path    string
	Search  string // empty: the file is new and Replace is its content
	Replace string
	All     bool // replace each occurrence; at least one is required
	Delete  bool // delete the file; Search and Replace are empty
	// Lines says that Search consists of whole lines, as in a block. Whole lines are tried first; a part of a line may
	// match only if no whole lines do.
	Lines bool
	Line  int // line of the edit in the text it was read from; 0 is unknown
}

// Apply returns src with e applied.
func Apply(src string, e Edit) (string, error) {
	search, replace := endings(src, e.Search), endings(src, e.Replace)
	if search == "" {
		if src != "" {
			return "", fmt.Errorf("edit %s: %w: an edit without search text creates a new file; quote the lines to replace",
				e.Path, ErrExists)
		}
		return e.Replace, nil
	}
	if search == replace {
		return "", fmt.Errorf("edit %s: %w:\n%s", e.Path, ErrSame, quote(e.Search))
	}
	if e.Lines {
		if at := wholeLines(src, search); len(at) == 1 || len(at) > 1 && e.All {
			return splice(src, at, search, replace), nil
		} else if len(at) > 1 {
			return "", newMatchError(src, e, len(at))
		}
		// Try a part of a line, with the line ends of the file.
		search, replace = chomp(search), chomp(replace)
		if search == "" {
			return "", newMatchError(src, e, 0)
		}
	}
	switch n := len(Places(src, search)); {
	case n == 1 || n > 1 && e.All:
		return strings.ReplaceAll(src, search, replace), nil
	default:
		return "", newMatchError(src, e, n)
	}
}

// Places lists where a text begins in src, including overlapping places.
func Places(src, text string) []int {
	var at []int
	first := strings.IndexByte(text, '\n') + 1 // its first line; most lines of src end otherwise
	for i := 0; ; {
		end := strings.IndexByte(src[i:], '\n') + 1
		if first == 0 {
			end = strings.Index(src[i:], text) + 1
		}
		if end == 0 {
			return at
		}
		i += end
		if first == 0 {
			at = append(at, i-1)
		} else if from := i - first; from >= 0 && src[from:i] == text[:first] && strings.HasPrefix(src[from:], text) {
			at = append(at, from)
		}
	}
}

// wholeLines lists where search, which ends with a line end, begins at the start of a line, including overlapping
// places. The last line of src may lack a line end.
func wholeLines(src, search string) []int {
	begins := func(i int) bool { return i == 0 || src[i-1] == '\n' }
	at := slices.DeleteFunc(Places(src, search), func(i int) bool { return !begins(i) })
	last := chomp(search)
	if i := len(src) - len(last); last != "" && strings.HasSuffix(src, last) && begins(i) {
		at = append(at, i)
	}
	return at
}

// splice replaces search at the given places. At an end of src without a line end, none is added.
func splice(src string, at []int, search, replace string) string {
	var b strings.Builder
	b.Grow(len(src) + len(at)*len(replace))
	done := 0
	for _, i := range at {
		if i < done {
			continue // it shares lines with one that was replaced
		}
		b.WriteString(src[done:i])
		if i+len(search) <= len(src) {
			b.WriteString(replace)
			done = i + len(search)
			continue
		}
		if replace != "" {
			b.WriteString(chomp(replace))
			return b.String()
		}
		return chomp(b.String()) // the last line is removed, and the file still ends without a line end
	}
	b.WriteString(src[done:])
	return b.String()
}

func chomp(s string) string { return strings.TrimSuffix(strings.TrimSuffix(s, "\n"), "\r") }

// endings gives text the line ends of src, if src uses only one kind.
func endings(src, text string) string {
	lf := strings.Count(src, "\n")
	crlf := strings.Count(src, "\r\n")
	switch {
	case lf == 0 || crlf != 0 && crlf != lf:
		return text
	case crlf == lf:
		return strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", "\r\n")
	}
	return strings.ReplaceAll(text, "\r\n", "\n")
}
