package testcode

import (
	"go/ast"
	"go/build"
	"go/build/constraint"
	"go/parser"
	"go/printer"
	"go/token"
	"path"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
)

var (
	goTestName = lazyre.New(`^(Test|Fuzz|Example|Benchmark)([A-Z_0-9]|$)`)
	goTestLine = lazyre.New(`(?m)^func (?:\([^)]*\) )?((?:Test|Fuzz|Example|Benchmark)\w*)\(`)
)

func readGo(text string) Sheet {
	var s Sheet
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "", text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		// It does not compile, but the names are readable.
		for _, m := range goTestLine.FindAllStringSubmatchIndex(text, maxUnits) {
			s.add(Unit{Name: text[m[2]:m[3]], Line: LineAt(text, m[0]), Opaque: true})
		}
		return s
	}
	line := func(n ast.Node) int { return files.Position(n.Pos()).Line }
	head := text[:files.Position(file.Package).Offset]
	if tags, at := buildTags(head); tags != nil && !everywhere(tags) {
		s.disable(at, "the build tag "+tags.String()+" controls whether the tests of the file run")
	}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil || !goTestName.MatchString(f.Name.Name) || len(s.Units) >= maxUnits {
			continue
		}
		if f.Name.Name == "TestMain" && f.Recv == nil {
			if !runsTests(file, f, 3) {
				s.disable(line(f), "TestMain does not run the tests, so the runner sees no failure")
			}
			continue
		}
		u := goUnit(f)
		u.Line = line(f)
		u.Text = text[files.Position(f.Body.Pos()).Offset:files.Position(f.Body.End()).Offset]
		for _, l := range squeeze(printed(files, f.Body)) {
			if !strings.HasPrefix(l, "//") {
				u.Lines = append(u.Lines, l)
			}
		}
		if strings.HasPrefix(u.Name, "Example") {
			for _, c := range file.Comments {
				if c.Pos() > f.Body.Pos() && c.End() < f.Body.End() && strings.Contains(strings.ToLower(c.Text()), "output:") {
					u.Asserts++
					u.Empty = false
				}
			}
		}
		s.add(u)
	}
	return s
}

// buildTags returns the build constraint of a file and its line: that of the //go:build line, else that of all
// "// +build" lines together. head is the text before the package clause.
func buildTags(head string) (all constraint.Expr, at int) {
	n := 0
	for line := range strings.Lines(head) {
		n++
		x, err := constraint.Parse(strings.TrimSpace(line))
		switch {
		case err != nil:
		case constraint.IsGoBuild(line):
			return x, n
		case all == nil:
			all, at = x, n
		default:
			all = &constraint.AndExpr{X: all, Y: x}
		}
	}
	return all, at
}

// everywhere reports whether a build constraint has only Go release tags and holds on this release.
func everywhere(x constraint.Expr) bool {
	versions := true
	ok := x.Eval(func(tag string) bool {
		versions = versions && strings.HasPrefix(tag, "go1.")
		return slices.Contains(build.Default.ReleaseTags, tag)
	})
	return ok && versions
}

// runsTests reports whether a TestMain runs the tests: it calls m.Run, or passes m to a function of another module
// for that purpose, as in testscript and goleak.
func runsTests(file *ast.File, f *ast.FuncDecl, deep int) bool {
	m := ""
	if p := f.Type.Params.List; len(p) > 0 && len(p[0].Names) == 1 {
		m = p[0].Names[0].Name
	}
	foreign := func(e ast.Expr) bool {
		return slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool {
			p := strings.Trim(i.Path.Value, `"`)
			name := path.Base(p)
			if i.Name != nil {
				name = i.Name.Name
			}
			return isIdent(e, name) && strings.Contains(strings.Split(p, "/")[0], ".")
		})
	}
	found := false
	ast.Inspect(f.Body, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == "Run" { // m.Run itself may be passed on
			found = true
		}
		c, ok := n.(*ast.CallExpr)
		if !ok || found {
			return !found
		}
		given := func(e ast.Expr) bool { return m != "" && m != "_" && isIdent(e, m) }
		// a function of the same file
		if fn, ok := c.Fun.(*ast.Ident); ok && fn.Name != f.Name.Name && slices.ContainsFunc(c.Args, given) {
			for _, d := range file.Decls {
				if g, ok := d.(*ast.FuncDecl); ok && g.Recv == nil && g.Body != nil && g.Name.Name == fn.Name && deep > 0 {
					found = runsTests(file, g, deep-1)
				}
			}
		}
		if sel, ok := c.Fun.(*ast.SelectorExpr); ok {
			name := sel.Sel.Name
			found = found || foreign(sel.X) && (strings.Contains(name, "Main") || strings.Contains(name, "Run")) &&
				slices.ContainsFunc(c.Args, given)
		}
		return !found
	})
	return found
}

func printed(files *token.FileSet, n ast.Node) string {
	var b strings.Builder
	if printer.Fprint(&b, files, n) != nil {
		return ""
	}
	return b.String()
}

func goUnit(f *ast.FuncDecl) Unit {
	u := Unit{Name: f.Name.Name}
	if f.Recv != nil && len(f.Recv.List) > 0 {
		t := f.Recv.List[0].Type
		if star, ok := t.(*ast.StarExpr); ok {
			t = star.X
		}
		if id, ok := t.(*ast.Ident); ok {
			u.Name = id.Name + GroupMark + u.Name
		}
	}
	u.Hollow, u.Mute = goHollow(f, u.Name)
	live := reachable(f.Body.List)
	for _, stmt := range live {
		ast.Inspect(stmt, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ForStmt, *ast.RangeStmt:
				u.Loops++
			case *ast.IfStmt:
				if never(n.Cond) {
					return false
				}
			case *ast.CallExpr:
				u.call(n)
			}
			return true
		})
	}
	u.Empty = u.Asserts == 0 && !slices.ContainsFunc(live, telling)
	return u
}

// reachable omits statements after an unconditional return or skip.
func reachable(list []ast.Stmt) []ast.Stmt {
	for i, s := range list {
		if _, ok := s.(*ast.ReturnStmt); ok {
			return list[:i]
		}
		if e, ok := s.(*ast.ExprStmt); ok {
			if c, ok := e.X.(*ast.CallExpr); ok {
				if sel, ok := c.Fun.(*ast.SelectorExpr); ok && strings.HasPrefix(sel.Sel.Name, "Skip") {
					return list // a skip is found separately; the rest is still the test's own text
				}
			}
		}
	}
	return list
}

// telling reports whether a statement may check something. Assignments to _, returns, logs and t.Parallel do not.
func telling(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.EmptyStmt, *ast.ReturnStmt:
		return false
	case *ast.AssignStmt:
		return !(len(s.Lhs) == 1 && isIdent(s.Lhs[0], "_"))
	case *ast.ExprStmt:
		c, ok := s.X.(*ast.CallExpr)
		if !ok {
			return true
		}
		sel, ok := c.Fun.(*ast.SelectorExpr)
		return !ok || !slices.Contains([]string{"Parallel", "Helper", "Log", "Logf"}, sel.Sel.Name)
	case *ast.IfStmt:
		return !never(s.Cond)
	}
	return true
}

// never reports whether the text of a condition shows that it is always false.
func never(e ast.Expr) bool {
	if b, ok := e.(*ast.BinaryExpr); ok {
		x, okX := b.X.(*ast.BasicLit)
		y, okY := b.Y.(*ast.BasicLit)
		if okX && okY {
			return b.Op == token.NEQ && x.Value == y.Value || b.Op == token.EQL && x.Value != y.Value
		}
		return b.Op == token.LAND && (never(b.X) || never(b.Y))
	}
	if not, ok := e.(*ast.UnaryExpr); ok && not.Op == token.NOT {
		return isIdent(not.X, "true")
	}
	return isIdent(e, "false")
}

func isIdent(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}

func (u *Unit) call(c *ast.CallExpr) {
	if sel, ok := c.Fun.(*ast.SelectorExpr); ok {
		on, _ := sel.X.(*ast.Ident)
		name := sel.Sel.Name
		switch {
		case on != nil && slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, name):
			u.Skips++
			return
		case on != nil && slices.Contains([]string{"Error", "Errorf", "Fatal", "Fatalf", "Fail", "FailNow"}, name) &&
			(len(on.Name) <= 2 || on.Name == "tb"):
			u.Asserts++
			return
		case on != nil && slices.Contains([]string{"assert", "require", "is", "qt", "td", "must", "should", "expect"},
			on.Name):
			u.judgement(name, c.Args)
			return
		case slices.Contains([]string{"Run", "Cleanup", "Setenv", "Parallel", "Helper", "TempDir", "Log", "Logf", "Context",
			"Chdir"}, name):
			return
		}
	}
	if isIdent(c.Fun, "Expect") || isIdent(c.Fun, "Ω") || isIdent(c.Fun, "panic") {
		u.Asserts++
		return
	}
	// A helper with the test as an argument may make it fail.
	if slices.ContainsFunc(c.Args, func(e ast.Expr) bool { return isIdent(e, "t") || isIdent(e, "tb") }) {
		u.Asserts++
	}
}

func (u *Unit) judgement(name string, args []ast.Expr) {
	given := lists.Filter(args, func(a ast.Expr) bool { return !isIdent(a, "t") })
	lit := func(i int) string {
		if i < len(given) {
			switch e := given[i].(type) {
			case *ast.BasicLit:
				return e.Value
			case *ast.Ident:
				if e.Name == "true" || e.Name == "false" || e.Name == "nil" {
					return e.Name
				}
			}
		}
		return ""
	}
	switch {
	case strings.HasPrefix(name, "True") && lit(0) == "true", strings.HasPrefix(name, "False") && lit(0) == "false",
		strings.HasPrefix(name, "Nil") && lit(0) == "nil", strings.HasPrefix(name, "NoError") && lit(0) == "nil",
		strings.HasPrefix(name, "Equal") && lit(0) != "" && lit(0) == lit(1):
		u.Trivial++
	default:
		u.Asserts++
	}
}
