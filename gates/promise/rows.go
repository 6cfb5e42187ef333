package promise

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/runplan/runplan/gates/examples"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
)

// rowUntested finds rows of a table of inputs that no test has, although the new tests have at least half of them.
func (w wording) rowUntested() bool {
	old := ""
	for _, p := range w.o.in(language.IsTest) {
		if text, ok := w.read(p); ok {
			old += bare(p, text)
		}
	}
	for _, list := range examples.Literals(w.text) {
		if slices.ContainsFunc(list, func(in string) bool {
			return !cellWord.MatchString(in) || dotted.MatchString(in) || strings.HasPrefix(in, "-")
		}) {
			continue // names, options and sentences
		}
		absent := lists.Filter(list, func(in string) bool { return !ownText(in).MatchString(old) })
		have := lists.Count(list, func(in string) bool { return ownText(in).MatchString(w.tests) })
		if len(absent) > 0 && have*2 >= len(list) {
			w.broken(RuleExampleUntested, "", "the batch has a table of inputs and asks for tests, but no test has "+
				strings.Join(absent, " or "), "test each row of the table")
			return true
		}
	}
	return false
}

// ownText matches an input that is not a part of a longer word.
func ownText(in string) *regexp.Regexp {
	return regexp.MustCompile(`(?:^|[^\w.])` + regexp.QuoteMeta(in) + `(?:[^\w.]|\.?(?:\s|$))`)
}

var (
	// comparedText matches the comparison of any value with a string literal.
	comparedText = lazyre.New(`[\w)\]]\s*={2,3}\s*("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')`)
	// exemplary matches an input that is one of many possible values, such as a version or a time, so code need not
	// contain it.
	exemplary = lazyre.New(`\d\D+\d`)
	thisTable = lazyre.New(`(?i)\b(?:the|this|that|each|every) (?:rows? of (?:the|this) )?tables?\b`)
)

// rowCases finds new code whose only special cases are rows of a table of inputs: it compares with at least two rows,
// but not with all. Signs at the beginning of all rows may be missing. Code that compares with all rows may need them
// as keywords.
func (w wording) rowCases() bool {
	if tabular.MatchString(thisTable.ReplaceAllString(codeSpan.ReplaceAllString(w.text, ""), "")) {
		return false
	}
	for _, list := range examples.Literals(w.text) {
		sign := list[0][:len(list[0])-len(strings.TrimLeftFunc(list[0], notInWord))]
		if slices.ContainsFunc(list, func(in string) bool { return !cellWord.MatchString(in) || !strings.HasPrefix(in, sign) }) {
			continue
		}
		var hits []string
		others := false
		for line := range w.newLines() {
			for _, c := range specialCases(line + comparedCases(line)) {
				in := lists.First(list, func(in string) bool { return in == c.input || in == sign+c.input })
				if in != "" {
					hits = lists.Add(hits, in)
				}
				others = others || in == "" && exemplary.MatchString(c.input)
			}
		}
		if lists.Count(hits, exemplary.MatchString) > 1 && len(hits) < len(list) && !others {
			w.broken(RuleAnswersOnly, "", "the new code has rows of a table of the batch as special cases: "+
				shown(strings.Join(hits, ", ")), "compute the result for every input")
			return true
		}
	}
	return false
}

func notInWord(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) }

// comparedCases returns the string literals that a line compares with, written as branches ("case x").
func comparedCases(line string) (out string) {
	for _, m := range comparedText.FindAllStringSubmatch(line, -1) {
		out += " case " + m[1]
	}
	return out
}
