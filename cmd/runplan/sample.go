package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/config"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/local"
	"github.com/runplan/runplan/sampling"
)

// sampleFlags are the flags of tournaments (SAMP-18).
type sampleFlags struct {
	count   int
	batches []string
	off     bool
	seed    uint64
	cmd     *cobra.Command
}

func (s *sampleFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.IntVar(&s.count, "sample", 0, "let so many candidates of each batch compete from the start")
	f.StringSliceVar(&s.batches, "sample-batch", nil, "BATCH=N, such as B4=5: candidates of one batch; may be given more than once")
	f.BoolVar(&s.off, "no-sample", false, "one attempt at a time, whatever the settings and the plan say")
	f.Uint64Var(&s.seed, "seed", 0, "seed of what is left to chance; 0 takes one by chance and writes it down")
	s.cmd = cmd
}

// flags is what the command line asks for.
func (s *sampleFlags) flags() (sampling.Flags, error) {
	per, err := sampling.ParseSampleBatch(s.batches)
	if err != nil {
		return sampling.Flags{}, usage(err, "write it as --sample-batch B4=5")
	}
	given := s.cmd != nil && s.cmd.Flags().Changed("sample")
	return sampling.Flags{Sample: s.count, SampleGiven: given, SampleBatch: per, NoSample: s.off}, nil
}

// mark writes down which batches of a run are to be sampled, and when.
func (s *sampleFlags) mark(info *runner.Info, p *planparse.Plan, c config.Sampling) error {
	f, err := s.flags()
	if err != nil {
		return err
	}
	if err := f.Check(c.MaxCount); err != nil {
		return usage(err, "")
	}
	numbers := make([]string, len(p.Batches))
	for i := range p.Batches {
		numbers[i] = p.Batches[i].Number
	}
	if err := f.CheckBatches(numbers); err != nil {
		return usage(err, "")
	}
	info.Seed = s.seed
	for info.Seed == 0 {
		info.Seed = rand.Uint64() >> 11 // JSON readers keep 53 bits
	}
	info.Resample = c.OnRetry && !f.NoSample
	info.StopAtFirst = c.StopAtFirst
	settings := samplingSettings(c)
	for i := range info.Batches {
		b := &p.Batches[i]
		plan, err := sampling.Plan(sampling.Request{
			Batch: b.Number, Critical: b.Critical || p.Header.Critical, Attempt: 1, MaxAttempts: info.MaxAttempts, Flags: f, Settings: settings, Memory: &plenty,
		})
		if err != nil {
			return usage(err, "")
		}
		if plan.Action == sampling.Sample {
			info.Batches[i].Sample = plan.N
		}
	}
	return nil
}

// plenty stands for the memory of another time: whether there is enough is looked at when a tournament is due.
var plenty = ^uint64(0)

// lines tells before the run which batches will be sampled from the start (SAMP-15).
func (s *sampleFlags) lines(info runner.Info) []string {
	var out []string
	for _, b := range info.Batches {
		if b.Sample > 0 && b.Skip == "" {
			longer := fmt.Sprintf("%d times as long, one after the other", b.Sample)
			if info.Workers >= b.Sample {
				longer = "about half as long again, side by side"
			}
			out = append(out, fmt.Sprintf("Sampling B%s: %d candidates instead of one, %s", strings.TrimLeft(b.Number, "Bb"), b.Sample, longer))
		}
	}
	return out
}

func samplingSettings(c config.Sampling) sampling.Settings {
	return sampling.Settings{OnRetry: c.OnRetry, OnCritical: c.OnCritical, Count: c.Count, MaxCount: c.MaxCount, GBPerCandidate: c.MinMemoryPerGB}
}

// sampling is how tournaments of this run are held.
func (x *execution) sampling(c config.Config) (local.Sampling, error) {
	scorer, err := sampling.NewScorer(c.Sampling.Score)
	if err != nil {
		return local.Sampling{}, usage(fmt.Errorf("sampling.score: %w", err), "")
	}
	f, err := x.options.sample.flags()
	if err != nil {
		return local.Sampling{}, err
	}
	for _, b := range x.info.Batches { // as the run was started, whatever the flags are now
		if b.Sample > 0 {
			if f.SampleBatch == nil {
				f.SampleBatch = map[string]int{}
			}
			f.SampleBatch[b.Number] = b.Sample
		}
	}
	o := sampling.DefaultOptions()
	o.Close, o.StopAtFirst, o.LearnAfter = c.Sampling.Close, c.Sampling.StopAtFirst, c.Sampling.LearnAfter
	return local.Sampling{
		Settings: samplingSettings(c.Sampling), Options: o, Scorer: scorer, Flags: f,
		Outcomes: sampling.Store{Path: x.project.layout.SamplingOutcomes()}, Tokens: 4 * c.Context.Tokens,
	}, nil
}

func (x *execution) now() time.Time { return time.Now() }
