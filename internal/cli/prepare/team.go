package prepare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/config"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/routing"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/journal"
)

func routed(info *runner.Info, p *planparse.Plan, d routing.Decision, r config.Routing, noSpeculate bool) {
	info.Mode, info.Workers, info.Score = string(d.Mode), d.Workers, d.Score.Value
	info.Speculate = d.Mode == routing.Team && r.Speculate && !noSpeculate
	info.Escalate = r.ModelEscalateOnFail
	if d.Mode == routing.Team && d.Estimate.SpeedUp != nil {
		info.SpeedUp = *d.Estimate.SpeedUp
	}
	info.Batches = batchInfos(p, d, info.Models)
}

// batchInfos describes the batches of a plan in the order of the decision. models maps tiers to models.
func batchInfos(p *planparse.Plan, d routing.Decision, models map[string]string) []runner.BatchInfo {
	var out []runner.BatchInfo
	for i, s := range d.Steps {
		b := &p.Batches[i]
		model := s.Model
		if model == models[s.Tier] {
			model = "" // the tier determines it
		}
		out = append(out, runner.BatchInfo{
			Key: b.Key, Number: b.Called(), Title: redact.Clean(b.Title), Digest: journal.BatchDigest(b), Needs: s.Needs,
			Skip:  s.Skip,
			Early: s.Early, Class: string(s.Class), Tier: s.Tier, Label: s.Label, Model: model,
			ExpectMS: s.Expected.Milliseconds(),
			Approve:  b.Approve, Asks: firstAsked(p.Asked(b.Key)),
		})
	}
	return out
}

// mostAsked is the highest number of characters of a checkpoint that a question quotes. The person who answers sees
// the full text.
const mostAsked = 160

// firstAsked returns the first line of the checkpoints that addresses a person.
func firstAsked(list []planparse.Checkpoint) string {
	for _, c := range list {
		for line := range strings.Lines(c.Text) {
			if line = phrase.Line(redact.Clean(line)); line != "" {
				return phrase.Cut(line, mostAsked)
			}
		}
	}
	return ""
}

// canMerge turns team mode off if git is too old for the merge queue. It is silent if team mode was not requested;
// otherwise the routing plan gives the reason.
func canMerge(ctx context.Context, p *cli.Project, plan *planparse.Plan, d routing.Decision,
	how routing.Options) (routing.Decision, error) {
	if d.Mode != routing.Team {
		return d, nil
	}
	_, _, err := p.Repo.MergeTree(ctx, "HEAD", "HEAD")
	if !errors.Is(err, git.ErrNoMergeTree) {
		return d, nil // other checks report this error with more detail
	}
	if how.Mode == string(routing.Team) {
		return d, cli.Fail(cli.ExitCannotRun, fmt.Errorf("--mode team: %w", err),
			"install git 2.38 or newer, or use --mode headless")
	}
	how.Mode = string(routing.Headless)
	if d, err = routing.Decide(plan, how); err == nil {
		d.Reasons = append([]string{"headless: " + git.ErrNoMergeTree.Error()}, d.Reasons...)
	}
	return d, err
}

type limitFlags struct {
	maxCost float64
	onLimit string
	wait    bool
	cmd     *cobra.Command
}

func (l *limitFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.Float64Var(&l.maxCost, "max-cost", 0,
		"cost limit of the run in US dollars: stop before an attempt that would exceed it (exit 4); with resume, 0 removes it")
	f.StringVar(&l.onLimit, "on-limit", "",
		"on a rate limit, when nothing else can be done: exit (4), wait until it resets, fallback (agents of run.fallback "+
			"take over; once all are limited, exit) or fallback,wait")
	f.BoolVar(&l.wait, "wait", false, "the same as --on-limit wait")
	l.cmd = cmd
	cmd.PreRunE = func(*cobra.Command, []string) error { return l.check() }
}

func (l *limitFlags) check() error {
	if err := cli.AtMostOne(l.cmd, "on-limit", "wait"); err != nil {
		return err
	}
	if l.maxCost < 0 || math.IsNaN(l.maxCost) || math.IsInf(l.maxCost, 0) || l.cmd.Name() != "resume" &&
		l.cmd.Flags().Changed("max-cost") && l.maxCost == 0 {
		return cli.Usage(errors.New("--max-cost must be above 0"), "")
	}
	if l.wait {
		l.onLimit = "wait"
	}
	words := config.OnLimits()
	if (l.onLimit != "" || l.cmd.Flags().Changed("on-limit")) && !slices.Contains(words, l.onLimit) {
		last := len(words) - 1
		return cli.Usage(fmt.Errorf("--on-limit %s: unknown", l.onLimit), "use %s or %s", strings.Join(words[:last], ", "),
			words[last])
	}
	return nil
}

func (l *limitFlags) apply(info *runner.Info, c config.Run) {
	_, then := config.Fallback(cmp.Or(l.onLimit, c.OnLimit))
	info.OnLimit, info.MaxCostUSD, info.UnknownCost = then, cmp.Or(l.maxCost, c.MaxCostUSD), c.UnknownCost
	info.BackoffMS, info.MaxBackoffMS = time.Duration(c.Backoff).Milliseconds(), time.Duration(c.MaxBackoff).Milliseconds()
}

// again overrides the limits of a resumed run with flags given now. The handling of unknown costs always comes from
// the present settings, because a user may change it after a stop.
func (l *limitFlags) again(info *runner.Info, c config.Run) {
	_, then := config.Fallback(cmp.Or(l.onLimit, info.OnLimit))
	info.OnLimit, info.UnknownCost = then, c.UnknownCost
	info.BackoffMS, info.MaxBackoffMS = time.Duration(c.Backoff).Milliseconds(), time.Duration(c.MaxBackoff).Milliseconds()
	if l.cmd.Flags().Changed("max-cost") {
		info.MaxCostUSD = l.maxCost // 0 removes the limit
	}
}
