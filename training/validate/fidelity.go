package validate

import (
	"context"
	"fmt"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/blueprint"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/knowledge/outline"
	"github.com/runplan/runplan/knowledge/summary"
)

// BlueprintFidelityValidator measures how well code follows its blueprint. It counts the findings of the mechanical
// check.
type BlueprintFidelityValidator struct {
	Summary summary.Options                              // options for the tree with the code
	Lint    func(context.Context) (gates.Verdict, error) // linters of that tree; nil: unknown
}

// mostOfOneRule is the limit of the mechanical check for findings of one rule. If it is reached there may be more.
const mostOfOneRule = 25

// Validate measures the code of a unit.
func (v BlueprintFidelityValidator) Validate(ctx context.Context, b *blueprint.Blueprint) (Score, error) {
	c, err := blueprint.Check(ctx, b, blueprint.Candidate, v.Summary)
	if err != nil {
		return Score{}, err
	}
	files, _, err := blueprint.Summaries(ctx, v.Summary, b, b.Paths())
	if err != nil {
		return Score{}, err
	}
	n := lists.Counts(c.Findings, func(f gates.Finding) string { return f.Rule })
	lint, err := v.lint(ctx)
	if err != nil {
		return Score{}, err
	}
	blind := ""
	if len(c.Unseen) > 0 {
		blind = fmt.Sprintf("%s: %s", c.Unseen[0].Path, c.Unseen[0].Reason)
	}
	return Of(b.Unit, CodeThreshold, []Measure{
		contract(b, n, blind), dependencies(files, n, blind), failures(b, n, blind), lint, types(files, n, blind),
	}), nil
}

// contract measures the share of declared interfaces that the source has.
func contract(b *blueprint.Blueprint, n map[string]int, blind string) Measure {
	total := 0
	for _, in := range b.Interfaces {
		_, names := in.Promises()
		total += len(names)
		switch {
		case in.HTTP != nil:
			total += len(in.HTTP.Endpoints)
		case in.Socket != nil, in.Stream != nil:
			total++
		}
	}
	missing := n[blueprint.RuleEndpoint] + n[blueprint.RuleInterface]
	m := exact("contract", 0.30, max(total-missing, 0), total, "the blueprint declares no interface")
	switch {
	case total == 0:
	case blind != "":
		m.High, m.Why = 1, "missing parts may be in unreadable files: "+blind
	case n[blueprint.RuleEndpoint] >= mostOfOneRule || n[blueprint.RuleInterface] >= mostOfOneRule:
		m.Low, m.Why = 0, "more may be missing than was counted"
	}
	return m
}

// dependencies measures the share of outgoing calls that go to declared units through their clients.
func dependencies(files []summary.Summary, n map[string]int, blind string) Measure {
	total := lists.Sum(files, func(f summary.Summary) int { return len(f.HTTPCalls) })
	wrong := n[blueprint.RuleRawHTTP] + n[blueprint.RuleDependency]
	m := exact("dependencies", 0.25, max(total-wrong, 0), total, "the code calls no other unit")
	switch {
	case blind != "":
		return Measure{Name: m.Name, Weight: m.Weight, High: 1, Of: max(total, 1), Why: "some calls are unknown: " +
			blind}
	case n[blueprint.RuleRawHTTP] >= mostOfOneRule || n[blueprint.RuleDependency] >= mostOfOneRule:
		m.Low, m.Why = 0, "more calls may be wrong than were counted"
	}
	return m
}

// failures measures the share of failure modes that the code handles as declared. A mode without an error or status
// needs a reviewer, so it is unknown.
func failures(b *blueprint.Blueprint, n map[string]int, blind string) Measure {
	total := len(b.FailureModes)
	told := lists.Count(b.FailureModes, func(f blueprint.FailureMode) bool { return f.Exception != "" || f.Status != 0 })
	wrong := n[blueprint.RuleFailure] + n[blueprint.RuleResponse]
	m := exact("failure_modes", 0.25, max(told-wrong, 0), total, "the blueprint declares no failure mode")
	switch {
	case total == 0:
	case blind != "":
		m.High, m.Why = 1, "missing parts may be in unreadable files: "+blind
	case n[blueprint.RuleFailure] >= mostOfOneRule || n[blueprint.RuleResponse] >= mostOfOneRule:
		m.Low, m.Why = 0, "more may be unhandled than was counted"
	case told < total:
		m.High, m.Why = float64(total-wrong)/float64(total),
			fmt.Sprintf("%d of the failure modes name neither an error nor a status, so only a reviewer can judge them",
				total-told)
	}
	return m
}

// lint is 1 if linters ran without an error, 0 if they found one, and unknown if none ran.
func (v BlueprintFidelityValidator) lint(ctx context.Context) (Measure, error) {
	m := Measure{Name: "syntax", Weight: 0.10, High: 1, Of: 1, Why: "no linter checked it"}
	if v.Lint == nil {
		return m, nil
	}
	verdict, err := v.Lint(ctx)
	if err != nil {
		return m, err
	}
	looked, bad := 0, 0
	for _, r := range verdict.Reports {
		switch r.Status {
		case gates.Pass, gates.Warn:
			looked++
		case gates.Fail:
			looked++
			bad++
		}
	}
	switch {
	case bad > 0:
		m.High, m.Why = 0, ""
	case looked > 0:
		m.Low, m.Why = 1, ""
	}
	return m, nil
}

// types measures the share of public functions with complete type annotations.
func types(files []summary.Summary, n map[string]int, blind string) Measure {
	total := 0
	for _, f := range files {
		for _, fn := range f.Functions {
			total += public(f.Language, fn.Name)
		}
		for _, k := range f.Classes {
			if public(f.Language, k.Name) == 0 {
				continue
			}
			for _, fn := range k.Methods {
				total += public(f.Language, fn.Name)
			}
		}
	}
	m := exact("types", 0.10, max(total-n[blueprint.RuleUntyped], 0), total, "it has no public function")
	switch {
	case blind != "":
		return Measure{Name: m.Name, Weight: m.Weight, High: 1, Of: max(total, 1), Why: "some functions are unknown: " +
			blind}
	case n[blueprint.RuleUntyped] >= mostOfOneRule:
		m.Low, m.Why = 0, "more may be untyped than were counted"
	}
	return m
}

// public returns 1 for a public name of the language, else 0.
func public(l outline.Language, name string) int {
	switch {
	case name == "", name == "constructor":
		return 0
	case l == outline.Go && !(name[0] >= 'A' && name[0] <= 'Z'):
		return 0
	case l != outline.Go && (strings.HasPrefix(name, "_") || strings.HasPrefix(name, "#")):
		return 0
	}
	return 1
}
