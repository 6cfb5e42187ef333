package cells

import "testing"

// A character that a display shows in two cells counts as two, and an invisible one as none.
func TestCells(t *testing.T) {
	for _, c := range []struct {
		text                string
		width               int
		cut, padded, toLeft string // to four cells
	}{
		{"abc", 3, "abc", "abc ", " abc"},
		{"abcde", 5, "abc…", "abcde", "abcde"},
		{"日本", 4, "日本", "日本", "日本"},
		{"日本語", 6, "日…", "日本語", "日本語"}, // half of a character is not shown
		{"e\u0301t\u00e9", 3, "e\u0301t\u00e9", "e\u0301t\u00e9 ", " e\u0301t\u00e9"},
		{"🚀", 2, "🚀", "🚀  ", "  🚀"},
		{"\x1b[31mab\x1b[0m", 2, "\x1b[31mab\x1b[0m", "\x1b[31mab\x1b[0m  ", "  \x1b[31mab\x1b[0m"},
	} {
		if got := Width(c.text); got != c.width {
			t.Errorf("%q is %d cells wide, not %d", c.text, got, c.width)
		}
		if got := Cut(c.text, 4, "…"); got != c.cut {
			t.Errorf("%q is cut to %q, not %q", c.text, got, c.cut)
		}
		if got := Pad(c.text, 4); got != c.padded {
			t.Errorf("%q is padded to %q, not %q", c.text, got, c.padded)
		}
		if got := PadLeft(c.text, 4); got != c.toLeft {
			t.Errorf("%q is padded to %q, not %q", c.text, got, c.toLeft)
		}
	}
	if got := Cut("abc", 0, "…"); got != "" {
		t.Errorf("a text cut to 0 cells must be empty, got %q", got)
	}
}
