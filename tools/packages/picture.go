package main

import (
	"fmt"
	"slices"
	"strings"
)

// box is a box of the picture: a folder with all folders below it that have no box of their own.
type box struct {
	folder string
	says   string
	more   []string // other folders that belong to it
}

// boxes are in the order in which a layer shows them.
func boxes() []box {
	return []box{
		{"cmd", "the program", nil},
		{"internal/cli", "the commands", nil},
		{"feedback", "fixes from feedback", nil},
		{"training", "local models", nil},
		{"runner/page", "web pages", nil},
		{"runner/report", "text, trace, cost", []string{"runner/ledger", "runner/notify", "runner/story", "runner/trace"}},
		{"runner/local", "the driver", []string{"runner/room", "runner/stamps"}},
		{"runner/journal", "reads runs", nil},
		{"runner/briefing", "what an agent reads", []string{"runner/failures"}},
		{"runner", "the machine", nil},
		{"sampling", "tournaments", nil},
		{"routing", "mode and order", nil},
		{"agents", "run agents", nil},
		{"agents/solver", "agent for local models", nil},
		{"gates/plugin", "gates as programs", nil},
		{"gates/suite", "which gates", nil},
		{"gates/review", "review by a model", nil},
		{"gates/blueprint", "code and its design", nil},
		{"gates", "checks", nil},
		{"knowledge/retrieve", "context of a task", nil},
		{"knowledge", "index of the code", nil},
		{"knowledge/outline", "facts of a file", nil},
		{"planparse", "reads plans", nil},
		{"trust", "the owner", nil},
		{"llm", "asks models", nil},
		{"patterns", "finds by structure", nil},
		{"lessons", "finds by text", nil},
		{"internal", "git, processes, SQLite", nil},
	}
}

// outside lists the folders that the picture leaves out: programs and tests around the product, and the second driver,
// which is another module.
var outside = []string{"examples", "sdk", "temporal", "testscripts", "tools"}

// draw returns the imports between the boxes as a mermaid flowchart. It leaves out an import that a longer path
// implies.
func draw(all []folder) (string, error) {
	owner := func(name string) (found int) {
		found = -1
		length := 0
		for i, b := range boxes() {
			for _, base := range append([]string{b.folder}, b.more...) {
				if (name == base || strings.HasPrefix(name, base+"/")) && len(base) > length {
					found, length = i, len(base)
				}
			}
		}
		return found
	}
	edges := make([][]int, len(boxes()))
	for _, f := range all {
		if top, _, _ := strings.Cut(f.name, "/"); slices.Contains(outside, top) {
			continue
		}
		from := owner(f.name)
		if from < 0 {
			return "", fmt.Errorf("%s belongs to no box of the picture; add one in tools/packages/picture.go", f.name)
		}
		for _, imp := range f.imports {
			if to := owner(imp); to != from && !slices.Contains(edges[from], to) {
				if to < 0 {
					return "", fmt.Errorf("%s imports %s, which belongs to no box of the picture", f.name, imp)
				}
				edges[from] = append(edges[from], to)
			}
		}
	}
	reach := make([]map[int]bool, len(edges))
	for i := range edges {
		reach[i] = map[int]bool{}
		follow(edges, i, reach[i])
		if reach[i][i] {
			return "", fmt.Errorf("the imports of %s lead back to it; the picture needs other boxes, or the code other imports",
				boxes()[i].folder)
		}
	}
	var b strings.Builder
	b.WriteString("flowchart TD")
	id := func(i int) string { return strings.ReplaceAll(boxes()[i].folder, "/", "_") }
	for i, x := range boxes() {
		fmt.Fprintf(&b, "\n  %s[\"%s<br>%s\"]", id(i), x.folder, x.says)
	}
	for i, direct := range edges {
		slices.Sort(direct)
		var drawn []string
		for _, to := range direct {
			if !slices.ContainsFunc(direct, func(via int) bool { return reach[via][to] }) {
				drawn = append(drawn, id(to))
			}
		}
		if len(drawn) > 0 {
			fmt.Fprintf(&b, "\n  %s --> %s", id(i), strings.Join(drawn, " & "))
		}
	}
	return b.String(), nil
}

// follow adds all boxes that can be reached from one.
func follow(edges [][]int, from int, seen map[int]bool) {
	for _, to := range edges[from] {
		if !seen[to] {
			seen[to] = true
			follow(edges, to, seen)
		}
	}
}
