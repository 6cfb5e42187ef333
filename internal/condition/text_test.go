package condition

import (
	"strings"
	"testing"
)

func TestTexts(t *testing.T) {
	f := facts{Name: "lint/vet", Count: 2, Env: map[string]string{"KIND": "large"}}
	for text, want := range map[string]string{
		`count > 1 ? "many" : "few"`: "many",
		`upper(name)`:                "LINT/VET",
		`env.KIND`:                   "large",
		`env.NO_SUCH`:                "",
		`"a" + name`:                 "alint/vet",
	} {
		c, err := ParseText[facts](text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, err := c.Value(f); err != nil || got != want {
			t.Errorf("%s is %q (%v)", text, got, err)
		}
	}
}

// Errors of a text expression are reported when it is parsed, with the column. Errors that depend on the facts are
// reported at evaluation.
func TestTextErrors(t *testing.T) {
	for text, want := range map[string]string{
		`count > 1 ? "a" : nme`: "unknown name nme (1:19)",
		`count`:                 "gives a number, but must give text",
		`count > 1`:             "gives yes or no, but must give text",
		``:                      "unexpected token EOF",
	} {
		if _, err := ParseText[facts](text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	c, err := ParseText[facts](`[1, "x"][count - 1] ?? name`)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := c.Value(facts{Count: 1}); err == nil || !strings.Contains(err.Error(), "is 1, expected a string") {
		t.Errorf("%q, %v", got, err)
	}
}
