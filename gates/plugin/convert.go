package plugin

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/plugin/gatev1"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/planparse"
)

// The values of the protocol. A value that is missing here is a fault of the plugin.
var (
	kinds = map[gatev1.Kind]gates.Kind{gatev1.Kind_KIND_STATIC: gates.Static, gatev1.Kind_KIND_LLM: gates.LLM,
		gatev1.Kind_KIND_UNSPECIFIED: gates.Static}
	costs = map[gatev1.Cost]gates.Cost{gatev1.Cost_COST_INSTANT: gates.Instant, gatev1.Cost_COST_CHEAP: gates.Cheap,
		gatev1.Cost_COST_COSTLY: gates.Costly, gatev1.Cost_COST_DEAR: gates.Dear,
		gatev1.Cost_COST_UNSPECIFIED: gates.Cheap}
	statuses = map[gatev1.Status]gates.Status{gatev1.Status_STATUS_PASS: gates.Pass,
		gatev1.Status_STATUS_FAIL: gates.Fail, gatev1.Status_STATUS_WARN: gates.Warn,
		gatev1.Status_STATUS_SKIPPED: gates.Skipped}
	severities = map[gatev1.Severity]gates.Severity{gatev1.Severity_SEVERITY_ERROR: gates.Error,
		gatev1.Severity_SEVERITY_WARNING: gates.Warning, gatev1.Severity_SEVERITY_INFO: gates.Note}
)

// valid converts text to valid UTF-8, which the protocol requires.
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
	return &gates.TestCount{Passed: int(c.Passed), Failed: int(c.Failed), Skipped: int(c.Skipped)}
}
