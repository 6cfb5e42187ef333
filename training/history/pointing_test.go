package history

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A task points to the lines of a question that have a word of it, unless most lines have that word.
func TestPointed(t *testing.T) {
	w := asking("Count the leaves of a tree", "tree.go", "x")
	got := w.pointing([]string{"tree/tree.go (tier 1)", "  s001  func CountLeaf()  of Tree", "  s002  func Walk()  of Tree",
		"  s003  func Prune()  of Tree"})
	if d := cmp.Diff([]pointers{{}, {"count": true}, {}, {}}, got); d != "" {
		t.Error(d)
	}
}

// Precision asks about a needed symbol only if the task points to it, and about one that is not needed only if the task
// does not point to it like to a changed one.
func TestOnlySureAnswersAreAsked(t *testing.T) {
	w := asking("Count the leaf nodes of a tree", "tree.go", "x")
	named := func(name, word string) *piece { return &piece{symbol: &symbol{name: name, short: name}, word: word} }
	asked := []*piece{named("countLeaf", primary), named("walk", primary), named("leafOf", supporting),
		named("prune", supporting), named("countLeafs", excluded), named("countAll", excluded), named("grow", excluded)}
	changed, known := w.sure(asked)
	if changed != 2 || known != 1 {
		t.Errorf("%d of %d changed ones are known", known, changed)
	}
	var got []string
	for _, x := range asked {
		got = append(got, x.word)
	}
	if d := cmp.Diff([]string{primary, "", supporting, "", "", excluded, excluded}, got); d != "" {
		t.Error(d)
	}
}

// Classes of changed methods are needed as types. Precision does not ask about what two answers may fit: unused symbols
// that the task names, methods of other classes with the name of a used one, changed tests that the task does not let
// expect, and unchanged ones that it does.
func TestNeeds(t *testing.T) {
	w := asking("Count each leaf and the leaves of a `tree` by `walk`", "tree.go", "x")
	w.words = map[string]bool{"leafOf": true, "onlyOne": true, "total": true, "Twig": true, "benders": true}
	q := query{symbols: []string{"Walk"}}
	s := &source{path: "tree.go", findings: findings{symbols: []symbol{
		{name: "Tree", short: "Tree", parent: -1}, {name: "Tree.Count", short: "Count", parent: 0},
		{name: "Tree.leafOf", short: "leafOf", parent: 0}, {name: "Bush", short: "Bush", parent: -1},
		{name: "Bush.leafOf", short: "leafOf", parent: 3}, {name: "Bush.onlyOne", short: "onlyOne", parent: 3},
		{name: "Walk", short: "Walk", parent: -1}, {name: "Prune", short: "Prune", parent: -1},
		{name: "total", short: "total", parent: -1}, {name: "Twig", short: "Twig", parent: -1},
		{name: "Twig.benders", short: "benders", parent: 9},
	}}}
	c := &change{path: "tree.go", before: s, touched: []int{1}}
	var got []string
	for i := range s.symbols {
		got = append(got, w.needs(q, c, i))
	}
	if d := cmp.Diff([]string{typeContext, primary, "", excluded, "", "", "", excluded, supporting,
		supporting, supporting}, got); d != "" {
		t.Error(d)
	}
	tests := &source{path: "tree_test.go", findings: findings{symbols: []symbol{
		{name: "TestCountLeaves", short: "TestCountLeaves", parent: -1}, {name: "TestAll", short: "TestAll", parent: -1},
		{name: "TestLeafCount", short: "TestLeafCount", parent: -1}, {name: "TestX", short: "TestX", parent: -1}}}}
	c = &change{path: "tree_test.go", before: tests, touched: []int{0, 1}}
	got = nil
	for i := range tests.symbols {
		got = append(got, w.needs(q, c, i))
	}
	if d := cmp.Diff([]string{primary, "", "", excluded}, got); d != "" {
		t.Error(d)
	}
}
