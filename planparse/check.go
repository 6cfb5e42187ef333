package planparse

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lists"
)

// Report is the assessment of a plan: whether it is valid, its quality score, and how to improve it.
type Report struct {
	Valid       bool         `json:"valid"`
	Score       int          `json:"score"` // 0 to 100, the sum of the points
	Dimensions  []Dimension  `json:"dimensions"`
	Advice      []Advice     `json:"advice"`
	Diagnostics []Diagnostic `json:"diagnostics"`
	Coverage    *Coverage    `json:"coverage,omitempty"` // set if the plan's text is known
	Outline     string       `json:"outline,omitempty"`  // if the file is probably not a plan: a draft made from it
}

// Dimension is one aspect of quality. All weights sum to 100.
type Dimension struct {
	Name   string `json:"name"`
	Weight int    `json:"weight"`
	Points int    `json:"points"`
	Reason string `json:"reason"`
}

// Advice is a suggested change. It never changes the plan.
type Advice struct {
	Code    string `json:"code"`
	Batch   string `json:"batch,omitempty"` // key, "" for the whole plan
	Line    int    `json:"line"`
	Message string `json:"message"`
}

// Check assesses a plan. It treats finished batches like all others.
func Check(p *Plan) Report {
	c := checker{plan: p, report: Report{Valid: len(p.Errors()) == 0, Diagnostics: p.Diagnostics}}
	c.dimensions()
	for _, d := range c.report.Dimensions {
		c.report.Score += d.Points
	}
	c.advice()
	c.cases()
	c.report.Advice = filled(c.report.Advice)
	return c.report
}

type checker struct {
	plan   *Plan
	report Report
}

// dimension adds an aspect of quality. good is the number of cases that satisfy it, and all the number of all cases. If
// the plan has no such case, the aspect does not apply and gets full points. A plan without batches gets no points.
func (c *checker) dimension(name string, weight, good, all int, cases, fine string) {
	d := Dimension{Name: name, Weight: weight, Reason: fmt.Sprintf("%d of %d %s %s", good, all, cases, fine)}
	switch {
	case all > 0:
		d.Points = int(math.Round(float64(weight) * float64(good) / float64(all)))
	case len(c.plan.Batches) > 0:
		d.Points, d.Reason = weight, "does not apply: there are no "+cases
	}
	c.report.Dimensions = append(c.report.Dimensions, d)
}

func (c *checker) dimensions() {
	small, tasks := 0, 0
	position := map[string]int{}
	for i, b := range c.plan.Batches {
		position[b.Key] = i
		tasks += len(b.Tasks)
		small += lists.Count(b.Tasks, func(t Task) bool { return t.EndLine-t.Line <= 100 })
	}
	n := len(c.plan.Batches)
	count := func(is func(b *Batch) bool) int {
		return lists.Count(c.plan.Batches, func(b Batch) bool { return is(&b) })
	}
	changes := func(b *Batch) bool { return len(b.Files.Create)+len(b.Files.Modify) > 0 && TypeOf(*b) != TypeTestOnly }
	c.dimension("granularity", 20, small, tasks, "tasks", "take at most 100 lines")
	c.dimension("verification", 20, count(verifies), n, "batches", "have a check of their outcome")
	c.dimension("files", 15, count(namesFiles), n, "batches",
		"name the files they touch, in a list, in their text or in the blocks that they spell out")
	if tasks == 0 { // such a plan has only batches
		c.dimension("batch-size", 10, 0, 0, "tasks", "are in batches of one to five")
	} else {
		c.dimension("batch-size", 10, count(func(b *Batch) bool { return len(b.Tasks) >= 1 && len(b.Tasks) <= 5 }), n,
			"batches", "have one to five tasks")
	}
	c.dimension("order", 10, count(func(b *Batch) bool {
		return !slices.ContainsFunc(b.DependsOn, func(key string) bool { return position[key] > position[b.Key] })
	}), n, "batches", "depend on earlier ones only")
	c.dimension("tests", 15, count(func(b *Batch) bool {
		return changes(b) && (len(b.Files.Test) > 0 || strings.Contains(strings.ToLower(b.Text), "test"))
	}), count(changes), "batches that list code to change", "say how it is tested")
	c.dimension("single-outcome", 10, count(func(b *Batch) bool {
		return !containsAny(b.Title, " and then ", " + ", " & ", ";") // the words that join two tasks
	}), n, "batch titles", "name one outcome")
}

// verifies reports whether the batch names a command or at least a visible result.
func verifies(b *Batch) bool {
	return len(b.Commands) > 0 || namesCheck(strings.ToLower(b.Text)) ||
		slices.ContainsFunc(b.Blocks, func(k Block) bool { return k.Kind == BlockTestscript })
}

func namesFiles(b *Batch) bool {
	if len(b.Files.All()) > 0 ||
		slices.ContainsFunc(b.Blocks, func(k Block) bool { return k.Path != "" || k.Kind == BlockDiff }) {
		return true
	}
	for from, to := range SpansAt(b.Text) {
		if span := b.Text[from:to]; looksLikePath(span) && strings.ContainsAny(span, "/.") {
			return true
		}
	}
	return false
}

// BatchType is the kind of work in a batch; it selects the variants for sampling.
type BatchType string

// The types of batches.
const (
	TypeNewFile     BatchType = "new-file"
	TypeRefactoring BatchType = "refactoring"
	TypeWiring      BatchType = "integration-wiring"
	TypeTestOnly    BatchType = "test-only"
)

// TypeOf classifies a batch by its title and its files.
func TypeOf(b Batch) BatchType {
	title := strings.ToLower(b.Title)
	code, tests := 0, len(b.Files.Test)
	for _, list := range [][]string{b.Files.Create, b.Files.Modify, b.Files.Delete} {
		for _, path := range list {
			if language.IsTest(path) {
				tests++
			} else {
				code++
			}
		}
	}
	switch {
	case containsAny(title, "integration wiring", "wire", "wiring", "hook up", "end-to-end", "glue") &&
		!strings.HasPrefix(title, "test"):
		return TypeWiring
	case code == 0 && (tests > 0 || containsAny(title, "test", "coverage", "verif")):
		return TypeTestOnly
	case strings.Contains(title, "integrat"):
		return TypeWiring
	case containsAny(title, "refactor", "rename", "extract", "clean up", "migrate", "simplify", "reorgani"):
		return TypeRefactoring
	case len(b.Files.Create) > 0 || len(b.Files.Modify)+len(b.Files.Delete) == 0:
		return TypeNewFile
	}
	return TypeRefactoring
}

// ConcernBatched reports whether the plan first builds everything and then tests everything. Such batches cannot be
// verified before they are merged, and do not run well in parallel. A plan with only one final batch that verifies the
// whole does not count.
func ConcernBatched(p *Plan) bool {
	built, tests := 0, 0
	for i, b := range p.Batches {
		if i == len(p.Batches)-1 && tests == 0 && verifiesAll(b.Title) {
			break
		}
		switch TypeOf(b) {
		case TypeTestOnly:
			// running existing tests does not count
			if len(b.Files.Create)+len(b.Files.Modify)+len(b.Files.Test) > 0 {
				tests++
			}
		case TypeWiring: // the last batch of many good plans
		default:
			if tests > 0 || len(b.Files.Test) > 0 {
				return false
			}
			built++
		}
	}
	return built >= 2 && tests >= 1
}

// verifiesAll reports whether a title is about verifying the whole.
func verifiesAll(title string) bool {
	return containsAny(strings.ToLower(title), "verif", "validat", "final", "integration", "e2e", "end-to-end",
		"acceptance", "smoke", "regression", "trace", "audit")
}
