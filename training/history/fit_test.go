package history

import (
	"slices"
	"testing"
)

// The fast check before the expression refuses no text with an address.
func TestAddresses(t *testing.T) {
	for text, want := range map[string][]string{
		"a@b.de": {"a@b.de"}, "write to <me.too+x%y-@host-1.example.io>": {"me.too+x%y-@host-1.example.io"},
		"@decorator\nx = a @ b.cd\nmail(x@y.zz)": {"x@y.zz"}, "x@": nil, "@x.de": nil, "": nil, "@": nil,
		"me@example.com": nil, "a@@b.de c@d.ef": {"c@d.ef"}, "é@b.de": nil,
	} {
		got := Addresses(text)
		if !slices.Equal(got, want) || len(addressRE.FindAllString(text, -1)) > 0 && !mayAddress(text) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
