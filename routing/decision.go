package routing

import (
	"time"

	"github.com/runplan/runplan/internal/layered"
	"github.com/runplan/runplan/internal/lists"
)

// Decision describes how to run a plan, and why. Lists are in plan order unless stated otherwise.
type Decision struct {
	Mode    Mode     `json:"mode"`
	Workers int      `json:"workers"` // maximum of concurrent batches
	Steps   []Step   `json:"steps"`
	Reasons []string `json:"reasons"` // of the mode, strongest first
	// percent of the time that team mode would save, if it is possible and significant, but was not chosen
	TeamSaves float64 `json:"team_saves_percent,omitempty"`

	Score Score  `json:"score"`
	Edges []Edge `json:"edges"` // of the dependency graph, by To and then From
	Pairs []Pair `json:"pairs"` // independent pairs and separated pairs, with reasons
	// independent pairs omitted because the list is too long
	PairsLeftOut int        `json:"pairs_left_out,omitempty"`
	Groups       [][]string `json:"groups"` // batches that may run concurrently, level by level
	Width        []string   `json:"width"`  // largest set of batches that may run concurrently
	// one entry for each batch that waits only for another batch's gates
	Speculation []Speculation `json:"speculation"`
	Estimate    Estimate      `json:"estimate"`
	Memory      Memory        `json:"memory"`
	Files       int           `json:"files"`           // number of files that the plan names
	Overlap     float64       `json:"average_overlap"` // percent, over all pairs of batches with files (TEAM-05)
}

// Step is one batch of a decision.
type Step struct {
	Batch string   `json:"batch"` // key
	Needs []string `json:"needs"` // keys of batches that must merge first
	Early []string `json:"early"` // members of Needs on whose candidates it may start during their gates (TEAM-04)
	Skip  string   `json:"skip,omitempty"`

	Class      Class         `json:"class"`
	Confidence int           `json:"confidence"` // of the class, percent
	Why        string        `json:"why"`        // of the class, for people: "creates 4 files"
	Tier       string        `json:"tier"`       // small, medium or large
	Label      string        `json:"label"`      // name of the tier in the configuration: "sonnet"
	Model      string        `json:"model"`      // model of the tier in the configuration; "" lets the agent choose
	Escalates  bool          `json:"escalates"`  // a failure moves it up one tier
	Expected   time.Duration `json:"expected"`   // of agent and gates, from history; 0 is unknown
	Costs      *float64      `json:"costs_usd"`  // of one attempt, from history; null is unknown
}

// Edge is a dependency: To needs From.
type Edge struct {
	From   string   `json:"from"`
	To     string   `json:"to"`
	Kind   EdgeKind `json:"kind"`
	Reason string   `json:"reason"` // for people: "context_refs names src/a.go, which B1 creates"
	Line   int      `json:"line"`   // of the plan, 0 if it has none
}

// EdgeKind is the kind of evidence for a dependency.
type EdgeKind string

// The kinds of edges, strongest first.
const (
	EdgeDeclared   EdgeKind = "declared"   // depends_on, Consumes:, or a header
	EdgeContext    EdgeKind = "context"    // context_refs names a file that the other batch creates or changes
	EdgeFiles      EdgeKind = "files"      // both change the same file
	EdgeText       EdgeKind = "text"       // its text names a file, module or identifier that the other batch creates
	EdgeRuntime    EdgeKind = "runtime"    // both use the same state outside the files: a port, a database, a service
	EdgeWave       EdgeKind = "wave"       // a later wave or phase of an ordered plan
	EdgeOrder      EdgeKind = "order"      // no evidence of independence, so the plan's order holds
	EdgeSequential EdgeKind = "sequential" // requested: headless mode or --sequential-after
)

// Pair is a pair of batches without a path between them, and the evidence that they may run together.
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
	Terms  []string  `json:"terms"` // terms of the built-in formula, each with its evidence
	Plus   []string  `json:"plus"`
	Minus  []string  `json:"minus"`
	Source string    `json:"source"` // the expression that computed it
}

// ScoreFact holds the inputs of the score.
type ScoreFact struct {
	// share of the sequential time that W workers save, by simulation over the graph, 0 to 1
	S float64 `json:"s" expr:"s"`
	M float64 `json:"m" expr:"m"` // maximum share that W workers can save: 1 - 1/W
	W int     `json:"w" expr:"w"` // number of workers
	Z float64 `json:"z" expr:"z"` // share of batches without file overlap or edge to a neighbor, 0 to 1
	G int     `json:"g" expr:"g"` // size of the first parallel group
	O float64 `json:"o" expr:"o"` // average overlap of the batches with files, 0 to 1
	H int     `json:"h" expr:"h"` // batches that share machine state with another one
	P int     `json:"p" expr:"p"` // 1 for a plan with parallel_safe
}

// Speculation says whether a batch starts while gates still check the batch on which it depends (TEAM-04).
type Speculation struct {
	Batch   string  `json:"batch"`
	On      string  `json:"on"`
	Overlap float64 `json:"overlap"` // percent
	Starts  bool    `json:"starts"`
	Reason  string  `json:"reason,omitempty"` // why it waits; empty if the overlap is the reason
}

// Class is the kind of work of a batch, which decides its model (ROUTE-12).
type Class string

// The classes.
const (
	Implementation Class = "implementation" // creates or modifies code
	Verification   Class = "verification"   // only runs commands
	Architecture   Class = "architecture"   // designs
	Wiring         Class = "wiring"         // connects existing parts, without new logic
)

// Estimate compares a concurrent run with a sequential one (ROUTE-15). Nil figures are unknown: no history.
type Estimate struct {
	Wall           *time.Duration `json:"wall"`
	WallSequential *time.Duration `json:"wall_sequential"`
	Cost           *float64       `json:"cost_usd"`
	CostSequential *float64       `json:"cost_usd_sequential"`
	SpeedUp        *float64       `json:"speed_up"` // predicted; without history, all batches count as equal
	Source         string         `json:"source"`   // "12 runs in the journal", or "no data"
}

// Memory is the memory data behind the number of workers (ROUTE-13, ROUTE-14).
type Memory struct {
	Available *uint64 `json:"available_bytes"` // nil if unknown
	PerWorker uint64  `json:"per_worker_bytes"`
	OK        bool    `json:"ok"` // enough for team mode
	Note      string  `json:"note,omitempty"`
}

// Step returns the step of the batch with the given key.
func (d Decision) Step(key string) (Step, bool) {
	return lists.Find(d.Steps, func(s Step) bool { return s.Batch == key })
}

// CriticalPath returns the chain of batches that limits the duration of a run with any number of workers. This is the
// chain with the longest expected duration, or, without history, with the most batches. Skipped batches have no
// duration and are not in the chain.
func (d Decision) CriticalPath() []string {
	index := lists.Index(d.Steps, func(s Step) string { return s.Batch })
	weight, needs := make([]int64, len(d.Steps)), make([][]int, len(d.Steps))
	known := true
	for i, s := range d.Steps {
		if s.Skip == "" {
			weight[i] = int64(s.Expected)
			known = known && s.Expected > 0
		}
	}
	for i, s := range d.Steps {
		if !known && s.Skip == "" {
			weight[i] = 1
		}
	}
	for _, e := range d.Edges {
		from, ok := index[e.From]
		to, there := index[e.To]
		if ok && there {
			needs[to] = append(needs[to], from)
		}
	}
	path := []string{}
	for _, i := range layered.Longest(needs, weight) {
		if weight[i] > 0 {
			path = append(path, d.Steps[i].Batch)
		}
	}
	return path
}
