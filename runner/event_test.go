package runner

import (
	"encoding/json"
	"fmt"
	"regexp"
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
			On: []string{"x", "y"}, Tier: "large",
			Usage: &agents.Usage{InputTokens: &in, CostUSD: &usd}, DurationMS: 12, Log: "logs/a", RetryAt: at(9),
		},
		"a candidate on another base": {
			Seq: 9, At: at(5), Run: "run", Kind: Rebased, Command: "a/r1-c0/rebase", Batch: "a", Attempt: 1, Outcome: OutcomeOK,
			Base: "b", Commit: "c", Tree: "t",
		},
		"a report of gates": {
			Seq: 8, At: at(4), Run: "run", Kind: Gated, Command: "a/r1-c0/gate", Batch: "a", Outcome: OutcomeFailed,
			Reports: []gates.Report{{
				Gate: "vet", Status: gates.Fail, Duration: time.Second, Exit: &exit, Tests: &gates.TestCount{Passed: 3, Failed: 1},
				Findings: []gates.Finding{{Rule: "unreachable", Path: "a.go", Line: 3, Severity: gates.Error,
					Message: "unreachable code"}},
			}},
			Tests: &gates.TestCount{Passed: 3, Failed: 1}, Fingerprint: "f", Receipt: "r.json",
		},
		"a start": {
			Seq: 1, At: at(0), Run: "run", Kind: RunStarted,
			Job: &Info{
				Plan: "plan.md", PlanDigest: "d", Title: "T", Slug: "s", Branch: "b", Base: "c", BaseBranch: "main",
				Agent: "claude",
				Model: "opus", Mode: "team", Workers: 2, Land: "ff", MaxAttempts: 3, ConfigDigest: "e", LoopVersion: 1,
				Speculate: true, Escalate: true, Models: map[string]string{"small": "haiku"}, OnLimit: "wait", MaxCostUSD: 2.5,
				UnknownCost: "allow", SpeedUp: 1.5, Score: 60,
				Batches: []BatchInfo{{
					Key: "a", Number: "1", Title: "A", Digest: "f", Needs: []string{"b"}, Skip: "empty",
					Early: []string{"b"}, Class: "wiring", Tier: "small", Label: "haiku", ExpectMS: 900,
				}},
				Flags: map[string]string{"agent": "claude"},
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
		ID: "a/r2-c1/gate", Kind: Gate, Batch: "a", Attempt: 2, Base: "b", From: "f", Commit: "c", Tree: "t", After: 5,
		On: []string{"x"}, Tier: "small", Model: "haiku", Until: at(7), Before: &gates.TestCount{Passed: 9},
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
	if !got.same(want) {
		t.Error("the command that was read back differs")
	}
}

// A command id identifies one question: a command that differs in any other field is a different command.
func TestCommandSame(t *testing.T) {
	one := Command{
		ID: "a/r1-c0/gate", Kind: Gate, Batch: "a", Attempt: 1, Base: "b", From: "f", Commit: "c", Tree: "t", After: 5,
		On: []string{"x"}, Tier: "small", Model: "haiku", Until: at(7), Before: &gates.TestCount{Passed: 9},
	}
	tests := map[string]struct {
		bend func(*Command)
		same bool
	}{
		"nothing":                      {func(c *Command) {}, true},
		"an equal count":               {func(c *Command) { c.Before = &gates.TestCount{Passed: 9} }, true},
		"equal batches":                {func(c *Command) { c.On = []string{"x"} }, true},
		"the same moment elsewhere":    {func(c *Command) { c.Until = c.Until.In(time.FixedZone("", 3600)) }, true},
		"another base":                 {func(c *Command) { c.Base = "k" }, false},
		"another origin":               {func(c *Command) { c.From = "k" }, false},
		"another candidate":            {func(c *Command) { c.Commit = "k" }, false},
		"another tree":                 {func(c *Command) { c.Tree = "u" }, false},
		"another failure":              {func(c *Command) { c.After = 6 }, false},
		"other batches below":          {func(c *Command) { c.On = nil }, false},
		"another tier":                 {func(c *Command) { c.Tier = "large" }, false},
		"another model":                {func(c *Command) { c.Model = "opus" }, false},
		"a candidate of a tournament":  {func(c *Command) { c.Slot = &Slot{Number: 1} }, false},
		"another moment":               {func(c *Command) { c.Until = at(8) }, false},
		"another count":                {func(c *Command) { c.Before = &gates.TestCount{Passed: 8} }, false},
		"an unknown count":             {func(c *Command) { c.Before = nil }, false},
		"the attempt after that":       {func(c *Command) { c.Attempt = 2 }, false},
		"another batch":                {func(c *Command) { c.Batch = "b" }, false},
		"another kind of work":         {func(c *Command) { c.Kind = Merge }, false},
		"another id for the same work": {func(c *Command) { c.ID = "a/r1-c1/gate" }, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			other := one
			tt.bend(&other)
			if got := one.same(other); got != tt.same {
				t.Errorf("same is %v", got)
			}
			if got := other.same(one); got != tt.same {
				t.Errorf("with swapped arguments, same is %v", got)
			}
		})
	}
}

// An event that exceeds the maximum size is refused, and the error says to refer to a file or a commit instead.
func TestEventEncodeRefusesLargeEvents(t *testing.T) {
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
		"what just fits is written": {room, ""},
		"one byte more is refused": {room + 1,
			"encode event gated of batch a: 262145 bytes, at most 262144 are allowed; refer to a file or a commit instead"},
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

// The kind and the candidate can be read from a command id, also after another agent took over.
func TestCommandIDParts(t *testing.T) {
	for id, want := range map[string]struct {
		kind      CommandKind
		candidate int
	}{
		"a/r1-c3/execute":   {Execute, 3},
		"a/r1.2-c3/execute": {Execute, 3},
		"a/r1-c3/gate":      {Gate, 3},
		"run/r2/land":       {LandRun, 0},
		"a/r1":              {"r1", 0},
		"":                  {".", 0},
	} {
		if kind, candidate := KindOf(id), CandidateOf(id); kind != want.kind || candidate != want.candidate {
			t.Errorf("%q: %s of candidate %d, want %+v", id, kind, candidate, want)
		}
	}
}

// If the event that starts a run would be too large, requirements lose their wording first, and are then left out.
func TestRequirementsFitFirstEvent(t *testing.T) {
	var list []RequirementInfo
	for i := range 2 * maxRequirements {
		list = append(list, RequirementInfo{ID: fmt.Sprint("REQ-", i), Digest: "0123456789abcdef",
			Text: strings.Repeat("x", 500)})
	}
	var info Info
	info.Keep(list)
	texts := 0
	for _, q := range info.Requirements {
		texts += len(q.Text)
	}
	if len(info.Requirements) != maxRequirements || texts == 0 || texts > maxRequirementText ||
		list[len(list)-1].Text == "" {
		t.Errorf("%d requirements with %d bytes", len(info.Requirements), texts)
	}
	for title, want := range map[int]int{MaxMessage - 40_000: maxRequirements, MaxMessage - 10_000: 0} {
		full := Info{Title: strings.Repeat("t", title)}
		full.Keep(list)
		if len(full.Requirements) != want || want > 0 && full.Requirements[0].Text != "" {
			t.Errorf("with a title of %d bytes, %d requirements are kept, want %d without text", title, len(full.Requirements),
				want)
		}
		if _, err := (Event{Job: &full}).Encode(); err != nil {
			t.Error(err)
		}
	}
}

// The outcomes of stopped work say nothing about the work.
func TestTells(t *testing.T) {
	for _, o := range []Outcome{OutcomeOK, OutcomeFailed, OutcomeUnchanged, OutcomeTimedOut, OutcomeConflict,
		OutcomeSkipped} {
		if !o.Tells() {
			t.Errorf("%s must say something about the work", o)
		}
	}
	for _, o := range []Outcome{OutcomeCancelled, OutcomeError, OutcomeUnstarted, OutcomeLimited, OutcomeHuman} {
		if o.Tells() {
			t.Errorf("%s is a result", o)
		}
	}
}

// Each batch has a workspace, and so has each candidate.
func TestPlaces(t *testing.T) {
	if got := (Command{Batch: "a"}).Place(); got != "a" {
		t.Error(got)
	}
	if got := (Command{Batch: "a", Slot: &Slot{Number: 2}}).Place(); got != "a.c2" {
		t.Error(got)
	}
}

// A wording has one digest, and another wording has another.
func TestWordingDigest(t *testing.T) {
	one, other := WordingDigest("The log is kept."), WordingDigest("The log is kept")
	if one == other || one != WordingDigest("The log is kept.") || !regexp.MustCompile(`^[0-9a-f]{8,}$`).MatchString(one) {
		t.Errorf("%q and %q", one, other)
	}
}
