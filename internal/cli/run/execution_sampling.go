package run

import (
	"time"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/prepare"
	"github.com/runplan/runplan/internal/config"
	"github.com/runplan/runplan/runner/local"
	"github.com/runplan/runplan/sampling"
)

// sampling returns the tournament settings of this run, with the flags that it was started with.
func (x *Execution) sampling(c config.Config) (local.Sampling, error) {
	scorer, err := sampling.NewScorer(c.Sampling.Score)
	if err != nil {
		return local.Sampling{}, cli.Usage(err, "")
	}
	f, err := prepare.KeptFlags(x.Info.Flags)
	if err == nil {
		err = f.Check(c.Sampling.MaxCount)
	}
	if err != nil {
		return local.Sampling{}, cli.Usage(err, "")
	}
	o := sampling.DefaultOptions()
	o.Close, o.StopAtFirst, o.LearnAfter = c.Sampling.Close, c.Sampling.StopAtFirst, c.Sampling.LearnAfter
	return local.Sampling{
		Settings: prepare.SamplingSettings(c.Sampling), Options: o, Scorer: scorer, Flags: f,
		Outcomes: sampling.Store{Path: x.Project.Layout.SamplingOutcomes()}, Tokens: 4 * c.Context.Tokens,
		HoldOut: c.Sampling.HoldOut,
	}, nil
}

func (x *Execution) now() time.Time { return time.Now() }
