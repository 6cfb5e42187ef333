package app

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/runplan/runplan/internal/proc"
)

// Internal commands with which runplan starts itself: the reaper, which ends its children if runplan is killed, and
// the testscript engine, which runs under the limits of an attempt.
const (
	reapCommand       = "__reap"
	testscriptCommand = "__testscript"
)

func startReaper(self string) (*proc.Reaper, error) {
	return proc.StartReaper([]string{self, reapCommand})
}

func newRootCommand(a *App) *cobra.Command {
	root := &cobra.Command{
		Use:   "runplan PLAN.md",
		Short: "Take a markdown implementation plan to merged, gated, recorded code",
		Long: `runplan takes a markdown implementation plan to merged, gated, recorded code.

A plan is parsed into batches. Each batch gets a fresh agent in a git worktree of its own;
what the agent leaves is judged by gates that it cannot touch, and lands as one commit on
a run branch. Everything that happens is in a journal, from which a killed run goes on.

  runplan PLAN.md            run a plan (short for: runplan run PLAN.md)`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       version(),
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			err := fmt.Errorf("unknown command %q", args[0])
			if like := cmd.SuggestionsFor(args[0]); len(like) > 0 {
				return usage(err, "did you mean runplan %s? all commands: runplan --help", strings.Join(like, ", or runplan "))
			}
			return usage(err, "a plan with such a name: runplan run %s; all commands: runplan --help", args[0])
		},
	}
	root.SuggestionsMinimumDistance = 2
	root.SetVersionTemplate("runplan {{.Version}}\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage(plainValue(err), "see: %s --help", cmd.CommandPath())
	})
	for _, g := range commandGroups(a) {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title + ":"})
		for _, c := range g.commands {
			c.GroupID = g.title
			root.AddCommand(c)
		}
	}
	root.SetHelpCommandGroupID(groupSetup)
	root.SetCompletionCommandGroupID(groupSetup)
	root.AddCommand(newDocsCommand(), newExitCodesTopic())
	for _, newCommand := range more {
		root.AddCommand(newCommand())
	}
	a.addEngines(root)
	addCompletions(a, root)
	knownTopics(root)
	knownShells(root)
	argumentsAreUsage(root)
	addExamples(root)
	shortHelp(root)
	return root
}

// Command groups in the order in which the help shows them, which is the order in which users need them.
const (
	groupRun   = "Run plans"
	groupLook  = "Before a run"
	groupJudge = "Judge code"
	groupKnow  = "Know and learn"
	groupTalk  = "Talk to runplan"
	groupTrust = "Decide what it may do"
	groupSetup = "Set up and keep"
)

type commandGroup struct {
	title    string
	commands []*cobra.Command
}

func commandGroups(a *App) []commandGroup {
	return []commandGroup{
		{groupRun, []*cobra.Command{newRunCommand(a), newSolveCommand(a), newResumeCommand(a), newStatusCommand(a), newLogCommand(a), newTraceCommand(a), newServeCommand(a), newSpendCommand(a), newApproveCommand(a), newCancelCommand(a), newDiscardCommand(a), newUndoCommand(a)}},
		{groupLook, []*cobra.Command{newPlanCommand(a), newOutlineCommand(a), newParseCommand(a), newCheckCommand(a), newRouteCommand(a), newContextCommand(a)}},
		{groupJudge, []*cobra.Command{newGateCommand(a), newReviewCommand(a), newExplainCommand(a), newBlueprintCommand(a), newLessonsCommand(a), newPatternsCommand(a)}},
		{groupKnow, []*cobra.Command{newIndexCommand(a), newEnrichCommand(a), newRetrieveCommand(a), newTrainingCommand(a)}},
		{groupTalk, []*cobra.Command{newAskCommand(a), newNoteCommand(a), newCriticalCommand(a), newInboxCommand(a), newFeedbackCommand(a), newSelfFixCommand(a), newStandupCommand(a), newNotifyCommand(a)}},
		{groupTrust, []*cobra.Command{newTrustCommand(a), newPromoteCommand(a), newDemoteCommand(a), newAuditCommand(a), newEgressCommand(a)}},
		{groupSetup, []*cobra.Command{newDemoCommand(a), newInitCommand(a), newConfigCommand(a), newDoctorCommand(a), newMaintainCommand(a), newGCCommand(a), newIntrospectCommand(a), newVersionCommand(a)}},
	}
}

// knownTopics makes help for an unknown topic an error. Cobra would show the help of the nearest parent command.
func knownTopics(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	help, _, err := root.Find([]string{"help"})
	if err != nil {
		return
	}
	help.Args = func(_ *cobra.Command, args []string) error {
		if _, rest, err := root.Find(args); err != nil || len(rest) > 0 {
			return usage(fmt.Errorf("no help topic %q", strings.Join(args, " ")), "all commands: runplan --help")
		}
		return nil
	}
}

// knownShells makes completion for an unsupported shell an error. Cobra would print the help of the command, which a
// user may then source in the shell.
func knownShells(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	completion, _, err := root.Find([]string{"completion"})
	if err != nil {
		return
	}
	completion.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		var shells []string
		for _, c := range cmd.Commands() {
			shells = append(shells, c.Name())
		}
		return usage(fmt.Errorf("no completion for %q", args[0]), "there is one for %s", strings.Join(shells, ", "))
	}
	completion.Args = cobra.ArbitraryArgs
}

// plainValue replaces a Go parse error of a flag by the kind of value that the flag takes.
func plainValue(err error) error {
	var wrong *pflag.InvalidValueError
	var number *strconv.NumError
	if !errors.As(err, &wrong) || !errors.As(err, &number) {
		return err
	}
	takes := map[string]string{
		"int": "a whole number", "int64": "a whole number", "uint": "a whole number of at least 0", "uint64": "a whole number of at least 0",
		"float64": "a number", "bool": "true or false",
	}[wrong.GetFlag().Value.Type()]
	if takes == "" {
		takes = "another value"
	}
	if errors.Is(number, strconv.ErrRange) {
		takes = "a smaller number"
	}
	return fmt.Errorf("invalid argument %q for \"--%s\": it takes %s", wrong.GetValue(), wrong.GetFlag().Name, takes)
}

// zeroIsNone rejects an explicit 0 for flags whose zero value means not given.
func zeroIsNone(cmd *cobra.Command) error {
	const name = "max-attempts"
	if f := cmd.Flags().Lookup(name); f != nil && f.Changed && f.Value.String() == "0" {
		return usage(fmt.Errorf("--%s 0: at least 1 is needed", name), "leave the flag out for what the configuration says")
	}
	return nil
}

// argumentsAreUsage turns wrong arguments of any command into a usage error that points to the help.
func argumentsAreUsage(c *cobra.Command) {
	if check := c.Args; check != nil {
		c.Args = func(cmd *cobra.Command, args []string) error {
			err := check(cmd, args)
			if err == nil {
				err = zeroIsNone(cmd)
			}
			var known *failure
			if err == nil || errors.As(err, &known) {
				return err
			}
			return usage(err, "see: %s --help", cmd.CommandPath())
		}
	}
	for _, sub := range c.Commands() {
		argumentsAreUsage(sub)
	}
}

// withRun inserts "run" if the command line begins with a plan.
func withRun(root *cobra.Command, args []string) []string {
	i := firstWord(root, args)
	if i < 0 || isCommand(root, args[i]) || !looksLikePlan(args[i]) {
		return args
	}
	return append([]string{"run"}, args...)
}

// firstWord returns the index of the first argument that is not a flag, or -1. It skips the values of flags that take
// one.
func firstWord(root *cobra.Command, args []string) int {
	run, _, _ := root.Find([]string{"run"})
	for i := 0; i < len(args); i++ {
		if !strings.HasPrefix(args[i], "-") {
			return i
		}
		name := strings.TrimLeft(args[i], "-")
		if f := run.Flags().Lookup(name); f != nil && f.NoOptDefVal == "" {
			i++
		}
	}
	return -1
}

func isCommand(root *cobra.Command, word string) bool {
	if word == "help" || word == "completion" || strings.HasPrefix(word, "__") {
		return true
	}
	for _, c := range root.Commands() {
		if c.Name() == word {
			return true
		}
	}
	return false
}

// looksLikePlan distinguishes a file name from a mistyped command.
func looksLikePlan(word string) bool {
	if strings.ContainsAny(word, "./\\") {
		return true
	}
	_, err := os.Stat(word)
	return err == nil
}

// newExitCodesTopic makes the help topic "runplan help exit-codes".
func newExitCodesTopic() *cobra.Command {
	var b strings.Builder
	b.WriteString("Exit codes of runplan:\n\n")
	for _, e := range exitCodes() {
		fmt.Fprintf(&b, "  %3d  %s\n", e.Code, e.Meaning)
	}
	return &cobra.Command{Use: "exit-codes", Short: "What the exit codes mean", Long: b.String()}
}
