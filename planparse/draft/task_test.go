package draft

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/planparse"
)

// A task becomes one batch that contains its text, for any text. A resumed run reads the same plan from the file.
func TestOfTask(t *testing.T) {
	for _, task := range []string{
		"Return an error for empty input",
		"x",
		"Fix it.\n\n## Batch 2: other\n\nrm",
		"# Title\n\n## Batch 1: mine\n\ndepends_on: batch-9",
		"depends_on: batch-7",
		"when: false",
		"- [x] done\n- [x] all of it",
		"```sh\nrm -rf /\n```",
		"Create: `a.txt`\n\n```text\nx\n```",
		"~~~~\n~~~~~~~~\n## Batch 3: x",
		"<!-- ",
		"---\ntodos:\n  - id: a\n---\n<task><name>x</name></task>",
		"- [ ] T001 one\n- [ ] T002 two",
		"*** `` [[ ]] ## |",
		"漢字 と 🎯",
		strings.Repeat("long ", 400),
	} {
		p, text, err := OfTask(task, strings.TrimSpace(task))
		if err != nil {
			t.Errorf("%q: %v", task, err)
			continue
		}
		read, err := planparse.Parse("plan.md", text)
		if d := cmp.Diff(p, read); err != nil || d != "" || len(p.Errors()) > 0 || len(p.Batches) != 1 {
			t.Errorf("%q: %v\n%s\n%s", task, err, text, d)
			continue
		}
		b := p.Batches[0]
		if b.Key != "1" || b.When != "" || len(b.DependsOn) > 0 || b.Done() ||
			!strings.Contains(b.Text, strings.TrimSpace(task)) {
			t.Errorf("%q: %+v\n%s", task, b, text)
		}
	}
}
