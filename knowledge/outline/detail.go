package outline

import (
	_ "embed"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/patterns"
)

//go:embed rules/python_detail.yml
var pythonDetailRules string

//go:embed rules/typescript_detail.yml
var typescriptDetailRules string

//go:embed rules/script_detail.yml
var scriptDetailRules string

// Detail is what a summary wants to know of a file beyond its [Outline]: values, calls with their arguments, and what is
// done about failures. Symbols are those of the outline that was made with it.
type Detail struct {
	Values   []Value
	Calls    []CallSite
	Handlers []Handler
	Members  []Member
}

// Value is what a variable of the module, of a class or of an enum is set to.
type Value struct {
	Symbol int
	Text   string // source on one line, or in Go the value of a constant that is counted
	Type   string // Go: the type that the declaration names
	Const  bool   // Go: a constant
}

// Member is a field of a struct, of a class or of an interface, where it is no symbol of its own.
type Member struct {
	Symbol int
	Text   string // "name: type", or in Go "Name type"
}

// CallSite is a call with its arguments.
type CallSite struct {
	Symbol    int    // the function around it, or what it decorates; -1 for none
	Name      string // dotted, see [Ref]
	Args      []string
	Line      int
	Decorator bool
	Result    bool // something is called on its result: Methods("GET") of HandleFunc("/x", f).Methods("GET")
	From, To  int  // offsets
}

// Handler is a place that deals with a failure: one that is caught, or one that a condition guards against.
type Handler struct {
	Symbol int
	Types  []string // that are caught; none is all of them
	Status []int    // of HTTP, that are answered
	Guard  string   // the condition, where nothing is caught
	Line   int
}

// DetailRules are what ast-grep is asked for a summary: all that [Rules] ask, and more.
func DetailRules(languages ...Language) string {
	more := rulesOf(languages, pythonDetailRules, scriptDetailRules, typescriptDetailRules+scriptDetailRules)
	return strings.Join(slices.DeleteFunc([]string{Rules(languages...), more}, func(s string) bool { return s == "" }), "---\n")
}

// ReadDetail is [Read] with the detail, of nodes that [DetailRules] asked for.
func ReadDetail(l Language, name string, text []byte, nodes []patterns.Node) (Outline, Detail) {
	r := read(l, text, nodes)
	return r.out, r.detail(l)
}

// detail reads what the rules for summaries found. The symbols are there.
func (r *reader) detail(l Language) Detail {
	var d Detail
	for i, e := range r.all {
		if e.Kind == Variable {
			d.Values = append(d.Values, Value{Symbol: i, Text: r.value(e)})
		}
	}
	decorated := map[int]bool{} // places of names that are called by a decorator
	for _, n := range r.nodes {
		if n.Rule == "decorator" {
			at := n.Start + 1
			for at < n.End && strings.IndexByte(" \t\r\n", r.text[at]) >= 0 {
				at++
			}
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

// mostArgs bounds the arguments that are kept of a call.
const mostArgs = 6

// call reads "name(arguments)". The name alone, as decorators may be, has no arguments.
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
	c.Result = to < len(r.text) && r.text[to] == '.'
	return c
}

// lastOpen is where the brackets begin that end a text; -1 for none.
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

// quoted is where a string ends that begins at i. One that does not end ends at once.
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

// arguments are the parts of "(a, b)", each on one line.
func arguments(source string) []string {
	var out []string
	depth, from := 0, 1
	add := func(to int) {
		if arg := strings.TrimSpace(source[from:to]); arg != "" && len(out) < mostArgs {
			out = append(out, phrase.CutBytes(strings.Join(strings.Fields(arg), " "), 160))
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

// value is what a variable is set to where it is defined, "" if that is nothing.
func (r *reader) value(e extent) string {
	end := min(len(r.text), e.name+4000)
	s := string(r.text[e.name:end])
	depth, from := 0, -1
	done := func(i int) string {
		if from < 0 || from > i {
			return ""
		}
		return phrase.CutBytes(strings.Join(strings.Fields(s[from:i]), " "), 160)
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

// typeAfter is ": type" behind a name, as it is written.
func (r *reader) typeAfter(at int) string {
	s := r.text[at:min(len(r.text), at+400)]
	depth := 0
	for i, c := range s {
		switch c {
		case '(', '[', '{', '<':
			depth++
		case ')', ']', '}', '>':
			if depth--; depth < 0 {
				return phrase.CutBytes(strings.Join(strings.Fields(string(s[:i])), " "), 80)
			}
		case ';', ',', '\n':
			if depth == 0 {
				return phrase.CutBytes(strings.Join(strings.Fields(string(s[:i])), " "), 80)
			}
		}
	}
	return ""
}
