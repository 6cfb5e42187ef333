package outline

import (
	_ "embed"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/patterns"
)

//go:embed rules/python_detail.yml
var pythonDetailRules string

//go:embed rules/typescript_detail.yml
var typescriptDetailRules string

//go:embed rules/script_detail.yml
var scriptDetailRules string

// Detail holds what a summary needs beyond the [Outline]: values, calls with arguments, and error handling. Symbol
// indexes refer to the outline made at the same time.
type Detail struct {
	Values   []Value
	Calls    []CallSite
	Handlers []Handler
	Members  []Member
}

// Value is the initial value of a variable of a module, class or enum.
type Value struct {
	Symbol int
	Text   string // source on one line; in Go the value of an iota constant
	Type   string // Go: the declared type
	Const  bool   // Go: a constant
}

// Member is a field of a struct, class or interface that is not itself a symbol.
type Member struct {
	Symbol int
	Text   string // "name: type", or in Go "Name type"
}

// CallSite is a call with its arguments.
type CallSite struct {
	Symbol    int    // the enclosing or decorated function; -1 for none
	Name      string // dotted, see [Ref]
	Args      []string
	Line      int
	Decorator bool
	From, To  int // offsets
}

// Handler is a place that handles a failure: a catch clause, or a condition that guards against it.
type Handler struct {
	Symbol int
	Types  []string // caught types; empty means all
	Status []int    // HTTP statuses of the response
	Guard  string   // the condition, if no error is caught
	Line   int
}

// DetailRules returns the ast-grep rules for a summary: those of [Rules] and more.
func DetailRules(languages ...Language) string {
	more := rulesOf(languages, pythonDetailRules, scriptDetailRules, typescriptDetailRules+scriptDetailRules)
	return strings.Join(slices.DeleteFunc([]string{Rules(languages...), more}, func(s string) bool { return s == "" }),
		"---\n")
}

// ReadDetail does what [Read] does and also returns the detail. The nodes must come from [DetailRules].
func ReadDetail(l Language, text []byte, nodes []patterns.Node) (Outline, Detail) {
	r := read(l, text, nodes, false)
	return r.out, r.detail(l)
}

// detail reads the results of the summary rules. The symbols are already known.
func (r *reader) detail(l Language) Detail {
	var d Detail
	for i, e := range r.all {
		if e.Kind == Variable {
			d.Values = append(d.Values, Value{Symbol: i, Text: r.value(e)})
		}
	}
	decorated := map[int]bool{} // positions of names that a decorator calls
	for _, n := range r.nodes {
		if n.Rule == "decorator" {
			at := r.decorator(n)
			decorated[at] = true
			c := r.call(at, n.End)
			c.Symbol, c.Decorator = after(r.all, n.End), true
			d.Calls = append(d.Calls, c)
		}
	}
	for _, n := range r.nodes {
		from, to := n.Start, n.To
		switch {
		case n.Rule == "invoke" && l != Python, n.Rule == "construct":
			from, to = n.From, n.End
		case n.Rule != "invoke":
			continue
		}
		if from < 0 || to <= from || decorated[from] {
			continue
		}
		d.Calls = append(d.Calls, r.call(from, to))
	}
	for _, n := range r.nodes {
		if owner := around(r.all, n.Start); n.Rule == "property" && owner >= 0 {
			d.Members = append(d.Members, Member{owner, r.source(n.Start, n.End) + r.typeAfter(n.End)})
		}
	}
	d.Handlers = r.handlers(l, d.Calls)
	return d
}

// mostArgs is the highest number of arguments stored for a call.
const mostArgs = 6

// call parses "name(arguments)". A bare name, as in some decorators, has no arguments.
func (r *reader) call(from, to int) CallSite {
	c := CallSite{Symbol: around(r.all, from), Line: r.at.of(from), From: from, To: to}
	source := r.source(from, to)
	open := lastOpen(source)
	if open < 0 {
		c.Name = dotted(source)
		return c
	}
	c.Name = dotted(strings.TrimPrefix(source[:open], "new "))
	if i := strings.IndexByte(source[:open], '<'); i > 0 && c.Name == "" { // type arguments
		c.Name = dotted(source[:i])
	}
	c.Args = arguments(source[open:])
	return c
}

// lastOpen returns the start of the brackets that end a text, or -1.
func lastOpen(source string) int {
	if !strings.HasSuffix(source, ")") {
		return -1
	}
	var open []int
	for i := 0; i < len(source); i++ {
		switch c := source[i]; c {
		case '(':
			open = append(open, i)
		case ')':
			if len(open) == 0 {
				return -1
			}
			last := open[len(open)-1]
			open = open[:len(open)-1]
			if i == len(source)-1 {
				return last
			}
		case '\'', '"', '`':
			i = quoted(source, i)
		}
	}
	return -1
}

// quoted returns the end of the string that begins at i. An unterminated string ends where it begins.
func quoted(s string, i int) int {
	q := s[i : i+1]
	if strings.HasPrefix(s[i:], strings.Repeat(q, 3)) && q != "`" {
		if j := strings.Index(s[i+3:], strings.Repeat(q, 3)); j >= 0 {
			return i + 3 + j + 2
		}
		return i
	}
	for j := i + 1; j < len(s); j++ {
		switch {
		case s[j] == '\\':
			j++
		case s[j] == q[0]:
			return j
		case s[j] == '\n' && q != "`":
			return i
		}
	}
	return i
}

// arguments returns the first parts of "(a, b)", each on one line.
func arguments(source string) []string {
	parts := separated(source)
	return lists.Map(parts[:min(len(parts), mostArgs)],
		func(arg string) string { return phrase.CutBytes(phrase.Line(arg), 160) })
}

// separated splits "(a, b)" at its commas into its parts.
func separated(source string) []string {
	var out []string
	depth, from := 0, 1
	add := func(to int) {
		if arg := strings.TrimSpace(source[from:to]); arg != "" {
			out = append(out, arg)
		}
	}
	for i := 0; i < len(source); i++ {
		switch c := source[i]; c {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth--; depth == 0 {
				add(i)
				return out
			}
		case ',':
			if depth == 1 {
				add(i)
				from = i + 1
			}
		case '\'', '"', '`':
			i = quoted(source, i)
		}
	}
	return out
}

// value returns the initial value of a variable at its definition, or "".
func (r *reader) value(e extent) string {
	end := min(len(r.text), e.name+4000)
	s := string(r.text[e.name:end])
	depth, from := 0, -1
	done := func(i int) string {
		if from < 0 || from > i {
			return ""
		}
		return phrase.CutBytes(phrase.Line(s[from:i]), 160)
	}
	for i := len(e.Name); i < len(s); i++ {
		switch c := s[i]; {
		case c == '(' || c == '[' || c == '{':
			depth++
		case c == ')' || c == ']' || c == '}':
			if depth--; depth < 0 {
				return done(i)
			}
		case c == '\'' || c == '"' || c == '`':
			i = quoted(s, i)
		case depth > 0:
		case c == '=' && from < 0 && !strings.HasPrefix(s[i:], "=>"):
			from = i + 1
		case c == '#', c == ';', strings.HasPrefix(s[i:], "//"):
			return done(i)
		case c == ',' && e.Kind == Variable && from >= 0, c == '\n' && (from < 0 || strings.TrimSpace(s[from:i]) != ""):
			return done(i)
		}
	}
	return done(len(s))
}

// typeAfter returns the type annotation after a name, as written.
func (r *reader) typeAfter(at int) string {
	s := r.text[at:min(len(r.text), at+400)]
	depth := 0
	for i, c := range s {
		switch c {
		case '(', '[', '{', '<':
			depth++
		case ')', ']', '}', '>':
			depth--
		}
		if depth < 0 || depth == 0 && (c == ';' || c == ',' || c == '\n') {
			return phrase.CutBytes(phrase.Line(string(s[:i])), 80)
		}
	}
	return ""
}
