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

// fixedTexts finds new code that has the text of an example with the values of this example. The text stands in a
// paragraph with other code that has two or more digits of it, such as "bad hour 25" beside at("25:00").
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
				w.broken(RuleAnswersOnly, "", "the new code has the text of an example with its values: "+shown(t),
					"make the text of the values that the code gets")
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
var notDone = lazyre.New("(?i)\\b(?:is|are|be) (?:not|never|no longer) (?:\\w+ )?\\w+ by\\s+`|`(?:\\([^)]*\\))? (?:skips|ignores|leaves out|does not|never)\\b")

// heldBack reports whether a sentence with the word says what an old function does not do. A field of this name must
// then be read.
func (w wording) heldBack(word string) bool {
	return slices.ContainsFunc(w.sentences, func(s string) bool {
		return notDone.MatchString(s) && names(s, word) && slices.ContainsFunc(mentionsIn(s), func(m mention) bool {
			return w.anywhere(func(_, code string) bool { return language.Functions(code)[m.name] != "" })
		})
	})
}

// unreadFields finds fields that the change sets, that its tests read and no code does, and that the batch does not
// name: they make tests pass without any effect.
func (w wording) unreadFields() {
	for _, m := range fieldSet.FindAllStringSubmatch(w.added, -1) {
		name := m[1]
		if names(w.text, name) && !w.heldBack(name) || !regexp.MustCompile(`\.`+name+`\b`).MatchString(w.tests) ||
			slices.ContainsFunc(w.files, func(f gates.File) bool { return product(f) && names(f.Before, name) }) {
			continue
		}
		use := regexp.MustCompile(`(\.|@|["':])?\b` + name + `\b`)
		if w.anywhere(func(_, code string) bool {
			return slices.ContainsFunc(use.FindAllStringSubmatchIndex(code, -1), func(at []int) bool {
				field := at[2] >= 0 && strings.ContainsAny(code[at[2]:at[3]], ".@")
				return at[2] >= 0 && (!field || !assigned.MatchString(code[at[1]:]))
			})
		}) {
			continue
		}
		w.broken(RuleOptionUnused, "", "the change sets the field "+name+", which only tests read",
			"use it where the batch wants it to have an effect")
	}
}
