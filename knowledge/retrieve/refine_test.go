package retrieve

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/llm"
)

// A refinement must name a file, symbol, test or error. A request for more context is not evidence in any field
// (RETR-15).
func TestRefinementRequiresEvidence(t *testing.T) {
	for name, tc := range map[string]struct {
		r  Refinement
		ok bool
	}{
		"nothing":        {Refinement{}, false},
		"a reason alone": {Refinement{Reason: "price.Tax is not shown"}, false},
		"more context": {Refinement{MissingFiles: []string{"more context"},
			MissingSymbols: []string{"more context"}, MissingTests: []string{"tests"},
			ErrorSignatures: []string{"More context needed"}}, false},
		"vague words": {Refinement{MissingFiles: []string{"all relevant files", "everything",
			"the rest of the code", "n/a", "?", " "}, MissingSymbols: []string{"unknown", "any other function that matters"}},
			false},
		"one vague word":         {Refinement{MissingSymbols: []string{"context"}, MissingFiles: []string{"files"}}, false},
		"an error without words": {Refinement{ErrorSignatures: []string{"it does not work"}}, false},
		"a file":                 {Refinement{MissingFiles: []string{"price/price.go"}}, true},
		"a file without ending":  {Refinement{MissingFiles: []string{"Makefile"}}, true},
		"a symbol":               {Refinement{MissingSymbols: []string{"`Tax()`"}}, true},
		"a test":                 {Refinement{MissingTests: []string{"tests/test_a.py::TestA::test_b[1]"}}, true},
		"an error":               {Refinement{ErrorSignatures: []string{"NameError: name 'tax' is not defined"}}, true},
		"a place":                {Refinement{ErrorSignatures: []string{"cart/cart.go:9"}}, true},
		"one among vague ones":   {Refinement{MissingFiles: []string{"more files"}, MissingSymbols: []string{"Tax"}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			err := tc.r.Check()
			if tc.ok != (err == nil) || !tc.ok && !errors.Is(err, ErrNoEvidence) {
				t.Errorf("%v", err)
			}
		})
	}
}

// refined retrieves context for Total, with Total as the only primary part, and then refines it.
func refined(t *testing.T, say answers, want Refinement) (*bench, Package, error) {
	t.Helper()
	b := goBench(t)
	b.say = answers{details: map[string]string{"func Total": "primary"}}.say
	b.start()
	first, err := Retrieve(t.Context(), b.deps(), b.request("Fix `Total`"))
	if err != nil || len(first.Parts) != 2 { // with what its file imports
		t.Fatal(err, first.Parts)
	}
	if err := b.session.Set(t.Context(), store.KeyRefinementRequest, want); err != nil {
		t.Fatal(err)
	}
	b.asked, b.say = nil, say.say
	pkg, err := Refine(t.Context(), b.deps(), b.request("Fix `Total`"))
	return b, pkg, err
}

// Refine adds the requested parts that exist, lists those that do not, and keeps the earlier parts (RETR-14).
func TestRefine(t *testing.T) {
	b, pkg, err := refined(t, answers{details: map[string]string{"func Send": "supporting"}}, Refinement{
		Reason: "tax", MissingFiles: []string{"mail/mail.go", "mail/gone.go"}, MissingSymbols: []string{"Tax", "Vat"},
		MissingTests:    []string{"TestTotal"},
		ErrorSignatures: []string{"cart/cart.go:16:9: undefined: x"},
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, x := range pkg.Parts {
		got = append(got, x.Path+" "+x.Symbol+" "+string(x.Detail))
	}
	want := []string{
		"cart/cart.go  type_context", "cart/cart.go Total primary", "cart/cart.go Empty primary",
		"cart/cart_test.go  type_context", "cart/cart_test.go TestTotal primary", "mail/mail.go Send supporting",
		"price/price.go Tax primary",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"cart/cart.go:Empty", "cart/cart_test.go:TestTotal", "mail/mail.go",
		"price/price.go:Tax"}, pkg.Added); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"mail/gone.go (no such file)", "Vat (no such symbol)"}, pkg.NotFound); diff != "" {
		t.Error(diff)
	}
	if len(b.asked) != 1 || b.asked[0].Stage != llm.Precision || strings.Contains(b.asked[0].Prompt, "func Empty") ||
		!strings.Contains(b.asked[0].Prompt, "func Send") {
		t.Errorf("%d questions; only mail/mail.go is new as a whole", len(b.asked))
	}
	if table := decisions(t, b); !strings.Contains(table, "refinement") ||
		strings.Count(table, "the refinement requests Tax") != 1 {
		t.Error(table)
	}
	var progress []Progress
	if _, err := b.session.Get(t.Context(), store.KeyStageProgress, &progress); err != nil {
		t.Fatal(err)
	}
	steps := []Progress{{"task_analysis", "done"}, {"scope", "done"}, {"precision", "done"}, {"refinement", "done"},
		{"precision", "done"}}
	if diff := cmp.Diff(steps, progress); diff != "" {
		t.Error(diff)
	}

	// If the same refinement is repeated, the package adds almost nothing, so the caller can see that another attempt
	// is pointless.
	again, err := Refine(t.Context(), b.deps(), b.request("Fix `Total`"))
	if err != nil {
		t.Fatal(err)
	}
	if len(again.Added) > 1 || again.Budget != pkg.Budget {
		t.Errorf("%q", again.Added)
	}
}

// A refinement that names only symbols needs no model call.
func TestRefineSymbolsWithoutModel(t *testing.T) {
	b, pkg, err := refined(t, answers{}, Refinement{MissingSymbols: []string{"Tax"}})
	if err != nil || len(b.asked) != 0 || len(pkg.Parts) != 3 || pkg.Parts[2].Symbol != "Tax" || !pkg.Parts[2].Whole {
		t.Errorf("%v %d questions %+v", err, len(b.asked), pkg.Parts)
	}
}

// Refine returns an error without evidence, without a request, or without an earlier context.
func TestRefineRefusesIncompleteRequest(t *testing.T) {
	if b, _, err := refined(t, answers{},
		Refinement{Reason: "I need more context", MissingFiles: []string{"more files"}}); !errors.Is(err, ErrNoEvidence) ||
		len(b.asked) > 0 {
		t.Errorf("%v", err)
	}
	b := goBench(t)
	if _, err := Refine(t.Context(), b.deps(), b.request("x")); !errors.Is(err, ErrNoEvidence) {
		t.Errorf("%v", err)
	}
	if err := b.session.Set(t.Context(), store.KeyRefinementRequest,
		Refinement{MissingFiles: []string{"a.go"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := Refine(t.Context(), b.deps(), b.request("x")); !errors.Is(err, ErrNoContext) {
		t.Errorf("%v", err)
	}
}
