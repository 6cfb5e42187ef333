package prepare

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/agents/script"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/config"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/routing"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/sampling"
)

// sampleFlags holds the flags of tournaments (SAMP-18).
type sampleFlags struct {
	count   int
	batches []string
	off     bool
	seed    uint64
	cmd     *cobra.Command

	told []string // lines to print before the run: the batches that are sampled from the start and the cost, or why there are none

	available func() (uint64, error) // returns free memory in bytes; nil asks the machine
}

// Add adds the flags to a command.
func (s *sampleFlags) Add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.IntVar(&s.count, "sample", 0, "number of candidates of each batch that compete from the start")
	f.StringSliceVar(&s.batches, "sample-batch", nil,
		"BATCH=N, such as B4=5: candidates of one batch; may be given more than once")
	f.BoolVar(&s.off, "no-sample", false, "no tournaments, also if the settings or the plan ask for them")
	f.Uint64Var(&s.seed, "seed", 0, "random seed; 0 chooses one and records it")
	s.cmd = cmd
}

// Keys under which a run stores the sampling flags for resume.
const (
	keptSample      = "sample"
	keptSampleBatch = "sample-batch"
)

func (s *sampleFlags) flags() (sampling.Flags, error) {
	per, err := sampling.ParseSampleBatch(s.batches)
	if err != nil {
		return sampling.Flags{}, cli.Usage(err, "write it as --sample-batch B4=5")
	}
	given := s.cmd != nil && s.cmd.Flags().Changed("sample")
	return sampling.Flags{Sample: s.count, SampleGiven: given, SampleBatch: per, NoSample: s.off}, nil
}

// KeptFlags parses the sampling flags that the run was started with.
func KeptFlags(kept map[string]string) (f sampling.Flags, err error) {
	if text := kept[keptSample]; text != "" {
		if f.Sample, err = strconv.Atoi(text); err != nil {
			return f, fmt.Errorf("the run was started with --sample %s: %w", text, err)
		}
		f.SampleGiven = true
	}
	if text := kept[keptSampleBatch]; text != "" {
		f.SampleBatch, err = sampling.ParseSampleBatch([]string{text})
	}
	return f, err
}

// mark records which batches are sampled and when, and adds the effort to the estimate.
func (s *sampleFlags) mark(info *runner.Info, p *planparse.Plan, c config.Sampling, d *routing.Decision) error {
	if _, err := sampling.NewScorer(c.Score); err != nil {
		return cli.Usage(err, "")
	}
	f, err := s.flags()
	if err != nil {
		return err
	}
	if err := f.Check(c.MaxCount); err != nil {
		return cli.Usage(err, "")
	}
	if err := f.CheckBatches(lists.Map(p.Batches, func(b planparse.Batch) string { return b.Called() })); err != nil {
		return cli.Usage(err, "")
	}
	if info.Flags == nil {
		info.Flags = map[string]string{}
	}
	if f.SampleGiven {
		info.Flags[keptSample] = strconv.Itoa(f.Sample)
	}
	if len(s.batches) > 0 {
		info.Flags[keptSampleBatch] = strings.Join(s.batches, ",")
	}
	info.Seed = s.seed
	for info.Seed == 0 {
		info.Seed = rand.Uint64() >> 11 // JSON readers keep 53 bits
	}
	info.Resample = c.OnRetry && !f.NoSample
	info.StopAtFirst = c.StopAtFirst
	s.told = nil
	held := map[string]routing.Tournament{}
	for i := range info.Batches {
		t, err := s.markBatch(info, i, &p.Batches[i], p.Header.Critical, f, c, d.Steps[i].Costs)
		if err != nil {
			return err
		}
		if t.Action == sampling.Sample && info.Batches[i].Skip == "" {
			held[info.Batches[i].Key] = routing.Tournament{Candidates: t.N, AtOnce: t.AtOnce}
		}
	}
	d.CountTournaments(held)
	return nil
}

// markBatch decides about one batch. Memory is checked again when the tournament is due. The lines for people and the
// result describe the present state.
func (s *sampleFlags) markBatch(info *runner.Info, i int, b *planparse.Batch, critical bool, f sampling.Flags,
	c config.Sampling, cost *float64) (sampling.Tournament, error) {
	plenty := ^uint64(0)
	req := sampling.Request{
		Batch: b.Called(), Critical: b.Critical ||
			critical, Attempt: 1, Flags: f, Settings: SamplingSettings(c),
		Literal: info.Agent == script.Name, Memory: &plenty, Team: info.AtOnce() > 1, Workers: info.AtOnce(), Cost: cost,
	}
	if ms := info.Batches[i].ExpectMS; ms > 0 {
		took := time.Duration(ms) * time.Millisecond
		req.Time = &took
	}
	plan, err := sampling.Plan(req)
	if err != nil {
		return plan, cli.Usage(err, "")
	}
	if plan.Action == sampling.Sample {
		info.Batches[i].Sample = plan.N
	}
	if plan.Trigger == "" || info.Batches[i].Skip != "" {
		return plan, nil
	}
	req.Memory = nil
	if s.available == nil {
		s.available = routing.AvailableMemory
	}
	if now, err := s.available(); err == nil {
		req.Memory = &now
	}
	if plan, err = sampling.Plan(req); err != nil {
		return plan, cli.Usage(err, "")
	}
	what := fmt.Sprintf("Sampling B%s: %s", strings.TrimLeft(b.Called(), "Bb"), strings.Join(plan.Reasons, "; "))
	if plan.Action == sampling.Sample {
		what = fmt.Sprintf("%s; %s", plan.Cost, plan.Time)
	} else if info.Batches[i].Sample > 0 {
		what += "; checked again when the batch starts"
	}
	s.told = append(s.told, what)
	return plan, nil
}

// mostTold is the highest number of batches that are listed one by one.
const mostTold = 12

// lines describes which batches are sampled from the start and the cost (SAMP-15).
func (s *sampleFlags) lines() []string {
	if len(s.told) <= mostTold {
		return s.told
	}
	return append(slices.Clone(s.told[:mostTold]), "Sampling: so for "+phrase.Count(len(s.told)-mostTold, "more batch"))
}

// SamplingSettings returns the settings of sampling.
func SamplingSettings(c config.Sampling) sampling.Settings {
	return sampling.Settings{OnRetry: c.OnRetry, OnCritical: c.OnCritical, Count: c.Count, MaxCount: c.MaxCount,
		GBPerCandidate: c.MinMemoryPerGB}
}

// candidates returns how many candidates of a batch may run at the same time. The width of the plan does not limit
// them (C-11).
func candidates(info runner.Info, how routing.Options) int {
	if info.Mode != string(routing.Team) {
		return 0
	}
	return cmp.Or(how.Workers, sampling.MostAtOnce)
}
