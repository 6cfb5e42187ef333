package retrieve

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

// A chunk that has no word of the task is still useful if the code around it has them.
func TestNearbyChunksAreWithinTwentyLines(t *testing.T) {
	s := &searching{of: map[string][]int{"a.go": {0, 1, 2, 3}, "b.go": {4}}, all: []Ranked{
		{Path: "a.go", Start: 1, End: 10}, {Path: "a.go", Start: 12, End: 30}, {Path: "a.go", Start: 50, End: 60},
		{Path: "a.go", Start: 81, End: 90}, {Path: "b.go", Start: 1, End: 5},
	}}
	for of, want := range [][]int{{0, 1}, {0, 1, 2}, {1, 2}, {3}, {4}} {
		var got []int
		s.nearby(of, func(k int) { got = append(got, k) })
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("near chunk %d: %v, want %v", of, got, want)
		}
	}
}

// A file with the name of what the task is about is named by the task, less so if they are long or many. Names are in
// code form, types of a member, or in the scope of a conventional commit.
func TestFilesWithNameOfSubject(t *testing.T) {
	for text, want := range map[string]string{
		"fix(set/drop-right): support null": "drop-right.test.ts 1, drop-right.ts 1, set.ts 1",
		"fix(set): support null":            "set.ts 1",
		"Set the limit of dropRight":        "drop-right.test.ts 1, drop-right.ts 1",
		"Fix `set`":                         "set.ts 1",
		"feat(index)!: list all":            "index.ts 0.5",
		"Set.add takes no null":             "set.ts 1",
		"Lists.Set.add takes no null":       "set.ts 1",
		"set.add takes no null":             "",
		"Lists.Set takes no null":           "",
		"Set.known takes no null":           "",
		"set the limit":                     "",
		"a sentence (set): and more":        "",
	} {
		s := &searching{of: map[string][]int{}}
		add := func(name string) {
			s.of[name] = []int{len(s.all)}
			s.all = append(s.all, Ranked{Path: name})
		}
		for _, name := range []string{"set.ts", "set.md", "dist/set.js", "drop-right.ts", "drop-right.test.ts"} {
			add(name)
		}
		for i := range 32 {
			add(fmt.Sprintf("%d/index.ts", i))
		}
		s.subjects(TaskQuery{Text: text, Symbols: []SymbolNamed{{As: "Set.known"}}})
		found := map[string]bool{}
		for _, r := range s.all {
			if v := r.Features[fPath]; v > 0 {
				found[fmt.Sprintf("%s %v", path.Base(r.Path), v)] = true
			}
		}
		if got := strings.Join(slices.Sorted(maps.Keys(found)), ", "); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// A number is a term if a code file has it in its name: in most tasks, numbers are values or versions.
func TestNumbersOfFileNamesAreTerms(t *testing.T) {
	s := &searching{of: map[string][]int{"db/042_users.py": {0}, "probe_7.js": {1}, "2024-notes.md": {2}, "v3/a.go": {3}}}
	var got []string
	for _, w := range askedWords("Fix probe 7 and migration 042 of 2024, which took 30 s", s.numbers()) {
		if isNumber(w.word) {
			got = append(got, w.word)
		}
	}
	if want := []string{"042"}; !slices.Equal(got, want) {
		t.Errorf("numbers: %v, want %v", got, want)
	}
}

// The address of a person is no term, but the name of a package with its version is.
func TestVersionsOfPackagesAreTerms(t *testing.T) {
	var got []string
	for _, w := range askedWords("Use node-tap@1.0.0 (ada@mail.example.org)", nil) {
		got = append(got, w.word)
	}
	if want := []string{"node", "tap"}; !slices.Equal(got, want) {
		t.Errorf("terms: %v, want %v", got, want)
	}
}
