package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The page of packages and the picture of the imports are what the source says.
func TestGeneratedPagesAreFresh(t *testing.T) {
	root := filepath.Join("..", "..")
	pages, err := generate(root)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range pages {
		got, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, string(got)); d != "" {
			t.Errorf("%s is out of date; run make generate:\n%s", name, d)
		}
	}
}

// Each folder with code says what it is for.
func TestEachFolderHasSentence(t *testing.T) {
	all, err := read(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 100 {
		t.Errorf("only %d folders were read", len(all))
	}
	for _, f := range all {
		if len(strings.Fields(f.says)) < 4 {
			t.Errorf("%s says %q; write a package comment that a newcomer understands", f.name, f.says)
		}
	}
}

func TestDraw(t *testing.T) {
	for name, tt := range map[string]struct {
		code        []folder
		has, hasNot string
		err         string
	}{
		"an import is an edge": {code: []folder{{name: "cmd/x", imports: []string{"llm"}}}, has: "\n  cmd --> llm"},
		"a new import appears": {code: []folder{{name: "llm", imports: []string{"lessons"}}}, has: "\n  llm --> lessons"},
		"a longer path implies an import": {code: []folder{{name: "cmd", imports: []string{"llm", "trust"}},
			{name: "trust", imports: []string{"llm"}}}, has: "\n  cmd --> trust\n  trust --> llm", hasNot: "cmd --> llm"},
		"a folder belongs to the nearest box": {code: []folder{{name: "runner/local/deep", imports: []string{"runner/room",
			"runner"}}}, has: "\n  runner_local --> runner", hasNot: "runner_room"},
		"programs around the product are left out": {code: []folder{{name: "tools/x", imports: []string{"llm"}}}, hasNot: "-->"},
		"a folder without a box":                   {code: []folder{{name: "new"}}, err: "new belongs to no box"},
		"a cycle": {code: []folder{{name: "llm", imports: []string{"trust"}}, {name: "trust/x", imports: []string{"llm"}}},
			err: "lead back"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := draw(tt.code)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("error %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil || !strings.Contains(got, tt.has) || tt.hasNot != "" && strings.Contains(got, tt.hasNot) {
				t.Errorf("error %v, picture:\n%s", err, got)
			}
		})
	}
}
