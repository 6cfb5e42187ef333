package review

import (
	"fmt"
	"strings"

	"github.com/runplan/runplan/internal/fence"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/tokens"
	"github.com/runplan/runplan/llm"
)

// mostCalls limits the calls to the reviewer of one pass for one change (P18: reviews must not cost more than the
// work).
const mostCalls = 8

// part is the part of the diff that one call shows.
type part struct {
	text string
	size int // lines
}

// unknownWindow is the number of characters sent in one call to a model with an unknown context window.
const unknownWindow = 200_000

// parts splits the diff so that each part fits into the reviewer's window: by whole files if possible, else by hunks.
// It names hunks that do not fit.
func (r *run) parts(k kind, reviewer Reviewer) (out []part, left []string, err error) {
	var failed error
	fits := func(text string) bool {
		req, err := r.request(k, reviewer, text)
		if err != nil {
			failed = err
			return false
		}
		if reviewer.Model.Window == 0 {
			return len(req.System)+len(req.Prompt) <= unknownWindow
		}
		return llm.Check(req, tokens.Budget{Margin: r.in.Margin}) == nil
	}
	var now part
	flush := func() {
		if now.text != "" {
			out, now = append(out, now), part{}
		}
	}
	add := func(text string, size int) bool {
		if now.text != "" && !fits(now.text+text) {
			flush()
		}
		if now.text == "" && !fits(text) {
			return false
		}
		now.text, now.size = now.text+text, now.size+size
		return true
	}
	for _, f := range r.diff.files {
		if add(f.text, max(1, len(f.lines))) {
			continue
		}
		if failed != nil {
			return nil, nil, failed
		}
		flush()
		for i, hunk := range hunks(f.text) {
			if !add(hunk, strings.Count(hunk, "\n")) {
				left = append(left, fmt.Sprintf("part %d of %s", i+1, fence.Line(f.path)))
			}
		}
	}
	flush()
	if len(out) > mostCalls {
		left = append(left, fmt.Sprintf("%d parts of the diff beyond the first %d", len(out)-mostCalls, mostCalls))
		out = out[:mostCalls]
	}
	if len(out) == 0 && len(left) > 0 {
		return nil, nil, fmt.Errorf("no part of the diff fits into the window of %s, %d tokens", reviewer.Name,
			reviewer.Model.Window)
	}
	return out, left, nil
}

// hunks splits the diff of a file. Each hunk begins with the names of the file.
func hunks(text string) []string {
	head, rest, ok := strings.Cut(text, "\n@@ ")
	if !ok {
		return []string{text}
	}
	return lists.Map(strings.Split("\n"+"@@ "+rest, "\n@@ ")[1:],
		func(h string) string { return head + "\n@@ " + strings.TrimRight(h, "\n") + "\n" })
}
