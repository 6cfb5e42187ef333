package cli

import (
	"runtime/debug"
	"testing"
)

// The first collection of a program may come after a command has chosen a percentage.
func TestChosenCollectionStays(t *testing.T) {
	defer CollectAt(debug.SetGCPercent(100))
	saveMemory()
	if got := debug.SetGCPercent(20); got != 20 {
		t.Errorf("GC at %d %%, want 20", got)
	}
	CollectAt(300)
	saveMemory()
	if got := debug.SetGCPercent(300); got != 300 {
		t.Errorf("GC at %d %%, want the 300 that the command chose", got)
	}
}
