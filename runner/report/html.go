package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/runner"
)

// page is a variable because embed knows no constants, as are those below.
//
//go:embed page.html
var page string

// style is that of all pages.
//
//go:embed page.css
var style string

//go:embed timeline.css
var timelineStyle string

// writePage writes v with the template of a page, with the style in it. what names the page in errors.
func writePage(to io.Writer, text, what string, v any) error {
	t := template.Must(template.New("report").Parse(text))
	template.Must(t.New("style").Parse(style))
	if err := t.Execute(to, v); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// view is the data of page.html. All strings are clean; html/template escapes them.
type view struct {
	Face
	Title, Reason   string
	About           []string
	Tiles           []tile
	Facts           []fact
	Graph, Timeline template.HTML
	Tournaments     []tournament
	Skipped         []string
	Batches         []batchView
	Totals          string
	Troubles        []troubles
	OutsideChanges  []outsideChange
	Asked           []fact // items that wait for a person
	Review          string
	Passes          []fact // of the final review
	Promises        []promise
	Receipts        []fact
	FewReceipts     bool
	Steps           []nextStep
}

type tile struct{ Name, Value, Note, Tone string }

type batchView struct {
	Face
	Anchor, Number, Title            string
	Tries, Tier, Agent, Time, Waited string
	Tests, Commit, Cost              string
	Reason                           string
	Gates                            []gateView
	Troubled                         bool
}

type gateView struct {
	Icon, Text, Tip string
	Tone            ui.Tone
	Skipped         bool
}

// troubles are a batch with its failed attempts.
type troubles struct {
	Batch    batchView
	Failures []failure
}

// WriteHTML writes the report of a run as one self-contained page. past may be nil; with it, the page shows the
// failures during the run.
func WriteHTML(to io.Writer, s runner.Summary, past *Past) error {
	return writePage(to, page, "report of run "+s.Run, viewOf(s, past))
}

func viewOf(s runner.Summary, past *Past) view {
	f, o := figuresOf(s), OutcomeOf(s)
	v := view{
		Face: o, Title: titleOf(s), Reason: ui.Sanitize(s.Reason), About: about(s, decisionOf(s)),
		Tiles: tiles(s, f, past.waited("")), Facts: facts(s, f), Totals: totals(s),
		Steps: nextSteps(s),
	}
	if len(s.Batches) > 0 {
		v.Graph = template.HTML(SVG(s)) // SVG escapes its input
	}
	v.Timeline = template.HTML(Timeline(s, past)) // so does Timeline
	v.Tournaments, v.Skipped = tournaments(s), gateNotes(s)
	for i, x := range s.Batches {
		b := batchOf(s, x, i)
		b.Waited = past.waited(x.Key)
		if list := failures(x, past.of(x.Key)); len(list) > 0 {
			b.Troubled = true
			v.Troubles = append(v.Troubles, troubles{b, list})
		}
		v.Batches = append(v.Batches, b)
		if x.Receipt != "" {
			v.Receipts = append(v.Receipts, fact{b.Number + " " + b.Title, ui.Sanitize(x.Receipt)})
		}
	}
	v.OutsideChanges, v.Promises = outsideChanges(s, past), promises(s)
	for _, w := range s.Waiting {
		v.Asked = append(v.Asked, fact{"runplan approve " + ui.Sanitize(w.ID), ui.Sanitize(w.Question)})
	}
	if s.Review != nil {
		v.Review = finalReview(s)
		for _, p := range s.Review.Passes {
			name, status, _ := strings.Cut(ui.Sanitize(p), ": ")
			v.Passes = append(v.Passes, fact{name, status})
		}
	}
	v.FewReceipts = len(v.Receipts) <= 12
	return v
}

func tiles(s runner.Summary, f figures, waited string) []tile {
	out := []tile{{"merged", fmt.Sprintf("%d of %d", f.Merged, f.total), "", string(ui.Idle)}}
	t := &out[0]
	if f.Merged > 0 && f.Merged+f.Skipped == f.total {
		t.Tone = string(ui.Good)
	}
	if f.Skipped > 0 {
		t.Note = fmt.Sprintf("%d skipped", f.Skipped)
	}
	if f.Failed > 0 {
		out = append(out, tile{"failed", fmt.Sprint(f.Failed), "", string(ui.Bad)})
	}
	if n := f.Waiting + f.Working; n > 0 {
		out = append(out, tile{"to go", fmt.Sprint(n), "", string(ui.Idle)})
	}
	out = append(out, tile{"wall time", ui.Duration(millis(s.DurationMS)), waited, string(ui.Idle)})
	cost := tile{"cost", f.money(), "", string(ui.Idle)}
	if what := f.unknown(); f.priced > 0 && what != "" {
		cost.Value, cost.Note = "≥ "+phrase.Money(f.cost), "unknown for "+what
	}
	out = append(out, cost)
	if f.after != nil {
		n := tile{"tests", fmt.Sprint(*f.after), "", string(ui.Idle)}
		if f.before != nil {
			n.Note = fmt.Sprintf("%+d", *f.after-*f.before)
		}
		out = append(out, n)
	}
	return append(out, tile{"attempts", fmt.Sprint(f.attempts), "", string(ui.Idle)})
}

func batchOf(s runner.Summary, x runner.BatchSummary, i int) batchView {
	c, f := statusRow(Standing{Summary: s}, x, ui.Style{}), faceOf(s, x)
	b := batchView{
		Face: f, Anchor: fmt.Sprintf("batch-%d", i+1), Number: c[0], Title: c[1],
		Tries: c[3], Agent: c[4], Tier: c[5], Time: c[6], Tests: c[7], Commit: c[8], Cost: c[9],
	}
	if f.Tone != ui.Good {
		b.Reason = ui.Sanitize(x.Reason)
		if need := due(s, x); b.Reason == "" && len(need) > 0 {
			b.Reason = "after " + strings.Join(need, ", ")
		}
	}
	b.Gates = gateViews(x)
	return b
}

// gateViews lists the gates of a batch, those that simply passed as one.
func gateViews(x runner.BatchSummary) []gateView {
	var out []gateView
	add := func(t ui.Tone, text, tip string, skipped bool) {
		out = append(out, gateView{ui.Style{}.Icon(t), text, tip, t, skipped})
	}
	apart, passed := telling(x.Gates)
	before := suiteBefore(x.Gates, x.TestsBefore)
	if len(passed) > 0 {
		add(ui.Good, fmt.Sprintf("%d checks", len(passed)), strings.Join(passed, ", "), false)
	}
	for _, g := range apart {
		text := ui.Sanitize(g.Gate)
		if n := testCount(g.Tests, before); n != "" {
			text += " " + n
		}
		skipped := g.Status == gates.Skipped
		if skipped {
			text += " skipped"
		}
		add(toneOf(g.Status), text, gateText(g, before), skipped)
	}
	return out
}
