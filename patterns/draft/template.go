package draft

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/patterns"
)

// grammar holds the names of the syntax tree of a language that templates use.
type grammar struct {
	language  string
	also      []string // languages with the same names
	ext       string
	call      string // kind of a call
	callee    string // its field
	statement string // kind of a statement that is one expression
	await     string // kind; "" if the language has none
	loops     []string
	keyword   string // kind of a named argument
	wrap      string // wraps statements into a file
}

// grammarOf returns the grammar for ast-grep's name of a language.
func grammarOf(language string) (grammar, bool) {
	switch language {
	case "python":
		return grammar{language: language, ext: "py", call: "call", callee: "function", statement: "expression_statement",
			await: "await",
			loops: []string{"for_statement", "while_statement"}, keyword: "keyword_argument"}, true
	case "typescript", "javascript":
		g := grammar{language: language, ext: "ts", call: "call_expression", callee: "function",
			statement: "expression_statement", await: "await_expression",
			loops: []string{"for_statement", "for_in_statement", "while_statement", "do_statement"}, keyword: "pair",
			wrap: "async function example() {\n%s\n}"}
		if g.also = []string{"tsx"}; language == "javascript" {
			g.ext, g.also = "js", nil
		}
		return g, true
	case "go":
		return grammar{language: language, ext: "go", call: "call_expression", callee: "function",
				statement: "expression_statement",
				loops:     []string{"for_statement"}, keyword: "keyed_element", wrap: "package example\n\nfunc example() {\n%s\n}"},
			true
	case "java":
		return grammar{language: language, ext: "java", call: "method_invocation", callee: "name",
			statement: "expression_statement",
			loops:     []string{"for_statement", "enhanced_for_statement", "while_statement", "do_statement"},
			wrap:      "class Example { void example() {\n%s\n} }"}, true
	}
	return grammar{}, false
}

// grammarNames returns the languages of a lesson that have templates. A lesson for all languages has examples in an
// unknown one of them.
func grammarNames(languages []string) []string {
	var names []string
	for _, l := range languages {
		l = patterns.Canonical(l)
		if _, ok := grammarOf(l); ok && !slices.Contains(names, l) {
			names = append(names, l)
		}
	}
	return names
}

// candidate is a rule that may express a lesson.
type candidate struct {
	template string
	says     string // for people
	rule     any
}

// document returns the candidate as a rule file.
func (c candidate) document(id string, l Lesson, g grammar) string {
	line := func(s string) string {
		text, _ := json.Marshal(phrase.Line(s)) // a JSON string is a YAML one; no error is possible
		return string(text)
	}
	rule, err := json.Marshal(c.rule)
	if err != nil {
		panic(err) // maps and strings only
	}
	also := ""
	if len(g.also) > 0 {
		also = ", also: [" + strings.Join(g.also, ", ") + "]"
	}
	return fmt.Sprintf(
		"id: %s\nlanguage: %s\nseverity: hint\nmessage: %s\nnote: %s\nmetadata: {lesson: %q, template: %s%s}\nrule: %s\n",
		id, g.language, line(l.Title), line(c.says), l.ID, c.template, also, rule)
}

type node = map[string]any

// candidates returns the templates filled in with the calls of the examples, the most specific first. unsaid lists the
// names that were not used because the lesson does not mention them.
func candidates(g grammar, l Lesson) (all []candidate, unsaid []string) {
	bad, good := calls(l.Bad), calls(l.Good)
	text := l.Title + " " + l.Description
	says := func(words ...string) bool {
		return regexp.MustCompile(`(?i)\b(` + strings.Join(words, "|") + `)`).MatchString(text)
	}
	var named []string
	for _, f := range bad {
		if mentioned(text, f) {
			named = append(named, f)
		} else {
			unsaid = append(unsaid, f)
		}
	}
	put := func(template, says string, rule any) { all = append(all, candidate{template, says, rule}) }
	for _, f := range named {
		if !slices.Contains(good, f) || g.keyword == "" {
			continue
		}
		for _, k := range keywords(l.Good) {
			if !slices.Contains(keywords(l.Bad), k) && mentioned(text, k) {
				has := node{"kind": g.keyword, "regex": "^" + k + `\b`, "stopBy": "end"}
				put("missing-argument", fmt.Sprintf("%s is called without %s", f, k),
					node{"all": []any{g.calls(f), node{"not": node{"has": has}}}})
			}
		}
	}
	for _, f := range named {
		for _, other := range good {
			if slices.Contains(good, f) && !slices.Contains(bad, other) && mentioned(text, other) && other != f {
				// stopBy end reaches the root of the file: the rule matches in files that never make the other call
				call := g.calls(other)
				call["stopBy"] = "end"
				root := node{"inside": node{"not": node{"inside": node{"regex": "."}}, "stopBy": "end", "has": call}}
				put("missing-companion", fmt.Sprintf("%s is called, and %s nowhere in the file", f, other),
					node{"all": []any{g.calls(f), node{"not": root}}})
			}
		}
	}
	for _, f := range named {
		statement := node{"inside": node{"kind": g.statement}}
		both := slices.Contains(good, f) // the good example uses it differently
		if both && g.await != "" && says("await") {
			put("not-awaited", fmt.Sprintf("%s is called without await", f), node{"all": []any{g.calls(f), statement}})
		}
		if both && says("stor", "keep", "kept", "hold", "handle", "refer", "assign", "result", "return", "discard", "drop",
			"ignor", "unsubscribe", "cancel") {
			put("dropped-result", fmt.Sprintf("the result of %s is dropped", f), node{"all": []any{g.calls(f), statement}})
		}
		if says("loop", "iterat", "each", "every", "per item", "batch") {
			loops := lists.Map(g.loops, func(k string) any { return node{"kind": k} })
			put("in-loop", fmt.Sprintf("%s is called in a loop", f),
				node{"all": []any{g.calls(f), node{"inside": node{"any": loops, "stopBy": "end"}}}})
		}
	}
	for _, f := range bad {
		for _, t := range handled(l.Good) {
			stem := regexp.MustCompile(`(?i)\b`+regexp.QuoteMeta(words(f)[0])).MatchString(text) && len(words(f)[0]) > 3
			if g.language == "python" && stem && !slices.Contains(handled(l.Bad), t) && strings.Contains(text, t) {
				call := node{"kind": g.call, "has": node{"field": g.callee, "regex": `(^|[._])` + regexp.QuoteMeta(words(f)[0])},
					"stopBy": "end"}
				caught := node{"kind": "except_clause",
					"has": node{"field": "value", "regex": `\b(` + t + `|Exception|BaseException)\b`}}
				put("missing-handler", fmt.Sprintf("the handlers around %s… do not catch %s", words(f)[0], t),
					node{"kind": "try_statement", "all": []any{
						node{"has": node{"field": "body", "has": call}},
						node{"has": node{"kind": "except_clause"}}, node{"not": node{"has": caught}},
					}})
			}
		}
	}
	for _, f := range named {
		// a call itself is a mistake only if the lesson says so
		never := regexp.MustCompile(`(?i)\b(avoid|never|do not|don't|instead of|rather than|in place of)\W+(\w+\W+){0,4}` +
			regexp.QuoteMeta(f) + `\b`)
		if !slices.Contains(good, f) && never.MatchString(text) {
			put("called", fmt.Sprintf("%s is called", f), g.calls(f))
		}
	}
	return all, unsaid
}

// calls returns the rule for a call of a name, on any receiver.
func (g grammar) calls(name string) node {
	return node{"kind": g.call, "has": node{"field": g.callee, "regex": `(^|[.\s])` + regexp.QuoteMeta(name) + "$"}}
}

// calls returns the names that are called in code, in their order; for a.b.c it is c. Extra names do no harm, because
// ast-grep decides what a candidate finds.
func calls(code string) []string {
	var names []string
	for _, m := range regexp.MustCompile(`([A-Za-z_][\w.]*)\s*\(`).FindAllStringSubmatch(code, -1) {
		name := strings.Trim(m[1], ".")
		parts := strings.Split(name, ".")
		name = parts[len(parts)-1]
		switch name {
		case "if", "for", "while", "switch", "catch", "return", "function", "func", "def", "class", "except", "elif", "and",
			"or", "not", "in", "new", "print", "super", "await", "async", "":
			continue
		}
		if regexp.MustCompile(`(?m)\b(def|func|function)\s+(\([^)]*\)\s*)?` + regexp.QuoteMeta(name) +
			`\b`).MatchString(code) {
			continue // declared by the example
		}
		names = lists.Add(names, name)
	}
	return names
}

// handled returns the exceptions that handlers in code name.
func handled(code string) []string {
	var names []string
	for _, m := range regexp.MustCompile(`(?m)^\s*except\*?\s+(.+?)(\s+as\s+\w+)?\s*:`).FindAllStringSubmatch(code, -1) {
		for _, t := range regexp.MustCompile(`\w+`).FindAllString(m[1], -1) {
			names = lists.Add(names, t)
		}
	}
	return names
}

// keywords returns the names of arguments in code.
func keywords(code string) []string {
	var names []string
	for _, m := range regexp.MustCompile(`[(,{]\s*([A-Za-z_]\w*)\s*[=:][^=]`).FindAllStringSubmatch(code, -1) {
		names = lists.Add(names, m[1])
	}
	return names
}

// mentioned reports whether a text mentions a name: the name itself, or all of its words.
func mentioned(text, name string) bool {
	if len(name) < 3 {
		return false
	}
	lower := strings.ToLower(text)
	for _, w := range append(words(name), strings.ToLower(name)) {
		if len(w) >= 3 && !strings.Contains(lower, w) {
			if w == strings.ToLower(name) {
				break // not as one word, but all its words are there
			}
			return false
		}
	}
	longest := slices.MaxFunc(words(name), func(a, b string) int { return len(a) - len(b) })
	return regexp.MustCompile(`(?i)\b` + regexp.QuoteMeta(longest)).MatchString(text)
}

// words splits createTask and create_task into words.
func words(name string) []string {
	var b strings.Builder
	for _, r := range name {
		if unicode.IsUpper(r) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.FieldsFunc(b.String(), func(r rune) bool { return r == '_' })
}
