package gates

import (
	"fmt"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/phrase"
)

const fewNames = 5 // maximum of tests in a sentence

// String describes the results of the base's tests: "41 of 42 tests of the base pass; changed expectation: TestAdd".
func (h *Held) String() string {
	switch {
	case h == nil:
		return ""
	case h.Ran == 0 && h.Why != "":
		return "base tests not run: " + phrase.Cut(phrase.Line(h.Why), 200)
	case h.Ran == 0:
		return ""
	}
	text := fmt.Sprintf("%d of %d tests of the base pass", h.Passed, h.Ran)
	if len(h.Changed) > 0 {
		text += "; changed expectation: " + list(h.Changed)
	}
	return text
}

// String lists the reasons for less trust in a result: missing tests, changed tests, missing calibration.
func (p *Proof) String() string {
	if p == nil {
		return ""
	}
	var parts []string
	if len(p.Missing) > 0 {
		parts = append(parts, "missing: "+list(p.Missing))
	}
	if held := p.Held.String(); held != "" {
		parts = append(parts, held)
	}
	if p.Calibration == Uncalibrated {
		text := "uncalibrated"
		if p.Why != "" {
			text += ", " + phrase.Cut(phrase.Line(p.Why), 160)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

const (
	fewWarnings = 3   // maximum of remarks about a report
	maxWarning  = 160 // characters of one
)

// Said lists the warnings of a report that does not fail, and the reasons for less trust in it.
func (r Report) Said() []string {
	var out []string
	if text := r.Proof.String(); text != "" {
		out = append(out, text)
	}
	if r.Status != Warn {
		return out
	}
	n := 0
	for _, f := range r.Findings {
		if f.Severity != Warning || f.Rule == RuleExpectation {
			continue
		}
		text := phrase.Cut(phrase.Line(f.Message), maxWarning)
		if f.Path != "" && !strings.Contains(text, f.Path) {
			text = f.Path + ": " + text
		}
		if slices.Contains(out, text) { // of another line of the file
			continue
		}
		if n++; n <= fewWarnings {
			out = append(out, text)
		}
	}
	if n > fewWarnings {
		out = append(out, fmt.Sprintf("%d more warnings", n-fewWarnings))
	}
	return out
}

func list(names []string) string { return phrase.Few(names, fewNames) }
