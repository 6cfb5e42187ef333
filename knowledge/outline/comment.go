package outline

import (
	"slices"
	"strings"
	"sync"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/literal"
)

// CommentKind classifies a comment.
type CommentKind string

// The kinds of comments.
const (
	Todo      CommentKind = "todo"
	Fixme     CommentKind = "fixme"
	Hack      CommentKind = "hack"
	Note      CommentKind = "note"
	BugRef    CommentKind = "bug_ref"
	Rationale CommentKind = "rationale"
	General   CommentKind = "general"
)

// A mark counts in capitals, at the beginning, or before a colon, because prose also contains words such as note and
// bug.
var (
	markFixme = lazyre.New(`\b(?:FIXME|XXX|BUG)\b|(?i:^\W*fixme\b)`)
	markTodo  = lazyre.New(`\bTODO\b|(?i:^\W*todo\b)`)
	markHack  = lazyre.New(`\b(?:HACK|KLUDGE|WORKAROUND)\b|(?i:^\W*(?:hack|kludge|work-?around)\b|\bugly hack\b)`)
	markBug   = lazyre.New(`(?i)\b(?:issues?|bugs?|bpo|gh|pr|ticket|fixes|closes|see)[ :#-]*#?\d{2,}\b|(?:^|[\s(\[])#\d{2,}\b|\bCVE-\d{4}-\d+|/(?:issues?|pull|bugs?)/\d+|\b[A-Z][A-Z]+-\d{2,}\b.*\bbug\b`)
	markNote  = lazyre.New(`\b(?:NOTE|NB|N\.B\.|IMPORTANT|WARNING|CAUTION)\b|(?i:^\W*(?:note|warning|important|caution|n\.b\.)\s*[:!-])|(?i:^\W*note that\b)`)
	markWhy   = lazyre.New(`(?i)\b(?:because|so that|in order (?:to|that)|the reason|rationale|that(?:'s| is) why|otherwise|to avoid|avoids?|prevents?|deliberately|on purpose|intentionally|instead of|for (?:performance|speed|compatibility|safety|security)|backwards?[- ]compat\w*|(?:we|it) (?:must|have to|has to|need to|needs to|can't|cannot|don't)|since (?:we|it|the|this|that|there|some|not)|due to|as a result|trade-?off)\b|(?i:^\W*why\b)`)
)

// whyWords are words of which markWhy needs one.
var whyWords = sync.OnceValue(func() *literal.Set {
	return literal.NewSet(literal.Folded("because", "so that", "in order", "reason", "rationale", "why", "otherwise",
		"avoid", "prevent", "deliberately", "on purpose", "intentionally", "instead of", "for performance", "for speed",
		"for compatibility", "for safety", "for security", "compat", "must", "have to", "has to", "need to", "needs to",
		"can't", "cannot", "don't", "since ", "due to", "as a result", "trade"))
})

// givesReason reports whether a comment gives a reason.
func givesReason(text string) bool { return whyWords().Next(text, 0) >= 0 && markWhy.MatchString(text) }

// bugWords come before the number of a bug.
var bugWords = []string{"issue", "issues", "bug", "bugs", "bpo", "gh", "pr", "ticket", "fixes", "closes", "see"}

// mayName reports whether a comment in lower case has a number where markBug wants one.
func mayName(low string) bool {
	digit := func(i int) bool { return i < len(low) && low[i] >= '0' && low[i] <= '9' }
	for i := 1; i < len(low); i++ {
		if !digit(i) || digit(i-1) {
			continue
		}
		if low[i-1] == '/' || digit(i+1) && (low[i-1] == '#' || low[i-1] == '-' ||
			slices.ContainsFunc(bugWords, func(w string) bool {
				return strings.HasSuffix(strings.TrimRight(low[:i], " :#-"), w)
			})) {
			return true
		}
	}
	return false
}

// ClassifyComment returns the kind of a comment and whether it gives a reason. A mark takes precedence: a TODO with a
// reason is a todo with a rationale.
func ClassifyComment(text string) (kind CommentKind, rationale bool) {
	// Most comments contain none of the words, so test for them before running the expressions.
	low := strings.ToLower(text)
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(low, w) })
	}
	rationale = givesReason(text)
	switch {
	case (has("fixme") || strings.Contains(text, "XXX") || strings.Contains(text, "BUG")) && markFixme.MatchString(text):
		return Fixme, rationale
	case has("todo") && markTodo.MatchString(text):
		return Todo, rationale
	case has("hack", "kludge", "workaround", "work-around") && markHack.MatchString(text):
		return Hack, rationale
	case mayName(low) && markBug.MatchString(text):
		return BugRef, rationale
	case has("note", "nb", "n.b.", "important", "warning", "caution") && markNote.MatchString(text):
		return Note, rationale
	case rationale:
		return Rationale, true
	}
	return General, false
}

// remark is a comment and its position.
type remark struct {
	from, to int
	text     string // without comment markers
}

// comments joins full-line comments on consecutive lines at the same column. It omits comments without a letter or
// digit, such as drawings.
func comments(source []byte, at lines, all []remark, owners []extent, brief bool) []Comment {
	var out []Comment
	column := func(r remark) int { // -1: code precedes it
		before := source[at.start(r.from):r.from]
		if strings.TrimSpace(string(before)) != "" {
			return -1
		}
		return len(before)
	}
	for i := 0; i < len(all); {
		text, col, last := all[i].text, column(all[i]), at.of(all[i].to)
		j := i + 1
		for ; j < len(all) && col >= 0 && column(all[j]) == col && at.of(all[j].from) == last+1; j++ {
			text, last = text+"\n"+all[j].text, at.of(all[j].to)
		}
		if strings.ContainsFunc(text,
			func(r rune) bool { return r >= '0' && r <= '9' || r|' ' >= 'a' && r|' ' <= 'z' || r > 127 }) {
			c := Comment{Symbol: around(owners, all[i].from), Line: at.of(all[i].from),
				Content: strings.TrimSpace(strings.ToValidUTF8(text, "�"))}
			if brief {
				c.Rationale = givesReason(c.Content)
			} else {
				c.Kind, c.Rationale = ClassifyComment(c.Content)
			}
			out = append(out, c)
		}
		i = j
	}
	return out
}
