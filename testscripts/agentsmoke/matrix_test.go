package agentsmoke

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// cell holds the result of one CLI in one situation.
type cell struct {
	not     string // why the CLI cannot be brought into it
	ran     bool
	told    bool // all is as it has to be
	first   outcome
	after   int // status of resume; -1 where there was nothing to resume
	resumed string
}

// matrix collects all cells.
type matrix struct {
	mu    sync.Mutex
	clis  []cli
	cells map[string]cell // situation/CLI
}

func newMatrix(all []cli) *matrix { return &matrix{clis: all, cells: map[string]cell{}} }

func (m *matrix) set(s situation, c cli, got cell) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cells[s.name+"/"+c.name] = got
}

// String returns the matrix as markdown; docs/agents.md explains the words of a cell.
func (m *matrix) String() string {
	var b strings.Builder
	var not []string
	told, ran, none := map[string]int{}, map[string]int{}, map[string]int{}
	head, rule := "| situation |", "|---|"
	run := slices.DeleteFunc(slices.Clone(m.clis), func(c cli) bool { return c.not != "" })
	for _, c := range run {
		head, rule = head+" "+c.name+" |", rule+"---|"
	}
	fmt.Fprintf(&b, "%s\n%s\n", head, rule)
	for _, s := range situations() {
		line := "| " + s.name + " |"
		for _, c := range run {
			got := m.cells[s.name+"/"+c.name]
			if why := s.except[c.name].why; why != "" {
				not = append(not, fmt.Sprintf("- %s, %s: %s", s.name, c.name, why))
			}
			line += " " + got.String() + " |"
			switch {
			case got.not != "":
				none[c.name]++
				not = append(not, fmt.Sprintf("- %s, %s: not applicable: %s", s.name, c.name, got.not))
			case got.ran:
				ran[c.name]++
				if got.told {
					told[c.name]++
				}
			}
		}
		fmt.Fprintln(&b, line)
	}
	sum := "| told rightly |"
	for _, c := range run {
		sum += fmt.Sprintf(" %d of %d |", told[c.name], ran[c.name])
	}
	fmt.Fprintln(&b, sum)
	for _, line := range not {
		fmt.Fprintln(&b, line)
	}
	for _, c := range m.clis {
		if c.not != "" {
			fmt.Fprintf(&b, "- %s is not run: %s\n", c.name, c.not)
		}
	}
	return b.String()
}

// String returns the exit status of runplan, the outcome of the attempt, what is known of its tokens and cost, and
// the exit status of resume.
func (c cell) String() string {
	switch {
	case c.not != "":
		return "n/a"
	case !c.ran:
		return "not run"
	}
	o := c.first
	s := fmt.Sprintf("%d %s", o.exit, strings.ReplaceAll(o.last.Outcome, "_", " "))
	if !o.last.RetryAt.IsZero() {
		s += "+time"
	}
	s += fmt.Sprintf(" %s, %s", o.took.Round(time.Second), spent(o.purpose))
	if c.after >= 0 {
		s += fmt.Sprintf(", resume %d", c.after)
	}
	if !c.told {
		s = "**WRONG** " + s
	}
	return s
}

// spent formats the tokens and the cost of a run.
func spent(lines []line) string {
	if len(lines) == 0 {
		return "no tokens"
	}
	var in, cached, out, cost, unknown, free = int64(0), int64(0), int64(0), 0.0, false, true
	for _, l := range lines {
		if l.In == nil || l.Out == nil {
			unknown = true
			continue
		}
		in, out = in+*l.In, out+*l.Out
		if l.Cached != nil {
			cached += *l.Cached
		}
		if l.Cost != nil {
			cost, free = cost+*l.Cost, false
		}
	}
	s := fmt.Sprintf("%d/%d/%d", in, cached, out)
	if unknown {
		s = "tokens ?"
	}
	if free {
		return s + " $?"
	}
	return fmt.Sprintf("%s $%.4f", s, cost)
}
