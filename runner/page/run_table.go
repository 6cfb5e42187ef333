package page

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/report"
	"github.com/runplan/runplan/runner/story"
)

// figures are the sums of a run.
func (s *site) figures(v *runView, sum runner.Summary, w *watch) {
	counts := map[string]int{}
	attempts := 0
	for _, b := range sum.Batches {
		if group := groupOf(b); group == "work" && asked(sum, b.Key) {
			counts["asked"]++
		} else {
			counts[group]++
		}
		attempts += b.Attempts
	}
	total := len(sum.Batches)
	if total > 0 {
		v.Share = 100 * (counts["merged"] + counts["skipped"]) / total
	}
	merged := tile{Name: "merged", Value: fmt.Sprintf("%d of %d", counts["merged"], total)}
	if n := counts["skipped"]; n > 0 {
		merged.Note = fmt.Sprintf("%d skipped", n)
	}
	v.Tiles = append(v.Tiles, merged)
	if counts["failed"] > 0 {
		v.Tiles = append(v.Tiles, tile{Name: "failed", Value: strconv.Itoa(counts["failed"])})
	}
	if n := counts["work"]; n > 0 && sum.Status.Live() {
		v.Tiles = append(v.Tiles,
			tile{Name: "running", Value: strconv.Itoa(n), Note: "up to " + phrase.Count(max(1, sum.Workers), "worker")})
	}
	if n := counts["asked"]; n > 0 {
		v.Tiles = append(v.Tiles, tile{Name: "needs you", Value: strconv.Itoa(n)})
	}
	clock := tile{Name: "time", Value: millis(sum.DurationMS),
		Note: waitedNote(w.lanes.Clock(""))}
	if sum.Status == runner.RunActive {
		clock.Since = sum.Updated.Add(-time.Duration(sum.DurationMS) * time.Millisecond)
	}
	v.Tiles = append(v.Tiles, clock, tile{Name: "attempts", Value: strconv.Itoa(attempts)})
	if before, tests := report.Tests(sum); tests != nil {
		t := tile{Name: "tests", Value: strconv.Itoa(*tests)}
		if before != nil {
			t.Note = fmt.Sprintf("%+d", *tests-*before)
		}
		v.Tiles = append(v.Tiles, t)
	}
	v.Tiles = append(v.Tiles, tile{Name: "cost", Value: costText(w.spent)})
	if w.spent.Input+w.spent.Output > 0 {
		v.Tiles = append(v.Tiles,
			tile{Name: "tokens", Value: tokens(w.spent.Input) + " in, " + tokens(w.spent.Output) + " out"})
	}
	v.About = append(v.About, phrase.Count(total, "batch"), "agent "+sum.Agent, modeOf(sum))
	if sum.Branch != "" {
		v.About = append(v.About, "branch "+sum.Branch)
	}
	if sum.SpeedUp > 0 {
		v.About = append(v.About, fmt.Sprintf("predicted speed-up %.1f×", sum.SpeedUp))
	}
}

// table is the requested part of the batches.
func (s *site) table(v *runView, sum runner.Summary, lanes lanes, board ui.Board, q url.Values) {
	state := q.Get("state")
	counts := map[string]int{"": len(sum.Batches)}
	var shown []int
	for i, b := range sum.Batches {
		g := groupOf(b)
		counts[g]++
		if state == "" || state == g {
			shown = append(shown, i)
		}
	}
	for _, f := range filters() {
		if f.key != "" && counts[f.key] == 0 && f.key != state {
			continue
		}
		href := "./"
		if f.key != "" {
			href += "?state=" + f.key
		}
		v.Filters = append(v.Filters, filter{f.name, href + "#batches", counts[f.key], f.key == state})
	}
	pages := (len(shown) + rowsOnPage - 1) / rowsOnPage
	at, err := strconv.Atoi(q.Get("page"))
	if err != nil || at < 1 || at > pages {
		at = 1
	}
	if pages > 1 {
		for n := 1; n <= pages; n++ {
			to := url.Values{"page": {strconv.Itoa(n)}}
			if state != "" {
				to.Set("state", state)
			}
			v.Pages = append(v.Pages,
				pageLink{fmt.Sprintf("%d–%d", (n-1)*rowsOnPage+1, min(n*rowsOnPage, len(shown))), "./?" + to.Encode() + "#batches",
					n == at})
		}
		shown = shown[(at-1)*rowsOnPage : min(at*rowsOnPage, len(shown))]
	}
	for _, i := range shown {
		r := rowOf(i, sum.Batches[i], board.Rows[i])
		r.Waited = waitedNote(lanes.Clock(sum.Batches[i].Key))
		v.Rows = append(v.Rows, r)
	}
}

func rowOf(i int, b runner.BatchSummary, r ui.Row) row {
	out := row{
		ID: rowID(i), Href: batchHref(b.Key), Number: r.Number, Title: r.Label, Word: r.State, Tone: string(toneOf(r)),
		Detail:   r.Detail,
		Attempts: b.Attempts, Tests: none, Cost: none, Candidates: len(b.Candidates),
	}
	if len(b.Candidates) > 0 {
		out.TournamentHref = "candidates/" + url.PathEscape(b.Key)
	}
	switch {
	case r.Tone == ui.Busy && !b.Started.IsZero():
		out.Since = b.Started
	case b.DurationMS > 0:
		out.Took = millis(b.DurationMS)
	}
	if b.TestsAfter != nil {
		out.Tests = strconv.Itoa(*b.TestsAfter)
		if b.TestsBefore != nil {
			out.Tests += fmt.Sprintf(" (%+d)", *b.TestsAfter-*b.TestsBefore)
		}
	}
	switch {
	case b.CostUSD != nil:
		out.Cost = phrase.Money(*b.CostUSD)
	case b.Attempts > 0:
		out.Cost = "unknown"
	}
	var marks []string
	for _, m := range r.Marks {
		marks = append(marks, strings.TrimSpace(ui.Style{}.Icon(m.Tone)+" "+m.Text))
	}
	if r.Tone != ui.Busy || len(b.Candidates) > 0 {
		out.Detail = strings.TrimSpace(strings.Join(append(marks, out.Detail), " · "))
		out.Detail = strings.Trim(out.Detail, " ·")
	}
	return out
}

// waitedNote describes the waiting time and the working time; "" if nothing waited.
func waitedNote(c story.Clock) string {
	if d := c.Waited(); d > 0 {
		return "waited " + ui.Duration(d)
	}
	return ""
}
