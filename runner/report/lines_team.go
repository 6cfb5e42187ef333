package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/routing"
	"github.com/runplan/runplan/runner"
)

// say adds a line about a batch.
type say func(t ui.Tone, format string, args ...any)

// dispatched adds a line when an agent starts. Steps of the merge queue get a line only if they are unusual.
func (p *Printer) dispatched(e runner.Event, b runner.BatchSummary, say say) {
	kind := runner.KindOf(e.Command)
	var how []string
	if old := p.tiers[e.Batch]; e.Tier != "" {
		if old != "" && old != e.Tier {
			words := "escalated %s → %s"
			if below(e.Tier, old) {
				words = "back from %s to %s" // a new allowance of attempts begins at the routed tier
			}
			how = append(how, fmt.Sprintf(words, labelOf(p.watch.info, e.Batch, old), labelOf(p.watch.info, e.Batch, e.Tier)))
		}
		p.tiers[e.Batch] = e.Tier
	}
	n := max(e.Attempt, 1)
	switch {
	case kind == runner.Sample && len(how) > 0:
		say(ui.Busy, "%s", how[0])
	case kind == runner.Gate && !competing(b):
		p.told[fmt.Sprintf("checked %s %d", e.Batch, n)] = true
	case kind == runner.Rebase:
		// The first rebase is normal; only a repeated one is reported.
		if p.told[fmt.Sprintf("checked %s %d", e.Batch, n)] && p.once(fmt.Sprintf("moved %s %d %s", e.Batch, n, e.Base)) {
			say(ui.Muted, "the candidates ahead of it changed, so it is rebased and checked again")
		}
	case kind == runner.Execute && e.Reason != "":
		whose := fmt.Sprintf("attempt %d", n)
		if c := runner.CandidateOf(e.Command); competing(b) && c > 0 {
			whose = fmt.Sprintf("candidate %d", c)
		}
		if p.once(fmt.Sprintf("attempt %s", e.Command)) {
			say(ui.Busy, "%s continues with %s: %s", whose, e.Agent, e.Reason)
		}
	case kind == runner.Execute && !competing(b) && p.once(fmt.Sprintf("attempt %s %d", e.Batch, n)):
		if why := p.again[e.Batch]; why != "" {
			how = append(how, why)
			delete(p.again, e.Batch)
		}
		if on := p.Standing().unmerged(e.On); len(on) > 0 {
			verb := "its gates run"
			if len(on) > 1 {
				verb = "their gates run"
			}
			how = append(how, fmt.Sprintf("starts on the candidate of %s while %s", batches(on), verb))
		}
		say(ui.Busy, "%s", strings.Join(append([]string{fmt.Sprintf("attempt %d", n)}, how...), ", "))
	}
}

// competing reports whether a tournament is running for a batch.
func competing(b runner.BatchSummary) bool {
	return b.State == string(runner.StateSample) || b.State == string(runner.StateSynthesize)
}

// withdrawn adds a line about cancelled work. It ignores cancelled checks, which start again with their own line.
func (p *Printer) withdrawn(e runner.Event, b runner.BatchSummary, say say) {
	switch {
	case competing(b):
		if n := runner.CandidateOf(e.Command); n > 0 && p.once(fmt.Sprintf("off %s %d %d", e.Batch, e.Attempt, n)) {
			say(ui.Muted, "candidate %d is cancelled: another candidate has passed", n)
		}
	case runner.KindOf(e.Command) == runner.Execute || b.State == string(runner.Waiting):
		p.putBack(e, say)
	}
}

// putBack adds a line, once per attempt, for a batch whose base is gone.
func (p *Printer) putBack(e runner.Event, say say) {
	if !p.once(fmt.Sprintf("back %s %d", e.Batch, e.Attempt)) {
		return
	}
	why := "its base no longer exists"
	if on := p.Standing().unmerged(e.On); len(on) > 0 {
		why = fmt.Sprintf("the candidate of %s failed", batches(on))
	}
	say(ui.Warn, "cancelled and withdrawn: %s", why)
}

func (p *Printer) rebased(e runner.Event, say say) {
	switch e.Outcome {
	case runner.OutcomeOK:
		if e.Reason != "" && p.once("rebased "+e.Batch+e.Base) {
			say(ui.Warn, "%s", e.Reason)
		}
	case runner.OutcomeConflict:
		p.again[e.Batch] = "rebuilt on top of the changes that it conflicts with"
		say(ui.Warn, "%s", cmp.Or(e.Reason, "conflicts with candidates ahead of it"))
	default:
		say(trouble(e.Outcome), "%s", p.wentWrong(e))
	}
}

func (p *Printer) gated(e runner.Event, b runner.BatchSummary, say say) {
	if e.Candidate > 0 {
		if e.Outcome != runner.OutcomeOK { // passed candidates are shown with their scores
			p.candidate(e, say)
		}
		return
	}
	delete(p.again, e.Batch)
	if len(e.Reports) > 0 {
		say(ui.Idle, "gates  %s", gateLine(e.Reports, b.TestsBefore))
		for _, r := range e.Reports {
			// Findings of the base are in every batch's reports; once is enough.
			r.Findings = slices.DeleteFunc(slices.Clone(r.Findings), func(f gates.Finding) bool {
				return f.Known && !p.once("known "+f.Identity(r.Gate))
			})
			for _, said := range saidOf(r) {
				say(ui.Warn, "%s: %s", r.Gate, said)
			}
			// The line of the attempt has the reason of one gate.
			if f, ok := firstFinding([]gates.Report{r}); ok && !says(firstReason(e), f) {
				say(ui.Bad, "%s: %s", r.Gate, strings.TrimSpace(place(f)+" "+f.Message))
			}
		}
	}
	if e.Outcome == runner.OutcomeOK {
		return
	}
	on, moved := p.below(e.Batch)
	switch {
	case e.Outcome == runner.OutcomeFailed && len(on) > 0:
		p.again[e.Batch] = "rebuilt on top of the changes that it failed with"
		say(ui.Warn, "red on top of %s; judged again when that work is done: %s", batches(on), firstReason(e))
	case e.Outcome == runner.OutcomeFailed && moved:
		p.again[e.Batch] = "rebuilt on top of the changes that it failed with"
		say(ui.Warn, "failed on top of changes merged meanwhile: %s", firstReason(e))
	default:
		say(trouble(e.Outcome), "%s", p.wentWrong(e))
	}
}

// tried adds a line about the cause of a red candidate.
func (p *Printer) tried(e runner.Event, say say) {
	switch e.Outcome {
	case runner.OutcomeOK:
		p.again[e.Batch] = "rebuilt on top of the changes that it failed with"
		say(ui.Warn, "passed without the changes merged meanwhile: the two conflict")
	case runner.OutcomeFailed:
		delete(p.again, e.Batch)
		say(ui.Bad, "failed without the changes merged meanwhile too, so the failure is its own: %s", firstReason(e))
	default:
		say(trouble(e.Outcome), "%s", p.wentWrong(e))
	}
}

// below returns the unmerged batches below a batch's last checked candidate. moved means that the candidate has
// another base than its agent had.
func (p *Printer) below(key string) (on []string, moved bool) {
	pulse := p.watch.pulses[key]
	if pulse == nil {
		return nil, false
	}
	return p.Standing().unmerged(pulse.asked.On), pulse.moved
}

func (p *Printer) candidate(e runner.Event, say say) {
	name := candidateName(e.Candidate, e.Variant)
	switch e.Outcome {
	case runner.OutcomeOK:
		say(ui.Idle, "%s: %s", name, edited(e))
	case runner.OutcomeFailed, runner.OutcomeUnchanged, runner.OutcomeTimedOut:
		say(ui.Bad, "%s failed: %s", name, firstReason(e))
	default:
		say(trouble(e.Outcome), "%s: %s", name, p.wentWrong(e))
	}
}

func (p *Printer) tournament(e runner.Event, say say) {
	if e.Kind == runner.Sampled {
		switch {
		case e.Outcome == runner.OutcomeOK:
			say(ui.Busy, "attempt %d, %s compete (%s)", max(e.Attempt, 1), phrase.Count(len(e.Slots), "candidate"),
				cmp.Or(e.Reason, "no reason given"))
		case e.Outcome == runner.OutcomeFailed:
			say(ui.Bad, "%s", cmp.Or(e.Reason, "no further attempt could help"))
		case e.Reason != "":
			say(ui.Muted, "%s", e.Reason)
		}
		return
	}
	passed := false
	for _, s := range e.Scores {
		passed = passed || s.Passed
		name := candidateName(s.Candidate, s.Variant)
		switch {
		case !p.once(fmt.Sprintf("score %s %d %d", e.Batch, e.Attempt, s.Candidate)):
		case s.Void != "":
			say(ui.Muted, "%s has no verdict: %s", name, s.Void)
		case s.Passed:
			say(ui.Idle, "%s passes: %s", name, scoreText(s.Score, s.Terms))
		}
	}
	switch {
	case e.Outcome == runner.OutcomeOK:
		say(ui.Good, "candidate %d wins: %s", e.Candidate, e.Reason)
	case e.Outcome == runner.OutcomeUndecided && passed:
		say(ui.Idle, "no clear winner, so a synthesis is made: %s", e.Reason)
	case e.Outcome == runner.OutcomeUndecided:
		say(ui.Warn, "no candidate passes, so a synthesis is made: %s", e.Reason)
	case e.Outcome == runner.OutcomeFailed:
		say(ui.Bad, "failed attempt %d: %s", e.Attempt, e.Reason)
	default:
		say(trouble(e.Outcome), "%s", p.wentWrong(e))
	}
}

func candidateName(n int, variant string) string {
	s := fmt.Sprintf("candidate %d", n)
	if variant = ui.Sanitize(variant); variant != "" {
		s += " (" + variant + ")"
	}
	return s
}

func firstReason(e runner.Event) string {
	s := cmp.Or(ui.Sanitize(e.Reason), strings.ReplaceAll(string(e.Outcome), "_", " "))
	return s + firstWords(e, s) + lastWords(e)
}

func below(tier, other string) bool {
	for next, ok := routing.NextTier(tier); ok; next, ok = routing.NextTier(next) {
		if next == other {
			return true
		}
	}
	return false
}

// batches formats batch numbers: "batch 3", "batches 3 and 4".
func batches(numbers []string) string {
	switch n := len(numbers); n {
	case 0:
		return ""
	case 1:
		return "batch " + numbers[0]
	default:
		return "batches " + strings.Join(numbers[:n-1], ", ") + " and " + numbers[n-1]
	}
}

// labelOf returns the display name of a tier. It uses the short model name if the configuration does.
func labelOf(info runner.Info, key, tier string) string {
	i := slices.IndexFunc(info.Batches, func(b runner.BatchInfo) bool { return b.Key == key })
	if i >= 0 && info.Batches[i].Label != "" && info.Batches[i].Label != info.Batches[i].Tier {
		return routing.Alias(tier)
	}
	return tier
}

// approval adds lines for a question to a person and for the answer.
func approval(e runner.Event, whose string, say say) {
	switch e.Kind {
	case runner.ApprovalAsked:
		if e.Outcome == runner.OutcomeOK {
			say(ui.Warn, "%s: waits for a person, %s: runplan approve %s/%s", whose, e.Reason, e.Run[:min(8, len(e.Run))],
				cmp.Or(e.Batch, runner.ApproveLand))
		}
	case runner.ApprovalGiven:
		say(ui.Good, "%s: approved by %s%s", whose, cmp.Or(e.By, "somebody"), phrase.After(e.Reason))
	case runner.ApprovalDenied:
		say(ui.Bad, "%s: denied by %s%s", whose, cmp.Or(e.By, "somebody"), phrase.After(e.Reason))
	}
}

// reviewed adds a line for the result of a review. It reports a skipped review only once.
func (p *Printer) reviewed(e runner.Event, what string, say say) {
	after := ""
	if runner.KindOf(e.Command) == runner.Fidelity {
		what, after = "fidelity", phrase.After(ui.Sanitize(e.Reason))
	}
	switch e.Outcome {
	case runner.OutcomeSkipped:
		if p.once("skipped " + what + e.Reason) {
			say(ui.Muted, "%s  skipped, %s", what, cmp.Or(e.Reason, "no review"))
		}
	case runner.OutcomeOK:
		tone := ui.Good
		if e.Review != nil && e.Review.Verdict != runner.VerdictPass { // a merged batch may have any verdict
			tone = ui.Warn
		}
		say(tone, "%s  %s%s", what, cmp.Or(reviewText(e.Review), "pass"), after)
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
