package curate_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/tools/tooltest"
	"github.com/runplan/runplan/training"
	"github.com/runplan/runplan/training/curate"
	"github.com/runplan/runplan/training/plan"
)

// example returns an example of stage scope with n words, starting at word first.
func example(first, n int) training.Example {
	words := make([]string, n)
	for i := range words {
		words[i] = fmt.Sprintf("w%d", first+i)
	}
	e := training.Example{
		Stage: training.Scope, Base: training.Reasoning, Source: training.Synthetic, Positive: true,
		Prompt: []training.Message{{Role: "system", Content: "Which files matter?"},
			{Role: "user", Content: strings.Join(words, " ")}},
		Completion: "{}",
		Origin: training.Origin{Repo: "r", License: "MIT", Commit: fmt.Sprintf("c%d", first),
			At: time.Unix(int64(first), 0).UTC()},
	}
	return seal(e)
}

func seal(e training.Example) training.Example { e.ID = e.Sum(); return e }

func with(e training.Example, change func(*training.Example)) training.Example {
	e.Prompt = slices.Clone(e.Prompt)
	change(&e)
	return seal(e)
}

func file(t testing.TB, all ...training.Example) string {
	t.Helper()
	var b bytes.Buffer
	for _, e := range all {
		line, err := e.Encode()
		if err != nil {
			t.Fatal(err)
		}
		b.Write(line)
	}
	name := filepath.Join(t.TempDir(), "examples.jsonl")
	if err := os.WriteFile(name, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

func scope() plan.Plan { return plan.For(training.Scope) }

func build(t testing.TB, p plan.Plan, all ...training.Example) (curate.Manifest, string, error) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "set")
	m, err := curate.Build(context.Background(), []string{file(t, all...)}, out, curate.Options{Plan: p})
	return m, out, err
}

// apart returns n examples that have nothing in common.
func apart(n int) []training.Example {
	var out []training.Example
	for i := range n {
		out = append(out, example(i*1000, 40))
	}
	return out
}

// TRAIN-07: each example that is left out has one reason.
func TestOmittedExamplesHaveOneReason(t *testing.T) {
	half, low := 0.5, 0.49
	rest := apart(20)
	base := example(100_000, 40)
	for name, c := range map[string]struct {
		change func(*training.Example)
		plan   func(*plan.Plan)
		want   curate.Reason
	}{
		"another stage": {change: func(e *training.Example) { e.Stage = training.Precision },
			want: curate.OtherStage},
		"another source": {plan: func(p *plan.Plan) { p.Data.Sources = []training.Source{training.Synthetic} },
			change: func(e *training.Example) { e.Source, e.Origin.Receipt = training.Logged, "x" }, want: curate.OtherSource},
		"another repository": {plan: func(p *plan.Plan) { p.Data.Repos = []string{"r"} },
			change: func(e *training.Example) { e.Origin.Repo = "s" }, want: curate.OtherRepo},
		"no license": {plan: func(p *plan.Plan) { p.Data.Licenses = []string{"MIT"} },
			change: func(e *training.Example) { e.Origin.License = "" }, want: curate.NoLicense},
		"no license, all may be": {change: func(e *training.Example) { e.Origin.License = "" }},
		"another license": {plan: func(p *plan.Plan) { p.Data.Licenses = []string{"MIT"} },
			change: func(e *training.Example) { e.Origin.License = "GPL-3.0" }, want: curate.OtherLicense},
		"one of two licenses": {plan: func(p *plan.Plan) { p.Data.Licenses = []string{"mit"} },
			change: func(e *training.Example) { e.Origin.License = "Apache-2.0 AND MIT" }, want: curate.OtherLicense},
		"both licenses": {plan: func(p *plan.Plan) { p.Data.Licenses = []string{"mit", "apache-2.0"} },
			change: func(e *training.Example) { e.Origin.License = "Apache-2.0 AND MIT" }},
		"too old": {plan: func(p *plan.Plan) { p.Data.Since = time.Unix(0, 0) },
			change: func(e *training.Example) { e.Origin.At = time.Unix(-1, 0) }, want: curate.TooOld},
		"just good enough":     {change: func(e *training.Example) { e.Quality = &half }},
		"not good enough":      {change: func(e *training.Example) { e.Quality = &low }, want: curate.LowQuality},
		"bad, as it should be": {change: func(e *training.Example) { e.Quality, e.Positive = &low, false }},
		"unknown quality": {plan: func(p *plan.Plan) { p.Data.UnknownQuality = plan.Drop },
			want: curate.UnknownQuality},
		"too long": {plan: func(p *plan.Plan) { p.Data.MaxTokens = 100 },
			change: func(e *training.Example) { e.Completion = strings.Repeat("x", 400) }, want: curate.TooLong},
		"a copy from another time": {change: func(e *training.Example) {
			e.Prompt, e.Origin.At = rest[3].Prompt,
				time.Unix(0, 0)
		}, want: curate.Copy},
		"good and bad at once": {change: func(e *training.Example) { e.Prompt, e.Positive = rest[3].Prompt, false },
			want: curate.Contradiction},
		"nearly the same": {change: func(e *training.Example) { e.Prompt = rest[3].Prompt; e.Completion = "{ }x" },
			want: curate.Near},
		"nearly the same, but bad": {change: func(e *training.Example) {
			e.Prompt = rest[3].Prompt
			e.Completion,
				e.Positive = "{ }x", false
		}},
	} {
		t.Run(name, func(t *testing.T) {
			p, e := scope(), base
			if c.plan != nil {
				c.plan(&p)
			}
			all := slices.Clone(rest)
			if p.Data.UnknownQuality == plan.Drop {
				for i := range all {
					all[i].Quality = &half
				}
			}
			if c.change != nil {
				e = with(e, c.change)
			}
			m, out, err := build(t, p, append(all, e)...)
			if err != nil {
				t.Fatal(err)
			}
			sum := 0
			for r, n := range m.LeftOut {
				sum += n
				if r != c.want {
					t.Errorf("%d %s", n, r)
				}
			}
			if (sum > 0) != (c.want != "") || m.Read != 21 || m.Train.Examples+m.Validation.Examples != 21-sum {
				t.Errorf("%+v", m)
			}
			text, err := os.ReadFile(filepath.Join(out, curate.OutFile))
			if err != nil || bytes.Count(text, []byte("\n")) != sum {
				t.Errorf("%v: %s", err, text)
			}
		})
	}
}

// The ratio decides how many examples are used; only the surplus is left out.
func TestBalance(t *testing.T) {
	for _, c := range []struct {
		positive, negative int
		ratio              float64
		trim               bool
		good, bad          int
	}{
		{10, 10, 1, false, 10, 10}, {10, 11, 1, false, 10, 10}, {10, 4, 1, false, 10, 4}, {10, 4, 1, true, 4, 4},
		{10, 50, 0.5, false, 10, 5}, {7, 50, 0.5, false, 7, 3}, {10, 3, 0.5, true, 6, 3}, {10, 3, 0, false, 10, 0},
		{10, 3, 0, true, 10, 0},
		{0, 5, 2, false, 0, 0}, {5, 0, 1, true, 0, 0}, {3, 7, 2.5, false, 3, 7}, {3, 8, 2.5, false, 3, 7},
	} {
		if g, b := curate.Balance(c.positive, c.negative, c.ratio, c.trim); g != c.good || b != c.bad {
			t.Errorf("%+v: %d and %d", c, g, b)
		}
	}
}

// Only the seed decides which of too many bad examples are left out.
func TestSeedSelectsOmittedExamples(t *testing.T) {
	all := apart(40)
	for i := range all {
		if i%4 != 0 {
			all[i] = with(all[i], func(e *training.Example) { e.Positive, e.Completion = false, "no" })
		}
	}
	taken := func(seed uint64, order []training.Example) string {
		p := scope()
		p.Seed = seed
		m, out, err := build(t, p, order...)
		if err != nil {
			t.Fatal(err)
		}
		if m.LeftOut[curate.Surplus] != 20 {
			t.Errorf("%+v", m.LeftOut)
		}
		text := ""
		for _, name := range []string{curate.TrainFile, curate.ValidationFile, curate.OutFile} {
			b, err := os.ReadFile(filepath.Join(out, name))
			if err != nil {
				t.Fatal(err)
			}
			text += string(b)
		}
		return text
	}
	one := taken(1, all)
	shuffled := slices.Clone(all)
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(shuffled),
		func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	if one != taken(1, shuffled) {
		t.Error("the order in which examples come matters")
	}
	if one == taken(2, all) {
		t.Error("another seed gives the same selection")
	}
}

// corpus generates a history as real repositories have it: successive versions of files, commits with several
// examples, copies with small changes, tasks, and two kinds of pairs.
func corpus(r *rand.Rand, n int) []training.Example {
	var out []training.Example
	version := map[string]int{}
	for i := 0; len(out) < n; i++ {
		repo := fmt.Sprintf("repo%d", r.IntN(3))
		commit := fmt.Sprintf("%s-c%d", repo, i)
		var files []training.File
		for range 1 + r.IntN(2) {
			path := fmt.Sprintf("f%d", r.IntN(15))
			files = append(files, training.File{Path: path, Blob: fmt.Sprintf("%s-%s-%d", repo, path, version[repo+path])})
			version[repo+path] += r.IntN(2)
		}
		for range 1 + r.IntN(3) {
			e := example(r.IntN(1_000_000), 20+r.IntN(60))
			if len(out) > 0 && r.IntN(4) == 0 { // nearly what another says
				e.Prompt = slices.Clone(out[r.IntN(len(out))].Prompt)
				e.Prompt[1].Content += fmt.Sprint(" more", r.IntN(3))
			}
			e.Origin = training.Origin{Repo: repo, Commit: commit, Files: files, At: time.Unix(int64(i), 0).UTC()}
			e.Positive = r.IntN(4) > 0
			e.Kind = []training.Kind{"", training.Forward, training.Retroactive}[r.IntN(3)]
			if r.IntN(5) == 0 {
				e.Origin.Commit, e.Origin.Run, e.Origin.Batch, e.Origin.Task = "", "run", fmt.Sprint("b", r.IntN(n)),
					fmt.Sprint("t", r.IntN(n))
				e.Source, e.Origin.Receipt = training.Logged, "sum"
			}
			if r.IntN(6) == 0 {
				e.Completion = fmt.Sprint("answer ", r.IntN(9))
			}
			out = append(out, seal(e))
		}
	}
	return out
}

func read(t testing.TB, out, name string) []training.Example {
	t.Helper()
	f, err := os.Open(filepath.Join(out, name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []training.Example
	for e, err := range training.Read(name, f) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// shares computes independently what two examples have in common that must not be on both sides of a split.
func shares(a, b training.Example) string {
	x, y := a.Origin, b.Origin
	switch {
	case x.Commit != "" && x.Commit == y.Commit:
		return "commit " + x.Commit
	case x.Task != "" && x.Task == y.Task:
		return "task " + x.Task
	case cmp.Equal(a.Prompt, b.Prompt):
		return "prompt"
	}
	for _, f := range x.Files {
		for _, g := range y.Files {
			if f.Blob == g.Blob {
				return "version " + f.Blob
			}
		}
	}
	groups := func(e training.Example) map[string]bool {
		words := strings.FieldsFunc(e.Prompt[1].Content+" "+e.Completion+" "+e.Rejected,
			func(r rune) bool { return strings.ContainsRune(" {}", r) })
		out := map[string]bool{}
		for i := 0; i+5 <= len(words); i++ {
			out[strings.Join(words[i:i+5], " ")] = true
		}
		return out
	}
	p, q := groups(a), groups(b)
	both := 0
	for s := range p {
		both += map[bool]int{true: 1}[q[s]]
	}
	if all := len(p) + len(q) - both; float64(both) >= 0.85*float64(all) {
		return "text"
	}
	return ""
}

// TRAIN-18: for any history, training and validation share no commit, task, file version, prompt or near-duplicate;
// validation has both kinds of pairs; and no example is lost.
func TestSplitPreventsLeaks(t *testing.T) {
	tooltest.Slow(t)
	for seed := range uint64(14) {
		r := rand.New(rand.NewPCG(seed, 7))
		all := corpus(r, 60+r.IntN(250))
		p := scope()
		p.Seed = seed
		m, out, err := build(t, p, all...)
		if errors.Is(err, curate.ErrSplit) {
			t.Errorf("seed %d: %v", seed, err)
			continue
		}
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		train, held := read(t, out, curate.TrainFile), read(t, out, curate.ValidationFile)
		kinds := map[training.Kind]int{}
		for _, h := range held {
			kinds[h.Kind]++
			for _, x := range train {
				if what := shares(x, h); what != "" {
					t.Errorf("seed %d: %s and %s share their %s", seed, x.ID, h.ID, what)
				}
			}
		}
		if kinds[training.Forward] == 0 || kinds[training.Retroactive] == 0 {
			t.Errorf("seed %d: %v in validation", seed, kinds)
		}
		sum := len(train) + len(held)
		for _, n := range m.LeftOut {
			sum += n
		}
		if sum != len(all) || m.Train.Examples != len(train) || m.Validation.Examples != len(held) {
			t.Errorf("seed %d: %d of %d are reported: %+v", seed, sum, len(all), m)
		}
		if share := float64(len(held)) / float64(len(train)+len(held)); share < 0.05 || share > 0.35 {
			t.Errorf("seed %d: %.2f is kept for validation", seed, share)
		}
	}
}

// Validation gets the newest examples if nothing ties them to the rest.
func TestValidationGetsNewestExamples(t *testing.T) {
	_, out, err := build(t, scope(), apart(40)...)
	if err != nil {
		t.Fatal(err)
	}
	held := read(t, out, curate.ValidationFile)
	if len(held) != 6 || held[0].Origin.Commit != "c34000" {
		t.Errorf("%d, from %s", len(held), held[0].Origin.Commit)
	}
}

// A history in which each version of a file follows from the previous one is a single group. It is split by time; an
// example that would be on both sides is left out and counted.
func TestChainedHistorySplitsByTime(t *testing.T) {
	all := apart(40)
	for i := range all {
		all[i].Origin.Files = []training.File{{Path: "f", Blob: fmt.Sprint("v", i)}, {Path: "f", Blob: fmt.Sprint("v", i+1)}}
	}
	m, out, err := build(t, scope(), all...)
	if err != nil {
		t.Fatal(err)
	}
	if held := read(t, out, curate.ValidationFile); m.LeftOut[curate.Leaks] != 1 || len(held) < 5 ||
		held[len(held)-1].Origin.Commit != "c39000" {
		t.Errorf("%+v, %d kept", m.LeftOut, len(held))
	}
}

// If all examples contain the same version of a file, no split is possible, and Build returns an error.
func TestBuildFailsWithoutPossibleSplit(t *testing.T) {
	all := apart(10)
	for i := range all {
		all[i].Origin.Files = []training.File{{Path: "f", Blob: "same"}}
	}
	_, out, err := build(t, scope(), all...)
	if !errors.Is(err, curate.ErrSplit) || !strings.Contains(err.Error(), "file versions") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(out); !os.IsNotExist(err) {
		t.Error("something was written")
	}
	if _, _, err := build(t, scope(), all[0]); !errors.Is(err, curate.ErrSplit) {
		t.Errorf("one example: %v", err)
	}
}

// The threshold is exact: two texts with exactly that similarity are near-duplicates, and slightly less similar ones
// are not. 40 words have 36 groups of five, and each word that differs at the end removes one group on either side.
func TestNearDuplicateThreshold(t *testing.T) {
	one := example(0, 40)
	for same, likeness := range map[int]float64{36: 1, 34: 34.0 / 38, 33: 33.0 / 39, 32: 32.0 / 40} {
		other := with(one, func(e *training.Example) {
			words := strings.Fields(e.Prompt[1].Content)
			for i := same + 4; i < len(words); i++ {
				words[i] = fmt.Sprint("other", i)
			}
			e.Prompt[1].Content = strings.Join(words, " ")
			e.Completion = "{ }"
		})
		for _, threshold := range []float64{likeness, likeness + 0.001} {
			if threshold > 1 {
				continue
			}
			p := scope()
			p.Data.NearDuplicate = threshold
			m, _, err := build(t, p, append(apart(12)[1:], one, other)...)
			if err != nil {
				t.Fatal(err)
			}
			if got := m.LeftOut[curate.Near] == 1; got != (threshold == likeness) {
				t.Errorf("%d groups of 36 are the same (%.4f), threshold %.4f: near is %v", same, likeness, threshold, got)
			}
		}
	}
}

// Text that nearly all prompts contain does not make two examples near-duplicates.
func TestCommonTextMakesNoDuplicates(t *testing.T) {
	all := apart(30)
	long := strings.Repeat("these words stand in each and every prompt of the stage ", 40)
	for i := range all {
		all[i] = with(all[i], func(e *training.Example) {
			e.Prompt[1].Content = fmt.Sprintf("%s: item%d thing%d part%d end%d x%d", long, i, i, i, i, i)
		})
	}
	m, _, err := build(t, scope(), all...)
	if err != nil || m.LeftOut[curate.Near] != 0 {
		t.Errorf("%v: %+v", err, m.LeftOut)
	}
}
