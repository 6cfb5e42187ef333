// Package routing decides how to run a plan: its mode, its order, and the batches to skip.
//
// A decision includes its reasons. Without evidence that two batches are independent, they run sequentially in
// plan order.
//
// A decision takes four steps. The graph collects the dependencies in the plan: its declarations, the files of batches,
// the names in their texts. The layout derives from them which batch waits for which, and how many may run
// concurrently. The score reduces this to a number, and rules, which may be expressions in the settings, choose the
// mode. Finally, classes give each batch a model.
package routing

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/condition"
	"github.com/runplan/runplan/planparse"
)

// Mode says whether batches run concurrently.
type Mode string

// The modes. Headless runs one batch at a time; team runs several, each in its own worktree.
const (
	Headless Mode = "headless"
	Team     Mode = "team"
)

// Options are the inputs of a decision besides the plan.
type Options struct {
	From, To string            // numbers or keys of the first and last batch to run; "" sets no bound
	Env      map[string]string // variables that conditions may read as env.NAME

	Mode            string // "headless" or "team" requests a mode; "auto" or "" lets the rules decide
	Workers         int    // overrides the settings and the memory limit; 0 if not given
	NoSpeculate     bool   // no batch starts on an ungated candidate
	SequentialAfter string // number or key of the last batch that may run in parallel with others (TEAM-06); "" if none
	TeamsEnabled    bool   // the rules may choose team mode

	Rules         Rules             // the zero value means [DefaultRules]
	Models        map[string]string // the used agent's model of each tier
	ModelOverride map[string]string // by batch key or number: a tier, an alias or one of Models
	History       []Sample          // figures of earlier runs, newest first

	// HasGo reports whether a folder of the repository has Go files, so that no batch creates its package. nil means
	// that the repository is unknown.
	HasGo func(folder string) bool

	titles map[string]string        // of the batches, by key
	said   map[string]time.Duration // durations stated in the plan, by key

	Memory func() (uint64, error) // available memory in bytes; nil is [AvailableMemory]
}

// mode returns the requested mode, "" if there is none.
func (o Options) mode() Mode {
	if o.Mode == "auto" {
		return ""
	}
	return Mode(o.Mode)
}

// check rejects invalid options.
func (o Options) check() error {
	switch o.mode() {
	case "", Headless, Team:
	default:
		return fmt.Errorf("--mode %s: unknown mode; modes are auto, headless and team", o.Mode)
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

// Decide routes p: it chooses the mode, the order, the number of workers and the models, each with reasons
// (ROUTE-01). Errors name the faulty line of the plan, flag or setting.
//
// The graph and the score describe the plan independently of the mode. Only in team mode do batches wait according
// to the graph; in headless mode each batch waits for the previous one.
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
	g, err := dependencies(p, o.HasGo)
	if err != nil {
		return Decision{}, err
	}
	d := Decision{Mode: Headless, Reasons: []string{}, Steps: make([]Step, len(p.Batches))}
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
	// The score describes the plan; the options come later.
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
	o.expected(d.Steps)
	j := &judge{o: o, d: &d, s: s}
	j.memory()
	took := func(i int) time.Duration { return d.Steps[i].Expected }
	if d.Score, err = s.scoreOf(o.Rules, j.could(), took); err != nil {
		return Decision{}, err
	}
	if o.SequentialAfter != "" {
		found, err := find(p, "--sequential-after", o.SequentialAfter)
		if err != nil {
			return Decision{}, err
		}
		g.sequentialAfter(found[len(found)-1])
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
	d.Estimate = o.estimateOf(d.Steps, d.Workers)
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
			return "its condition is false: " + when, nil
		}
	}
	return "", nil
}

// unasked updates the skip reason of checkpoints whose question is never asked, because the batch that would wait
// is not run.
func unasked(p *planparse.Plan, steps []Step) {
	for i := range p.Batches {
		c := p.Batches[i].Checkpoint
		if c == nil || !strings.HasPrefix(steps[i].Skip, "a checkpoint") {
			continue
		}
		if at := slices.IndexFunc(steps, func(s Step) bool { return s.Batch == c.At }); at < 0 {
			steps[i].Skip = "a checkpoint without effect: the plan has no other batch"
		} else if steps[at].Skip != "" {
			steps[i].Skip = "a checkpoint without effect: batch " + c.At + ", which would wait for a person, is not run"
		}
	}
}

func bounds(p *planparse.Plan, o Options) (from, to int, err error) {
	to = len(p.Batches) // above all indexes
	if o.From != "" {
		found, err := find(p, "--from", o.From)
		if err != nil {
			return 0, 0, err
		}
		from = found[0]
	}
	if o.To != "" {
		found, err := find(p, "--to", o.To)
		if err != nil {
			return 0, 0, err
		}
		to = found[len(found)-1]
	}
	if from > to {
		return 0, 0, fmt.Errorf("--from %s is after --to %s in the plan", o.From, o.To)
	}
	return from, to, nil
}

// find returns the index of the batch with a key, or else of the first one with a number; "B3" means "3". If there is
// neither, it returns the indexes of the parts of a batch: "4" means "4a" and "4b", or "4.1" and "4.2". They ascend.
func find(p *planparse.Plan, flag, name string) ([]int, error) {
	key := func(b *planparse.Batch) string { return b.Key }
	number := func(b *planparse.Batch) string { return b.Number }
	for _, want := range []string{name, strings.TrimLeft(name, "Bb")} {
		for _, of := range []func(*planparse.Batch) string{key, number} {
			for i := range p.Batches {
				if want != "" && of(&p.Batches[i]) == want {
					return []int{i}, nil
				}
			}
		}
	}
	var parts []int
	whole := strings.TrimLeft(name, "Bb")
	keys := make([]string, len(p.Batches))
	for i := range p.Batches {
		keys[i] = p.Batches[i].Key
		rest, ok := strings.CutPrefix(p.Batches[i].Number, whole)
		if ok && rest != "" && whole != "" && !strings.ContainsAny(rest[:1], "0123456789") {
			parts = append(parts, i)
		}
	}
	if len(parts) > 0 {
		return parts, nil
	}
	return nil, fmt.Errorf("%s %s: the plan has no such batch; it has %s", flag, name, strings.Join(keys, ", "))
}

// Rules holds the figures and expressions for decisions (ROUTE-07, ROUTE-16). They come from the section [routing] of
// the settings; [DefaultRules] returns the defaults.
type Rules struct {
	ParallelScoreThreshold int     // team mode needs a score above it
	SpeculateMaxOverlap    int     // percent of shared files from which on a batch waits for the gates of another one
	WorkerMemGB            float64 // memory that one worker needs
	MaxWorkers             int
	Speculate              bool // whether batches may start on candidates that have not passed their gates

	// Expressions of the user's; "" is the built-in rule.
	Score string // a number from 0 to 100, over [ScoreFact]
	Team  string // yes or no
	Class string // the name of a class, over [ClassFact]

	// The tiers of the classes, by tier or alias.
	ModelImplementation string
	ModelVerification   string
	ModelArchitecture   string
	ModelWiring         string
	Escalate            bool // a failed batch is tried again one tier up
}

// Check compiles the expressions and looks up the tiers. key is the setting of an error.
func (r Rules) Check() (key string, err error) {
	if _, err := condition.ParseNumber[ScoreFact](cmp.Or(r.Score, DefaultScore)); err != nil {
		return "routing.score", fmt.Errorf("routing.score: %w", err)
	}
	if _, err := condition.Parse[TeamFact](cmp.Or(r.Team, DefaultTeam)); err != nil {
		return "routing.team", fmt.Errorf("routing.team: %w", err)
	}
	if _, err := condition.ParseText[ClassFact](cmp.Or(r.Class, `""`)); err != nil {
		return "routing.class", fmt.Errorf("routing.class: %w", err)
	}
	for _, c := range []Class{Implementation, Verification, Architecture, Wiring} {
		key, label := r.model(c)
		if _, ok := TierOf(label); !ok {
			return key, unknownTier(key, label)
		}
	}
	return "", nil
}

// DefaultRules returns the rules of a project that sets nothing.
func DefaultRules() Rules {
	return Rules{
		ParallelScoreThreshold: 60, SpeculateMaxOverlap: 20, WorkerMemGB: 8, MaxWorkers: 3, Speculate: true,
		ModelImplementation: "medium", ModelVerification: "small", ModelArchitecture: "large", ModelWiring: "small",
		Escalate: true,
	}
}
