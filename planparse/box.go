package planparse

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/runplan/runplan/internal/lazyre"
)

var checkbox = lazyre.New(`^\[([ \t\x{a0}xX~/!>?✓✔✅☑√vV✗✘❌-])\](?:[ \t*\\\r\n]|$)`)

// cutBox takes a checkbox off the start of an item's text: "[ ]", "[x]", "[X]", "[~]" and the states that
// authors invent. A bracket with anything else in it ("[1]", "[a](b)") is text.
func cutBox(text []byte) (state byte, rest []byte, ok bool) {
	if bold, found := bytes.CutPrefix(text, []byte("**[")); found { // "**[x] Title** — more"
		state, rest, ok = cutBox(text[len("**"):])
		return state, slices.Concat([]byte("**"), rest), ok && bytes.Contains(bold, []byte("**"))
	}
	if len(text) < 3 || text[0] != '[' {
		return 0, nil, false
	}
	m := checkbox.FindSubmatch(text)
	if m == nil {
		return 0, nil, false
	}
	state = m[1][0]
	switch string(m[1]) {
	case "✓", "✔", "✅", "☑", "√", "v", "V":
		state = 'x'
	case "✗", "✘", "❌", "\u00a0", "\t":
		state = ' '
	}
	return state, bytes.TrimSpace(text[len(m[1])+2:]), true
}

// done reports whether the state of a box means that its work is done. "[~]" and other states may mean that the work
// was dropped or is in progress. Only the author knows, so runplan neither skips nor runs it silently.
func done(state byte) bool { return state == 'x' || state == 'X' }

// label is the start of a checkbox text in the list formats.
type label struct {
	id       string
	title    string
	kind     labelKind
	parallel bool // [P] or (P)
	named    bool // it starts with a keyword: "Task 1:"
	zero     bool // its number is written as "1.0"
}

type labelKind uint8

const (
	labelNone   labelKind = iota
	labelT                // T001
	labelMajor            // 1. / 1.0 / Task 1:
	labelNumber           // 1 without a dot: a major only if it continues the numbering
	labelSub              // 1.1
)

// parseLabel reads the label of a checkbox from the text after it.
func parseLabel(text []byte) label {
	text = bytes.TrimLeft(text, "*\\_ \t") // bold, and the "*" of an optional Kiro item
	if rest, struck := bytes.CutPrefix(text, []byte("~~")); struck {
		text = bytes.ReplaceAll(rest, []byte("~~"), nil)
	}
	l := label{}
	if len(text) == 0 {
		return l
	}
	switch c := text[0]; {
	case c == '[' || c >= 'A' && c <= 'Z' || c == 't' || c == '`':
		if n, id := scanT(text); n > 0 {
			l.kind, l.id = labelT, id
			l.title, l.parallel = titleTags(text[n:])
			return l
		}
		if c == '[' || c == '`' {
			break
		}
		return wordLabel(text)
	case isDigit(c):
		return numberLabel(text)
	case isLetter(c) || c >= utf8.RuneSelf:
		return wordLabel(text)
	}
	l.title, l.parallel = titleTags(text)
	return l
}

// wordLabel reads "Task 1: Title" and "Unit 1: Title".
func wordLabel(text []byte) label {
	kind, _, _, _ := cutKeyword(text)
	if kind == unitTask || kind == unitPiece || text[0] == 'U' && len(text) > 1 && isDigit(text[1]) {
		if u := parseUnit(text); u.ok && u.word != "iteration" && u.id != "" {
			return label{kind: labelMajor, id: u.id, title: u.title, named: true}
		}
	}
	l := label{}
	l.title, l.parallel = titleTags(text)
	return l
}

// scanT recognizes the id of a spec-kit task and the tags before it.
func scanT(text []byte) (n int, id string) {
	rest := text
	for len(rest) > 0 && rest[0] == '[' { // "[P] T001" and "[T001]"
		end := bytes.IndexByte(rest, ']')
		if end < 0 || end > 12 {
			return 0, ""
		}
		if k := scanTNumber(rest[1:end]); k > 0 && k == end-1 {
			return len(text) - len(rest) + end + 1, string(rest[1:end])
		}
		rest = bytes.TrimLeft(rest[end+1:], " *")
	}
	code := len(rest) > 0 && rest[0] == '`' // "`T001`"
	if code {
		rest = rest[1:]
	}
	k := scanTNumber(rest)
	if k == 0 || code && (k == len(rest) || rest[k] != '`') {
		return 0, ""
	}
	id = string(rest[:k])
	if code {
		k++
	}
	return len(text) - len(rest) + k, id
}

// storyPrefix matches the part of an id that names the story: "US1-" in "US1-T05". "T001-T005" is a range.
const storyPrefix = `(?:[A-SU-Z]|[A-Z]{2,4})\d{1,3}-`

// tNumber matches "T001", "T-001", "T012A", "T012b", "T001.1" and "T006d_schema", but not the name "T1_norm". "T1:
// Title" is an id, "T1 mapping" may be anything.
var tNumber = lazyre.New(`^(?:((?:` + storyPrefix + `)?T-?` +
	`(?:(?:\d\d(?:[a-z]{0,6}|[A-Z])|\d{3,}(?:[a-z]{0,5}|[A-Z])(?:_\w*)?)(?:\.\d+)*|\d(?:\.\d+)+))(?:[^\w.]|\.\D|\.?$)|` +
	`((?:` + storyPrefix + `)?T-?\d)\**(?:[:)]| \[|\.\D|\.?$))`)

// scanTNumber returns the length of the id of a spec-kit task at the start of s, or 0.
func scanTNumber(s []byte) int {
	isUpper := func(c byte) bool { return 'A' <= c && c <= 'Z' }
	if len(s) < 2 || !isUpper(s[0]) || !isUpper(s[1]) && !isDigit(s[1]) && s[1] != '-' {
		return 0 // true for most texts, and faster than the expression
	}
	m := tNumber.Re().FindSubmatchIndex(s)
	if m == nil {
		return 0
	}
	return max(m[3], m[5])
}

var leadingNumber = lazyre.New(`^(\d+(?:\.\d+)*)([.):]?)`)

// numberLabel reads "1. Major", "1) Major", "1.0 Parent", "1.1 Sub", "1.1. Sub", "5.1.1 Sub" and "1 Major".
func numberLabel(text []byte) label {
	m := leadingNumber.FindSubmatch(text)
	id, rest, dot := string(m[1]), text[len(m[0]):], len(m[2]) > 0
	if len(id) > 12 || len(rest) > 0 && !bytes.ContainsAny(rest[:1], " \t*") && (rest[0] < utf8.RuneSelf || !dot) {
		title, parallel := titleTags(text)
		return label{title: title, parallel: parallel}
	}
	l := label{id: id, kind: labelNumber}
	switch major, sub, dotted := strings.Cut(id, "."); {
	case dotted && sub == "0":
		l.id, l.kind, l.zero = major, labelMajor, true
	case dotted:
		l.kind = labelSub
	case dot:
		l.kind = labelMajor
	}
	l.title, l.parallel = titleTags(rest)
	return l
}

// tags matches the separators and tags between the id of a box and its title.
var tags = lazyre.New("^(?:[ \t*:.—–：-]|(\\[P\\]|\\(P\\)|`\\[P\\]`|\\\\\\[P\\\\\\])|\\[US[^\\]]*\\])*")

// titleTags strips the tags between id and title and reports whether one marks parallel work.
func titleTags(rest []byte) (title string, parallel bool) {
	m := tags.FindSubmatch(rest)
	return plain(rest[len(m[0]):]), m[1] != nil
}

// parallelMark matches the mark of parallel work at the beginning or at the end of a title.
var parallelMark = lazyre.New("^(?:`?\\\\?\\[P\\\\?\\]`?|\\(P\\))[ :—–-]+|[ :—–-]+`?\\\\?\\[P\\\\?\\]`?$")

// cutParallel removes the mark of parallel work from a title, which is also the subject of a commit.
func cutParallel(title string) (string, bool) {
	if !strings.Contains(title, "P") || !parallelMark.MatchString(title) {
		return title, false
	}
	return parallelMark.ReplaceAllString(title, ""), true
}

// isMarker reports whether the text starts with "**Step 1", the step marker of run-plan and superpowers. A
// literal "**Step N" comes from a template.
func isMarker(text []byte) bool {
	rest, ok := bytes.CutPrefix(text, []byte("**"))
	if !ok {
		rest, ok = bytes.CutPrefix(text, []byte("__"))
	}
	if !ok || len(rest) < 6 {
		return false
	}
	if isDigit(rest[0]) { // "**1단계: …**": the word means step as well as phase
		u, ok := ordinalUnit(rest)
		return ok && u.kind == unitGroup
	}
	kind, _, rest, joined := cutKeyword(rest)
	id := bytes.TrimLeft(rest, " \t")
	return kind == unitStep && (joined || len(id) < len(rest)) && len(id) > 0 && isDigit(id[0])
}
