package setup

import (
	"context"
	"fmt"
	"io"
	"strings"

	agentcommand "github.com/runplan/runplan/agents/command"
	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/ui"
)

// foundInProject holds the findings of init: agents on this machine, and gates for the project.
type foundInProject struct {
	agents []string
	gates  []checked // of linters and tests, as doctor lists them
	remote bool      // whether the repository has a remote
}

func foundHere(ctx context.Context, a *cli.App, p *cli.Project) foundInProject {
	var f foundInProject
	for _, preset := range agentcommand.Presets() {
		if _, err := a.OnPath(preset.Program); err == nil {
			f.agents = append(f.agents, preset.Name)
		}
	}
	remote, err := p.Repo.PushRemote(ctx)
	f.remote = err == nil && remote != ""
	for _, c := range examineGates(ctx, a, p) {
		name := strings.TrimPrefix(c.What, "gate ")
		if !strings.HasPrefix(name, "tests:") && !strings.HasPrefix(name, "lint:") && !strings.HasPrefix(name, "types:") {
			continue
		}
		if state := gates.State(c.Status); state != gates.StateOff && state != gates.StateUnset {
			c.What = name
			f.gates = append(f.gates, c)
		}
	}
	return f
}

// comments returns the proposals for the file as comments, so that the defaults apply until a person decides.
func (f foundInProject) comments(withAgent bool) string {
	var b strings.Builder
	line := func(key, value, what string) { fmt.Fprintf(&b, "#   %-20s %-10s %s\n", key, value, what) }
	b.WriteString("\n# Proposals; to accept one: runplan config set KEY VALUE\n")
	switch {
	case withAgent:
	case len(f.agents) > 0:
		line("run.agent", f.agents[0], "the agent that executes plans; installed: "+strings.Join(f.agents, ", "))
	default:
		line("run.agent", "script", "executes literal plans; no other agent was found")
	}
	land := "ff" // a pull request needs a remote
	if f.remote {
		land = "pr"
	}
	line("run.land", land, "branch, ff or pr: the destination of the work")
	line("run.max_cost_usd", "5", "cost limit of a run, in US dollars")
	line("team.enabled", "true", "concurrent batches, if the plan allows it")
	if len(f.gates) == 0 {
		b.WriteString(
			"\n# No tests and no linter were found. To add your own gate, remove the # signs:\n# [[gates.command]]\n# name = " +
				"\"check\"\n# run = \"make check\"\n# blocking = true\n")
		return b.String()
	}
	b.WriteString("\n# Gates for this project; to turn one off, use gates.disable:\n")
	for _, g := range f.gates {
		fmt.Fprintf(&b, "#   %-20s %s%s\n", g.What, ui.Sanitize(g.Detail), missing(g))
	}
	return b.String()
}

func missing(c checked) string {
	if gates.State(c.Status) == gates.StateMissing && c.Fix != "" {
		return " (missing: " + ui.Sanitize(c.Fix) + ")"
	}
	return ""
}

// print shows what was found, and what to do next.
func (f foundInProject) print(w io.Writer) {
	if len(f.agents) > 0 {
		fmt.Fprintf(w, "agents found: %s\n", strings.Join(f.agents, ", "))
	}
	for _, g := range f.gates {
		fmt.Fprintf(w, "gate %-14s %s%s\n", g.What, ui.Sanitize(g.Detail), missing(g))
	}
	fmt.Fprintln(w, "next: runplan check PLAN.md, then runplan PLAN.md")
}
