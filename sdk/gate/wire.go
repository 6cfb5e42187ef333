package gate

import (
	"strings"
	"time"

	"github.com/runplan/runplan/sdk/internal/gatev1"
)

// The values of the protocol. A value that is missing here becomes "unspecified": runplan takes the default for a kind
// and a cost, and reports a fault of the plugin for a status and a severity.
var (
	kinds = map[Kind]gatev1.Kind{Static: gatev1.Kind_KIND_STATIC, LLM: gatev1.Kind_KIND_LLM}
	costs = map[Cost]gatev1.Cost{
		Instant: gatev1.Cost_COST_INSTANT, Cheap: gatev1.Cost_COST_CHEAP, Costly: gatev1.Cost_COST_COSTLY,
		Dear: gatev1.Cost_COST_DEAR,
	}
	statuses = map[Status]gatev1.Status{
		Pass: gatev1.Status_STATUS_PASS, Fail: gatev1.Status_STATUS_FAIL, Warn: gatev1.Status_STATUS_WARN,
		Skipped: gatev1.Status_STATUS_SKIPPED,
	}
	severities = map[Severity]gatev1.Severity{
		Error: gatev1.Severity_SEVERITY_ERROR, Warning: gatev1.Severity_SEVERITY_WARNING,
		Note: gatev1.Severity_SEVERITY_INFO,
	}
)

// valid converts text to valid UTF-8, which the protocol requires.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func subjectFrom(req *gatev1.CheckRequest) Subject {
	s := Subject{
		Dir: req.Dir, Base: req.Base, Tree: req.Tree,
		Timeout: time.Duration(req.TimeoutMs) * time.Millisecond,
	}
	if req.ChangedKnown {
		s.Changed = append([]string{}, req.Changed...)
	}
	if b := req.Batch; b != nil {
		s.Batch = &Batch{Key: b.Key, Number: b.Number, Title: b.Title}
		if f := b.Files; f != nil {
			s.Batch.Files = Files{Create: f.Create, Modify: f.Modify, Test: f.Test, Delete: f.Delete}
		}
	}
	if c := req.Before; c != nil {
		s.Before = &TestCount{Passed: int(c.Passed), Failed: int(c.Failed), Skipped: int(c.Skipped)}
	}
	return s
}

func reportTo(rep Report) *gatev1.Report {
	out := &gatev1.Report{Status: statuses[rep.Status], Note: valid(rep.Note), Output: valid(rep.Output)}
	if c := rep.Tests; c != nil {
		out.Tests = &gatev1.TestCount{Passed: int32(c.Passed), Failed: int32(c.Failed), Skipped: int32(c.Skipped)}
	}
	for _, f := range rep.Findings {
		out.Findings = append(out.Findings, &gatev1.Finding{
			Rule: valid(f.Rule), Path: valid(f.Path), Line: int32(f.Line), Col: int32(f.Col),
			Severity: severities[f.Severity], Message: valid(f.Message), Fix: valid(f.Fix),
		})
	}
	return out
}
