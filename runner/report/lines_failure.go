package report

import (
	"fmt"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/runner"
)

func trouble(o runner.Outcome) ui.Tone {
	switch o {
	case runner.OutcomeLimited, runner.OutcomeHuman, runner.OutcomeCancelled:
		return ui.Warn
	}
	return ui.Bad
}

// wentWrong describes a failure with its first finding.
func (p *Printer) wentWrong(e runner.Event) string {
	var s string
	switch e.Outcome {
	case runner.OutcomeTimedOut:
		s = fmt.Sprintf("failed attempt %d: timed out", e.Attempt)
	case runner.OutcomeLimited, runner.OutcomeHuman:
		s = parking(e, e.At, p.Zone, ui.Sanitize(e.Reason))
		if e.Outcome == runner.OutcomeLimited && e.RetryAt.IsZero() {
			what, why, told := strings.Cut(s, ":")
			if s = "parked (" + what + ")"; told {
				s += ":" + why
			}
			return s
		}
		if e.Outcome == runner.OutcomeLimited {
			return "parked " + s
		}
		return s
	case runner.OutcomeCancelled:
		return "interrupted, resumable"
	case runner.OutcomeError:
		s = "could not run"
	case runner.OutcomeUnstarted:
		s = "the agent could not be started"
	default:
		s = fmt.Sprintf("failed attempt %d", e.Attempt)
	}
	if e.Reason != "" {
		s += ": " + e.Reason
	}
	return s + firstWords(e, e.Reason) + lastWords(e)
}

// firstWords returns the first finding of a failure, unless the text has its message.
func firstWords(e runner.Event, text string) string {
	f, ok := firstFinding(e.Reports)
	if !ok || strings.Contains(text, f.Message) {
		return ""
	}
	return " - " + strings.TrimSpace(place(f)+" "+ui.Sanitize(f.Message))
}

// maxLastWords limits the displayed part of an agent's last line.
const maxLastWords = 160

// lastWords returns the last line that an agent printed before it failed. Often only this line has the cause, such
// as a missing sign-in or program.
func lastWords(e runner.Event) string {
	if e.Kind != runner.Executed || len(e.Reports) == 0 || e.Reports[0].Gate != "agent" {
		return ""
	}
	var last string
	for line := range strings.Lines(e.Reports[0].Output) {
		if line = strings.TrimSpace(ui.Sanitize(line)); line != "" {
			last = line
		}
	}
	if last == "" || strings.Contains(e.Reason, last) {
		return ""
	}
	return "; its last output: " + ui.Cut(last, maxLastWords, "…")
}

// firstFinding returns the first finding of a failed gate, errors before the rest.
func firstFinding(reports []gates.Report) (gates.Finding, bool) {
	for _, only := range []bool{true, false} {
		for _, r := range reports {
			if r.Status != gates.Fail {
				continue
			}
			for _, f := range r.Findings {
				if !only || f.Severity == gates.Error {
					return f, f.Message != ""
				}
			}
		}
	}
	return gates.Finding{}, false
}
