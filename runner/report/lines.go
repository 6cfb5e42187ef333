package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/cells"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/runner"
)

// Line is one line of a run's log for people.
type Line struct {
	Tone ui.Tone
	Text string // clean and without a newline
}

// maxLine is the maximum length of a line in cells. The report has the full text.
const maxLine = 300

// Printer turns the events of one run into lines, one event at a time. The zero Printer is ready to use.
type Printer struct {
	Zone  *time.Location // time zone of printed times; nil is UTC
	Brief bool           // another part prints why a run ended badly
	Board bool           // a board shows the counts of the end
	watch Watch
	told  map[string]bool   // texts printed in this session, to print them only once
	tiers map[string]string // tier of each batch's last attempt
	again map[string]string // base and reason of the next attempt of a batch
	last  map[string]string // the last line about a batch
}

// Standing returns the run as of the last event seen.
func (p *Printer) Standing() Standing {
	p.watch.Zone = p.Zone
	return p.watch.Standing()
}

// Lines applies e and returns its lines. Many events have no lines.
func (p *Printer) Lines(e runner.Event) []Line {
	if e.Kind == runner.RunStarted && e.Job == nil {
		return nil // without its job, the run is unknown
	}
	if p.told == nil {
		p.told, p.tiers, p.again, p.last = map[string]bool{}, map[string]string{}, map[string]string{}, map[string]string{}
	}
	// An error means that the events are not those of one run; print what is possible.
	_ = p.watch.Apply(e)
	var out []Line
	say := func(t ui.Tone, format string, args ...any) {
		out = append(out, Line{t, ui.Brief(fmt.Sprintf(format, args...), maxLine)})
	}
	switch e.Kind {
	case runner.RunStarted:
		say(ui.Idle, "%s", opening(p.watch.info))
		p.omitted(say)
	case runner.RunResumed:
		clear(p.told) // an interrupted attempt begins again
		for _, b := range p.watch.info.Batches {
			p.told["skip "+b.Key] = b.Skip != ""
		}
		say(ui.Idle, "resumed at %s: %s", short(e.Commit), figuresOf(p.watch.fold.Summary()).counts())
	case runner.PlanChanged:
		for _, r := range e.Reports {
			say(ui.Warn, "the plan was changed, and that was accepted: %s", r.Note)
		}
	case runner.RunFinished:
		out = append(out, p.ending(e)...)
	case runner.Discarded, runner.Undone:
		say(ui.Warn, "%s", e.Reason)
	case runner.StopAsked:
		say(ui.Warn, "stopping: %s", cmp.Or(e.Reason, stopWord(e.Outcome)))
	case runner.Landed:
		p.landed(e, say)
	case runner.ApprovalAsked, runner.ApprovalGiven, runner.ApprovalDenied:
		whose := "landing"
		if e.Batch != "" {
			whose = p.name(e.Batch, e.Title)
		}
		approval(e, whose, say)
	case runner.Note:
		if !p.once("note " + e.Reason) {
			break
		}
		switch {
		case strings.HasPrefix(e.Reason, runner.FallbackNote):
			say(ui.Warn, "%s", e.Reason)
		case e.Batch == "":
			say(ui.Muted, "note: %s", e.Reason)
		default:
			say(ui.Muted, "%s: note: %s", p.name(e.Batch, e.Title), e.Reason)
		}
	default:
		if e.Batch != "" {
			out = append(out, p.batch(e)...)
		} else if e.Kind == runner.Reviewed {
			p.reviewed(e, "final review", say)
		} else if e.Kind == runner.Waited && e.Outcome == runner.OutcomeOK {
			say(ui.Idle, "continues, the limit of %s has ended", e.Agent)
		}
	}
	if s := p.Standing(); s.Status == runner.RunPaused && p.once("paused "+s.Until.String()) {
		say(ui.Warn, "paused %s; runplan cancel %s ends the wait", s.why(), runID(e.Run))
	}
	return out
}

// omitted tells which batches the run leaves out, those with the same reason together.
func (p *Printer) omitted(say say) {
	of := map[string][]string{} // numbers by reason
	for _, b := range p.watch.info.Batches {
		if b.Skip != "" {
			p.told["skip "+b.Key] = true
			of[b.Skip] = append(of[b.Skip], ui.Sanitize(b.Number))
		}
	}
	for _, b := range p.watch.info.Batches {
		switch numbers := of[b.Skip]; len(numbers) {
		case 0: // it runs, or was reported
		case 1:
			say(ui.Muted, "%s: %s", p.name(b.Key, b.Title), skipping(b.Skip))
		default:
			say(ui.Muted, "%s: %s", batches(numbers), skipping(b.Skip))
		}
		delete(of, b.Skip)
	}
}

// once reports whether this is the first call with what.
func (p *Printer) once(what string) bool {
	known := p.told[what]
	p.told[what] = true
	return !known
}

func opening(j runner.Info) string {
	s := fmt.Sprintf("runplan: %s — %s, agent %s", j.Plan, phrase.Count(len(j.Batches), "batch"),
		agentName(j.Agent, j.Model))
	if j.Mode != "" {
		s += ", " + j.Mode
	}
	if j.Workers > 1 {
		s += fmt.Sprintf(", %d at a time", j.Workers)
	}
	s += fmt.Sprintf("; branch %s from %s", j.Branch, short(j.Base))
	if j.BaseBranch != "" {
		s += " (" + j.BaseBranch + ")"
	}
	return s
}

func (p *Printer) ending(e runner.Event) []Line {
	s := p.watch.fold.Summary()
	f := figuresOf(s)
	o := OutcomeOf(s)
	text := fmt.Sprintf("%s: %s in %s", o.Word, f.counts(), ui.Duration(millis(s.DurationMS)))
	if f.priced+f.unpriced > 0 {
		text += ", " + f.costWords()
	}
	out := []Line{{o.Tone, text}}
	if p.Board {
		out = nil
	}
	if real := realSpeedUp(s); real > 0 {
		out = append(out, Line{ui.Idle, fmt.Sprintf("speed-up %s: %s of work in %s, predicted %s",
			times(real), ui.Duration(millis(worked(s))), ui.Duration(millis(s.DurationMS)), times(s.SpeedUp))})
	}
	if skipped := skippedGates(s); len(skipped) > 0 {
		out = append(out, Line{ui.Muted, "gates skipped: " + strings.Join(skipped, " · ")})
	}
	if e.Reason != "" && e.Reason != stopWord(e.Outcome) && (!p.Brief || e.Outcome == runner.OutcomeOK) {
		out = append(out, Line{o.Tone, cells.Cut("reason: "+ui.Sanitize(e.Reason), maxLine, "…")})
	}
	return out
}

func (p *Printer) landed(e runner.Event, say say) {
	switch {
	case e.Outcome == runner.OutcomeCancelled:
	case e.Outcome != runner.OutcomeOK:
		say(ui.Bad, "not landed: %s; the run branch keeps the work", cmp.Or(e.Reason, string(e.Outcome)))
	case p.watch.info.Land == "pr": // the branch changes only when the pull request merges
		said := cmp.Or(e.Reason, "a pull request was opened")
		if strings.Contains(said, "://") {
			said = "pull request: " + said
		}
		say(ui.Good, "%s", said)
	default:
		say(ui.Good, "landed %s on %s", short(e.Commit), cmp.Or(p.watch.info.BaseBranch, "the base branch"))
	}
}

func (p *Printer) batch(e runner.Event) []Line {
	var out []Line
	name := p.name(e.Batch, e.Title)
	say := func(t ui.Tone, format string, args ...any) {
		text := ui.Sanitize(name + ": " + fmt.Sprintf(format, args...))
		p.last[e.Batch] = text
		out = append(out, Line{t, cells.Cut(text, maxLine, "…")})
	}
	b := p.find(e.Batch)
	switch e.Kind {
	case runner.BatchStarted:
		// The next dispatched event has more details.
	case runner.Dispatched:
		p.dispatched(e, b, say)
	case runner.Withdrawn:
		p.withdrawn(e, b, say)
	case runner.BatchPutBack:
		p.putBack(e, say)
	case runner.BatchSkipped:
		if p.once("skip " + e.Batch) {
			say(ui.Muted, "%s", skipping(e.Reason))
		}
	case runner.BatchFailed:
		why := ""
		if !strings.Contains(p.last[e.Batch], ui.Sanitize(e.Reason)) { // the previous line says it
			why = ": " + e.Reason
		}
		say(ui.Bad, "gave up after %s%s", phrase.Count(max(e.Attempt, b.Attempts), "attempt"), why)
	case runner.Reopened:
		say(ui.Warn, "due again: %s", e.Reason)
	case runner.Sampled, runner.Judged:
		p.tournament(e, say)
	case runner.Executed:
		if e.Candidate > 0 {
			p.candidate(e, say)
		} else if e.Outcome == runner.OutcomeOK {
			say(ui.Idle, "%s", edited(e))
		} else {
			say(trouble(e.Outcome), "%s", p.wentWrong(e))
		}
	case runner.Waited:
		if e.Outcome == runner.OutcomeOK {
			say(ui.Idle, "continues, the limit has ended")
		}
	case runner.Rebased:
		p.rebased(e, say)
	case runner.Tried:
		p.tried(e, say)
	case runner.Gated:
		p.gated(e, b, say)
	case runner.Reviewed:
		p.reviewed(e, "review", say)
	case runner.Committed:
		switch e.Outcome {
		case runner.OutcomeOK:
		case runner.OutcomeChanged:
			say(ui.Warn, "a hook of the repository changed the tree, so the gates run again")
		default:
			say(trouble(e.Outcome), "%s", p.wentWrong(e))
		}
	case runner.Merged:
		switch e.Outcome {
		case runner.OutcomeOK:
			how := "merged %s in %s"
			if len(b.Candidates) > 0 { // the candidates ran concurrently
				how = "merged %s after %s of work"
			}
			if e.Commit != "" && e.Commit == e.Base {
				say(ui.Good, "passed without a commit: %s already has its result", short(e.Base))
				break
			}
			say(ui.Good, how, short(e.Commit), ui.Duration(millis(b.DurationMS)))
		case runner.OutcomeMoved:
			say(ui.Muted, "the run branch has moved, landing again")
		default:
			say(trouble(e.Outcome), "%s", p.wentWrong(e))
		}
	}
	return out
}

// edited formats the duration, agent and cost of an attempt.
func edited(e runner.Event) string {
	s := "edited in " + ui.Duration(millis(e.DurationMS))
	if a := agentName(e.Agent, e.Model); a != "" {
		s += " by " + a
	}
	if e.Usage != nil && e.Usage.CostUSD != nil {
		return s + ", " + phrase.Money(*e.Usage.CostUSD)
	}
	return s + ", cost unknown"
}

// gateLine formats the gate results. The end of the run lists the skipped ones, see [skippedGates].
func gateLine(reports []gates.Report, before *int) string {
	reports = slices.DeleteFunc(slices.Clone(reports), func(r gates.Report) bool { return r.Status == gates.Skipped })
	if len(reports) == 0 {
		return "all skipped"
	}
	var parts []string
	quiet := func(r gates.Report) bool { // a passed built-in check without details
		return r.Status == gates.Pass && r.Tests == nil && r.Command == "" && r.Note == "" && len(r.Findings) == 0
	}
	silent := lists.Count(reports, quiet)
	results := lists.Map(reports, resultOf)
	before = suiteBefore(results, before)
	for i, r := range reports {
		if silent > 1 && quiet(r) {
			continue
		}
		parts = append(parts, gateText(results[i], before))
	}
	if silent > 1 {
		parts = append(parts, fmt.Sprintf("%d checks pass", silent))
	}
	return strings.Join(parts, " · ")
}

func (p *Printer) find(key string) runner.BatchSummary {
	b := lists.First(p.watch.fold.Summary().Batches, func(b runner.BatchSummary) bool { return b.Key == key })
	b.Key = key
	return b
}

func (p *Printer) name(key, title string) string {
	b := p.find(key)
	b.Number = cmp.Or(b.Number, key)
	if b.Title != "" {
		title = b.Title
	}
	s := "batch " + ui.Sanitize(b.Number)
	if title = ui.Sanitize(title); title != "" {
		s += " (" + cells.Cut(title, 40, "…") + ")"
	}
	return s
}
