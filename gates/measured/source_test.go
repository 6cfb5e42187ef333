package measured

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/printer"
	"go/token"
	"go/types"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/runplan/runplan/"

// foreign lists the expressions whose text comes from another program: a linter, a plugin, a library of rules, a model.
// If the text must be one of those in a function of the package, the entry names the function. The last two copy the
// rule of another finding.
var foreign = map[string]string{
	"gates/lint.go: r.Code":          "ruff",
	"gates/lint.go: m[4]":            "flake8",
	"gates/lint_script.go: m.RuleID": "eslint",
	"gates/lint_script.go: m[5]":     "linters for Node",
	"gates/linters.go: i.FromLinter": "golangci-lint",
	"gates/linters.go: title":        "biome, oxlint",
	`gates/linters.go: strings.TrimPrefix(m.Message.Code.Code, "clippy::")`: "clippy",
	"gates/linters.go: o.Cop":                                         "rubocop",
	"gates/linters.go: s.Rule":                                        "swiftlint",
	"gates/linters.go: e.Rule":                                        "ktlint",
	`gates/linters.go: has["rule"]`:                                   "places, dotnet, checkstyle",
	`gates/linters.go: has["rule2"]`:                                  "places, checkstyle",
	"gates/hygiene/denied.go: d.Rule":                                 "denials.toml",
	"gates/types/types.go: p.code":                                    "type checkers",
	"gates/rules/rules.go: h.ID":                                      "lessons",
	"gates/rules/rules.go: h.Rule":                                    "patterns",
	"gates/rules/rules.go: s.Rule":                                    "patterns",
	"gates/secrets/secrets.go: m.Kind.ID":                             "the kinds of secrets",
	"gates/review/security/tools.go: h.rule":                          "security tools",
	"gates/plugin/answer.go: line(r.text(in.Rule, maxRule), maxRule)": "plugins",
	"gates/blueprint/lifecycle/inrun.go: d.Dimension":                 "func Dimensions",
	`gates/review/ask.go: k.name + "/" + rule`:                        "func words, see reviewed",
	"gates/pipeline.go: clean(f.Rule, 200)":                           "a cleaned copy",
	"runner/local/review.go: f.Rule":                                  "a copy",
}

// rulesOfFindings returns the rules of all findings in the source of the product. It follows an expression through
// variables, fields, parameters and results of one package. A rule with a known beginning only ends in an asterisk.
// Other expressions must be listed in [foreign].
func rulesOfFindings(t *testing.T) []string {
	t.Helper()
	s := sources{t: t, set: token.NewFileSet(), known: map[string]*types.Package{}, used: map[string]bool{}}
	rules := map[string]bool{}
	for _, folder := range s.folders() {
		p := s.check(folder)
		for _, e := range p.given[p.rule()] {
			for _, rule := range p.values(e, map[any]bool{}) {
				rules[rule] = true
			}
		}
		if folder == "gates/review" {
			for _, rule := range p.reviewed() {
				rules[rule] = true
			}
		}
	}
	delete(rules, "") // a variable before it gets its value
	for place := range foreign {
		if !s.used[place] {
			t.Errorf("no finding gets its rule from %s", place)
		}
	}
	return slices.Sorted(maps.Keys(rules))
}

// sources reads the packages of the module.
type sources struct {
	t     *testing.T
	set   *token.FileSet
	known map[string]*types.Package // by import path
	used  map[string]bool           // entries of foreign that were used
}

// folders lists the folders with files that make findings, those of gates first.
func (s *sources) folders() []string {
	s.t.Helper()
	root := filepath.Join("..", "..")
	found := []string{"gates"}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, name)
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if slices.Contains([]string{"tools", "examples", "temporal", "docs", "bin", "dist"}, rel) ||
				d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && rel != "." {
				return fs.SkipDir
			}
			return nil
		}
		folder := path.Dir(rel)
		if !strings.HasSuffix(rel, ".go") || strings.HasSuffix(rel, "_test.go") || slices.Contains(found, folder) {
			return nil
		}
		text, err := os.ReadFile(name)
		if bytes.Contains(text, []byte("gates.Finding")) {
			found = append(found, folder)
		}
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	slices.SortStableFunc(found, func(a, b string) int {
		return strings.Compare(strings.TrimPrefix(a, "gates"), strings.TrimPrefix(b, "gates"))
	})
	return found
}

// Import returns a package that was checked before, else an empty one: only the types of package gates matter.
func (s *sources) Import(name string) (*types.Package, error) {
	if p := s.known[name]; p != nil {
		return p, nil
	}
	p := types.NewPackage(name, path.Base(name))
	p.MarkComplete()
	return p, nil
}

// check reads a package, without its tests.
func (s *sources) check(folder string) *source {
	s.t.Helper()
	names, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(folder), "*.go"))
	if err != nil {
		s.t.Fatal(err)
	}
	p := &source{sources: s, folder: folder, funcs: map[string]*ast.FuncDecl{},
		given: map[types.Object][]ast.Expr{}, params: map[types.Object]param{},
		calls: map[types.Object][]*ast.CallExpr{}, results: map[types.Object][][]ast.Expr{},
		info: types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{},
			Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{}}}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(s.set, name, nil, parser.SkipObjectResolution)
		if err != nil {
			s.t.Fatal(err)
		}
		files = append(files, f)
	}
	c := types.Config{Importer: s, Error: func(error) {}} // other packages are missing, so there are many errors
	pkg, _ := c.Check(module+folder, s.set, files, &p.info)
	s.known[module+folder] = pkg
	for _, f := range files {
		ast.Inspect(f, p.visit)
	}
	return p
}

// source is a package: what its variables, fields and parameters get.
type source struct {
	*sources
	folder  string
	funcs   map[string]*ast.FuncDecl
	info    types.Info
	given   map[types.Object][]ast.Expr      // values of variables and fields
	params  map[types.Object]param           // the parameters
	calls   map[types.Object][]*ast.CallExpr // calls of functions, methods and variables that hold a function
	results map[types.Object][][]ast.Expr    // results of functions
}

// param is a parameter: its function, and its number.
type param struct {
	of types.Object
	at int
}

// nth is a result of a call with several results.
type nth struct {
	ast.Expr
	at int
}

// rule returns the field Rule of a finding.
func (p *source) rule() types.Object {
	f, _, _ := types.LookupFieldOrMethod(p.known[module+"gates"].Scope().Lookup("Finding").Type(), true, nil, "Rule")
	return f
}

// object returns what an expression names, nil for other expressions.
func (p *source) object(e ast.Expr) types.Object {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		if o := p.info.Defs[e]; o != nil {
			return o
		}
		return p.info.Uses[e]
	case *ast.SelectorExpr:
		if s := p.info.Selections[e]; s != nil {
			return s.Obj()
		}
		return p.info.Uses[e.Sel]
	}
	return nil
}

func (p *source) give(to types.Object, e ast.Expr) {
	if to != nil {
		p.given[to] = append(p.given[to], e)
	}
}

// visit records what a node gives to variables, fields and parameters.
func (p *source) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.AssignStmt:
		for i, left := range n.Lhs {
			to := p.object(left)
			if len(n.Rhs) == len(n.Lhs) {
				p.give(to, n.Rhs[i])
				if f, ok := n.Rhs[i].(*ast.FuncLit); ok {
					p.function(to, f.Type, f.Body)
				}
			} else {
				p.give(to, nth{n.Rhs[0], i})
			}
		}
	case *ast.ValueSpec:
		for i, name := range n.Names {
			if len(n.Values) == len(n.Names) {
				p.give(p.info.Defs[name], n.Values[i])
			}
		}
	case *ast.FuncDecl:
		p.funcs[n.Name.Name] = n
		if n.Body != nil {
			p.function(p.info.Defs[n.Name], n.Type, n.Body)
		}
	case *ast.CallExpr:
		if to := p.object(n.Fun); to != nil {
			p.calls[to] = append(p.calls[to], n)
		}
	case *ast.CompositeLit:
		p.literal(n)
	}
	return true
}

// function records the parameters and results of a function.
func (p *source) function(of types.Object, t *ast.FuncType, body *ast.BlockStmt) {
	at := 0
	for _, f := range t.Params.List {
		for _, name := range f.Names {
			p.params[p.info.Defs[name]] = param{of, at}
			at++
		}
	}
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			p.results[of] = append(p.results[of], n.Results)
		}
		return true
	})
}

// literal records what a literal gives to the fields of a struct.
func (p *source) literal(n *ast.CompositeLit) {
	t := p.info.Types[n].Type
	if t == nil {
		return
	}
	if ptr, ok := t.Underlying().(*types.Pointer); ok { // an element of []*T
		t = ptr.Elem()
	}
	is, ok := t.Underlying().(*types.Struct)
	if !ok {
		return
	}
	for i, e := range n.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			p.give(p.object(kv.Key), kv.Value)
		} else if i < is.NumFields() {
			p.give(is.Field(i), e)
		}
	}
}

// values returns the texts that an expression may have, each whole or as a beginning with an asterisk.
func (p *source) values(e ast.Expr, on map[any]bool) []string {
	if v := p.info.Types[e].Value; v != nil && v.Kind() == constant.String {
		return []string{constant.StringVal(v)}
	}
	if place := p.place(e); foreign[place] != "" {
		p.used[place] = true
		return nil
	}
	switch e := e.(type) {
	case nth:
		if call, ok := e.Expr.(*ast.CallExpr); ok {
			return p.returned(call, e.at, on)
		}
	case *ast.ParenExpr:
		return p.values(e.X, on)
	case *ast.BinaryExpr:
		var out []string
		for _, first := range p.values(e.X, on) {
			if rest := p.rest(e.Y, on); !strings.HasSuffix(first, "*") {
				for _, r := range rest {
					out = append(out, first+r)
				}
			} else {
				out = append(out, first)
			}
		}
		return out
	case *ast.IndexExpr:
		if m, ok := e.X.(*ast.CompositeLit); ok {
			var out []string
			for _, kv := range m.Elts {
				out = append(out, p.values(kv.(*ast.KeyValueExpr).Value, on)...)
			}
			return out
		}
	case *ast.CallExpr:
		switch p.text(e.Fun) {
		case "cmp.Or":
			var out []string
			for _, a := range e.Args {
				out = append(out, p.values(a, on)...)
			}
			return out
		case "fmt.Sprintf":
			format := p.values(e.Args[0], on)[0]
			return []string{format[:strings.IndexByte(format, '%')] + "*"}
		}
		return p.returned(e, 0, on)
	case *ast.Ident, *ast.SelectorExpr:
		return p.of(e, on)
	}
	p.t.Errorf("%s is not a text that this test can find", p.place(e))
	return nil
}

// rest returns the values of the second part of a sum, "*" for foreign ones.
func (p *source) rest(e ast.Expr, on map[any]bool) []string {
	who := foreign[p.place(e)]
	if who == "" {
		return p.values(e, on)
	}
	p.used[p.place(e)] = true
	if name, ok := strings.CutPrefix(who, "func "); ok {
		return p.texts(p.funcs[name])
	}
	return []string{"*"}
}

// texts returns the texts in a piece of source.
func (p *source) texts(n ast.Node) []string {
	var out []string
	ast.Inspect(n, func(n ast.Node) bool {
		if e, ok := n.(*ast.BasicLit); ok && e.Kind == token.STRING {
			out = append(out, p.values(e, nil)...)
		}
		return true
	})
	return out
}

// reviewed returns the rules of the reviewers: those of each pass in function words, and "other".
func (p *source) reviewed() []string {
	var out []string
	add := func(pass string, n ast.Node) {
		for _, word := range append(p.texts(n), "other") {
			out = append(out, pass+"/"+word)
		}
	}
	body := p.funcs["words"].Body.List
	for _, c := range body[0].(*ast.SwitchStmt).Body.List {
		add(strings.ToLower(p.text(c.(*ast.CaseClause).List[0])), c)
	}
	add("feedback", body[1])
	return out
}

// of returns the values of a variable, parameter or field.
func (p *source) of(e ast.Expr, on map[any]bool) []string {
	o := p.object(e)
	if o == nil {
		p.t.Errorf("%s is not a text that this test can find", p.place(e))
		return nil
	}
	if on[o] || o == p.rule() { // the rule of another finding
		return nil
	}
	on[o] = true
	defer delete(on, o)
	var out []string
	from := p.given[o]
	for _, x := range from {
		out = append(out, p.values(x, on)...)
	}
	if in, ok := p.params[o]; ok {
		for _, call := range p.calls[in.of] {
			from = append(from, call.Args[in.at])
			out = append(out, p.values(call.Args[in.at], on)...)
		}
	}
	if len(from) == 0 {
		p.t.Errorf("nothing gives a text to %s", p.place(e))
	}
	return out
}

// returned returns the values of the result with a number.
func (p *source) returned(call *ast.CallExpr, at int, on map[any]bool) []string {
	lists := p.results[p.object(call.Fun)]
	if len(lists) == 0 {
		p.t.Errorf("%s is not a text that this test can find", p.place(call))
	}
	var out []string
	for _, list := range lists {
		if at < len(list) {
			out = append(out, p.values(list[at], on)...)
		}
	}
	return slices.DeleteFunc(out, func(s string) bool { return s == "" })
}

// place names an expression for people: "gates/lint.go: m[4]".
func (p *source) place(e ast.Expr) string {
	if n, ok := e.(nth); ok {
		return fmt.Sprintf("%s, result %d", p.place(n.Expr), n.at)
	}
	return path.Join(p.folder, filepath.Base(p.set.Position(e.Pos()).Filename)) + ": " + p.text(e)
}

func (p *source) text(e ast.Expr) string {
	var b strings.Builder
	if err := printer.Fprint(&b, p.set, e); err != nil {
		p.t.Fatal(err)
	}
	return b.String()
}
