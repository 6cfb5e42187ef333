package outline

import (
	"bytes"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/patterns"
)

func (r *reader) script() {
	kinds := map[string]Kind{"def": Function, "function": Function, "assigned": Function, "pair": Function,
		"method": Method, "class": Class, "interface": Interface, "enum": Enum}
	functions := map[int]bool{} // positions of names that hold a function
	named := map[int]bool{}     // ends of functions with a name of their own
	holders := map[int]bool{}   // ends of functions that something with a better name holds
	for _, n := range r.nodes {
		switch n.Rule {
		case "def":
			functions[n.Start] = true
			named[n.To] = r.held(n)
		case "function", "assigned", "pair":
			functions[n.Start] = true
		}
	}
	for _, n := range r.nodes {
		if functions[n.Start] && n.Rule != "def" {
			holders[n.To] = !named[n.To] || r.source(n.Start, n.End) != "module.exports"
		}
	}
	for _, n := range r.nodes {
		switch n.Rule {
		case "def", "function", "assigned", "pair", "method", "class", "interface", "enum":
			kind := kinds[n.Rule]
			if kind == Function && named[n.To] && holders[n.To] == (n.Rule == "def") {
				continue // f = function g() {} is one function
			}
			e := r.symbol(n, kind, true)
			e.Name = strings.Trim(e.Name, `"'`)
			e.Signature = oneLine(r.source(e.from, min(e.to, r.head(n.End, kind == Function || kind == Method))))
			if kind == Method && e.Name == "" || n.Rule == "pair" && e.Start == e.End {
				continue // it is shown with its object
			}
			r.all = append(r.all, e)
		case "alias":
			e := r.symbol(n, TypeAlias, false)
			e.Signature = oneLine(r.source(e.from, e.to))
			r.all = append(r.all, e)
		case "variable", "field", "member":
			if functions[n.Start] {
				continue
			}
			e := r.symbol(n, Variable, false)
			e.Name = strings.Trim(e.Name, `"'`)
			e.Signature = r.at.content(r.text, n.Start)
			r.all = append(r.all, e)
		}
	}
	r.all = nest(r.all)
	for i := range r.all {
		s := &r.all[i]
		if s.Kind == Function && s.Parent >= 0 && r.all[s.Parent].Kind == Class &&
			!bytes.HasPrefix(r.text[s.from:], []byte("function")) &&
			!bytes.HasPrefix(r.text[s.from:], []byte("async function")) {
			s.Kind = Method // a field that holds a function
		}
	}
	r.out.Symbols = symbols(r.all)
	r.scriptImports()
	r.scriptComments()
}

// held reports whether a named function is the value of something: f = function g() {}.
func (r *reader) held(n patterns.Node) bool {
	before := bytes.TrimRight(r.text[:max(0, n.From)], " \t\r\n")
	return bytes.HasSuffix(before, []byte("=")) || bytes.HasSuffix(before, []byte(":"))
}

// head returns the end of a signature, where the body begins. It skips the parameters of a function.
func (r *reader) head(from int, parameters bool) int {
	i := from
	if parameters {
		depth := 0
		for ; i < len(r.text) && i < from+2000; i++ {
			c := r.text[i]
			if c == '(' || c == '[' || c == '{' {
				depth++
			} else if c == ')' || c == ']' || c == '}' {
				if depth--; depth < 0 || depth == 0 && c == ')' {
					i++
					break
				}
			} else if depth == 0 && (c == ';' || bytes.HasPrefix(r.text[i:], []byte("=>"))) {
				break
			}
		}
	}
	last := byte(0) // the last byte that is not a space
	for j := i; j < len(r.text) && j < i+500; j++ {
		c := r.text[j]
		if c == '{' && parameters && bytes.IndexByte([]byte(":<|&,"), last) >= 0 { // an object type
			for depth := 0; j < len(r.text) && j < i+500; j++ {
				if c = r.text[j]; c == '{' {
					depth++
				} else if c == '}' {
					if depth--; depth == 0 {
						break
					}
				}
			}
			last = '}'
			continue
		}
		if c != ' ' && c != '\t' {
			last = c
		}
		switch {
		case c == '{' || c == '}' || c == ';' || parameters && (c == '\n' || bytes.HasPrefix(r.text[j:], []byte("=>"))):
			return j
		}
	}
	return i
}

var (
	quotedAtEnd  = lazyre.New(`(?s)['"]([^'"\n]+)['"]\s*\)?\s*(?:(?:with|assert)\s*\{[^}]*\})?\s*;?\s*$`)
	tripleSlash  = lazyre.New(`^///\s*<reference\s+(?:path|types)\s*=\s*['"]([^'"]+)['"]`)
	lineComment  = lazyre.New(`//[^\n]*`)
	blockComment = lazyre.New(`(?s)/\*.*?\*/`)
)

func (r *reader) scriptImports() {
	typed := map[int]bool{}
	for _, n := range r.nodes {
		typed[n.Start] = typed[n.Start] || n.Rule == "typeimport"
	}
	add := func(n patterns.Node, imp Import) {
		imp.Line = r.at.of(n.Start)
		if imp.Path != "" {
			r.out.Imports = append(r.out.Imports, imp)
		}
	}
	for _, n := range r.nodes {
		source := r.source(n.Start, n.End)
		switch n.Rule {
		case "import":
			add(n, parseScriptImport(source))
		case "reexport":
			types := n.From >= 0 && n.From < n.Start &&
				strings.HasPrefix(phrase.Line(r.source(n.From, n.Start)), "export type ")
			add(n, Import{Path: strings.Trim(source, `'"`), Types: types})
		case "typeimport":
			add(n, Import{Path: strings.Trim(source, `'"`), Types: true})
		case "require":
			if !typed[n.Start] {
				add(n, Import{Path: strings.Trim(source, `'"`)})
			}
		case "comment":
			if m := tripleSlash.FindStringSubmatch(source); m != nil {
				add(n, Import{Path: m[1], Types: true})
			}
		}
	}
}

// parseScriptImport parses one import statement of JavaScript or TypeScript.
func parseScriptImport(source string) Import {
	var imp Import
	m := quotedAtEnd.FindStringSubmatchIndex(source)
	if m == nil {
		return imp
	}
	imp.Path = source[m[2]:m[3]]
	clause := lineComment.ReplaceAllString(blockComment.ReplaceAllString(source[:m[0]], " "), " ")
	clause = strings.TrimSpace(strings.TrimPrefix(clause, "import"))
	clause = strings.TrimSpace(strings.TrimSuffix(clause, "from"))
	if rest, ok := strings.CutPrefix(clause, "type"); ok && rest != "" && strings.ContainsAny(rest[:1], " {*\n\t") {
		imp.Types, clause = true, strings.TrimSpace(rest)
	}
	list := ""
	if i := strings.IndexByte(clause, '{'); i >= 0 {
		list = strings.Trim(clause[i:], "{} \t\r\n")
		clause = strings.Trim(clause[:i], ", \t\r\n")
	}
	for part := range strings.SplitSeq(clause, ",") {
		switch w := strings.Fields(part); {
		case len(w) == 1:
			imp.Names = append(imp.Names, Name{"default", w[0]})
		case len(w) == 3 && w[0] == "*":
			imp.Alias = w[2]
		}
	}
	types, all := 0, 0
	for part := range strings.SplitSeq(list, ",") {
		w := strings.Fields(part)
		if len(w) > 1 && w[0] == "type" && w[1] != "as" {
			w = w[1:]
			types++
		}
		if len(w) > 0 {
			all++
			imp.Names = append(imp.Names, Name{w[0], w[len(w)-1]})
		}
	}
	if types > 0 && types == all && len(imp.Names) == all && imp.Alias == "" {
		imp.Types = true
	}
	return imp
}

// lead matches the words that may stand between a documentation comment and the name that it documents.
var lead = lazyre.New(`^(?:[\s@]|\b(?:export|default|declare|abstract|async|public|private|protected|static|readonly|override|accessor|const|let|var|function|class|interface|type|enum|get|set|new)\b|\*)*(?:[\w$]+\.)*$`)

func (r *reader) scriptComments() {
	names := lists.Order(r.all, func(a, b extent) int { return a.name - b.name })
	var remarks []remark
	first := true
	for _, n := range r.nodes {
		if n.Rule != "comment" {
			continue
		}
		source := r.source(n.Start, n.End)
		if !strings.HasPrefix(source, "/**") || len(source) < 5 {
			remarks = append(remarks, remark{n.Start, n.End, plainComment(source)})
			continue
		}
		content := plainComment(source)
		owner, found := r.documented(names, n.End)
		head := first && len(bytes.TrimSpace(r.text[:n.Start])) == 0
		first = false
		if !found && !head && !strings.Contains(content, "@module") && !strings.Contains(content, "@packageDocumentation") &&
			!strings.Contains(content, "@file") {
			remarks = append(remarks, remark{n.Start, n.End, content})
			continue
		}
		if content == "" {
			continue
		}
		d := Doc{Symbol: owner, Content: content}
		if !r.brief {
			d.Format, d.Fields = ParseJSDoc(content)
		}
		r.out.Docs = append(r.out.Docs, d)
	}
	r.out.Comments = comments(r.text, r.at, remarks, r.all, r.brief)
}

// documented returns the symbol that follows a comment. Only words such as export and decorators may stand between
// them.
func (r *reader) documented(names []int, end int) (int, bool) {
	i, _ := slices.BinarySearchFunc(names, end, func(s, at int) int { return r.all[s].name - at })
	if i == len(names) {
		return -1, false
	}
	between := r.text[end:r.all[names[i]].name]
	if len(between) > 2000 || bytes.Contains(between, []byte("*/")) {
		return -1, false
	}
	rest := bytes.TrimSpace(between)
	for bytes.HasPrefix(rest, []byte("@")) { // skip a decorator with its arguments
		depth, j := 0, 0
		for ; j < len(rest); j++ {
			if c := rest[j]; c == '(' || c == '{' {
				depth++
			} else if c == ')' || c == '}' {
				depth--
			} else if depth == 0 && (c == '\n' || c == ' ') {
				break
			}
		}
		rest = bytes.TrimSpace(rest[j:])
	}
	if !lead.Match(rest) {
		return -1, false
	}
	return names[i], true
}

// plainComment returns a comment without comment markers.
func plainComment(source string) string {
	if !strings.HasPrefix(source, "/*") {
		return strings.TrimSpace(strings.TrimLeft(source, "/#!"))
	}
	source = strings.TrimSuffix(strings.TrimLeft(strings.TrimPrefix(source, "/"), "*"), "*/")
	var out []string
	for line := range strings.SplitSeq(source, "\n") {
		line = strings.TrimRight(line, " \t\r")
		if text, ok := strings.CutPrefix(strings.TrimLeft(line, " \t"), "*"); ok {
			line = strings.TrimPrefix(text, " ")
		}
		out = append(out, line)
	}
	return strings.TrimSpace(strings.TrimRight(strings.Join(out, "\n"), "*\n "))
}
