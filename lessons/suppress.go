package lessons

import (
	"bytes"
	"slices"
	"strings"
)

// suppressionMark begins an inline suppression:
//
//	password = "changeme-2024-local"  # runplan:ignore 0029 only opens the sandbox
//
// It is in a comment on the line of the hit, or alone on the line above it, and names one or more lessons and a reason.
// Without a reason it suppresses nothing and is itself a [Problem].
const suppressionMark = "runplan:ignore"

// suppression is one such comment.
type suppression struct {
	ids    []string
	reason string
	alone  bool // the comment is alone on its line, so it applies to the next line
}

// parseSuppression parses the suppression of a line. ok is false if the mark does not begin a comment, or if no lesson
// follows: other checks share the mark, with their own names.
func parseSuppression(line string) (s suppression, ok bool) {
	before, after, found := strings.Cut(line, suppressionMark)
	if !found {
		return s, false
	}
	code, ok := cutComment(strings.TrimRight(before, " \t"))
	if !ok || after != "" && after[0] != ' ' && after[0] != '\t' && strings.TrimSpace(trimCommentEnd(after)) != "" {
		return s, false
	}
	s.alone = strings.TrimSpace(code) == ""
	text := strings.TrimSpace(trimCommentEnd(after))
	for text != "" {
		word, rest, _ := strings.Cut(text, " ")
		if !addIDs(&s.ids, word) {
			break
		}
		text = strings.TrimSpace(rest)
	}
	if len(s.ids) == 0 && text != "" {
		return s, false // for another check
	}
	s.reason = strings.Trim(text, " \t:-–—")
	return s, true
}

// addIDs parses a word such as 0029 or 0028,0029: and reports whether it is a list of ids.
func addIDs(ids *[]string, word string) bool {
	found := strings.Split(strings.TrimRight(word, ",:"), ",")
	if slices.ContainsFunc(found, func(id string) bool { return !isID(id) }) {
		return false
	}
	*ids = append(*ids, found...)
	return true
}

// cutComment removes the sign of a comment from the end of a line.
func cutComment(s string) (code string, ok bool) {
	for _, sign := range []string{"//", "#", "--", "{/*", "/*", "<!--", ";", "*", "%"} {
		if code, ok := strings.CutSuffix(s, sign); ok {
			return strings.TrimRight(code, "/#"), true
		}
	}
	return s, false
}

func trimCommentEnd(s string) string {
	s = strings.TrimSpace(s)
	for _, sign := range []string{"*/}", "*/", "-->"} {
		s = strings.TrimSuffix(s, sign)
	}
	return s
}

// suppressions finds the suppressions for the line that begins at start: on it, or alone above it.
func suppressions(text []byte, start, end int) []suppression {
	var out []suppression
	if s, ok := parseSuppression(string(text[start:end])); ok {
		out = append(out, s)
	}
	if start > 0 {
		above := bytes.LastIndexByte(text[:start-1], '\n') + 1
		if s, ok := parseSuppression(string(text[above : start-1])); ok && s.alone {
			out = append(out, s)
		}
	}
	return out
}
