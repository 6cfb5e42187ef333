package history

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/runplan/runplan/training"
)

// The signals of a commit have the values computed by hand; without a history a signal is -1, unknown, and does not
// count (TRAIN-13).
func TestSignals(t *testing.T) {
	told := func(said, all float64) float64 { return math.Pow(said/all, 0.25) }
	for name, tt := range map[string]struct {
		task, archive string
		want          map[training.Stage]map[string]float64 // -1 is unknown
		quality       map[training.Stage]float64
	}{
		"a change of code and of words": { // one of two files is code
			"Fix: Discount rounds the percent of the cents up, and Format returns no string of money",
			"-- price/price.go --\npackage price\n\n// Format writes cents.\nfunc Format(int) string { return \"\" }\n\n// " +
				"Discount rounds up.\nfunc Discount(cents, percent int) int { return (cents*(100-percent) + 50) / 100 }\n-- " +
				"README.md --\nUp.\n",
			map[training.Stage]map[string]float64{
				training.TaskAnalysis: {"merged": 1, "tested": -1, "files_shown": 0.5, "files_known_before": 1},
				training.ExecutePlan:  {"merged": 1, "tested": -1, "files_shown": 0.5, "plan_reads": 1},
				training.ExecuteCode: {"merged": 1, "tested": -1, "files_shown": 0.5, "edits_match": 1, "derivable": 1,
					"complete": 11. / 12, "told": told(7, 24)}, // "discount", "round", "percent", "cent", "return", "string", "money"
			},
			// (1 + 0.5 + 1) / 3; (1 + 0.5 + 1 + 1 + 11/12) / 5 * told
			map[training.Stage]float64{training.TaskAnalysis: 0.833, training.ExecuteCode: 0.649},
		},
		"a change with a test that is new": { // one of the two files existed before
			"Support a discount of the price on the sum of total carts with many items, by len", discounted,
			map[training.Stage]map[string]float64{
				training.TaskAnalysis: {"merged": 1, "tested": 1, "files_shown": 1, "files_known_before": 0.5},
				training.ExecuteCode: {"merged": 1, "tested": 1, "files_shown": 1, "edits_match": 1, "derivable": 1,
					"complete": 10. / 12, "told": told(8, 14)}, // "discount", "price", "sum", "total", "cart", "many", "item", "len"
			},
			// (1 + 1 + 1 + 0.5) / 4; (1 + 1 + 1 + 1 + 1 + 10/12) / 6 * told
			map[training.Stage]float64{training.TaskAnalysis: 0.875, training.ExecuteCode: 0.845},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepo(t)
			r.commit("Begin the shop with carts and prices", shop)
			r.commit(tt.task, tt.archive)
			o := r.options(t.TempDir())
			if _, err := Run(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			for stage, want := range tt.want {
				e := examples(t, o.Dir, stage)[0]
				got := map[string]float64{}
				for _, s := range e.Signals {
					got[s.Name] = -1
					if s.Value != nil {
						got[s.Name] = *s.Value
					}
					if strings.TrimSpace(s.Note) == "" {
						t.Errorf("%s does not say what it rests on", s.Name)
					}
				}
				if d := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-9)); d != "" {
					t.Errorf("%s:\n%s", stage, d)
				}
				if q, ok := tt.quality[stage]; ok && *e.Quality != q {
					t.Errorf("%s: quality %v, want %v", stage, *e.Quality, q)
				}
			}
		})
	}
}

// Hints judge a history by shares of the commits that are neither merges nor the first one; a history with few
// commits gets no hints.
func TestHints(t *testing.T) {
	judged := func(m Manifest) string {
		var out []string
		for _, h := range m.Hints() {
			word, _, _ := strings.Cut(h.Text, ":")
			out = append(out, map[bool]string{true: "+", false: "-"}[h.Good]+word)
		}
		return strings.Join(out, " ")
	}
	for name, tt := range map[string]struct {
		m    Manifest
		want string
	}{
		"too few": {Manifest{Commits: 20, Used: 10, Reasons: map[Reason]int{NoParent: 1}}, ""},
		"a good one": {Manifest{Commits: 121, Used: 30,
			Reasons: map[Reason]int{NoParent: 1, Merge: 20, SaysLittle: 25, TooManyFile: 20, TooMany: 5, Reverted: 2}},
			"+clear messages +small, focused commits +stable +worth it"},
		"a poor one": {Manifest{Commits: 100, Used: 10,
			Reasons: map[Reason]int{SaysLittle: 26, TooManyFile: 20, TooMany: 6, Reverted: 3}},
			"-clear messages -small, focused commits -stable -worth it"},
		"all is merge": {Manifest{Commits: 50, Reasons: map[Reason]int{Merge: 50}}, ""},
	} {
		if got := judged(tt.m); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
