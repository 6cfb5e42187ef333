package security

import (
	"regexp"
	"strings"
	"testing"
)

// Each expression of the table compiles, also with the name of a variable in it.
func TestTableOfFlows(t *testing.T) {
	if len(table().Words["any"]) == 0 || len(table().Opening) == 0 {
		t.Fatal("the table is empty")
	}
	for _, o := range table().Opening {
		o.Open.Re()
		regexp.MustCompile(strings.ReplaceAll(o.Closed, "NAME", "x"))
		if table().Words[o.Lang] == nil {
			t.Errorf("no line is looked at in the language %q", o.Lang)
		}
	}
}
