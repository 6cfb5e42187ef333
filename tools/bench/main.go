// Command bench measures the overhead of runplan. Each figure is a ratio to its floor: the same work without runplan,
// on the same machine, in the same run, alternating. The figures are medians. No result fails the command; goals are
// only for comparison.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/runplan/runplan/tools/scratch"
)

func main() {
	quick := flag.Bool("quick", false, "fewer and smaller measurements")
	only := flag.String("only", "",
		"parse, start, batch, room, memory, page, team, knowledge, bootstrap, plugin, again, lessons, sampling or "+
			"temporal: only these, separated by commas")
	seed := flag.Uint64("seed", 1, "with team: seed of the random graphs")
	lanes := flag.Int("lanes", 2*runtime.NumCPU(), "with team: runs side by side")
	svg := flag.String("svg", "", "with sampling: write its regret curve to this file")
	flag.Parse()
	b := &bench{quick: *quick, svg: *svg, seed: *seed, lanes: *lanes}
	place, err := scratch.New("bench")
	if err == nil {
		b.place = place
		defer place.Remove()
		err = b.all(*only)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	b.print()
}

// figure is one line of the table.
type figure struct {
	what, value, floor, ratio, goal string
	met                             bool
}

type bench struct {
	place   *scratch.Place
	quick   bool
	svg     string
	seed    uint64
	lanes   int
	figures []figure
	notes   []string // printed below the table
}

func (b *bench) all(only string) error {
	measurements := []struct {
		name string
		do   func() error
	}{
		{"parse", b.parse}, {"start", b.start}, {"batch", b.batch}, {"room", b.rooms}, {"memory", b.memory}, {"page", b.page},
		{"team", func() error { return b.team(b.seed, b.lanes) }},
		// This comes last: until exec, a child counts the memory of this program as its own.
		{"knowledge", b.knowledge},
		{"bootstrap", b.bootstrap},
		{"plugin", b.plugin}, {"again", b.again}, {"lessons", b.lessons},
		{"sampling", func() error { return b.sampling(b.svg) }},
		{"temporal", b.temporal},
	}
	names := strings.FieldsFunc(only, func(c rune) bool { return c == ',' })
	for _, m := range measurements {
		if len(names) > 0 && !slices.Contains(names, m.name) {
			continue
		}
		fmt.Fprintf(os.Stderr, "measuring: %s\n", m.name)
		if err := m.do(); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	return nil
}

// of returns full, or few in a quick run.
func (b *bench) of(full, few int) int {
	if b.quick {
		return few
	}
	return full
}

func (b *bench) print() {
	rows := []figure{{what: "figure", value: "runplan", floor: "floor", ratio: "ratio", goal: "goal"}}
	rows = append(rows, b.figures...)
	width := make([]int, 5)
	cells := func(f figure) []string { return []string{f.what, f.value, f.floor, f.ratio, f.goal} }
	for _, r := range rows {
		for i, c := range cells(r) {
			width[i] = max(width[i], len([]rune(c)))
		}
	}
	for i, r := range rows {
		var line strings.Builder
		for k, c := range cells(r) {
			line.WriteString(c + strings.Repeat(" ", width[k]-len([]rune(c))+2))
		}
		verdict := map[bool]string{true: "met", false: "missed"}[r.met]
		if i == 0 || r.goal == "" {
			verdict = ""
		}
		fmt.Println(strings.TrimRight(line.String()+verdict, " "))
	}
	for i, note := range b.notes {
		if i == 0 {
			fmt.Println()
		}
		fmt.Println(note)
	}
}

func median[T int64 | float64](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
