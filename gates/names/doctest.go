package names

import (
	"path"
	"strings"

	"github.com/runplan/runplan/gates/testcode"
	"github.com/runplan/runplan/internal/lazyre"
)

var pythonBlock = lazyre.New(`^(\s*)(?:async\s+)?(?:def|class)\s+(\w+)`)

// doctests returns the examples in the documentation of a Python file, one unit for each function or class: the lines
// from a prompt to the next empty line. They have doctest's names, such as calc.Sum.add.
func doctests(file, text string) []testcode.Unit {
	if !strings.Contains(text, ">>>") {
		return nil
	}
	type block struct {
		indent int
		name   string
	}
	module := strings.ReplaceAll(strings.TrimSuffix(strings.TrimSuffix(file, path.Ext(file)), "/__init__"), "/", ".")
	around := []block{{-1, module}}
	var out []testcode.Unit
	at := map[string]int{}
	inside := false
	for i, l := range strings.Split(text, "\n") {
		bare := strings.TrimSpace(l)
		if m := pythonBlock.FindStringSubmatch(l); m != nil && !inside {
			for len(around) > 1 && around[len(around)-1].indent >= len(m[1]) {
				around = around[:len(around)-1]
			}
			around = append(around, block{len(m[1]), around[len(around)-1].name + "." + m[2]})
		}
		inside = strings.HasPrefix(bare, ">>>") || inside && bare != "" && !strings.HasPrefix(bare, `"""`) &&
			!strings.HasPrefix(bare, "'''")
		if !inside {
			continue
		}
		name := around[len(around)-1].name
		n, known := at[name]
		if !known {
			n = len(out)
			at[name] = n
			out = append(out, testcode.Unit{Name: name, Line: i + 1})
		}
		u := &out[n]
		u.Text += strings.TrimPrefix(strings.TrimPrefix(bare, ">>>"), "...") + "\n"
		u.Lines = append(u.Lines, bare)
		if !strings.HasPrefix(bare, ">>>") && !strings.HasPrefix(bare, "...") {
			u.Asserts++
		}
	}
	return out
}
