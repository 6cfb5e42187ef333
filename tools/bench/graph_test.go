package main

import (
	"math/rand/v2"
	"testing"
	"time"
)

func TestGraphFloors(t *testing.T) {
	// Nodes 0 and 1 are free; 2 waits for 0, and 3 waits for 2.
	g := graph{[]time.Duration{3, 5, 4, 1}, [][]int{nil, nil, {0}, {2}}}
	if got := g.work(); got != 13 {
		t.Errorf("work %d, want 13", got)
	}
	if got := g.critical(); got != 8 {
		t.Errorf("critical path %d, want 8", got)
	}
	if got := g.floor(2); got != 8 {
		t.Errorf("floor of two workers %d, want 8", got)
	}
	if got := g.floor(1); got != 13 {
		t.Errorf("floor of one worker %d, want 13", got)
	}
	if got := g.makespan(2, g.known, g.known); got != 8 {
		t.Errorf("two workers take %d, want 8", got)
	}
	if got := g.makespan(1, g.known, even); got != 13 {
		t.Errorf("one worker takes %d, want 13", got)
	}
}

// A schedule without known times starts with the first batch of the plan.
func TestUnknownTimesKeepPlanOrder(t *testing.T) {
	g := graph{[]time.Duration{1, 1, 4}, make([][]int, 3)}
	if got := g.makespan(2, g.known, g.known); got != 4 {
		t.Errorf("with known times %d, want 4", got)
	}
	if got := g.makespan(2, g.known, even); got != 5 {
		t.Errorf("without %d, want 5", got)
	}
}

func TestScheduleNeverBeatsFloor(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 0))
	for range 200 {
		g := randomGraph(rnd)
		if n := len(g.took); n < 20 || n > 60 {
			t.Fatalf("%d batches", n)
		}
		for workers := 1; workers <= 4; workers++ {
			floor, best := g.floor(workers), g.makespan(workers, g.known, g.known)
			if best < floor || best > g.work() {
				t.Fatalf("%d workers take %s, outside of %s to %s", workers, best, floor, g.work())
			}
		}
	}
}
