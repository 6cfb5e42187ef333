package retrieve

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/internal/store"
)

var update = flag.Bool("update", false, "write the golden files again")

const shopTask = "The total of a gold customer is one cent off. `Cart.total` rounds each item; it has to round the " +
	"sum.\n" +
	"See also docs/pricing.md, and the old `Cart.subtotal`.\n\n" +
	"Traceback (most recent call last):\n" +
	"  File \"/home/ada/work/tests/test_cart.py\", line 8, in test_total_of_gold_customer\n" +
	"    assert cart.total() == 0.95\n" +
	"AssertionError: 0.94 != 0.95\n"

func shopAnswers() answers {
	return answers{
		analysis: `{"intent":"Cart.total rounds the sum once, not each item.","task_type":"bug_fix","concepts":["rounding","discount"],"symbols":["round_money","no_such_thing"],"domain":"","module":"cart"}`,
		relevant: []string{"shop/pricing.py", "shop/models.py", "shop/coupons.py"},
		details: map[string]string{
			"def total": "primary", "def round_money": "primary", "def discount_rate": "supporting",
			"class Customer": "type_context", "class Item": "type_context",
			"def test_total_of_gold_customer": "supporting", "the whole file": "supporting", "def redeem": "type_context",
			"class Cart": "supporting",
		},
	}
}

// The golden files of a small shop show the tier of each file, each decision, and the text that the model gets.
func TestShopGoldenFiles(t *testing.T) {
	p := astGrep(t)
	archive, err := os.ReadFile(filepath.Join("testdata", "shop.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	together := []string{"shop/cart.py", "shop/coupons.py"}
	b := newBench(t, string(archive), p, together, together, []string{"shop/cart.py", "shop/mail.py"})
	b.say = shopAnswers().say
	b.start()
	pkg, err := Retrieve(t.Context(), b.deps(), b.request(shopTask))
	if err != nil {
		t.Fatal(err)
	}
	if len(b.asked) != 3 {
		t.Errorf("%d calls, want one for the analysis and one a stage", len(b.asked))
	}
	golden(t, "shop.golden", report(t, b, pkg))
	// A session keeps the package between attempts, so their prompts begin with identical bytes (MODEL-13).
	var kept Package
	if text, err := json.Marshal(pkg); err != nil || json.Unmarshal(text, &kept) != nil || kept.Text() != pkg.Text() {
		t.Errorf("a package that was kept reads differently: %v\n%s", err, cmp.Diff(pkg.Text(), kept.Text()))
	}
	golden(t, "shop-prompts.golden", prompts(b))

	again := newBench(t, string(archive), p, together, together, []string{"shop/cart.py", "shop/mail.py"})
	again.say = shopAnswers().say
	second, err := Retrieve(t.Context(), again.deps(), again.request(shopTask))
	if err != nil || second.Text() != pkg.Text() {
		t.Errorf("the same repository gives another package: %v\n%s", err, cmp.Diff(pkg.Text(), second.Text()))
	}
}

func prompts(b *bench) string {
	var out strings.Builder
	for _, r := range b.asked {
		fmt.Fprintf(&out, "======== %s\n%s\n", r.Stage, r.Prompt)
	}
	return out.String()
}

// report returns a readable summary of a retrieval.
func report(t *testing.T, b *bench, pkg Package) string {
	t.Helper()
	var out strings.Builder
	q := pkg.Query
	fmt.Fprintf(&out, "TASK  %s\nintent    %s\nkeywords  %s\nconcepts  %s\nsuggested %s\nunknown   %s\n", q.Kind, q.Intent,
		strings.Join(q.Keywords, " "),
		strings.Join(q.Concepts, ", "), strings.Join(q.Suggested, ", "), strings.Join(q.Unknown, ", "))
	for _, f := range q.Files {
		fmt.Fprintf(&out, "file      %s:%d  as %s\n", f.Path, f.Line, f.As)
	}
	for _, s := range q.Symbols {
		fmt.Fprintf(&out, "symbol    %s:%d %s  as %s\n", s.Path, s.Line, s.Name, s.As)
	}
	for _, e := range q.Errors {
		fmt.Fprintf(&out, "error     %s %s %s:%d %s\n", e.Kind, e.Message, e.File, e.Line, e.Symbol)
	}
	out.WriteString("\nDECISIONS\n" + decisions(t, b))
	fmt.Fprintf(&out, "\nPACKAGE  %d of %d tokens\n", pkg.Tokens, pkg.Budget)
	for _, x := range pkg.Parts {
		fmt.Fprintf(&out, "%d  %-18s %-32s %-12s %4d  %s\n", x.Tier, x.Path, x.Symbol, x.Detail, x.Tokens, x.Why)
	}
	for _, d := range pkg.Dropped {
		fmt.Fprintf(&out, "dropped  %s %s %s %d: %s\n", d.Path, d.Symbol, d.Detail, d.Tokens, d.Reason)
	}
	for _, n := range pkg.Notes {
		fmt.Fprintf(&out, "note  %s\n", n)
	}
	out.WriteString("\nTEXT\n" + pkg.Text())
	return out.String()
}

// decisions returns the table of decisions in the log.
func decisions(t *testing.T, b *bench) string {
	t.Helper()
	log, err := store.OpenLog(t.Context(), b.raw)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	all, err := log.Decisions(t.Context(), "t1")
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, d := range all {
		in := "out"
		if d.Included {
			in = "in "
		}
		fmt.Fprintf(&out, "%-10s %s  %-12s %-18s %-28s %s\n", d.Stage, in, d.Tier, d.Path, d.Symbol, d.Reason)
	}
	return out.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; write it with: go test ./knowledge/retrieve -update", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s is different; look at it, then: go test ./knowledge/retrieve -update\n%s", name, diff)
	}
}
