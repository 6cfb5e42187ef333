package corpus

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/gates/blueprint"
	"github.com/runplan/runplan/gates/blueprint/lifecycle"
	"github.com/runplan/runplan/knowledge/summary"
	"github.com/runplan/runplan/training"
	"github.com/runplan/runplan/training/curriculum"
)

func TestBlocks(t *testing.T) {
	files := []Source{{"orders/orders.go", "package orders\n"}, {"shared/x.go", "package x\n\nvar A = 1\n"}}
	text, err := Blocks("orders", files)
	want := "## FILE: orders/orders.go\npackage orders\n\n## FILE: orders/shared/x.go\npackage x\n\nvar A = 1\n"
	if err != nil || text != want {
		t.Errorf("%v\n%s\nwant\n%s", err, text, want)
	}
	paths := []string{"orders/orders.go", "shared/x.go"}
	back, err := ParseBlocks("orders", "Here it is.\n"+text, paths)
	if err != nil || !cmp.Equal(back, files) {
		t.Errorf("%v %s", err, cmp.Diff(files, back))
	}
	fenced, err := ParseBlocks("orders", "## FILE: orders/orders.go\n```go\npackage orders\n```\n", paths)
	if err != nil || fenced[0].Text != "package orders\n" {
		t.Errorf("%v %+v", err, fenced)
	}
	for answer, want := range map[string]string{
		"package orders":                 "no line",
		"## FILE: ../../etc/passwd\nx\n": "not a file of orders",
		"## FILE: orders/orders.go\nx\n## FILE: orders/orders.go\ny\n": "twice",
	} {
		if _, err := ParseBlocks("orders", answer, paths); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", answer, err)
		}
	}
	if _, err := Blocks("orders", []Source{{"a.md", "text\n## FILE: x\n"}}); !errors.Is(err, ErrHead) {
		t.Error(err)
	}
}

func FuzzParseBlocks(f *testing.F) {
	f.Add("## FILE: u/a.go\npackage a\n")
	f.Add("## FILE: u/a.go\n```\n```")
	f.Fuzz(func(t *testing.T, answer string) {
		files, err := ParseBlocks("u", answer, []string{"u/a.go", "b.go"})
		if err != nil {
			return
		}
		for _, s := range files {
			if s.Path != "u/a.go" && s.Path != "b.go" {
				t.Errorf("the file %q was read from the answer %q", s.Path, answer)
			}
		}
	})
}

func pair(kind training.Kind, unit string, n int) Pair {
	p := Pair{
		Type: kind, Granularity: Service, Service: unit, CreatedAt: time.Unix(int64(n), 0).UTC(), Blueprint: "unit: " + unit,
		Summaries: []summary.Summary{},
		Review:    lifecycle.ReviewResult{ServiceID: unit}, Outcome: Passed, Modifications: []Modification{}, Fidelity: 1,
		Source: training.Logged,
		Output: []Source{{"a.go", fmt.Sprintf("package a // %d\n", n)}}, ReviewSHA256: fmt.Sprint(n),
	}
	p.ID = p.id()
	return p
}

// TRAIN-16: an encoded pair is read back unchanged; a pair with a changed, added or missing field is an error.
func TestPairRejectsChangedFields(t *testing.T) {
	p := pair(training.Forward, "orders", 1)
	text, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if back, err := ParsePair("f", text); err != nil || !cmp.Equal(back, p) {
		t.Errorf("%v %s", err, cmp.Diff(p, back))
	}
	for change, want := range map[string]string{
		`"pair_type": "forward"→"pair_type": "sideways"`:            "pair_id is",
		`package a // 1→package b // 1`:                             "the pair was changed",
		`"promotion_outcome": "passed"→"promotion_outcome": "lost"`: `promotion_outcome is "lost"`,
		`"file_scope": null→"file_scope": "a.go"`:                   "pair_id is",
		`"source": "logged"→"source": "synthetic"`:                  `source is "synthetic"`,
		`"pair_id"→"id"`: "unknown field",
		`"ground_truth_fidelity": 1→"ground_truth_fidelity": 2`: "are not from 0 to 1",
	} {
		from, to, _ := strings.Cut(change, "→")
		changed := strings.Replace(string(text), from, to, 1)
		if changed == string(text) {
			t.Fatalf("the replacement %s changes nothing in %s", change, text)
		}
		if _, err := ParsePair("f", []byte(changed)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", change, err, want)
		}
	}
}

// TRAIN-18: no unit is in both training and validation; validation has both kinds of pairs if possible, and no kind
// is only in validation.
func TestSplit(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 300 {
		var pairs []Pair
		units := 1 + r.IntN(8)
		kinds := map[training.Kind]map[string]int{training.Forward: {}, training.Retroactive: {}}
		for n := range 1 + r.IntN(40) {
			k := []training.Kind{training.Forward, training.Retroactive}[r.IntN(2)]
			u := fmt.Sprintf("unit-%d", r.IntN(units))
			pairs = append(pairs, pair(k, u, n))
			kinds[k][u]++
		}
		s := split(pairs, 0.15, uint64(round))
		if again := split(pairs, 0.15, uint64(round)); !cmp.Equal(s, again) {
			t.Fatalf("round %d: the same seed splits otherwise", round)
		}
		for k, of := range kinds {
			held, left := 0, 0
			for u := range of {
				if s.Held[u] {
					held++
				} else {
					left++
				}
			}
			told := strings.Contains(strings.Join(s.Notes, "\n"), string(k)+" pairs")
			if len(of) > 0 && (left == 0 || held == 0 && !told) {
				t.Errorf("round %d: of %s, %d units are held back and %d are left: %v", round, k, held, left, s.Notes)
			}
		}
	}
}

// If two units have both kinds of pairs, one of them is held back, whatever the seed.
func TestValidationContainsBothKinds(t *testing.T) {
	var pairs []Pair
	for i, u := range []string{"a", "b"} {
		for _, k := range []training.Kind{training.Forward, training.Retroactive} {
			pairs = append(pairs, pair(k, u, i))
		}
	}
	for seed := range uint64(10) {
		if s := split(pairs, 0.15, seed); len(s.Held) != 1 || len(s.Notes) > 0 {
			t.Errorf("seed %d: %+v", seed, s)
		}
	}
}

func TestConfidence(t *testing.T) {
	at := func(f float64) *float64 { return &f }
	for _, c := range []struct {
		in   blueprint.Confidence
		want float64
		n    int
	}{
		{blueprint.Confidence{}, 0, 0},
		{blueprint.Confidence{Contract: at(0.6)}, 0.6, 1},
		{blueprint.Confidence{Contract: at(0.5), Intent: at(0.7)}, 0.6, 2},
		{blueprint.Confidence{Contract: at(1), Intent: at(0)}, 0.5, 2},
	} {
		if got, n := confidence(c.in); got != c.want || n != c.n {
			t.Errorf("%v of %d, want %v of %d", got, n, c.want, c.n)
		}
	}
}

// A pair converted to an example passes the checks for all examples; a failed pair becomes a negative example.
func TestExample(t *testing.T) {
	spec := curriculum.Default(curriculum.CodeArchitect)
	from := training.Origin{Repo: "example.org/x"}
	for _, o := range []Outcome{Passed, Modified, Failed} {
		p := pair(training.Forward, "orders", 1)
		p.Outcome = o
		e, err := p.Example(spec, from, nil)
		if err == nil {
			e, err = training.Guard{Redact: strings.Clone}.Seal(e)
		}
		if err != nil {
			t.Fatal(err)
		}
		if e.Positive != (o != Failed) || (e.Quality == nil) != (o == Modified) || e.Base != training.Coding ||
			e.Origin.Receipt != p.ReviewSHA256 {
			text, _ := json.Marshal(e)
			t.Errorf("%s: %s", o, text)
		}
	}
}

// scrub removes secrets from all texts of a value, and changes nothing else.
func TestScrub(t *testing.T) {
	in := []summary.Summary{{Path: "a.go", Lines: 7,
		Constants: []summary.Constant{{Name: "token", Value: "hunter2", Line: 3}}}}
	out, err := scrub(in, func(s string) string { return strings.ReplaceAll(s, "hunter2", "…") })
	if err != nil || out[0].Constants[0].Value != "…" || out[0].Lines != 7 || out[0].Constants[0].Line != 3 ||
		in[0].Constants[0].Value != "hunter2" {
		t.Errorf("%+v %v", out, err)
	}
}

// A unit's own summaries are excluded, because they would reveal its answer.
func TestIdiomsExcludeOwnSummaries(t *testing.T) {
	var all []Idiom
	for _, u := range []string{"orders", "billing", "stock", "mail", "cart"} {
		all = append(all, Idiom{u, summary.Summary{Path: u + "/" + u + ".go", ModuleDocstring: "charges " + u}})
	}
	got := Relevant("orders", "unit: orders\ncharges mail", all)
	if len(got) != 3 || got[0].Unit != "mail" {
		t.Errorf("%+v", got)
	}
	for _, i := range got {
		if i.Unit == "orders" {
			t.Error("the unit is listed as its own example")
		}
	}
}
