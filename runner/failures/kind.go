package failures

import (
	"slices"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/lazyre"
)

// byOutcome maps outcomes that determine the failure type. "" is not a failure of the batch: the run was stopped, an
// agent met a limit, a person is asked, a tool could not run.
var byOutcome = map[string]string{
	"timed_out": "timeout",
	"unchanged": "no change",
	"conflict":  "conflict",

	"ok":          "",
	"changed":     "",
	"moved":       "",
	"limited":     "",
	"needs_human": "",
	"cancelled":   "",
	"error":       "",
	"refused":     "",
}

// lessonRepeated is the failure type of a repeated lesson.
const lessonRepeated = "lesson repeated"

// kind is one line of the table of [TypeOf]. All of its set fields must match.
type kind struct {
	is   string
	gate string         // name of the gate, or of its family: "lint" is "lint:go" too
	rule *lazyre.Regexp // of one of its blocking findings
	text *lazyre.Regexp // in a blocking finding, the note or the output
}

// kinds is the table by which failures are classified. The first matching line for a failed gate counts, so causes
// come before their effects: a suite that does not load because of an import is "missing import", not "test failure".
var kinds = []kind{
	{is: "tampering", gate: "tamper"},
	{is: "tampering", gate: "protected"},
	{is: "tampering", gate: "outside"},
	{is: "tampering", gate: "agent",
		text: lazyre.New(`^the agent (?:removed or replaced|left a merge|left the branch|switched to branch)\b`)},
	{is: "secret", gate: "secrets"},
	{is: "forbidden command", gate: "denied"},
	{is: "hook refused", gate: "commit"},
	{is: "missing import",
		text: lazyre.New(`(?im)\b(?:ModuleNotFoundError|ImportError|ERR_MODULE_NOT_FOUND|MODULE_NOT_FOUND)\b|\bno module named\b|\bcannot find module\b|\bcannot find package\b|` +
			`\bmodule not found\b|\bno required module provides package\b|\bis not in std\b|\bunresolved import\b|\bcould not import\b|\bfailed to resolve import\b|` +
			`\bpackage \S+ is not in\b`)},
	{is: "syntax error",
		text: lazyre.New(`(?i)\bsyntax ?error\b|\bunexpected (?:token|indent|EOF|newline|end of (?:file|input))\b|\bIndentationError\b|\bparse error\b`)},
	{is: "type error", gate: "types"},
	{is: "type error",
		text: lazyre.New(`(?i)\berror TS\d+\b|\bcannot use .+ as .+ (?:value|type)\b|\btype mismatch\b|\bincompatible types?\b|\bmismatched types\b`)},
	{is: "build failure", rule: lazyre.New(`^(?:.*/)?build$`)},
	{is: "fewer tests", rule: lazyre.New(`^(?:.*/)?(?:` + gates.RuleFewerTests + `|` + gates.RuleUnknownCount +
		`|no-tests-ran|tests-required)$`)},
	{is: "timeout", text: lazyre.New(`(?i)\b(?:timed out|time limit|deadline exceeded)\b`)},
	{is: "lint", gate: "lint"},
	{is: "acceptance failure", gate: "acceptance"},
	{is: "test failure", gate: "tests"},
	{is: lessonRepeated, gate: "lessons"},
	{is: lessonRepeated, gate: "patterns"},
	{is: "file too long", gate: "size"},
	{is: "broken docs", gate: "docs"},
	{is: "licence", gate: "license"},
	{is: "agent gave up", gate: "agent"},
}

// gateKind is the kind of failure of a gate that is not in the table.
var gateKind = lazyre.New(`^gate [A-Za-z0-9_./:-]+$`)

// Known reports whether [TypeOf] can return a failure type. Anyone may edit the store's file, so other values are
// untrusted text.
func Known(failureType string) bool {
	if failureType == "other" || gateKind.MatchString(failureType) {
		return true
	}
	for _, k := range kinds {
		if k.is == failureType {
			return true
		}
	}
	for _, is := range byOutcome {
		if is != "" && is == failureType {
			return true
		}
	}
	return false
}

// TypeOf returns the failure type of an attempt from its gate reports, its outcome and its reason, by the table above.
// For a failed gate without an entry, the type is the gate's name. "" means that the batch did not fail.
func TypeOf(reports []gates.Report, outcome, reason string) string {
	if t, ok := byOutcome[outcome]; ok {
		return t
	}
	var failed []gates.Report
	for _, r := range reports {
		if r.Status == gates.Fail {
			failed = append(failed, r)
		}
	}
	for _, k := range kinds {
		if slices.ContainsFunc(failed, k.holds) {
			return k.is
		}
	}
	if len(failed) > 0 {
		return line("gate "+failed[0].Gate, maxType)
	}
	for _, k := range kinds {
		if k.gate == "" && k.rule == nil && k.text.MatchString(reason) {
			return k.is
		}
	}
	return "other"
}

func (k kind) holds(r gates.Report) bool {
	if k.gate != "" && r.Gate != k.gate && !strings.HasPrefix(r.Gate, k.gate+":") {
		return false
	}
	if k.rule == nil && k.text == nil {
		return true
	}
	if k.text != nil && (k.text.MatchString(r.Note) || k.text.MatchString(r.Output)) {
		return true
	}
	for _, f := range r.Findings {
		if f.Severity != gates.Error || f.Known {
			continue
		}
		if k.rule != nil && k.rule.MatchString(f.Rule) || k.text != nil && k.text.MatchString(f.Message) {
			return true
		}
	}
	return false
}
