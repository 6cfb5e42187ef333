package history

import (
	"strings"
	"testing"
)

// Nobody can derive the names, texts and figures that only an answer has, so its task lists them. The signal complete
// counts them. What the old lines or the task have is not repeated, nor what tests and comments say.
func TestTaskGetsDetailsOfAnswer(t *testing.T) {
	const before = "package a\n\nfunc Wait() int {\n\treturn pause(base)\n}\n"
	returns := func(what string) string { return strings.Replace(before, "pause(base)", what, 1) }
	const many = `call(alpha, beta, gamma, delta, epsilon, zeta, theta)`
	for name, tt := range map[string]struct {
		path, task, context, after string
		want                       string // the details, or the reason why there are too many
		value                      float64
	}{
		"a name":             {"a.go", "Wait with jitter", "", returns("clock.Jitter(base)"), "`clock.Jitter`", 11. / 12},
		"a name of the task": {"a.go", "Wait with clock.Jitter", "", returns("clock.Jitter(base)"), "", 1},
		"a name of the code": {"a.go", "Wait twice", "", returns("pause(base, base)"), "", 1},
		"text and figure": {"a.go", "Wait longer", "", returns(`pause(base, "max", 86400)`), "`\"max\"`, `86400`",
			10. / 12},
		"small figure":     {"a.go", "Wait twice", "", returns("pause(base, 2)"), "", 1},
		"words for people": {"a.go", "Wait", "", returns(`pause(base, "` + strings.Repeat("so ", 30) + `")`), "", 1},
		"a comment":        {"a.go", "Wait", "", returns("pause(base) // with patience"), "", 1},
		"in a long comment": {"a.go", "Wait", "", strings.Replace(before, "func", "/*\nJitter says when\n*/\nfunc", 1), "",
			1},
		"syntax":   {"a.js", "Wait", "", returns("await pause(base)"), "", 1},
		"a test":   {"a_test.go", "Wait with jitter", "", returns("clock.Jitter(base)"), "", 1},
		"too many": {"a.go", "Wait", "", returns(many), "too many names", 0},
		"too many, but shown": {"a.go", "Wait", "call alpha beta gamma delta zeta theta", returns(many),
			"`epsilon`", 11. / 12},
	} {
		t.Run(name, func(t *testing.T) {
			task, receipt, bad := changing(tt.path, tt.task, before, tt.after).detailed(tt.context)
			if bad != "" {
				if tt.value != 0 || !strings.Contains(bad, tt.want) {
					t.Errorf("refused: %s", bad)
				}
				return
			}
			want := tt.task
			if tt.want != "" {
				want += "\n\nNames and values of the change: " + tt.want + "."
			}
			if task != want || *receipt.Value != tt.value {
				t.Errorf("the task is %q with a receipt of %v, want %q with %v", task, *receipt.Value, want, tt.value)
			}
		})
	}

	// A line inside of a comment that was there does not look like one.
	const comment = "package a\n\n/*\nWait waits.\n*/\nfunc Wait() {}\n"
	w := changing("a.go", "Say more", comment, strings.Replace(comment, "waits.", "waits for Jitter.", 1))
	if task, _, _ := w.detailed(""); task != "Say more" {
		t.Errorf("a line of a comment gives %q", task)
	}
}
