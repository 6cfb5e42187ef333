package testcode

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
)

// These calls cannot make a test fail.
var (
	goQuiet = []string{"Parallel", "Helper", "Log", "Logf", "Skip", "Skipf", "SkipNow", "Name", "Cleanup", "Run",
		"Fuzz", "Add", "ReportAllocs", "ResetTimer"}
	goPrints   = []string{"fmt", "log", "slog"}
	goBuiltins = []string{"len", "cap", "append", "make", "new", "print", "println", "min", "max", "string", "int", "bool",
		"byte", "float64", "any"}
	goPlain = []string{"string", "bool", "int", "int64", "byte", "rune", "float64", "uint", "any"}
)

// goHollow reports whether a test calls nothing that could fail (hollow), and whether f has the form of a test, so
// that hollow is meaningful.
func goHollow(f *ast.FuncDecl, suite string) (hollow, test bool) {
	name := f.Name.Name
	if !strings.HasPrefix(name, "Test") && !strings.HasPrefix(name, "Fuzz") {
		return false, false // examples and benchmarks need no assertion
	}
	if f.Recv == nil && f.Type.Params.NumFields() != 1 || f.Recv != nil && !strings.Contains(suite, "Suite") {
		return false, false // a method of a fake may be called TestConnection
	}
	handle := ""
	if f.Recv == nil && len(f.Type.Params.List[0].Names) > 0 {
		handle = f.Type.Params.List[0].Names[0].Name
	}
	tells := false
	for _, s := range untilReturn(f.Body.List) {
		ast.Inspect(s, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.IfStmt:
				if never(n.Cond) {
					return false
				}
			case *ast.CallExpr:
				tells = tells || goTells(n, handle)
			case *ast.SendStmt, *ast.SelectStmt:
				tells = true
			case *ast.UnaryExpr:
				tells = tells || n.Op == token.ARROW
			case *ast.ValueSpec: // var _ Reader = file{} is checked by the compiler
				if n.Type != nil && len(n.Values) > 0 &&
					!slices.ContainsFunc(goPlain, func(p string) bool { return isIdent(n.Type, p) }) {
					tells = true
				}
			}
			return !tells
		})
	}
	return !tells, true
}

func untilReturn(list []ast.Stmt) []ast.Stmt {
	for i, s := range list {
		if _, ok := s.(*ast.ReturnStmt); ok {
			return list[:i]
		}
	}
	return list
}

// goTells reports whether a call may fail a test. Its arguments are checked separately.
func goTells(c *ast.CallExpr, handle string) bool {
	switch fun := c.Fun.(type) {
	case *ast.FuncLit:
		return false // its body is checked
	case *ast.Ident:
		return !slices.Contains(goBuiltins, fun.Name)
	case *ast.SelectorExpr:
		on, ok := fun.X.(*ast.Ident)
		if !ok {
			return true
		}
		switch {
		case on.Name == "assert" || on.Name == "require":
			var u Unit
			u.judgement(fun.Sel.Name, c.Args)
			return u.Trivial == 0
		case on.Name == "testing" && slices.Contains([]string{"Short", "Verbose", "Testing"}, fun.Sel.Name):
			return false
		case on.Name == "time" && slices.Contains([]string{"Sleep", "Now", "Since"}, fun.Sel.Name):
			return false
		case slices.Contains(goPrints, on.Name):
			return strings.HasPrefix(fun.Sel.Name, "Fatal") || strings.HasPrefix(fun.Sel.Name, "Panic")
		case handle != "" && on.Name == handle || on.Name == "t" || on.Name == "b" || on.Name == "f":
			if !slices.Contains(goQuiet, fun.Sel.Name) {
				return true
			}
			// The called function may be declared elsewhere.
			return slices.Contains([]string{"Run", "Fuzz", "Cleanup"}, fun.Sel.Name) &&
				!slices.ContainsFunc(c.Args, func(e ast.Expr) bool { _, ok := e.(*ast.FuncLit); return ok })
		}
	}
	return true
}

var (
	pyCall    = lazyre.New(`([\w.]+)\s*\(`)
	pyQuiet   = lazyre.New(`^(?:print|range|len|str|int|bool|list|dict|set|tuple|(?:logging|logger|log|self\.log|warnings)\.\w+|time\.sleep|(?:unittest\.)?SkipTest|pytest\.(?:skip|xfail)|self\.skipTest|if|elif|while|for|in|not|and|or|return|raise|is)$`)
	pyTells   = lazyre.New(`\b(?:assert|import|with|await|yield|del)\b`)
	pyRaise   = lazyre.New(`\braise\b`)
	pyLiteral = lazyre.New(`^(?:\w+\s*=\s*)*[\w\s"'+-]*$`)
	pyHeader  = lazyre.New(`^(?:if|elif|else|for|while|try|except|finally)\b[^.\[]*:`)
)

// pyHollow reports whether masked lines of a body call nothing that could fail.
func pyHollow(body []string) bool {
	for _, l := range joined(body) {
		l = strings.TrimSpace(l)
		if pyNothing.MatchString(l) || trivialPython(l) {
			continue
		}
		if pyTells.MatchString(l) || pyRaise.MatchString(l) && !strings.Contains(l, "SkipTest") {
			return false
		}
		quiet := false
		for _, m := range pyCall.FindAllStringSubmatch(l, -1) {
			if !pyQuiet.MatchString(m[1]) {
				return false
			}
			quiet = true
		}
		// Attributes and subscripts may raise.
		if !quiet && !pyLiteral.MatchString(l) && !pyHeader.MatchString(l) {
			return false
		}
	}
	return true
}

// joined puts the lines of one statement together.
func joined(lines []string) []string {
	var out []string
	depth := 0
	for _, l := range lines {
		if depth > 0 {
			out[len(out)-1] += " " + strings.TrimSpace(l)
		} else {
			out = append(out, l)
		}
		depth += opened(l)
	}
	return out
}

var (
	jsBody  = lazyre.New(`=>|\bfunction\b[^(]*\([^)]*\)`)
	jsCalls = lazyre.New(`([\w$.]+)(?:<[^()=;]*>)?\s*\(`)
	jsQuiet = lazyre.New(`^(?:console\.\w+|(?:log|logger)\.\w+|done|resolve|(?:this|t|ctx|context|test|it)\.(?:skip|todo|fixme|log|diagnostic)|if|for|while|switch|catch|function|return|void)$`)
	jsTells = lazyre.New(`\b(?:await|throw|new|should|import|yield)\b|[\w$]\x60|\?\.\(`)
)

var (
	// jsTyped matches parts that the TypeScript compiler checks in a test that calls nothing; jsPlain matches types
	// too weak for that.
	jsTyped = lazyre.New(`\b(?:const|let|var)\s+[\w$]+!?\s*:|\binterface\s+\w|\btype\s+\w+\s*(?:<[^=]*>)?\s*=|\bsatisfies\b|\bas\s+(?:any|unknown|[A-Z])`)
	jsPlain = lazyre.New(`:\s*(?:number|string|boolean|any|unknown)\b`)
)

// jsHollow reports whether the function among the arguments of a test calls nothing that could fail.
func jsHollow(args string) bool {
	at := jsBody.FindStringIndex(args)
	if at == nil {
		return false // a function declared elsewhere
	}
	body := jsTrivial.ReplaceAllString(args[at[1]:], "")
	if jsTells.MatchString(body) || jsTyped.MatchString(jsPlain.ReplaceAllString(body, "")) {
		return false
	}
	return !slices.ContainsFunc(jsCalls.FindAllStringSubmatch(body, -1),
		func(m []string) bool { return !jsQuiet.MatchString(m[1]) })
}
