package promise

import (
	"slices"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/examples"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
)

var (
	// aText matches a string literal or a regular expression in code.
	aText = lazyre.New(`"((?:[^"\\\n]|\\.)*)"|'((?:[^'\\\n]|\\.)*)'|` + "`([^`\\n]*)`" +
		`|(?:[=(,:!&|?\[{;~]|\breturn|\bwhen)\s*/((?:[^/\\\n ]|\\.)(?:[^/\\\n]|\\.)*)/|%[wr][(\[{]([^)\]}\n]*)[)\]}]`)
	// wordOf matches a word of a string literal, and notWord a sign of a regular expression or of a format string.
	wordOf  = lazyre.New(`[\pL\pN]{2,}`)
	notWord = lazyre.New(`\\.|\(\?P?<\w+>|%\w|\$?\{\w*\}`)
	// seeks matches code that compares with or searches for a string.
	seeks = lazyre.New(`(?i)[=!]=|\bcase\b|\bwhen\b|\bin\b|prefix|suffix|starts?_?with|ends?_?with|contains|includes?\b|index|find|search|match|test\(|equal|=~|` +
		`\.get\(|\.has\(|has_key|key\?|compile|regexp`)
	// comparedNumber matches a number that code compares with a variable, and ofList the elements of a list in a call.
	comparedNumber = lazyre.New(`(?:[=!]==?|\bcase|\bwhen|\bin\s*[\[({](?:[^\])}]*,)?)\s*-?(\d{2,})\b`)
	ofList         = lazyre.New(`[\[{].*[\]}]`)
	longNumber     = lazyre.New(`\b\d{2,}\b`)
	// entry matches a line of a list or a table that begins with a string literal.
	entry = lazyre.New(`^\s*(?:(?:case|when)\s+)?["'` + "`" + `][^"'` + "`" + `\n]*["'` + "`" + `]\s*(?::|=>|,|$)`)
	// amount matches a number with its unit, which cannot be a keyword.
	amount = lazyre.New(`^\d+[a-z]+$`)
	// universal matches words that code may contain, whatever its plan says.
	universal = lazyre.New(`^(?:https?|ftp|file|mailto|www|com|org|net|html?|xml|json|utf8?|true|false|null|none|nil|undefined|nan|inf|infinity|yes|no|on|off|` +
		`the|and|of|for|to|an|or|in|at|by|self|this|name|value|key|type|id)$`)
)

// piece is an example with the words of its call and of its result.
type piece struct {
	examples.Example
	in, out []string
}

// has reports whether the call contains all of the words. hands reports whether the call and the result contain a word.
func (p piece) has(words []string) bool {
	return !slices.ContainsFunc(words, func(word string) bool { return !slices.Contains(p.in, word) })
}

func (p piece) hands(word string) bool {
	return slices.Contains(p.in, word) && slices.Contains(p.out, word)
}

func wordsOf(text string) []string {
	return lists.Map(wordOf.FindAllString(notWord.ReplaceAllString(text, " "), -1), strings.ToLower)
}

// pieces returns the examples of the batch whose calls contain words in string literals, or numbers in a list.
func (w wording) pieces() (out []piece) {
	for _, e := range examples.Find(w.l.Subject().Batch.Text) {
		p := piece{e, nil, wordsOf(e.Want)}
		for _, t := range texts(e.Call) {
			p.in = append(p.in, wordsOf(t)...)
		}
		p.in = append(p.in, longNumber.FindAllString(ofList.FindString(quotation.ReplaceAllString(e.Call, "")), -1)...)
		if len(p.in) > 0 {
			out = append(out, p)
		}
	}
	return out
}

// pieced finds new code that compares with words of the examples. Either the words only pass from the call to the
// result, and so are data. Or the results of several examples are next to their words. Words that are in the prose of
// the batch, in several examples or in other code may be keywords; so may a list with words that are in no example.
func (w wording) pieced() {
	list := w.pieces()
	if len(list) == 0 || w.asksTable() {
		return
	}
	keyword := w.keywords(list)
	handed := func(word string) bool { return slices.ContainsFunc(list, func(p piece) bool { return p.hands(word) }) }
	type hit struct {
		function   int
		text, call string // call is the example whose result is next to the text; "" if the words only pass to the result
	}
	var hits []hit
	last, at, others := "", 0, map[int]bool{} // others are functions that also have other cases
	for line, next := range w.newLines() {
		code, near := aText.ReplaceAllString(line, ""), around(last, line, next)
		if language.Declared(line) != "" {
			at++
		}
		last = line
		if forPeople.MatchString(code) || language.IsImport(line) {
			continue
		}
		if moreWords(list, near) {
			others[at] = others[at] || seeks.MatchString(code)
			continue
		}
		for _, text := range textsIn(line) {
			words := wordsOf(text)
			_, after, _ := strings.Cut(line, text)
			sought := seeks.MatchString(code) || keyed.MatchString(strings.TrimLeft(after, "\"'"))
			if !sought || len(words) == 0 || slices.ContainsFunc(words, keyword) {
				continue
			}
			values := lists.Map(valueInCode.FindAllString(line+"\n"+next, -1), unquoted)
			answer := lists.First(list, func(p piece) bool { return p.has(words) && slices.Contains(values, unquoted(p.Want)) })
			switch {
			case lists.Count(words, handed) == len(words), answer.Call != "" && amount.MatchString(text):
				hits = append(hits, hit{at, text, ""})
			case len(answer.in) > 1:
				hits = append(hits, hit{at, text, answer.Call})
			}
		}
	}
	var answers []string
	for _, h := range hits {
		switch {
		case others[h.function]:
		case h.call != "":
			answers = lists.Add(answers, h.call)
		default:
			w.broken(RuleAnswersOnly, "", "the new code compares with words of an example of the batch: "+shown(h.text),
				"compute the result for every input")
			return
		}
	}
	if len(answers) > 1 {
		w.broken(RuleAnswersOnly, "", "the new code has parts of the examples of the batch as special cases: "+
			shown(strings.Join(answers, ", ")), "compute the result for every input")
	}
}

// around returns a line of code with the lines before and after it, if they are entries of the same list.
func around(last, line, next string) string {
	next, _, _ = strings.Cut(next, "\n")
	for _, other := range []string{last, next} {
		if entry.MatchString(other) {
			line += "\n" + other
		}
	}
	return line
}

// moreWords reports whether string literals in code contain words that no example contains.
func moreWords(list []piece, code string) bool {
	return slices.ContainsFunc(textsIn(code), func(text string) bool {
		return slices.ContainsFunc(wordsOf(text), func(word string) bool {
			return !slices.ContainsFunc(list, func(p piece) bool {
				return slices.Contains(p.in, word) || slices.Contains(p.out, word)
			})
		})
	})
}

// textsIn returns the string literals and regular expressions of a line, and the numbers that it compares with.
func textsIn(line string) (out []string) {
	for _, m := range aText.FindAllStringSubmatch(line, -1) {
		out = append(out, strings.Join(m[1:], ""))
	}
	for _, m := range comparedNumber.FindAllStringSubmatch(aText.ReplaceAllString(line, ""), -1) {
		out = append(out, m[1])
	}
	return out
}

// tableRow matches a row of a table with values.
var tableRow = lazyre.New(`(?m)^[ \t]*\|.*\d.*$|^[ \t]*\|.*["'` + "`" + `].*$`)

// keywords returns a function that reports whether code may have to contain a word of an example.
func (w wording) keywords(list []piece) func(word string) bool {
	prose := w.l.Subject().Batch.Title + "\n" + w.l.Subject().Batch.Text
	for _, p := range list {
		prose = strings.ReplaceAll(strings.ReplaceAll(prose, p.Call, ""), p.Want, "")
		for _, t := range slices.Concat(texts(p.Call), texts(p.Want)) {
			if wordsIn(t) > 1 {
				prose = strings.ReplaceAll(prose, t, "")
			}
		}
	}
	prose = tableRow.ReplaceAllString(prose, "")
	said := wordsOf(prose)
	code := longNumber.ReplaceAllString(aText.ReplaceAllString(w.added, ""), "")
	for p, text := range w.code {
		if !slices.ContainsFunc(w.files, func(f gates.File) bool { return f.Path == p }) {
			code += "\n" + text
		}
	}
	for _, f := range w.files {
		if product(f) {
			code += "\n" + f.Before
		}
	}
	code = strings.ToLower(code)
	return func(word string) bool {
		return len(word) < 3 && !longNumber.MatchString(word) || universal.MatchString(word) || names(code, word) ||
			lists.Count(list, func(p piece) bool { return slices.Contains(p.in, word) }) > 1 ||
			slices.ContainsFunc(said, func(s string) bool {
				short, long := min(len(s), len(word)), max(len(s), len(word))
				return long-short < 3 && short > 2 && s[:short] == word[:short]
			})
	}
}
