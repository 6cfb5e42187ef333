package mutant

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/patterns"
)

// Script returns the mutants of Python, JavaScript and TypeScript files on the given lines of each, sorted by place.
// The files are in dir. The error wraps [patterns.ErrMissing] if ast-grep is not installed.
func Script(ctx context.Context, p patterns.Program, dir string, texts []patterns.Text,
	lines map[string]map[int]bool) ([]Mutant, error) {
	nodes, _, err := p.Nodes(ctx, dir, texts, rules(), 1)
	if err != nil {
		return nil, fmt.Errorf("find lines to mutate: %w", err)
	}
	var out []Mutant
	for _, t := range texts {
		f := scriptFile{path: t.Path, text: string(t.Text), lines: lines[t.Path],
			python: gates.LanguageOf(t.Path) == gates.LangPython, negated: map[[2]int]bool{}, ones: map[[2]int]bool{}}
		for _, n := range nodes[t.Path] {
			if n.Rule == "quiet" {
				f.quiet = append(f.quiet, n)
			}
			if negates(n.Rule) {
				f.negated[[2]int{n.Start, n.End}] = true
			}
			if a, ok := n.Var("A"); ok && n.Rule == "minus" && f.text[a.Start:a.End] == "1" {
				f.ones[[2]int{a.Start, a.End}] = true
			}
		}
		for _, n := range nodes[t.Path] {
			f.mutate(n)
		}
		out = append(out, f.out...)
	}
	return tidy(out), nil
}

type scriptFile struct {
	path, text string
	lines      map[int]bool
	python     bool
	quiet      []patterns.Node
	negated    map[[2]int]bool // expressions with an operator whose mutant negates them
	ones       map[[2]int]bool // expressions -1: -2 would mostly be equivalent, and another mutant removes the minus sign
	out        []Mutant
}

func (f *scriptFile) put(k Kind, start, end int, replacement string) {
	for _, q := range f.quiet {
		if q.Start <= start && end <= q.End+1 { // a statement includes its semicolon
			return // tests do not check printed text
		}
	}
	line := 1 + strings.Count(f.text[:start], "\n")
	if !f.lines[line] {
		return
	}
	f.out = append(f.out, Mutant{Path: f.path, Line: line, Start: start, End: end, Old: f.text[start:end],
		New: replacement, Kind: k})
}

// mutate makes the mutants of one node. The rule's name gives the kind and, for operators, the replacement.
func (f *scriptFile) mutate(n patterns.Node) {
	kind, what, _ := strings.Cut(n.Rule, "-")
	text := f.text[n.Start:n.End]
	switch kind {
	case "op":
		op := operators[atoi(what)]
		a, okA := n.Var("A")
		b, okB := n.Var("B")
		if !okA || !okB || op.old == "+" && (quoted(f.text[a.Start:a.End]) || quoted(f.text[b.Start:b.End])) {
			return
		}
		between := f.text[a.End:b.Start]
		if at := strings.Index(between, op.old); at >= 0 {
			f.put(op.kind, a.End+at, a.End+at+len(op.old), op.new)
		}
	case "condition":
		c, ok := n.Var("C")
		if ok && !f.negated[[2]int{c.Start, c.End}] && !strings.HasSuffix(f.text[c.Start:c.End], "TYPE_CHECKING") {
			not := map[bool]string{true: "not (", false: "!("}[f.python]
			f.put(Condition, c.Start, c.End, not+f.text[c.Start:c.End]+")")
		}
	case "not":
		if a, ok := n.Var("A"); ok {
			f.put(Condition, n.Start, a.Start, "")
		}
	case "minus":
		if a, ok := n.Var("A"); ok {
			f.put(Operator, n.Start, a.Start, "")
		}
	case "return":
		if v, ok := n.Var("V"); ok && !empty(f.text[v.Start:v.End]) {
			f.put(Return, v.Start, v.End, map[bool]string{true: "None", false: "undefined"}[f.python])
		}
	case "call":
		f.put(Call, n.Start, n.End, map[bool]string{true: "pass", false: ";"}[f.python])
	case "throw":
		f.put(Swallow, n.Start, n.End, map[bool]string{true: "pass", false: ";"}[f.python])
	case "bool":
		other := map[string]string{"True": "False", "False": "True", "true": "false", "false": "true"}[text]
		f.put(Constant, n.Start, n.End, other)
	case "number":
		if len(text) < 9 && !f.ones[[2]int{n.Start, n.End}] && strings.Trim(text, "0123456789") == "" &&
			(text == "0" || text[0] != '0') {
			f.put(Constant, n.Start, n.End, fmt.Sprint(atoi(text)+1))
		}
	}
}

// negates reports whether a rule's mutant is the negation of the expression.
func negates(rule string) bool {
	i, ok := strings.CutPrefix(rule, "op-")
	return rule == "not" || ok && slices.Contains(
		[]string{"==", "!=", "===", "!==", "in", "not in", "is", "is not"}, operators[atoi(i)].old)
}

func atoi(s string) int {
	n, _ := strconv.Atoi(s) // only of digits
	return n
}

func quoted(s string) bool { return s != "" && strings.ContainsAny(s[:1]+s[len(s)-1:], "\"'`") }

func empty(s string) bool {
	return slices.Contains([]string{"None", "False", "false", "null", "undefined"}, s)
}

// operators lists operators and their replacements. A rule "op-N" finds the Nth.
var operators = []struct {
	old, new  string
	kind      Kind
	languages string // "" for all
}{
	{"<", "<=", Boundary, ""}, {"<=", "<", Boundary, ""}, {">", ">=", Boundary, ""}, {">=", ">", Boundary, ""},
	{"==", "!=", Condition, ""}, {"!=", "==", Condition, ""}, {"===", "!==", Condition, "js"},
	{"!==", "===", Condition, "js"},
	{"and", "or", Condition, "python"}, {"or", "and", Condition, "python"}, {"&&", "||", Condition, "go js"},
	{"||", "&&", Condition, "go js"},
	{"??", "&&", Condition, "js"}, {"not in", "in", Condition, "python"}, {"in", "not in", Condition, "python"},
	{"is not", "is", Condition, "python"}, {"is", "is not", Condition, "python"},
	{"+", "-", Operator, ""}, {"-", "+", Operator, ""}, {"*", "/", Operator, ""}, {"/", "*", Operator, ""},
	{"%", "*", Operator, ""},
	{"//", "*", Operator, "python"}, {"+=", "-=", Operator, ""}, {"-=", "+=", Operator, ""},
	{"&", "|", Operator, "go"}, {"|", "&", Operator, "go"}, {"<<", ">>", Operator, "go"}, {">>", "<<", Operator, "go"},
}

//go:embed rules/python.yml
var pythonRules string

//go:embed rules/script.yml
var scriptRules string

const operatorRule = "id: op-%d\nlanguage: %s\nseverity: hint\nrule:\n  pattern: \"$A %s $B\"\n"

// rules returns ast-grep's rules for all languages, as YAML documents: those of the files, and one for each operator.
func rules() string {
	var docs []string
	for _, language := range []string{"python", "javascript", "typescript", "tsx"} {
		family, text := "js", strings.ReplaceAll(scriptRules, "LANGUAGE", language)
		switch language {
		case "python":
			family, text = "python", pythonRules
		case "javascript":
			text, _, _ = strings.Cut(text, "    # only in the grammars of TypeScript")
		}
		docs = append(docs, text)
		for i, op := range operators {
			if op.languages == "" || strings.Contains(op.languages, family) {
				docs = append(docs, fmt.Sprintf(operatorRule, i, language, op.old))
			}
		}
	}
	return strings.Join(docs, "---\n")
}
