package promise

import "testing"

// Frameworks use square brackets in names of files, so only other signs make a pattern.
func TestMeans(t *testing.T) {
	for _, c := range []struct {
		name, path string
		want       bool
	}{
		{"app/rooms/[id]/page.tsx", "src/app/rooms/[id]/page.tsx", true},
		{"app/rooms/[id]/page.tsx", "src/app/rooms/i/page.tsx", false},
		{"app/rooms/[id]/*.tsx", "src/app/rooms/[id]/page.tsx", true},
		{"app/rooms/[id]", "app/rooms/[id]/page.tsx", true},
		{"*.{ts,tsx}", "src/a.tsx", true},
	} {
		if got := means(c.name, c.path); got != c.want {
			t.Errorf("means(%q, %q) = %v", c.name, c.path, got)
		}
	}
}
