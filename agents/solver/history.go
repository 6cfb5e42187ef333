package solver

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/runplan/runplan/internal/fence"
	"github.com/runplan/runplan/internal/store"
)

// entry is the session's record of an attempt, under retry_context (DB-08).
type entry struct {
	Attempt int    `json:"attempt"`
	Variant string `json:"variant,omitempty"` // of a candidate: several have the same number
	Class   Class  `json:"class,omitempty"`   // "": the edits were carried out
	Summary string `json:"summary"`
}

// history lists the attempts so far, in the order in which they ended.
type history []entry

// past reads the results of earlier attempts. If the edits of one were applied, the gates refused it; otherwise no
// attempt would follow.
func past(ctx context.Context, s Session, attempt int) (history, error) {
	var all, out history
	if _, err := s.Get(ctx, store.KeyRetryContext, &all); err != nil {
		return nil, err
	}
	for _, e := range all {
		if e.Attempt >= attempt {
			continue // from a concurrent candidate or a stopped try
		}
		e.Class = cmp.Or(e.Class, Gates)
		out = append(out, e)
	}
	return out, nil
}

// remember adds an attempt. It replaces the entry of an earlier try at the same attempt.
func remember(ctx context.Context, s Session, e entry) error {
	var all history
	if _, err := s.Get(ctx, store.KeyRetryContext, &all); err != nil {
		return err
	}
	kept := history{}
	for _, x := range all {
		if x.Attempt != e.Attempt || x.Variant != e.Variant {
			kept = append(kept, x)
		}
	}
	return s.Set(ctx, store.KeyRetryContext, append(kept, e))
}

// text describes the failures for a model, one line per attempt, with advice on the last one.
func (h history) text() string {
	var b strings.Builder
	for i, e := range h {
		fmt.Fprintf(&b, "- attempt %d: %s", e.Attempt, e.Class)
		if s := fence.Line(e.Summary); s != "" {
			fmt.Fprintf(&b, " (%s)", s)
		}
		b.WriteByte('\n')
		if advice := e.Class.Advice(); advice != "" && i == len(h)-1 {
			fmt.Fprintf(&b, "\nThis time: %s.\n", advice)
		}
	}
	return b.String()
}

// classes summarises how attempts ended, for the log of a refinement.
func (h history) classes() []string {
	out := []string{}
	for _, e := range h {
		out = append(out, fmt.Sprintf("attempt %d: %s", e.Attempt, e.Class))
	}
	return out
}
