package cli

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
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

// A user who sets GOGC has chosen between memory and CPU time.
func TestGivenGOGCStays(t *testing.T) {
	defer CollectAt(debug.SetGCPercent(300))
	for _, env := range [][]string{{"GOGC=300"}, nil} {
		CollectAt(300)
		memory.chosen = false
		a := App{Environ: env}
		a.SaveMemory()
		want := 300
		if env == nil {
			want = 20
		}
		got := 0
		for range 100 { // the clean-up runs some time after a collection
			runtime.GC()
			if got = debug.SetGCPercent(300); got == want && env == nil {
				break
			}
			debug.SetGCPercent(got)
			time.Sleep(time.Millisecond)
		}
		if got != want {
			t.Errorf("%q: GC at %d %%, want %d", env, got, want)
		}
	}
}
