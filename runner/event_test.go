package runner

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/gates"
)

func TestEventRoundTrip(t *testing.T) {
	in, usd, exit := int64(1200), 0.25, 1
	tests := map[string]Event{
		"an event without anything": {},
		"a report on an attempt": {
			Seq: 7, At: at(3), Run: "run", Kind: Executed, Command: "a/r1-c0/execute", Batch: "a", Title: "First", Attempt: 1,
			Outcome: OutcomeLimited, Reason: "five hours", Base: "b", Commit: "c", Tree: "t", Agent: "claude", Model: "opus",
			Usage: &agents.Usage{InputTokens: &in, CostUSD: &usd}, DurationMS: 12, Log: "logs/a", RetryAt: at(9),
		},
		"a report of gates": {
			Seq: 8, At: at(4), Run: "run", Kind: Gated, Command: "a/r1-c0/gate", Batch: "a", Outcome: OutcomeFailed,
			Reports: []gates.Report{{
				Gate: "vet", Status: gates.Fail, Duration: time.Second, Exit: &exit, Tests: &gates.TestCount{Passed: 3, Failed: 1},
				Findings: []gates.Finding{{Rule: "unreachable", Path: "a.go", Line: 3, Severity: gates.Error, Message: "unreachable code"}},
			}},
			Tests: &gates.TestCount{Passed: 3, Failed: 1}, Fingerprint: "f", Receipt: "r.json",
		},
		"a start": {
			Seq: 1, At: at(0), Run: "run", Kind: RunStarted,
			Job: &Info{
				Plan: "plan.md", PlanDigest: "d", Title: "T", Slug: "s", Branch: "b", Base: "c", BaseBranch: "main", Agent: "claude",
				Model: "opus", Mode: "headless", Workers: 2, Land: "ff", MaxAttempts: 3, ConfigDigest: "e", LoopVersion: 1,
				Batches: []BatchInfo{{Key: "a", Number: "1", Title: "A", Digest: "f", Needs: []string{"b"}, Skip: "empty"}},
				Flags:   map[string]string{"agent": "claude"},
			},
		},
	}
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			b, err := want.Encode()
			if err != nil {
				t.Fatal(err)
			}
			var got Event
			if err := json.Unmarshal(b, &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCommandRoundTrip(t *testing.T) {
	want := Command{
		ID: "a/r2-c1/gate", Kind: Gate, Batch: "a", Attempt: 2, Base: "b", Commit: "c", Tree: "t", After: 5,
		Before: &gates.TestCount{Passed: 9},
	}
	b, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got Command
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Contents travel by reference: an event that carries too much is refused, and the error says what to do.
func TestEventEncodeBoundsTheSize(t *testing.T) {
	e := Event{Kind: Gated, Batch: "a"}
	empty, err := e.Encode()
	if err != nil {
		t.Fatal(err)
	}
	room := MaxMessage - len(empty) - len(`"reason":"",`)
	tests := map[string]struct {
		size int
		want string
	}{
		"what just fits is written":       {room, ""},
		"one byte more is refused":        {room + 1, "encode event gated of batch a: 262145 bytes, at most 262144 are allowed; refer to a file or a commit instead"},
		"an ordinary event is far within": {100, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			e.Reason = strings.Repeat("x", tt.size)
			b, err := e.Encode()
			got := ""
			if err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			if (b == nil) != (tt.want != "") {
				t.Errorf("%d bytes with error %q", len(b), got)
			}
		})
	}
}
