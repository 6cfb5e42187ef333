package planparse

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// unitKind says what a heading (or the text of a checkbox) opens.
type unitKind uint8

const (
	unitNone unitKind = iota
	unitBatch
	unitGroup    // phase, chunk, wave, track, checkpoint
	unitSpan     // week, sprint, milestone, stage, part: a group where there is nothing better
	unitTask     // task or iteration
	unitStep     // step
	unitNumbered // "3. Title", without a keyword
)

// A unit is what the grammar "Keyword ID separator Title" makes of a heading.
type unit struct {
	kind  unitKind
	word  string // the keyword, in lower case
	id    string
	title string
	ok    bool // false where plain text follows the id ("Task 3 progress note"): it names a unit, but opens none
}

// unitWord maps a keyword to its kind. It is a switch, because a map would have to be a package variable.
func unitWord(word string) unitKind {
	switch word {
	case "batch":
		return unitBatch
	case "phase", "chunk", "wave", "track", "checkpoint":
		return unitGroup
	case "week", "sprint", "milestone", "stage", "part", "epic":
		return unitSpan
	case "task", "iteration":
		return unitTask
	case "step":
		return unitStep
	}
	return unitNone
}

// parseUnit reads the text of a heading. Decoration before the keyword (emoji, bold, a box) is skipped.
func parseUnit(text []byte) unit {
	rest := undecorate(text)
	if len(rest) == 0 {
		return unit{}
	}
	if rest[0] >= '0' && rest[0] <= '9' {
		return numberedUnit(rest)
	}
	n := 0
	for n < len(rest) && isLetter(rest[n]) {
		n++
	}
	if n < 4 || n > 10 {
		return unit{}
	}
	word := strings.ToLower(string(rest[:n]))
	u := unit{kind: unitWord(word), word: word}
	if u.kind == unitNone {
		return unit{}
	}
	rest = rest[n:]
	if title, found := cutColon(rest); found && u.kind == unitTask {
		u.title, u.ok = plain(title), len(bytes.TrimSpace(title)) > 0
		return u
	}
	rest, ok := idGap(rest)
	if !ok {
		return unit{}
	}
	id := scanID(rest)
	if id == 0 {
		return unit{}
	}
	u.id = string(rest[:id])
	u.title, u.ok = unitTitle(rest[id:])
	return u
}

// idGap skips what stands between keyword and id: white space, "#", or the hyphen of "TASK-006".
func idGap(rest []byte) ([]byte, bool) {
	trimmed := bytes.TrimLeft(rest, " \t\u00a0")
	gap := len(trimmed) < len(rest)
	if len(trimmed) > 1 && (trimmed[0] == '#' || (!gap && trimmed[0] == '-')) && isDigit(trimmed[1]) {
		return trimmed[1:], true
	}
	return trimmed, gap
}

// undecorate drops what people put before the keyword: "**", "🎯", "➕", "[x]", "~~", "【".
func undecorate(text []byte) []byte {
	if _, rest, ok := cutBox(text); ok {
		text = rest
	}
	for len(text) > 0 {
		if c := text[0]; c < utf8.RuneSelf {
			if isLetter(c) || isDigit(c) || c == '`' || c == '<' {
				return text
			}
			text = text[1:]
			continue
		}
		r, size := utf8.DecodeRune(text)
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return text
		}
		text = text[size:]
	}
	return text
}

// scanID returns the length of the id at the start of s, 0 where there is none. Seen in the wild:
// 1, 1.1, 17.5, 4b, 0A, A1, B, D1.1, P5.2, N, N-1, 2c-i, 3+4, II.
func scanID(s []byte) int {
	end := scanWordID(s)
	if end == 0 { // "FE-1"
		n := 0
		for n < len(s) && n < 6 && isLetter(s[n]) {
			n++
		}
		if n == 0 || n+1 >= len(s) || s[n] != '-' || !isDigit(s[n+1]) {
			return 0
		}
		end = n + 1 + scanWordID(s[n+1:])
		if end == n+1 {
			return 0
		}
	}
	for end+1 < len(s) && bytes.IndexByte([]byte(".-+/"), s[end]) >= 0 {
		n := scanWordID(s[end+1:])
		part := s[end+1 : end+1+n]
		if n == 0 || (!hasDigit(part) && s[end] == '+') || (!hasDigit(part) && len(bytes.Trim(part, "ivx")) > 0 && n > 1) {
			break
		}
		end += 1 + n
	}
	return end
}

// scanWordID accepts digits with up to three letters on either side, one capital, or a Roman number.
func scanWordID(s []byte) int {
	n := 0
	for n < len(s) && (isLetter(s[n]) || isDigit(s[n])) {
		n++
	}
	word := s[:n]
	switch {
	case n == 0 || (n < len(s) && (s[n] == '_' || isWordRune(s[n:]))):
		return 0
	case hasDigit(word):
		left := len(word) - len(bytes.TrimLeftFunc(word, unicode.IsLetter))
		right := len(word) - len(bytes.TrimRightFunc(word, unicode.IsLetter))
		if left > 5 || right > 3 || n > 12 {
			return 0
		}
		return n
	case n == 1:
		return 1
	case n <= 4 && len(bytes.Trim(word, "IVX")) == 0, n <= 3 && len(bytes.Trim(word, "ivx")) == 0:
		return n
	}
	return 0
}

// unitTitle takes the separator and the title that follow an id. ok is false where plain text follows.
func unitTitle(rest []byte) (title string, ok bool) {
	body := bytes.TrimLeft(rest, "*_~ \t\u00a0")
	if len(body) == 0 {
		return "", true
	}
	if note, after, found := cutNote(body); found {
		if t, colon := cutColon(after); colon {
			return plain(t), true
		}
		return plain(append(note[:len(note):len(note)], after...)), true
	}
	r, size := utf8.DecodeRune(body)
	switch r {
	case ':', '：', '—', '–', '-', '.', ')', '|', '、', '．', '→', ',':
		return plain(bytes.TrimLeft(body[size:], "-:*_ \t")), true
	case '`', '"', '\'', '/', '<':
		return plain(body), false
	}
	// an emoji or a bracket after the id decorates it: "Phase 1 ✅", "Phase 1 [checkpoint: …]"
	return plain(body), !unicode.IsLetter(r) && !unicode.IsDigit(r)
}

// cutNote splits a leading "(note)" off.
func cutNote(s []byte) (note, after []byte, ok bool) {
	if s[0] != '(' {
		return nil, nil, false
	}
	depth := 0
	for i, c := range s {
		switch c {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return s[:i+1], s[i+1:], true
			}
		}
	}
	return nil, nil, false
}

// cutColon returns what follows a colon (ASCII or full width) at the start of s.
func cutColon(s []byte) ([]byte, bool) {
	s = bytes.TrimLeft(s, "*_ \t")
	if after, ok := bytes.CutPrefix(s, []byte(":")); ok {
		return after, true
	}
	return bytes.CutPrefix(s, []byte("："))
}

// numberedUnit reads "3. Title", "3) Title", "3.1 Title", "3: Title" and "3 — Title".
func numberedUnit(s []byte) unit {
	n := 0
	for n < len(s) && (isDigit(s[n]) || (s[n] == '.' && n+1 < len(s) && isDigit(s[n+1]))) {
		n++
	}
	id, rest := s[:n], s[n:]
	dotted := bytes.IndexByte(id, '.') >= 0
	mark := false
	if len(rest) > 0 && bytes.IndexByte([]byte(".):"), rest[0]) >= 0 {
		rest, mark = rest[1:], true
	} else if t := bytes.TrimLeft(rest, " "); len(t) > 0 {
		r, size := utf8.DecodeRune(t)
		if r == '—' || r == '–' || r == '．' || r == '、' || r == '：' || (r == '-' && len(t) < len(rest)) {
			rest, mark = t[size:], true
		}
	}
	if (!mark && !dotted) || n > 12 || (len(rest) > 0 && rest[0] < utf8.RuneSelf && (isLetter(rest[0]) || isDigit(rest[0]))) {
		return unit{}
	}
	return unit{kind: unitNumbered, word: "section", id: string(id), title: plain(rest), ok: true}
}

// plain strips bold markers and comments from inline text; code spans stay as they are written.
func plain(text []byte) string {
	text = bytes.TrimSpace(text)
	if bytes.IndexByte(text, '*') < 0 && bytes.IndexByte(text, '<') < 0 {
		return strings.ToValidUTF8(string(text), "\uFFFD")
	}
	out := make([]byte, 0, len(text))
	for len(text) > 0 {
		switch {
		case bytes.HasPrefix(text, []byte("**")):
			text = text[2:]
		case bytes.HasPrefix(text, []byte("<!--")):
			_, text, _ = bytes.Cut(text, []byte("-->"))
		default:
			out = append(out, text[0])
			text = text[1:]
		}
	}
	return strings.ToValidUTF8(string(bytes.TrimSpace(out)), "\uFFFD")
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

func hasDigit(s []byte) bool {
	for _, c := range s {
		if isDigit(c) {
			return true
		}
	}
	return false
}

func isWordRune(s []byte) bool {
	r, _ := utf8.DecodeRune(s)
	return r >= utf8.RuneSelf && unicode.IsLetter(r)
}
