package giventests

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
)

var (
	goPackage = lazyre.New(`(?m)^package \w+`)
	future    = lazyre.New(`(?m)^from __future__ import .*\n`)
	// imports matches an import of a JavaScript module, bound the names in it.
	imports = lazyre.New(`(?m)^import\s(?:[^'"\n]|\n[^'"])*?['"][^'"\n]+['"];?[ \t]*\n`)
	bound   = lazyre.New(`[A-Za-z_$][\w$]*`)
	keyword = lazyre.New(`^(?:import|from|as|type|default)$`)
)

// whole returns a block of Go as a file: a plan may leave out its package.
func whole(file, text string) string {
	if filepath.Ext(file) == ".go" && !goPackage.MatchString(text) {
		return "package given\n\n" + text
	}
	return text
}

// joined returns a test file with a block of tests behind it. If both have a test of the same name, that of the block
// runs, also if the other one runs as well.
func joined(file, text, block string) string {
	switch language.OfSource(file) {
	case language.Python:
		first := strings.Join(future.FindAllString(block, -1), "")
		return first + text + "\n\n" + future.ReplaceAllString(block, "") + "\n"
	case language.Go:
		return joinedGo(text, block)
	case language.Node:
		return joinedScript(text, block)
	}
	return text + "\n" + block + "\n"
}

// joinedScript puts the block in braces, because it may declare names that the file has. Its imports come before them,
// without the names that the file imports.
func joinedScript(text, block string) string {
	had := strings.Join(imports.FindAllString(text, -1), "")
	var more strings.Builder
	for _, line := range imports.FindAllString(block, -1) {
		names, from, ok := strings.Cut(line, "from")
		if !ok { // imported for what it does
			more.WriteString(line)
			continue
		}
		fresh := false
		for _, name := range bound.FindAllString(names, -1) {
			if keyword.MatchString(name) {
				continue
			}
			if !regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`).MatchString(had) {
				fresh = true
				continue
			}
			names = regexp.MustCompile(`\b`+regexp.QuoteMeta(name)+`\b\s*,?`).ReplaceAllString(names, "")
		}
		if fresh {
			more.WriteString(names + "from" + from)
		}
	}
	return text + "\n" + more.String() + "{\n" + imports.ReplaceAllString(block, "") + "\n}\n"
}

// asGiven is the end of the name of a test of Go whose name the file has as well.
const asGiven = "AsGiven"

// joinedGo adds the imports and declarations of a block that the file has not. A test that the file has gets another
// name. Text that does not parse is added as it is, and the compiler tells why.
func joinedGo(text, block string) string {
	block = whole(".go", block)
	files, names := token.NewFileSet(), map[string]bool{}
	was, err := parser.ParseFile(files, "", text, parser.SkipObjectResolution)
	if err != nil {
		return text + "\n" + block
	}
	for _, d := range was.Decls {
		for _, name := range declares(d) {
			names[name] = true
		}
	}
	given, err := parser.ParseFile(files, "", block, parser.SkipObjectResolution)
	if err != nil {
		return text + "\n" + block
	}
	at := func(p token.Pos) int { return files.Position(p).Offset }
	var more strings.Builder
	for _, i := range given.Imports {
		if !slices.ContainsFunc(was.Imports, func(h *ast.ImportSpec) bool { return h.Path.Value == i.Path.Value }) {
			more.WriteString("\nimport " + block[at(i.Pos()):at(i.End())])
		}
	}
	head := at(was.Name.End())
	out := text[:head] + "\n" + more.String() + text[head:]
	for _, d := range given.Decls {
		f, isFunc := d.(*ast.FuncDecl)
		switch known := slices.ContainsFunc(declares(d), func(n string) bool { return names[n] }); {
		case known && isFunc && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test"):
			out += "\nfunc " + f.Name.Name + asGiven + block[at(f.Name.End()):at(f.End())] + "\n"
		case !known && (isFunc || d.(*ast.GenDecl).Tok != token.IMPORT):
			out += "\n" + block[at(d.Pos()):at(d.End())] + "\n"
		}
	}
	return out
}

// declares returns the names that a declaration of Go makes; of a method, its type and name.
func declares(d ast.Decl) (out []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			return []string{d.Name.Name}
		}
		return []string{typeOf(d.Recv.List[0].Type) + "." + d.Name.Name}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				out = append(out, s.Name.Name)
			case *ast.ValueSpec:
				for _, n := range s.Names {
					out = append(out, n.Name)
				}
			}
		}
	}
	return out
}

func typeOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return typeOf(e.X)
	case *ast.Ident:
		return e.Name
	}
	return strconv.Itoa(int(e.Pos()))
}
