package prose_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/review/prose"
	"github.com/runplan/runplan/tools/gatetest"
)

func TestProse(t *testing.T) {
	for name, c := range map[string]struct {
		before, after map[string]string
		want          []string
	}{
		"a comment in place of code": {
			after: map[string]string{"a.py": "x = 1\n# ... rest of the code unchanged\n",
				"a.go": "package a\n\n// ... existing code ...\n", "a.ts": "// rest of the file remains the same\n"},
			want: []string{"error prose/left-out a.go:3", "error prose/left-out a.py:2", "error prose/left-out a.ts:1"},
		},
		"comments that do not": {
			after: map[string]string{"a.py": "# the rest of the tests are in b.py\nx = [...]\n# ...\n",
				"a.go": "package a\n\n// existing rows stay.\n"},
		},
		"a marker of a merge": {
			after: map[string]string{"a.md": "a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> other\n"},
			want:  []string{"error prose/merge-marker a.md:2", "error prose/merge-marker a.md:6"},
		},
		"a block that edits are written in": {
			after: map[string]string{"a.md": "<<<<<<< SEARCH\nb\n=======\nc\n>>>>>>> REPLACE\n"},
		},
		"a comment about something else": {
			before: map[string]string{"a.go": "package a\n\n// Sum adds.\nfunc Sum() {}\n"},
			after: map[string]string{"a.go": "package a\n\n// Sum adds.\nfunc Total() {}\n\n// GetPrice asks for it.\n//\n// " +
				"More.\ntype Price struct{}\n"},
			want: []string{"warning prose/doc-name a.go:3", "warning prose/doc-name a.go:6"},
		},
		"comments that begin with a word": {
			after: map[string]string{"a.go": "package a\n\n// The sum of all.\nfunc Total() {}\n\n// Deprecated: use " +
				"Total.\nfunc Sum() {}\n\n// Total and Sum differ.\nfunc Other() {}\n\n//go:embed x\nvar x string\n"},
			want: []string{"warning prose/doc-name a.go:9"},
		},
		"a comment that was wrong before": {
			before: map[string]string{"a.go": "package a\n\n// GetPrice adds.\nfunc Sum() {}\n"},
			after:  map[string]string{"a.go": "package a\n\n// GetPrice adds.\nfunc Sum() {}\n\nvar x = 1\n"},
		},
		"a comment that was wrong before the signature changed": {
			before: map[string]string{"a.go": "package a\n\n// GetPrice adds.\nfunc Sum(a,b int) {}\n"},
			after:  map[string]string{"a.go": "package a\n\n// GetPrice adds.\nfunc Sum(a, b int) {}\n"},
		},
		"a parameter that does not exist": {
			after: map[string]string{
				"a.py": "def total(prices, *, tax=0):\n    \"\"\"Add.\n\n    :param prices: them\n    :param int tax: it\n    " +
					":param currency: none\n    \"\"\"\n",
				"a.js": "/**\n * Adds.\n * @param {number} a one\n * @param {number} [c=1] none\n */\nfunction add(a, b) {}\n",
			},
			want: []string{"info prose/doc-param a.js:4", "warning prose/doc-param a.py:6"},
		},
		"parameters over several lines": {
			after: map[string]string{"a.py": "def total(\n    prices,\n    tax,\n):\n    \"\"\"Add.\n\n    :param tax: it\n   " +
				" \"\"\"\n"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if c.before == nil {
				c.before = map[string]string{"x": "x"}
			}
			_, got := gatetest.Look(t, prose.New(), gatetest.Change(t, c.before, c.after))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A public name that was removed is reported. A name that moved within its folder, a private name or a name in a test
// is not.
func TestNames(t *testing.T) {
	s := gatetest.Change(t, map[string]string{
		"shop/a.go": "package shop\n\nfunc Total() {}\n\nfunc Moved() {}\n\nfunc (c *Cart) Add() {}\n\ntype Cart " +
			"struct{}\n\nfunc small() {}\n",
		"shop/a_test.go":  "package shop\n\nfunc TestTotal() {}\n",
		"internal/x/x.go": "package x\n\nfunc Gone() {}\n",
		"main.go":         "package main\n\nfunc Gone() {}\n",
		"shop.py": "def total():\n    pass\n\n\nclass Cart:\n    def add(self):\n        pass\n\n\ndef _small():\n " +
			"   pass\n",
		"shop.ts":    "export function total() {}\nexport const tax = 1\nfunction small() {}\n",
		"web/old.ts": "export class Old {}\n",
	}, map[string]string{
		"shop/a.go":       "package shop\n\nfunc (c *Cart) Put() {}\n\ntype Cart struct{}\n",
		"shop/b.go":       "package shop\n\nfunc Moved() {}\n",
		"shop/a_test.go":  "package shop\n",
		"internal/x/x.go": "package x\n",
		"main.go":         "package main\n",
		"shop.py":         "class Cart:\n    pass\n",
		"shop.ts":         "export const tax = 2\n",
		"web/old.ts":      "-",
	})
	rep, got := gatetest.Look(t, prose.Names(), s)
	var names []string
	for _, f := range rep.Findings {
		names = append(names, f.Message)
	}
	want := []string{
		"public names of . were removed: total; outside code that uses them breaks",
		"public names of shop were removed: Total, Cart.Add; outside code that uses them breaks",
		"public names of web were removed: Old; outside code that uses them breaks",
	}
	if diff := cmp.Diff(want, names); diff != "" || rep.Status != gates.Pass {
		t.Errorf("%s %v\n%s", rep.Status, got, diff)
	}
}

func TestConformance(t *testing.T) {
	for _, g := range []gates.Gate{prose.New(), prose.Names()} {
		t.Run(g.Info().Name, func(t *testing.T) {
			gatetest.Run(t, func(t *testing.T) (gates.Gate, gates.Subject) {
				return g, gatetest.Change(t, map[string]string{"a.go": "package a\n\nfunc Gone() {}\n"},
					map[string]string{"a.go": "package a\n\n// ... existing code ...\n"})
			})
		})
	}
}
