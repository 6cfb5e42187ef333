package outline

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/runplan/runplan/internal/lists"
)

// ReadGo makes the outline of a Go file. The names of an import are those of the package that the file uses.
func ReadGo(name string, text []byte) Outline {
	g, _ := readGo(name, text)
	return joinGo([]goPiece{{goPart: &g.part}})
}

func readGo(name string, text []byte) (*goReader, *ast.File) {
	g := &goReader{reader: reader{text: text, at: linesOf(text)}, files: token.NewFileSet(),
		docs: map[*ast.CommentGroup]bool{}}
	f, err := parser.ParseFile(g.files, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		g.failed(err)
	}
	if f != nil {
		g.file = g.files.File(f.FileStart)
		g.read(f)
	}
	return g, f
}

type goReader struct {
	reader
	files     *token.FileSet
	file      *token.File
	docs      map[*ast.CommentGroup]bool
	owned     []ownedDoc
	receivers map[int]string // position of a method's name → receiver type
	part      goPart
}

// ownedDoc is a comment with the position of the name that it documents.
type ownedDoc struct {
	name int
	doc  *ast.CommentGroup
}

func (g *goReader) failed(err error) {
	g.part.Error = &ParseError{Line: 1, Message: err.Error()}
	if list, ok := errors.AsType[scanner.ErrorList](err); ok && len(list) > 0 {
		g.part.Error.Line, g.part.Error.Message = list[0].Pos.Line, list[0].Msg
		if o := list[0].Pos.Offset; o >= 0 && o <= len(g.text) {
			g.part.Error.Content = g.at.content(g.text, o)
		}
	}
}

// offset returns the offset of p, limited to the file. A broken file can have positions outside of it.
func (g *goReader) offset(p token.Pos) int {
	if !p.IsValid() {
		return 0
	}
	return min(max(g.file.Offset(p), 0), len(g.text))
}

// add adds a symbol that spans a node. head is the end of its signature.
func (g *goReader) add(name *ast.Ident, kind Kind, from, to, head token.Pos, body bool, docs ...*ast.CommentGroup) {
	if name == nil || name.Name == "_" {
		return
	}
	start := g.offset(from)
	end := max(start, g.offset(to))
	e := extent{
		Symbol: Symbol{Name: name.Name, Kind: kind, Start: g.at.of(start), End: g.at.of(max(end-1, start))},
		from:   start, to: end, name: g.offset(name.Pos()), body: body,
	}
	if h := g.offset(head); h >= start {
		e.Signature = oneLine(string(g.text[start:h]))
	}
	g.all = append(g.all, e)
	for _, d := range docs {
		if d != nil {
			g.docs[d] = true
			g.owned = append(g.owned, ownedDoc{e.name, d})
			return
		}
	}
}

func (g *goReader) read(f *ast.File) {
	g.receivers, g.part.used = map[int]string{}, map[string][]string{}
	used := g.part.used
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			kind, head := Function, d.Type.End()
			if d.Recv != nil {
				kind = Method
				g.receivers[g.offset(d.Name.Pos())] = receiver(d.Recv)
			}
			g.add(d.Name, kind, d.Pos(), d.End(), head, d.Body != nil, d.Doc)
		case *ast.GenDecl:
			g.decl(d, true)
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.DeclStmt:
			if d, ok := n.Decl.(*ast.GenDecl); ok {
				g.decl(d, false)
			}
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && n.Sel.IsExported() && !slices.Contains(used[x.Name], n.Sel.Name) {
				used[x.Name] = append(used[x.Name], n.Sel.Name)
			}
		}
		return true
	})
	g.all = nest(g.all)
	g.part.Symbols = symbols(g.all)
	for i, e := range g.all {
		if of := g.receivers[e.name]; of != "" && e.Kind == Method {
			g.part.methods = append(g.part.methods, goMethod{i, of})
		}
	}
	g.imports(f)
	g.comments(f)
}

// decl adds the types of a declaration, and at top level also constants and variables.
func (g *goReader) decl(d *ast.GenDecl, top bool) {
	for i, s := range d.Specs {
		of := d.Doc // the group's comment documents its first name only
		if i > 0 {
			of = nil
		}
		from, to := s.Pos(), s.End()
		if !d.Lparen.IsValid() {
			from = d.Pos()
		}
		switch s := s.(type) {
		case *ast.TypeSpec:
			kind, head := TypeAlias, s.End()
			switch t := s.Type.(type) {
			case *ast.StructType:
				kind, head = Class, t.Fields.Opening
			case *ast.InterfaceType:
				kind, head = Interface, t.Methods.Opening
			}
			g.add(s.Name, kind, from, to, head, kind == Class || kind == Interface, s.Doc, of)
			if t, ok := s.Type.(*ast.InterfaceType); ok && t.Methods != nil {
				for _, m := range t.Methods.List {
					if _, isFunc := m.Type.(*ast.FuncType); isFunc && len(m.Names) == 1 {
						g.add(m.Names[0], Method, m.Pos(), m.End(), m.End(), false, m.Doc)
					}
				}
			}
		case *ast.ValueSpec:
			if !top {
				continue
			}
			for _, name := range s.Names {
				g.add(name, Variable, from, to, to, false, s.Doc, of)
			}
		}
	}
}

// receiver returns the type name of a method's receiver.
func receiver(list *ast.FieldList) string {
	if len(list.List) == 0 {
		return ""
	}
	for t := list.List[0].Type; ; {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.ParenExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

func (g *goReader) imports(f *ast.File) {
	for _, s := range f.Imports {
		spec, err := strconv.Unquote(s.Path.Value)
		if err != nil {
			continue
		}
		imp := Import{Path: spec, Line: g.at.of(g.offset(s.Pos()))}
		if s.Name != nil {
			imp.Alias = s.Name.Name
		}
		g.part.Imports = append(g.part.Imports, imp)
	}
}

// packageName guesses the name of a package: the last path element that is not a version.
func packageName(spec string) string {
	base := path.Base(spec)
	if len(base) > 1 && base[0] == 'v' && strings.Trim(base[1:], "0123456789") == "" && path.Dir(spec) != "." {
		base = path.Base(path.Dir(spec))
	}
	if i := strings.LastIndex(base, ".v"); i > 0 { // gopkg.in/yaml.v3
		base = base[:i]
	}
	return strings.TrimPrefix(base, "go-")
}

func (g *goReader) comments(f *ast.File) {
	place := g.places()
	doc := func(owner int, c *ast.CommentGroup) {
		if text := strings.TrimSpace(wordsOf(c)); text != "" {
			text = strings.ToValidUTF8(text, "�")
			g.part.Docs = append(g.part.Docs,
				Doc{Symbol: owner, Content: text, Format: Plain, Fields: Fields{Summary: summary(strings.Split(text, "\n"))}})
		}
	}
	if f.Doc != nil {
		g.docs[f.Doc] = true
		doc(-1, f.Doc)
	}
	slices.SortStableFunc(g.owned, func(a, b ownedDoc) int { return a.name - b.name })
	for _, o := range g.owned {
		if i, ok := place[o.name]; ok {
			doc(i, o.doc)
		}
	}
	var remarks []remark
	for _, c := range f.Comments {
		if text := wordsOf(c); !g.docs[c] && text != "" {
			remarks = append(remarks, remark{g.offset(c.Pos()), g.offset(c.End()), strings.TrimSpace(text)})
		}
	}
	g.part.Comments = comments(g.text, g.at, remarks, g.all, false)
}

// places returns the symbols by the positions of their names.
func (g *goReader) places() map[int]int {
	return lists.Index(g.all, func(e extent) int { return e.name })
}

// wordsOf returns the words of a comment. It guards against a panic of go/ast on an empty comment at the end of a
// broken file.
func wordsOf(c *ast.CommentGroup) string {
	if last := c.List[len(c.List)-1].Text; strings.HasPrefix(last, "/*") && len(last) < len("/**/") {
		return ""
	}
	return c.Text()
}
