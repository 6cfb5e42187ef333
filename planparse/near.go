package planparse

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/hbollon/go-edlib"

	"github.com/runplan/runplan/internal/lists"
)

// reportNearUnits reports headings and lines that look like a batch or a task but are not read as one. Their work would
// be missing from the run, or be part of the batch above.
func (b *builder) reportNearUnits() {
	known := map[string]bool{}
	for _, m := range b.heads {
		if u := m.unit; u.ok {
			known[u.word] = true
		}
	}
	for _, m := range b.marks {
		switch {
		case m == b.title:
		case m.kind == markHeading && m.unit.kind == unitNone:
			if word, why := nearUnit(m.text); word != "" && (word == "batch" || word == "task" || known[word]) {
				b.report(severityOf(word, known), m.line, "near-miss-heading", "%q is not read as a %s: %s", m.text, word, why)
			}
		case m.kind == markText && m.parent == nil && len(m.text) > 1 && m.text[0] == '#':
			text := bytes.TrimLeft(m.text, "#")
			marks := m.text[:len(m.text)-len(text)]
			u := parseUnit(text)
			isUnit := u.ok && u.kind != unitNone && u.kind != unitStep
			if len(marks) > 6 || len(text) == 0 || !isUnit && (len(marks) < 2 || !startsWord(text)) {
				continue
			}
			severity := SeverityWarning
			if isUnit && (u.kind == unitBatch || u.kind == unitTask || u.kind == unitNumbered && len(marks) > 1) {
				severity = severityOf(u.word, known)
			}
			b.report(severity, m.line, "near-miss-heading", "%q is text: put a space after %q to make it a heading", m.text,
				marks)
		}
	}
	b.reportOddLevel()
	b.reportFencedUnits()
	for _, line := range b.hiddenHeads {
		b.warn(line, "near-miss-heading", "%q is indented by four spaces or a tab, so it is code and not a heading",
			bytes.TrimSpace(b.lineText(line)))
	}
}

// reportFencedUnits warns if a fence contains a unit heading whose number is missing in the rest of the plan. Probably
// a fence was opened or closed by mistake, which swaps text and code after it.
func (b *builder) reportFencedUnits() {
	type number struct{ word, id string }
	read := map[number]bool{}
	words := map[string]int{}
	for _, m := range b.heads {
		if u := m.unit; u.ok && u.id != "" {
			read[number{u.word, u.id}] = true
			words[u.word]++
		}
	}
	for _, f := range b.doc.fences {
		if len(f.info) > 0 {
			continue // marked as an example
		}
		for i := range f.Lines().Len() {
			seg := f.Lines().At(i)
			line := bytes.TrimSpace(seg.Value(b.src))
			if !bytes.HasPrefix(line, []byte("##")) {
				continue
			}
			u := parseUnit(bytes.TrimLeft(line, "# "))
			if u.ok && u.id != "" && words[u.word] > 1 && !read[number{u.word, u.id}] {
				b.warn(b.lineOf(seg.Start), "fenced-heading",
					"%q is in a fence, so it is not a %s of the plan; the fence begins in line %d", line, cmp.Or(u.word, "unit"),
					b.lineOf(f.open))
			}
		}
	}
}

// reportOddLevel warns if exactly one unit heading has a higher level than all others of its kind: the headings after
// it become parts of it.
func (b *builder) reportOddLevel() {
	levels := map[string][]*mark{}
	for _, m := range b.heads {
		if u := m.unit; u.ok && u.id != "" &&
			(u.kind == unitBatch || u.kind == unitTask || u.kind == unitGroup || u.kind == unitNumbered) {
			levels[u.word] = append(levels[u.word], m)
		}
	}
	for _, word := range []string{"batch", "task", "phase", "chunk", "wave", "track", "checkpoint", "section"} {
		list := levels[word]
		if len(list) < 3 {
			continue
		}
		top := list[0]
		for _, m := range list {
			if m.level < top.level {
				top = m
			}
		}
		same := lists.Count(list, func(m *mark) bool { return m.level == top.level })
		if same == 1 {
			b.warn(top.line, "odd-level",
				"%q has a higher level than the other headings of its kind, so the following headings are read as parts of it",
				top.text)
		}
	}
}

// severityOf returns error if the plan consists of such units, so that a unit would be lost.
func severityOf(word string, known map[string]bool) Severity {
	if known[word] {
		return SeverityError
	}
	return SeverityWarning
}

// nearUnit returns the unit that a heading nearly opens, and how to correct it; "" if there is none.
func nearUnit(text []byte) (word, why string) {
	rest := undecorate(text)
	n := 0
	for n < len(rest) && isLetter(rest[n]) {
		n++
	}
	first, rest := strings.ToLower(string(rest[:n])), rest[n:]
	kind, word := unitWord(first)
	switch kind {
	case unitNone:
		near := nearWord(first)
		if near == "" {
			return "", ""
		}
		u := parseUnit(append([]byte(near), rest...))
		if !u.ok || u.id == "" || u.title == "" {
			return "", ""
		}
		return near, "its first word is misspelt; write " + capital(near) + " " + u.id
	case unitBatch, unitTask, unitGroup:
	default:
		return "", ""
	}
	if title, ok := cutColon(rest); ok && kind != unitGroup && len(bytes.TrimSpace(title)) > 0 {
		return word, "it has no number; write " + capital(word) + " 1:"
	}
	second := strings.ToLower(strings.TrimLeft(string(rest), " \t\u00a0"))
	if end := strings.IndexFunc(second, func(r rune) bool { return !unicode.IsLetter(r) }); end >= 0 {
		second = second[:end]
	}
	if number, ok := numberWords()[second]; ok {
		return word, "its number is a word; write " + capital(word) + " " + number + ":"
	}
	if len(rest) > 0 && bytes.IndexByte([]byte("_/"), rest[0]) >= 0 && len(rest) > 1 && isDigit(rest[1]) {
		return word, "put a space before its number"
	}
	return "", ""
}

// startsWord reports whether a text begins with a letter or digit of any language.
func startsWord(text []byte) bool {
	r, _ := utf8.DecodeRune(text)
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}

func capital(word string) string { return strings.ToUpper(word[:1]) + word[1:] }

// nearWord returns the keyword for a misspelt word, "" for any other word.
func nearWord(word string) string {
	switch word {
	case "tasks", "test", "tests", "ask", "mask", "tags", "tank", "talk", "last", "fast", "past", "cask", "bask",
		"tack", "tasked", "batches", "patch", "match", "catch", "latch", "watch", "bath", "branch", "bench", "beach",
		"batched", "hatch", "botch", "path", "base", "basic", "back", "math", "each", "both", "bash", "phases",
		"phrase", "phased", "chase", "chunks", "chunked", "sprints", "spring", "print", "milestones":
		return ""
	}
	for _, w := range []string{"batch", "task", "phase", "chunk", "sprint", "milestone"} {
		if more := len(word) - len(w); more < -2 || more > 2 {
			continue
		}
		if d := distance(word, w); d == 1 || d == 2 && w == "batch" && len(word) >= 4 && word[0] == 'b' {
			return w
		}
	}
	return ""
}

// numberWords are numbers as people spell them in headings.
var numberWords = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	digits := []string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12"}
	for _, list := range []string{
		"one two three four five six seven eight nine ten eleven twelve",
		"first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth",
		"eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
		"un deux trois quatre cinq six sept huit neuf dix onze douze",
		"uno dos tres cuatro cinco seis siete ocho nueve diez once doce",
		"um dois três quatro cinco seis sete oito nove dez onze doze",
	} {
		for i, w := range strings.Fields(list) {
			out[w] = digits[i]
		}
	}
	return out
})

// knownKeys are the keys of batches and plans that are written for runplan.
var knownKeys = []string{"depends_on", "context_refs", "parallel_safe", "critical", "approve", "estimate", "regression",
	"when", "test_first", "mutants"}

// nearKey returns the known key that is similar to an unknown one, "" for none. It ignores short keys, which are
// usually prose.
func nearKey(key string) string {
	letters := utf8.RuneCountInString(key)
	for _, k := range knownKeys {
		if key == k || len(k) < 6 || dependsKey(key) {
			continue
		}
		if letters <= len(k)+2 && len(k) <= letters+2 && distance(key, k) <= 2 || strings.ReplaceAll(key, "_", "") == strings.ReplaceAll(k, "_", "") {
			return k
		}
	}
	return map[string]string{"requires_batches": "depends_on", "context_files": "context_refs"}[key]
}

// unknownKey reports an unknown key that is similar to a known one, because it would have no effect.
func (b *builder) unknownKey(line int, key string, strict bool) {
	near := nearKey(key)
	if near == "" {
		return
	}
	severity := SeverityError
	if !strict {
		severity = SeverityInfo
	}
	b.report(severity, line, "unknown-key", "%s is not a key of runplan and is ignored; did you mean %s?", key, near)
}

// strayKey reports a key below prose, where keys are not read.
func (f *filler) strayKey(m *mark) {
	if m.kind != markText || m.parent != nil {
		return
	}
	key, value, bold, ok := cutKey(m)
	if !ok || bold || value == "" || !strings.Contains(key, "_") {
		return
	}
	if slices.Contains(knownKeys, key) || nearKey(key) != "" {
		f.warn(m.line, "stray-key",
			"%s is below other text and is not read: move it directly below the heading of its batch", key)
	}
}

// distance is the number of letters to insert, drop, change or swap between two words. Long words are never near.
func distance(a, b string) int {
	if max(len(a), len(b)) > 64 {
		return math.MaxInt
	}
	return edlib.OSADamerauLevenshteinDistance(a, b)
}
