package plugin

import (
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/plugin/gatev1"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/planparse"
)

// pair is a value of this package and its value on the wire.
type pair[W, V comparable] struct {
	word  W
	value V
}

func valueOf[W, V comparable](pairs []pair[W, V], word W) (out V) {
	for _, p := range pairs {
		if p.word == word {
			return p.value
		}
	}
	return out // unspecified
}

func wordOf[W, V comparable](pairs []pair[W, V], value V) (out W, ok bool) {
	for _, p := range pairs {
		if p.value == value {
			return p.word, true
		}
	}
	return out, false
}

var kinds = []pair[gates.Kind, gatev1.Kind]{
	{gates.Static, gatev1.Kind_KIND_STATIC}, {gates.LLM, gatev1.Kind_KIND_LLM},
	{gates.Static, gatev1.Kind_KIND_UNSPECIFIED},
}

var costs = []pair[gates.Cost, gatev1.Cost]{
	{gates.Instant, gatev1.Cost_COST_INSTANT}, {gates.Cheap, gatev1.Cost_COST_CHEAP},
	{gates.Costly, gatev1.Cost_COST_COSTLY}, {gates.Dear, gatev1.Cost_COST_DEAR},
	{gates.Cheap, gatev1.Cost_COST_UNSPECIFIED},
}

var statuses = []pair[gates.Status, gatev1.Status]{
	{gates.Pass, gatev1.Status_STATUS_PASS}, {gates.Fail, gatev1.Status_STATUS_FAIL},
	{gates.Warn, gatev1.Status_STATUS_WARN}, {gates.Skipped, gatev1.Status_STATUS_SKIPPED},
}

var severities = []pair[gates.Severity, gatev1.Severity]{
	{gates.Error, gatev1.Severity_SEVERITY_ERROR}, {gates.Warning, gatev1.Severity_SEVERITY_WARNING},
	{gates.Note, gatev1.Severity_SEVERITY_INFO},
}

// valid makes text fit for the wire, where only UTF-8 passes.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// requestTo makes a request of a subject. It returns how many changed paths it had to leave out because they are not
// UTF-8: a corrected path would name no file.
func requestTo(s gates.Subject, settings string, limit time.Duration) (req *gatev1.CheckRequest, lost int) {
	changed := slices.DeleteFunc(slices.Clone(s.Changed), func(p string) bool { return !utf8.ValidString(p) })
	return &gatev1.CheckRequest{
		Dir: s.Dir, Base: valid(s.Base), Tree: valid(s.Tree), ChangedKnown: s.Changed != nil, Changed: changed,
		Batch: batchTo(s.Batch), Before: countTo(s.Before), Settings: settings, TimeoutMs: limit.Milliseconds(),
	}, len(s.Changed) - len(changed)
}

func batchTo(b planparse.Batch) *gatev1.Batch {
	if b.Key == "" && b.Number == "" && b.Title == "" {
		return nil
	}
	all := func(paths []string) []string {
		return lists.Map(paths, valid)
	}
	return &gatev1.Batch{
		Key: valid(b.Key), Number: valid(b.Number), Title: valid(b.Title),
		Files: &gatev1.Files{
			Create: all(b.Files.Create), Modify: all(b.Files.Modify), Test: all(b.Files.Test), Delete: all(b.Files.Delete),
		},
	}
}

// subjectFrom reverses requestTo on the plugin's side.
func subjectFrom(req *gatev1.CheckRequest) gates.Subject {
	s := gates.Subject{
		Dir: req.GetDir(), Base: req.GetBase(), Tree: req.GetTree(), Env: os.Environ(),
		Before: countFrom(req.GetBefore()), Timeout: time.Duration(req.GetTimeoutMs()) * time.Millisecond,
	}
	if req.GetChangedKnown() {
		s.Changed = append([]string{}, req.GetChanged()...)
	}
	if b := req.GetBatch(); b != nil {
		s.Batch = planparse.Batch{Key: b.GetKey(), Number: b.GetNumber(), Title: b.GetTitle()}
		f := b.GetFiles()
		s.Batch.Files = planparse.Files{Create: f.GetCreate(), Modify: f.GetModify(), Test: f.GetTest(),
			Delete: f.GetDelete()}
	}
	return s
}

func countTo(c *gates.TestCount) *gatev1.TestCount {
	if c == nil {
		return nil
	}
	return &gatev1.TestCount{Passed: int32(c.Passed), Failed: int32(c.Failed), Skipped: int32(c.Skipped)}
}

func countFrom(c *gatev1.TestCount) *gates.TestCount {
	if c == nil {
		return nil
	}
	return &gates.TestCount{Passed: int(c.GetPassed()), Failed: int(c.GetFailed()), Skipped: int(c.GetSkipped())}
}

// reportTo converts a gate's report for the wire. The host adds the command and the duration.
func reportTo(rep gates.Report) *gatev1.Report {
	out := &gatev1.Report{
		Status: valueOf(statuses, rep.Status), Tests: countTo(rep.Tests), Note: valid(rep.Note), Output: valid(rep.Output),
	}
	for _, f := range rep.Findings {
		out.Findings = append(out.Findings, &gatev1.Finding{
			Rule: valid(f.Rule), Path: valid(f.Path), Line: int32(f.Line), Col: int32(f.Col),
			Severity: valueOf(severities, f.Severity), Message: valid(f.Message), Fix: valid(f.Fix),
		})
	}
	return out
}
