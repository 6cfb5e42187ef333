package planparse

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Paths that differ only in case are reported once; a renamed path and a path with the same spelling are not
// reported.
func TestCaseClash(t *testing.T) {
	batch := func(number, list string) string {
		return "## Batch " + number + ": b" + number + "\n\n**Files:**\n" + list + "\nDo it.\n\n"
	}
	for name, c := range map[string]struct {
		text string
		want []int // lines
	}{
		"alike": {batch("1", "- Create: `README.md`\n") + batch("2", "- Modify: `README.md`\n"), nil},
		"in two batches": {batch("1", "- Create: `README.md`\n") + batch("2", "- Modify: `Readme.md`\n") +
			batch("3", "- Modify: `Readme.md`\n"), []int{10}},
		"in one batch": {batch("1", "- Create: `src/Ä.go`\n- Create: `src/ä.go`\n"), []int{3}},
		"a folder":     {batch("1", "- Create: `Src/a.go`\n") + batch("2", "- Create: `src/a.go`\n"), []int{10}},
		"renamed": {batch("1", "- Create: `readme.md`\n") + batch("2", "- Rename: `readme.md` → `README.md`\n") +
			batch("3", "- Modify: `README.md`\n"), nil},
		"in another folder": {batch("1", "- Create: `a/README.md`\n") + batch("2", "- Create: `b/Readme.md`\n"), nil},
	} {
		p := parse(t, "# p\n\n"+c.text)
		before := len(p.Diagnostics)
		var got []int
		for _, d := range Check(p).Diagnostics {
			if d.Code == "case-clash" {
				got = append(got, d.Line)
			}
		}
		if d := cmp.Diff(c.want, got); d != "" || len(p.Diagnostics) != before {
			t.Errorf("%s: %s", name, d)
		}
	}
}
