package setup

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/agents/command"
	"github.com/runplan/runplan/agents/script"
	"github.com/runplan/runplan/agents/solver"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/judge"
	"github.com/runplan/runplan/internal/cli/run"
	"github.com/runplan/runplan/internal/cli/selffix"
	"github.com/runplan/runplan/internal/config"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/ui"
)

// outlets is the output of runplan egress --json.
type outlets struct {
	Leaves *bool        `json:"leaves"` // whether any data leaves; null: unknown
	Ways   []cli.Outlet `json:"ways"`
	Unseen string       `json:"unseen"` // what the report cannot cover
}

// unseenPrograms explains that the report does not cover the project's own programs.
const unseenPrograms = "Gates, hooks and the setup of workspaces run the project's own programs, which may send what " +
	"they like."

// NewEgressCommand returns the command egress.
func NewEgressCommand(a *cli.App) *cobra.Command {
	return a.Command(cli.With{Exits: "0 2 5", JSON: "a JSON object"}, &cobra.Command{
		Use:   "egress",
		Short: "List where the current configuration may send data",
		Long: `List where data may go with the present configuration: agents and their providers, the server or
program of [models], notifications, gate plugins, and with run.land = "pr" the remote that is pushed
to. The command itself sends nothing.

A program that runplan does not know may send anything anywhere; it is listed as unknown. An address
of this machine is unknown too: the program that listens there may forward data. The Ollama server of
[models] is known: a local one answers by itself, and a model for which it
would call another host is refused.`,
		Args: cobra.NoArgs,
		RunE: a.InProject(func(ctx context.Context, p *cli.Project, _ []string) error {
			o, err := egress(ctx, p)
			if err != nil {
				return err
			}
			return a.Print(o, func() { showEgress(a, o) })
		}),
	})
}

func egress(ctx context.Context, p *cli.Project) (outlets, error) {
	o := outlets{Ways: []cli.Outlet{}, Unseen: unseenPrograms}
	ways, err := agentOutlets(p)
	if err != nil {
		return o, err
	}
	o.Ways = slices.Concat(ways, p.ModelOutlet(), judge.ReviewOutlets(p), run.CritiqueOutlet(ctx, p))
	c := p.Config
	if c.Notify.Webhook != "" {
		w := cli.Outlet{What: "notification", Name: "webhook", To: config.HostOf(c.Notify.Webhook),
			Data: "the events of a run, with reasons", When: "each run", Local: new(bool)}
		if config.LoopbackURL(c.Notify.Webhook) {
			w.To, w.Local = w.To+"; the program that listens there may forward it", nil
		}
		o.Ways = append(o.Ways, w)
	}
	if len(c.Notify.Command) > 0 {
		o.Ways = append(o.Ways, cli.Outlet{What: "notification", Name: c.Notify.Command[0],
			To: "anywhere: the program decides", Data: "the events of a run, with reasons", When: "each run"})
	}
	for _, g := range c.Gates.Plugin {
		data := "the change of a batch"
		if len(g.Env) > 0 {
			data += ", and " + strings.Join(g.Env, ", ")
		}
		o.Ways = append(o.Ways, cli.Outlet{What: "plugin", Name: g.Name, To: "anywhere: the program decides", Data: data,
			When: "each attempt"})
	}
	if c.Run.Land == "pr" {
		w, err := p.RemoteOutlet(ctx)
		if err != nil {
			return o, err
		}
		o.Ways = append(o.Ways, w...)
	}
	fixes, err := selffix.FixOutlets(ctx, p)
	if err != nil {
		return o, err
	}
	o.Ways = append(o.Ways, fixes...)
	o.Leaves = leaves(o.Ways)
	return o, nil
}

// leaves reports whether any data leaves. One outlet that leaves is enough; otherwise an unknown one makes the result
// unknown.
func leaves(ways []cli.Outlet) *bool {
	yes, unknown := false, false
	for _, w := range ways {
		yes = yes || w.Local != nil && !*w.Local
		unknown = unknown || w.Local == nil
	}
	if unknown && !yes {
		return nil
	}
	return &yes
}

// agentOutlets lists the agents that runs may use: the configured ones, else the one that would be chosen.
func agentOutlets(p *cli.Project) ([]cli.Outlet, error) {
	here := true
	const data = "briefs, and the files that it reads"
	out := []cli.Outlet{{What: "agent", Name: script.Name, To: "this machine: no model is called", Data: "nothing",
		When: "literal plans", Local: &here}}
	chosen := p.Config.Run.Agent
	names := slices.Sorted(maps.Keys(p.Config.Agents))
	if chosen != "" && chosen != cli.Auto && chosen != script.Name && !slices.Contains(names, chosen) {
		names = append(names, chosen) // a preset without settings
	}
	when := map[string]string{}
	if len(names) == 1 && (chosen == "" || chosen == cli.Auto) {
		when[names[0]] = "plans that need a model: it is the only configured agent"
	}
	if len(names) == 0 && (chosen == "" || chosen == cli.Auto) {
		if installed := p.Installed(); len(installed) > 0 {
			names = []string{installed[0].Name}
			when[names[0]] = "plans that need a model: no agent is configured, and it is the first installed one"
		}
	}
	after := "with --on-limit fallback: run.fallback"
	if over, _ := config.Fallback(p.Config.Run.OnLimit); over {
		after = "after a rate limit of another agent: run.fallback"
	}
	for _, name := range p.Config.Run.Fallback {
		if name == solver.Name {
			continue // [models] says where it sends data
		}
		names = lists.Add(names, name)
		when[name] = after
	}
	when[chosen] = "plans that need a model: run.agent"
	if chosen == script.Name {
		out[0].When = "each run: run.agent"
	}
	for _, name := range names {
		c, err := p.CommandAgent(name)
		if err != nil {
			if name == chosen || slices.Contains(p.Config.Run.Fallback, name) {
				out = append(out, cli.Outlet{What: "agent", Name: name, To: "nowhere: " + err.Error(), Data: "nothing",
					When: when[name], Local: &here})
				continue
			}
			return nil, err
		}
		reach := command.New(c).Reach()
		out = append(out, cli.Outlet{What: "agent", Name: name, To: reach.To, Data: data,
			When: cmp.Or(when[name], "with --agent "+name), Local: reach.Local})
	}
	return out, nil
}

func showEgress(a *cli.App, o outlets) {
	var rows ui.Rows
	for _, w := range o.Ways {
		state := "unknown"
		if w.Local != nil {
			state = map[bool]string{true: "stays", false: "leaves"}[*w.Local]
		}
		rows.Add(state, w.What, w.Name, w.To, w.Data, w.When)
	}
	ui.Table(a.Stdout, []string{"", "what", "name", "to", "data", "when"}, rows)
	said := "nothing leaves this machine"
	switch {
	case o.Leaves == nil:
		said = "it is unknown whether data leaves this machine"
	case *o.Leaves:
		said = "data leaves this machine"
	}
	fmt.Fprintf(a.Stdout, "\n%s\n%s\n", said, o.Unseen)
}
