package page

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/internal/web"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/ledger"
	"github.com/runplan/runplan/runner/local"
	"github.com/runplan/runplan/runner/report"
)

// batchView is a batch, with one of its attempts.
type batchView struct {
	Run, RunTitle, Key, Number, Title string
	Row                               row
	Reason                            string
	Needs                             []needed
	Facts                             []fact
	Tries                             []try
	At                                *try
	Gates                             []gateView
	Passed                            []string // gates of the attempt that had nothing to say
	Brief                             string
	BriefCut                          bool
	Log                               []chunk
	LogSkipped                        string
	LogNote                           string
	Working                           bool
	Diff                              diff
	Receipt                           *local.Receipt
	ReceiptFile, ReceiptNote          string
}

type needed struct{ Number, Title, Href, Word string }

type fact struct{ Name, Value string }

// try is an attempt at a batch, or a candidate of a tournament.
type try struct {
	Name, Href         string
	Word, Tone, Reason string
	On                 bool
	Agent, Model, Tier string
	Took, Cost, Tokens string
	Number, Candidate  int
	Variant            string
	Score              *int
	Terms              []runner.ScoreTerm
	Base, Commit, Log  string
	reports            []gates.Report
	durationMS         int64
	State              string
}

type gateView struct {
	Name, Word, Tone, Note, Command, Output, Log, Took string
	Findings                                           []gates.Finding
	More                                               int
}

// The bounds of what one page shows of an attempt.
const (
	maxTries    = 60
	maxBrief    = 96 << 10
	maxFindings = 200
	maxPatch    = 256 << 10
)

// tries reads the attempts of a batch from the journal.
func (s *site) tries(ctx context.Context, w *watch, key string) ([]try, []ledger.Line, error) {
	m := w.marks[key]
	if m == nil {
		return nil, nil, nil
	}
	var out []try
	var book ledger.Ledger
	at := func(e runner.Event, candidate int) *try {
		i := slices.IndexFunc(out, func(t try) bool { return t.Number == e.Attempt && t.Candidate == candidate })
		if i < 0 {
			out = append(out, try{Number: e.Attempt, Candidate: candidate, Word: "at work", Tone: "busy", Cost: none, Tokens: none})
			i = len(out) - 1
		}
		return &out[i]
	}
	cup := false
	for e, err := range local.Events(ctx, s.hub.journal, w.run, m.first) {
		if err != nil {
			return nil, nil, err
		}
		if e.Seq > m.last {
			break
		}
		if e.Batch != key {
			continue
		}
		book.Event(e)
		switch e.Kind {
		case runner.Sampled:
			cup = e.Outcome == runner.OutcomeOK
			for _, slot := range e.Slots {
				t := at(e, slot.Number)
				t.Variant, t.Word, t.Tone = slot.Variant, "waiting", "idle"
			}
		case runner.Judged:
			cup = e.Outcome == runner.OutcomeUndecided
			for _, score := range e.Scores {
				t := at(e, score.Candidate)
				t.scored(score, e)
			}
		case runner.Dispatched:
			if kindOf(e) == runner.Execute {
				n := 0
				if cup {
					n = candidateOf(e.Command)
				}
				at(e, n).begun(e, s.Layout, w.run)
			} else if t := at(e, e.Candidate); kindOf(e) == runner.Gate && t.Tone == "busy" {
				t.Word = "checking"
			}
		case runner.Reviewed:
			t := at(e, e.Candidate)
			t.reports = slices.Concat(t.reports, e.Reports) // beside what the gates said
			if e.Outcome == runner.OutcomeFailed || e.Outcome == runner.OutcomeShallow || e.Outcome == runner.OutcomeComplex {
				t.Word, t.Tone, t.Reason = "review: to be fixed", "bad", e.Reason
			}
		case runner.ApprovalDenied:
			if len(out) > 0 { // a person's word names no attempt; it is about the last one
				t := &out[len(out)-1]
				t.Word, t.Tone, t.Reason = "denied", "bad", e.By+": "+e.Reason
			}
		case runner.Executed, runner.Rebased, runner.Gated, runner.Committed, runner.Merged:
			at(e, e.Candidate).took(e)
		}
		if len(out) > maxTries {
			out = slices.Delete(out, 0, len(out)-maxTries)
		}
	}
	if w.ended {
		for i := range out {
			if out[i].Tone == "busy" {
				out[i].Word, out[i].Tone = "cut short", "warn"
			}
		}
	}
	return out, book.Lines, nil
}

func (t *try) begun(e runner.Event, layout local.Layout, run string) {
	t.Word, t.Tone, t.Base, t.Tier = "editing", "busy", e.Base, e.Tier
	t.Agent, t.Model = cmp.Or(e.Agent, t.Agent), cmp.Or(e.Model, t.Model)
	dir := layout.Rel(layout.Attempt(run, e.Batch, e.Attempt))
	if t.Candidate > 0 {
		dir += "/c" + strconv.Itoa(t.Candidate)
	}
	t.Log = dir + "/" + logName
}

// took takes up how far an attempt came.
func (t *try) took(e runner.Event) {
	t.durationMS += e.DurationMS
	t.Took = millis(t.durationMS)
	if e.Kind == runner.Executed {
		t.Agent, t.Model, t.Tier = e.Agent, e.Model, cmp.Or(e.Tier, t.Tier)
		t.Cost, t.Tokens = "unknown", "unknown"
		if u := e.Usage; u != nil {
			if u.CostUSD != nil {
				t.Cost = money(*u.CostUSD)
			}
			if u.InputTokens != nil && u.OutputTokens != nil {
				t.Tokens = tokens(*u.InputTokens) + " in, " + tokens(*u.OutputTokens) + " out"
			}
		}
		t.Log = cmp.Or(e.Log, t.Log)
	}
	t.Variant = cmp.Or(e.Variant, t.Variant)
	if e.Base != "" && e.Commit != "" {
		t.Base, t.Commit = e.Base, e.Commit
	}
	if len(e.Reports) > 0 {
		t.reports = e.Reports
	}
	switch e.Outcome {
	case runner.OutcomeOK:
		t.Word, t.Tone = map[runner.EventKind]string{runner.Executed: "edited", runner.Rebased: "rebased", runner.Gated: "checked", runner.Committed: "committed", runner.Merged: "merged"}[e.Kind], "busy"
		if e.Kind == runner.Merged || e.Kind == runner.Gated && t.Candidate > 0 {
			t.Tone = "good"
		}
	case runner.OutcomeMoved, runner.OutcomeChanged:
	case runner.OutcomeLimited, runner.OutcomeHuman, runner.OutcomeCancelled:
		t.Word, t.Tone, t.Reason = strings.ReplaceAll(string(e.Outcome), "_", " "), "warn", e.Reason
	default:
		t.Word, t.Tone, t.Reason = strings.ReplaceAll(string(e.Outcome), "_", " "), "bad", e.Reason
	}
}

func (t *try) scored(c runner.CandScore, e runner.Event) {
	t.Variant, t.Terms = cmp.Or(c.Variant, t.Variant), c.Terms
	score := c.Score
	t.Score = &score
	switch {
	case c.Void != "":
		t.Score, t.Word, t.Tone, t.Reason = nil, "no verdict", "muted", c.Void
	case e.Outcome == runner.OutcomeOK && e.Candidate == c.Candidate:
		t.Word, t.Tone = "won", "good"
	case c.Passed:
		t.Word, t.Tone = "passed", "good"
	default:
		t.Word, t.Tone = "failed", "bad"
	}
}

func (t try) name() string {
	n := fmt.Sprintf("attempt %d", t.Number)
	if t.Candidate > 0 {
		n += fmt.Sprintf(", candidate %d", t.Candidate)
	}
	return n
}

// find returns the place of a batch in the plan.
func find(sum runner.Summary, key string) int {
	return slices.IndexFunc(sum.Batches, func(b runner.BatchSummary) bool { return b.Key == key })
}

func (s *site) batchView(ctx context.Context, w *watch, key string, q url.Values) (batchView, error) {
	standing := w.printer.Standing()
	s.hub.standing(&standing.Summary)
	sum := standing.Summary
	i := find(sum, key)
	if i < 0 {
		return batchView{}, fmt.Errorf("the run has no batch %s", key)
	}
	b := sum.Batches[i]
	board := report.Board(standing, nil, s.Now())
	v := batchView{Run: w.run, RunTitle: cmp.Or(sum.Title, sum.Plan), Key: key, Number: b.Number, Title: b.Title, Row: rowOf(i, b, board.Rows[i]), Reason: b.Reason}
	for _, need := range b.Needs {
		if j := find(sum, need); j >= 0 {
			v.Needs = append(v.Needs, needed{sum.Batches[j].Number, sum.Batches[j].Title, "../" + batchHref(need), board.Rows[j].State})
		}
	}
	tries, lines, err := s.tries(ctx, w, key)
	if err != nil {
		return v, err
	}
	attempt, _ := strconv.Atoi(q.Get("a"))
	candidate, _ := strconv.Atoi(q.Get("c"))
	for n := range tries {
		t := &tries[n]
		t.Name = t.name()
		if t.Candidate == 0 && slices.ContainsFunc(tries, func(o try) bool { return o.Number == t.Number && o.Candidate > 0 }) {
			t.Name += ", landing of the winner"
		}
		t.Href = fmt.Sprintf("?a=%d", t.Number)
		if t.Candidate > 0 {
			t.Href += fmt.Sprintf("&c=%d", t.Candidate)
		}
		if attempt == 0 && n == len(tries)-1 || attempt == t.Number && candidate == t.Candidate {
			t.On, v.At = true, t
		}
	}
	v.Tries = tries
	v.facts(b, lines)
	if v.At != nil {
		v.gates(v.At.reports, s.Layout)
		s.texts(ctx, &v)
	}
	if v.At == nil || v.At.Tone == "good" || attempt == 0 {
		s.receipt(&v, b)
	}
	return v, nil
}

func (v *batchView) facts(b runner.BatchSummary, lines []ledger.Line) {
	var sp spending
	sp.add(lines)
	add := func(name, value string) {
		if value != "" {
			v.Facts = append(v.Facts, fact{name, value})
		}
	}
	add("kind of work", b.Class)
	add("model", strings.TrimSpace(b.Model+" "+orNothing("(", b.Tier, ")")))
	add("cost", sp.String())
	if sp.Input+sp.Output > 0 {
		add("tokens", fmt.Sprintf("%s in, %s out, %s read from the cache", tokens(sp.Input), tokens(sp.Output), tokens(sp.CacheRead)))
	}
	if sp.Uncounted > 0 {
		add("not told", counted(sp.Uncounted, "attempt")+" told no tokens")
	}
	if b.State == string(runner.Passed) {
		add("commit", short(b.Commit))
	}
	add("tests", map[bool]string{true: v.Row.Tests}[v.Row.Tests != none])
	add("sampling", b.Sampling)
	if r := b.Review; r != nil {
		text := r.Verdict
		if r.Confidence != nil {
			text += fmt.Sprintf(", %d %% sure", *r.Confidence)
		}
		add("review", strings.Trim(text+"; "+strings.Join(r.Passes, ", ")+"; "+r.Note, "; "))
	}
}

func orNothing(before, s, after string) string {
	if s == "" {
		return ""
	}
	return before + s + after
}

// gates sorts what the gates said: who has something to say first.
func (v *batchView) gates(reports []gates.Report, layout local.Layout) {
	rank := map[gates.Status]int{gates.Fail: 0, gates.Errored: 1, gates.Warn: 2, gates.Skipped: 3, gates.Pass: 4}
	sorted := slices.Clone(reports)
	slices.SortStableFunc(sorted, func(a, b gates.Report) int { return rank[a.Status] - rank[b.Status] })
	for _, r := range sorted {
		name := r.Gate
		if r.Tests != nil {
			name += fmt.Sprintf(" (%d passed, %d failed, %d skipped)", r.Tests.Passed, r.Tests.Failed, r.Tests.Skipped)
		}
		if r.Status == gates.Pass && len(r.Findings) == 0 {
			v.Passed = append(v.Passed, name)
			continue
		}
		g := gateView{
			Name: name, Word: string(r.Status), Tone: map[gates.Status]string{gates.Fail: "bad", gates.Errored: "bad", gates.Warn: "warn", gates.Skipped: "muted", gates.Pass: "good"}[r.Status],
			Note: r.Note, Command: r.Command, Output: strings.TrimSpace(uncoloured(r.Output)), Log: r.Log, Took: ui.Duration(r.Duration), Findings: r.Findings,
		}
		if n := len(g.Findings) - maxFindings; n > 0 {
			g.Findings, g.More = g.Findings[:maxFindings], n
		}
		v.Gates = append(v.Gates, g)
	}
}

// texts reads what the agent of the attempt was given, what it says, and what it changed.
func (s *site) texts(ctx context.Context, v *batchView) {
	t := v.At
	if t.Log != "" {
		v.Working = t.Word == "editing"
		dir := path.Dir(t.Log)
		v.Brief, v.BriefCut, _ = s.hub.readAll(dir+"/"+briefName, maxBrief)
		chunks, skipped, err := s.hub.chunks(t.Log)
		switch {
		case err != nil && v.Working:
			v.LogNote = "The agent has not said anything yet."
		case err != nil:
			v.LogNote = "There is no text of the agent: " + s.Layout.Rel(t.Log) + " is not there any more."
		case len(chunks) == 0:
			v.LogNote = "The agent has said nothing."
		}
		v.Log = chunks
		if skipped > 0 {
			v.LogSkipped = fmt.Sprintf("%d KiB before this are in .runplan/%s", skipped>>10, t.Log)
		}
	}
	v.Diff = s.diffOf(ctx, t)
}

func (s *site) receipt(v *batchView, b runner.BatchSummary) {
	if b.Receipt == "" {
		return
	}
	v.ReceiptFile = ".runplan/" + b.Receipt
	text, _, err := s.hub.readAll(b.Receipt, 1<<20)
	var r local.Receipt
	if err == nil && text != "" {
		if err = json.Unmarshal([]byte(text), &r); err == nil {
			v.Receipt = &r
			return
		}
	}
	v.ReceiptNote = "The receipt cannot be read: it is not there any more."
	if err != nil {
		v.ReceiptNote = "The receipt cannot be read: " + err.Error()
	}
}

func (s *site) batchParts(ctx context.Context, w *watch, key string, q url.Values) (batchView, []web.Part, error) {
	v, err := s.batchView(ctx, w, key, q)
	if err != nil {
		return v, nil, err
	}
	k := sketch{site: s}
	k.add("bhead", "batch-head", "", v)
	k.add("tries", "batch-tries", "", v)
	k.add("gates", "batch-gates", "", v)
	k.add("lognote", "batch-lognote", "", v)
	for _, c := range v.Log {
		k.add(c.ID, "batch-chunk", "log", c)
	}
	k.add("brief", "batch-brief", "", v)
	k.add("diff", "batch-diff", "", v)
	k.add("receipt", "batch-receipt", "", v)
	return v, k.parts, k.err
}

func (s *site) showBatch(w http.ResponseWriter, r *http.Request) {
	var v batchView
	var parts []web.Part
	run, err := s.hub.find(r.Context(), r.PathValue("run"))
	if err == nil {
		err = s.hub.with(r.Context(), run, func(at *watch) (err error) {
			v, parts, err = s.batchParts(r.Context(), at, r.PathValue("batch"), r.URL.Query())
			return err
		})
	}
	if err != nil {
		s.missing(w, r, err)
		return
	}
	s.show(w, r, "batch", sheet{Title: v.Number + " " + v.Title, Section: "runs", Live: live(r), View: v}, parts)
}

func (s *site) liveBatch(w http.ResponseWriter, r *http.Request) {
	run, err := s.hub.find(r.Context(), r.PathValue("run"))
	if err != nil {
		s.missing(w, r, err)
		return
	}
	key := r.PathValue("batch")
	word := ""
	s.streams.Serve(w, r, func(ctx context.Context, last string) (look web.Look, err error) {
		err = s.hub.with(ctx, run, func(at *watch) error {
			sum := at.printer.Standing().Summary
			s.hub.standing(&sum)
			look.Stamp = fmt.Sprint(sum.Status, at.marks[key].seq(), s.hub.sizes(at.marks[key]))
			if look.Stamp == last {
				return nil
			}
			v, parts, err := s.batchParts(ctx, at, key, r.URL.Query())
			if look.Parts = parts; word != "" && word != v.Row.Word {
				look.Said = fmt.Sprintf("batch %s: %s", v.Number, v.Row.Word)
			}
			word = v.Row.Word
			return err
		})
		return look, err
	})
}

func (m *mark) seq() int {
	if m == nil {
		return -1
	}
	return m.last
}

// sizes changes as the agents of a batch write.
func (h *hub) sizes(m *mark) string {
	if m == nil {
		return ""
	}
	var b strings.Builder
	for _, n := range sortedKeys(m.logs) {
		fmt.Fprintf(&b, " %d", h.size(m.logs[n]))
	}
	return b.String()
}

// since is for templates: a moment, or nothing.
func (r row) Running() bool { return !r.Since.Equal(time.Time{}) }
