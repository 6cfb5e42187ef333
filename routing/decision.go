package routing

import (
	"slices"
	"time"
)

// Decision says how a plan is run, and why. All of it is in plan order unless said otherwise.
type Decision struct {
	Mode    Mode     `json:"mode"`
	Workers int      `json:"workers"` // batches that agents may work on at the same time
	Steps   []Step   `json:"steps"`
	Reasons []string `json:"reasons"` // of the mode, the strongest first

	Score        Score         `json:"score"`
	Edges        []Edge        `json:"edges"`                    // of the dependency graph, by To and then From
	Pairs        []Pair        `json:"pairs"`                    // pairs that were found to be independent, or were kept apart, with the reason
	PairsLeftOut int           `json:"pairs_left_out,omitempty"` // independent pairs beyond the first thousands
	Groups       [][]string    `json:"groups"`                   // batches that may run at the same time, level by level
	Width        []string      `json:"width"`                    // the largest set that may run at the same time
	Speculation  []Speculation `json:"speculation"`              // one line for each batch that waits for just one other's gates
	Estimate     Estimate      `json:"estimate"`
	Memory       Memory        `json:"memory"`
	Files        int           `json:"files"`           // that the plan names
	Overlap      float64       `json:"average_overlap"` // percent, over all pairs of batches that name files (TEAM-05)
}

// Step is one batch of a decision.
type Step struct {
	Batch string   `json:"batch"` // key
	Needs []string `json:"needs"` // keys of batches that have to be merged before
	Early []string `json:"early"` // those of Needs on whose candidate it may start while their gates still run (TEAM-04)
	Skip  string   `json:"skip,omitempty"`

	Class      Class         `json:"class"`
	Confidence int           `json:"confidence"` // of the class, percent
	Why        string        `json:"why"`        // of the class, for people: "creates 4 files"
	Tier       string        `json:"tier"`       // small, medium or large
	Label      string        `json:"label"`      // the tier as the configuration calls it: "sonnet"
	Model      string        `json:"model"`      // what the tier stands for in the configuration; "" leaves it to the agent
	Escalates  bool          `json:"escalates"`  // a failure moves it one tier up
	Expected   time.Duration `json:"expected"`   // of its agent and gates, from history; 0 is unknown
	Costs      *float64      `json:"costs_usd"`  // of one attempt, from history; null is unknown
}

// Edge is a dependency: To needs From.
type Edge struct {
	From   string   `json:"from"`
	To     string   `json:"to"`
	Kind   EdgeKind `json:"kind"`
	Reason string   `json:"reason"` // for people: "context_refs names src/a.go, which B1 creates"
	Line   int      `json:"line"`   // of the plan, 0 where no line says it
}

// EdgeKind says what proves, or suggests, a dependency.
type EdgeKind string

// The kinds of edges, the strongest first.
const (
	EdgeDeclared   EdgeKind = "declared"   // depends_on, Consumes:, or a header that says so
	EdgeContext    EdgeKind = "context"    // context_refs names a file that the other one makes or changes
	EdgeFiles      EdgeKind = "files"      // both change the same file
	EdgeText       EdgeKind = "text"       // its text names a file, module or identifier that the other one creates
	EdgeRuntime    EdgeKind = "runtime"    // both touch the same state outside of the files: a port, a database, a service
	EdgeWave       EdgeKind = "wave"       // a later wave or phase of a plan that is ordered by them
	EdgeOrder      EdgeKind = "order"      // nothing proves independence, so the plan's order holds
	EdgeSequential EdgeKind = "sequential" // asked for: headless mode or --sequential-after
)

// Pair is a pair of batches without a way from one to the other, and what shows that they may run together.
type Pair struct {
	A       string  `json:"a"`
	B       string  `json:"b"`
	Overlap float64 `json:"overlap"` // percent (TEAM-05)
	Reason  string  `json:"reason"`
}

// Score is the parallelism score of a plan (ROUTE-03, ROUTE-04).
type Score struct {
	Value  int       `json:"value"` // 0 to 100
	Facts  ScoreFact `json:"facts"`
	Terms  []string  `json:"terms"` // what the built-in formula adds up, each with its evidence
	Plus   []string  `json:"plus"`
	Minus  []string  `json:"minus"`
	Source string    `json:"source"` // the expression it was computed with
}

// ScoreFact is what the score is made of.
type ScoreFact struct {
	S float64 `json:"s" expr:"s"` // what W workers save of the time of one, by simulation over the graph, 0 to 1
	M float64 `json:"m" expr:"m"` // what W workers could save at most: 1 - 1/W
	W int     `json:"w" expr:"w"` // workers that would be used
	Z float64 `json:"z" expr:"z"` // share of batches with no file overlap and no edge to a neighbour, 0 to 1
	G int     `json:"g" expr:"g"` // size of the first parallel group
	O float64 `json:"o" expr:"o"` // average overlap of the batches that name files, 0 to 1
	H int     `json:"h" expr:"h"` // batches that share state of the machine with another one
	P int     `json:"p" expr:"p"` // 1 for a plan that says parallel_safe
}

// Speculation says whether a batch starts while the gates of the one it needs still run (TEAM-04).
type Speculation struct {
	Batch   string  `json:"batch"`
	On      string  `json:"on"`
	Overlap float64 `json:"overlap"` // percent
	Starts  bool    `json:"starts"`
	Reason  string  `json:"reason,omitempty"` // why it waits, where that is not the overlap
}

// Class is what kind of work a batch is, as far as the choice of a model goes (ROUTE-12).
type Class string

// The classes.
const (
	Implementation Class = "implementation" // creates or modifies code
	Verification   Class = "verification"   // only runs commands
	Architecture   Class = "architecture"   // decides how things are to be
	Wiring         Class = "wiring"         // connects what is there, without new logic
)

// Estimate compares a run of several workers with one after the other (ROUTE-15). A nil figure is unknown: no history.
type Estimate struct {
	Wall           *time.Duration `json:"wall"`
	WallSequential *time.Duration `json:"wall_sequential"`
	Cost           *float64       `json:"cost_usd"`
	CostSequential *float64       `json:"cost_usd_sequential"`
	SpeedUp        *float64       `json:"speed_up"` // predicted; without history, all batches count as equally long
	Source         string         `json:"source"`   // "12 runs in the journal", or "no data"
}

// Memory is what the worker count rests on (ROUTE-13, ROUTE-14).
type Memory struct {
	Available *uint64 `json:"available_bytes"` // nil when it could not be read
	PerWorker uint64  `json:"per_worker_bytes"`
	OK        bool    `json:"ok"` // for team mode
	Note      string  `json:"note,omitempty"`
}

// Step returns the step of the batch with the given key.
func (d Decision) Step(key string) (Step, bool) {
	for _, s := range d.Steps {
		if s.Batch == key {
			return s, true
		}
	}
	return Step{}, false
}

// CriticalPath returns the batches that bound the time of a run, however many workers there are: the chain of the graph
// that is expected to take the longest, or of the most batches where there is no history. Batches that are left out take
// no time, and are not named.
func (d Decision) CriticalPath() []string {
	needs, took := map[string][]string{}, map[string]time.Duration{}
	known := true
	for _, s := range d.Steps {
		if s.Skip == "" {
			took[s.Batch] = s.Expected
			known = known && s.Expected > 0
		}
	}
	if !known {
		for key := range took {
			took[key] = 1
		}
	}
	for _, e := range d.Edges {
		needs[e.To] = append(needs[e.To], e.From)
	}
	ends, before := map[string]time.Duration{}, map[string]string{}
	var end func(key string) time.Duration
	end = func(key string) time.Duration {
		if t, ok := ends[key]; ok {
			return t
		}
		ends[key] = 0 // a decision has no circles; one that was put together by hand ends all the same
		start := time.Duration(0)
		for _, n := range needs[key] {
			if t := end(n); t > start {
				start, before[key] = t, n
			}
		}
		ends[key] = start + took[key]
		return ends[key]
	}
	last, most := "", time.Duration(0)
	for _, s := range d.Steps {
		if t := end(s.Batch); t > most {
			last, most = s.Batch, t
		}
	}
	path := []string{}
	for key := last; key != ""; key = before[key] {
		if _, runs := took[key]; runs {
			path = append(path, key)
		}
	}
	slices.Reverse(path)
	return path
}
