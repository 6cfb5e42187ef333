package page

import (
	"cmp"
	"context"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/internal/web"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/report"
	"github.com/runplan/runplan/runner/story"
)

type runView struct {
	Run, Short, Title, Plan string
	Face                    report.Face
	Reason                  string
	About                   []string
	Tiles                   []tile
	Share                   int // of the batches that are settled, in percent
	Plot                    *plot
	Nodes                   []node
	Arrows                  template.HTML
	Path                    []string // numbers of the batches on the critical path
	Queue                   []queued
	Lanes                   template.HTML
	Cut                     bool // the lanes do not go back to the beginning
	Rows                    []row
	Filters                 []filter
	Pages                   []pageLink
	Final                   *reviewView
	Story                   []told
	Asks                    int
	Actions                 []action
	Query                   string // empty at first
}

type tile struct {
	Name, Value, Note string
	Since             time.Time // reading continues there
}

type queued struct{ Number, Title, Href, Word, Tone string }

type row struct {
	ID, Href, Number, Title, Word, Tone, Detail string
	Attempts                                    int
	Took, Tests, Cost                           string
	Waited                                      string // in addition to the time of its work
	Since                                       time.Time
	Candidates                                  int
	TournamentHref                              string
}

type filter struct {
	Name, Href string
	Count      int
	On         bool
}

type pageLink struct {
	Text, Href string
	On         bool
}

const rowsOnPage = 100

// groupOf returns the group of a batch: its state before and after the work, else "work".
func groupOf(b runner.BatchSummary) string {
	switch runner.Status(b.State) {
	case runner.Passed, runner.Failed, runner.Waiting, runner.Skipped:
		return b.State
	}
	return "work"
}

// runView builds the view of a run. The caller holds the hub.
func (s *site) runView(w *watch, q url.Values) runView {
	standing := w.printer.Standing()
	s.hub.standing(&standing.Summary)
	sum := standing.Summary
	now := s.Now()
	board := report.Board(standing, s.hub.lastLines(w), now)
	for _, q := range sum.Waiting {
		if i := find(sum, q.Batch); i >= 0 && asks(sum) > 0 {
			board.Rows[i].State, board.Rows[i].Tone, board.Rows[i].Detail = "needs you", ui.Warn, q.Question
		}
	}
	v := runView{
		Run: w.run, Short: short(w.run), Title: cmp.Or(sum.Title, sum.Plan, w.run), Plan: sum.Plan,
		Face: report.OutcomeOf(sum), Reason: s.reasonOf(sum),
		Story: slices.Clone(w.story), Cut: standing.Course.Dropped > 0, Asks: asks(sum), Actions: runActions(sum),
	}
	slices.Reverse(v.Story)
	if w.plot == nil || len(w.plot.Nodes) != len(sum.Batches) {
		w.plot = plotOf(sum.Batches)
	}
	v.Plot = w.plot
	way := critical(sum.Batches, *standing.Info, sum.Status == runner.RunDone)
	v.Nodes, v.Arrows = w.plot.drawn(board.Rows, sum.Batches, way)
	for _, i := range way {
		v.Path = append(v.Path, board.Rows[i].Number)
	}
	numbers := map[string]string{}
	index := map[string]int{}
	for i, b := range sum.Batches {
		numbers[b.Key], index[b.Key] = b.Number, i
	}
	for _, key := range w.queue {
		if i, ok := index[key]; ok && groupOf(sum.Batches[i]) == "work" && sum.Batches[i].State != string(runner.StateEdit) {
			r := board.Rows[i]
			v.Queue = append(v.Queue, queued{r.Number, r.Label, batchHref(key), r.State, string(toneOf(r))})
		}
	}
	more := time.Duration(0)
	if sum.Status == runner.RunActive {
		more = max(0, now.Sub(sum.Updated)).Truncate(5 * time.Second)
	}
	v.Lanes = lanes(standing.Course, numbers, more)
	s.figures(&v, standing, w)
	s.table(&v, standing, board, q)
	if r := sum.Review; r != nil {
		if w.final == nil || w.finalOf != r {
			final := s.reviewView("Final review", *r)
			final.Href = "review"
			w.final, w.finalOf = &final, r
		}
		v.Final = w.final
	}
	return v
}

func (s *site) runParts(w *watch, q url.Values) (runView, []web.Part, error) {
	v := s.runView(w, q)
	k := sketch{site: s}
	k.all("run-", v, "head", "acts", "edges", "path")
	for _, n := range v.Nodes {
		k.add(n.ID, "run-node", "nodes", n)
	}
	k.all("run-", v, "queue", "lanes", "filters")
	for _, r := range v.Rows {
		k.add(r.ID, "run-row", "rows", r)
	}
	k.all("run-", v, "final", "story")
	return v, k.parts, k.err
}

func (s *site) showRun(w http.ResponseWriter, r *http.Request, run string) error {
	var v runView
	var parts []web.Part
	err := s.hub.with(r.Context(), run, func(at *watch) (err error) {
		v, parts, err = s.runParts(at, r.URL.Query())
		return err
	})
	if err == nil {
		s.show(w, r, "run", sheet{Title: v.Title, Section: "runs", Live: live(r), View: v}, parts)
	}
	return err
}

func (s *site) liveRun(w http.ResponseWriter, r *http.Request, run string) error {
	next := -1
	s.stream(w, r, func(ctx context.Context, last string) (look web.Look, err error) {
		err = s.hub.with(ctx, run, func(at *watch) error {
			if look.Stamp = s.hub.stamp(at); look.Stamp == last {
				return nil
			}
			_, look.Parts, err = s.runParts(at, r.URL.Query())
			look.Said = at.said(next)
			next = at.next
			return err
		})
		return look, err
	})
	return nil
}

// said returns the last important line since an event.
func (w *watch) said(next int) string {
	if next < 0 || next == w.next {
		return ""
	}
	return loudest(w.story[max(0, len(w.story)-8):])
}

type runsView struct {
	Runs  []listed
	Older int
	Empty bool
}

func (s *site) runsParts(ctx context.Context) (runsView, []web.Part, error) {
	list, older, err := s.hub.runs(ctx)
	if err != nil {
		return runsView{}, nil, err
	}
	v := runsView{list, older, len(list) == 0}
	k := sketch{site: s}
	k.add("runs-head", "runs-head", "", v)
	for _, l := range list {
		k.add("run-"+short(l.Run), "runs-row", "runs", l)
	}
	for i := range k.parts {
		k.parts[i].Top = k.parts[i].In != ""
	}
	return v, k.parts, k.err
}

func (s *site) showRuns(w http.ResponseWriter, r *http.Request) {
	v, parts, err := s.runsParts(r.Context())
	if err != nil {
		web.Refuse(w, http.StatusInternalServerError, "The runs could not be read", err.Error())
		return
	}
	s.show(w, r, "runs", sheet{Title: "Runs", Section: "runs", Live: live(r), View: v}, parts)
}

func (s *site) liveRuns(w http.ResponseWriter, r *http.Request) {
	said := map[string]string{}
	s.stream(w, r, func(ctx context.Context, last string) (web.Look, error) {
		v, parts, err := s.runsParts(ctx)
		if err != nil {
			return web.Look{}, err
		}
		look := web.Look{Stamp: web.Version(parts), Parts: parts}
		for _, l := range v.Runs {
			if was, ok := said[l.Run]; ok && was != l.Face.Word {
				look.Said = fmt.Sprintf("%s: %s", l.Title, l.Face.Word)
			}
			said[l.Run] = l.Face.Word
		}
		return look, nil
	})
}

func (s *site) figures(v *runView, standing report.Standing, w *watch) {
	sum := standing.Summary
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
	add := func(name, value, note string) { v.Tiles = append(v.Tiles, tile{Name: name, Value: value, Note: note}) }
	note := ""
	if n := counts["skipped"]; n > 0 {
		note = fmt.Sprintf("%d skipped", n)
	}
	add("merged", fmt.Sprintf("%d of %d", counts["merged"], total), note)
	if n := counts["failed"]; n > 0 {
		add("failed", strconv.Itoa(n), "")
	}
	if n := counts["work"]; n > 0 && sum.Status.Live() {
		add("running", strconv.Itoa(n), "up to "+phrase.Count(max(1, sum.Workers), "worker"))
	}
	if n := counts["asked"]; n > 0 {
		add("needs you", strconv.Itoa(n), "")
	}
	add("time", millis(sum.DurationMS), waitedNote(standing.Course.Clock("")))
	if sum.Status == runner.RunActive {
		v.Tiles[len(v.Tiles)-1].Since = sum.Updated.Add(-time.Duration(sum.DurationMS) * time.Millisecond)
	}
	add("attempts", strconv.Itoa(attempts), "")
	if before, tests := report.Tests(sum); tests != nil {
		note := ""
		if before != nil {
			note = fmt.Sprintf("%+d", *tests-*before)
		}
		add("tests", strconv.Itoa(*tests), note)
	}
	add("cost", costText(w.spent), "")
	if w.spent.Input+w.spent.Output > 0 {
		add("tokens", tokens(w.spent.Input)+" in, "+tokens(w.spent.Output)+" out", "")
	}
	v.About = append(v.About, phrase.Count(total, "batch"), "agent "+sum.Agent, modeOf(sum))
	if sum.Branch != "" {
		v.About = append(v.About, "branch "+sum.Branch)
	}
	if sum.SpeedUp > 0 {
		v.About = append(v.About, fmt.Sprintf("predicted speed-up %.1f×", sum.SpeedUp))
	}
}

func (s *site) table(v *runView, standing report.Standing, board ui.Board, q url.Values) {
	sum := standing.Summary
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
	for _, f := range []struct{ key, name string }{{"", "all"}, {"work", "running"}, {"failed", "failed"},
		{"waiting", "waiting"}, {"merged", "merged"}, {"skipped", "skipped"}} {
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
		r.Waited = waitedNote(standing.Course.Clock(sum.Batches[i].Key))
		v.Rows = append(v.Rows, r)
	}
}

func rowOf(i int, b runner.BatchSummary, r ui.Row) row {
	out := row{
		ID: rowID(i), Href: batchHref(b.Key), Number: r.Number, Title: r.Label, Word: r.State, Tone: string(toneOf(r)),
		Detail:   r.Detail,
		Attempts: b.Attempts, Tests: none, Cost: report.CostOf(b), Candidates: len(b.Candidates),
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
	marks := lists.Map(r.Marks, func(m ui.Mark) string {
		return strings.TrimSpace(ui.Style{}.Icon(m.Tone) + " " + m.Text)
	})
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
