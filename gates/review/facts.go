package review

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/phrase"
)

// mostFacts limits the findings that reviewers receive.
const mostFacts = 30

// factsText lists the findings of programs, so that reviewers need not find them again.
func (r *run) factsText() string {
	var b strings.Builder
	told := 0
	for _, p := range r.passes {
		if p.rules == "" {
			continue
		}
		var parts []string
		for _, t := range p.Tools {
			text := t.Gate + " " + string(t.Status)
			if t.Tests != nil {
				text += fmt.Sprintf(" (%d passed, %d failed, %d skipped)", t.Tests.Passed, t.Tests.Failed, t.Tests.Skipped)
			}
			if t.Status != gates.Skipped {
				parts = append(parts, text)
			}
		}
		fmt.Fprintf(&b, "%s: %s: %s\n", p.Name, p.rules, cmp.Or(strings.Join(parts, ", "), "not checked"))
		for _, f := range p.Findings {
			if !f.Fact || f.Severity == gates.Note {
				continue
			}
			if told++; told > mostFacts {
				continue
			}
			fmt.Fprintf(&b, "- %s %s %s: %s\n", f.Severity, f.Rule, phrase.Place(f.Path, f.Line, 0),
				phrase.Cut(f.Message, 200))
		}
	}
	if told > mostFacts {
		fmt.Fprintf(&b, "- and %d more\n", told-mostFacts)
	}
	r.doubts(&b)
	return cmp.Or(strings.TrimSuffix(b.String(), "\n"), "no program checked the change")
}

// mostDoubts limits the unsure remarks that reviewers receive.
const mostDoubts = 10

// doubts lists unsure remarks of a critic. They are not findings: a reviewer has to see the problem in the diff.
func (r *run) doubts(b *strings.Builder) {
	if len(r.in.Doubts) == 0 {
		return
	}
	b.WriteString(
		"unsure remarks of a critic from the time of writing, possibly fixed since; these are not facts, check " +
			"whether they are right:\n")
	for i, f := range r.in.Doubts {
		if i == mostDoubts {
			fmt.Fprintf(b, "- and %d more\n", len(r.in.Doubts)-i)
			return
		}
		fmt.Fprintf(b, "- %s %s\n", cmp.Or(r.clean(phrase.Place(f.Path, f.Line, 0)), "no place"),
			phrase.Line(phrase.Cut(r.clean(f.Message), 300)))
	}
}

// sort puts blocking findings first, then sorts by place.
func (p *Pass) sort() {
	slices.SortStableFunc(p.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Severity.Rank(), b.Severity.Rank()), cmp.Compare(a.Path, b.Path),
			cmp.Compare(a.Line, b.Line), cmp.Compare(a.Rule, b.Rule))
	})
}

// Reports returns the passes as gate reports, for SARIF, JUnit and workflow annotations.
func (v Review) Reports() []gates.Report {
	var out []gates.Report
	for _, p := range v.Passes {
		rep := p.Report
		for _, f := range p.Findings {
			if f.State == Accepted || f.State == Refuted {
				f.Severity, f.Message = gates.Note, string(f.State)+": "+f.Message
			}
			rep.Findings = append(rep.Findings, f.Finding)
		}
		out = append(out, rep)
	}
	return out
}
