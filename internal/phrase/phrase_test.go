package phrase

import (
	"strings"
	"testing"
)

func TestCount(t *testing.T) {
	for want, got := range map[string]string{
		"1 batch":                Count(1, "batch"),
		"2 batches":              Count(2, "batch"),
		"0 hashes":               Count(0, "hash"),
		"3 more lines":           Count(3, "more line"),
		"1 violation of rules":   Count(1, "violation of rules", "violations of rules"),
		"12 violations of rules": Count(12, "violation of rules", "violations of rules"),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestMoneyShowsFractionsOfCent(t *testing.T) {
	for usd, want := range map[float64]string{0: "$0.00", 0.0042: "$0.0042", 0.00001: "$0.0001", 0.01: "$0.01", 12.345: "$12.35",
		-0.5: "$-0.50"} {
		if got := Money(usd); got != want {
			t.Errorf("Money(%v) = %q, want %q", usd, got, want)
		}
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		why, got, want string
	}{
		{"what fits stays", Cut("äöü", 3), "äöü"},
		{"characters count, not bytes", Cut("äöüß", 3), "äö…"},
		{"room for nothing", Cut("ab", 0), ""},
		{"bytes that fit stay", CutBytes("äö", 4), "äö"},
		{"no half a character", CutBytes("äöü", 3), "ä…"},
		{"the sign is among the bytes", Fit("aäöü", 6), "aä…"},
		{"no room for the sign", Fit("äöü", 2), ""},
		{"one line", Line(" a\n\tb  c "), "a b c"},
		{"the last line with text", LastLine("a\n b \n\n"), "b"},
		{"all names fit", Few([]string{"a", "b"}, 2), "a, b"},
		{"the others are counted", Few([]string{"a", "b", "c"}, 1), "a and 2 more"},
		{"the others are an item", Join(First([]string{"a", "b"}, 1), "; ", strings.ToUpper), "A; AND 1 MORE"},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %q, want %q", c.why, c.got, c.want)
		}
	}
}

func TestPlace(t *testing.T) {
	for want, got := range map[string]string{
		"a.go:3:7": Place("a.go", 3, 7),
		"a.go:3":   Place("a.go", 3, 0),
		"a.go":     Place("a.go", 0, 7),
		"":         Place("", 3, 7),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
