package training

import (
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
)

var addressRE = lazyre.New(`[A-Za-z0-9][\w.%+-]*@(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,}\b`)

// Addresses returns the mail addresses in a text, except addresses in the reserved example domains (RFC 2606) and the
// user git of a server.
func Addresses(text string) []string {
	var out []string
	for at := 0; ; {
		n := strings.IndexByte(text[at:], '@')
		if n < 0 {
			return slices.DeleteFunc(out, reserved)
		}
		// Only what is between other characters is searched, and no decorator is.
		from, to := at+n, at+n+1
		for from > at && inAddress(text[from-1]) {
			from--
		}
		for to < len(text) && inAddress(text[to]) {
			to++
		}
		if from < at+n || strings.Count(text[from:to], "@") > 1 {
			out = append(out, addressRE.FindAllString(text[from:to], -1)...)
		}
		at = to
	}
}

// HideAddresses replaces the mail addresses in a text by one of a reserved domain.
func HideAddresses(text string) string {
	if len(Addresses(text)) == 0 {
		return text
	}
	return addressRE.ReplaceAllStringFunc(text, func(a string) string {
		if reserved(a) {
			return a
		}
		return "someone@example.org"
	})
}

// reserved reports whether an address belongs to no person: its domain is reserved, or its user is git.
func reserved(address string) bool {
	user, domain, _ := strings.Cut(strings.ToLower(address), "@")
	return user == "git" || slices.ContainsFunc([]string{"example.com", "example.org", "example.net", "example", "test", "invalid"},
		func(d string) bool { return domain == d || strings.HasSuffix(domain, "."+d) })
}

// inAddress reports whether an address may contain c.
func inAddress(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("@._-+%", c) >= 0
}
