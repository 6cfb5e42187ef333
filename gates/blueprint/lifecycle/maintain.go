package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/blueprint"
	"github.com/runplan/runplan/internal/phrase"
)

// Task is maintenance work for idle times (RUN-16).
type Task struct {
	ID            string `json:"id"`
	Type          string `json:"type"`
	Priority      int    `json:"priority"` // tasks with lower values run first
	Interruptible bool   `json:"interruptible"`
	Seconds       int    `json:"estimated_seconds"`
	What          string `json:"what"`
}

// The tasks.
const (
	Validation = "blueprint_validation"
	CodeReview = "code_review"
)

// Tasks lists the tasks in the order in which they run.
func Tasks() []Task {
	return []Task{
		{Validation, "SELF_MODEL_UPDATE", 3, true, 30, "the mechanical check of all live units"},
		{CodeReview, "SELF_MODEL_UPDATE", 4, true, 120, "a cold review of the live units that changed since their last one"},
	}
}

// Maintained is the result of a task.
type Maintained struct {
	Task     string   `json:"task"`
	Units    []string `json:"units"`   // checked units
	Current  []string `json:"current"` // units unchanged since their last check
	Found    int      `json:"found"`   // errors, or critical and major discrepancies
	Top      string   `json:"top,omitempty"`
	Skipped  string   `json:"skipped,omitempty"` // why nothing was done
	Problems []string `json:"problems"`          // units that could not be checked, and why
}

// done writes the one line that the journal gets of a task.
func (m Maintained) done(root string, now time.Time) (Maintained, error) {
	text := fmt.Sprintf("%s: %d units checked, %d unchanged, %d found", m.Task, len(m.Units), len(m.Current), m.Found)
	if len(m.Problems) > 0 {
		text += fmt.Sprintf(", %d could not be checked", len(m.Problems))
	}
	if m.Top != "" {
		text += "; first: " + phrase.Cut(phrase.Line(safe(m.Top)), 200)
	}
	return m, Note(root, Entry{At: now, Unit: "all", Kind: "maintenance", Text: text})
}

// Validate checks all live units. An unreadable blueprint is a problem, and the check continues with the others.
func Validate(ctx context.Context, root string, now time.Time,
	check func(context.Context, *blueprint.Blueprint, blueprint.State) (blueprint.Checked, error)) (Maintained, error) {
	m := Maintained{Task: Validation, Units: []string{}, Current: []string{}, Problems: []string{}}
	units, err := blueprint.Units(root, blueprint.Live)
	if err != nil {
		return m, err
	}
	for _, u := range units {
		if ctx.Err() != nil {
			return m, ctx.Err()
		}
		b, err := blueprint.Load(root, u, blueprint.Live)
		var c blueprint.Checked
		if err == nil {
			c, err = check(ctx, b, blueprint.Live)
		}
		if err != nil {
			m.Problems = append(m.Problems, u+": "+phrase.Line(err.Error()))
			continue
		}
		if len(c.Unseen) > 0 {
			m.Problems = append(m.Problems, u+": "+reasons(c.Unseen))
		}
		m.Units = append(m.Units, u)
		for _, f := range c.Findings {
			if f.Severity != gates.Error {
				continue
			}
			if m.Found++; m.Top == "" {
				m.Top = fmt.Sprintf("%s: %s", u, f.Message)
			}
		}
	}
	return m.done(root, now)
}

// ReviewLive reviews each live unit that changed since its last review (BP-30). Critical and major discrepancies become
// open questions, critical ones also wait in the queue, and the journal gets one line. It can be interrupted between
// units: finished reviews are stored.
func ReviewLive(ctx context.Context, root string, now time.Time,
	review func(ctx context.Context, unit string) (Handled, error)) (Maintained, error) {
	m := Maintained{Task: CodeReview, Units: []string{}, Current: []string{}, Problems: []string{}}
	units, err := blueprint.Units(root, blueprint.Live)
	if err != nil {
		return m, err
	}
	worst := len(Severities())
	for _, u := range units {
		if ctx.Err() != nil {
			break
		}
		current, err := reviewed(root, u)
		if err == nil && current {
			m.Current = append(m.Current, u)
			continue
		}
		var h Handled
		if err == nil {
			h, err = review(ctx, u)
		}
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			m.Problems = append(m.Problems, u+": "+phrase.Line(err.Error()))
			continue
		}
		m.Units = append(m.Units, u)
		for _, d := range h.Record.Discrepancies {
			at := slices.Index(Severities(), d.Severity)
			if d.Severity != Critical && d.Severity != Major {
				continue
			}
			m.Found++
			if at < worst {
				worst, m.Top = at, fmt.Sprintf("%s, %s: %s", u, d.Severity, d.BlueprintClaim)
			}
		}
	}
	m, err = m.done(root, now)
	return m, errors.Join(ctx.Err(), err)
}

// reviewed reports whether the last review of a live unit covers its present blueprint and sources.
func reviewed(root, unit string) (bool, error) {
	b, err := blueprint.Load(root, unit, blueprint.Live)
	if err != nil {
		return false, err
	}
	rec, _, err := Latest(root, unit, blueprint.Live)
	if errors.Is(err, ErrNoReview) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	sources, err := blueprint.SourcesDigest(root, b)
	return rec.BlueprintSHA256 == b.Digest() && rec.SourcesSHA256 == sources, err
}
