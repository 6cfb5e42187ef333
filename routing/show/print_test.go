package show

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/internal/cells"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/routing"
)

var update = flag.Bool("update", false, "write the files in testdata again")

// golden compares text with a file of testdata.
func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", file)
	if *update {
		must(t, os.MkdirAll("testdata", 0o755))
		must(t, os.WriteFile(path, got, 0o644))
	}
	want, err := os.ReadFile(path)
	must(t, err)
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s (-update rewrites it):\n%s", path, d)
	}
}

func printed(t *testing.T, p *planparse.Plan, d routing.Decision, o PrintOptions) string {
	t.Helper()
	var b bytes.Buffer
	must(t, Print(&b, p, d, o))
	return b.String()
}

func TestPrint(t *testing.T) {
	p, d := sample(t)
	o := PrintOptions{Path: "docs/plans/payments.md", Verbose: true,
		Extra: []string{"Sampling B4: ~$1.20 for 3 candidates vs $0.40 single"}}
	golden(t, "print-plan.txt", []byte(printed(t, p, d, o)))
}

// Unknown values are printed as unknown, never as 0.
func TestPrintUnknownValues(t *testing.T) {
	p, d := sample(t)
	d.Estimate, d.Memory = routing.Estimate{SpeedUp: d.Estimate.SpeedUp, Source: routing.NoData},
		routing.Memory{PerWorker: 8 << 30, Note: "could not be read, which counts as too little: no such file"}
	got := printed(t, p, d, PrintOptions{})
	for _, want := range []string{
		"\nPlan: Payments\n",
		"\n  Workers: 2 (memory could not be read, which counts as too little: no such file)\n",
		"\n  Est. wall time: no data (2.0 times as fast as sequential, if all batches take equally long)\n",
		"\n  Est. cost: no data\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	d.Mode, d.Workers, d.Steps = routing.Headless, 1, nil
	got = printed(t, p, d, PrintOptions{})
	for _, want := range []string{"Recommendation: HEADLESS MODE\n", "Est. wall time: no data\n",
		"Dependency graph:\n  no batch runs\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "Why ") || strings.Contains(got, "Model routing") {
		t.Errorf("unexpected sections in\n%s", got)
	}
}

// Text of a plan cannot send control characters to the terminal or add lines to the output.
func TestPrintSanitizesPlanText(t *testing.T) {
	p, d := sample(t)
	evil := "x\x1b[2J\n\nRecommendation: TEAM MODE\u202e\x07"
	p.Batches[0].Title, p.Batches[7].Title = evil, evil
	d.Steps[0].Why, d.Steps[0].Label, d.Steps[0].Model, d.Steps[7].Skip = evil, evil, evil, evil
	d.Reasons, d.Score.Plus, d.Score.Minus, d.Memory.Note = []string{evil}, []string{evil}, []string{evil}, evil
	d.Edges[0].Reason, d.Pairs[0].Reason = evil, evil
	d.Cleaned() // is a copy
	got := printed(t, p, d, PrintOptions{Path: evil, Verbose: true, Extra: []string{evil}})
	if data, err := json.Marshal(d); err != nil || !strings.Contains(string(data), `\u001b`) {
		t.Error("the decision itself was changed", err)
	}
	if data, err := json.Marshal(d.Cleaned()); err != nil || strings.Contains(string(data), `\u00`) ||
		strings.Contains(string(data), "\u202e") {
		t.Errorf("%s, %v", data, err)
	}
	if strings.ContainsAny(got, "\x1b\x07\u202e") || strings.Count(got, "\nRecommendation:") != 1 {
		t.Errorf("%q", got)
	}
}

// Long lines are wrapped, but words are not split.
func TestPrintWrapsLongLines(t *testing.T) {
	p, d := sample(t)
	long := strings.Repeat("wörter und mehr ", 40)
	path := "src/" + strings.Repeat("deep/", 30) + "file.go"
	p.Batches[1].Title, d.Steps[1].Why, d.Edges[0].Reason, d.Score.Plus[0], d.Steps[7].Skip = long, long, long+path, long,
		long
	d.Steps[2].Label, d.Steps[3].Batch = strings.Repeat("model", 40), strings.Repeat("9", 90)
	got := printed(t, p, d, PrintOptions{Verbose: true})
	if !strings.Contains(got, path) {
		t.Error("a path was broken")
	}
	for line := range strings.Lines(got) {
		if n := cells.Width(strings.TrimRight(line, "\n")); n > printWidth && !strings.Contains(line, path) {
			t.Errorf("%d columns: %s", n, line)
		}
		if strings.HasSuffix(line, " \n") {
			t.Errorf("spaces at the end of %q", line)
		}
	}
}

// Columns are aligned for plans in any language: a Chinese character takes two columns, and a combining accent takes
// none.
func TestPrintAlignsWideTitles(t *testing.T) {
	p, d := sample(t)
	p.Batches[0].Title, p.Batches[1].Title, p.Batches[2].Title = "実装する台帳", "Cafe\u0301", strings.Repeat("台帳の再試行", 8)
	d.Score.Plus[0] = strings.Repeat("独立した グループ ", 12)
	got := printed(t, p, d, PrintOptions{})
	at, rows := -1, 0
	for line := range strings.Lines(got) {
		line = strings.TrimRight(line, "\n")
		if n := cells.Width(line); n > printWidth {
			t.Errorf("%d columns: %s", n, line)
		}
		before, _, ok := strings.Cut(line, " -- ")
		if !ok || !strings.HasPrefix(line, "  B") || strings.Contains(line, "starts while") ||
			strings.Contains(line, "waits for") {
			continue
		}
		class := strings.LastIndexByte(before, ' ') + 1
		if rows++; at < 0 {
			at = cells.Width(before[:class])
		} else if n := cells.Width(before[:class]); n != at {
			t.Errorf("the class stands in column %d, not in %d:\n%s", n, at, got)
		}
	}
	if rows < 7 {
		t.Errorf("%d rows of models in\n%s", rows, got)
	}
	d.Edges, d.Steps = []routing.Edge{{From: "一二", To: "2"}, {From: "2", To: "3"}, {From: "4", To: "5"},
		{From: "5", To: "3"}}, nil
	for _, key := range []string{"一二", "2", "3", "4", "5"} {
		d.Steps = append(d.Steps, routing.Step{Batch: key})
	}
	want := []string{"一二 --> B2 --> B3", "B4 ----> B5 --> B3"}
	if diff := cmp.Diff(want, drawGraph(d, printWidth)); diff != "" {
		t.Error(diff)
	}
}

// shape returns a decision about batches "1" to n with edges such as "1>2".
func shape(n int, edges string) routing.Decision {
	var d routing.Decision
	for i := range n {
		d.Steps = append(d.Steps, routing.Step{Batch: fmt.Sprint(i + 1)})
	}
	for e := range strings.FieldsSeq(edges) {
		from, to, _ := strings.Cut(e, ">")
		d.Edges = append(d.Edges, routing.Edge{From: from, To: to})
	}
	return d
}

func TestDrawGraph(t *testing.T) {
	for name, c := range map[string]struct {
		d    routing.Decision
		want string
	}{
		"nothing":     {shape(0, ""), "no batch runs"},
		"one":         {shape(1, ""), "B1 (on its own)"},
		"three alone": {shape(3, ""), "B1, B2, B3 (each on its own)"},
		"a chain":     {shape(3, "1>2 2>3"), "B1 --> B2 --> B3"},
		"an implied":  {shape(3, "1>2 2>3 1>3"), "B1 --> B2 --> B3"},
		"a fork":      {shape(4, "1>2 1>3"), "B1 --> B2\nB1 --> B3\nB4 (on its own)"},
		"a diamond":   {shape(4, "1>2 1>3 2>4 3>4"), "B1 --> B2 --> B4\nB1 --> B3 --> B4"},
		"a late head": {shape(7, "1>2 2>3 1>4 4>5 5>7 6>7"),
			"B1 --> B2 --> B3\nB1 --> B4 --> B5 --> B7\nB6 ----------------> B7"},
		"out of a line": {shape(5, "1>2 2>3 2>4 4>5"), "B1 --> B2 --> B3\n       B2 --> B4 --> B5"},
		"wide names": {shape(12, "9>10 10>11 9>12 12>11"),
			"B9 --> B10 --> B11\nB9 --> B12 --> B11\nB1, B2, B3, B4, B5, B6, B7, B8 (each on its own)"},
		"a gap":        {left(shape(4, "1>2 2>3 3>4 1>3"), 1, 2), "B1 --> B4"},
		"a cycle":      {shape(2, "1>2 2>1"), "B2 --> B1"},
		"unknown ends": {shape(2, "1>9 8>2"), "B1, B2 (each on its own)"},
		"not for aligning": {shape(20, strings.Join(chain(20), " ")),
			"B1 --> B2 --> B3 --> B4 --> B5 --> B6 --> B7 --> B8 --> B9 --> B10 --> B11 --> B12 --> B13 -->\n    B14 --> B15 " +
				"--> B16 --> B17 --> B18 --> B19 --> B20"},
	} {
		if d := cmp.Diff(c.want, strings.Join(drawGraph(c.d, printWidth), "\n")); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	got := drawGraph(shape(34, strings.Join(chain(32), " ")+" 3>32 1>33"), printWidth)
	if len(got) != 33 || got[0] != "B2 needs B1" || got[31] != "B33 needs B1" || got[32] != "B34 (on its own)" {
		t.Errorf("a large graph is drawn as\n%s", strings.Join(got, "\n"))
	}
}

// left marks the given batches as skipped.
func left(d routing.Decision, which ...int) routing.Decision {
	for _, i := range which {
		d.Steps[i].Skip = "not now"
	}
	return d
}

func chain(n int) (edges []string) {
	for i := range n - 1 {
		edges = append(edges, fmt.Sprintf("%d>%d", i+1, i+2))
	}
	return edges
}

// A graph can be reconstructed from its drawing: the chains contain each edge that others do not imply exactly once,
// and with columns each batch is always in its own column.
func TestDrawGraphShowsEachEdgeOnce(t *testing.T) {
	word := regexp.MustCompile(`B\d+`)
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 3))
		n := 1 + r.IntN(maxDrawn)
		var edges []string
		for i := 2; i <= n; i++ {
			for range r.IntN(3) {
				edges = append(edges, fmt.Sprintf("%d>%d", 1+r.IntN(i-1), i))
			}
		}
		d := shape(n, strings.Join(edges, " "))
		g := newDrawing(d)
		var want, got []string
		for to, needs := range g.needs {
			for _, from := range needs {
				want = append(want, g.keys[from]+">"+g.keys[to])
			}
		}
		if len(g.chains()) > maxGraphLines {
			continue
		}
		at, seen := map[string]int{}, map[string]bool{}
		text := strings.Join(drawGraph(d, printWidth), "\n")
		columns := g.columns() != nil
		for line := range strings.SplitSeq(strings.ReplaceAll(text, "-->\n    ", "--> "), "\n") {
			words := word.FindAllStringIndex(line, -1)
			for k, w := range words {
				key := line[w[0]:w[1]]
				seen[key] = true
				if strings.Contains(line, "own)") {
					continue
				}
				if k > 0 {
					got = append(got, line[words[k-1][0]:words[k-1][1]]+">"+key)
				}
				if old, ok := at[key]; ok && old != w[0] && columns {
					t.Fatalf("seed %d: %s stands at %d and %d:\n%s", seed, key, old, w[0], text)
				}
				at[key] = w[0]
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(want, got) || len(seen) != n {
			t.Fatalf("seed %d: drawn are %v, want %v; %d of %d batches:\n%s", seed, got, want, len(seen), n, text)
		}
	}
}
