package retrieve

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/runplan/runplan/internal/tokens"
)

// ASCII text is counted by other code than other text, with the same result.
func TestWordsAreCountedInAnyText(t *testing.T) {
	task := "load HTTP config loadHTTPConfig größe x9 __init__ load_config A B go größeMax"
	words := PlainWords(task)
	for _, text := range []string{
		"", "load", "loadHTTPConfig(x9)", "__init__ = _load_config__; LOAD_CONFIG", "A AB aB a_B aBC", "HTTPConfig2Go go2Go",
		"größe load, größeMax load_config", "a → load größe", "load\tload", "x9größe config", strings.Repeat("load", 40),
	} {
		want := make([]int, len(words))
		plainWords("a.go", func(w string) {
			if i := slices.Index(words, w); i >= 0 {
				want[i]++
			}
		})
		plainWords(text, func(w string) {
			if i := slices.Index(words, w); i >= 0 {
				want[i]++
			}
		})
		if got := Windows([]Lines{{"a.go", []string{text}}}, 0, task)[0].Counts; !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// Whatever the ranking prefers, the result has a piece of each file that a plain search shows. Here these files have
// only words that the ranking does not count.
func TestFilesOfPlainSearchAreShown(t *testing.T) {
	p := astGrep(t)
	var archive strings.Builder
	archive.WriteString("-- shop/cart.py --\n")
	for i := range 60 {
		fmt.Fprintf(&archive, "def cart_total_%d(cart):\n    # the total of a cart\n    return cart.total(%d)\n\n\n", i, i)
	}
	want := []string{"shop/cart.py"}
	for i := range 5 {
		name := fmt.Sprintf("lib/part%d.py", i)
		fmt.Fprintf(&archive, "-- %s --\ndef run(a):\n    # has to be so, and not as it was\n    return a + %d\n", name, i)
		want = append(want, name)
	}
	b := newBench(t, archive.String(), p)
	d := b.deps()
	d.LLM = nil
	r := b.request("Round the `cart_total` of shop/cart.py, which has not to be so as it was")
	r.Budget = tokens.Budget{Window: 1000}
	pkg, err := Retrieve(t.Context(), d, r)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range want {
		if !slices.ContainsFunc(pkg.Parts, func(x Part) bool { return x.Path == name && x.Whole }) {
			t.Errorf("nothing of %s is shown", name)
		}
	}
	if pkg.Tokens > pkg.Budget || pkg.Tokens < pkg.Budget*9/10 {
		t.Errorf("%d tokens of %d are used", pkg.Tokens, pkg.Budget)
	}
}
