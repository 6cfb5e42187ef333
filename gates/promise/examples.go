package promise

import (
	"iter"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/examples"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
)

// example is a call that a batch shows with its result. Inputs are the string literals between its parentheses, and
// results the literals after it.
type example struct {
	inputs, results []string
	around          string // the text from the beginning of its line to the next example
}

var (
	quotation = lazyre.New(`"((?:[^"\\\n]|\\.)*)"|'((?:[^'\\\n]|\\.)*)'`)
	// shownCall matches a call, which may have string literals as arguments.
	shownCall = lazyre.New(`\w\(((?:"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|[^()"'\n])*)\)`)
	chain     = lazyre.New(`^(?:\.\w+\([^()]*\))*\.\w+\([^()]*\)$`)
	nextShown = lazyre.New(`\n\s*\n|\n\s*(?:[-*]|\d+\.)\s`)
	// compares matches the code before a string literal that is compared or looked up, and keyed the code after it.
	compares = lazyre.New(`(?:[=!]==?|\bcase\b.*|\bwhen\b.*|\bin\s*[\[({].*|\bequals?\(|\.eql\?\()\s*$`)
	keyed    = lazyre.New(`^\s*(?:===?|:|=>)`)
	// forPeople matches lines that show an example to people.
	forPeople = lazyre.New(`(?i)usage|help|example|e\.g\.|such as|\blike\b|error|exception|panic|\braise\b|\bthrow\b|\bfail|` +
		`print|log|puts|echo|expected|descri|summary|title|placeholder`)
	// tabular matches words of a batch that asks for a table from inputs to results.
	tabular = lazyre.New(`(?i)\b(?:tables?|maps?|mappings?|lookups?|enum\w*|constants?|alias\w*|presets?|special|irregular|` +
		`keywords?|known|dictionar\w*|exactly|literal\w*|hard-?cod\w*|translations?|status\w*)\b`)
)

// asksTable reports whether the sentences, without the code in them, ask for a table from inputs to results.
func (w wording) asksTable() bool { return tabular.MatchString(codeSpan.ReplaceAllString(w.text, "")) }

// texts returns what is between quotation marks.
func texts(line string) (out []string) {
	for _, m := range quotation.FindAllStringSubmatch(line, -1) {
		out = append(out, m[1]+m[2])
	}
	return out
}

// examples returns the calls with string literals that the batch shows.
func (w wording) examples() (out []example) {
	text := strings.NewReplacer("`", "", "…", "...").Replace(w.text)
	var list [][]int
	for _, at := range shownCall.FindAllStringSubmatchIndex(text, -1) {
		if i := len(list) - 1; i >= 0 && chain.MatchString(text[list[i][1]:at[1]]) {
			list[i][1] = at[1] // Name("A B").short() is one example
			continue
		}
		list = append(list, at)
	}
	for i, at := range list {
		end := len(text)
		if i+1 < len(list) {
			end = list[i+1][0]
		}
		rest := text[at[1]:end]
		if stop := nextShown.FindStringIndex(rest); stop != nil {
			rest = rest[:stop[0]]
		}
		line := text[strings.LastIndexByte(text[:at[0]], '\n')+1:at[1]] + rest
		if e := (example{texts(text[at[2]:at[3]]), texts(rest), line}); len(e.inputs) > 0 && len(e.results) > 0 {
			out = append(out, e)
		}
	}
	return out
}

// wordsIn returns the number of words in a text.
func wordsIn(text string) int {
	return len(strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) }))
}

// phrased reports whether a string literal is a phrase instead of a fixed word, such as a status or a content type.
func phrased(text string) bool {
	return strings.ContainsAny(text, " \t") && wordsIn(text) > 1 || strings.Contains(text, "://") ||
		strings.Contains(text, `\n`)
}

// newLines yields the lines of new code, each with the two lines after it.
func (w wording) newLines() iter.Seq2[string, string] {
	return func(yield func(line, next string) bool) {
		for _, f := range w.files {
			if !product(f) || f.Status == gates.Deleted {
				continue
			}
			lines := strings.Split(bareAdded(f), "\n")
			for i, line := range lines {
				if !yield(line, strings.Join(lines[i+1:min(i+3, len(lines))], "\n")) {
					return
				}
			}
		}
	}
}

// special finds new code that has examples of the batch as special cases. It compares a value with the input of an
// example and contains the result nearby, or it contains a result in which the input occurs.
func (w wording) special() bool {
	list := w.examples()
	if len(list) == 0 || w.asksTable() {
		return false
	}
	var hits []string
	for line, next := range w.newLines() {
		if forPeople.MatchString(quotation.ReplaceAllString(line, "")) || language.IsImport(line) {
			continue
		}
		for _, at := range quotation.FindAllStringIndex(line, -1) {
			text := line[at[0]+1 : at[1]-1]
			sought := compares.MatchString(line[:at[0]]) || keyed.MatchString(line[at[1]:])
			beside := texts(line[at[1]:] + "\n" + next)
			match := slices.ContainsFunc(list, func(e example) bool {
				return sought && e.is(text, beside) || language.Depth(line) > 0 && e.contains(text)
			})
			switch {
			case match && !slices.Contains(hits, text):
				hits = append(hits, text)
			case !match && sought && phrased(text) && !slices.ContainsFunc(list,
				func(e example) bool { return slices.Contains(e.inputs, text) }):
				return false // a list of more inputs than the batch shows
			}
		}
	}
	i := slices.IndexFunc(hits, func(h string) bool { return wordsIn(h) > 2 || strings.Contains(h, "://") })
	if i >= 0 {
		w.broken(RuleAnswersOnly, "", "the new code has an example of the batch as a special case: "+shown(hits[i]),
			"compute the result for every input")
	}
	return i >= 0
}

var (
	// asksTestsOf matches a batch that asks for tests of its own work ("test this").
	asksTestsOf = lazyre.New(`(?i)\btest (?:it|them|this|these|both|all|each)\b`)
	// noCase matches an example that needs no new test: it describes old behaviour, or it is one of many.
	noCase = lazyre.New(`(?i)\b(?:still|already|as before|as today|unchanged|stays?|remains?|keeps?|instead of|such as|like|e\.g|` +
		`for example|for instance|do not|don't|never)\b`)
)

// untested finds an example that no test has if the batch asks for tests.
func (w wording) untested() {
	if w.tests != "" && (asksTests.MatchString(w.text) || asksTestsOf.MatchString(w.text)) {
		w.testsHaveAll()
	}
}

// testsHaveAll finds an example in the text that no test has, although the new tests have another example of the text.
func (w wording) testsHaveAll() {
	named := w.listed()
	absent := lists.Filter(named, func(n string) bool { return !names(w.tests, n) })
	if len(absent) > 0 && len(absent) < len(named) {
		w.broken(RuleExampleUntested, "", "the batch asks for tests of "+strings.Join(named, ", ")+", but none has "+absent[0],
			"test all of them")
		return
	}
	if w.halfTested() || w.rowUntested() {
		return
	}
	list := slices.Concat(w.examples(), w.shownValues())
	// own returns an input that only this example has, and that is written the same in all languages.
	own := func(e example) string {
		return lists.First(e.inputs, func(in string) bool {
			others := lists.Count(list, func(o example) bool { return slices.Contains(o.inputs, in) }) - 1
			return others == 0 && (len(in) > 2 || strings.HasPrefix(in, ".")) && !strings.ContainsFunc(in, func(r rune) bool {
				return r == '\\' || r == '$' || r == '%' || r < ' ' || r > unicode.MaxASCII
			})
		})
	}
	// isIn reports whether a text contains an input, but not only as a part of another input or of a result.
	isIn := func(text, in string) bool {
		for _, e := range list {
			for _, longer := range slices.Concat(e.inputs, e.results) {
				if longer != in && strings.Contains(longer, in) {
					text = strings.ReplaceAll(text, longer, "")
				}
			}
		}
		return strings.Contains(text, in)
	}
	missing, has := "", false
	for _, e := range list {
		switch in := own(e); {
		case in == "" || noCase.MatchString(e.around):
		case isIn(w.tests, in):
			has = true
		case missing == "":
			missing = in
		}
	}
	files := func(p string) bool { return !prose.MatchString(p) }
	if missing == "" || !has || slices.ContainsFunc(w.o.in(files), func(p string) bool {
		text, ok := w.read(p)
		return ok && isIn(text, missing)
	}) {
		return
	}
	w.broken(RuleExampleUntested, "", "the batch shows the example "+shown(missing)+" and asks for tests, but no test has it",
		"test all examples of the batch")
}

// valueShown matches the value of an option, or another value with a digit or a punctuation mark, if a verb such as
// "gives" and a result follow.
var valueShown = lazyre.New("`(?:-{1,2}[\\w-]+[ =]([^`\\s]+)|([^`\\s/\\\\]*[^`\\w\\s/\\\\][^`\\s/\\\\]*))`,?\\s+(?:(?:also|now)\\s+)?" +
	"(?:(?:should|must|will)\\s+)?(?:gives?|returns?|becomes?|yields?|prints?|means?)\\s+(?:the\\s+)?[`\"]")

var (
	// testsOfAll matches a sentence that asks for tests of a certain number of things ("test all three").
	testsOfAll = lazyre.New(`(?i)\b(?:tests?|specs?|cover)\b[^.;]*\b(?:all|each of the|the) (three|four|five|six) |\b(?:tests?|specs?) (?:of|for) (both) `)
	// nameList matches a list of names that cannot be ordinary words.
	nameList  = lazyre.New("(?:" + oneName + ", )*" + oneName + ",? (?:and|or) " + oneName)
	oneNameIn = lazyre.New(oneName)
)

const oneName = "`?\\b[a-z]\\w*(?:_|[a-z][A-Z])\\w*\\b`?"

// listed returns the names that the batch wants tests of: the only list of names with the number that it gives.
func (w wording) listed() (out []string) {
	text := strings.Join(strings.Fields(w.text), " ")
	m := testsOfAll.FindStringSubmatch(text)
	if m == nil {
		return nil
	}
	wanted := 2 + slices.Index([]string{"both", "three", "four", "five", "six"}, strings.ToLower(m[1]+m[2]))
	for _, found := range nameList.FindAllString(text, -1) {
		if all := oneNameIn.FindAllString(found, -1); len(all) == wanted {
			if out != nil {
				return nil
			}
			out = lists.Map(all, func(n string) string { return strings.Trim(n, "`") })
		}
	}
	return out
}

// resultShown matches a string literal that a sentence shows as a result, and cellWord an input in a table without a
// call.
var (
	resultShown = lazyre.New("\\b(?:gives?|returns?|becomes?|yields?) `\"([^\"`]{5,})\"`")
	cellWord    = lazyre.New("^[^\\s\"'`(){},]+$")
)

// dotted matches the name of a file or of a part of an object.
var dotted = lazyre.New(`^[@*]?[A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*)*$|\w\.[A-Za-z]\w{0,3}$`)

// shownValues returns the values that the batch shows with results, other than the arguments of calls: values of
// options ("`--ratio -.25` gives `-0.25`"), rows of tables, and results in sentences without a call.
func (w wording) shownValues() (out []example) {
	for _, text := range sentence.Split(w.text, -1) {
		for _, m := range valueShown.FindAllStringSubmatch(text, -1) {
			if in := m[1] + m[2]; !strings.ContainsAny(in, "()<>") && !strings.HasPrefix(in, "--") && !dotted.MatchString(in) {
				out = append(out, example{inputs: []string{in}, around: text})
			}
		}
	}
	text := strings.Join(strings.Fields(w.text), " ")
	for _, at := range resultShown.FindAllStringSubmatchIndex(text, -1) {
		around := text[strings.LastIndex(text[:at[0]], ". ")+1 : at[1]]
		if !shownCall.MatchString(strings.ReplaceAll(around, "`", "")) {
			out = append(out, example{inputs: []string{text[at[2]:at[3]]}, around: around})
		}
	}
	for _, row := range examples.Rows(w.text) {
		if cellWord.MatchString(row[0]) {
			out = append(out, example{inputs: []string{row[0]}, results: []string{row[1]}})
		}
	}
	for _, e := range examples.Find(w.text) {
		in := texts(e.Call)
		known := slices.ContainsFunc(out, func(o example) bool { return slices.Equal(o.inputs, in) })
		if !known && !strings.Contains(w.text, e.Call) { // a row without a call
			out = append(out, example{inputs: in, results: []string{unquoted(e.Want)}})
		}
	}
	return out
}

var (
	// comparedWith matches the comparison of a variable with a value; keyedBy matches a value as the key of a table.
	comparedWith = lazyre.New(`(?:[(,&|!{;?:=]|^|\b(?:if|elif|elsif|when|return|and|or))\s*@?[A-Za-z_]\w*\s*={2,3}\s*(` + value + `)`)
	// oneOf matches a list of values that a variable is compared with.
	oneOf = lazyre.New(`\b(?:case|when)\s+((?:` + value + `)(?:\s*,\s*(?:` + value + `))*)|` +
		`\bin\s*[\[({]([^()\[\]{}]+)[)\]}]|(?:%w[(\[]|\[)([^()\[\]{}]+)[)\]]\.(?:include\?|includes|indexOf)\(`)
	keyedBy     = lazyre.New(`(?:[{,]|^)\s*(` + value + `)\s*(?::|=>)`)
	valueInCode = lazyre.New(value)
)

const value = `-?\d+(?:\.\d+)?\b|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'`

// answered finds new code whose only special cases are examples of the batch: it compares a variable with an argument
// of an example, or has the argument as a key, and contains the result nearby.
func (w wording) answered() bool {
	list := lists.Filter(examples.Find(w.l.Subject().Batch.Text), func(e examples.Example) bool {
		return e.Raises != "" || len(unquoted(e.Want)) > 2 // "", 0 and 1 are results of ordinary cases, too
	})
	inputs := w.numberInputs()
	if len(list)+len(inputs) < 2 || w.asksTable() {
		return false
	}
	var hits []string
	for line, next := range w.newLines() {
		for _, c := range specialCases(line) {
			beside := lists.Map(valueInCode.FindAllString(line[c.end:]+"\n"+next, -1), unquoted)
			hit := lists.First(list, func(e examples.Example) bool {
				return c.answers(e, beside) || c.compared && e.Raises != "" && refusal.MatchString(next) && c.isArg(e)
			})
			switch {
			case isOption.MatchString(c.input):
			case hit.Raises != "" && len(c.input) < 2: // "" or "0", which ordinary code compares with
			case hit.Call != "":
				hits = lists.Add(hits, hit.Call)
			case !slices.Contains(inputs, c.input):
				return false // the code has other cases as well
			case c.compared && !ordinary.MatchString(c.input):
				hits = lists.Add(hits, c.input)
			}
		}
	}
	if len(hits) > 1 {
		w.broken(RuleAnswersOnly, "", "the new code has the examples of the batch as special cases: "+shown(strings.Join(hits, ", ")),
			"compute the result for every input")
	}
	return len(hits) > 1
}

var (
	withValue   = lazyre.New(`\w\(([^()\n]*)\)`)
	optionValue = lazyre.New(`(?:^|\s)-{1,2}[\w-]+[ =](\S+)`)
	// ordinary matches numbers that code often compares with.
	ordinary = lazyre.New(`^-?[012]?$`)
	hasDigit = lazyre.New(`^[-+.\w]*\d[-+.\w]*$`)
	isOption = lazyre.New(`^--?[a-zA-Z]`)
)

// numberInputs returns the values with digits that the batch passes to options and to functions with one argument.
func (w wording) numberInputs() (out []string) {
	text := w.l.Subject().Batch.Text
	list := withValue.FindAllStringSubmatch(text, -1)
	for _, span := range codeSpan.FindAllStringSubmatch(text, -1) {
		list = append(list, optionValue.FindAllStringSubmatch(span[1], -1)...)
	}
	for _, m := range list {
		if in := unquoted(m[1]); hasDigit.MatchString(in) {
			out = lists.Add(out, in)
		}
	}
	return out
}

// specialCase is a value that a line of code compares with a variable, or has as the key of a table.
type specialCase struct {
	input    string // without quotation marks
	end      int    // in the line
	compared bool
}

func specialCases(line string) (out []specialCase) {
	for _, m := range comparedWith.FindAllStringSubmatchIndex(line, -1) {
		out = append(out, specialCase{unquoted(line[m[2]:m[3]]), m[1], true})
	}
	for _, m := range keyedBy.FindAllStringSubmatchIndex(line, -1) {
		if oneOf.MatchString(line) {
			break // case "a", "b":
		}
		out = append(out, specialCase{unquoted(line[m[2]:m[3]]), m[1], false})
	}
	for _, m := range oneOf.FindAllStringSubmatchIndex(line, -1) {
		list := line[max(m[2], m[4], m[6]):max(m[3], m[5], m[7])]
		for _, in := range strings.FieldsFunc(list, func(r rune) bool { return r == ' ' || r == ',' }) {
			out = append(out, specialCase{unquoted(in), m[1], true})
		}
	}
	return out
}

// answers reports whether the value is an argument of the example, and the code nearby contains the result. After a
// comparison, the beginning or the end of the result is enough.
func (c specialCase) answers(e examples.Example, beside []string) bool {
	want, parts := unquoted(e.Want), lists.Map(valueInCode.FindAllString(e.Want, -1), unquoted)
	return c.isArg(e) &&
		slices.ContainsFunc(beside, func(b string) bool {
			return b == want || len(b) > 2 && slices.Contains(parts, b) ||
				c.compared && len(b) > 1 && (strings.HasPrefix(want, b) || strings.HasSuffix(want, b))
		})
}

// isArg reports whether the value is an argument of the example.
func (c specialCase) isArg(e examples.Example) bool {
	return slices.ContainsFunc(e.Args(), func(a string) bool { return unquoted(a) == c.input })
}

func unquoted(text string) string { return strings.Trim(text, `"'`) }

// is reports whether a string literal that code compares with is an input of the example, and its result is among the
// literals nearby.
func (e example) is(text string, beside []string) bool {
	return slices.Contains(e.inputs, text) && slices.ContainsFunc(e.results, func(r string) bool {
		short := !phrased(text) && !(len(r) > 4 && wordsIn(text) > 2 && strings.HasPrefix(text, r))
		return !short && (r == text || slices.ContainsFunc(beside, func(b string) bool {
			return r == b || len([]rune(b)) > 3 && strings.HasPrefix(r, b)
		}))
	})
}

// contains reports whether a string literal is a result of the example, and contains an input of several words.
func (e example) contains(text string) bool {
	return slices.Contains(e.results, text) && slices.ContainsFunc(e.inputs, func(in string) bool {
		return wordsIn(in) > 1 && len(text) > len(in) && strings.Contains(text, in)
	})
}

// shownOption matches an option of an object that a sentence names.
var shownOption = lazyre.New(`\b(options|opts)\.([a-z]\w*)\b`)

// unread finds an option of an object that the batch names and new code does not read, although it reads another option
// of that object. The code must read options only by their names.
func (w wording) unread() {
	by := map[string][]string{}
	for _, text := range w.sentences {
		for _, m := range shownOption.FindAllStringSubmatchIndex(text, -1) {
			object, name := text[m[2]:m[3]], text[m[4]:m[5]]
			if !unmeant(text, m[0]) && !slices.Contains(by[object], name) {
				by[object] = append(by[object], name)
			}
		}
	}
	for object, list := range by {
		whole := regexp.MustCompile(`\b` + object + `\b(?:$|[^.\w]|\.$|\.\W)`)
		code := regexp.MustCompile(`(?m)^.*\bfunction\b.*$|\b`+object+` = `+object+` \|\| \{\}`).ReplaceAllString(w.added, "")
		if whole.MatchString(code) || strings.Contains(code, "arguments") {
			continue
		}
		isRead := func(name string) bool {
			return regexp.MustCompile(`\b` + object + `\.` + name + `\b`).MatchString(code)
		}
		for _, name := range list {
			if slices.ContainsFunc(list, isRead) && !names(w.added, name) && !w.anywhere(func(_, code string) bool {
				return regexp.MustCompile(`\b(?:options|opts)\??\.` + name + `\b`).MatchString(code)
			}) {
				w.broken(RuleOptionUnused, "", "the batch names the option "+object+"."+name+", but no code reads it",
					"use it where the batch says so")
			}
		}
	}
}

// besides finds tests of a correction that call a new function instead of the functions that the batch names. No other
// code uses the new function, so the fault remains.
func (w wording) besides() {
	if !showsFault(w.text) || goesAway.MatchString(w.text) || strings.Contains(strings.ToLower(w.text), "renam") {
		return
	}
	tests := quotation.ReplaceAllString(w.tests, `""`)
	var list []string
	for _, text := range w.sentences {
		for _, m := range wrongCall.FindAllStringSubmatch(text, -1) {
			list = append(list, m[1])
		}
	}
	calls := func(name string) bool { return regexp.MustCompile(`\b` + name + `\(`).MatchString(tests) }
	if len(list) == 0 || slices.ContainsFunc(list, func(n string) bool { return names(tests, n) }) {
		return
	}
	last := ""
	for line := range strings.Lines(w.added) {
		name, decorated := language.Declared(strings.TrimRight(line, "\n")), strings.HasPrefix(last, "@")
		last = line
		if len(name) > 2 && !decorated && language.Depth(line) == 0 && !receiver.MatchString(line) && !names(w.text, name) &&
			calls(name) &&
			!w.anywhere(func(_, code string) bool { return used(code, name) }) {
			w.broken(RuleNotCorrected, "", "the new tests call "+name+", which no other code uses, and not "+list[0]+
				", which the batch is about", "correct "+list[0]+" itself, and test it")
			return
		}
	}
}
