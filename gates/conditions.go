package gates

import (
	"context"
	"fmt"
	"strings"

	"github.com/runplan/runplan/internal/condition"
	"github.com/runplan/runplan/internal/lists"
)

// Facts holds the values that a gate's condition may read.
type Facts struct {
	Env     map[string]string `expr:"env"`
	Gate    string            `expr:"gate"`
	Changed []string          `expr:"changed"` // empty if nothing changed, or for a check of the whole tree
	All     bool              `expr:"all"`     // the whole tree is checked
	Batch   string            `expr:"batch"`   // number of the batch, "" outside of a batch
}

// FindingFacts holds the values that a severity's condition may read.
type FindingFacts struct {
	Env      map[string]string `expr:"env"`
	Gate     string            `expr:"gate"`
	Rule     string            `expr:"rule"` // GATE/RULE, with the gate's family: lint/vet
	Path     string            `expr:"path"`
	Line     int               `expr:"line"`
	Severity string            `expr:"severity"`
	Message  string            `expr:"message"`
	Test     string            `expr:"test"`
}

// When is a condition under which a gate runs.
type When struct {
	Gate      string // name of a gate or of a family of gates
	Condition *condition.Condition[Facts]
}

// Override changes the severity of findings. If the conditions of several overrides are true, the last one counts.
type Override struct {
	Condition *condition.Condition[FindingFacts]
	Severity  Severity
}

// ParseWhen compiles the condition of a gate.
func ParseWhen(gate, text string) (When, error) {
	c, err := condition.Parse[Facts](text)
	return When{gate, c}, err
}

// ParseOverride compiles the condition of a severity.
func ParseOverride(text, severity string) (Override, error) {
	switch s := Severity(severity); s {
	case Error, Warning, Note:
		c, err := condition.Parse[FindingFacts](text)
		return Override{c, s}, err
	}
	return Override{}, fmt.Errorf("severity %q: must be error, warning or info", severity)
}

// underConditions wraps the gates that have conditions.
func underConditions(gates []Gate, s Settings) []Gate {
	for i, g := range gates {
		when := lists.Filter(s.When, func(w When) bool { return covers(w.Gate, g.Info().Name) })
		if len(when)+len(s.Overrides) > 0 {
			gates[i] = Wrap(g, func(ctx context.Context, sub Subject) (Report, error) {
				return conditionally(ctx, g, sub, when, s.Overrides)
			})
		}
	}
	return gates
}

// conditionally runs a gate if its conditions are true, and changes the severity of its findings.
func conditionally(ctx context.Context, g Gate, s Subject, when []When, overrides []Override) (Report, error) {
	info := g.Info()
	env := map[string]string{}
	for _, kv := range s.Env {
		k, v, _ := strings.Cut(kv, "=")
		env[k] = v
	}
	for _, w := range when {
		ok, err := w.Condition.Holds(
			Facts{Env: env, Gate: info.Name, Changed: s.Changed, All: s.Changed == nil, Batch: s.Batch.Number})
		if err != nil {
			return Report{}, fmt.Errorf("evaluate its condition: %w", err)
		}
		if !ok {
			return Report{Gate: info.Name, Status: Skipped, Note: "only when " + w.Condition.String(), Command: info.Command},
				nil
		}
	}
	rep, err := g.Check(ctx, s)
	if err != nil || rep.Status == Skipped || len(overrides) == 0 {
		return rep, err
	}
	changed := 0
	for i, f := range rep.Findings {
		for _, o := range overrides {
			ok, err := o.Condition.Holds(FindingFacts{
				Env: env, Gate: info.Name, Rule: family(info.Name) + "/" + strings.TrimPrefix(f.Rule, family(info.Name)+"/"),
				Path: f.Path, Line: f.Line, Severity: string(f.Severity), Message: f.Message, Test: f.Test,
			})
			if err != nil {
				return rep, fmt.Errorf("evaluate the severity of %s: %w", f.Rule, err)
			}
			if ok {
				rep.Findings[i].Severity = o.Severity
			}
		}
		if rep.Findings[i].Severity != f.Severity {
			changed++
		}
	}
	if changed > 0 {
		rep.AddNote(fmt.Sprintf("the configuration sets the severity of %d of %d findings", changed,
			len(rep.Findings)))
		rep.Status = statusOf(rep.Findings)
	}
	return rep, nil
}

// family returns the first part of a gate's name: lint for lint:go.
func family(gate string) string {
	f, _, _ := strings.Cut(gate, ":")
	return f
}

// statusOf returns the status that follows from findings.
func statusOf(findings []Finding) Status {
	out := Pass
	for _, f := range findings {
		switch {
		case f.Severity == Error:
			return Fail
		case f.Severity == Warning:
			out = Warn
		}
	}
	return out
}
