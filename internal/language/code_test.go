package language

import "testing"

// Prose is known by its end, in any case, or by a name in capitals. Programs, settings and data are not prose.
func TestIsProse(t *testing.T) {
	for path, want := range map[string]bool{"docs/a.md": true, "NOTES.TXT": true, "sub/CHANGES": true, "LICENSE-MIT": true,
		"Makefile": false, "build": false, "CI": false, "a.json": false, "a.py": false, "docs/a.svg": false} {
		if got := IsProse(path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}
