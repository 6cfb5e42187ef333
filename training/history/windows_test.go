package history

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/internal/fence"
	"github.com/runplan/runplan/internal/linediff"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/recent"
	"github.com/runplan/runplan/knowledge/chunks"
	"github.com/runplan/runplan/training"
	"github.com/runplan/runplan/training/edits"
)

// rates returns a file with functions of nine lines, and a blank line before each.
func rates(n int) string {
	var b strings.Builder
	b.WriteString("package price\n")
	for i := range n {
		fmt.Fprintf(&b,
			"\n// Rate%d is a rate.\nfunc Rate%d(cents int) int {\n\tif cents < 0 {\n\t\treturn 0\n\t}\n\n\treturn cents * %d "+
				"/ 100\n}\n", i, i, i)
	}
	return b.String()
}

// drawnParts returns the parts of a file with one edit, as they are shown for a seed, and the number of the edited one.
func drawnParts(t *testing.T, name, text string, b edits.Block, seed uint64) (parts []chunks.Span, edited int) {
	t.Helper()
	m := &maker{Options: Options{Budget: DefaultBudget()}, sentry: newSentry(t.TempDir(), fence.Hide),
		words: recent.NewShared[uint64](mostTerms, func(terms []uint64) int { return len(terms) + 10 })}
	s := newSource(name, "x", text)
	w := &work{rng: rand.New(rand.NewPCG(seed, 1)), changes: []*change{{path: name, before: s, after: s}}}
	shown, _, _, bad := m.windows(w, []edits.Answer{{Blocks: []edits.Block{b}}})
	if bad != "" {
		t.Fatal(bad)
	}
	edited = -1
	for i, p := range shown {
		parts = append(parts, chunks.Span{Start: p.Start, End: p.End})
		if p.Start <= b.From+1 && b.To <= p.End {
			edited = i
		}
	}
	if edited < 0 {
		t.Fatalf("no part of %v has the lines %d-%d", parts, b.From+1, b.To)
	}
	return parts, edited
}

// Over many examples, neither the place of an edit in its part nor the order and the lengths of the parts say where the
// edit is: each guess is right about as often as one by chance.
func TestWindowsGiveNoHintOfPlace(t *testing.T) {
	const functions, tries = 60, 300
	lines := func(s chunks.Span) int { return s.End - s.Start + 1 }
	for name, edit := range map[string]func(at int) edits.Block{
		"the last statement":       func(at int) edits.Block { return edits.Block{From: at + 6, To: at + 7} },
		"a function before others": func(at int) edits.Block { return edits.Block{From: at - 1, To: at + 1} },
	} {
		var thirds [3]int
		var longest, shortest, first, last, parts float64
		for seed := range uint64(tries) {
			b := edit(2 + 9*int(1+seed%(functions-2)))
			all, edited := drawnParts(t, "rates.go", rates(functions), b, seed)
			thirds[3*(b.From+1-all[edited].Start)/lines(all[edited])]++
			least, most := lines(slices.MinFunc(all, func(a, b chunks.Span) int { return lines(a) - lines(b) })),
				lines(slices.MaxFunc(all, func(a, b chunks.Span) int { return lines(a) - lines(b) }))
			count := func(is bool, of *float64) {
				if is {
					*of++
				}
			}
			same := func(n int) (k float64) {
				return float64(lists.Count(all, func(s chunks.Span) bool { return lines(s) == n }))
			}
			if lines(all[edited]) == most {
				longest += 1 / same(most)
			}
			if lines(all[edited]) == least {
				shortest += 1 / same(least)
			}
			count(edited == 0, &first)
			count(edited == len(all)-1, &last)
			parts += 1 / float64(len(all))
		}
		for i, n := range thirds {
			if share := float64(n) / tries; share < 0.13 || share > 0.5 {
				t.Errorf("%s: %.2f of the edits are in third %d of their part", name, share, i+1)
			}
		}
		for guess, n := range map[string]float64{"longest": longest, "shortest": shortest, "first": first, "last": last} {
			if n > parts+0.1*tries {
				t.Errorf("%s: the %s part is edited in %.2f of the examples, by chance in %.2f", name, guess, n/tries, parts/tries)
			}
		}
	}
}

// Tests are often added at the end of a file. So other edits of tests often show the end too.
func TestWindowsShowEndOfTests(t *testing.T) {
	const tries = 200
	shows := func(name string) (n int) {
		text := rates(16)
		end := strings.Count(text, "\n")
		for seed := range uint64(tries) {
			all, _ := drawnParts(t, name, text, edits.Block{From: 60, To: 61}, seed)
			if all[len(all)-1].End == end {
				n++
			}
		}
		return n
	}
	if code, tests := shows("rates.go"), shows("rates_test.go"); tests < tries/3 || tests > tries*9/10 ||
		code*3/2 > tests {
		t.Errorf("the end is shown in %d of %d examples of tests, and in %d of code", tests, tries, code)
	}
}

// The signatures of a prompt do not tell which files change: changed files have them too.
func TestChangedFilesHaveSignatures(t *testing.T) {
	r := newRepo(t)
	shop := "package price\n\n// Shop sums rates.\nfunc Shop(cents int) int {\n\treturn fees.Rate3(cents) + " +
		"Rate59(cents)\n}\n"
	ours := strings.Replace(rates(60), "package price\n", "package price\n\nimport \"example.org/shop/fees\"\n", 1)
	r.commit("Begin the shop with fees and rates",
		"-- go.mod --\nmodule example.org/shop\n\ngo 1.24\n-- fees/fees.go --\n"+
			strings.Replace(rates(60), "package price", "package fees", 1)+"-- price/rates.go --\n"+
			ours+strings.TrimPrefix(shop, "package price\n"))
	r.commit("Double what Rate3 of the fees returns before it is added to the rates", "-- price/rates.go --\n"+
		ours+strings.TrimPrefix(strings.Replace(shop, "fees.Rate3(cents)", "2*fees.Rate3(cents)", 1), "package price\n"))
	o := r.options(t.TempDir())
	if _, err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	text := examples(t, o.Dir, training.ExecuteCode)[0].Prompt[1].Content
	for _, file := range []string{"fees/fees.go", "price/rates.go"} {
		if !regexp.MustCompile("### `" + file + "`\n\n`Rate\\d+`, function, line[^\n]* signature").MatchString(text) {
			t.Errorf("%s has no signature:\n%s", file, text)
		}
	}
}

// A prompt shows the signatures of what new lines call: of functions elsewhere in the file, and of a package that the
// change imports. Without any code, there is no example.
func TestPromptShowsWhatIsCalled(t *testing.T) {
	r := newRepo(t)
	const module = "-- go.mod --\nmodule example.org/shop\n\ngo 1.24\n"
	fees := strings.Replace(rates(60), "package price", "package fees", 1)
	r.commit("Begin the shop with fees and rates", module+"-- fees/fees.go --\n"+fees+"-- price/rates.go --\n"+rates(60))
	called := strings.Replace(rates(60), "package price\n", "package price\n\nimport \"example.org/shop/fees\"\n", 1)
	r.commit("Import example.org/shop/fees, and return its Rate7 and Rate40 of the cents, too, in Rate3",
		"-- price/rates.go --\n"+
			strings.Replace(called, "cents * 3 / 100", "cents*3/100 + fees.Rate7(cents) + Rate40(cents)", 1))
	r.commit("Add the const Limit of the shop, 1000 cents, in a package",
		"-- limits/limits.go --\npackage limits\n\n// Limit is the limit of the shop in cents.\nconst Limit = 1000\n")
	o := r.options(t.TempDir())
	m, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string]int{"no code of the repository is shown": 1}, m.Files[training.ExecuteCode].Not); d != "" {
		t.Error(d)
	}
	text := examples(t, o.Dir, training.ExecuteCode)[0].Prompt[1].Content
	for _, want := range []string{"func Rate7(cents int) int", "func Rate40(cents int) int"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not shown:\n%s", want, text)
		}
	}
}

// An example of an edit shows unchanged parts of a long file beside the changed one, and does not cut the lines close
// to the change. The commit's test is such a part, because the task asks for none. Removed tests, mail addresses and
// tasks that say nothing make no examples of edits.
func TestWindowsHidePlaceOfChange(t *testing.T) {
	long := rates(60)
	fees := strings.ReplaceAll(long, "Rate", "fee")
	r := newRepo(t)
	const tests = "package price\n\nimport \"testing\"\n\nfunc TestRate1(t *testing.T) { Rate1(1) }\n"
	r.commit("Begin the shop with carts and prices", "-- price/rates.go --\n"+long+
		"-- price/rates_test.go --\n"+tests+"\nfunc TestRate2(t *testing.T) { Rate2(2) }\n"+"-- price/fees_test.go --\n"+fees)
	r.commit("Remove the slow testing func TestRate2 and keep the test of Rate1", "-- price/rates_test.go --\n"+tests)
	r.commit("Add the const Author, ada of lovelace.dev, to the package price, and the first var Rate1",
		"-- price/author.go --\npackage price\n\n// Author is the author of Rate1.\nconst Author = "+
			"\"ada@lovelace.dev\"\n\nvar first = Rate1(1)\n")
	r.now = r.now.AddDate(1, 0, 0)
	r.commit("Fix Author Ada const", "-- price/author.go --\npackage price\n\nconst Author = \"Ada\"\n")
	r.commit("Return the cents of Rate30 rounded up", "-- price/rates.go --\n"+
		strings.Replace(long, "cents * 30 / 100", "(cents*30 + 99) / 100", 1)+
		"-- price/fees_test.go --\n"+strings.Replace(fees, "cents * 9 / 100", "Rate30(cents)", 1))
	o := r.options(t.TempDir())
	m, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string]int{"it contains a mail address": 1,
		"it removes or renames a test, which the prompt forbids": 1}, m.Files[training.ExecuteCode].Not); d != "" {
		t.Error(d)
	}
	all := examples(t, o.Dir, training.ExecuteCode)
	if len(all) != 1 {
		t.Fatalf("%d examples", len(all))
	}
	e := all[0]
	text := e.Prompt[1].Content
	parts := strings.Count(text, ", exact:\n")
	changed := strings.Count(text, "func Rate30(")
	if !strings.Contains(text, "### `price/fees_test.go`") || strings.Contains(e.Completion, "fees_test.go") {
		t.Errorf("the test is not shown, or it is in the answer:\n%s\n%s", text, e.Completion)
	}
	if changed != 1 || parts != 4 {
		t.Errorf("%d of %d parts are changed:\n%s", changed, parts, text)
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
