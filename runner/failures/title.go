package failures

import (
	"slices"
	"strings"
	"unicode"

	"github.com/runplan/runplan/internal/wordset"
)

// Generalise makes a pattern of a batch title: its words in lower case and in their order, without numbers of batches
// and without meaningless words. "Batch 4b: Integration wiring for the API" is "integration wiring api". The title "A"
// counts as a name. A title without meaningful words gives "".
func Generalise(title string) string { return strings.Join(words(title), " ") }

// stopWords lists words without information about the work.
var stopWords = wordset.New("a an and as at by for from in into its of on or our so that the their then this to up via with " +
	"batch batches chunk part phase step task tasks wave")

// words returns the meaningful words of a title in their order.
func words(title string) []string {
	var out []string
	all := strings.FieldsFunc(strings.ToLower(title),
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) })
	for _, w := range all {
		if !stopWords.Has(w) && !batchNumber(w) {
			out = append(out, w)
		}
	}
	if len(out) == 0 && len(all) == 1 && stopWords.Has(all[0]) && len(all[0]) == 1 { // "A" is a name
		return all
	}
	return out
}

// batchNumber reports whether a word is only a number of a batch or task: "3", "4b", "p5" and "t001" are, "404",
// "utf8" and "sha256" are not.
func batchNumber(w string) bool {
	digits := strings.TrimLeftFunc(w, unicode.IsLetter)
	before := len([]rune(w)) - len([]rune(digits))
	number := strings.TrimRightFunc(digits, unicode.IsLetter)
	after := len([]rune(digits)) - len([]rune(number))
	if number == "" || strings.ContainsFunc(number, func(r rune) bool { return !unicode.IsDigit(r) }) || before+after > 1 {
		return false
	}
	return len(number) <= 2 || before == 1 && number[0] == '0'
}

func set(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}

// similarity returns the similarity of two titles by their sorted words, from 0 to 1: the share of common words.
// Titles without words match none.
func similarity(a, b []string) float64 {
	common := 0
	for _, w := range a {
		if _, ok := slices.BinarySearch(b, w); ok {
			common++
		}
	}
	all := len(a) + len(b) - common
	if all == 0 {
		return 0
	}
	return float64(common) / float64(all)
}
