package tally

import "testing"

func TestLines(t *testing.T) {
	for text, want := range map[string]int{"": 0, "one": 1, "one\n": 1, "one\ntwo": 2} {
		if got := Lines(text); got != want {
			t.Errorf("Lines(%q) = %d, want %d", text, got, want)
		}
	}
}
