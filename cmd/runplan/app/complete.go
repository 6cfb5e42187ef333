package app

import (
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/agents/script"
	"github.com/runplan/runplan/agents/solver"
)

// addCompletions tells the shells what they can offer for arguments and values of flags.
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
}

func completePlan(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return []string{"md"}, cobra.ShellCompDirectiveFilterFileExt
}

// completeAgent offers the agents there are. Where the settings cannot be read, the command itself says so.
func (a *App) completeAgent(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	names := []string{script.Name, solver.Name}
	if p, err := a.openProject(cmd.Context()); err == nil {
		names = append(names, slices.Sorted(maps.Keys(p.config.Agents))...)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
