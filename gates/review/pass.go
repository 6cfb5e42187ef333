package review

import (
	"fmt"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates"
)

// The seven passes, by number (REV-02).
const (
	Static        = 1
	Functional    = 2
	Architectural = 3
	Security      = 4
	Prose         = 5
	Adversarial   = 6
	Feedback      = 7
)

// kind holds the constants of a pass.
type kind struct {
	number int
	name   string
	weight int    // its share of the confidence, see [Weigh]
	prompt string // the prompt of its reviewer; "" for passes with programs only
	hard   bool   // no reviewer is asked after its failure
}

// kinds lists the table of passes in display order.
var kinds = []kind{
	{number: Static, name: "static", weight: 15, hard: true},
	{number: Functional, name: "functional", weight: 25, hard: true},
	{number: Architectural, name: "architectural", weight: 15, prompt: "review_architectural"},
	{number: Security, name: "security", weight: 20, hard: true},
	{number: Prose, name: "prose", weight: 10, prompt: "review_prose"},
	{number: Adversarial, name: "adversarial", weight: 15, prompt: "review_adversarial"},
	{number: Feedback, name: "feedback", weight: 20, prompt: "review_feedback"},
}

func kindOf(number int) kind { return kinds[number-1] }

// PassOf returns the pass of a gate.
func PassOf(info gates.Info) int {
	family, _, _ := strings.Cut(info.Name, ":")
	switch {
	case info.Kind == gates.LLM:
		return Adversarial // an opinion, which comes after the facts
	case slices.Contains([]string{"secrets", "security"}, family):
		return Security
	case slices.Contains([]string{"docs", "prose"}, family):
		return Prose
	case slices.Contains([]string{"tests", "test", "acceptance"}, family):
		return Functional
	case slices.Contains([]string{"lint", "types", "format"}, family):
		return Static
	case info.Cost >= gates.Costly:
		return Functional
	}
	return Static
}

// Pass is the result of one pass: a report like that of a gate, with the number of the pass.
type Pass struct {
	Number int    `json:"pass"`
	Name   string `json:"name"`
	gates.Report
	Findings []Finding `json:"findings,omitempty"` // replaces that of the report

	ConfidencePct *int           `json:"confidence_pct,omitempty"` // the reviewer's confidence in its answer, 0 to 100
	Calls         []Call         `json:"calls,omitempty"`          // the isolation of its reviewer
	Tools         []gates.Report `json:"tools,omitempty"`          // its gates, without their findings

	rules  gates.Status // combined status of its gates; "" without gates
	judged gates.Status // status of its reviewer; "" without one
	seen   int          // percent of the diff that the reviewer saw
}

// Finding is one problem, with its state in the ledger.
type Finding struct {
	gates.Finding
	ID       string `json:"id"`
	State    State  `json:"state,omitempty"`    // "" without a ledger
	New      bool   `json:"new,omitempty"`      // first entry in the ledger, or found again
	Citation string `json:"citation,omitempty"` // the reviewer's quotation from the diff
	Unproven bool   `json:"unproven,omitempty"` // the quotation is not in the diff: the finding cannot block
	Fact     bool   `json:"fact,omitempty"`     // found by a program, not by a reviewer
	Gate     string `json:"gate,omitempty"`     // which program
}

// blocks reports whether the finding must be resolved.
func (f Finding) blocks() bool {
	return f.Severity == gates.Error && !f.Unproven && (f.State == "" || f.State == Open)
}

func newPass(k kind) Pass {
	return Pass{Number: k.number, Name: k.name, Report: gates.Report{Gate: "review:" + k.name, Status: gates.Skipped}}
}

// skip marks the pass as skipped and records why.
func (p *Pass) skip(format string, args ...any) {
	p.Status = gates.Skipped
	p.note(format, args...)
}

func (p *Pass) note(format string, args ...any) { p.AddNote(fmt.Sprintf(format, args...)) }

// take adds the findings of gate reports without changing their severity.
func (p *Pass) take(reports []gates.Report) {
	for _, r := range reports {
		p.rules = worse(p.rules, r.Status)
		p.Duration += r.Duration
		if r.Status != gates.Skipped { // a skipped gate searched for nothing
			for _, f := range r.Findings {
				p.Findings = append(p.Findings, Finding{Finding: f, Fact: true, Gate: r.Gate})
			}
		}
		if r.Status == gates.Errored {
			p.note("%s %s", r.Gate, r.Note)
		}
		r.Findings, r.Output = nil, ""
		p.Tools = append(p.Tools, r)
	}
	p.Tests = gates.Verdict{Reports: p.Tools}.Tests()
	p.settle()
}

// settle derives the status from the answers of programs and reviewers and from the states of their findings.
func (p *Pass) settle() {
	if p.judged != "" && p.judged != gates.Errored && p.judged != gates.Skipped {
		p.judged = gates.Pass
		for _, f := range p.Findings {
			switch {
			case f.Fact:
			case f.blocks():
				p.judged = gates.Fail
			case f.Severity != gates.Note && !f.Unproven && (f.State == "" || f.State == Open):
				p.judged = worse(p.judged, gates.Warn)
			}
		}
	}
	p.Status = gates.Skipped
	for _, s := range []gates.Status{p.rules, p.judged} {
		p.Status = worse(p.Status, s)
	}
}

// worse returns the worse of two answers; "" means no answer.
func worse(a, b gates.Status) gates.Status {
	order := []gates.Status{"", gates.Skipped, gates.Pass, gates.Warn, gates.Fail, gates.Errored}
	if slices.Index(order, b) > slices.Index(order, a) {
		return b
	}
	return a
}
