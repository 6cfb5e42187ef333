package training

import (
	"slices"
	"strings"
	"testing"
)

// The search around each @ finds what the expression finds in the whole text.
func TestAddresses(t *testing.T) {
	for text, want := range map[string][]string{
		"a@b.de": {"a@b.de"}, "write to <me.too+x%y-@host-1.example.io>": {"me.too+x%y-@host-1.example.io"},
		"@decorator\nx = a @ b.cd\nmail(x@y.zz)": {"x@y.zz"}, "x@": nil, "@x.de": nil, "": nil, "@": nil,
		"me@example.com": nil, "a@@b.de c@d.ef": {"c@d.ef"}, "é@b.de": nil,
		"Thanks to ada@lovelace.dev": {"ada@lovelace.dev"}, "write to a@example.org or b@shop.example": nil,
		"@app.route('/')": nil, "x@y@z.de@w.io a@b.de_c d@e.f%g@h.ij": {"y@z.de", "e.f%g@h.ij"}, "git clone git@host:x": nil, "git clone git@git.host.io:x": nil, "x@v1.2.3": nil,
	} {
		got := Addresses(text)
		whole := slices.DeleteFunc(addressRE.FindAllString(text, -1), reserved)
		if !slices.Equal(got, want) || !slices.Equal(got, whole) {
			t.Errorf("%q: %q, want %q, in the whole text %q", text, got, want, whole)
		}
		if rest := Addresses(HideAddresses(text)); len(rest) > 0 || len(want) == 0 && HideAddresses(text) != text {
			t.Errorf("%q becomes %q", text, HideAddresses(text))
		}
	}
}

// An example of any source leaves the guard without mail addresses.
func TestGuardHidesAddresses(t *testing.T) {
	e := Example{Stage: ExecuteCode, Prompt: []Message{{Role: "user", Content: "ask ada@lovelace.dev"}},
		Completion: "by bob@host.io", Rejected: "by eve@host.io", Source: Logged, Base: BaseOf(ExecuteCode)}
	e, _ = Guard{Redact: strings.Clone}.Seal(e) // other rules of an example do not matter here
	for _, p := range e.texts() {
		if found := Addresses(*p.text); len(found) > 0 {
			t.Errorf("the %s contains %q", p.name, found)
		}
	}
}
