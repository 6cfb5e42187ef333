package planparse

import (
	"fmt"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lists"
)

func (c *checker) advise(code string, b *Batch, format string, args ...any) {
	a := Advice{Code: code, Line: 1, Message: fmt.Sprintf(format, args...)}
	if b != nil {
		a.Batch, a.Line = b.Key, b.StartLine
	}
	c.report.Advice = append(c.report.Advice, a)
}

func (c *checker) advice() {
	if len(c.plan.Batches) == 0 {
		return
	}
	c.wiring()
	c.sharedFiles()
	c.testsBeforeCode()
	c.counts()
	c.batches()
	if ConcernBatched(c.plan) {
		c.advise("concern-batched", nil,
			"the plan builds everything first and tests it afterwards; give each batch its own tests")
	}
	for _, d := range c.plan.Diagnostics {
		switch d.Code {
		case "near-miss-heading", "near-miss-box", "unusual-box", "missing-separator", "unassigned-boxes":
			if d.Severity == SeverityError {
				continue // already reported as an error
			}
			c.report.Advice = append(c.report.Advice, Advice{Code: d.Code, Line: d.Line, Message: d.Message})
		}
	}
}

// wiring checks for a batch that connects the parts of a plan. Otherwise each part works but the product does not.
func (c *checker) wiring() {
	n := len(c.plan.Batches)
	if n >= 2 && slices.ContainsFunc(c.plan.Batches, func(b Batch) bool { return !b.Done() }) &&
		!slices.ContainsFunc(c.plan.Batches, func(b Batch) bool { return TypeOf(b) == TypeWiring }) {
		c.advise("no-wiring-batch", nil,
			"no batch of the %d connects the parts; add a last batch such as \"Integration wiring\"", n)
	}
}

// sharedFiles finds batches that touch the same file without an order between them, and files that are created twice.
func (c *checker) sharedFiles() {
	touches := map[string][]int{}
	var paths []string
	creates := map[string]int{}
	for i := range c.plan.Batches {
		b := &c.plan.Batches[i]
		for _, p := range b.Files.Create {
			if first, twice := creates[p]; twice {
				c.advise("duplicate-create", b, "%s is created by batch %s already; modify it here, or create it once", p,
					c.plan.Batches[first].Key)
			} else {
				creates[p] = i
			}
		}
		for _, p := range b.Files.All() {
			if touches[p] == nil {
				paths = append(paths, p)
			}
			if at := touches[p]; len(at) == 0 || at[len(at)-1] != i {
				touches[p] = append(at, i)
			}
		}
	}
	advised := map[[2]int]bool{}
	for _, p := range paths {
		at := touches[p]
		for k, i := range at {
			if k == 0 {
				continue
			}
			before, b := &c.plan.Batches[at[k-1]], &c.plan.Batches[i]
			if !advised[[2]int{at[k-1], i}] && !slices.Contains(b.DependsOn, before.Key) &&
				(b.ParallelSafe || len(b.DependsOn) > 0) {
				advised[[2]int{at[k-1], i}] = true
				c.advise("shared-file", b,
					"%s is touched by batch %s too; add \"depends_on: batch-%s\", or split the work by files", p, before.Key,
					before.Key)
			}
		}
	}
}

// testsBeforeCode finds batches that test code which only a later batch creates.
func (c *checker) testsBeforeCode() {
	creator := map[string]int{}
	for i := range c.plan.Batches {
		for _, p := range c.plan.Batches[i].Files.Create {
			if name := language.Subject(p); !language.IsTest(p) {
				if _, known := creator[name]; !known {
					creator[name] = i
				}
			}
		}
	}
	for i := range c.plan.Batches {
		b := &c.plan.Batches[i]
		for _, p := range b.Files.All() {
			if at, ok := creator[language.Subject(p)]; ok && language.IsTest(p) && at > i {
				c.advise("tests-missing-code", b,
					"%s tests code that only batch %s creates; swap them, or bring code and test together",
					p, c.plan.Batches[at].Key)
				break
			}
		}
	}
}

// counts compares the plan's own counts with its content, and its expected numbers of tests with each other.
func (c *checker) counts() {
	for _, claim := range claims(c.plan.Preamble, "batches", "tasks") {
		have := c.plan.Counts.Tasks
		if claim.what == "batches" {
			have = c.plan.Counts.Batches
		}
		if claim.n != have && have > 1 {
			c.advise("counts-disagree", nil, "the plan says %d %s but has %d", claim.n, claim.what, have)
		}
	}
	last := map[string]int{}
	for i := range c.plan.Batches {
		b := &c.plan.Batches[i]
		run := ""
		for line := range strings.Lines(b.Text) {
			if label, rest, ok := runLabel([]byte(strings.TrimSpace(line))); ok && label == "run" {
				_, run, _, _ = cutSpan(string(rest))
			}
			if run == "" || !strings.Contains(strings.ToLower(line), "expected") {
				continue
			}
			for _, claim := range claims(line, "tests", "passed") {
				if before := last[run]; claim.n < before {
					c.advise("counts-disagree", b, "%q is expected to run %d tests, after %d before", run, claim.n, before)
				}
				last[run] = claim.n
			}
		}
	}
}

type claim struct {
	n    int
	what string
}

// claims finds "7 batches" in text.
func claims(text string, words ...string) []claim {
	var out []claim
	fields := strings.Fields(text)
	for i := 0; i+1 < len(fields); i++ {
		if !isDigit(fields[i][len(fields[i])-1]) {
			continue
		}
		n := atoi(strings.TrimLeft(fields[i], "(~*"))
		what := strings.ToLower(strings.Trim(fields[i+1], ".,;:)*"))
		if n >= 0 && slices.Contains(words, what) {
			out = append(out, claim{n, what})
		}
	}
	return out
}

// batches gives advice on single batches.
func (c *checker) batches() {
	for i := range c.plan.Batches {
		b := &c.plan.Batches[i]
		open := len(lists.Filter(b.Tasks, func(t Task) bool { return !t.Done }))
		switch {
		case b.Empty && len(b.Tasks) == 0:
			c.advise("empty-batch", b, "batch %s is empty and will be skipped", b.Key)
			continue
		case b.Done():
			continue
		case open > 5:
			c.advise("big-batch", b, "batch %s has %d open tasks; use up to five for one agent", b.Key, open)
		}
		if !verifies(b) {
			c.advise("no-verification", b,
				"batch %s has no check of its outcome; add \"Run: `command`\" and \"Expected: PASS\"", b.Key)
		}
		if i := strings.Index(b.Text, "TBD"); i >= 0 {
			c.advise("placeholder", b, "batch %s contains a \"TBD\", which an agent will replace by a guess", b.Key)
		}
	}
}
