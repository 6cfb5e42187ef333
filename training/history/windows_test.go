package history

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/internal/linediff"
	"github.com/runplan/runplan/training"
)

// An example of an edit shows unchanged chunks of a long file beside the changed ones, and does not cut the lines
// close to the change. Removed tests, mail addresses and tasks that say nothing make no examples of edits.
func TestWindowsHidePlaceOfChange(t *testing.T) {
	var long strings.Builder
	long.WriteString("package price\n")
	for i := range 60 {
		fmt.Fprintf(&long,
			"\n// Rate%d is a rate.\nfunc Rate%d(cents int) int {\n\tif cents < 0 {\n\t\treturn 0\n\t}\n\n\treturn cents * %d "+
				"/ 100\n}\n", i, i, i)
	}
	r := newRepo(t)
	const tests = "package price\n\nimport \"testing\"\n\nfunc TestRate1(t *testing.T) { Rate1(1) }\n"
	r.commit("Begin the shop with carts and prices", "-- price/rates.go --\n"+long.String()+
		"-- price/rates_test.go --\n"+tests+"\nfunc TestRate2(t *testing.T) { Rate2(2) }\n")
	r.commit("Remove the slow test of Rate2 and keep that of Rate1", "-- price/rates_test.go --\n"+tests)
	r.commit("Add the constant Author with the address of the author of Rate1",
		"-- price/author.go --\npackage price\n\n// Author is the author of Rate1.\nconst Author = \"ada@lovelace.dev\"\n")
	r.commit("Correct one small mistake", "-- price/author.go --\npackage price\n\nconst Author = \"Ada\"\n")
	r.commit("Round the rate of thirty percent up", "-- price/rates.go --\n"+
		strings.Replace(long.String(), "cents * 30 / 100", "(cents*30 + 99) / 100", 1))
	o := r.options(t.TempDir())
	m, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string]int{"it contains a mail address": 1, "the task is too short, and names no code": 1,
		"it removes or renames a test, which the prompt forbids": 1}, m.Files[training.ExecuteCode].Not); d != "" {
		t.Error(d)
	}
	all := examples(t, o.Dir, training.ExecuteCode)
	if len(all) != 1 {
		t.Fatalf("%d examples", len(all))
	}
	e := all[0]
	text := e.Prompt[1].Content
	var before, after int
	lengths := map[int]int{}
	for _, m := range regexp.MustCompile(`lines (\d+)-(\d+), exact:`).FindAllStringSubmatch(text, -1) {
		from, _ := strconv.Atoi(m[1])
		to, _ := strconv.Atoi(m[2])
		lengths[to-from+1]++
		switch at := 2 + 9*30; { // the lines of Rate30
		case to < at:
			before++
		case from > at+9:
			after++
		}
	}
	if before == 0 || after == 0 || before+after < 3 || len(lengths) != 1 {
		t.Errorf("%d parts before the change, %d after it, parts of so many lines: %v:\n%s", before, after, lengths, text)
	}
	if !strings.Contains(text, "// Rate30 is a rate.\nfunc Rate30(cents int) int {") ||
		!strings.Contains(text, "return cents * 30 / 100") {
		t.Errorf("the changed function is not shown as a chunk:\n%s", text)
	}
}

func TestTakesTestsFindsRemovedTests(t *testing.T) {
	file := func(text string) *source { return newSource("a_test.go", "x", text) }
	two, one := file("func TestA(t *testing.T) {}\nfunc TestB(t *testing.T) {}\n"),
		file("func TestA(t *testing.T) { t.Log() }\n")
	for _, tt := range []struct {
		before, after *source
		taken         bool
	}{{two, one, true}, {one, two, false}, {one, nil, true}, {nil, one, false},
		{one, file("func TestA(t *testing.T) { t.Skip() }\n"), true},
		{two, file("func TestB(t *testing.T) {}\nfunc TestA(t *testing.T) {}\n"), false}} { // it only moves
		c := &change{path: "a_test.go", before: tt.before, after: tt.after}
		if c.before != nil && c.after != nil {
			c.before.split()
			c.after.split()
			c.hunks, _, _ = linediff.Compare(c.before.ended, c.after.ended, 100)
		}
		w := &work{changes: []*change{c}}
		if got := w.takesTests() != ""; got != tt.taken {
			t.Errorf("%+v: %v", tt, got)
		}
	}
}
