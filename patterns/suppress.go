package patterns

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A comment in the scanned code can turn ast-grep off: for a line, or for the whole file. An agent could write one. So
// that token never reaches ast-grep: files with it are scanned as a copy with neutralWord of the same length. Only the
// suppression comment that all checks of runplan share counts. It must name the rule and give a reason:
//
//	// runplan:ignore defer-in-loop the loop runs twice at most
//
// It applies to its own line if there is code on it, else to the next one. All suppressed hits are in
// [Result.Suppressed].
const (
	ignoreWord  = "ast-grep-ignore"
	neutralWord = "ast-grep-IGNORE"
	ignoreMark  = "runplan:ignore"
)

// Rules about comments. They cannot be suppressed.
const (
	ruleNoEffect = "suppression-without-effect" // the program's own comment, which does nothing here
	ruleNoReason = "suppression-without-reason"
	ruleNoUse    = "suppression-without-use"
)

// ruleComment finds the comments that have a mark: it ignores strings that look like comments.
const ruleComment = "runplan-comment"

// commentKinds returns the names of comments in the trees of a language, "" if they are unknown; then each line that
// looks like a comment counts as one.
func commentKinds(language string) string {
	switch language {
	case "python", "typescript", "tsx", "javascript", "go", "bash":
		return "{kind: comment}"
	case "java":
		return "{kind: line_comment}, {kind: block_comment}"
	}
	return ""
}

// commentRules returns the rules that find comments with marks.
func commentRules(languages []string) string {
	var b strings.Builder
	for _, l := range languages {
		if kinds := commentKinds(l); kinds != "" {
			fmt.Fprintf(&b, "---\nid: %s\nlanguage: %s\nseverity: hint\nmessage: comment\nlabels: {}\n"+
				"rule: {any: [%s], regex: '%s|%s'}\n", ruleComment, l, kinds, neutralWord, ignoreMark)
		}
	}
	return b.String()
}

// real keeps the suppressions in comments.
func (s source) real(comments []record) []suppression {
	if commentKinds(s.language) == "" {
		return s.comments
	}
	return slices.DeleteFunc(slices.Clone(s.comments), func(c suppression) bool {
		return !slices.ContainsFunc(comments, func(r record) bool {
			return r.Range.Start.Line < c.line && c.line <= r.Range.End.Line+1
		})
	})
}

// suppression is a comment that asks for silence.
type suppression struct {
	line    int // of the comment, from 1
	target  int // line that it is for
	foreign bool
	words   []string // the text after the mark
}

// Suppressed is a hit that a comment in the code accepts.
type Suppressed struct {
	Hit
	Reason string `json:"reason"`
}

// findSuppressions reads the comments of a file. Prose that mentions a mark does not count.
func findSuppressions(text []byte) []suppression {
	comment := regexp.MustCompile(`^(.*?)(?:#|//|/\*|--|<!--)\s*(` + ignoreWord + `|` + ignoreMark + `)(:|\s|$)(.*)$`)
	quoted := regexp.MustCompile(`^\s*(?://|#|/?\*)`) // a comment about such comments
	end := regexp.MustCompile(`\s*(?:\*/|-->).*$`)
	var all []suppression
	n := 0
	for line := range bytes.Lines(text) {
		n++
		m := comment.FindSubmatch(bytes.TrimRight(line, "\r\n"))
		if m == nil || quoted.Match(m[1]) {
			continue
		}
		s := suppression{line: n, target: n, foreign: string(m[2]) == ignoreWord}
		if len(bytes.TrimLeft(m[1], " \t{")) == 0 {
			s.target = n + 1
		}
		s.words = strings.Fields(end.ReplaceAllString(string(m[4]), ""))
		all = append(all, s)
	}
	return all
}

// read splits the words into known rules and then the reason. A comment without a known rule belongs to another
// check.
func (s suppression) read(known func(rule string) bool) (rules []string, reason string) {
	for i, w := range s.words {
		ids := strings.FieldsFunc(w, func(r rune) bool { return r == ',' || r == ':' })
		if !slices.ContainsFunc(ids, known) {
			return rules, strings.Trim(strings.Join(s.words[i:], " "), " \t:-–—")
		}
		rules = append(rules, ids...)
	}
	return rules, ""
}

// suppress separates the hits of one file, and adds a hit for each invalid comment.
func suppress(s source, found []Hit, known func(rule string) bool) (hits []Hit, silent []Suppressed) {
	type ask struct {
		suppression
		rules  []string
		reason string
		used   bool
	}
	var asks []ask
	for _, c := range s.comments {
		a := ask{suppression: c}
		a.rules, a.reason = c.read(known)
		asks = append(asks, a)
	}
	for _, h := range found {
		h.Message = strings.ReplaceAll(h.Message, neutralWord, ignoreWord)
		i := slices.IndexFunc(asks, func(a ask) bool {
			return !a.foreign && a.reason != "" && a.target == h.Line && slices.Contains(a.rules, h.Rule)
		})
		if i < 0 {
			hits = append(hits, h)
			continue
		}
		asks[i].used = true
		silent = append(silent, Suppressed{h, asks[i].reason})
	}
	for _, a := range asks {
		h := Hit{Path: s.path, Line: a.line, Col: 1, Severity: Warning}
		how := "Write: " + ignoreMark + " RULE the reason"
		switch {
		case a.foreign && (len(a.words) == 0 || len(a.rules) > 0):
			h.Rule, h.Note = ruleNoEffect, how
			h.Message = ignoreWord + " has no effect here"
		case a.foreign || len(a.rules) == 0: // about rules that did not run
			continue
		case a.reason == "":
			h.Rule, h.Note = ruleNoReason, how
			h.Message = "this comment has no effect, because it gives no reason"
		case !a.used:
			h.Rule, h.Severity, h.Note = ruleNoUse, Hint, "Remove the comment."
			h.Message = fmt.Sprintf("this comment has no effect: %s finds nothing in line %d", strings.Join(a.rules, ", "), a.target)
		default:
			continue
		}
		hits = append(hits, h)
	}
	return hits, silent
}
