// Command cross checks the types of all packages and tests of this module, except its tools, for other systems. Unlike a
// build, it generates no code, and it reads no bodies of functions outside of the module, so it takes a twentieth of the
// time.
//
// Usage: go run ./tools/cross windows/amd64 darwin/arm64 ...
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	failed := len(os.Args) < 2
	for _, to := range os.Args[1:] {
		n, err := check(".", to, os.Stderr.WriteString)
		if err != nil {
			fmt.Fprintf(os.Stderr, "cross: %s: %v\n", to, err)
			failed = true
			continue
		}
		fmt.Printf("%s: %d packages and tests compile\n", to, n)
	}
	if failed {
		os.Exit(1)
	}
}

// check returns the number of packages and tests of the module in dir, and reports what does not compile on the system.
func check(dir, to string, report func(string) (int, error)) (int, error) {
	system, arch, ok := strings.Cut(to, "/")
	if !ok {
		return 0, fmt.Errorf("%q must be a system and an architecture, such as windows/amd64", to)
	}
	root, err := filepath.Abs(dir)
	if err != nil {
		return 0, err
	}
	pkgs, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps | packages.NeedSyntax |
			packages.NeedTypes | packages.NeedTypesSizes,
		Dir: dir, Env: append(os.Environ(), "GOOS="+system, "GOARCH="+arch, "CGO_ENABLED=0"), Tests: true,
		ParseFile: func(set *token.FileSet, path string, text []byte) (*ast.File, error) {
			f, err := parser.ParseFile(set, path, text, parser.SkipObjectResolution)
			if f != nil && !strings.HasPrefix(path, root+string(filepath.Separator)) {
				dropBodies(f)
			}
			return f, err
		},
	}, "./...")
	if err != nil {
		return 0, err
	}
	n, bad := 0, 0
	for _, p := range pkgs {
		// The generated program of a test is outside of the module, and developers' tools are for Unix.
		if strings.HasSuffix(p.PkgPath, ".test") || strings.Contains(p.PkgPath, "/tools/") {
			continue
		}
		n++
		for _, e := range p.Errors {
			_, _ = report(e.Error() + "\n") // nothing else can be done with a closed stderr
			bad++
		}
	}
	if bad > 0 {
		return 0, fmt.Errorf("%d errors", bad)
	}
	return n, nil
}

// dropBodies replaces the bodies of functions by an endless loop, which is valid for every result.
func dropBodies(f *ast.File) {
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
			fn.Body = &ast.BlockStmt{List: []ast.Stmt{&ast.ForStmt{Body: &ast.BlockStmt{}}}}
		}
	}
}
