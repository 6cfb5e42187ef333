package report

import (
	"fmt"
	"strings"

	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/runner"
)

// promise is a row of the table of what the plan promised.
type promise struct{ Batch, Gate, Status, Note string }

// isPromise reports whether a gate checked a promise of the plan.
func isPromise(g runner.GateResult) bool { return strings.HasPrefix(g.Gate, "plan:") }

// promises lists the gates' findings about promises of the plan, by batch.
func promises(s runner.Summary) []promise {
	var out []promise
	for _, b := range s.Batches {
		for _, g := range b.Gates {
			if !isPromise(g) {
				continue
			}
			note := g.Note
			if len(g.Said) > 0 {
				note = strings.Join(append(g.Said, note), "; ")
			}
			out = append(out, promise{
				ui.Sanitize(b.Number), ui.Sanitize(g.Gate), ui.Sanitize(string(g.Status)),
				strings.TrimSuffix(ui.Sanitize(note), "; "),
			})
		}
	}
	return out
}

// markdownPromises writes the table of promises; nothing if the plan made none.
func markdownPromises(b *strings.Builder, s runner.Summary) {
	list := promises(s)
	if len(list) == 0 {
		return
	}
	b.WriteString("\n## Promises of the plan\n\n| batch | gate | result | what was found |\n|---|---|---|---|\n")
	for _, p := range list {
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", md(p.Batch), md(p.Gate), md(p.Status), md(p.Note))
	}
}
