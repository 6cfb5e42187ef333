package patterns

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/runplan/runplan/internal/language"
)

// golang counts constructs in Go with Go's own parser, which is exact, fast, and always available.
func (c *counter) golang(ctx context.Context, dir string, files []string) error {
	set := token.NewFileSet()
	for _, name := range files {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		f, err := parser.ParseFile(set, filepath.Join(dir, filepath.FromSlash(name)), nil,
			parser.SkipObjectResolution|parser.ParseComments)
		if err != nil || ast.IsGenerated(f) {
			continue // broken and generated code does not count for the style
		}
		c.files++
		g := goFile{counter: c, set: set, test: language.GoTest(name)}
		for _, imp := range f.Imports {
			g.importSpec(imp)
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				g.function(fn)
			}
			if v, ok := d.(*ast.GenDecl); ok && v.Tok == token.VAR {
				g.sentinels(v)
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				g.call(n)
			case *ast.ReturnStmt:
				g.returned(n)
			}
			return true
		})
	}
	return nil
}

type goFile struct {
	*counter
	set  *token.FileSet
	test bool
}

func (g goFile) importSpec(imp *ast.ImportSpec) {
	path, err := strconv.Unquote(imp.Path.Value)
	if err != nil {
		return
	}
	first, _, _ := strings.Cut(path, "/")
	switch parts := strings.SplitN(path, "/", 4); {
	case !strings.Contains(first, "."):
		g.imports["standard library"]++
	case len(parts) >= 3:
		g.imports[strings.Join(parts[:3], "/")]++
	default:
		g.imports[path]++
	}
	switch {
	case imp.Name == nil:
	case imp.Name.Name == ".":
		g.imports["dot imports"]++
	case imp.Name.Name != "_":
		g.imports["renamed"]++
	}
}

func (g goFile) function(fn *ast.FuncDecl) {
	if fn.Body != nil {
		g.lengths = append(g.lengths, 1+g.set.Position(fn.End()).Line-g.set.Position(fn.Pos()).Line)
	}
	if !g.test || fn.Recv != nil {
		return
	}
	for _, kind := range []string{"Test", "Benchmark", "Fuzz", "Example"} {
		rest, ok := strings.CutPrefix(fn.Name.Name, kind)
		switch {
		case !ok:
		case kind == "Test" && strings.Contains(rest, "_"):
			g.tests["functions named Test…_…"]++
		default:
			g.tests["functions named "+kind+"…"]++
		}
	}
}

// sentinels counts errors that callers can branch on.
func (g goFile) sentinels(v *ast.GenDecl) {
	for _, s := range v.Specs {
		for _, name := range s.(*ast.ValueSpec).Names {
			if !g.test && (strings.HasPrefix(name.Name, "Err") || strings.HasPrefix(name.Name, "err") && len(name.Name) > 3) {
				g.errors["sentinel errors"]++
			}
		}
	}
}

func (g goFile) call(n *ast.CallExpr) {
	name := ""
	switch fun := n.Fun.(type) {
	case *ast.Ident:
		name = fun.Name
	case *ast.SelectorExpr:
		x, ok := fun.X.(*ast.Ident)
		if !ok {
			return
		}
		name = x.Name + "." + fun.Sel.Name
	}
	if g.test {
		switch {
		case name == "t.Run" || name == "t.Helper" || name == "t.Parallel" || name == "t.Cleanup" || name == "t.TempDir" ||
			name == "cmp.Diff":
			g.tests[name]++
		case name == "t.Errorf" || name == "t.Error":
			g.tests["t.Error(f)"]++
		case name == "t.Fatalf" || name == "t.Fatal":
			g.tests["t.Fatal(f)"]++
		case strings.HasPrefix(name, "assert.") || strings.HasPrefix(name, "require."):
			g.tests[name[:strings.Index(name, ".")+1]+"…"]++
		}
		return
	}
	switch name {
	case "fmt.Errorf":
		wraps := false
		if len(n.Args) > 0 {
			lit, ok := n.Args[0].(*ast.BasicLit)
			wraps = ok && strings.Contains(lit.Value, "%w")
		}
		if wraps {
			g.errors["fmt.Errorf with %w"]++
		} else {
			g.errors["fmt.Errorf without %w"]++
		}
	case "errors.New", "errors.Is", "errors.As", "errors.Join", "panic", "log.Fatal", "log.Fatalf":
		g.errors[name]++
	case "errors.Wrap", "errors.Wrapf":
		g.errors["errors.Wrap"]++
	}
}

// returned counts errors that are returned unchanged.
func (g goFile) returned(n *ast.ReturnStmt) {
	if len(n.Results) == 0 || g.test {
		return
	}
	if id, ok := n.Results[len(n.Results)-1].(*ast.Ident); ok && id.Name == "err" {
		g.errors["return err"]++
	}
}
