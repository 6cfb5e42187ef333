package plugin

import (
	"cmp"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/plugin/gatev1"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/redact"
)

// The limits of an answer. docs/plugins.md lists them.
const (
	maxFindings = 200
	maxRule     = 200
	maxPath     = 4 << 10
	maxMessage  = 2 << 10 // of a finding, its fix and the note
	maxOutput   = 4 << 10

	roomForNotes = 256 // remarks about an answer
)

// infoFrom converts a plugin's description of itself.
func infoFrom(res *gatev1.InfoResponse) (gates.Info, error) {
	kind, ok := kinds[res.Kind]
	if !ok {
		return gates.Info{}, fmt.Errorf("its kind %d is unknown in protocol %d", res.Kind,
			ProtocolVersion)
	}
	cost, ok := costs[res.Cost]
	if !ok {
		return gates.Info{}, fmt.Errorf("its cost %d is unknown in protocol %d", res.Cost,
			ProtocolVersion)
	}
	return gates.Info{Name: line(res.Name, maxRule), Kind: kind, Cost: cost, Blocking: res.Blocking}, nil
}

// reader converts an answer to a report. It trusts nothing in an answer: the plugin may be faulty, or may have read
// hostile files.
type reader struct {
	dir    string // the tree
	hide   func(string) string
	strays int // paths outside the tree
	odd    int // unknown severities
}

func (r *reader) report(in *gatev1.Report) (gates.Report, error) {
	if in == nil {
		return gates.Report{}, fmt.Errorf("its answer contains no report")
	}
	status, ok := statuses[in.Status]
	if !ok {
		return gates.Report{}, fmt.Errorf("it answered with status %d, which is unknown in protocol %d", in.Status,
			ProtocolVersion)
	}
	tests := countFrom(in.Tests)
	if tests != nil && (tests.Passed < 0 || tests.Failed < 0 || tests.Skipped < 0) {
		return gates.Report{}, fmt.Errorf("it reported impossible counts: %d tests passed, %d failed, %d skipped", tests.Passed,
			tests.Failed, tests.Skipped)
	}
	rep := gates.Report{Status: status, Tests: tests, Note: r.text(in.Note, maxMessage-roomForNotes),
		Output: r.text(in.Output, maxOutput)}
	all := in.Findings
	if len(all) > maxFindings { // the most severe findings stay
		slices.SortStableFunc(all, func(a, b *gatev1.Finding) int { return rank(a) - rank(b) })
		note(&rep, "%s omitted", phrase.Count(len(all)-maxFindings, "more finding is", "more findings are"))
		all = all[:maxFindings]
	}
	rep.Findings = append(rep.Findings, lists.Map(all, func(f *gatev1.Finding) gates.Finding { return r.finding(f) })...)
	if r.strays > 0 {
		note(&rep, "%d of its paths are outside the tree and not shown", r.strays)
	}
	if r.odd > 0 {
		note(&rep, "%d of its findings have an unknown severity and count as errors", r.odd)
	}
	agree(&rep)
	rep.Note = phrase.Fit(rep.Note, maxMessage)
	return rep, nil
}

func (r *reader) finding(in *gatev1.Finding) gates.Finding {
	f := gates.Finding{
		Rule: line(r.text(in.Rule, maxRule), maxRule), Path: r.path(in.Path), Line: max(0, int(in.Line)),
		Col:     max(0, int(in.Col)),
		Message: r.text(in.Message, maxMessage), Fix: r.text(in.Fix, maxMessage),
	}
	var ok bool
	if f.Severity, ok = severities[in.Severity]; !ok {
		f.Severity = gates.Error
		r.odd++
	}
	f.Rule = cmp.Or(f.Rule, "unnamed")
	f.Message = cmp.Or(f.Message, "no message")
	switch {
	case f.Path == "":
		f.Line, f.Col = 0, 0
	case f.Line == 0:
		f.Col = 0
	}
	return f
}

// path returns p as a path in the tree, or "". Many tools print absolute paths into the tree.
func (r *reader) path(p string) string {
	if p == "" {
		return ""
	}
	if filepath.IsAbs(p) {
		for _, root := range roots(r.dir) {
			if rel, err := filepath.Rel(root, p); err == nil && filepath.IsLocal(rel) {
				p = filepath.ToSlash(rel)
				break
			}
		}
	}
	p = strings.TrimPrefix(p, "./")
	if !fs.ValidPath(p) || strings.Contains(p, `\`) || len(p) > maxPath || redact.Clean(p) != p ||
		strings.ContainsAny(p, "\n\t") {
		r.strays++
		return ""
	}
	return p
}

func roots(dir string) []string {
	out := []string{dir}
	if real, err := filepath.EvalSymlinks(dir); err == nil && real != dir {
		out = append(out, real)
	}
	return out
}

func (r *reader) text(s string, n int) string {
	if r.hide != nil {
		s = r.hide(s)
	}
	return phrase.Fit(redact.Clean(s), n)
}

// agree makes status and findings consistent. The findings have priority over the status.
func agree(rep *gates.Report) {
	errs := slices.ContainsFunc(rep.Findings, func(f gates.Finding) bool { return f.Severity == gates.Error })
	switch {
	case errs:
		rep.Status = gates.Fail
	case rep.Status == gates.Fail:
		message := cmp.Or(rep.Note, "failed without a finding")
		rep.Findings = append(rep.Findings, gates.Finding{Rule: gates.RuleNoReason, Severity: gates.Error, Message: message})
	case rep.Status == gates.Skipped && rep.Note == "":
		rep.Note = "no reason given"
	}
}

func rank(f *gatev1.Finding) int {
	if f.Severity == gatev1.Severity_SEVERITY_UNSPECIFIED {
		return int(gatev1.Severity_SEVERITY_ERROR)
	}
	return int(f.Severity)
}

func note(rep *gates.Report, format string, args ...any) { rep.AddNote(fmt.Sprintf(format, args...)) }

// line returns the first line of s, cut to n characters.
func line(s string, n int) string {
	s, _, _ = strings.Cut(strings.TrimSpace(redact.Clean(s)), "\n")
	return phrase.Fit(s, n)
}
