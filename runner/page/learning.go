package page

import (
	"cmp"
	"context"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/layered"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/svg"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/internal/web"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/failures"
	"github.com/runplan/runplan/runner/journal"
	"github.com/runplan/runplan/runner/ledger"
	"github.com/runplan/runplan/runner/report"
	"github.com/runplan/runplan/sampling"
)

type learningView struct {
	Runs     int
	Variants []variantRow
	Sampling []string // the benefit of sampling
	Speed    []speedRow
	Expected []expectRow
	Metrics  []string
	Patterns []failures.Pattern
	Groups   []spendGroup
	Total    string
	Trouble  []string
}

// variantRow holds the results of a prompt variant for a batch type.
type variantRow struct {
	Type, Variant         string
	Tries, Passed, Won    int
	Score                 string
	PassedRate, WonRate   string
	PassedShare, WonShare int
}

type speedRow struct{ Run, Href, Plan, Predicted, Real, Off string }

// expectRow compares the duration of batches of a kind with its estimate.
type expectRow struct {
	Class                  string
	Batches                int
	Expected, Real, Factor string
}

type spendGroup struct {
	Name string
	Rows []spendRow
}

type spendRow struct {
	Key, Cost, Tokens string
	Attempts          int
}

// maxLearned limits the runs that are read for this page.
const maxLearned = 50

// learned caches the results read from the journal, which change only with the journal.
type learned struct {
	mu      sync.Mutex
	stamp   string
	metrics report.Metrics
	lines   []ledger.Line
	expect  map[string]*expected
}

type expected struct{ expected, real []int64 }

// learn reads the newest runs, unless nothing happened since.
func (s *site) learn(ctx context.Context) (*learned, error) {
	list, _, err := s.hub.runs(ctx)
	if err != nil {
		return nil, err
	}
	list = list[:min(len(list), maxLearned)]
	stamp := ""
	for _, l := range list {
		stamp += fmt.Sprint(l.Run, l.next, l.Face.Word)
	}
	c := &s.cache
	if c.stamp == stamp && stamp != "" {
		return c, nil
	}
	c.metrics, c.lines, c.expect = report.Metrics{}, nil, map[string]*expected{}
	for _, l := range list {
		if err := s.learnRun(ctx, c, l.Run); err != nil {
			return nil, err
		}
	}
	c.stamp = stamp
	return c, nil
}

func (s *site) learnRun(ctx context.Context, c *learned, run string) error {
	var w report.Watch
	var costs ledger.Ledger
	var events []runner.Event
	for e, err := range journal.Events(ctx, s.hub.journal, run, 0) {
		if err != nil {
			return err
		}
		if err := w.Apply(e); err != nil {
			return nil // another runplan wrote it, and the list says so
		}
		costs.Event(e)
		e.Job, e.Reports, e.Scores, e.Slots = nil, []gates.Report(nil), nil, nil // only the outcome is needed
		events = append(events, e)
	}
	sum, info := w.Standing().Summary, w.Standing().Info
	if sum.Run == "" {
		return nil
	}
	s.hub.mu.Lock()
	s.hub.standing(&sum)
	s.hub.mu.Unlock()
	c.metrics.Add(sum, events)
	c.lines = append(c.lines, costs.Lines...)
	for i, b := range sum.Batches {
		if i >= len(info.Batches) || info.Batches[i].ExpectMS <= 0 || b.State != string(runner.Passed) || b.DurationMS <= 0 {
			continue
		}
		class := cmp.Or(b.Class, "unknown")
		if c.expect[class] == nil {
			c.expect[class] = &expected{}
		}
		c.expect[class].expected = append(c.expect[class].expected, info.Batches[i].ExpectMS)
		c.expect[class].real = append(c.expect[class].real, b.DurationMS)
	}
	return nil
}

func (s *site) showLearning(w http.ResponseWriter, r *http.Request) {
	s.cache.mu.Lock()
	defer s.cache.mu.Unlock()
	c, err := s.learn(r.Context())
	if err != nil {
		web.Refuse(w, http.StatusInternalServerError, "The journal could not be read", err.Error())
		return
	}
	v := learningView{Runs: c.metrics.Runs}
	v.variants(s.Layout, c)
	for _, x := range c.metrics.SpeedUps {
		row := speedRow{Run: short(x.Run), Href: "/run/" + x.Run + "/", Plan: x.Plan, Predicted: "no data",
			Real: fmt.Sprintf("%.1f×", x.Real), Off: "no data"}
		if x.Predicted != nil {
			row.Predicted = fmt.Sprintf("%.1f×", *x.Predicted)
		}
		if x.Off != nil {
			row.Off = fmt.Sprintf("%.0f %%", *x.Off)
		}
		v.Speed = append(v.Speed, row)
	}
	for _, class := range slices.Sorted(maps.Keys(c.expect)) {
		e := c.expect[class]
		want, real := lists.Median(e.expected), lists.Median(e.real)
		v.Expected = append(v.Expected,
			expectRow{class, len(e.real), millis(want), millis(real), fmt.Sprintf("%.1f×", float64(real)/float64(want))})
	}
	v.Metrics = c.metrics.Lines()
	if v.Patterns, err = failures.Open(s.Layout.FailurePatterns(), nil).Patterns(); err != nil {
		v.Trouble = append(v.Trouble, err.Error())
	}
	slices.SortStableFunc(v.Patterns, func(a, b failures.Pattern) int {
		return cmp.Or(cmp.Compare(b.Frequency, a.Frequency), cmp.Compare(a.Title, b.Title), cmp.Compare(a.Type, b.Type))
	})
	v.spend(c.lines)
	s.show(w, r, "learning", sheet{Title: "Learning", Section: "learning", View: v}, nil)
}

func (v *learningView) variants(layout journal.Layout, c *learned) {
	outcomes, err := sampling.Store{Path: layout.SamplingOutcomes()}.Read()
	if err != nil {
		v.Trouble = append(v.Trouble, err.Error())
		return
	}
	if len(outcomes) > 0 {
		v.Sampling = sampling.Rates(outcomes,
			sampling.Retries{Tries: c.metrics.Retries, Successes: c.metrics.Successes}).Lines()
	}
	type key struct{ kind, variant string }
	rows := map[key]*variantRow{}
	sums := map[key]int{}
	for _, o := range outcomes {
		k := key{o.BatchType, o.Variant}
		if rows[k] == nil {
			rows[k] = &variantRow{Type: o.BatchType, Variant: o.Variant}
		}
		r := rows[k]
		r.Tries++
		sums[k] += o.Score
		if o.Passed {
			r.Passed++
		}
		if o.Won {
			r.Won++
		}
	}
	for k, r := range rows {
		r.Score = strconv.Itoa(sums[k] / r.Tries)
		r.PassedShare, r.WonShare = 100*r.Passed/r.Tries, 100*r.Won/r.Tries
		r.PassedRate, r.WonRate = sampling.NewRate(r.Passed, r.Tries).String(), sampling.NewRate(r.Won, r.Tries).String()
		v.Variants = append(v.Variants, *r)
	}
	slices.SortFunc(v.Variants, func(a, b variantRow) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(b.Won, a.Won), cmp.Compare(a.Variant, b.Variant))
	})
}

func (v *learningView) spend(lines []ledger.Line) {
	v.Total = costText(ledger.Add(lines))
	for _, by := range []string{"day", "agent", "model", "purpose"} {
		groups, err := ledger.By(lines, by)
		if err != nil || len(groups) == 0 {
			continue
		}
		g := spendGroup{Name: by}
		for _, x := range groups {
			told := tokens(x.Input) + " in, " + tokens(x.Output) + " out"
			switch {
			case x.Uncounted == x.Attempts:
				told = "unknown"
			case x.Uncounted > 0:
				told += fmt.Sprintf(", and %d of %d attempts unknown", x.Uncounted, x.Attempts)
			}
			g.Rows = append(g.Rows, spendRow{x.Key, x.Sum.String(), told, x.Attempts})
		}
		v.Groups = append(v.Groups, g)
	}
}

// plot is the picture of a plan: the positions of its batches. It is made once for a run.
type plot struct {
	*layered.Graph
	Small bool // too many batches for boxes: each is a dot
}

// maxBoxes is the maximum number of batches drawn as boxes with titles. More would be unreadable.
const maxBoxes = 120

// Number of dots in a row, and their distance.
const (
	dotsInRow = 50
	dotPitch  = 14
)

func plotOf(batches []runner.BatchSummary) *plot {
	n := len(batches)
	if n <= maxBoxes {
		return &plot{Graph: report.LayoutOf(batches)}
	}
	g := &layered.Graph{Width: dotsInRow*dotPitch + 4, Height: float64((n+dotsInRow-1)/dotsInRow*dotPitch + 4)}
	for i := range n {
		g.Nodes = append(g.Nodes, layered.Node{X: float64(4 + i%dotsInRow*dotPitch), Y: float64(4 + i/dotsInRow*dotPitch)})
	}
	return &plot{g, true}
}

type node struct {
	layered.Node
	ID, Href, Tone string
	Box            template.HTML // "" for a dot
}

// critical returns the indexes of the batches on the critical path of the plan: by estimated durations, or by actual
// durations after the run. Without estimates, all batches count the same.
func critical(batches []runner.BatchSummary, info runner.Info, done bool) []int {
	index := lists.Index(batches, func(b runner.BatchSummary) string { return b.Key })
	weight, needs := make([]int64, len(batches)), make([][]int, len(batches))
	for i, b := range batches {
		if i < len(info.Batches) {
			weight[i] = info.Batches[i].ExpectMS
		}
		switch {
		case b.State == string(runner.Skipped):
			weight[i] = 0
		case done:
			weight[i] = b.DurationMS
		}
		weight[i] = max(1, weight[i])
		for _, key := range b.Needs {
			if j, ok := index[key]; ok && j != i {
				needs[i] = append(needs[i], j)
			}
		}
	}
	way := layered.Longest(needs, weight)
	if len(way) < 2 {
		return nil // the plan has no edges
	}
	return way
}

// drawn returns the batches and the arrows between them.
func (p *plot) drawn(rows []ui.Row, batches []runner.BatchSummary, way []int) (nodes []node, arrows template.HTML) {
	g := svg.Graph{Graph: p.Graph, Longest: way, Arrow: func(from, to int) (done bool, tip string) {
		return batches[from].State == string(runner.Passed),
			fmt.Sprintf("batch %s needs %s", rows[to].Number, rows[from].Number)
	}}
	for i, at := range p.Nodes {
		r, tone := rows[i], toneOf(rows[i])
		n := node{Node: at, ID: nodeID(i), Href: batchHref(batches[i].Key), Tone: string(tone)}
		if !p.Small {
			g.Boxes = append(g.Boxes, svg.Box{
				Class: n.Tone, Number: r.Number, State: r.State + " " + ui.Style{}.Icon(tone), Title: r.Label,
				Tip: fmt.Sprintf("batch %s: %s, %s", r.Number, r.Label, r.State),
			})
			n.Box = template.HTML(g.Box(i)) // it escapes all text
		}
		nodes = append(nodes, n)
	}
	return nodes, template.HTML(g.Arrows()) // so does it
}
