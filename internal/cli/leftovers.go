package cli

import (
	"fmt"

	"github.com/runplan/runplan/runner/local"
)

// PrintLeftovers prints the leftovers. With list, nothing was removed.
func (a *App) PrintLeftovers(found []local.Leftover, list, json bool) error {
	if json {
		return AsJSON(a.Stdout, append([]local.Leftover{}, found...))
	}
	var rows [][]string
	for _, x := range found {
		what := "kept"
		if x.Remove {
			what = map[bool]string{true: "can go", false: "removed"}[list]
		}
		rows = append(rows, []string{what, x.Kind, x.Name, fmt.Sprintf("%d KiB", x.Bytes>>10), x.Why})
	}
	if len(rows) == 0 {
		fmt.Fprintln(a.Stdout, "nothing to remove")
		return nil
	}
	return Table(a.Stdout, []string{"", "what", "name", "size", "why"}, rows)
}
