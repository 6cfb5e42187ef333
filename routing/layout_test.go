package routing

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/runplan/runplan/internal/condition"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/tools/tooltest"
)

// anyPlan returns a random plan: some batches share files, some list no files, some depend on others before or after
// them, and some are skipped.
func anyPlan(r *rand.Rand) *planparse.Plan {
	p := &planparse.Plan{}
	n := 1 + r.IntN(10)
	for i := range n {
		b := planparse.Batch{Key: fmt.Sprint(i + 1), Number: fmt.Sprint(i + 1), Title: "x", StartLine: 10 * (i + 1),
			Tasks: []planparse.Task{{}}}
		for range r.IntN(3) {
			b.Files.Modify = append(b.Files.Modify, fmt.Sprintf("d%d/f.txt", r.IntN(12)))
		}
		if r.IntN(12) == 0 {
			b.Files.Modify = append(b.Files.Modify, fmt.Sprintf("d%d/", r.IntN(12)))
		}
		for range r.IntN(3) {
			if on := r.IntN(n); on < i && r.IntN(2) == 0 {
				b.DependsOn = append(b.DependsOn, fmt.Sprint(on+1))
			}
		}
		b.ParallelSafe = r.IntN(4) == 0
		if r.IntN(8) == 0 {
			b.When = "false"
		}
		if r.IntN(10) == 0 {
			b.Text = "Open localhost:80."
		}
		p.Batches = append(p.Batches, b)
	}
	if n > 1 && r.IntN(4) == 0 { // the first waits for the last
		p.Batches[n-1].DependsOn = nil
		p.Batches[0].DependsOn = []string{fmt.Sprint(n)}
	}
	return p
}

// reach returns all pairs of batches that edges connect, directly or indirectly.
func reach(keys []string, edges [][2]string) map[[2]string]bool {
	out := map[[2]string]bool{}
	for _, e := range edges {
		out[e] = true
	}
	for _, k := range keys {
		for _, i := range keys {
			for _, j := range keys {
				if out[[2]string{i, k}] && out[[2]string{k, j}] {
					out[[2]string{i, j}] = true
				}
			}
		}
	}
	return out
}

// whatHolds checks the invariants of a decision in team mode.
func whatHolds(t *testing.T, d Decision) {
	t.Helper()
	var keys, run []string
	var edges, needs [][2]string
	for _, s := range d.Steps {
		keys = append(keys, s.Batch)
		if s.Skip == "" {
			run = append(run, s.Batch)
			for _, n := range s.Needs {
				needs = append(needs, [2]string{n, s.Batch})
			}
		}
		for _, e := range s.Early {
			if !slices.Contains(s.Needs, e) {
				t.Errorf("%s starts early on %s, which it does not need", s.Batch, e)
			}
		}
	}
	for _, e := range d.Edges {
		if e.Reason == "" || e.Kind == "" {
			t.Errorf("an edge without a reason: %+v", e)
		}
		edges = append(edges, [2]string{e.From, e.To})
	}
	all, byNeeds := reach(keys, edges), reach(run, needs)
	for _, i := range run {
		if all[[2]string{i, i}] {
			t.Fatalf("%s waits for itself", i)
		}
		for _, j := range run {
			if all[[2]string{i, j}] != byNeeds[[2]string{i, j}] {
				t.Errorf("%s before %s: %v by edges, %v by needs", i, j, all[[2]string{i, j}], byNeeds[[2]string{i, j}])
			}
		}
	}
	for _, x := range needs {
		for _, k := range run {
			if byNeeds[[2]string{x[0], k}] && byNeeds[[2]string{k, x[1]}] {
				t.Errorf("%s needs %s by way of %s already", x[1], x[0], k)
			}
		}
	}
	apart := func(i, j string) bool { return !all[[2]string{i, j}] && !all[[2]string{j, i}] }
	for k, i := range d.Width {
		if slices.ContainsFunc(d.Width[:k], func(j string) bool { return !apart(i, j) }) || !slices.Contains(run, i) {
			t.Errorf("the batches %v cannot run at the same time, because of %s", d.Width, i)
		}
	}
	if d.Overlap < 0 || d.Overlap > 100 || d.Score.Facts.O < 0 || d.Score.Facts.O > 1 || d.Score.Facts.Z > 1 {
		t.Errorf("overlap %v, score %+v", d.Overlap, d.Score.Facts)
	}
	pairs := 0
	for k, i := range run {
		for _, j := range run[:k] {
			if apart(i, j) {
				pairs++
			}
		}
	}
	if pairs != len(d.Pairs)+d.PairsLeftOut {
		t.Errorf("%d pairs, %d of them are listed", pairs, len(d.Pairs))
	}
	for _, x := range d.Pairs {
		if !apart(x.A, x.B) || x.Reason == "" || x.Overlap != 0 {
			t.Errorf("no pair: %+v", x)
		}
	}
	var grouped []string
	for _, g := range d.Groups {
		for k, i := range g {
			if slices.ContainsFunc(g[:k], func(j string) bool { return !apart(i, j) }) {
				t.Errorf("group %v holds batches that wait for each other", g)
			}
		}
		grouped = append(grouped, g...)
	}
	slices.Sort(grouped)
	if want := slices.Sorted(slices.Values(run)); !slices.Equal(grouped, want) {
		t.Errorf("groups hold %v, want %v", grouped, want)
	}
	if len(run) <= 10 {
		if most := widestByTrying(run, apart); most != len(d.Width) {
			t.Errorf("the width is %d, and %d is possible", len(d.Width), most)
		}
	}
	if d.Workers < 1 || d.Workers > max(1, len(d.Width)) {
		t.Errorf("%d workers for a width of %d", d.Workers, len(d.Width))
	}
}

// widestByTrying finds the largest set of parallel batches by trying all sets.
func widestByTrying(run []string, apart func(i, j string) bool) int {
	most := 0
	for set := range 1 << len(run) {
		var in []string
		ok := true
		for k, key := range run {
			if set&(1<<k) != 0 {
				ok = ok && !slices.ContainsFunc(in, func(j string) bool { return !apart(key, j) })
				in = append(in, key)
			}
		}
		if ok {
			most = max(most, len(in))
		}
	}
	return most
}

// The summary over all pairs equals the result of checking each pair.
func TestPairSummaryMatchesPairs(t *testing.T) {
	for seed := range uint64(300) {
		p := anyPlan(rand.New(rand.NewPCG(seed, 2)))
		g, err := dependencies(p, nil)
		if err != nil {
			t.Fatal(err)
		}
		runs := make([]bool, len(p.Batches))
		for i := range runs {
			runs[i] = i%3 != 2
		}
		s := layoutOf(g, runs)
		sum, n, both := 0.0, 0, 0
		for k, i := range s.run {
			for _, j := range s.run[:k] {
				if len(s.does[i].all) > 0 && len(s.does[j].all) > 0 {
					sum, n = sum+overlap(s.does[i], s.does[j]), n+1
				}
				both += min(len(shared(s.does[i], s.does[j])), len(shared(s.does[j], s.does[i])))
			}
		}
		mean := 0.0
		if n > 0 {
			mean = sum / float64(n)
		}
		if s.sharedFiles != both || math.Abs(s.meanOverlap-mean) > 1e-9 {
			t.Fatalf("seed %d: %d files, %v %%; want %d, %v %%", seed, s.sharedFiles, s.meanOverlap, both, mean)
		}
	}
}

// Dependencies contain no cycle and no redundant entry, include all that the edges imply, and the width is the
// largest possible.
func TestRandomPlanInvariants(t *testing.T) {
	backwards, wideOnes, skipped := 0, 0, 0
	for seed := range uint64(1500) {
		r := rand.New(rand.NewPCG(seed, 1))
		p := anyPlan(r)
		o := Options{Mode: "team", Memory: machine(64)}
		if r.IntN(3) == 0 {
			o.SequentialAfter = p.Batches[r.IntN(len(p.Batches))].Key
		}
		d, err := Decide(p, o)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		whatHolds(t, d)
		if t.Failed() {
			t.Fatalf("seed %d\n%s\n%s", seed, story(d), arrows(d))
		}
		if len(p.Batches) > 1 && len(p.Batches[0].DependsOn) > 0 {
			backwards++
		}
		if len(d.Width) > 2 {
			wideOnes++
		}
		if strings.Contains(story(d), "its condition") {
			skipped++
		}
	}
	if backwards < 100 || wideOnes < 100 || skipped < 100 {
		t.Errorf("too few difficult cases: %d backwards, %d wide, %d with omitted batches", backwards, wideOnes, skipped)
	}
}

// formula is the score of ROUTE-04 in Go.
func formula(f ScoreFact) int {
	saved := 0.0
	if f.M > 0 {
		saved = 100 * f.S / f.M
	}
	return int(max(0, min(100, math.Round(saved-100*f.O-float64(20*min(f.H, 2))+float64(20*f.P)))))
}

// The expression that users see gives the score of the formula.
func TestDefaultScoreMatchesFormula(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 2))
	e, err := condition.ParseNumber[ScoreFact](DefaultScore)
	if err != nil {
		t.Fatal(err)
	}
	values := map[int]bool{}
	for range 10000 {
		w := 2 + r.IntN(5)
		f := ScoreFact{S: r.Float64() * (1 - 1/float64(w)), M: 1 - 1/float64(w), W: w, O: r.Float64(), H: r.IntN(5),
			P: r.IntN(2)}
		if r.IntN(8) == 0 {
			f.O, f.H = 0, 0
		}
		if r.IntN(2) == 0 { // as they come: n of m
			f.S, f.O = f.M*float64(r.IntN(9))/8, float64(r.IntN(21))/20
		}
		v, err := e.Value(f)
		if err != nil {
			t.Fatal(err)
		}
		got := int(v)
		if float64(got) != v {
			t.Fatalf("%+v: %v", f, v)
		}
		if want := formula(f); got != want {
			t.Fatalf("%+v: %d by the expression, %d by the formula", f, got, want)
		}
		values[got] = true
	}
	for _, border := range []int{0, 19, 20, 60, 61, 100} {
		if !values[border] {
			t.Errorf("no facts lead to the confidence %d", border)
		}
	}
}

// Decisions on the plans of the corpus meet the invariants in both modes.
func TestCorpusDecisionsMeetInvariants(t *testing.T) {
	tooltest.Slow(t)
	files, err := filepath.Glob(filepath.Join("..", "planparse", "testdata", "corpus", "files", "*", "*.md"))
	if err != nil || len(files) < 50 {
		t.Fatalf("%d files (%v)", len(files), err)
	}
	kinds := map[EdgeKind]int{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		p := parsed(t, string(text))
		for _, mode := range []string{"team", "headless"} {
			d, err := Decide(p, Options{Mode: mode, Memory: machine(64)})
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if mode == "headless" {
				runnable(t, d)
				continue
			}
			whatHolds(t, d)
			for _, e := range d.Edges {
				kinds[e.Kind]++
			}
		}
		if t.Failed() {
			t.Fatal(file)
		}
	}
	for _, k := range []EdgeKind{EdgeDeclared, EdgeFiles, EdgeText, EdgeRuntime, EdgeWave, EdgeOrder} {
		if kinds[k] == 0 {
			t.Errorf("no edge of kind %s in all of the corpus", k)
		}
	}
}

// For any plan, Decide returns an error or a decision that meets the invariants.
func FuzzDecide(f *testing.F) {
	seven, err := os.ReadFile("testdata/seven.md")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(seven))
	f.Add(wide(3))
	f.Add(batches("A\ndepends_on: 2\n\n**Files:**\n- Modify: `src/**/*.go`, `src/`, `a[b].go`",
		"B\ncontext_refs: src/\n\nConsumes: `X` (Task 1)\n\n```go\nfunc Abcd() {}\n```", "C\nAbcd() depends on T001."))
	f.Add("# T\n\n## Phase 1: A\n\n- [ ] T001 [P] a\n- [ ] T002 b\n\n## Phase 2: B\n\n- [ ] T003 c (depends on T001)\n")
	f.Add(
		"# P\n\n## Wave 1 (parallel)\n\n### Task 1: A\n\n### Task 2: B\n\nsee `{a,b}/*.c`\n\n## Wave 2\n\n### Task 3: C\n")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := planparse.Parse("plan.md", []byte(text))
		if err != nil || len(p.Batches) > 60 {
			return
		}
		d, err := Decide(p, Options{Mode: "team", Memory: machine(64)})
		if err != nil {
			return
		}
		whatHolds(t, d)
	})
}

// manyBatches returns a plan of n batches, each of which shares a file with some others and mentions files and
// functions of earlier ones.
func manyBatches(n int) string {
	var bodies []string
	for i := range n {
		bodies = append(bodies, fmt.Sprintf(
			"Part %d\n**Files:**\n- Create: `pkg%d/mod_%d.py`\n- Modify: `shared/s%d.py`\n- Modify: `README.md`\n- Test: "+
				"`tests/test_mod_%d.py`\n\n"+
				"It calls `make_part_%d` and reads pkg%d/mod_%d.py.\n\n```python\ndef make_part_%d():\n    pass\n```", i, i, i,
			i%97,
			i, i/2, i/3, i/3, i))
	}
	return batches(bodies...)
}

func BenchmarkDecideManyBatches(b *testing.B) {
	for name, text := range map[string]string{
		"a thousand that share files":   manyBatches(1000),
		"a thousand apart":              wide(1000),
		"a thousand, all in one folder": strings.ReplaceAll(manyBatches(1000), "README.md", "README.md`, `docs/"),
	} {
		p, err := planparse.Parse("plan.md", []byte(text))
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := Decide(p, Options{Mode: "team", Memory: machine(64)}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
