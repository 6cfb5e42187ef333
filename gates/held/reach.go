package held

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
)

// support reports whether a new file is code among the tests that contains no test. The tests of the base cannot import
// it, but it may replace what they import, or change it.
func support(p, text string) bool {
	if !gates.Match([]string{inTests}, p) || language.OfTest(p) == "" && path.Base(p) != "package.json" {
		return false
	}
	if path.Base(p) == "__init__.py" {
		return pyStatement.MatchString(text) // Python runs it before the tests of its folder
	}
	return !gates.Match([]string{"*.test.*", "*.spec.*", "test_*", "*_test.*", "test-*", "*-test.*"}, p)
}

var pyStatement = lazyre.New(`(?m)^\s*(?:import\b|from\b|def\b|class\b|for\b|if\b|with\b|try\b|@|[\w.\[\]"']+\s*(?:=|\())`)

// shadows reports whether a new file is a Python module that hides a module of the standard library or of a test
// library. Python first looks in the working directory.
func shadows(p string) bool {
	top, rest, nested := strings.Cut(strings.TrimPrefix(p, "src/"), "/")
	name, isModule := strings.CutSuffix(top, ".py")
	if nested {
		isModule = strings.HasSuffix(rest, ".py")
	}
	return isModule && (slices.Contains(gates.PythonLibrary(), name) || slices.Contains(pythonTestTools(), name))
}

// pythonTestTools returns the libraries for writing and running tests, and what they import.
func pythonTestTools() []string {
	return []string{
		"_pytest", "pluggy", "iniconfig", "packaging", "exceptiongroup", "tomli", "pygments", "attr", "attrs", "coverage",
		"pytest_cov", "hypothesis", "xdist", "execnet", "py", "hamcrest", "freezegun", "assertpy", "parameterized", "ddt",
		"nose", "testtools", "responses", "sure", "expects",
	}
}

// nodeOrder lists the endings of modules that Node and Vite try for a name without ending, in their order.
func nodeOrder() []string {
	return []string{".mjs", ".js", ".mts", ".ts", ".jsx", ".tsx", ".json", ".node"}
}

// hides reports whether a new file of Node is found before a file of the base that is imported without its ending:
// calc.js before calc.ts and before calc/index.js.
func (m *mix) hides(p string) bool {
	order := nodeOrder()
	ext := path.Ext(p)
	at := slices.Index(order, ext)
	if at < 0 || ext == ".json" {
		return false
	}
	stem := strings.TrimSuffix(p, ext)
	for i, other := range order {
		if i > at && m.stays(stem+other) || m.stays(stem+"/index"+other) {
			return utf8.ValidString(stem) && m.imported(stem)
		}
	}
	return false
}

// reaches reports whether a new test file may affect tests in other files: it runs code when it is loaded, or changes
// what it imports. A wrong answer costs one more run of the base's tests.
func reaches(p, text string) bool {
	switch language.OfTest(p) {
	case language.Go:
		return goReaches(text)
	case language.Python:
		return pyReaches.MatchString(text) || changesImported(text)
	case language.Node:
		return jsReaches.MatchString(text)
	}
	return false
}

var (
	pyReaches = lazyre.New(`(?m)^(?:os\.|sys\.|def (?:load_tests|pytest_|setUpModule))|` +
		`\bsetattr\(|\b__dict__\b|\bvars\(|\bglobals\(|\bsys\.modules\b|\bexec\(|\bMonkeyPatch\(|\bscope\s*=|\.start\(\)`)
	jsReaches = lazyre.New(`(?m)^(?:process\.|globalThis|(?:before|after)(?:Each|All)?\(|(?:setup|teardown)\()|` +
		`^\s*(?:[\w$]+(?:\.[\w$]+)*|[^=\n]*\brequire\([^)\n]*\)\)?)(?:\.[\w$]+|\[[^\]\n]+\])\s*=[^=>]|` +
		`\b(?:Object\.(?:assign|define\w+|setPrototypeOf)|Reflect\.\w+)\(|\bsinon\.\w+\(`)
	pyImport = lazyre.New(`(?m)^\s*(?:from\s+\S+\s+)?import\s+([\w., \t]+)`)
	pyChange = lazyre.New(`(?m)^\s*(\w+)(?:\.\w+|\[[^\]\n]*\])+\s*[-+*/|&]?=[^=]|` +
		`^\s*(\w+)(?:\.\w+)*\.(?:update|append|insert|extend|pop|remove|clear|add|setdefault)\(|^\s*(\w+)(?:\.\w+)*\(.*\blambda\b`)
)

// changesImported reports whether a Python file changes an object that it imports.
func changesImported(text string) bool {
	imported := map[string]bool{}
	for _, m := range pyImport.FindAllStringSubmatch(text, -1) {
		for name := range strings.SplitSeq(m[1], ",") {
			if words := strings.Fields(name); len(words) > 0 {
				imported[words[len(words)-1]] = true // the last one is the name after "as"
				root, _, _ := strings.Cut(words[0], ".")
				imported[root] = true
			}
		}
	}
	return slices.ContainsFunc(pyChange.FindAllStringSubmatch(text, -1),
		func(m []string) bool { return imported[m[1]+m[2]+m[3]] })
}

// goReaches reports whether a Go test file has an init or a TestMain, calls a function to initialize a variable,
// assigns to a variable that it does not declare, or passes a function to code of the product.
func goReaches(text string) bool {
	file, err := parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution)
	if err != nil {
		return true
	}
	own, library := declaredIn(file), map[string]bool{}
	for _, i := range file.Imports {
		from := strings.Trim(i.Path.Value, `"`)
		if first, _, _ := strings.Cut(from, "/"); i.Name == nil && !strings.Contains(first, ".") {
			library[path.Base(from)] = true
		}
	}
	found := false
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			found = found || d.Recv == nil && (d.Name.Name == "init" || d.Name.Name == "TestMain")
		case *ast.GenDecl:
			if d.Tok != token.VAR {
				continue
			}
			ast.Inspect(d, func(n ast.Node) bool {
				if c, ok := n.(*ast.CallExpr); ok {
					_, literal := c.Fun.(*ast.FuncLit)
					name, plain := c.Fun.(*ast.Ident)
					found = found || literal || plain && own[name.Name]
				}
				_, function := n.(*ast.FuncLit)
				return !function
			})
		}
	}
	foreign := func(e ast.Expr) bool {
		name := rootOf(e)
		return name != "" && name != "_" && !own[name]
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			found = found || n.Tok != token.DEFINE && slices.ContainsFunc(n.Lhs, foreign)
		case *ast.IncDecStmt:
			found = found || foreign(n.X)
		case *ast.CallExpr:
			found = found || foreign(n.Fun) && !library[rootOf(n.Fun)] && slices.ContainsFunc(n.Args, func(e ast.Expr) bool {
				_, literal := e.(*ast.FuncLit)
				arg, plain := e.(*ast.Ident)
				return literal || plain && own["func "+arg.Name]
			})
		}
		return !found
	})
	return found
}

// declaredIn returns the names that a file declares, in any scope, and "func NAME" for its functions.
func declaredIn(file *ast.File) map[string]bool {
	own := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			own[n.Name.Name], own["func "+n.Name.Name] = true, true
		case *ast.TypeSpec:
			own[n.Name.Name] = true
		case *ast.ValueSpec:
			for _, name := range n.Names {
				own[name.Name] = true
			}
		case *ast.Field:
			for _, name := range n.Names {
				own[name.Name] = true
			}
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				for _, e := range n.Lhs {
					own[rootOf(e)] = true
				}
			}
		case *ast.RangeStmt:
			if n.Tok == token.DEFINE {
				own[rootOf(n.Key)], own[rootOf(n.Value)] = true, true
			}
		}
		return true
	})
	return own
}

// rootOf returns the variable that an expression begins with: a for a.b[c].
func rootOf(e ast.Expr) string {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x.Name
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		default:
			return ""
		}
	}
}
