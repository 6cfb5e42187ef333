package judge

import (
	"context"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/cache"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/tools/tooltest"
)

// The reaper starts with the first gate that may start a program, and not for answers that are already known.
func TestReaperStartsOnDemand(t *testing.T) {
	program, err := exec.LookPath("true")
	if err != nil {
		tooltest.Missing(t, err, "a program called true stands for the reaper")
	}
	late := func(program string) *LateReaper {
		return &LateReaper{Start: func() (*proc.Reaper, error) { return proc.StartReaper([]string{program}) }}
	}
	for name, tt := range map[string]struct {
		info     gates.Info
		started  [2]bool // by the first look and by the second
		supplied bool
	}{
		"a gate that reads files":    {gates.Info{Name: "g", Cost: gates.Instant}, [2]bool{false, false}, false},
		"a gate that runs a program": {gates.Info{Name: "g", Cost: gates.Cheap}, [2]bool{true, true}, true},
		"a quick one that runs a program": {gates.Info{Name: "g", Cost: gates.Instant, Command: "x"}, [2]bool{true, true},
			true},
		"one that runs a program and is pure": {gates.Info{Name: "g", Cost: gates.Costly, Pure: true}, [2]bool{true, false},
			true},
	} {
		t.Run(name, func(t *testing.T) {
			store := cache.Store{Dir: filepath.Join(t.TempDir(), "store")}
			supplied := false
			for i, want := range tt.started {
				r := late(program)
				g := gates.New(tt.info, func(_ context.Context, l *gates.Look) error {
					supplied = l.Subject().Reaper != nil
					return nil
				})
				g = cache.Around(underReaper([]gates.Gate{g}, r)[0], store, "here")
				if _, err := g.Check(t.Context(), gates.Subject{Dir: t.TempDir(), Tree: "t"}); err != nil {
					t.Fatal(err)
				}
				if started := r.reaper != nil; started != want {
					t.Errorf("look %d: started: %t", i+1, started)
				}
				r.Close()
			}
			if supplied != tt.supplied {
				t.Errorf("the gate has it: %t", supplied)
			}
		})
	}
	r := late(filepath.Join(t.TempDir(), "none"))
	g := underReaper([]gates.Gate{gates.New(gates.Info{Name: "g", Cost: gates.Cheap},
		func(context.Context, *gates.Look) error { return nil })}, r)[0]
	if _, err := g.Check(t.Context(), gates.Subject{}); err == nil {
		t.Error("a gate looked, although nobody would end its programs")
	}
}
