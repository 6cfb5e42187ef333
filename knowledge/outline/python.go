package outline

import (
	"bytes"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/patterns"
)

func (r *reader) python() {
	type span struct{ from, to int }
	var typing []span           // blocks that only type checkers read
	taken := map[int]bool{}     // positions of names that are not calls
	variables := map[int]bool{} // candidates, by position
	bases := map[int]span{}
	for _, n := range r.nodes {
		switch n.Rule {
		case "def":
			e := r.symbol(n, Function, true)
			e.Signature = oneLine(r.source(e.from, r.colon(n.End)))
			r.all = append(r.all, e)
		case "class":
			e, end := r.symbol(n, Class, true), n.End
			if v, ok := n.Var("BASES"); ok {
				end, bases[n.Start] = v.End, span{v.Start, v.End}
			}
			e.Signature = oneLine(r.source(e.from, r.colon(end)))
			r.all = append(r.all, e)
			taken[n.Start] = true
		case "variable":
			e := r.symbol(n, Variable, false)
			e.Signature = r.at.content(r.text, n.Start)
			r.all = append(r.all, e)
			variables[n.Start] = true
		case "alias":
			e := r.symbol(n, TypeAlias, false)
			e.Name, _, _ = strings.Cut(e.Name, "[")
			e.Signature = r.at.content(r.text, n.Start)
			r.all = append(r.all, e)
			taken[n.Start] = true
		case "typing":
			typing = append(typing, span{n.Start, n.To})
		case "decorator":
			taken[r.decorator(n)] = true
		}
	}
	r.all = nest(r.all)
	r.once()
	for i := range r.all {
		s := &r.all[i]
		if s.Kind == Function && s.Parent >= 0 && r.all[s.Parent].Kind == Class {
			s.Kind = Method
		}
	}
	r.out.Symbols = symbols(r.all)

	var remarks []remark
	seen := map[Ref]bool{}
	refer := func(symbol int, kind RefKind, name string) {
		ref := Ref{symbol, kind, name}
		if symbol >= 0 && name != "" && !seen[ref] {
			seen[ref] = true
			r.out.Refs = append(r.out.Refs, ref)
		}
	}
	for i, e := range r.all {
		if b, ok := bases[e.name]; ok && e.Kind == Class {
			for _, name := range baseNames(r.source(b.from, b.to)) {
				refer(i, Inherit, name)
			}
		}
	}
	for _, n := range r.nodes {
		switch n.Rule {
		case "comment":
			remarks = append(remarks, remark{n.Start, n.End, strings.TrimLeft(r.source(n.Start, n.End), "#! ")})
		case "doc":
			r.pythonDoc(n.Start, n.End)
		case "import":
			for _, imp := range parsePythonImport(r.source(n.Start, n.End)) {
				imp.Line = r.at.of(n.Start)
				imp.Types = slices.ContainsFunc(typing, func(s span) bool { return s.from <= n.Start && n.Start < s.to })
				r.out.Imports = append(r.out.Imports, imp)
			}
		case "decorator":
			name, _, _ := strings.Cut(r.source(n.Start+1, n.End), "(")
			refer(after(r.all, n.End), Decorate, dotted(name))
		case "call":
			if !taken[n.Start] {
				refer(around(r.all, n.Start), Call, dotted(r.source(n.Start, n.End)))
			}
		case "type":
			if !taken[n.Start] {
				owner := around(r.all, n.Start)
				for _, name := range typeName.FindAllString(r.source(n.Start, n.End), -1) {
					refer(owner, TypeOf, name)
				}
			}
		}
	}
	r.out.Comments = comments(r.text, r.at, remarks, r.all, r.brief)
}

// decorator returns where the name of a decorator begins, after its @.
func (r *reader) decorator(n patterns.Node) int {
	return n.End - len(bytes.TrimLeft(r.text[n.Start+1:n.End], " \t\r\n"))
}

// once keeps only the first assignment of each variable.
func (r *reader) once() {
	type key struct {
		parent int
		name   string
	}
	seen := map[key]bool{}
	index := make([]int, len(r.all))
	kept := r.all[:0:0]
	for i, e := range r.all {
		k := key{e.Parent, e.Name}
		if e.Kind == Variable && seen[k] {
			index[i] = -1
			continue
		}
		seen[k] = seen[k] || e.Kind == Variable
		if e.Parent >= 0 {
			e.Parent = index[e.Parent] // only variables are removed, and they have no children
		}
		index[i] = len(kept)
		kept = append(kept, e)
	}
	r.all = kept
}

// after returns the next symbol with a body.
func after(all []extent, offset int) int {
	for i := around(all, offset) + 1; i < len(all); i++ {
		if all[i].body && all[i].from >= offset {
			return i
		}
	}
	return -1
}

// colon returns the end of a header: the colon that opens the block, not one in brackets or a string.
func (r *reader) colon(from int) int {
	depth, i := 0, from
	for ; i < len(r.text) && i < from+2000; i++ {
		switch c := r.text[i]; c {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case '\'', '"':
			j := bytes.IndexByte(r.text[i+1:], c)
			if j < 0 {
				r.cut = true
				return from
			}
			i += j + 1
		case ':':
			if depth == 0 {
				return i
			}
		}
	}
	r.cut = r.cut || i < from+2000
	return from
}

var (
	plainName = lazyre.New(`^[\pL_][\pL\pN_]*(?:\.[\pL_][\pL\pN_]*)*$`)
	lastName  = lazyre.New(`\.([\pL_][\pL\pN_]*)$`)
	typeName  = lazyre.New(`[\pL_][\pL\pN_]*(?:\.[\pL_][\pL\pN_]*)*`)
)

// Computed replaces an expression in front of a method: Computed + ".close" for open(f).close.
const Computed = "?"

// dotted returns a name in the form of [Ref], or "".
func dotted(source string) string {
	if len(source) > 2000 {
		return ""
	}
	if isDotted(source) { // the common case
		return source
	}
	name := strings.Join(strings.Fields(source), "")
	if plainName.MatchString(name) {
		return name
	}
	m := lastName.FindStringSubmatch(name)
	switch {
	case m == nil:
		return ""
	case name == "super()."+m[1]:
		return name
	}
	return Computed + "." + m[1]
}

// isDotted reports whether s is a dotted ASCII name.
func isDotted(s string) bool {
	begins := true // at the start of a word
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '_', c >= '0' && c <= '9' && !begins:
			begins = false
		case c == '.' && !begins:
			begins = true
		default:
			return false
		}
	}
	return !begins
}

// baseNames returns the plain names among the bases of a class. For C[int] it returns C.
func baseNames(args string) []string {
	var out []string
	for _, arg := range separated(args) {
		name := typeName.FindString(arg)
		rest, ok := strings.CutPrefix(arg, name)
		if ok && name != "" && !language.Begins(strings.TrimSpace(rest), "=", "(") {
			out = append(out, name)
		}
	}
	return out
}

// pythonDoc adds a docstring. A bytes literal or a formatted string is not a docstring.
func (r *reader) pythonDoc(from, to int) {
	if rest := bytes.TrimLeft(r.text[to:], " \t\f"); len(rest) > 0 && strings.IndexByte("\r\n;#", rest[0]) < 0 {
		return // the first of several expressions in one statement
	}
	content, ok := pythonString(r.source(from, to))
	if !ok {
		return
	}
	content = cleanDoc(content)
	d := Doc{Symbol: around(r.all, from), Content: content}
	if !r.brief {
		d.Format, d.Fields = ParseDocstring(content)
	}
	r.out.Docs = append(r.out.Docs, d)
}

// pythonString returns the contents of one or more adjacent string literals. Escapes stay as they are.
func pythonString(source string) (string, bool) {
	var b strings.Builder
	rest := source
	for {
		rest = strings.TrimLeft(rest, " \t\r\n\f\\")
		if strings.HasPrefix(rest, "#") {
			_, rest, _ = strings.Cut(rest, "\n")
			continue
		}
		if rest == "" {
			return b.String(), true
		}
		i := strings.IndexAny(rest, `'"`)
		if i < 0 || i > 2 || strings.ContainsAny(strings.ToLower(rest[:i]), "bf") {
			return "", false
		}
		quote := rest[i : i+1]
		if strings.HasPrefix(rest[i:], strings.Repeat(quote, 3)) {
			quote = strings.Repeat(quote, 3)
		}
		rest = rest[i+len(quote):]
		end := 0
		for ; !strings.HasPrefix(rest[end:], quote); end++ {
			if end+1 < len(rest) && rest[end] == '\\' {
				end++
			}
			if end+1 >= len(rest) {
				return "", false
			}
		}
		b.WriteString(rest[:end])
		rest = rest[end+len(quote):]
	}
}

// cleanDoc removes the indentation of a docstring as Python's inspect does.
func cleanDoc(s string) string {
	lines := strings.Split(strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\t", "        "), "\n")
	margin := -1
	for _, l := range lines[1:] {
		if text := strings.TrimLeft(l, " "); text != "" && (margin < 0 || len(l)-len(text) < margin) {
			margin = len(l) - len(text)
		}
	}
	lines[0] = strings.TrimLeft(lines[0], " ")
	for i := range lines {
		if i > 0 && margin > 0 {
			lines[i] = lines[i][min(margin, len(lines[i])):]
		}
		lines[i] = strings.TrimRight(lines[i], " \r")
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}

var (
	pythonComment = lazyre.New(`#[^\n]*`)
	pythonJoints  = strings.NewReplacer("\\\n", " ", "\\\r\n", " ", "(", " ", ")", " ")
)

// parsePythonImport parses one import statement; "import a, b" gives two imports.
func parsePythonImport(source string) []Import {
	if strings.Contains(source, "#") {
		source = pythonComment.ReplaceAllString(source, "")
	}
	f := strings.Fields(pythonJoints.Replace(source))
	if len(f) < 2 {
		return nil
	}
	names := func(list string) (out []Name) {
		for part := range strings.SplitSeq(list, ",") {
			switch w := strings.Fields(part); {
			case len(w) == 1:
				out = append(out, Name{w[0], w[0]})
			case len(w) == 3 && w[1] == "as":
				out = append(out, Name{w[0], w[2]})
			}
		}
		return out
	}
	if f[0] == "import" {
		var out []Import
		for _, n := range names(strings.Join(f[1:], " ")) {
			imp := Import{Path: n.Name}
			if n.As != n.Name {
				imp.Alias = n.As
			}
			out = append(out, imp)
		}
		return out
	}
	before, list, ok := strings.Cut(strings.Join(f[1:], " "), " import ")
	if f[0] != "from" || !ok {
		return nil
	}
	before = strings.ReplaceAll(before, " ", "")
	module := strings.TrimLeft(before, ".")
	imp := Import{Path: module, Level: len(before) - len(module), Names: names(list)}
	if len(imp.Names) == 0 {
		return nil
	}
	return []Import{imp}
}
