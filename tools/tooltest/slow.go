package tooltest

import "testing"

// Slow skips a test with go test -short: it takes seconds, or runs the tests of other programs.
func Slow(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("slow, and -short is set")
	}
}
