package sampling

import (
	"fmt"
	"strings"
	"time"
)

// Outcome is the result of one candidate (SAMP-13): a row of logs/sampling-outcomes.json.
type Outcome struct {
	BatchType string    `json:"batch_type"`
	Variant   string    `json:"prompt_variant"`
	Won       bool      `json:"won"` // it was the best passed candidate of its round
	Score     int       `json:"score"`
	Timestamp time.Time `json:"timestamp"` // RFC 3339, UTC, whole seconds

	Passed    bool    `json:"passed,omitempty"` // its gates
	Used      bool    `json:"used,omitempty"`   // it became the batch's commit
	Run       string  `json:"run,omitempty"`
	Batch     string  `json:"batch,omitempty"` // key
	Attempt   int     `json:"attempt,omitempty"`
	Round     int     `json:"round,omitempty"`
	Candidate int     `json:"candidate,omitempty"`
	Kind      Kind    `json:"kind,omitempty"`
	Trigger   Trigger `json:"trigger,omitempty"`
	Seed      uint64  `json:"seed,omitempty"`
	Tier      string  `json:"tier,omitempty"`
	Agent     string  `json:"agent,omitempty"`
}

// teaches reports whether the outcome influences the choice of slots for a type of batch. A synthesis has no variant.
func (o *Outcome) teaches(batchType string) bool {
	return o.BatchType == batchType && o.Variant != Synthesis && o.Kind != KindSynthesis
}

// tournament returns the name of the tournament of an outcome, or "" for a row without that data.
func (o Outcome) tournament() string {
	if o.Run == "" || o.Batch == "" {
		return ""
	}
	return fmt.Sprintf("%q %q %d", o.Run, o.Batch, o.Attempt)
}

// key returns the identity of an outcome, or "" for rows that cannot be distinguished.
func (o Outcome) key() string {
	if o.tournament() == "" || o.Candidate == 0 {
		return ""
	}
	return fmt.Sprintf("%s %d %d", o.tournament(), o.Round, o.Candidate)
}

// check finds what must not get into the file.
func (o Outcome) check() error {
	for _, f := range []struct{ name, value string }{{"batch_type", o.BatchType}, {"prompt_variant", o.Variant}} {
		if strings.TrimSpace(f.value) == "" {
			return fmt.Errorf("the outcome has no %s", f.name)
		}
	}
	if o.Timestamp.IsZero() {
		return fmt.Errorf("the outcome of %s has no timestamp", o.Variant)
	}
	return nil
}

// Held holds the data of a finished tournament for its outcomes.
type Held struct {
	BatchType string
	Run       string
	Batch     string // key
	Attempt   int
	Trigger   Trigger
	Seed      uint64
	Tier      string
	Agent     string
	At        time.Time

	Round1    []Candidate
	Decision  Decision // of round 1
	Synthesis *Candidate
	Final     Decision // equal to Decision without a synthesis
}

// Outcomes writes one row for each candidate that has a verdict. A candidate of round 1 has won if it led that round,
// even if it was not used in the end. A close result or a better synthesis is not a fault of its variant.
func (h Held) Outcomes() []Outcome {
	var out []Outcome
	add := func(c Candidate, round int, won bool, variant string, kind Kind) {
		if c.Void != "" {
			return
		}
		out = append(out, Outcome{
			BatchType: h.BatchType, Variant: variant, Won: won, Score: c.Score, Timestamp: h.At.UTC().Truncate(time.Second),
			Passed: c.Measure.Passed, Used: h.Final.Next == Use && h.Final.Leader == c.Number,
			Run: h.Run, Batch: h.Batch, Attempt: h.Attempt, Round: round, Candidate: c.Number,
			Kind: kind, Trigger: h.Trigger, Seed: h.Seed, Tier: h.Tier, Agent: h.Agent,
		})
	}
	for _, c := range h.Round1 {
		add(c, 1, c.Number == h.Decision.Leader, c.Slot.Variant.Name, c.Slot.Kind)
	}
	if s := h.Synthesis; s != nil {
		add(*s, 2, s.Measure.Passed, Synthesis, KindSynthesis)
	}
	return out
}
