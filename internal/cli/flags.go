package cli

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/runplan/runplan/agents/command"
	"github.com/runplan/runplan/agents/script"
	"github.com/runplan/runplan/agents/solver"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/trust"
)

// CompletePlan completes the path of a plan as the first argument.
func CompletePlan(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return []string{"md"}, cobra.ShellCompDirectiveFilterFileExt
}

// CompleteAgent completes the names of agents: the built-in ones, those in the settings, and the known CLIs. If the
// settings are unreadable it omits theirs, because the command itself reports the error.
func (a *App) CompleteAgent(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	names := []string{
		cobra.CompletionWithDesc(script.Name, "built in: executes literal plans"),
		cobra.CompletionWithDesc(solver.Name, "built in: calls a local model"),
	}
	var own []string
	if p, err := a.OpenProject(cmd.Context()); err == nil {
		own = slices.Sorted(maps.Keys(p.Config.Agents))
	}
	for _, name := range own {
		names = append(names, cobra.CompletionWithDesc(name, "configured"))
	}
	for _, preset := range command.Presets() {
		if slices.Contains(own, preset.Name) {
			continue
		}
		state := "not installed"
		if _, err := a.OnPath(preset.Program); err == nil {
			state = "installed"
		}
		names = append(names, cobra.CompletionWithDesc(preset.Name, state))
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// Group returns a command that only holds others.
func Group(use, short, long string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Long: long, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(commands...)
	return cmd
}

// ExactlyOne is cobra.ExactArgs(1) with an error that names the missing argument.
func ExactlyOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return Usage(fmt.Errorf("%s takes one argument, %s, but got %d: %s", cmd.CommandPath(), what, len(args),
				strings.Join(args, ", ")), "quote an argument that contains spaces; see: %s --help", cmd.CommandPath())
		}
		if len(args) == 0 {
			return Usage(fmt.Errorf("%s needs %s", cmd.CommandPath(), what), "see: %s --help", cmd.CommandPath())
		}
		return nil
	}
}

// With says what a command has in common with others.
type With struct {
	Exits string // exit codes that its help explains, such as "0 1 2"
	Repo  bool   // --repo selects the repository of a folder (CLI-03); files of other flags stay relative to this one
	Trust bool   // --trust-config, see [Project.TrustConfig]
	JSON  string // what --json prints, such as "a JSON array"; "" for no such flag
}

// Flags are the flags of a command.
type Flags = pflag.FlagSet

// Command adds to a command what it has in common with others, and then its own flags.
func (a *App) Command(w With, cmd *cobra.Command, own ...func(*Flags)) *cobra.Command {
	f := cmd.Flags()
	if w.Repo {
		f.StringVar(&a.Dir, "repo", "", "repository (default: that of the current folder)")
	}
	if w.Trust {
		f.StringVar(&a.Trust, "trust-config", "", "digest of the repository's configuration, to trust it without a question")
	}
	if w.JSON != "" {
		f.BoolVar(&a.JSON, "json", false, "print "+w.JSON)
	}
	if w.Exits != "" {
		cmd.Long += "\n\nExit status:\n" + exitStatus(strings.Fields(w.Exits))
	}
	for _, add := range own {
		add(f)
	}
	return cmd
}

// valuesOfFlag is the annotation of a flag that lists its values.
const valuesOfFlag = "runplan_values"

// CompleteValues registers the completion of flags that list their [Values], for a command and those below it.
func CompleteValues(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		if values := flag.Annotations[valuesOfFlag]; values != nil {
			cmd.RegisterFlagCompletionFunc(flag.Name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
		}
	})
	for _, sub := range cmd.Commands() {
		CompleteValues(sub)
	}
}

// Values says which values a flag takes, for shell completion.
func Values[S ~string](f *Flags, flag string, values []S) {
	f.SetAnnotation(flag, valuesOfFlag, lists.Map(values, func(v S) string { return string(v) }))
}

// exitStatus renders exit codes for the help of a command. It panics if there is no such code.
func exitStatus(codes []string) string {
	return phrase.Join(codes, "\n", func(code string) string {
		e := lists.First(ExitCodes(), func(e exitCode) bool { return strconv.Itoa(e.Code) == code })
		if e.Meaning == "" {
			panic("the help of a command names the exit code " + code)
		}
		if e.Code == ExitInterrupted && !slices.Contains(codes, strconv.Itoa(ExitLimit)) {
			e.Meaning, _, _ = strings.Cut(e.Meaning, ";") // no run to resume
		}
		return fmt.Sprintf("  %3d  %s", e.Code, e.Meaning)
	})
}

// SignFlags adds the flags of a signature.
func SignFlags(f *pflag.FlagSet, by *trust.Signed) {
	f.StringVar(&by.Name, "signature", "", "the owner's name")
	f.StringVar(&by.Reason, "reason", "", "why")
}

// AtMostOne rejects flags that exclude each other.
func AtMostOne(cmd *cobra.Command, flags ...string) error {
	var given []string
	for _, name := range flags {
		if f := cmd.Flags().Lookup(name); f != nil && f.Changed && f.Value.String() != "false" {
			given = append(given, "--"+name)
		}
	}
	if len(given) < 2 {
		return nil
	}
	return Usage(fmt.Errorf("%s exclude each other", strings.Join(given, " and ")), "use one of them")
}

// StrictASTUse is the help text of --strict-ast.
const StrictASTUse = "patterns of severity error fail instead of warning, and so do retry-loop, bare-except, " +
	"async-no-await, empty-catch and unused-import"
