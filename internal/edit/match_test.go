package edit

import "testing"

// A line is offered as the likely place only if more than half of its pairs of letters agree.
func TestNearest(t *testing.T) {
	for text, want := range map[string]int{
		"abcdefghij": 1, // the line itself
		"abcdefZYXW": 1, // 5 of 9 pairs
		"abcdeZYXWV": 0, // 4 of 9
		"abcZYXWVUT": 0,
		"a":          0,
	} {
		if _, asked, at := nearest(text+"\n", "\n  abcdefghij\n"); at != want || asked != "  abcdefghij" {
			t.Errorf("%q: line %d for %q, not %d", text, at, asked, want)
		}
	}
	// four of eight pairs are not more than one half
	if _, _, at := nearest("abcdeZYXW\n", "abcdefghi\n"); at != 0 {
		t.Errorf("exactly one half: line %d", at)
	}
}
