package page

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/journal"
	"github.com/runplan/runplan/runner/ledger"
	"github.com/runplan/runplan/runner/story"
	"github.com/runplan/runplan/sampling"
)

// try is an attempt at a batch, in words.
type try struct {
	story.Attempt
	Name, Href         string
	Word, Tone, Reason string
	On                 bool
	Took, Cost, Tokens string
	Score              *int
	Terms              []runner.ScoreTerm
}

// tries reads the attempts of a batch from the journal.
func (s *site) tries(ctx context.Context, f frame) ([]try, []ledger.Line, error) {
	if f.first == 0 {
		return nil, nil, nil
	}
	var all story.Attempts
	var costs ledger.Ledger
	for e, err := range journal.Events(ctx, f.journal, f.run, f.first) {
		if err != nil {
			return nil, nil, err
		}
		if e.Seq > f.last {
			break
		}
		if e.Batch == f.key {
			costs.Event(e)
			all.Apply(e)
		}
	}
	list := all.Of(f.key)
	out := lists.Map(list[max(0, len(list)-maxTries):],
		func(a *story.Attempt) try { return s.tryOf(f, *a, costs.Lines) })
	return out, costs.Lines, nil
}

// tryOf describes an attempt, with its part of the costs.
func (s *site) tryOf(f frame, a story.Attempt, costs []ledger.Line) try {
	t := try{Attempt: a, Tokens: none}
	t.Word, t.Tone = wordOf(a)
	if t.Tone == "busy" && f.ended {
		t.Word, t.Tone = "cut short", "warn"
	}
	if a.Failed() {
		t.Reason = strings.TrimPrefix(a.By+": "+a.Reason, ": ")
	}
	if a.Step == runner.Dispatched && a.Log == "" {
		t.Log = s.hub.logOf(f.run, f.key, a.Number, a.Candidate)
	}
	if a.Outcome != "" {
		t.Took = millis(a.DurationMS)
	}
	spent := ledger.Add(lists.Filter(costs,
		func(l ledger.Line) bool { return l.Attempt == a.Number && l.Candidate == a.Candidate }))
	t.Cost = costText(spent)
	switch {
	case spent.Input+spent.Output > 0:
		t.Tokens = tokens(spent.Input) + " in, " + tokens(spent.Output) + " out"
	case spent.Uncounted > 0:
		t.Tokens = "unknown"
	}
	if c := a.Score; c != nil && c.Void != "" {
		t.Reason = c.Void
	} else if c != nil {
		t.Score, t.Terms = &c.Score, c.Terms
	}
	return t
}

// wordOf returns the state of an attempt in words, and its tone.
func wordOf(a story.Attempt) (word, tone string) {
	word = strings.ReplaceAll(string(a.Outcome), "_", " ")
	switch {
	case a.Score != nil && a.Score.Void != "":
		return "no verdict", "muted"
	case a.Won:
		return "won", "good"
	case a.Score != nil && a.Score.Passed:
		return "passed", "good"
	case a.Score != nil:
		return "failed", "bad"
	case a.Step == "" && a.Doing == "":
		return "waiting", "idle"
	case !a.Failed() && (a.Doing == runner.Gate || a.Doing == runner.Trial):
		return "checking", "busy"
	case a.Step == "":
		return "running", "busy"
	case a.Outcome == "" && a.Doing == "": // its command was cancelled
		return "cut short", "warn"
	case a.Outcome == "":
		return "editing", "busy"
	case a.Step == runner.Gated && a.Candidate > 0 && !a.Failed():
		return "checked", "good"
	case !a.Failed():
		word = map[runner.EventKind]string{runner.Executed: "edited", runner.Rebased: "rebased", runner.Gated: "checked",
			runner.Reviewed: "reviewed", runner.Committed: "committed", runner.Merged: "merged"}[a.Step]
		return word, map[bool]string{true: "good", false: "busy"}[a.Step == runner.Merged]
	case a.Step == runner.ApprovalDenied:
		return "denied", "bad"
	case a.Outcome == runner.OutcomeLimited, a.Outcome == runner.OutcomeHuman, a.Outcome == runner.OutcomeCancelled:
		return word, "warn"
	case a.Step == runner.Reviewed:
		return "review: to be fixed", "bad"
	}
	return word, "bad"
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
