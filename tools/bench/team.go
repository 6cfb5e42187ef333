package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// teamWorkers is the number of agents that run in parallel in this benchmark.
const teamWorkers = 4

// teamRun holds the results of one graph.
type teamRun struct {
	graph
	number int
	told   outing  // the plan has an estimate of each batch
	first  *outing // without earlier runs; nil if it did not run
	second *outing // with that one as history

	foretold   float64 // speed-up as predicted from the plan's estimates
	unread     float64 // predicted without history
	remembered float64 // predicted after the first run; 0 if there was none
}

// outing is one run of a plan.
type outing struct {
	wall     time.Duration         // of the process
	journal  time.Duration         // from the first event to the last
	executed map[int]time.Duration // how long each batch had a worker
	hand     time.Duration         // mean time from the start of an execution's command to its end, less the sleep
	tail     time.Duration         // from the end of the last agent to the last event
	head     time.Duration         // from the first event to the first command of an agent
}

// speedUp returns how many times faster the run was than all batches one after another without overhead.
func (r teamRun) speedUp(o outing) float64 { return float64(r.work()) / float64(o.wall) }

// team runs random plans with sleeping agents and compares the time with the lower bound (MET-06). lanes runs share the
// machine at a time: sleeping agents use no CPU.
func (b *bench) team(seed uint64, lanes int) error {
	runs := make([]*teamRun, b.of(30, 4))
	errs := make([]error, len(runs))
	var wait sync.WaitGroup
	free := make(chan struct{}, max(1, lanes))
	for i := range runs {
		free <- struct{}{}
		wait.Go(func() {
			runs[i], errs[i] = b.outings(i, randomGraph(rand.New(rand.NewPCG(seed, uint64(i)))))
			<-free
		})
	}
	wait.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	b.teamFigures(runs)
	return nil
}

// outings runs the plan of a graph with estimates in it. It also runs every third plan without estimates, and then
// again with that run as history, unless time is short.
func (b *bench) outings(i int, g graph) (*teamRun, error) {
	r := &teamRun{graph: g, number: i + 1}
	told, err := b.place.Repo(fmt.Sprintf("team-%d", r.number), g.files(true))
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(told)
	if r.foretold, err = b.predicted(told, g); err != nil {
		return nil, err
	}
	if r.told, err = b.outing(told, g); err != nil {
		return nil, fmt.Errorf("graph %d: %w", r.number, err)
	}
	dir, err := b.place.Repo(fmt.Sprintf("team-%d-untold", r.number), g.files(false))
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if r.unread, err = b.predicted(dir, g); err != nil {
		return nil, err
	}
	fmt.Fprintf(os.Stderr, "  graph %d: %d batches, wall %s, floor %s\n", r.number, len(g.took), seconds(r.told.wall),
		seconds(g.floor(teamWorkers)))
	if i%3 != 0 || b.quick {
		return r, nil
	}
	for _, o := range []**outing{&r.first, &r.second} {
		one, err := b.outing(dir, g)
		if err != nil {
			return nil, fmt.Errorf("graph %d, without estimates: %w", r.number, err)
		}
		*o = &one
		if r.remembered > 0 {
			continue
		}
		if r.remembered, err = b.predicted(dir, g); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// predicted gets runplan's prediction of the speed-up of a plan.
func (b *bench) predicted(dir string, g graph) (float64, error) {
	cmd := b.place.Command(dir, b.place.Runplan, "route", "plan.md", "--mode", "team", "--workers",
		fmt.Sprint(teamWorkers), "--json")
	var errOut bytes.Buffer
	cmd.Stderr = &errOut
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("runplan route: %w: %s", err, errOut.String())
	}
	var d struct {
		Edges    []json.RawMessage `json:"edges"`
		Estimate struct {
			SpeedUp *float64 `json:"speed_up"`
		} `json:"estimate"`
	}
	if err := json.Unmarshal(out, &d); err != nil {
		return 0, fmt.Errorf("runplan route --json: %w", err)
	}
	edges := 0
	for _, needs := range g.needs {
		edges += len(needs)
	}
	if len(d.Edges) != edges {
		return 0, fmt.Errorf("runplan finds %d dependencies, but the plan was made with %d", len(d.Edges), edges)
	}
	if d.Estimate.SpeedUp == nil {
		return 0, errors.New("runplan route predicts no speed-up")
	}
	return *d.Estimate.SpeedUp, nil
}

// teamEvent holds the fields of an event that the benchmark reads.
type teamEvent struct {
	Kind, Command, Batch, Outcome string
	At                            time.Time
}

// outing runs a plan once, and reads its times from the events, which equal those in the journal.
func (b *bench) outing(dir string, g graph) (outing, error) {
	cmd := b.place.Command(dir, b.place.Runplan, "run", "plan.md", "--mode", "team", "--workers", fmt.Sprint(teamWorkers),
		"--json")
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	began := time.Now()
	if err := cmd.Run(); err != nil {
		return outing{}, fmt.Errorf("%w: %s", err, errOut.String())
	}
	o := outing{wall: time.Since(began), executed: map[int]time.Duration{}}
	var first, given, left, last time.Time
	asked := map[string]time.Time{}
	for lines := bufio.NewScanner(&out); lines.Scan(); {
		var e teamEvent
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return o, fmt.Errorf("an event: %w", err)
		}
		if first.IsZero() {
			first = e.At
		}
		last = e.At
		switch {
		case e.Kind == "dispatched" && strings.HasSuffix(e.Command, "/execute"):
			asked[e.Command] = e.At
			if given.IsZero() {
				given = e.At
			}
		case e.Kind == "executed" && e.Outcome == "ok":
			left = e.At
			var n int
			if _, err := fmt.Sscan(e.Batch, &n); err != nil || n < 1 || n > len(g.took) || o.executed[n-1] > 0 {
				return o, fmt.Errorf("batch %q was executed, but is not in the plan or was already executed", e.Batch)
			}
			o.executed[n-1] = e.At.Sub(asked[e.Command])
			o.hand += (o.executed[n-1] - g.took[n-1]) / time.Duration(len(g.took))
		}
	}
	if len(o.executed) != len(g.took) {
		return o, fmt.Errorf("%d of %d batches were executed", len(o.executed), len(g.took))
	}
	o.journal, o.head, o.tail = last.Sub(first), given.Sub(first), last.Sub(left)
	return o, nil
}

// off returns the error of a prediction, relative to the real value.
func off(predicted, real float64) float64 { return math.Abs(predicted-real) / real }

// quantiles returns the smallest, the middle, the ninth tenth and the largest of values.
func quantiles(values []float64) (least, middle, most9, most float64) {
	s := slices.Sorted(slices.Values(values))
	at := func(part float64) float64 { return s[min(len(s)-1, int(math.Ceil(part*float64(len(s))))-1)] }
	return s[0], at(0.5), at(0.9), s[len(s)-1]
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }
