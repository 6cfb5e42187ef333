package condition

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type nested struct {
	Env   map[string]string `expr:"env"`
	Batch of                `expr:"batch"`
	All   bool              `expr:"all"`
}

type of struct {
	Number string `expr:"number"`
	Tasks  int    `expr:"tasks"`
}

// An unknown name is reported with its place and with the list of known names.
func TestUnknownNameErrorListsNames(t *testing.T) {
	if diff := cmp.Diff([]string{"env.NAME", "batch.number", "batch.tasks", "all"}, Names[nested]()); diff != "" {
		t.Error(diff)
	}
	const names = "; names are env.NAME, batch.number, batch.tasks, all\n"
	for text, want := range map[string]string{`all && nme`: "unknown name nme (1:8)" + names,
		`batch.tsks > 1`: "has no field tsks (1:7)" + names} {
		if _, err := Parse[nested](text); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "^") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := ParseInteger[facts]("cont + 1"); err == nil ||
		!strings.Contains(err.Error(), "unknown name cont (1:1); names are name, count, env.NAME") {
		t.Error(err)
	}
	if _, err := ParseNumber[facts](`"a"`); err == nil ||
		err.Error() != `expression "\"a\"": gives text, but must give a number` {
		t.Error(err)
	}
}
