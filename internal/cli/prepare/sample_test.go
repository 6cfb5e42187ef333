package prepare

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/internal/config"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/routing"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/sampling"
)

// marked returns the tournament settings of a run that starts.
func marked(t *testing.T, s *sampleFlags, agent string, workers, batches int) (runner.Info, []string) {
	t.Helper()
	var text strings.Builder
	text.WriteString("# p\n")
	info := runner.Info{Agent: agent, Workers: workers, MaxAttempts: 3}
	for i := range batches {
		fmt.Fprintf(&text, "\n## Batch %d: b\n\n- Create: `%d.txt`\n", i+1, i+1)
		info.Batches = append(info.Batches,
			runner.BatchInfo{Key: fmt.Sprint(i + 1), Number: fmt.Sprint(i + 1), ExpectMS: 60000})
	}
	plan, err := planparse.Parse("plan.md", []byte(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	c := config.Sampling{OnRetry: true, OnCritical: true, Count: 3, MaxCount: 5, MinMemoryPerGB: 4}
	if s.available == nil {
		s.available = func() (uint64, error) { return 64 << 30, nil }
	}
	if err := s.mark(&info, plan, c, &routing.Decision{Steps: make([]routing.Step, batches)}); err != nil {
		t.Fatal(err)
	}
	return info, s.lines()
}

func TestSampleLinesShowEstimate(t *testing.T) {
	for name, tt := range map[string]struct {
		agent   string
		workers int
		want    string
	}{
		"one after the other": {"fake", 1,
			"Sampling B1: 4 candidates; cost: no data; time: about x 4, ~4m vs 1m single (one after the other)"},
		"two at a time": {"fake", 2,
			"Sampling B1: 4 candidates; cost: no data; time: about x 3, ~3m vs 1m single (2 at once)"},
		"all at once": {"fake", 9,
			"Sampling B1: 4 candidates; cost: no data; time: about +50 %, ~2m vs 1m single (4 at once)"},
		"never": {"script", 1,
			"Sampling B1: --sample-batch requests 4 candidates; not sampled: the agent executes the plan literally, so all " +
				"candidates would be the same"},
	} {
		info, lines := marked(t, &sampleFlags{batches: []string{"B1=4"}}, tt.agent, tt.workers, 2)
		if diff := cmp.Diff([]string{tt.want}, lines); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
		if want := map[string]int{"fake": 4}[tt.agent]; info.Batches[0].Sample != want || info.Batches[1].Sample != 0 {
			t.Errorf("%s: marked %+v", name, info.Batches)
		}
		if !info.Resample || info.Seed == 0 {
			t.Errorf("%s: resample %v, seed %d", name, info.Resample, info.Seed)
		}
	}
}

// The dry run announces only candidates for which there is memory. The run checks memory again when they start.
func TestDryRunLimitsCandidatesByMemory(t *testing.T) {
	s := &sampleFlags{batches: []string{"B1=4"}, available: func() (uint64, error) { return 3 << 30, nil }}
	info, lines := marked(t, s, "fake", 2, 1)
	want := "Sampling B1: --sample-batch requests 4 candidates; not sampled: 3 GB of memory are available, and 4 " +
		"candidates need 16 GB " +
		"(sample_min_memory_per_gb = 4); checked again when the batch starts"
	if diff := cmp.Diff([]string{want}, lines); diff != "" || info.Batches[0].Sample != 4 {
		t.Errorf("%d candidates are marked\n%s", info.Batches[0].Sample, diff)
	}
}

// In team mode the candidates of one batch compete in parallel, independent of the width of the plan; --workers
// limits them.
func TestWorkersLimitParallelCandidates(t *testing.T) {
	for _, tt := range []struct {
		mode    routing.Mode
		workers int
		want    int
	}{{routing.Team, 0, 5}, {routing.Team, 2, 2}, {routing.Headless, 0, 0}, {routing.Headless, 4, 0}} {
		if got := candidates(runner.Info{Mode: string(tt.mode)}, routing.Options{Workers: tt.workers}); got != tt.want {
			t.Errorf("%s, --workers %d: %d at once, want %d", tt.mode, tt.workers, got, tt.want)
		}
	}
}

func TestSampleLinesAreLimited(t *testing.T) {
	all := &sampleFlags{}
	for i := range 60 {
		all.batches = append(all.batches, fmt.Sprintf("%d=2", i+1))
	}
	_, lines := marked(t, all, "fake", 1, 60)
	if len(lines) != mostTold+1 || lines[mostTold] != "Sampling: so for 48 more batches" {
		t.Errorf("%d lines, the last is %q", len(lines), lines[len(lines)-1])
	}
}

// A resumed run keeps the flags that it was started with.
func TestResumeKeepsSampleFlags(t *testing.T) {
	info, _ := marked(t, &sampleFlags{batches: []string{"B1=4", "2=3"}}, "fake", 1, 2)
	got, err := KeptFlags(info.Flags)
	if diff := cmp.Diff(sampling.Flags{SampleBatch: map[string]int{"1": 4, "2": 3}}, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	got, err = KeptFlags(map[string]string{keptSample: "5"})
	if diff := cmp.Diff(sampling.Flags{Sample: 5, SampleGiven: true}, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	if err := got.Check(3); err == nil {
		t.Error("5 candidates are taken although the most is 3 now")
	}
	if _, err := KeptFlags(map[string]string{keptSample: "many"}); err == nil {
		t.Error("no error")
	}
}
