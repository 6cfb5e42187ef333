package planparse

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/runplan/runplan/internal/lazyre"
)

// unitKind is the kind of unit that a heading or checkbox text begins.
type unitKind uint8

const (
	unitNone unitKind = iota
	unitBatch
	unitGroup    // phase, chunk, wave, track, checkpoint
	unitSpan     // day, week, sprint, milestone, stage, part, work package: a group if the plan has no better units
	unitTask     // task or iteration
	unitPiece    // slice, commit, story, unit, pr, change, fix: a task if the plan has no better units
	unitStep     // step
	unitNumbered // "3. Title", without a keyword
)

// A unit is a heading parsed as "Keyword ID separator Title".
type unit struct {
	kind  unitKind
	word  string // the keyword, in lower-case English
	id    string
	title string
	// false if plain text follows the id ("Task 3 progress note"): the heading mentions a unit but begins none
	ok bool
}

// parseUnit parses the text of a heading. It skips decoration before the keyword (emoji, bold, a box, a "[tag]").
func parseUnit(text []byte) unit {
	rest := undecorate(text)
	if len(rest) == 0 {
		return unit{}
	}
	if isDigit(rest[0]) || rest[0] >= utf8.RuneSelf {
		if u, ok := ordinalUnit(rest); ok {
			return u
		}
	}
	if isDigit(rest[0]) {
		u := numberedUnit(rest)
		switch in := parseUnit([]byte(u.title)); in.kind {
		case unitBatch, unitGroup, unitSpan, unitTask, unitPiece: // "12. Phase 9: Docs", "3.1 第一阶段：…"
			if in.ok && in.id != "" && atoi(u.id) < 1000 { // not a year
				return in
			}
		}
		return u
	}
	u := unit{}
	var joined bool
	for _, before := range []string{"implementation ", "optional ", "mvp ", "sub-", "giai "} { // "giai đoạn" is a phase
		rest, _ = cutFold(rest, before)
	}
	if u.kind, u.word, text, joined = cutKeyword(rest); u.kind == unitNone {
		if last, found := cutFold(rest, "final "); found {
			return finalUnit(last)
		}
		rest, _ = cutFold(rest, "work package ")
		return ticketUnit(rest)
	}
	if title, found := cutColon(text); found && u.kind == unitTask && !joined {
		u.title, u.ok = plain(title), len(bytes.TrimSpace(title)) > 0
		return u
	}
	if u.kind == unitTask { // "Task ID: 7"
		if id, found := bytes.CutPrefix(text, []byte(" ID:")); found {
			text = bytes.TrimLeft(id, " ")
			if n := scanID(text); n+1 < len(text) && text[n] == '-' && isLetter(text[n+1]) { // "Task ID: LOGIN-404-FIX"
				return unit{}
			}
			text = id
		}
	}
	text, gap := idGap(text)
	if !gap && !joined && (len(text) == 0 || !isDigit(text[0])) { // "PR1: Title", "Phase1: Title"
		return unit{}
	}
	if id := scanID(text); id > 0 {
		u.id, text = moreIDs(string(text[:id]), text[id:])
	} else if u.id, text = cutNumeral(text); u.id == "" {
		return unit{}
	}
	if part, found := bytes.CutPrefix(text, []byte(", ")); found && parseUnit(part).kind == unitStep {
		return unit{} // "Task 1, Step 2: Title" is about another plan
	}
	if u.title, u.ok = unitTitle(text); !u.ok && !gap && !joined {
		return unit{}
	}
	return u
}

// anotherID matches the second number of a heading that is about several units: "Fix 5 & 6: Title", "Week 1–2: Title".
var anotherID = lazyre.New(`^(–|\s*(?:&|,|and|und|y|e|et|и|和|、)\s*)(\d+(?:\.\d+)*[a-z]?)\s*(?:[:：(&,、—–.-]|and\s|$)`)

// moreIDs adds the other numbers of a heading to its id: "5+6", "1-2".
func moreIDs(id string, rest []byte) (string, []byte) {
	for m := anotherID.Re().FindSubmatchIndex(rest); m != nil; m = anotherID.Re().FindSubmatchIndex(rest) {
		join := "+"
		if string(rest[:m[3]]) == "–" {
			join = "-"
		}
		id, rest = id+join+string(rest[m[4]:m[5]]), rest[m[5]:]
	}
	return id, rest
}

// finalUnit parses "Final Phase: Polish" and "Final Task: Run everything" after the first word.
func finalUnit(s []byte) unit {
	u := unit{}
	var rest []byte
	if u.kind, u.word, rest, _ = cutKeyword(s); u.kind != unitTask && u.word != "phase" {
		return unit{}
	}
	title, found := cutColon(rest)
	if !found {
		return unit{}
	}
	u.id, u.title, u.ok = "final", plain(title), true
	return u
}

// cutFold removes a lower-case prefix from s, ignoring case.
func cutFold(s []byte, prefix string) (rest []byte, found bool) {
	if len(s) < len(prefix) || !strings.EqualFold(string(s[:len(prefix)]), prefix) {
		return s, false
	}
	return s[len(prefix):], true
}

var ticket = lazyre.New(`^(` + storyPrefix + `T|US-|U|WP|WS|M|P|[vV]|T-?)\d`)

// ticketUnit parses headings whose keyword is part of the id: "T1: Title" and "T-001 — Title" are tasks, "US-001:
// Title" is a story, "U1. Title" a unit, "WP01 — Title" a work package, "M1 - Title" a milestone, "P1: Title" a phase,
// "v0.2 — Title" a version.
func ticketUnit(s []byte) unit {
	m := ticket.FindSubmatch(s)
	if m == nil {
		return unit{}
	}
	u, ok := map[string]unit{"US-": {kind: unitPiece, word: "story"}, "U": {kind: unitPiece, word: "unit"},
		"WP": {kind: unitSpan, word: "package"}, "WS": {kind: unitSpan, word: "workstream"},
		"M": {kind: unitSpan, word: "milestone"}, "P": {kind: unitSpan, word: "phase"},
		"v": {kind: unitSpan, word: "version"}, "V": {kind: unitSpan, word: "version"}}[string(m[1])]
	if !ok {
		u = unit{kind: unitTask, word: "task"}
	}
	n := len(m[1]) + scanID(s[len(m[1]):])
	u.id = string(s[:n])
	if u.title, u.ok = unitTitle(s[n:]); !u.ok || u.title == "" || u.word == "phase" && strings.Contains(u.id, "-") {
		return unit{} // "P0-1: Title" is a finding
	}
	return u
}

// idGap skips the text between keyword and id: white space, "#", or the hyphen of "TASK-006".
func idGap(rest []byte) ([]byte, bool) {
	trimmed := bytes.TrimLeft(rest, " \t\u00a0")
	gap := len(trimmed) < len(rest)
	if len(trimmed) > 1 && (trimmed[0] == '#' || (!gap && trimmed[0] == '-')) && isDigit(trimmed[1]) {
		return trimmed[1:], true
	}
	return trimmed, gap
}

// undecorate removes decoration before the keyword: "**", "🎯", "➕", "[x]", "[docs]", "~~", "【".
func undecorate(text []byte) []byte {
	if _, rest, ok := cutBox(text); ok {
		text = rest
	} else if tag, rest, ok := bytes.Cut(text, []byte("] ")); ok && text[0] == '[' && len(tag) <= 16 {
		text = rest
	}
	return bytes.TrimLeftFunc(text,
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '`' && r != '<' })
}

// scanID returns the length of the id at the start of s, or 0. Real plans use 1, 1.1, 17.5, 4b, 0A, A1, B, D1.1,
// P5.2, N, N-1, 2c-i, 3+4, II.
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
	if end+1 < len(s) && s[end] == '+' && (s[end+1] == ':' || s[end+1] == ' ') { // "3+: The rest"
		end++
	}
	return end
}

// wordID matches digits with some letters on either side, one letter, or a Roman number.
var wordID = lazyre.New(`^([A-Za-z]{0,5}\d(?:[A-Za-z\d]*\d)?[A-Za-z]{0,3}|[A-Za-z]|[IVX]{1,4}|[ivx]{1,3})(?:[^\w\pL]|$)`)

// scanWordID returns the length of the part of an id at the start of s, or 0.
func scanWordID(s []byte) int {
	n := len(s) - len(bytes.TrimLeft(s, "0123456789"))
	if 0 < n && n <= 12 && (n == len(s) || bytes.IndexByte([]byte(" .:)-"), s[n]) >= 0) {
		return n // most ids are numbers, and this is faster than the expression
	}
	m := wordID.Re().FindSubmatchIndex(s)
	if m == nil || m[3] > 12 {
		return 0
	}
	return m[3]
}

// unitTitle parses the separator and the title after an id. ok is false if plain text follows.
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
	case ':', '：', '—', '–', '-', '.', ')', '|', '、', '．', '→', ',', '·':
		return plain(bytes.TrimLeft(body[size:], "-:*_ \t")), true
	case '`', '"', '\'', '/', '<':
		return plain(body), false
	}
	if strings.ContainsRune("✓✔✅☑", r) { // "T054 ✓ — Title"
		if title, ok := unitTitle(bytes.TrimPrefix(body[size:], []byte("\ufe0f"))); ok && title != "" {
			return title + " " + string(r), true
		}
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

// cutColon returns the text after a colon (ASCII or full width) at the start of s.
func cutColon(s []byte) ([]byte, bool) {
	s = bytes.TrimLeft(s, "*_ \t")
	if after, ok := bytes.CutPrefix(s, []byte(":")); ok {
		return after, true
	}
	return bytes.CutPrefix(s, []byte("："))
}

// numberedUnit parses "3. Title", "3) Title", "3.1 Title", "3: Title" and "3 — Title".
func numberedUnit(s []byte) unit {
	m := leadingNumber.FindSubmatch(s)
	id, rest, mark, wide := m[1], s[len(m[0]):], len(m[2]) > 0, false
	dotted := bytes.IndexByte(id, '.') >= 0
	if t := bytes.TrimLeft(rest, " "); !mark && len(t) > 0 {
		r, size := utf8.DecodeRune(t)
		wide = r == '．' || r == '、' || r == '：'
		if wide || r == '—' || r == '–' || (r == '-' && len(t) < len(rest)) {
			rest, mark = t[size:], true
		}
	}
	joined := len(rest) > 0 && (isLetter(rest[0]) || isDigit(rest[0])) // "3.x", but not "3、API"
	if !mark && !dotted || len(id) > 12 || joined && !wide {
		return unit{}
	}
	return unit{kind: unitNumbered, word: "section", id: string(id), title: plain(rest), ok: true}
}

// plain strips bold markers and comments from inline text; code spans do not change.
func plain(text []byte) string {
	out := strings.ReplaceAll(string(text), "**", "")
	for before, rest, found := strings.Cut(out, "<!--"); found; before, rest, found = strings.Cut(out, "<!--") {
		_, after, _ := strings.Cut(rest, "-->")
		out = before + after
	}
	return strings.ToValidUTF8(strings.TrimSpace(out), "\uFFFD")
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

func hasDigit(s []byte) bool { return slices.ContainsFunc(s, isDigit) }
