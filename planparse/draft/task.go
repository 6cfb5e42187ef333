package draft

import (
	"errors"
	"fmt"
	"strings"

	"github.com/runplan/runplan/internal/fence"
	"github.com/runplan/runplan/planparse"
)

// OfTask makes the plan of one batch for a task, and the text that it is parsed from. A task that parses as several
// batches or as no plan is put in a fence.
func OfTask(title, task string) (*planparse.Plan, []byte, error) {
	title = Title(title, "Solve the task")
	for _, body := range []string{strings.TrimRight(task, "\n") + "\n", fence.Around("text", task)} {
		text := fmt.Appendf(nil, "# %s\n\n## Batch 1: %s\n\n%s", title, title, body)
		p, err := planparse.Parse("task", text)
		if err == nil && len(p.Errors()) == 0 && p.Format == planparse.FormatRunPlan && len(p.Batches) == 1 &&
			p.Batches[0].Title == title &&
			p.Batches[0].When == "" && len(p.Batches[0].DependsOn) == 0 && !p.Batches[0].Done() &&
			strings.TrimSpace(p.Batches[0].Text) == strings.TrimSpace(body) {
			return p, text, nil
		}
	}
	return nil, nil, errors.New("the task cannot be written as a plan")
}
