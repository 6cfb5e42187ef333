package tamper

import (
	"path"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/redact"
)

var (
	// keepsFromDiffs matches an attribute of git that keeps a file out of diffs and reviews.
	keepsFromDiffs = lazyre.New(`(?:^|\s)(?:-diff|binary|linguist-(?:generated|vendored)(?:=true|=1)?)(?:\s|$)`)
	// madeByPrograms matches files that people do not review.
	madeByPrograms = lazyre.New(`(?i)(?:^|[/_.*-])(?:dist|build|vendor(?:ed)?|third_party|gen(?:erated)?|min|bundle|lock|pb|snap\w*|fixtures?|testdata)(?:[/_.*-]|$)`)
)

// hidden finds code that readers of a diff cannot see as it is: characters that reverse the direction of text,
// characters without width, and git attributes that keep code out of diffs.
func (j judge) hidden(f gates.File) {
	if path.Base(f.Path) == ".gitattributes" {
		for _, l := range f.AddedLines() {
			pattern, attributes, _ := strings.Cut(strings.TrimSpace(l.Text), " ")
			if language.IsCode(pattern) && keepsFromDiffs.MatchString(attributes) && !madeByPrograms.MatchString(pattern) {
				j.find("tamper/hidden", j.unless(j.s.Names(f.Path), gates.Warning), f.Path, l.Number,
					"remove the attribute, or name the file in the plan",
					"this line keeps %s out of diffs, although it is code", pattern)
			}
		}
		return
	}
	if !language.IsCode(f.Path) {
		return
	}
	for _, l := range f.AddedLines() {
		runes := []rune(l.Text)
		if at := slices.IndexFunc(runes, turns); at >= 0 {
			j.find("tamper/hidden", gates.Error, f.Path, l.Number, "write the character as an escape, such as \\u202e",
				"the line has the invisible character U+%04X, so it is not what it seems", runes[at])
			return
		}
		if word := lookalike.FindString(l.Text); word != "" {
			j.find("tamper/hidden", gates.Error, f.Path, l.Number, "write the word in one alphabet",
				"the word %q has letters of two alphabets that look the same", word)
			return
		}
	}
}

// lookalike matches a Latin word with a Cyrillic letter that looks like a Latin letter.
var lookalike = lazyre.New(`\w*[A-Za-z][аеорсухіјѕАВЕКМНОРСТУХІ]+[A-Za-z]\w*`)

// turns reports whether a character is hidden and has no use in code, except those that languages with two directions
// need.
func turns(r rune) bool {
	return r > 0xff && redact.Unseen(r) && r != 0x200e && r != 0x200f && r != 0x061c && r != 0xfeff
}
