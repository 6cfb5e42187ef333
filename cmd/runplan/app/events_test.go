package app

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/runplan/runplan/runner"
)

// kindNames returns the constants of runner/event.go that are kinds of events, with their values, in order.
func kindNames(t *testing.T) (names []string, values []runner.EventKind) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), root(t)+"/runner/event.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if of, ok := spec.Type.(*ast.Ident); !ok || of.Name != "EventKind" {
			return true
		}
		value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		names, values = append(names, spec.Names[0].Name), append(values, runner.EventKind(value))
		return true
	})
	return names, values
}

func TestEventKindsListsEachConstant(t *testing.T) {
	if _, want := kindNames(t); len(want) == 0 || !slices.Equal(runner.EventKinds(), want) {
		t.Errorf("runner.EventKinds returns\n%v\nthe constants are\n%v", runner.EventKinds(), want)
	}
}

// The recipe for an event in CONTRIBUTING.md names each file with a case for a kind of event, also those of other
// modules.
func TestRecipeNamesFilesThatTellEventsApart(t *testing.T) {
	_, recipe, _ := strings.Cut(document(t, "CONTRIBUTING.md"), "\n### An event\n")
	recipe, _, _ = strings.Cut(recipe, "\n### ")
	names, _ := kindNames(t)
	found := 0
	err := fs.WalkDir(os.DirFS(root(t)), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && name != "." && (d.Name()[0] == '.' || d.Name() == "testdata") {
			if err == nil {
				err = fs.SkipDir
			}
			return err
		}
		if path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		src, err := os.ReadFile(root(t) + "/" + name)
		if err != nil || path.Dir(name) != "runner" && !strings.Contains(string(src), module+"runner\"") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, src, 0)
		if err != nil {
			return err
		}
		if tellsApart(f, path.Dir(name) == "runner", names) {
			found++
			if !strings.Contains(recipe, "`"+name+"`") {
				t.Errorf("%s has a case for a kind of event; name it in the recipe for an event in CONTRIBUTING.md", name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found == 0 {
		t.Error("no file has a case for a kind of event")
	}
}

// tellsApart reports whether a case of a file names a kind of event.
func tellsApart(f *ast.File, inRunner bool, names []string) (found bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		clause, ok := n.(*ast.CaseClause)
		if !ok {
			return !found
		}
		for _, x := range clause.List {
			ast.Inspect(x, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.SelectorExpr:
					x, ok := n.X.(*ast.Ident)
					found = found || ok && x.Name == "runner" && slices.Contains(names, n.Sel.Name)
					return false
				case *ast.Ident:
					found = found || inRunner && slices.Contains(names, n.Name)
				}
				return true
			})
		}
		return true
	})
	return found
}
