package prepare

import (
	"strings"
	"testing"

	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/runner"
)

// On an engine of several machines a run continues with reworded batches and refuses other changes, batch by batch,
// before any of them takes effect. On this machine the same changes are accepted.
func TestRemoteEngineAcceptsOnlyRewording(t *testing.T) {
	batch := func(n, title, text string) string { return "## Batch " + n + ": " + title + "\n\n" + text + "\n\n" }
	parsed := func(text string) *planparse.Plan {
		p, err := planparse.Parse("plan.md", []byte("# Plan\n\n"+text))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	before := batch("1", "Read", "Write the reader of the file.") + batch("2", "Show", "Draw the table on the screen.")
	for name, tt := range map[string]struct {
		after   string
		refused string // numbers of the refused batches
	}{
		"only wording": {batch("1", "Read", "Write the reader of the files.") +
			batch("2", "Show", "Draw the table on the screen."), ""},
		"a new batch": {before + batch("3", "Ship", "Make a release of everything."), "(3)"},
		"one removed": {batch("1", "Read", "Write the reader of the file."), "(2)"},
		"renumbered": {batch("1", "Read", "Write the reader of the file.") +
			batch("5", "Show", "Draw the table on the screen."), "(5)"},
	} {
		t.Run(name, func(t *testing.T) {
			then, plan := parsed(before), parsed(tt.after)
			info := runner.Info{}
			for _, b := range then.Batches {
				info.Batches = append(info.Batches, runner.BatchInfo{Key: b.Key, Number: b.Number, Title: b.Title})
			}
			for _, engine := range []string{"", "temporal"} {
				r := replanned{info: info}
				m := matchBatches(then, plan, runner.Summary{}, info)
				list := make([]runner.BatchInfo, len(plan.Batches))
				for i, b := range plan.Batches {
					list[i] = runner.BatchInfo{Key: m.keys[b.Key], Number: b.Number, Title: b.Title}
					r.moved = r.moved || m.keys[b.Key] != b.Key
				}
				again := parsed(tt.after)
				m = matchBatches(then, again, runner.Summary{}, info)
				again.Rename(m.keys)
				for _, c := range m.changes {
					r.row(c, m, list, nil)
				}
				why := r.onEngine(engine)
				said := 0
				for _, row := range r.rows {
					if row.then == "is not possible on engine temporal" {
						said++
					}
				}
				want := tt.refused
				if engine == "" {
					want = ""
				}
				switch {
				case want == "" && (why != "" || said > 0):
					t.Errorf("engine %q refuses: %s", engine, why)
				case want != "" && (!strings.HasSuffix(why, want) || said != 1 ||
					!strings.Contains(why, "new, removed or renumbered")):
					t.Errorf("engine %q: %q, %d rows say so, want %s", engine, why, said, want)
				}
			}
		})
	}
}
