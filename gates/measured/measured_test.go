package measured

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// ruleFolders returns the folders whose rules are listed: those of the gates that package suite imports, and the prose
// pass of a review. Package gates itself is not among them, as its linters and test runners have their own rules.
func ruleFolders(t *testing.T) []string {
	t.Helper()
	suite, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "suite", "suite.go"), nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	folders := []string{filepath.Join("..", "review", "prose")}
	for _, i := range suite.Imports {
		if _, folder, ok := strings.Cut(strings.Trim(i.Path.Value, `"`), "/gates/"); ok {
			folders = append(folders, filepath.Join("..", filepath.FromSlash(folder)))
		}
	}
	return folders
}

// rulesIn returns the rules in the source of a gate: all texts that are given to a field Rule, and all texts that
// match named, because some gates pass a rule to a function. For "denied/" + name it returns "denied/*".
func rulesIn(t *testing.T, folder string, named *regexp.Regexp) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.KeyValueExpr:
				if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Rule" {
					found = append(found, ruleOf(n.Value))
				}
			case *ast.AssignStmt:
				for i, left := range n.Lhs {
					if to, ok := left.(*ast.SelectorExpr); ok && to.Sel.Name == "Rule" && len(n.Rhs) == len(n.Lhs) {
						found = append(found, ruleOf(n.Rhs[i]))
					}
				}
			case *ast.BasicLit:
				if rule := ruleOf(n); named.MatchString(rule) {
					found = append(found, rule)
				}
			}
			return true
		})
	}
	return slices.DeleteFunc(found, func(rule string) bool { return rule == "" })
}

// ruleOf returns the text of a literal, a text that begins with a literal as "literal*", and "" for other expressions.
func ruleOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, _ := strconv.Unquote(e.Value)
		return text
	case *ast.BinaryExpr:
		if first := ruleOf(e.X); first != "" {
			return strings.TrimSuffix(first, "*") + "*"
		}
	}
	return ""
}

// Each rule in the source of a gate is listed, and each listed rule is in a source. Each folder has rules.
func TestEveryRuleIsListed(t *testing.T) {
	listed, groups := map[string]bool{}, map[string]bool{}
	for _, r := range Rules() {
		listed[r.ID] = true
		if group, _, ok := strings.Cut(r.ID, "/"); ok && group != "docs" { // docs/… may be a folder
			groups[group] = true
		}
	}
	named := regexp.MustCompile(`^(?:` + strings.Join(slices.Sorted(maps.Keys(groups)), "|") + `)/[a-z][a-z-]+$`)
	found := map[string]bool{}
	for _, folder := range ruleFolders(t) {
		rules := rulesIn(t, folder, named)
		if len(rules) == 0 {
			t.Errorf("no rule was found in %s", folder)
		}
		for _, id := range rules {
			group, _, _ := strings.Cut(id, "/")
			found[id], found[group+"/*"] = true, true
			if !listed[id] && !listed[group+"/*"] {
				t.Errorf("the rule %s of %s is not listed in rules.go", id, folder)
			}
		}
	}
	for id := range listed {
		if !found[id] {
			t.Errorf("no gate has the rule %s", id)
		}
	}
}

// Once enough of its findings were judged, a rule of severity error has to be right in 95 of 100 cases and a warning
// in 80.
func TestRulesMeetSeverityPrecision(t *testing.T) {
	const enough = 5
	for _, r := range Rules() {
		if strings.HasSuffix(r.ID, "*") {
			// good commits contain no secrets and few flaws; TestPlantedFlaws and the tests of secrets measure these
			// rules on planted ones
			continue
		}
		if p := Of(r.ID); p.Total() >= enough &&
			(r.Outside == "error" && p.Percent() < 95 || r.Outside == "warning" && p.Percent() < 80) {
			t.Errorf("%s is of severity %s and was right in %s", r.ID, r.Outside, p)
		}
	}
	if commits, _ := Sample(); commits < 400 {
		t.Errorf("%d commits are too few", commits)
	}
	if !slices.ContainsFunc(Rules(), func(r Rule) bool { return Of(r.ID).Total() > 0 }) {
		t.Error("no rule was measured")
	}
}
