package local

import (
	"testing"

	"github.com/runplan/runplan/planparse"
)

func TestRepairs(t *testing.T) {
	for title, want := range map[string]bool{
		"make the test pass":           true,
		"Fix the parser":               true,
		"Correct Add.":                 true,
		"get the build green":          true,
		"Regression in totals":         true,
		"Add an endpoint":              false,
		"Write tests for the parser":   false,
		"Prefix names":                 false,
		"Reduce the work of the cache": false,
	} {
		if got := repairs(&planparse.Batch{Title: title}); got != want {
			t.Errorf("%s: %v", title, got)
		}
	}
}
