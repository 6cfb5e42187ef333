// Package measured reports how often each static rule was right on commits of real projects, and lists the rules of
// the gates. "make precision" with -record writes the figures. Lessons and patterns are listed by their own
// libraries.
package measured

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

//go:embed measured.tsv
var text string

// Precision counts how people judged the findings of a rule.
type Precision struct{ True, Arguable, False int }

// Total returns how many findings were judged.
func (p Precision) Total() int { return p.True + p.Arguable + p.False }

// Percent counts an arguable finding half. Without findings it is 0.
func (p Precision) Percent() float64 {
	if p.Total() == 0 {
		return 0
	}
	return 100 * (float64(p.True) + float64(p.Arguable)/2) / float64(p.Total())
}

// String formats the precision for people, "-" if no finding was judged.
func (p Precision) String() string {
	if p.Total() == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f %% of %d", p.Percent(), p.Total())
}

type table struct {
	rules                     map[string]Precision
	commits, histories, trees int
}

var parsed = sync.OnceValue(func() table {
	t := table{rules: map[string]Precision{}}
	for line := range strings.Lines(text) {
		c := strings.Split(strings.TrimSpace(line), "\t")
		n := make([]int, len(c))
		for i := range c {
			n[i], _ = strconv.Atoi(c[i])
		}
		switch {
		case len(c) == 3 && c[0] == "# commits":
			t.commits, t.histories = n[1], n[2]
		case len(c) == 2 && c[0] == "# trees":
			t.trees = n[1]
		case len(c) == 4 && !strings.HasPrefix(line, "#"):
			t.rules[c[0]] = Precision{n[1], n[2], n[3]}
		}
	}
	return t
})

// Of returns the measured precision of a rule such as "lesson/0001", or of all rules with a prefix: "secrets/*".
func Of(rule string) Precision {
	prefix, many := strings.CutSuffix(rule, "*")
	if !many {
		return parsed().rules[rule]
	}
	var sum Precision
	for id, p := range parsed().rules {
		if strings.HasPrefix(id, prefix) {
			sum.True, sum.Arguable, sum.False = sum.True+p.True, sum.Arguable+p.Arguable, sum.False+p.False
		}
	}
	return sum
}

// Trees returns the number of whole trees that were also checked. Each counts as one change that adds all files.
func Trees() int { return parsed().trees }

// Sample returns the number of commits and repositories on which the rules were measured.
func Sample() (commits, repositories int) { return parsed().commits, parsed().histories }
