package history

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/planparse/draft"
	"github.com/runplan/runplan/runner/briefing"
)

// sentence draws words that occur in plans, words that occur in tasks, and some punctuation.
func sentence(r *rand.Rand) string {
	words := strings.Fields(
		"batch Batch Task task 1 2: Critical critical parallel depends depends_on: on when After wave run make go test add " +
			"the a parser of Carts discounts, more. twice' Files: Create Modify: Test " +
			"Goal: not yet [x] - * # ~~~ ``` TODO estimated hours Phase I. A) e.g. v1.2 don't \\ \n \n\n mailto http://a.b <b> " +
			"&amp; 3. Setext --- === | x re-use (so to say) \"quoted\" and/or 5% why? no! a; +1 -- ;- (x) /a ...")
	var b strings.Builder
	for i := range 1 + r.IntN(12) {
		if i > 0 && !strings.HasSuffix(b.String(), "\n") {
			b.WriteByte(' ')
		}
		if w := r.IntN(len(words) * 3); w < len(words) {
			b.WriteString(words[w])
		} else {
			b.WriteString(strings.Fields(
				"Add the parser of carts to all others and round Prices up or down, then say why. Nobody's total it counts\nNow")[w%19])
		}
	}
	return strings.TrimSpace(b.String())
}

// Plain texts give the same result without the parser of plans: a plan that counts as readable passes the parser too,
// and a task gives the same brief as after parsing.
func TestPlainTextsMatchParser(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	plains := 0
	for range 6000 {
		task := sentence(r)
		subject, body, _ := strings.Cut(task, "\n")
		path := []string{"a/b_c.go", "x-y/z.ts", "_test.go", "critical/batch_1.go"}[r.IntN(4)]
		a := draft.Plan{Title: draft.Title(subject, "Change the code"), Goal: subject, Batches: []draft.Batch{{
			Title: draft.Title(subject, "Change the code"), Rationale: strings.TrimSpace(body), DependsOn: []int{},
			Files: draft.Files{Modify: []string{path}},
			Tasks: []string{"In " + path + " change Cart.Total, add Batch, remove _x_"},
		}}}
		var p paths
		if p.readable(a) == nil {
			if err := readable(a); err != nil {
				t.Fatalf("%q: %v", task, err)
			}
		}
		if !plain(task) {
			continue
		}
		plains++
		got, err := taskPlan(task)
		if err != nil {
			t.Fatal(err)
		}
		want, err := parsedPlan(got.Title, task)
		if err != nil {
			t.Fatalf("%q: %v", task, err)
		}
		if d := cmp.Diff(composed(want), composed(got)); d != "" {
			t.Fatalf("%q:\n%s", task, d)
		}
	}
	if plains < 300 {
		t.Errorf("only %d plain texts were tested", plains)
	}
}

// The parser of plans reads a path that counts as plain as exactly that path.
func TestPlainPathsMatchParser(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	parts := strings.Fields(
		"a cart Price _test x-y 1 12 main_test create Modify test delete task Task1 step files goal plan con nul aux git " +
			"src a_b_c README wave after when x__y -a a- .git .. $a ä B2b-c")
	plains := 0
	for range 1500 {
		var path string
		for range r.IntN(4) {
			path += parts[r.IntN(len(parts))] + "/"
		}
		path += parts[r.IntN(len(parts))] + []string{".go", ".py", ".d.ts", "", ".", ".go.", ".2"}[r.IntN(7)]
		if !plainPath(path) {
			continue
		}
		plains++
		one := draft.Plan{Title: "Change it",
			Batches: []draft.Batch{{Title: "Change it", Files: draft.Files{Modify: []string{path}}, Tasks: []string{
				"Change it", "Create " + path, "Delete " + path, "In " + path + " change Name.part"}}}}
		if err := readable(one); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	if plains < 200 {
		t.Errorf("only %d plain paths were tested", plains)
	}
}

func composed(p *planparse.Plan) string {
	return briefing.Compose(briefing.Input{PlanTitle: p.Title, Preamble: p.Preamble, Batch: p.Batches[0], Attempt: 1}).Text
}
