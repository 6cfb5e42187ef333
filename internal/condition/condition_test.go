package condition

import (
	"strings"
	"testing"
)

type facts struct {
	Name  string            `expr:"name"`
	Count int               `expr:"count"`
	Env   map[string]string `expr:"env"`
}

func TestConditions(t *testing.T) {
	f := facts{Name: "lint/vet", Count: 2, Env: map[string]string{"CI": "1"}}
	for text, want := range map[string]bool{
		`name startsWith "lint" && count > 1`: true,
		`env.CI == "" || count == 3`:          false,
		`name matches "^lint/"`:               true,
		`env.NO_SUCH == ""`:                   true,
	} {
		c, err := Parse[facts](text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, err := c.Holds(f); err != nil || got != want || c.String() != text {
			t.Errorf("%s is %v (%v)", text, got, err)
		}
	}
}

// Errors of a condition are reported when it is parsed, with the column.
func TestConditionErrorsShowColumn(t *testing.T) {
	for text, want := range map[string]string{
		`count > 1 && nme == "x"`: "unknown name nme (1:14)",
		`count`:                   "gives a number, but must give yes or no",
		`count >`:                 "(1:",
		`name > 1`:                "mismatched types",
		``:                        "unexpected token EOF",
	} {
		if _, err := Parse[facts](text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
