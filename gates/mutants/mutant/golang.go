package mutant

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// golang makes the mutants of a Go file. Only a build shows which of them do not build.
func golang(file, text string, lines map[int]bool) []Mutant {
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, file, text, parser.SkipObjectResolution)
	if err != nil {
		return nil
	}
	g := goFile{path: file, text: text, lines: lines, file: fset.File(parsed.Pos()), skip: map[ast.Node]bool{},
		room: map[ast.Expr]bool{}}
	for _, d := range parsed.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
			g.body(f.Type, f.Body)
		}
	}
	return g.out
}

type goFile struct {
	path, text string
	lines      map[int]bool
	file       *token.File
	results    []*ast.Field      // of the innermost function
	skip       map[ast.Node]bool // whose mutants would be equivalent
	room       map[ast.Expr]bool // arguments that only reserve memory
	out        []Mutant
}

func (g *goFile) body(t *ast.FuncType, b *ast.BlockStmt) {
	before := g.results
	g.results = nil
	if t.Results != nil {
		g.results = t.Results.List
	}
	ast.Inspect(b, g.visit)
	g.results = before
}

func (g *goFile) source(n ast.Node) string {
	return g.text[g.file.Offset(n.Pos()):g.file.Offset(n.End())]
}

// put adds a mutant that replaces the text of from..to.
func (g *goFile) put(k Kind, from, to token.Pos, replacement string) {
	line := g.file.Line(from)
	if !g.lines[line] {
		return
	}
	start, end := g.file.Offset(from), g.file.Offset(to)
	g.out = append(g.out, Mutant{Path: g.path, Line: line, Start: start, End: end, Old: g.text[start:end],
		New: replacement, Kind: k})
}

func (g *goFile) visit(n ast.Node) bool {
	if e, ok := n.(ast.Expr); ok && g.room[e] {
		return false
	}
	switch n := n.(type) {
	case *ast.FuncLit:
		g.body(n.Type, n.Body)
		return false
	case *ast.CallExpr:
		if quiet(n) {
			return false // tests do not check printed text
		}
		g.arguments(n)
	case *ast.IfStmt:
		g.condition(n)
		g.otherwise(n)
	case *ast.ForStmt:
		if n.Cond != nil {
			g.put(Condition, n.Cond.Pos(), n.Cond.End(), "("+g.source(n.Cond)+") && false")
		}
		if n.Post != nil {
			g.ignore(n.Post) // a loop that does not end only costs time
		}
	case *ast.SwitchStmt:
		if n.Tag == nil {
			for _, s := range n.Body.List {
				for _, cond := range s.(*ast.CaseClause).List {
					g.negate(cond)
				}
			}
		}
	case *ast.BinaryExpr:
		g.binary(n)
	case *ast.UnaryExpr:
		switch {
		case g.skip[n]:
		case n.Op == token.NOT:
			g.put(Condition, n.Pos(), n.X.Pos(), "")
		case n.Op == token.SUB:
			g.put(Operator, n.Pos(), n.X.Pos(), "")
			if g.source(n.X) == "1" { // -2 instead of -1 is mostly the same; without the minus it is not
				g.ignore(n.X)
			}
		}
	case *ast.BasicLit:
		if !g.skip[n] {
			g.literal(n)
		}
	case *ast.Ident:
		switch n.Name {
		case "true":
			g.put(Constant, n.Pos(), n.End(), "false")
		case "false":
			g.put(Constant, n.Pos(), n.End(), "true")
		}
	case *ast.ReturnStmt:
		g.returns(n)
	case *ast.ExprStmt:
		if call, ok := n.X.(*ast.CallExpr); ok && !quiet(call) && g.nameOf(call.Fun) != "panic" {
			g.put(Call, n.Pos(), n.End(), "")
		}
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE && len(n.Lhs) == 1 && !g.skip[n] && g.source(n.Lhs[0]) != "_" {
			g.put(Call, n.Pos(), n.End(), "")
		}
	case *ast.IncDecStmt:
		if g.skip[n] {
			break
		}
		other := map[token.Token]string{token.INC: "--", token.DEC: "++"}[n.Tok]
		g.put(Operator, n.TokPos, n.End(), other)
	case *ast.GenDecl:
		return n.Tok == token.VAR || n.Tok == token.CONST
	}
	return true
}

// arguments finds the argument of make that only reserves memory: a wrong value changes only the speed.
func (g *goFile) arguments(n *ast.CallExpr) {
	if g.nameOf(n.Fun) != "make" {
		return
	}
	_, slice := n.Args[0].(*ast.ArrayType)
	if len(n.Args) == 3 || len(n.Args) == 2 && !slice {
		g.room[n.Args[len(n.Args)-1]] = true
	}
}

func (g *goFile) condition(n *ast.IfStmt) {
	cond := g.source(n.Cond)
	if b, ok := n.Cond.(*ast.BinaryExpr); ok && b.Op == token.NEQ && isNil(b.Y) && n.Else == nil {
		if id := g.source(b.X); id == "err" || strings.HasSuffix(id, "Err") || strings.HasSuffix(id, ".err") {
			g.put(Swallow, n.Cond.Pos(), n.Cond.End(), cond+" && false")
			return // its negation fails in every successful run
		}
	}
	g.negate(n.Cond)
	if b, ok := n.Cond.(*ast.BinaryExpr); ok && n.Else == nil && g.clamps(b, n.Body) {
		g.ignore(b)
	}
}

// negate negates a condition, unless another mutant does the same: == becomes !=, and ! is removed.
func (g *goFile) negate(cond ast.Expr) {
	switch c := ast.Unparen(cond).(type) {
	case *ast.BinaryExpr:
		if (c.Op == token.EQL || c.Op == token.NEQ) && !isNil(c.Y) {
			return
		}
	case *ast.UnaryExpr:
		if c.Op == token.NOT {
			return
		}
	}
	g.put(Condition, cond.Pos(), cond.End(), "!("+g.source(cond)+")")
}

// otherwise finds an else branch that only gives a zero value to what the other branch sets: it is mostly zero already,
// and the negated condition tests the branch.
func (g *goFile) otherwise(n *ast.IfStmt) {
	other, ok := n.Else.(*ast.BlockStmt)
	if !ok || len(other.List) != 1 {
		return
	}
	reset, ok := other.List[0].(*ast.AssignStmt)
	if !ok || len(reset.Lhs) != 1 || !isZero(reset.Rhs[0]) {
		return
	}
	for _, s := range n.Body.List {
		if a, ok := s.(*ast.AssignStmt); ok && slices.ContainsFunc(a.Lhs, func(e ast.Expr) bool {
			return g.source(e) == g.source(reset.Lhs[0])
		}) {
			g.ignore(reset)
		}
	}
}

// clamps reports whether the body yields what the condition compares with, as in if x < lo { return lo }. Then < and <=
// do the same.
func (g *goFile) clamps(b *ast.BinaryExpr, body *ast.BlockStmt) bool {
	if len(body.List) != 1 {
		return false
	}
	operand := func(e ast.Expr) bool { s := g.source(e); return s == g.source(b.X) || s == g.source(b.Y) }
	switch s := body.List[0].(type) {
	case *ast.ReturnStmt:
		return len(s.Results) > 0 && operand(s.Results[0])
	case *ast.AssignStmt:
		return s.Tok == token.ASSIGN && len(s.Lhs) == 1 && len(s.Rhs) == 1 && operand(s.Lhs[0]) && operand(s.Rhs[0])
	}
	return false
}

func (g *goFile) ignore(n ast.Node) { g.skip[n] = true }

func (g *goFile) binary(n *ast.BinaryExpr) {
	if g.skip[n] {
		return
	}
	switch {
	case (n.Op == token.EQL || n.Op == token.NEQ) && isNil(n.Y), n.Op == token.ADD && (isString(n.X) || isString(n.Y)):
		return
	}
	for _, op := range operators {
		if op.old == n.Op.String() && (op.languages == "" || strings.Contains(op.languages, "go")) {
			g.put(op.kind, n.OpPos, n.OpPos+token.Pos(len(op.old)), op.new)
		}
	}
}

func (g *goFile) literal(n *ast.BasicLit) {
	if n.Kind != token.INT {
		return
	}
	v, err := strconv.ParseInt(n.Value, 0, 64)
	if err != nil || v > 1<<31 || strings.HasPrefix(n.Value, "0") && len(n.Value) > 1 {
		return // permissions, masks and sizes
	}
	g.put(Constant, n.Pos(), n.End(), strconv.FormatInt(v+1, 10))
}

// returns replaces each result with the zero value of its type, as far as the type's text shows it.
func (g *goFile) returns(n *ast.ReturnStmt) {
	var types []ast.Expr
	for _, f := range g.results {
		for range max(1, len(f.Names)) {
			types = append(types, f.Type)
		}
	}
	if len(types) != len(n.Results) {
		return
	}
	for i, r := range n.Results {
		zero := g.zero(types[i])
		if zero != "" && zero != g.source(r) {
			kind := Return
			if g.source(types[i]) == "error" {
				kind = Swallow
			}
			g.put(kind, r.Pos(), r.End(), zero)
		}
	}
}

func (g *goFile) zero(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr, *ast.MapType, *ast.ChanType, *ast.FuncType, *ast.InterfaceType:
		return "nil"
	case *ast.ArrayType:
		if t.Len == nil {
			return "nil"
		}
	case *ast.Ident:
		switch t.Name {
		case "error", "any":
			return "nil"
		case "string":
			return `""`
		case "bool":
			return "false"
		case "int", "int8", "int16", "int32", "int64", "uint", "uint8", "uint16", "uint32", "uint64", "byte", "rune",
			"float32", "float64", "uintptr":
			return "0"
		}
	}
	return ""
}

func (g *goFile) nameOf(e ast.Expr) string {
	name := g.source(e)
	return name[strings.LastIndexByte(name, '.')+1:]
}

func isNil(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == "nil"
}

func isZero(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name == "nil" || e.Name == "false"
	case *ast.BasicLit:
		return e.Value == "0" || e.Value == `""`
	}
	return false
}

func isString(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BasicLit:
		return e.Kind == token.STRING
	case *ast.BinaryExpr:
		return e.Op == token.ADD && (isString(e.X) || isString(e.Y))
	case *ast.CallExpr:
		id, ok := e.Fun.(*ast.Ident)
		return ok && id.Name == "string"
	}
	return false
}

// quiet reports whether a call only prints, returns a stored value, or waits.
func quiet(c *ast.CallExpr) bool {
	switch f := c.Fun.(type) {
	case *ast.Ident:
		return f.Name == "print" || f.Name == "println"
	case *ast.SelectorExpr:
		if x, ok := f.X.(*ast.Ident); ok {
			switch x.Name {
			case "log", "slog", "logger", "zap", "logrus":
				return true
			case "fmt":
				return f.Sel.Name == "Print" || f.Sel.Name == "Println" || f.Sel.Name == "Printf" || f.Sel.Name == "Errorf"
			case "errors":
				return f.Sel.Name == "New"
			case "time":
				return f.Sel.Name == "Sleep"
			}
		}
		switch f.Sel.Name {
		case "Debug", "Debugf", "Info", "Infof", "Warn", "Warnf", "Helper", "Grow", "Lock", "Unlock", "RLock", "RUnlock":
			return true
		}
	}
	return false
}
