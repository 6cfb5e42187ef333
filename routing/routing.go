// Package routing decides how a plan is run: in which mode, in which order, and which batches not at all.
//
// A decision carries its reasons. Where nothing proves that two batches are independent, they run one after
// the other, in the order of the plan.
//
// It comes about in four steps. The graph is read out of the plan: what it declares, the files that batches touch, what
// their texts name. The layout is what the graph means for the batches that are to run: who waits for whom, and how many
// may run at a time. The score sums that up in a number, and rules, which may be expressions of the user's, make a mode
// of it. Classes then give each batch a model.
package routing

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/planparse"
)

// Mode is how batches are worked on.
type Mode string

// The modes. Headless works on one batch at a time; team on several, each in a worktree of its own.
const (
	Headless Mode = "headless"
	Team     Mode = "team"
)

// Options narrow a decision.
type Options struct {
	From, To string            // numbers or keys of the first and last batch to run; "" is no bound
	Env      map[string]string // what conditions may read as env.NAME

	Mode            string // "headless" or "team" asks for one; "auto" or "" leaves it to the rules
	Workers         int    // replaces the figure in the settings, and what memory suggests; 0: none given
	NoSpeculate     bool   // no batch starts on what is not gated yet
	SequentialAfter string // number or key of the last batch beside which others may run (TEAM-06); "" is none
	TeamsEnabled    bool   // team mode may be chosen without being asked for

	Rules         Rules             // the zero value stands for [DefaultRules]
	Models        map[string]string // model of each tier, of the agent that is used
	ModelOverride map[string]string // batch, by key or number, to a tier, an alias or one of Models
	History       []Sample          // what earlier runs took, the newest first

	titles map[string]string        // of the batches, by key
	said   map[string]time.Duration // what the plan says that batches take, by key

	Memory func() (uint64, error) // how much memory is available, in bytes; nil is [AvailableMemory]
}

// mode is the mode that was asked for, "" for none.
func (o Options) mode() Mode {
	if o.Mode == "auto" {
		return ""
	}
	return Mode(o.Mode)
}

// check refuses what no decision can be made with.
func (o Options) check() error {
	switch o.mode() {
	case "", Headless, Team:
	default:
		return fmt.Errorf("--mode %s: there is no such mode; modes are auto, headless and team", o.Mode)
	}
	if o.Workers < 0 {
		return fmt.Errorf("--workers %d: at least one worker is needed", o.Workers)
	}
	if o.Rules.MaxWorkers < 1 {
		return fmt.Errorf("routing.max_workers = %d: at least one worker is needed", o.Rules.MaxWorkers)
	}
	if !(o.Rules.WorkerMemGB > 0) || math.IsInf(o.Rules.WorkerMemGB, 0) {
		return fmt.Errorf("routing.worker_mem_threshold_gb = %v: a worker needs some memory", o.Rules.WorkerMemGB)
	}
	return nil
}

// EmptyNote is printed for a batch without content (PLAN-03).
const EmptyNote = "(empty batch -- skipping)"

// Decide routes p: in which mode, in which order, by how many workers and on which models, each with the reasons
// (ROUTE-01). Errors name the plan's line, or the flag or setting, that is to blame.
//
// The graph, the score and all that goes with them describe the plan whatever the mode. What batches wait for is the
// graph's affair in team mode alone; in headless mode each waits for the one before.
func Decide(p *planparse.Plan, o Options) (Decision, error) {
	if o.Rules == (Rules{}) {
		o.Rules = DefaultRules()
	}
	if err := o.check(); err != nil {
		return Decision{}, err
	}
	from, to, err := bounds(p, o)
	if err != nil {
		return Decision{}, err
	}
	g, err := dependencies(p)
	if err != nil {
		return Decision{}, err
	}
	d := Decision{Mode: Headless, Workers: 1, Reasons: []string{}, Steps: make([]Step, len(p.Batches))}
	runs := make([]bool, len(p.Batches))
	for i := range p.Batches {
		s := Step{Batch: p.Batches[i].Key, Early: []string{}}
		if s.Skip, err = skip(p, &p.Batches[i], i, from, to, o.Env); err != nil {
			return Decision{}, err
		}
		runs[i] = s.Skip == ""
		d.Steps[i] = s
	}
	unasked(p, d.Steps)
	// The score is about the plan. What is asked for comes after it.
	s := layoutOf(g, runs)
	if err := o.tiers(p, d.Steps); err != nil {
		return Decision{}, err
	}
	o.titles, o.said = map[string]string{}, map[string]time.Duration{}
	for i := range p.Batches {
		b := &p.Batches[i]
		o.titles[b.Key] = b.Title
		if b.EstimateMS > 0 {
			o.said[b.Key] = time.Duration(b.EstimateMS) * time.Millisecond
		}
	}
	j := &judge{o: o, d: &d, s: s}
	j.memory()
	expect := o.remembered()
	took := func(i int) time.Duration {
		t, _ := expect(d.Steps[i])
		return t
	}
	if d.Score, err = s.scoreOf(o.Rules, j.could(), took); err != nil {
		return Decision{}, err
	}
	if o.SequentialAfter != "" {
		last, err := find(p, "--sequential-after", o.SequentialAfter)
		if err != nil {
			return Decision{}, err
		}
		g.sequentialAfter(last)
		s = layoutOf(g, runs)
		j.s = s
	}
	j.describe()
	j.facts()
	if err := j.mode(); err != nil {
		return Decision{}, err
	}
	j.workers()
	j.steps()
	o.estimate(&d)
	j.advise()
	return d, nil
}

func skip(p *planparse.Plan, b *planparse.Batch, i, from, to int, env map[string]string) (string, error) {
	switch {
	case i < from || i > to:
		return "outside --from/--to", nil
	case b.Empty:
		return EmptyNote, nil
	case b.Done():
		return "all of it is ticked off in the plan", nil
	case b.Checkpoint != nil:
		return "a checkpoint: a person is asked before batch " + b.Checkpoint.At + " is merged", nil
	}
	for _, when := range []string{p.Header.When, b.When} {
		if when == "" {
			continue
		}
		ok, err := Holds(when, FactsOf(b, env))
		if err != nil {
			return "", fmt.Errorf("line %d: batch %s: when: %w", b.StartLine, b.Number, err)
		}
		if !ok {
			return "its condition does not hold: " + when, nil
		}
	}
	return "", nil
}

// unasked says of which checkpoints nobody is asked, since the batch that would wait for the person is not run.
func unasked(p *planparse.Plan, steps []Step) {
	for i := range p.Batches {
		c := p.Batches[i].Checkpoint
		if c == nil || !strings.HasPrefix(steps[i].Skip, "a checkpoint") {
			continue
		}
		if at := slices.IndexFunc(steps, func(s Step) bool { return s.Batch == c.At }); at < 0 {
			steps[i].Skip = "a checkpoint, and nobody is asked: the plan has no other batch"
		} else if steps[at].Skip != "" {
			steps[i].Skip = "a checkpoint, and nobody is asked: batch " + c.At + ", before which a person would be, is not run"
		}
	}
}

func bounds(p *planparse.Plan, o Options) (from, to int, err error) {
	to = len(p.Batches) - 1
	if o.From != "" {
		if from, err = find(p, "--from", o.From); err != nil {
			return 0, 0, err
		}
	}
	if o.To != "" {
		if to, err = find(p, "--to", o.To); err != nil {
			return 0, 0, err
		}
	}
	if from > to && len(p.Batches) > 0 {
		return 0, 0, fmt.Errorf("--from %s comes after --to %s in the plan", o.From, o.To)
	}
	return from, to, nil
}

// find takes a key, or else a number, of which the first counts; "B3" is read as "3".
func find(p *planparse.Plan, flag, name string) (int, error) {
	key := func(b *planparse.Batch) string { return b.Key }
	number := func(b *planparse.Batch) string { return b.Number }
	for _, want := range []string{name, strings.TrimLeft(name, "Bb")} {
		for _, of := range []func(*planparse.Batch) string{key, number} {
			for i := range p.Batches {
				if want != "" && of(&p.Batches[i]) == want {
					return i, nil
				}
			}
		}
	}
	keys := make([]string, len(p.Batches))
	for i := range p.Batches {
		keys[i] = p.Batches[i].Key
	}
	return 0, fmt.Errorf("%s %s: the plan has no such batch; it has %s", flag, name, strings.Join(keys, ", "))
}
