package main

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

func at(ms int) time.Time { return time.UnixMilli(int64(ms)) }

func TestUnderWay(t *testing.T) {
	given := func(command string, on ...string) event {
		return event{Kind: "dispatched", Command: command, On: on, At: at(0)}
	}
	for _, c := range []struct {
		name   string
		events []event
		want   string
	}{
		{"nothing", nil, "before the journal"},
		{"begun", []event{{Kind: "run.started"}}, "start"},
		{"one", []event{given("1/r1-c0/execute")}, "one agent"},
		{"two", []event{given("1/r1-c0/execute"), given("2/r1-c0/execute")}, "agents side by side"},
		{"one has ended", []event{given("1/r1-c0/execute"), given("2/r1-c0/execute"),
			{Kind: "executed", Command: "1/r1-c0/execute"}, given("1/r1-c0/gate")}, "one agent, gate"},
		{"on unmerged work", []event{given("2/r1-c0/gate", "1"), given("3/r1-c0/execute", "1")},
			"one agent, agent on unmerged work, gate on unmerged work"},
		{"cancelled just now", []event{given("1/r1-c0/rebase"), {Kind: "withdrawn", Command: "1/r1-c0/rebase", At: at(950)}},
			"calling off"},
		{"cancelled a while ago",
			[]event{given("1/r1-c0/rebase"), {Kind: "withdrawn", Command: "1/r1-c0/rebase", At: at(100)},
				given("2/r1-c0/merge")}, "merge"},
		{"done", []event{given("1/r1-c0/merge"), {Kind: "run.finished"}}, "after the end"},
	} {
		if got := strings.Join(underWay(c.events, at(1000)), ", "); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestPlansContainAllBatchKinds(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 0))
	free, waiting := 0, 0
	for range 300 {
		list := steps(rnd)
		pairs, flaky := 0, 0
		for n := 1; n <= batches; n++ {
			s := list[n]
			if len(s.needs) == 0 {
				free++
			} else {
				waiting++
			}
			if slices.ContainsFunc(s.needs, func(need int) bool { return need < 1 || need >= n }) {
				t.Fatalf("batch %d needs %v", n, s.needs)
			}
			if s.pair {
				pairs++
			}
			if s.flaky {
				flaky++
			}
		}
		if pairs != 2 || flaky != 2 {
			t.Fatalf("%d batches in each other's way, %d that fail at first", pairs, flaky)
		}
	}
	if free < 300 || waiting < 300 {
		t.Errorf("%d batches need nothing, %d need others", free, waiting)
	}
}
