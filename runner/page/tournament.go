package page

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"

	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/sampling"
)

// tournamentView is a tournament: its candidates next to each other.
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
