package app

import (
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/agents/script"
	"github.com/runplan/runplan/agents/solver"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/runner"
)

// addCompletions registers shell completion for arguments and flag values.
func addCompletions(a *App, root *cobra.Command) {
	for _, name := range []string{"run", "resume", "parse", "check"} {
		cmd, _, err := root.Find([]string{name})
		if err != nil {
			continue
		}
		cmd.ValidArgsFunction = completePlan
		if cmd.Flags().Lookup("land") != nil {
			cmd.RegisterFlagCompletionFunc("land", cobra.FixedCompletions([]string{"branch", "ff", "pr"}, cobra.ShellCompDirectiveNoFileComp))
		}
		if cmd.Flags().Lookup("agent") != nil {
			cmd.RegisterFlagCompletionFunc("agent", a.completeAgent)
		}
	}
	a.completeRuns(root)
}

// completeRuns registers the completion of run ids, each with its plan and status.
func (a *App) completeRuns(root *cobra.Command) {
	for _, name := range []string{"approve", "cancel", "discard", "undo", "log", "resume", "spend", "status"} {
		if cmd, _, err := root.Find([]string{name}); err == nil {
			cmd.ValidArgsFunction = a.completeRun
		}
	}
}

// completeRun completes the ids of runs that suit the command. If runs cannot be listed it offers nothing, because the
// command itself reports the error.
func (a *App) completeRun(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	p, err := a.openProject(cmd.Context())
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	if cmd.Name() == "approve" {
		waiting, _ := a.waiting(cmd.Context(), p)
		var ids []string
		for _, w := range waiting {
			ids = append(ids, cobra.CompletionWithDesc(w.ID, ui.Sanitize(w.Plan)))
		}
		return ids, cobra.ShellCompDirectiveNoFileComp
	}
	sums, _ := p.summaries(cmd.Context(), runner.Filter{})
	p.lookAlive(sums)
	var ids []string
	for _, s := range sums {
		suits := true
		switch cmd.Name() {
		case "cancel":
			suits = s.Status.Live()
		case "resume", "discard":
			suits = !s.Status.Over() && s.Status != runner.RunActive
		case "undo":
			suits = s.Status == runner.RunDone && s.Undone == ""
		}
		if suits {
			ids = append(ids, cobra.CompletionWithDesc(s.Run[:8], ui.Sanitize(s.Plan)+", "+string(s.Status)))
		}
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}

func completePlan(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return []string{"md"}, cobra.ShellCompDirectiveFilterFileExt
}

// completeAgent completes the names of agents. If the settings cannot be read it offers nothing, because the command
// itself reports the error.
func (a *App) completeAgent(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	names := []string{script.Name, solver.Name}
	if p, err := a.openProject(cmd.Context()); err == nil {
		names = append(names, slices.Sorted(maps.Keys(p.config.Agents))...)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
