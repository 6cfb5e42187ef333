package plan

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/training"
)

// StageName is the name of this stage of the training modes (RETR-17).
const StageName = "log_analysis"

// Analysis is the result of analysing the evidence.
type Analysis struct {
	Name         string        `json:"name"`   // [StageName]
	Stages       []StageReport `json:"stages"` // all stages, in order
	Patterns     []Pattern     `json:"patterns"`
	Correlations []Correlation `json:"correlations"`
	Learned      Learned       `json:"learned"`
}

// StageReport rates one stage. Shares range from 0 (good) to 1; nil means too little data.
type StageReport struct {
	Stage    training.Stage `json:"stage"`
	Calls    int            `json:"calls"`
	Unusable int            `json:"unusable"` // unusable answers
	Won      int            `json:"won"`      // successful tasks that used the stage
	Lost     int            `json:"lost"`
	Examples Tally          `json:"examples"`
	Weakness *float64       `json:"weakness"` // mean of the failure shares
	Rests    []string       `json:"rests_on"`

	shares []share
}

// share is a success rate.
type share struct {
	metric string
	good   float64
	rests  string
}

// Pattern is a way in which attempts fail.
type Pattern struct {
	Name     string `json:"name"`
	Attempts int    `json:"attempts"`
	Of       int    `json:"of"` // failed attempts
}

// Correlation relates a figure of tasks to their success, from -1 to 1. It does not imply a cause.
type Correlation struct {
	Figure string   `json:"figure"`
	Tasks  int      `json:"tasks"`
	R      *float64 `json:"r"` // nil: too few tasks, or no variation
}

// Least numbers of items for a share and of tasks for a correlation.
const (
	fewest      = 5
	fewestTasks = 8
)

// Analyse finds weak stages, failure patterns, and correlations with success.
func Analyse(e Evidence) Analysis {
	reports := map[training.Stage]*StageReport{}
	for _, s := range training.Stages() {
		reports[s] = &StageReport{Stage: s, Examples: e.Examples[s]}
	}
	for _, c := range e.Calls {
		if s, ok := StageOf(c); ok {
			r := reports[s]
			r.Calls, r.Unusable = r.Calls+c.Calls, r.Unusable+c.Failed
			r.Won, r.Lost = r.Won+c.Tasks.Won, r.Lost+c.Tasks.Lost
		}
	}
	a := Analysis{Name: StageName, Learned: e.Learned, Patterns: patterns(e.Attempts), Correlations: correlations(e.Tasks)}
	for _, s := range training.Stages() {
		reports[s].judge()
		a.Stages = append(a.Stages, *reports[s])
	}
	return a
}

// judge computes the shares with enough data, and their mean.
func (r *StageReport) judge() {
	add := func(metric string, good, of float64, n int, text string, args ...any) {
		if n >= fewest {
			r.shares = append(r.shares, share{metric, good / of, fmt.Sprintf(text, args...)})
		}
	}
	add("answers_usable", float64(r.Calls-r.Unusable), float64(r.Calls), r.Calls, "%d of %d answers could be used",
		r.Calls-r.Unusable, r.Calls)
	ended := r.Won + r.Lost
	add("tasks_succeeded", float64(r.Won), float64(ended), ended, "%d of %d tasks with this stage succeeded", r.Won,
		ended)
	x := r.Examples
	add("quality", x.Quality, float64(x.Qualities), x.Qualities, "the quality of %d logged examples is %.3f on average",
		x.Qualities, x.Quality/float64(max(1, x.Qualities)))
	judged := x.LoggedPositive + x.LoggedNegative
	add("examples_positive", float64(x.LoggedPositive), float64(judged), judged, "%d of %d logged examples are positive",
		x.LoggedPositive, judged)
	if len(r.shares) == 0 {
		return
	}
	sum := 0.0
	for _, s := range r.shares {
		sum += 1 - s.good
		r.Rests = append(r.Rests, s.rests)
	}
	r.Weakness = new(round(sum / float64(len(r.shares))))
}

// Weakest returns the stage with the highest weakness, else the one with the most examples. ranked is true for the
// first case. ok is false without data.
func (a Analysis) Weakest() (r StageReport, ranked, ok bool) {
	for _, s := range a.Stages {
		if s.Weakness != nil && (r.Weakness == nil || *s.Weakness > *r.Weakness) {
			r, ranked, ok = s, true, true
		}
	}
	if ok {
		return r, true, true
	}
	for _, s := range a.Stages {
		if n := s.Examples.Count(); n > r.Examples.Count() {
			r, ok = s, true
		}
	}
	return r, ranked, ok
}

// Of returns the report of a stage.
func (a Analysis) Of(s training.Stage) StageReport {
	r := lists.First(a.Stages, func(r StageReport) bool { return r.Stage == s })
	r.Stage = s
	return r
}

// epochs is the number of epochs for a small dataset. More would overfit.
const epochs = 3

// Draft makes a plan for a stage from its report.
func (a Analysis) Draft(s training.Stage, seed uint64) Plan {
	r, p := a.Of(s), For(s)
	p.Seed = seed
	if x := r.Examples; x.Count() > 0 {
		p.Data.Sources = nil
		if x.Logged > 0 {
			p.Data.Sources = append(p.Data.Sources, training.Logged)
		}
		if x.Synthetic > 0 {
			p.Data.Sources = append(p.Data.Sources, training.Synthetic)
		}
		h := &p.Hyperparameters
		each := float64(h.BatchSize * h.GradientAccumulation)
		h.MaxSteps = max(1, min(h.MaxSteps,
			int(math.Ceil(float64(x.Positive+x.Preferences)*(1-p.Data.ValidationSplit)/each))*epochs))
		h.EvaluateEverySteps = max(1, min(h.EvaluateEverySteps, h.MaxSteps/5))
	}
	for _, sh := range r.shares {
		now := round(sh.good)
		// Aim for half of the missing share, which is reachable and leaves room for a second cycle.
		p.Improvements = append(p.Improvements,
			Improvement{Metric: sh.metric, Now: &now, Target: round(now + (1-now)/2), Rests: sh.rests})
	}
	return p
}

// patterns counts how attempts failed, most frequent first. An attempt may have several patterns.
func patterns(all []store.Attempt) []Pattern {
	failed, counts := 0, map[string]int{}
	for _, a := range all {
		if a.Success {
			continue
		}
		failed++
		ways := map[string]bool{
			"no change was made": !a.Applied,
			"not judged":         a.Unjudged && a.Applied,
			"tests failed":       len(a.FailingTests) > 0,
			"linter":             a.LintOutput != "",
			"types":              a.TypeOutput != "",
		}
		for _, t := range a.FailingTests {
			ways["test "+t] = true
		}
		for name, is := range ways {
			counts[name] += one(is)
		}
	}
	var out []Pattern
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		if counts[name] > 0 {
			out = append(out, Pattern{name, counts[name], failed})
		}
	}
	slices.SortStableFunc(out, func(a, b Pattern) int { return cmp.Compare(b.Attempts, a.Attempts) })
	return out[:min(len(out), 12)]
}

// correlations relates the figures of finished tasks to their success.
func correlations(tasks []store.TaskOutcome) []Correlation {
	figures := []struct {
		name string
		of   func(store.TaskOutcome) (float64, bool)
	}{
		{"attempts", func(t store.TaskOutcome) (float64, bool) { return float64(t.Attempts), true }},
		{"calls", func(t store.TaskOutcome) (float64, bool) { return float64(t.Calls), true }},
		{"tokens", func(t store.TaskOutcome) (float64, bool) {
			if t.Tokens == nil {
				return 0, false
			}
			return float64(*t.Tokens), true
		}},
		{"seconds", func(t store.TaskOutcome) (float64, bool) {
			if t.Latency == nil {
				return 0, false
			}
			return t.Latency.Seconds(), true
		}},
		{"size of the task's plan", func(t store.TaskOutcome) (float64, bool) { return float64(len(t.Plan)), t.Plan != "" }},
	}
	var out []Correlation
	for _, f := range figures {
		var x, y []float64
		for _, t := range tasks {
			if v, known := f.of(t); known && t.Success != nil {
				x, y = append(x, v), append(y, float64(one(*t.Success)))
			}
		}
		if len(x) > 0 {
			out = append(out, Correlation{f.name, len(x), pearson(x, y)})
		}
	}
	return out
}

// pearson returns the correlation of two series, or nil if it is undefined.
func pearson(x, y []float64) *float64 {
	n := float64(len(x))
	if len(x) < fewestTasks {
		return nil
	}
	var sx, sy float64
	for i := range x {
		sx, sy = sx+x[i], sy+y[i]
	}
	var xx, yy, xy float64
	for i := range x {
		dx, dy := x[i]-sx/n, y[i]-sy/n
		xx, yy, xy = xx+dx*dx, yy+dy*dy, xy+dx*dy
	}
	if xx == 0 || yy == 0 {
		return nil
	}
	r := round(xy / math.Sqrt(xx*yy))
	return &r
}

// round keeps three digits, so that plans are readable and equal on all machines.
func round(v float64) float64 { return math.Round(v*1000) / 1000 }
