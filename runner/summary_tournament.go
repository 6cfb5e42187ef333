package runner

import "slices"

// CandidateSummary is one candidate of a batch's last tournament.
type CandidateSummary struct {
	Number  int         `json:"number"`
	Variant string      `json:"variant"`
	Kind    string      `json:"kind,omitempty"` // why it got its variant
	State   string      `json:"state"`          // waiting, edited, passed, failed, won, or void
	Score   *int        `json:"score"`          // null until it is judged
	Terms   []ScoreTerm `json:"terms,omitempty"`
	Reason  string      `json:"reason,omitempty"`
	Agent   string      `json:"agent,omitempty"` // that made it
	Model   string      `json:"model,omitempty"`

	gated *Event
}

// tournament applies a tournament event. It reports whether the event is about a candidate only.
func (b *BatchSummary) tournament(e Event) (alone bool) {
	switch {
	case e.Kind == Sampled:
		b.Candidates, b.Sampling = nil, e.Reason
		for _, s := range e.Slots {
			b.Candidates = append(b.Candidates,
				&CandidateSummary{Number: s.Number, Variant: s.Variant, Kind: s.Kind, State: "waiting"})
		}
	case e.Kind == Judged:
		b.judged(e)
	case e.Candidate > 0:
		c := b.candidate(e.Candidate, e.Variant)
		if e.Kind == Executed {
			c.Agent, c.Model = e.Agent, e.Model
		}
		switch e.Outcome {
		case OutcomeOK:
			c.State = "edited"
			if e.Kind == Gated {
				c.State, c.gated = "passed", &e
			}
		case OutcomeFailed, OutcomeUnchanged, OutcomeTimedOut:
			c.State, c.Reason = "failed", e.Reason
		}
		return true
	}
	return false
}

func (b *BatchSummary) candidate(number int, variant string) *CandidateSummary {
	i := slices.IndexFunc(b.Candidates, func(c *CandidateSummary) bool { return c.Number == number })
	if i < 0 {
		b.Candidates = append(b.Candidates, &CandidateSummary{Number: number, Variant: variant, Kind: variant})
		i = len(b.Candidates) - 1
	}
	return b.Candidates[i]
}

func (b *BatchSummary) judged(e Event) {
	b.Sampling = e.Reason
	for _, s := range e.Scores {
		c := b.candidate(s.Candidate, s.Variant)
		score := s.Score
		c.Score, c.Terms = &score, s.Terms
		if s.Void != "" {
			c.State, c.Reason, c.Score = "void", s.Void, nil
		}
	}
	if e.Outcome != OutcomeOK {
		return
	}
	if c := b.candidate(e.Candidate, ""); c.gated != nil {
		c.State = "won"
		if c.Agent != "" {
			b.Agent, b.Model = c.Agent, c.Model
		}
		b.gated(*c.gated)
	}
}

// gated applies the gate results of the candidate to land.
func (b *BatchSummary) gated(e Event) {
	b.Gates = slices.Grow([]GateResult(nil), len(e.Reports))
	for _, r := range e.Reports {
		b.Gates = append(b.Gates,
			GateResult{r.Gate, r.Status, r.Note, r.Tests, r.Quiet, len(r.Findings), r.Said(), r.Command, r.Proof})
	}
	if e.Tests != nil {
		b.TestsAfter = new(e.Tests.Passed)
	}
}
