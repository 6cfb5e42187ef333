package training

import (
	"cmp"
	"slices"
)

// Count is the number of examples of one stage, source and kind.
type Count struct {
	Stage      Stage  `json:"stage"`
	Source     Source `json:"source"`
	Kind       Kind   `json:"kind,omitempty"`
	Positive   int    `json:"positive"`
	Negative   int    `json:"negative"`
	Preference int    `json:"preference"` // pairs of answers; not counted as positive or negative
}

// Refusal is a reason why rows did not become examples.
type Refusal struct {
	Reason   string `json:"reason"`
	Rows     int    `json:"rows"`
	Unproven bool   `json:"unproven"` // no receipt proves them; they are never used
}

// Tally counts used and refused rows. The zero value is ready to use.
type Tally struct {
	Examples int       `json:"examples"`
	Counts   []Count   `json:"counts"`
	Refused  []Refusal `json:"refused"`
}

// Add counts an example.
func (t *Tally) Add(e Example) {
	t.Examples++
	i, found := slices.BinarySearchFunc(t.Counts, Count{Stage: e.Stage, Source: e.Source, Kind: e.Kind}, compareCounts)
	if !found {
		t.Counts = slices.Insert(t.Counts, i, Count{Stage: e.Stage, Source: e.Source, Kind: e.Kind})
	}
	switch c := &t.Counts[i]; {
	case e.Rejected != "":
		c.Preference++
	case e.Positive:
		c.Positive++
	default:
		c.Negative++
	}
}

func compareCounts(a, b Count) int {
	return cmp.Or(cmp.Compare(slices.Index(Stages(), a.Stage), slices.Index(Stages(), b.Stage)),
		cmp.Compare(a.Source, b.Source), cmp.Compare(a.Kind, b.Kind))
}

// Refuse counts a refused row.
func (t *Tally) Refuse(reason string, unproven bool) {
	i, found := slices.BinarySearchFunc(t.Refused, reason,
		func(r Refusal, reason string) int { return cmp.Compare(r.Reason, reason) })
	if !found {
		t.Refused = slices.Insert(t.Refused, i, Refusal{Reason: reason, Unproven: unproven})
	}
	t.Refused[i].Rows++
}
