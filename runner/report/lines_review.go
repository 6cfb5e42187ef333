package report

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/runner"
)

// approval adds lines for a question to a person and for the answer.
func approval(e runner.Event, run string, say say) {
	id := run[:min(8, len(run))] + "/" + cmp.Or(e.Batch, runner.ApproveLand)
	switch e.Kind {
	case runner.ApprovalAsked:
		if e.Outcome == runner.OutcomeOK {
			say(ui.Warn, "waits for a person, %s: runplan approve %s", e.Reason, id)
		}
	case runner.ApprovalGiven:
		say(ui.Good, "approved by %s%s", cmp.Or(e.By, "somebody"), phrase.After(e.Reason))
	case runner.ApprovalDenied:
		say(ui.Bad, "denied by %s%s", cmp.Or(e.By, "somebody"), phrase.After(e.Reason))
	}
}

// reviewed adds a line for the result of a review. It reports a skipped review only once.
func (p *Printer) reviewed(e runner.Event, what string, say say) {
	if runner.KindOf(e.Command) == runner.Fidelity {
		what = "fidelity"
	}
	switch e.Outcome {
	case runner.OutcomeSkipped:
		if p.once("skipped " + what + e.Reason) {
			say(ui.Muted, "%s  skipped, %s", what, cmp.Or(e.Reason, "no review"))
		}
	case runner.OutcomeOK:
		say(verdictTone(e.Review), "%s  %s%s", what, cmp.Or(reviewText(e.Review), "pass"), fidelityText(e))
	case runner.OutcomeUndecided:
		say(ui.Warn, "%s  %s: %s", what, reviewText(e.Review), e.Reason)
	case runner.OutcomeShallow:
		say(ui.Bad, "%s  %s; a small fix will do: %s", what, reviewText(e.Review), e.Reason)
	case runner.OutcomeComplex:
		say(ui.Bad, "%s  %s; it needs another design: %s", what, reviewText(e.Review), e.Reason)
	default:
		say(trouble(e.Outcome), "%s  %s", what, p.wentWrong(e))
	}
}

// fidelityText returns the result of a blueprint review, or why none was held.
func fidelityText(e runner.Event) string {
	if runner.KindOf(e.Command) != runner.Fidelity || e.Reason == "" {
		return ""
	}
	return ": " + ui.Sanitize(e.Reason)
}

// verdictTone returns the tone of a review. A merged batch may have any verdict.
func verdictTone(r *runner.ReviewInfo) ui.Tone {
	if r == nil || r.Verdict == runner.VerdictPass {
		return ui.Good
	}
	return ui.Warn
}

// reviewText formats a review in a few words.
func reviewText(r *runner.ReviewInfo) string {
	if r == nil {
		return ""
	}
	text := ui.Sanitize(r.Verdict)
	if r.Confidence != nil {
		text += fmt.Sprintf(", %d %% sure", *r.Confidence)
	}
	if len(r.Reviewers) > 0 {
		text += ", by " + ui.Sanitize(strings.Join(r.Reviewers, ", "))
	} else if r.Confidence != nil {
		text += ", by programs only"
	}
	return text
}

// noReview replaces a missing review (REV-10).
const noReview = "(review gate not available)"

// finalReview returns the text of the final review, or that there was none.
func finalReview(s runner.Summary) string {
	if s.Review == nil {
		return noReview
	}
	text := reviewText(s.Review)
	if s.Review.Note != "" {
		text += ": " + ui.Sanitize(s.Review.Note)
	}
	return text
}

// reviews writes the passes of the final review and the open questions to a person.
func reviews(b *strings.Builder, s runner.Summary) {
	if len(s.Waiting) > 0 {
		b.WriteString("\n## Waiting for a person\n\n")
		for _, w := range s.Waiting {
			what := "the landing"
			if w.Batch != "" {
				what = "batch " + w.Number
			}
			fmt.Fprintf(b, "- %s: %s (%s)\n", md(what), md(w.Question), code("runplan approve "+w.ID))
		}
	}
	fidelity(b, s)
	if s.Review == nil {
		return
	}
	fmt.Fprintf(b, "\n## Final review\n\n%s\n\n", md(finalReview(s)))
	b.WriteString("| pass | status |\n|---|---|\n")
	for _, p := range s.Review.Passes {
		name, status, _ := strings.Cut(p, ": ")
		fmt.Fprintf(b, "| %s | %s |\n", md(name), md(status))
	}
	if s.Review.File != "" {
		fmt.Fprintf(b, "\nAll of it: %s\n", code(s.Review.File))
	}
}

// fidelity writes the results of blueprint reviews, with their open questions.
func fidelity(b *strings.Builder, s runner.Summary) {
	head := "\n## Blueprints\n\n"
	for _, x := range s.Batches {
		if x.Fidelity == nil {
			continue
		}
		b.WriteString(head)
		head = ""
		for _, p := range x.Fidelity.Passes {
			fmt.Fprintf(b, "- batch %s: %s\n", md(x.Number), md(p))
		}
		for _, q := range x.Fidelity.Questions {
			fmt.Fprintf(b, "  - open question: %s\n", md(q))
		}
		if x.Fidelity.File != "" {
			fmt.Fprintf(b, "  - all of it: %s\n", code(x.Fidelity.File))
		}
	}
}
