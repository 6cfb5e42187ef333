package training

import (
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
)

var addressRE = lazyre.New(`[A-Za-z0-9][\w.%+-]*@(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,}\b`)

// Addresses returns the mail addresses in a text, without those of the reserved example domains (RFC 2606) and without
// the user git of a server.
func Addresses(text string) []string {
	if !mayAddress(text) {
		return nil
	}
	return slices.DeleteFunc(addressRE.FindAllString(text, -1), reserved)
}

// HideAddresses replaces the mail addresses in a text by one of a reserved domain.
func HideAddresses(text string) string {
	if !mayAddress(text) {
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

// mayAddress is a fast check before addressRE: whether an @ is between two characters of an address, and not that of a
// decorator.
func mayAddress(text string) bool {
	for at := 1; at < len(text)-1; at++ {
		n := strings.IndexByte(text[at:len(text)-1], '@')
		if n < 0 {
			return false
		}
		if at += n; !strings.ContainsRune(" \t\n\"'`([{,", rune(text[at-1])) && inDomain(text[at+1]) {
			return true
		}
	}
	return false
}

// inDomain reports whether the name of a domain may contain c.
func inDomain(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-'
}
