package planparse

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/language"
)

// Report is the judgement on a plan: can it be run, how well is it cut, and what would make it better.
type Report struct {
	Valid       bool         `json:"valid"`
	Score       int          `json:"score"` // 0..100, the sum of the points
	Dimensions  []Dimension  `json:"dimensions"`
	Advice      []Advice     `json:"advice"`
	Diagnostics []Diagnostic `json:"diagnostics"`
	Coverage    *Coverage    `json:"coverage,omitempty"` // where the plan's text is known
	Outline     string       `json:"outline,omitempty"`  // of a file that is hardly a plan: what can be made of it
}

// Dimension is one aspect of quality. The weights add up to 100.
type Dimension struct {
	Name   string `json:"name"`
	Weight int    `json:"weight"`
	Points int    `json:"points"`
	Reason string `json:"reason"`
}

// Advice is a change that would help. It never changes the plan.
type Advice struct {
	Code    string `json:"code"`
	Batch   string `json:"batch,omitempty"` // key, "" where it is about the whole plan
	Line    int    `json:"line"`
	Message string `json:"message"`
}

// Check judges a plan. Batches that are done already are judged like the others: the plan is.
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

// dimension adds an aspect of which good of all cases are fine. Where a plan has no such case, the aspect does not apply
// and costs nothing; a plan without batches is no plan, and earns nothing.
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
	checked, named, sized, ordered, single, tested, creates := 0, 0, 0, 0, 0, 0, 0
	position := map[string]int{}
	for i, b := range c.plan.Batches {
		position[b.Key] = i
	}
	for i := range c.plan.Batches {
		b := &c.plan.Batches[i]
		for _, t := range b.Tasks {
			tasks++
			if t.EndLine-t.Line <= 100 {
				small++
			}
		}
		if verifies(b) {
			checked++
		}
		if namesFiles(b) {
			named++
		}
		if n := len(b.Tasks); n >= 1 && n <= 5 {
			sized++
		}
		if !slices.ContainsFunc(b.DependsOn, func(key string) bool { return position[key] > i }) {
			ordered++
		}
		if len(outcomes(b.Title)) < 2 {
			single++
		}
		if len(b.Files.Create)+len(b.Files.Modify) > 0 && TypeOf(*b) != TypeTestOnly {
			creates++
			if len(b.Files.Test) > 0 || strings.Contains(strings.ToLower(b.Text), "test") {
				tested++
			}
		}
	}
	n := len(c.plan.Batches)
	c.dimension("granularity", 20, small, tasks, "tasks", "take at most 100 lines")
	c.dimension("verification", 20, checked, n, "batches", "say how to check their outcome")
	c.dimension("files", 15, named, n, "batches", "name the files they touch, in a list, in their text or in the blocks that they spell out")
	c.dimension("batch-size", 10, sized, n, "batches", "hold one to five tasks")
	c.dimension("order", 10, ordered, n, "batches", "depend on earlier ones only")
	c.dimension("tests", 15, tested, creates, "batches that list code to change", "say how it is tested")
	c.dimension("single-outcome", 10, single, n, "batch titles", "name one outcome")
}

// verifies reports whether the batch names a command, or at least what is to be seen in the end.
func verifies(b *Batch) bool {
	if len(b.Commands) > 0 || slices.ContainsFunc(b.Blocks, func(k Block) bool { return k.Kind == BlockTestscript }) {
		return true
	}
	return namesCheck(strings.ToLower(b.Text))
}

func namesFiles(b *Batch) bool {
	f := &b.Files
	if len(f.Create)+len(f.Modify)+len(f.Test)+len(f.Delete) > 0 {
		return true
	}
	if slices.ContainsFunc(b.Blocks, func(k Block) bool { return k.Path != "" || k.Kind == BlockDiff }) {
		return true
	}
	for text := b.Text; ; {
		_, span, after, ok := cutSpan(text)
		if !ok {
			return false
		}
		if looksLikePath(span) && strings.ContainsAny(span, "/.") {
			return true
		}
		text = after
	}
}

// outcomes splits a title at what joins two things to do.
func outcomes(title string) []string {
	return strings.FieldsFunc(strings.NewReplacer(" and then ", ";", " + ", ";", " & ", ";").Replace(title), func(r rune) bool { return r == ';' })
}

// BatchType says what kind of work a batch is; the variants of sampling are chosen by it.
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
	case containsAny(title, "integration wiring", "wire", "wiring", "hook up", "end-to-end", "glue") && !strings.HasPrefix(title, "test"):
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

// ConcernBatched reports whether the plan is cut by concern: first everything is built, then everything is
// tested. Such batches can be judged by nothing when they land, and don't run well side by side. One last batch that verifies the whole
// is none of that: builds and then a verification.
func ConcernBatched(p *Plan) bool {
	built, tests := 0, 0
	for i, b := range p.Batches {
		if i == len(p.Batches)-1 && tests == 0 && verifiesAll(b.Title) {
			break
		}
		switch TypeOf(b) {
		case TypeTestOnly:
			if len(b.Files.Create)+len(b.Files.Modify)+len(b.Files.Test) > 0 { // to run what is there in the end is no concern of its own
				tests++
			}
		case TypeWiring: // the last batch of a good plan, whatever it is cut by
		default:
			if tests > 0 || len(b.Files.Test) > 0 {
				return false
			}
			built++
		}
	}
	return built >= 2 && tests >= 1
}

// verifiesAll reports whether a title speaks of looking at the whole.
func verifiesAll(title string) bool {
	return containsAny(strings.ToLower(title), "verif", "validat", "final", "integration", "e2e", "end-to-end", "acceptance", "smoke", "regression", "trace", "audit")
}
