package app

import (
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Each regular expression that is compiled on first use is valid. The test reads the expressions as constants from
// the sources. internal/redact, gates/hygiene and runner/failures compile theirs in their own tests, because they use
// functions, a table and constants of another package.
func TestRegularExpressionsCompile(t *testing.T) {
	fset, packages, uses := token.NewFileSet(), map[string][]*ast.File{}, map[string]bool{}
	eachGoFile(t, func(path string, text []byte) {
		f, err := parser.ParseFile(fset, path, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(path, "_test.go") {
			dir := filepath.Dir(path)
			uses[dir] = uses[dir] || strings.Contains(string(text), "lazyre.New(")
			packages[dir] = append(packages[dir], f)
		}
	})
	found := 0
	for dir, files := range packages {
		if !uses[dir] {
			continue
		}
		known := types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
		// Constants need no imports, so errors about imports do not matter.
		(&types.Config{Error: func(error) {}}).Check("", fset, files, &known)
		for _, f := range files {
			ast.Inspect(f, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok || len(call.Args) != 1 || types.ExprString(call.Fun) != "lazyre.New" {
					return true
				}
				found++
				at := fset.Position(call.Pos())
				switch text := known.Types[call.Args[0]].Value; {
				case text == nil && slices.Contains([]string{"redact", "hygiene", "failures"}, filepath.Base(dir)):
				case text == nil:
					t.Errorf("%s: the expression is not a constant of its package", at)
				default:
					if _, err := regexp.Compile(constant.StringVal(text)); err != nil {
						t.Errorf("%s: %v", at, err)
					}
				}
				return true
			})
		}
	}
	if found < 500 {
		t.Errorf("only %d regular expressions were found", found)
	}
}

// No package compiles a regular expression at program start (START-01).
func TestRegularExpressionsAreLazy(t *testing.T) {
	eager := regexp.MustCompile(`(?m)^(?:var )?\t?\w+ += regexp\.MustCompile\(.*`)
	eachGoFile(t, func(path string, text []byte) {
		name, err := filepath.Rel(root(t), path)
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(filepath.ToSlash(name), "/")
		if strings.HasSuffix(name, "_test.go") || slices.Contains([]string{"tools", "temporal", "examples"}, first) {
			return
		}
		for _, line := range eager.FindAllString(string(text), -1) {
			t.Errorf("%s: use lazyre.New: %s", name, line)
		}
	})
}
