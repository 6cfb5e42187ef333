package prepare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/agents/command"
	"github.com/runplan/runplan/agents/script"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/config"
	"github.com/runplan/runplan/internal/glob"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/routing"
	"github.com/runplan/runplan/routing/show"
	"github.com/runplan/runplan/runner"
)

// routeFlags holds the flags for routing a plan. For a zero value the settings decide.
type routeFlags struct {
	Mode            string
	workers         positive
	overrides       []string
	NoSpeculate     bool
	sequentialAfter string
	From, To        string
}

// Add adds the flags to a command.
func (r *routeFlags) Add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&r.From, "from", "", "first batch to run, by number; 4 starts with the first of 4a and 4b")
	f.StringVar(&r.To, "to", "", "last batch to run, by number; 4 ends with the last of 4a and 4b")
	f.StringVar(&r.Mode, "mode", "", "auto, headless (one batch after the other) or team (several at a time)")
	f.Var(&r.workers, "workers", "maximum number of batches in progress at the same time")
	f.StringArrayVar(&r.overrides, "model-override", nil,
		"BATCH=TIER, such as B3=large: tier or model for one batch; may be given more than once")
	f.BoolVar(&r.NoSpeculate, "no-speculate", false, "do not start a batch on a candidate whose gates have not passed")
	f.StringVar(&r.sequentialAfter, "sequential-after", "",
		"last batch that may run concurrently with others; after it, one at a time")
	cmd.RegisterFlagCompletionFunc("mode",
		cobra.FixedCompletions([]string{"auto", "headless", "team"}, cobra.ShellCompDirectiveNoFileComp))
}

// positive is a flag value of at least 1; 0 means not given.
type positive int

func (n *positive) String() string { return strconv.Itoa(int(*n)) }
func (n *positive) Type() string   { return "int" }

func (n *positive) Set(text string) error {
	v, err := strconv.Atoi(text)
	if err != nil || v < 1 || v > 256 {
		return errors.New("use a number from 1 to 256")
	}
	*n = positive(v)
	return nil
}

// options combines flags and settings. agent is the name of the agent, or "" if it is not known yet. sums are the runs
// of the journal, newest first.
func (r routeFlags) options(c config.Config, agent string, sums []runner.Summary,
	env map[string]string) (routing.Options, error) {
	overrides, err := routing.ParseOverrides(r.overrides)
	if err != nil {
		return routing.Options{}, err
	}
	return routing.Options{
		From: r.From, To: r.To, Env: env, Mode: cmp.Or(r.Mode, c.Routing.Mode), Workers: int(r.workers),
		NoSpeculate:     r.NoSpeculate,
		SequentialAfter: r.sequentialAfter, TeamsEnabled: c.Team.Enabled, Rules: cli.RoutingRules(c.Routing),
		Models: modelsOf(c, agent), ModelOverride: overrides, History: historyOf(sums, agent),
	}, nil
}

// modelsOf returns the model of each tier for an agent, from its settings or else its preset.
func modelsOf(c config.Config, agent string) map[string]string {
	models := map[string]string{}
	if preset, ok := command.PresetOf(cmp.Or(c.Agents[agent].Preset, agent)); ok {
		maps.Copy(models, preset.Models)
	}
	maps.Copy(models, c.Agents[agent].Models)
	return models
}

// historyOf makes samples from the finished batches of earlier runs. It uses only runs of the same agent, because
// durations differ between agents. For "" it uses all agents but the embedded one, which only writes what the plan
// spells out.
func historyOf(sums []runner.Summary, agent string) []routing.Sample {
	var out []routing.Sample
	for _, s := range sums {
		for _, b := range s.Batches {
			by := cmp.Or(b.Agent, s.Agent)
			state := runner.Status(b.State)
			if state != runner.Passed && state != runner.Failed || by != agent && (agent != "" || by == script.Name) {
				continue
			}
			out = append(out, routing.Sample{
				Run: s.Run, Title: b.Title, Class: b.Class, Tier: b.Tier,
				Duration: time.Duration(b.DurationMS) * time.Millisecond,
				Cost:     b.CostUSD, Passed: state == runner.Passed,
			})
		}
	}
	return out
}

// routeOptions returns the options of [routing.Decide] for the plan, from flags, settings and history. It also chooses
// the agent and the reason. If no agent can be chosen, that is an error only if one was requested: noAgent keeps it.
func (x *Prepared) routeOptions(ctx context.Context, r routeFlags, asked string) (o routing.Options, err error) {
	var c config.Config
	var sums []runner.Summary
	if x.Project == nil {
		loaded, err := x.App.LoadConfig("")
		if err != nil {
			return o, err
		}
		c = loaded.Config
	} else {
		c = x.Project.Config.Config
		if sums, err = x.Project.Summaries(ctx, runner.Filter{}); err != nil {
			return o, err
		}
		x.agent, x.Why, x.noAgent = x.likelyAgent(r, asked)
		if x.noAgent != nil && asked != "" {
			return o, x.noAgent
		}
	}
	if o, err = r.options(c, x.agent.name, sums, x.App.Env()); err != nil {
		return o, cli.Usage(err, "write it as --model-override B3=large")
	}
	if x.Project != nil {
		o.HasGo = func(folder string) bool {
			return len(glob.Below(filepath.Join(x.Project.Repo.Root, filepath.FromSlash(folder)), "*.go")) > 0
		}
	}
	return o, nil
}

// likelyAgent chooses the agent before the routing decision, which may depend on it. The choice depends on which
// batches are skipped, and that does not depend on the agent.
func (x *Prepared) likelyAgent(r routeFlags, asked string) (chosenAgent, string, error) {
	d, err := routing.Decide(x.Plan,
		routing.Options{From: r.From, To: r.To, Env: x.App.Env(), Mode: string(routing.Headless)})
	if err != nil {
		return chosenAgent{}, "", nil // the routing decision reports it with more detail
	}
	return chooseAgent(x.Project, x.File, Due(x.Plan, d), asked)
}

var PlaceOf = lazyre.New(`^line (\d+): (?s)(.*)$`)

// planError returns a usage error with the position in the form plan.md:12. If a flag or a setting is the cause, its
// name comes first.
func planError(path string, err error) error {
	if text := err.Error(); strings.HasPrefix(text, "--") || strings.HasPrefix(text, "routing.") {
		return cli.Usage(err, "")
	}
	if m := PlaceOf.FindStringSubmatch(err.Error()); m != nil {
		return cli.Usage(&placed{fmt.Sprintf("%s:%s: %s", path, m[1], m[2]), err}, "")
	}
	return cli.Usage(fmt.Errorf("%s: %w", path, err), "")
}

type placed struct {
	text string
	err  error
}

func (p *placed) Error() string { return p.text }
func (p *placed) Unwrap() error { return p.err }

// NewRouteCommand returns the command route.
func NewRouteCommand(a *cli.App) *cobra.Command {
	var r routeFlags
	var o routeOutput
	cmd := a.Command(cli.With{Exits: "0 2 5", JSON: "a JSON object"}, &cobra.Command{
		Use:   "route PLAN.md",
		Short: "Show how a plan would be run, and why",
		Long: `Show the routing plan: which batch waits for which and why, the parallelism score, the mode
and the number of workers, the estimated time and cost, the model of each
batch, and what may start before the gates of another batch have ended. It also shows
whether other branches would conflict with the current checkout. Nothing is run.

The same is shown before each run. The settings are under [routing]: runplan config --keys.`,
		Args: cli.ExactlyOne("the path of a plan"),
		RunE: func(cmd *cobra.Command, args []string) error { return route(cmd.Context(), a, args[0], r, o) },
	})
	r.Add(cmd)
	f := cmd.Flags()
	f.StringVar(&o.agent, "agent", "", "agent whose models and history are used: script, solver, or a name under [agents]")
	f.BoolVar(&o.why, "why", false, "also explain why batches wait for each other, and why others do not")
	f.BoolVar(&o.dot, "dot", false, "print the graph for Graphviz")
	f.BoolVar(&o.svg, "svg", false, "print the graph as a picture")
	cmd.ValidArgsFunction = cli.CompletePlan
	cmd.RegisterFlagCompletionFunc("agent", a.CompleteAgent)
	return cmd
}

type routeOutput struct {
	agent         string
	why, dot, svg bool
}

func route(ctx context.Context, a *cli.App, path string, r routeFlags, out routeOutput) error {
	if a.JSON && (out.dot || out.svg) || out.dot && out.svg {
		return cli.Usage(errors.New("--json, --dot and --svg exclude each other"), "choose one")
	}
	x, err := Prepare(ctx, a, Request{Plan: path, RouteOnly: true, Options: RunOptions{Route: r, Agent: out.agent}})
	switch {
	case err != nil:
		return err
	case out.dot:
		return show.DOT(a.Stdout, x.Plan, x.Decision)
	case out.svg:
		return show.SVG(a.Stdout, x.Plan, x.Decision)
	case a.JSON:
		return cli.AsJSON(a.Stdout, x.JSON(ctx))
	}
	return x.Show(ctx, a.Stdout, out.why)
}

func agentLine(agent, why string) []string {
	switch {
	case agent == "":
		return []string{"Agent: not chosen yet; use --agent, or run.agent in the settings"}
	case why == "":
		return []string{"Agent: " + agent}
	}
	return []string{fmt.Sprintf("Agent: %s (%s)", agent, why)}
}
