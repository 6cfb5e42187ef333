package lessons

import (
	"cmp"
	"slices"

	"github.com/runplan/runplan/internal/language"
)

// inText reports whether the byte at pos is in a string or a comment of a file. lang is its language if its name does
// not show it. A quote without a partner, such as an apostrophe, begins no string.
func inText(file, lang string, text []byte, pos int) bool {
	parts := language.Parts(string(text), cmp.Or(language.OfSource(file), lang))
	return slices.ContainsFunc(parts, func(p language.Part) bool { return p.Start <= pos && pos < p.End && !p.Open() })
}
