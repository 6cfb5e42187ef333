package page

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/journal"
	"github.com/runplan/runplan/runner/ledger"
	"github.com/runplan/runplan/runner/story"
	"github.com/runplan/runplan/sampling"
)

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
	reviews            []reviewed
	durationMS         int64
	State              string
}

// tries reads the attempts of a batch from the journal.
func (s *site) tries(ctx context.Context, f frame) ([]try, []ledger.Line, error) {
	if f.first == 0 {
		return nil, nil, nil
	}
	var out []try
	var book ledger.Ledger
	at := func(e runner.Event, candidate int) *try {
		i := slices.IndexFunc(out, func(t try) bool { return t.Number == e.Attempt && t.Candidate == candidate })
		if i < 0 {
			out = append(out, try{Number: e.Attempt, Candidate: candidate, Word: "running", Tone: "busy", Cost: none,
				Tokens: none})
			i = len(out) - 1
		}
		return &out[i]
	}
	contests := story.Contests{}
	for e, err := range journal.Events(ctx, f.journal, f.run, f.first) {
		if err != nil {
			return nil, nil, err
		}
		if e.Seq > f.last {
			break
		}
		if e.Batch != f.key {
			continue
		}
		book.Event(e)
		contests.Apply(e)
		switch e.Kind {
		case runner.Sampled:
			for _, slot := range e.Slots {
				t := at(e, slot.Number)
				t.Variant, t.Word, t.Tone = slot.Variant, "waiting", "idle"
			}
		case runner.Judged:
			for _, score := range e.Scores {
				t := at(e, score.Candidate)
				t.scored(score, e)
			}
		case runner.Dispatched:
			if runner.KindOf(e.Command) == runner.Execute {
				t := at(e, contests.Candidate(e))
				t.begun(e)
				t.Log = s.hub.logOf(f.run, f.key, t.Number, t.Candidate)
			} else if t := at(e, e.Candidate); (runner.KindOf(e.Command) == runner.Gate ||
				runner.KindOf(e.Command) == runner.Trial) && t.Tone == "busy" {
				t.Word = "checking"
			}
		case runner.Reviewed:
			t := at(e, e.Candidate)
			t.reviews = append(t.reviews, reviewed{runner.KindOf(e.Command), e.Review, e.Reports})
			if e.Outcome == runner.OutcomeFailed || e.Outcome == runner.OutcomeShallow || e.Outcome == runner.OutcomeComplex {
				t.Word, t.Tone, t.Reason = "review: to be fixed", "bad", e.Reason
			}
		case runner.ApprovalDenied:
			if len(out) > 0 { // a person's word names no attempt; it is about the last one
				t := &out[len(out)-1]
				t.Word, t.Tone, t.Reason = "denied", "bad", e.By+": "+e.Reason
			}
		case runner.Executed, runner.Rebased, runner.Gated, runner.Tried, runner.Committed, runner.Merged:
			at(e, e.Candidate).took(e)
		}
		if len(out) > maxTries {
			out = slices.Delete(out, 0, len(out)-maxTries)
		}
	}
	if f.ended {
		for i := range out {
			if out[i].Tone == "busy" {
				out[i].Word, out[i].Tone = "cut short", "warn"
			}
		}
	}
	return out, book.Lines, nil
}

func (t *try) begun(e runner.Event) {
	t.Word, t.Tone, t.Base, t.Tier = "editing", "busy", e.Base, e.Tier
	t.Agent, t.Model = cmp.Or(e.Agent, t.Agent), cmp.Or(e.Model, t.Model)
}

func (t *try) took(e runner.Event) {
	t.durationMS += e.DurationMS
	t.Took = millis(t.durationMS)
	if e.Kind == runner.Executed {
		t.Agent, t.Model, t.Tier = e.Agent, e.Model, cmp.Or(e.Tier, t.Tier)
		t.Cost, t.Tokens = "unknown", "unknown"
		if u := e.Usage; u != nil {
			if u.CostUSD != nil {
				t.Cost = phrase.Money(*u.CostUSD)
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
		t.Word, t.Tone = map[runner.EventKind]string{runner.Executed: "edited", runner.Rebased: "rebased",
			runner.Gated: "checked", runner.Tried: "red together", runner.Committed: "committed",
			runner.Merged: "merged"}[e.Kind], "busy"
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
	t.Score = &c.Score
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

type tournamentView struct {
	Run, RunTitle, Key, Number, Title, BatchHref, Verdict string
	Attempts                                              []pageLink
	Candidates                                            []contestant
	Terms                                                 []term
}

type contestant struct {
	try
	Diff diff
	Anch string
}

// term is a line of the table of scores: the points of one term of the score for each candidate.
type term struct {
	Counts, Worth string
	Cells         []termCell
}

// termCell holds the points of a candidate for a term, and the measured figure.
type termCell struct{ Points, Measured string }

func (s *site) showCandidates(w http.ResponseWriter, r *http.Request, run string) error {
	ctx, key := r.Context(), r.PathValue("batch")
	f, b, err := s.frame(ctx, run, key)
	if err != nil {
		return err
	}
	tries, _, err := s.tries(ctx, f)
	if err != nil {
		return err
	}
	v := tournamentView{Run: run, RunTitle: b.RunTitle, Key: key, Number: b.Number, Title: b.Title,
		BatchHref: "../" + batchHref(key), Verdict: f.sum.Sampling}
	v.of(tries, r.URL.Query().Get("a"))
	for i := range v.Candidates {
		v.Candidates[i].Diff = s.diffOf(ctx, &v.Candidates[i].try)
	}
	s.show(w, r, "candidates", sheet{Title: "Candidates of batch " + v.Number + ": " + v.Title, Section: "runs", View: v},
		nil)
	return nil
}

// of picks the candidates of one attempt: the given one, or the last that had some.
func (v *tournamentView) of(tries []try, attempt string) {
	var numbers []int
	for _, t := range tries {
		if t.Candidate > 0 && !slices.Contains(numbers, t.Number) {
			numbers = append(numbers, t.Number)
		}
	}
	if len(numbers) == 0 {
		return
	}
	at, err := strconv.Atoi(attempt)
	if err != nil || !slices.Contains(numbers, at) {
		at = numbers[len(numbers)-1]
	}
	if len(numbers) > 1 {
		for _, n := range numbers {
			v.Attempts = append(v.Attempts, pageLink{"attempt " + strconv.Itoa(n), "?a=" + strconv.Itoa(n), n == at})
		}
	}
	for _, t := range tries {
		if t.Number == at && t.Candidate > 0 {
			t.Href = v.BatchHref + t.Href
			v.Candidates = append(v.Candidates, contestant{try: t, Anch: "c" + strconv.Itoa(t.Candidate)})
		}
	}
	slices.SortFunc(v.Candidates, func(a, b contestant) int { return cmp.Compare(a.Candidate, b.Candidate) })
	v.terms()
}

func (v *tournamentView) terms() {
	var names []string
	for _, c := range v.Candidates {
		for _, t := range c.Terms {
			if !slices.Contains(names, t.Name) {
				names = append(names, t.Name)
			}
		}
	}
	own := slices.Contains(names, "score") // an expression of the settings, which the other terms only feed
	for _, name := range names {
		m := sampling.MeaningOf(name)
		row := term{Counts: m.Many, Worth: m.Worth}
		if own && name != "score" {
			row.Worth = "an input of the score expression in the settings"
		}
		for _, c := range v.Candidates {
			cell := termCell{Points: none}
			if i := slices.IndexFunc(c.Terms, func(t runner.ScoreTerm) bool { return t.Name == name }); i >= 0 {
				cell = cellOf(c.Terms[i], own)
			}
			row.Cells = append(row.Cells, cell)
		}
		v.Terms = append(v.Terms, row)
	}
}

// cellOf returns the figures of a term. own means that an expression of the settings gives the points.
func cellOf(t runner.ScoreTerm, own bool) termCell {
	m := sampling.MeaningOf(t.Name)
	value := m.Value(t.Value)
	switch {
	case value == "":
		return termCell{Points: signed(t.Points)}
	case own && m.Percent:
		return termCell{Points: value}
	case own:
		return termCell{Points: strconv.Itoa(t.Value)}
	}
	return termCell{signed(t.Points), value}
}

func signed(n int) string {
	if n > 0 {
		return "+" + strconv.Itoa(n)
	}
	return strconv.Itoa(n)
}
