package held

import (
	"fmt"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates/testcode"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
)

var (
	rustTests = lazyre.New(`(?m)^[ \t]*#\[cfg\(test\)\]\s*(?:#\[[^\]]*\]\s*)*(?:pub\s+)?mod\s+(\w+)\s*\{`)
	// rustDocs matches the documentation of an item and the line that declares it.
	rustDocs = lazyre.New("(?m)((?:^[ \\t]*///.*\n)+)((?:^[ \\t]*#\\[.*\\]\n)*)^[ \\t]*((?:pub(?:\\([^)]*\\))?\\s+)?(?:(?:async|const|unsafe)\\s+)*" +
		"(?:fn|struct|enum|trait|mod|type|macro_rules!)\\s+\\w+)")
)

// part is a part of a file, with its name.
type part struct {
	name     string
	from, to int
}

// mergeRust puts the tests of the base's file into the candidate's: modules that are only built for tests, and
// documentation with examples. What one of the files has not, stays as it is.
func mergeRust(before, after string) (string, bool) {
	old, text := map[string]string{}, after
	for _, p := range rustParts(before) {
		old[p.name] = before[p.from:p.to]
	}
	parts := rustParts(after)
	for _, p := range slices.Backward(parts) { // the places of earlier parts stay right
		if was, ok := old[p.name]; ok {
			text = text[:p.from] + was + text[p.to:]
		}
	}
	return text, text != after
}

// rustParts returns the test modules and the documentation with examples of a file, in its order.
func rustParts(text string) []part {
	code := testcode.Mask(text, language.Rust)
	var out []part
	for _, m := range rustDocs.FindAllStringSubmatchIndex(text, -1) {
		if strings.Contains(text[m[2]:m[3]], "```") {
			out = append(out, part{text[m[6]:m[7]], m[2], m[3]})
		}
	}
	for _, m := range rustTests.FindAllStringSubmatchIndex(code, -1) {
		end := min(testcode.Matching(code, m[1]-1)+1, len(text))
		out = append(out, part{"#" + code[m[2]:m[3]], m[0], end})
	}
	slices.SortStableFunc(out, func(a, b part) int { return a.from - b.from })
	seen, last := map[string]int{}, 0
	kept := out[:0]
	for _, p := range out {
		if p.from < last {
			continue // documentation in a test module
		}
		seen[p.name]++
		p.name += fmt.Sprint("#", seen[p.name]) // two types may each have a function of that name
		kept, last = append(kept, p), p.to
	}
	return kept
}
