package retrieve

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/internal/tokens"
	"github.com/runplan/runplan/llm"
	"github.com/runplan/runplan/patterns"
	"github.com/runplan/runplan/tools/tooltest"
)

// randomGo returns an archive of small and large Go files that import each other.
func randomGo(rnd *rand.Rand) string {
	var b strings.Builder
	b.WriteString("-- go.mod --\nmodule example.org/m\n")
	n := 2 + rnd.IntN(6)
	for i := range n {
		fmt.Fprintf(&b, "-- p%d/f.go --\n// Package p%d is one.\npackage p%d\n\n", i, i, i)
		if i > 0 {
			fmt.Fprintf(&b, "import \"example.org/m/p%d\"\n\n", rnd.IntN(i))
		}
		for j := range 1 + rnd.IntN(8) {
			switch rnd.IntN(3) {
			case 0:
				fmt.Fprintf(&b, "// T%d%d is a type.\ntype T%d%d struct {\n%s}\n\n", i, j, i, j,
					strings.Repeat("\tA"+strings.Repeat("x", rnd.IntN(30))+"  int // ~~~~ größer\n", 1))
			case 1:
				fmt.Fprintf(&b, "// F%d%d does %s.\nfunc F%d%d() int {\n%s\treturn 1\n}\n\n", i, j,
					strings.Repeat("very ", rnd.IntN(40)), i, j, strings.Repeat("\tprintln(\"日本語\")\n", rnd.IntN(200)))
			default:
				fmt.Fprintf(&b, "const C%d%d = %q\n\n", i, j, strings.Repeat("c", rnd.IntN(400)))
			}
		}
	}
	return b.String()
}

// Without a model, what headings and imports leave of the budget is used for more chunks.
func TestSearchUsesWholeBudget(t *testing.T) {
	var files strings.Builder
	for i := range 30 {
		fmt.Fprintf(&files, "-- f%d.go --\npackage p\n", i)
		for j := range 20 {
			fmt.Fprintf(&files, "\nfunc price%d_%d() int {\n%s\treturn %d\n}\n", i, j, strings.Repeat("\tround()\n", 6), j)
		}
	}
	b := newBench(t, files.String(), patterns.Program{})
	d := b.deps()
	d.LLM = nil
	for _, window := range []int{2000, 4000, 8000} {
		r := b.request("Round each price")
		r.Budget = tokens.Budget{Window: window, Margin: 0.1}
		pkg, err := Retrieve(t.Context(), d, r)
		if err != nil {
			t.Fatal(err)
		}
		if left := window - pkg.Tokens; left < 0 || left > 60 || len(pkg.Dropped) > 0 {
			t.Errorf("%d of %d tokens used, dropped: %v", pkg.Tokens, window, pkg.Dropped)
		}
	}
}

// For any repository, judgment and budget, a package stays within its budget, reports each chosen part that it drops,
// and has the same text for the same choice (RETR-11, BUD-02).
func TestPackageStaysWithinBudget(t *testing.T) {
	tooltest.Slow(t)
	details := []Detail{Primary, Supporting, TypeContext, Excluded}
	for seed := range uint64(16) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		b := newBench(t, randomGo(rnd), patterns.Program{})
		for range 4 {
			r := b.request("Fix p0/f.go, p1/f.go and `F10`")
			r.Budget = tokens.Budget{Window: 2000 + rnd.IntN(4000), Margin: rnd.Float64() / 2}
			r.Budget.Reserved = rnd.IntN(r.Budget.Window)
			pick := rnd.Uint64()
			b.say = func(q llm.Request) string {
				again := rand.New(rand.NewPCG(pick, 2))
				var parts []string
				switch q.Stage {
				case llm.Scope:
					for _, m := range fileIDs.FindAllStringSubmatch(q.Prompt, -1) {
						parts = append(parts, fmt.Sprintf(`%q:{"relevant":%t,"reason":""}`, m[1], again.IntN(3) > 0))
					}
				case llm.Precision:
					for _, m := range pieceIDs.FindAllStringSubmatch(q.Prompt, -1) {
						parts = append(parts, fmt.Sprintf("%q:%q", m[1], details[again.IntN(4)]))
					}
				default:
					return answers{}.say(q)
				}
				return "{" + strings.Join(parts, ",") + "}"
			}
			pkg, err := Retrieve(t.Context(), b.deps(), r)
			if err != nil {
				t.Fatal(err)
			}
			if got := r.Budget.Of(pkg.Text()); got > r.Budget.Retrieval() || pkg.Tokens != got {
				t.Fatalf("seed %d: %d tokens (%d by its own count) with a budget of %d", seed, got, pkg.Tokens,
					r.Budget.Retrieval())
			}
			again, err := Retrieve(t.Context(), b.deps(), r)
			if err != nil || again.Text() != pkg.Text() {
				t.Fatalf("seed %d: another text the second time: %v", seed, err)
			}
			full := r
			full.Budget = tokens.Budget{Window: 1 << 30, Margin: r.Budget.Margin}
			all, err := Retrieve(t.Context(), b.deps(), full)
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range all.Parts {
				if x.Kind == kindHead {
					continue // it comes along where there is room, and nobody chose it
				}
				shown := slices.ContainsFunc(pkg.Parts,
					func(y Part) bool { return y.Path == x.Path && y.Symbol == x.Symbol && y.Text == x.Text })
				told := slices.ContainsFunc(pkg.Dropped, func(d Dropped) bool { return d.Path == x.Path && d.Symbol == x.Symbol })
				if shown == told {
					t.Fatalf("seed %d: %s %s: in the package %t, among what was dropped %t", seed, x.Path, x.Symbol, shown, told)
				}
			}
			least := pkg.Trimmed(pkg.Tokens/2, r.Budget)
			if got := r.Budget.Of(least.Text()); got > pkg.Tokens/2 || len(least.Parts)+len(least.Dropped) < len(pkg.Parts) {
				t.Fatalf("seed %d: trimmed to %d, %d were left", seed, pkg.Tokens/2, got)
			}
		}
	}
}

// Parts are dropped in a fixed order: types, then supporting parts, then primary parts, which are first reduced to
// their signatures (C-07).
func TestTrimOrder(t *testing.T) {
	text := strings.Repeat("x", 400)
	part := func(name string, d Detail, tier int) Part {
		x := Part{Path: name + ".go", Symbol: name, Kind: "function", Start: 1, End: 9, Detail: d, Tier: tier, Text: text,
			Whole: d == Primary}
		b := tokens.Budget{}
		if d == Primary {
			less := x
			less.Detail, less.Text, less.Whole = Supporting, "func "+name, false
			less.Tokens = b.Of(less.String())
			x.less = &less
		}
		x.Tokens = b.Of(x.String())
		return x
	}
	p := Package{Parts: []Part{part("p1", Primary, 1), part("p3", Primary, 3), part("s0", Supporting, 0),
		part("t1", TypeContext, 1), part("s2", Supporting, 2), part("t0", TypeContext, 0)}}
	var got []string
	for limit := 1000; limit >= 0; limit -= 10 {
		for _, d := range p.Trimmed(limit, tokens.Budget{}).Dropped[len(got):] {
			got = append(got, fmt.Sprintf("%s %s", d.Symbol, strings.TrimPrefix(d.Reason, "no room in the budget")))
		}
	}
	short := ": only its signature and documentation are shown"
	want := []string{"t1 ", "t0 ", "s2 ", "s0 ", "p3 " + short, "p3 ", "p1 " + short, "p1 "}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(p.Parts) != 6 || len(p.Dropped) != 0 {
		t.Error("the package itself was changed")
	}
}

// If the budget is too small for the shop, the package lists the dropped and the remaining parts.
func TestSmallBudgetListsDroppedParts(t *testing.T) {
	p := astGrep(t)
	archive, err := os.ReadFile(filepath.Join("testdata", "shop.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, string(archive), p)
	b.say = shopAnswers().say
	b.start()
	r := b.request(shopTask)
	r.Files = []string{"shop/invoice.py", "shop/rounding.py"}
	r.Budget = tokens.Budget{Window: 4500, Reserved: 4096, Margin: 0.2}
	pkg, err := Retrieve(t.Context(), b.deps(), r)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "shop-small.golden", report(t, b, pkg))
}
