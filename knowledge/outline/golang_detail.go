package outline

import (
	"go/ast"
	"go/constant"
	"go/token"
	"reflect"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/phrase"
)

// ReadGoDetail does what [ReadGo] does and also returns the detail.
func ReadGoDetail(name string, text []byte) (Outline, Detail) {
	g, f := readGo(name, text)
	out := joinGo([]goPiece{{goPart: &g.part}})
	var d Detail
	if f == nil {
		return out, d
	}
	place := g.places()
	for _, decl := range f.Decls {
		if gen, ok := decl.(*ast.GenDecl); ok {
			d.Values = append(d.Values, g.values(gen, place)...)
			d.Members = append(d.Members, g.members(gen, place)...)
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			d.Calls = append(d.Calls, g.goCall(n))
		case *ast.IfStmt:
			d.Handlers = append(d.Handlers, g.guarded(n.Pos(), n.Cond, n.Body)...)
		case *ast.CaseClause:
			for _, cond := range n.List {
				d.Handlers = append(d.Handlers,
					g.guarded(n.Pos(), cond, &ast.BlockStmt{Lbrace: n.Colon, List: n.Body, Rbrace: n.End()})...)
			}
		}
		return true
	})
	slices.SortStableFunc(d.Handlers, func(a, b Handler) int { return a.Line - b.Line })
	return out, d
}

// values returns the values of a top-level declaration. An iota constant has its number.
func (g *goReader) values(decl *ast.GenDecl, place map[int]int) []Value {
	if decl.Tok != token.CONST && decl.Tok != token.VAR {
		return nil
	}
	var out []Value
	var exprs []ast.Expr
	typ := ""
	for n, s := range decl.Specs {
		spec, ok := s.(*ast.ValueSpec)
		if !ok {
			continue
		}
		if decl.Tok == token.VAR || len(spec.Values) > 0 || spec.Type != nil {
			exprs, typ = spec.Values, ""
			if spec.Type != nil {
				typ = g.node(spec.Type)
			}
		}
		for i, name := range spec.Names {
			at, ok := place[g.offset(name.Pos())]
			if !ok {
				continue
			}
			v := Value{Symbol: at, Type: typ, Const: decl.Tok == token.CONST}
			if i < len(exprs) {
				v.Text = phrase.CutBytes(g.node(exprs[i]), 160)
				if c, ok := exprs[i].(*ast.CallExpr); ok && v.Type == "" && v.Const && len(c.Args) == 1 {
					v.Type, v.Text = g.node(c.Fun), g.node(c.Args[0]) // Kind("x")
				}
				if counted, ok := count(exprs[i], n); ok && v.Const {
					v.Text = counted
				}
			}
			out = append(out, v)
		}
	}
	return out
}

// members returns the fields of structs, under their JSON names if a tag sets one.
func (g *goReader) members(decl *ast.GenDecl, place map[int]int) []Member {
	var out []Member
	for _, s := range decl.Specs {
		spec, ok := s.(*ast.TypeSpec)
		if !ok {
			continue
		}
		at, known := place[g.offset(spec.Name.Pos())]
		t, ok := spec.Type.(*ast.StructType)
		if !ok || !known {
			continue
		}
		for _, f := range t.Fields.List {
			typ, tag := phrase.CutBytes(g.node(f.Type), 60), ""
			if f.Tag != nil {
				if name, _, _ := strings.Cut(reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get("json"), ","); name != "" {
					tag = " json:" + name
				}
			}
			if len(f.Names) == 0 {
				out = append(out, Member{at, typ + tag})
			}
			for _, name := range f.Names {
				out = append(out, Member{at, name.Name + " " + typ + tag})
			}
		}
	}
	return out
}

// count evaluates an expression with iota.
func count(e ast.Expr, iota int) (string, bool) {
	uses := false
	ast.Inspect(e, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && id.Name == "iota" {
			uses = true
		}
		return true
	})
	if !uses {
		return "", false
	}
	v := evaluate(e, iota)
	if v == nil || v.Kind() == constant.Unknown {
		return "", false
	}
	return v.ExactString(), true
}

func evaluate(e ast.Expr, iota int) constant.Value {
	switch e := e.(type) {
	case *ast.Ident:
		if e.Name == "iota" {
			return constant.MakeInt64(int64(iota))
		}
	case *ast.BasicLit:
		if e.Kind == token.INT {
			return constant.MakeFromLiteral(e.Value, e.Kind, 0)
		}
	case *ast.ParenExpr:
		return evaluate(e.X, iota)
	case *ast.BinaryExpr:
		x, y := evaluate(e.X, iota), evaluate(e.Y, iota)
		if x == nil || y == nil {
			return nil
		}
		switch e.Op {
		case token.SHL, token.SHR:
			if n, ok := constant.Uint64Val(y); ok && n < 64 {
				return constant.Shift(x, e.Op, uint(n))
			}
		case token.ADD, token.SUB, token.MUL:
			return constant.BinaryOp(x, e.Op, y)
		}
	}
	return nil
}

// node returns the source of a node on one line.
func (g *goReader) node(n ast.Node) string {
	return phrase.Line(string(g.text[g.offset(n.Pos()):g.offset(n.End())]))
}

func (g *goReader) goCall(n *ast.CallExpr) CallSite {
	from, to := g.offset(n.Pos()), g.offset(n.End())
	c := CallSite{Symbol: around(g.all, from), Name: dotted(g.node(n.Fun)), Line: g.at.of(g.offset(n.Lparen)), From: from,
		To: to}
	for i, a := range n.Args {
		if i < mostArgs {
			c.Args = append(c.Args, phrase.CutBytes(g.node(a), 160))
		}
	}
	return c
}

// guarded returns the failures that a condition guards against: a named error, or an HTTP status in its body.
func (g *goReader) guarded(at token.Pos, cond ast.Expr, body *ast.BlockStmt) []Handler {
	from := g.offset(at)
	h := Handler{Symbol: around(g.all, from), Line: g.at.of(from)}
	ast.Inspect(cond, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if name := g.node(n.Fun); (name == "errors.Is" || name == "errors.As") && len(n.Args) == 2 {
				h.Types = append(h.Types, strings.TrimPrefix(g.node(n.Args[1]), "&"))
			}
			return false
		case *ast.BinaryExpr:
			if n.Op == token.EQL && strings.HasPrefix(g.last(n.Y), "Err") {
				h.Types = append(h.Types, g.node(n.Y))
			}
		}
		return true
	})
	h.Status = g.statuses(body)
	if len(h.Types) == 0 && len(h.Status) == 0 {
		return nil
	}
	if len(h.Types) == 0 {
		h.Guard = oneLine(g.node(cond))
	}
	return []Handler{h}
}

// last returns the final name of a selector.
func (g *goReader) last(e ast.Expr) string {
	name := g.node(e)
	return name[strings.LastIndexByte(name, '.')+1:]
}

// statuses returns the HTTP statuses that a block responds with, without nested conditions.
func (g *goReader) statuses(body *ast.BlockStmt) []int {
	var out []int
	add := func(e ast.Expr) {
		name := strings.TrimPrefix(g.last(e), "Status")
		if n := statusOf(name); n >= 400 && !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	for _, s := range body.List {
		ast.Inspect(s, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.IfStmt, *ast.CaseClause, *ast.FuncLit:
				return false
			case *ast.CallExpr:
				for _, a := range n.Args {
					switch a := a.(type) {
					case *ast.SelectorExpr:
						if strings.HasPrefix(a.Sel.Name, "Status") {
							add(a)
						}
					case *ast.BasicLit:
						if name := g.last(n.Fun); a.Kind == token.INT &&
							(name == "Error" || name == "WriteHeader" || name == "JSON" || name == "AbortWithStatus" || name == "String") {
							add(a)
						}
					}
				}
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && x.Name == "http" && strings.HasPrefix(n.Sel.Name, "Status") {
					add(n)
				}
			}
			return true
		})
	}
	slices.Sort(out)
	return out
}
