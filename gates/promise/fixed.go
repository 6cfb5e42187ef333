package promise

import (
	"regexp"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
)

var (
	codeSpan = lazyre.New("`([^`\\n]+)`")
	// command matches code with values: a call, or options of a program.
	command = lazyre.New(`^[\w.:]+\(.*\)|^-{1,2}\w|^\w\S* .*--?\w`)
)

// fixedTexts finds new code with the message of an example, including the values of the example: "bad hour 25" if the
// same paragraph shows at("25:00"). The values must have two or more digits.
func (w wording) fixedTexts() {
	var list []string
	for _, paragraph := range strings.Split(w.text, "\n\n") {
		spans := lists.Map(codeSpan.FindAllStringSubmatch(paragraph, -1), func(m []string) string { return m[1] })
		for _, s := range spans {
			values := digits.FindAllString(s, -1)
			if wordsIn(s) > 3 && !command.MatchString(s) && slices.ContainsFunc(spans, func(o string) bool {
				return command.MatchString(o) && slices.ContainsFunc(digits.FindAllString(o, -1),
					func(n string) bool { return len(n) > 1 && slices.Contains(values, n) })
			}) {
				list = append(list, s)
			}
		}
	}
	for line := range w.newLines() {
		for _, t := range texts(line) {
			if slices.Contains(list, t) {
				w.broken(RuleAnswersOnly, "", "the new code contains the text of an example with its values: "+shown(t),
					"build the text from the actual values")
				return
			}
		}
	}
}

var (
	// fieldSet matches the assignment of a field of an object.
	fieldSet = lazyre.New(`(?:\b(?:self|this)\.|@)([a-z]\w{2,})\s*(?::[^=\n]+)?=[^=]`)
	assigned = lazyre.New(`^\s*(?::[^=\n]+)?[-+*/|&]?=[^=>~]`)
)

// notDone matches a sentence about what an old function does not do.
var notDone = lazyre.New(
	"(?i)\\b(?:is|are|be) (?:not|never|no longer) (?:\\w+ )?\\w+ by\\s+`|`(?:\\([^)]*\\))? (?:skips|ignores|leaves " +
		"out|passes over|does not|never)\\b")

// heldBack returns the old functions that must not do something with certain objects ("`next` skips cancelled jobs"),
// if a sentence names them and the word for those objects. They must then read a field of this name.
func (w wording) heldBack(word string, e effects) (out []string) {
	for _, s := range w.sentences {
		if notDone.MatchString(s) && names(s, word) {
			for _, m := range mentionsIn(s) {
				if e.all[m.name] != "" && !w.isNew(m.name) {
					out = append(out, m.name)
				}
			}
		}
	}
	return out
}

// moves matches code that changes more than a field, so that old code can notice the effect without reading the field.
var moves = lazyre.New(`\.(?:remove|append|add|pop|push|delete|discard|clear|insert|splice|shift|cancel\w*|stop\w*|set\w*|notify\w*|emit)[!?]?\(|\bdel(?:ete)?\b`)

// idleField reports whether a field has no effect on old functions that a sentence wants it to affect. The functions
// that set the field change nothing else, and neither the old functions nor the functions that they call read it.
func (w wording) idleField(name string, about []string, e effects) bool {
	if len(about) == 0 {
		return false
	}
	for n, body := range e.all {
		for _, m := range fieldSet.FindAllStringSubmatch(body, -1) {
			others := lists.Filter(fieldSet.FindAllStringSubmatch(body, -1), func(o []string) bool { return o[1] != name })
			if m[1] == name && !implicit.MatchString(n) && (len(others) > 0 || moves.MatchString(body)) {
				return false
			}
		}
	}
	return !slices.ContainsFunc(about, func(n string) bool {
		return reaches(e.all, n, map[string]bool{name: true})
	})
}

// unreadFields finds fields that the change sets and that only its tests read, without a word of the batch about them.
// They make tests pass, but have no effect.
func (w wording) unreadFields(e effects) {
	for _, m := range fieldSet.FindAllStringSubmatch(w.added, -1) {
		name := m[1]
		about := w.heldBack(name, e)
		if names(w.text, name) && len(about) == 0 || !regexp.MustCompile(`\.`+name+`\b`).MatchString(w.tests) ||
			slices.ContainsFunc(w.files, func(f gates.File) bool { return product(f) && names(f.Before, name) }) {
			continue
		}
		use := regexp.MustCompile(`(\.|@|["':])?\b` + name + `\b`)
		if !w.idleField(name, about, e) && w.anywhere(func(_, code string) bool {
			if strings.Contains(code, name) {
				code = w.effective(code, name)
			}
			return slices.ContainsFunc(use.FindAllStringSubmatchIndex(code, -1), func(at []int) bool {
				field := at[2] >= 0 && strings.ContainsAny(code[at[2]:at[3]], ".@")
				return at[2] >= 0 && (!field || !assigned.MatchString(code[at[1]:]))
			})
		}) {
			continue
		}
		w.broken(RuleOptionUnused, "", "the change sets the field "+name+", which has no effect on what the batch is about",
			"use it where the batch wants it to have an effect")
		return
	}
}

var (
	// shows matches functions that only format an object, and asksShown words of a batch that asks for a format.
	shows     = lazyre.New(`^(?:__repr__|__str__|String|GoString|toString|to_s|inspect)$`)
	asksShown = lazyre.New(`(?i)repr|\bstr\b|\bstring\(|to_?string|to_s\b|inspect|\b(?:shows?|shown|prints?|printed|displays?)\b`)
	// checksOwn matches a condition that only asks whether a value is there and of the right kind.
	checksOwn = lazyre.New(`^[\s(){:!]*(?:\} else )?(?:if|unless)\b(?:\W|\d|\b(?:not|is|or|and|None|null|nil|undefined|len|length|typeof|isNaN|isInteger|Number|math|empty|strip|trim)\b|VALUE)*$`)
	refusesIt = lazyre.New(`^\s*(?:raise|throw|panic|abort|die|fail|error|usage|exit|sys\.exit|process\.exit|return\b.*(?:\b[eE]rr|Error))\w*\b`)
)

// effective returns code without the uses of a value that have no effect: functions that only format it, the code that
// parses or describes its option, and checks of the value itself directly after its assignment.
func (w wording) effective(code, name string) string {
	if !asksShown.MatchString(w.text) {
		for n, body := range language.Functions(code) {
			for line := range strings.Lines(body) {
				if shows.MatchString(n) && names(line, name) {
					code = strings.ReplaceAll(code, strings.TrimRight(line, "\n"), "")
				}
			}
		}
	}
	lines, quoted := strings.Split(code, "\n"), regexp.QuoteMeta(name)
	word, sets := regexp.MustCompile(`\b`+quoted+`\b`), regexp.MustCompile(`\b`+quoted+`\s*:?=[^=>~]`)
	seen := regexp.MustCompile(`(?:={2,3}\s*|\bcase\s+|\bwhen\s+)["']-{1,2}` + quoted + `["']`)
	help := regexp.MustCompile("^[\\s\"'`]*(?:-\\w, *)?--" + quoted + `(?:[ =]\S+)? {2}`)
	for i := range lines {
		if help.MatchString(lines[i]) {
			lines[i] = ""
		} else if sets.MatchString(strings.Join(lines[i:min(i+3, len(lines))], "\n")) {
			lines[i] = seen.ReplaceAllString(lines[i], "")
		}
		near := strings.Join(lines[max(0, i-3):i], "\n")
		if i+1 < len(lines) && refusesIt.MatchString(lines[i+1]) && sets.MatchString(near) &&
			checksOwn.MatchString(word.ReplaceAllString(lines[i], "VALUE")) {
			lines[i] = ""
		}
	}
	return strings.Join(lines, "\n")
}
