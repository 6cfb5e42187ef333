package gates

import (
	"fmt"
	"strings"
	"testing"
)

// The first errors and the totals at the end fit into the limit, however many errors there are.
func TestTellingStaysWithinLimit(t *testing.T) {
	var b strings.Builder
	for i := range 200 {
		fmt.Fprintf(&b, "step %d\n\nerror: case %d is wrong\n", i, i)
	}
	out := b.String() + "12 passed, 200 failed\n"
	for _, limit := range []int{200, 1000, 4000} {
		got := telling(out, limit)
		if len(got) > limit || len(got) < limit/2 || !strings.Contains(got, "case 0 is wrong") ||
			!strings.Contains(got, "12 passed, 200 failed") || strings.Contains(got, "case 150 ") {
			t.Errorf("limit %d: %d bytes\n%s", limit, len(got), got)
		}
	}
}
