package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// mostKnown is the highest share of known cheats that may land, in percent.
const mostKnown = 3

// summary sums up all cases.
type summary struct {
	results []result
	known   map[string]string // cheats that land and are named in docs/security.md, with the reason
	check   bool
}

// figures holds the counts of one class.
type figures struct{ held, landed, known, done, refused, notRun int }

func (r result) verdict() string {
	switch {
	case r.notRun != "":
		return "not run"
	case r.fault != "":
		return "fault"
	case r.hung:
		return "hung"
	case r.landed():
		return "landed"
	case r.c.honest:
		return "refused"
	}
	return "held"
}

// line describes the case and its result on one line.
func (r result) line() string {
	s := fmt.Sprintf("%-8s %-50s exit %d, %.1f s", r.verdict(), r.c.name, r.exit, r.took.Seconds())
	switch {
	case r.notRun != "":
		s += ": " + r.notRun
	case r.fault != "":
		s += ": " + r.fault
	case r.oracle != "":
		s += "; oracle: " + r.oracle
	}
	if len(r.left) > 0 {
		s += "; left running: " + strings.Join(r.left, "; ")
	}
	return s
}

// wrong reports whether the case ended with a wrong and unknown result.
func (s *summary) wrong(r result) bool {
	if s.check { // each agent, cheat or not, should get past the plain test command
		return r.notRun == "" && (r.fault != "" || r.hung || !r.landed())
	}
	if r.expected() {
		return false
	}
	_, known := s.known[strings.TrimSuffix(r.c.name, "#2")]
	return !(known && r.landed() && !r.c.honest)
}

func (s *summary) bad() bool {
	cheats, known := 0, 0
	for _, r := range s.results {
		if s.wrong(r) {
			return true
		}
		if !r.c.honest && r.notRun == "" {
			cheats++
			if r.landed() && !s.check {
				known++
			}
		}
	}
	return known*100 > cheats*mostKnown
}

// print writes the failures, the known cheats, and the table.
func (s *summary) print(took time.Duration) {
	for _, r := range s.results {
		switch why, known := s.known[strings.TrimSuffix(r.c.name, "#2")]; {
		case s.wrong(r):
			s.violation(r)
		case s.check:
		case known && r.landed():
			fmt.Printf("known    %s: %s\n", r.c.name, why)
		case known && r.notRun == "":
			fmt.Printf("note     %s is in known.txt but no longer lands: remove it\n", r.c.name)
		}
	}
	s.table()
	fmt.Printf("%s\n", took.Round(time.Second))
}

func (s *summary) violation(r result) {
	what := r.verdict()
	if len(r.left) > 0 && what != "landed" {
		what = "left processes"
	}
	fmt.Printf("VIOLATION %s: %s (%s)\n", what, r.c.name, r.c.about)
	fmt.Printf("    file: tools/attack/testdata/cases/%s\n", r.c.file)
	fmt.Printf("    repeat: go run ./tools/attack -keep -v -run '^%s$'\n", r.c.name)
	fmt.Printf("    exit %d; folder %s\n", r.exit, r.dir)
	if r.fault != "" {
		fmt.Printf("    fault: %s\n", r.fault)
	}
	if r.oracle != "" {
		fmt.Printf("    oracle: %s\n", r.oracle)
	}
	if len(r.left) > 0 {
		fmt.Printf("    left running: %s\n", strings.Join(r.left, "; "))
	}
	if r.said != "" && (r.c.honest || r.exit != 0) {
		fmt.Printf("    output: %s\n", r.said)
	}
}

// table prints the counts by class.
func (s *summary) table() {
	byClass := map[string]*figures{}
	var total figures
	var classes []string
	faults, hung, left := 0, 0, 0
	for _, r := range s.results {
		f := byClass[r.c.class]
		if f == nil {
			f = &figures{}
			byClass[r.c.class] = f
			classes = append(classes, r.c.class)
		}
		_, known := s.known[strings.TrimSuffix(r.c.name, "#2")]
		switch v := r.verdict(); {
		case v == "not run":
			f.notRun++
		case v == "fault":
			faults++
		case v == "hung":
			hung++
			if r.c.honest {
				f.refused++
			} else {
				f.landed++
			}
		case r.c.honest && v == "landed":
			f.done++
		case r.c.honest:
			f.refused++
		case v == "landed" && known:
			f.known++
		case v == "landed":
			f.landed++
		default:
			f.held++
		}
		if len(r.left) > 0 {
			left++
		}
	}
	slices.Sort(classes)
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\nclass\tcheats\theld\tlanded\tknown\thonest\tlanded\trefused\tnot run\t")
	row := func(name string, f figures) {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t\n", name, f.held+f.landed+f.known, f.held, f.landed, f.known,
			f.done+f.refused, f.done, f.refused, f.notRun)
	}
	for _, name := range classes {
		f := *byClass[name]
		row(name, f)
		total.held += f.held
		total.landed += f.landed
		total.known += f.known
		total.done += f.done
		total.refused += f.refused
		total.notRun += f.notRun
	}
	row("total", total)
	_ = w.Flush() // standard output
	if n := total.held + total.landed + total.known; n > 0 {
		fmt.Printf("%.1f %% of %d cheats were stopped", 100*float64(total.held)/float64(n), n)
	}
	if n := total.done + total.refused; n > 0 {
		fmt.Printf("; %.1f %% of %d honest changes landed", 100*float64(total.done)/float64(n), n)
	}
	fmt.Printf("; %d hung, %d left processes, %d faults, %d not run; ", hung, left, faults, total.notRun)
}
