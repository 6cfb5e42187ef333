package examples

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
)

var (
	tableAt  = lazyre.New(`(?m)^[ \t]*\|.*\n[ \t]*\|[ \t]*:?-[-:| \t]*\n(?:[ \t]*\|.*(?:\n|$))+`)
	sentence = lazyre.New(`[.!?;]\s`)
	// named matches a function in the sentence before a table, with its parameters.
	named = lazyre.New("`([A-Za-z_][\\w.]*)(?:(\\()([^()`]*)\\)(?:\\s*(?::|->)[^`]*)?)?`")
	// resultHead matches the head of a column of results, asideHead that of a column which the calls do not need, and
	// oldHead that of results so far.
	resultHead = lazyre.New(`(?i)\b(?:results?|returns?|outputs?|expected|gives|yields|becomes|after|wanted|should)\b`)
	errorHead  = lazyre.New(`(?i)^errors?$`)
	inputHead  = lazyre.New(`(?i)\b(?:inputs?|arguments?|args?|given|value|text|string|number|word|name|call|before)\b`)
	asideHead  = lazyre.New(`(?i)\b(?:notes?|comments?|why|reasons?|case|description|remarks?|#)\b`)
	nameHead   = lazyre.New("^`?[a-z_]\\w*`?$") // of a parameter
	oldHead    = lazyre.New(`(?i)\b(?:today|currently?|now|actual|so far|old|was)\b`)
	errorCell  = lazyre.New("^`?(?:(?:raises?|throws?) (?:an? )?`?)?((?:\\w+\\.)*(\\w*(?:Error|Exception)|Err[A-Z]\\w*))`?$|^(?:an )?error$")
)

// inTables returns the examples of tables without calls: rows of inputs and results of the function that the sentence
// before the table names.
func inTables(text string) (out []Example) {
	for _, at := range tableAt.FindAllStringIndex(text, -1) {
		paragraphs := strings.Split(strings.TrimRight(text[:at[0]], " \t\n"), "\n\n")
		before := paragraphs[len(paragraphs)-1]
		functions := map[string]string{} // with their parameters
		for i := len(paragraphs) - 1; i >= 0 && len(functions) == 0 && len(paragraphs)-i <= 3; i-- {
			found := named.FindAllStringSubmatch(paragraphs[i], -1)
			called := slices.ContainsFunc(found, func(m []string) bool { return m[2] != "" }) // the other names are values
			for _, m := range found {
				if !keyword.MatchString(m[1]) && (m[2] != "" || !called) {
					functions[m[1]] = cmp.Or(m[3], functions[m[1]])
				}
			}
		}
		sentences := sentence.Split(before, -1)
		if asItIs.MatchString(sentences[len(sentences)-1]) {
			continue
		}
		for name, params := range functions {
			if len(functions) == 1 && !outside.MatchString(name+"(") && !acting.MatchString(name+"(") {
				first := 1 + strings.Count(text[:at[0]], "\n")
				out = append(out, rowsOf(text[at[0]:at[1]], name, split(params), first, demanded.MatchString(before))...)
			}
		}
	}
	return out
}

// Rows returns the inputs, which are code, and the results of tables with these two columns. They need name no function.
func Rows(text string) (out [][2]string) {
	for _, table := range tableAt.FindAllString(text, -1) {
		rows := lists.Map(strings.Split(strings.TrimRight(table, "\n"), "\n"), cells)
		head := rows[0]
		if len(head) != 2 || !resultHead.MatchString(head[1]) && !errorHead.MatchString(head[1]) ||
			oldHead.MatchString(head[0]+head[1]) {
			continue
		}
		for _, r := range rows[2:] {
			if len(r) == 2 && bareCell(r[0]) != r[0] {
				out = append(out, [2]string{bareCell(r[0]), bareCell(r[1])})
			}
		}
	}
	return out
}

// fewestLiterals is the number of rows of a table whose first column is a list of inputs, whatever the others say.
const fewestLiterals = 4

// onlySome matches a sentence about the code as it is, or about inputs that need no test.
var onlySome = lazyre.New(`(?i)\b(?:currently|today|at present|so far|bugs?|wrong\w*|incorrect\w*|already|some|examples?|such as|e\.g)\b`)

// Literals returns, for each table, the first column if all of its cells are code and the table is not about the code as
// it is.
func Literals(text string) (out [][]string) {
	for _, at := range tableAt.FindAllStringIndex(text, -1) {
		rows := lists.Map(strings.Split(strings.TrimRight(text[at[0]:at[1]], "\n"), "\n"), cells)
		sentences := sentence.Split(strings.TrimSpace(text[:at[0]]), -1)
		if len(rows) < 2+fewestLiterals || oldHead.MatchString(strings.Join(rows[0], " ")) ||
			onlySome.MatchString(sentences[len(sentences)-1]) {
			continue
		}
		column := lists.Map(rows[2:], func(r []string) string { return r[0] })
		if !slices.ContainsFunc(column, func(c string) bool { return bareCell(c) == c }) {
			out = append(out, lists.Map(column, bareCell))
		}
	}
	return out
}

// rowsOf makes examples of the rows of a table; none if its columns are not clear.
func rowsOf(table, name string, params []string, line int, firm bool) (out []Example) {
	rows := lists.Map(strings.Split(strings.TrimRight(table, "\n"), "\n"), cells)
	head := rows[0]
	body := lists.Filter(rows[2:], func(r []string) bool { return len(r) == len(head) })
	column := func(i int) []string { return lists.Map(body, func(r []string) string { return r[i] }) }
	result, inputs := -1, []int{}
	for i, h := range head {
		switch {
		case oldHead.MatchString(h) || asideHead.MatchString(h):
		case resultHead.MatchString(h) && (i > 0 || !inputHead.MatchString(h)),
			len(head) == 2 && i == 1 && errorHead.MatchString(h):
			result = i
		case inputHead.MatchString(h) || nameHead.MatchString(h), len(head) == 2 && kindOf(column(i)) == values:
			inputs = append(inputs, i)
		default:
			return nil
		}
	}
	order := func(i int) int {
		return slices.IndexFunc(params, func(p string) bool { return strings.Trim(head[i], "` ") == strings.Trim(p, " ") })
	}
	switch {
	case result < 0 || len(inputs) == 0:
		return nil
	case len(inputs) == 1:
	case slices.ContainsFunc(inputs, func(i int) bool { return order(i) < 0 }):
		return nil
	default:
		slices.SortFunc(inputs, func(a, b int) int { return order(a) - order(b) })
		if order(inputs[0]) != 0 || order(inputs[len(inputs)-1]) != len(inputs)-1 {
			return nil
		}
	}
	kinds := lists.Map(inputs, func(i int) kind { return kindOf(column(i)) })
	want := kindOf(lists.Filter(column(result), func(c string) bool { return !errorCell.MatchString(c) }))
	if want == mixed || slices.Contains(kinds, mixed) {
		return nil
	}
	for n, row := range body {
		var args, texts []string
		for k, i := range inputs {
			args, texts = append(args, kinds[k].literal(row[i])), append(texts, words.literal(row[i]))
		}
		e := Example{Call: name + "(" + strings.Join(args, ", ") + ")", Line: line + 2 + n,
			Firm: firm || strings.Contains(strings.ToLower(head[result]), "expected")}
		if slices.Contains(kinds, numbers) {
			e.Other = name + "(" + strings.Join(texts, ", ") + ")"
		}
		if m := errorCell.FindStringSubmatch(row[result]); m != nil {
			if e.Raises = m[2]; e.Raises == "" {
				e.Raises = AnyError
			}
		} else if e.Want = want.literal(row[result]); want != values {
			e.Printed, e.Want = true, bareCell(row[result])
		}
		if callable(e.Call) && (e.Want != "" || e.Raises != "") && !slices.Contains(row, "") {
			out = append(out, e)
		}
	}
	return out
}

// kind tells how the cells of a column are written.
type kind int

const (
	mixed   kind = iota
	values       // as in code
	numbers      // as in code, but they may stand for texts
	words        // texts without quotation marks
)

var (
	elidedCell = lazyre.New(`^(?:[-–—…]|\.\.\.|n/a|\(.*\))$|…|\.\.\.$`)
	callCell   = lazyre.New(`^\w+(?:\.\w+)*\(.*\)$`)
)

func kindOf(column []string) kind {
	plain, number := 0, 0
	for _, c := range column {
		text := bareCell(c)
		switch _, n := valueOf(text); {
		case c == "" || elidedCell.MatchString(text) || callCell.MatchString(text):
			return mixed
		case n != len(text) || n == 0:
			plain++
		case numeral.MatchString(text):
			number++
		}
	}
	switch {
	case number == len(column):
		return numbers
	case plain == 0:
		return values
	case slices.ContainsFunc(column, func(c string) bool { return quoted(bareCell(c)) > 0 }):
		return mixed
	}
	return words
}

func (k kind) literal(cell string) string {
	if k == words {
		return strconv.Quote(bareCell(cell))
	}
	return bareCell(cell)
}

// cells returns the cells of a row, as written.
func cells(line string) (out []string) {
	line = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(line), "|"), "|")
	code, from := false, 0
	for i := range len(line) {
		switch {
		case line[i] == '`':
			code = !code
		case line[i] == '|' && !code && (i == 0 || line[i-1] != '\\'):
			out, from = append(out, strings.TrimSpace(line[from:i])), i+1
		}
	}
	return append(out, strings.TrimSpace(line[from:]))
}

// bareCell returns the text of a cell without the marks of code.
func bareCell(cell string) string {
	if len(cell) > 1 && cell[0] == '`' && cell[len(cell)-1] == '`' {
		cell = cell[1 : len(cell)-1]
	}
	return strings.ReplaceAll(cell, `\|`, "|")
}
