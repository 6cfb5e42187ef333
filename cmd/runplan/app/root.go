package app

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/blueprints"
	"github.com/runplan/runplan/internal/cli/control"
	"github.com/runplan/runplan/internal/cli/doctor"
	"github.com/runplan/runplan/internal/cli/judge"
	"github.com/runplan/runplan/internal/cli/models"
	"github.com/runplan/runplan/internal/cli/owner"
	"github.com/runplan/runplan/internal/cli/plans"
	"github.com/runplan/runplan/internal/cli/prepare"
	"github.com/runplan/runplan/internal/cli/rulebook"
	"github.com/runplan/runplan/internal/cli/run"
	"github.com/runplan/runplan/internal/cli/selffix"
	"github.com/runplan/runplan/internal/cli/setup"
	"github.com/runplan/runplan/internal/cli/watch"
	"github.com/runplan/runplan/internal/config"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/trust"
)

// newRootCommand returns the tree of commands, or the part of it that is enough for args.
func newRootCommand(a *cli.App, args []string) *cobra.Command {
	root := &cobra.Command{
		Use:   "runplan PLAN.md",
		Short: "Take a markdown implementation plan to merged, gated, recorded code",
		Long: `runplan takes a markdown implementation plan to merged, gated, recorded code.

A plan is parsed into batches. Each batch gets a fresh agent in its own git worktree.
Gates that the agent cannot change judge the result, which becomes one commit on
a run branch. A journal records everything, so a killed run can continue.

  runplan PLAN.md            run a plan (short for: runplan run PLAN.md)`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       cli.BuildVersion().String(),
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			err := fmt.Errorf("unknown command %q", args[0])
			if whole := strings.Join(args, " "); len(args) > 1 {
				if _, statErr := os.Stat(whole); statErr == nil {
					return cli.Usage(err, "quote a path that contains blanks: runplan %q", whole)
				}
			}
			if like := cmd.SuggestionsFor(args[0]); len(like) > 0 && len(args[0]) > 2 {
				return cli.Usage(err, "did you mean runplan %s? all commands: runplan --help", strings.Join(like, ", or runplan "))
			}
			return cli.Usage(err, "to run a plan with this name: runplan run %s; all commands: runplan --help", args[0])
		},
	}
	root.SuggestionsMinimumDistance = 2
	root.SetVersionTemplate("runplan {{.Version}}\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return cli.Usage(plainValue(err), "%ssee: %s --help", nearFlag(cmd, err), cmd.CommandPath())
	})
	groups := commandGroups()
	only, one := onlyCommand(groups, args)
	for _, g := range groups {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title + ":"})
		for _, c := range g.commands {
			if one && c.name != only {
				continue
			}
			made := c.make(a)
			made.GroupID = g.title
			root.AddCommand(made)
		}
	}
	root.SetHelpCommandGroupID(cli.GroupSetup)
	root.SetCompletionCommandGroupID(cli.GroupSetup)
	root.AddCommand(newExitCodesTopic())
	run.AddEngines(a, root)
	root.CompletionOptions.DisableDefaultCmd = one
	if !one {
		addCompletions(a, root)
		knownTopics(root)
		knownShells(root)
	}
	argumentsAreUsage(root)
	addExamples(root)
	shortHelp(root)
	return root
}

type commandGroup struct {
	title    string
	commands []command
}

// command is a command with its constructor. Constructing all commands takes a tenth of the run time of a short
// command.
type command struct {
	name string
	make func(*cli.App) *cobra.Command
}

// onlyCommand returns the name of the only command that args need; "" if args ask for the version. Help, completion,
// plans and mistakes need all commands; then ok is false.
func onlyCommand(groups []commandGroup, args []string) (name string, ok bool) {
	if len(args) == 1 && args[0] == "--version" {
		return "", true
	}
	for _, g := range groups {
		for _, c := range g.commands {
			if len(args) > 0 && args[0] == c.name {
				return c.name, true
			}
		}
	}
	return "", false
}

func commandGroups() []commandGroup {
	return []commandGroup{
		{cli.GroupRun, []command{
			{"run", run.NewRunCommand}, {"solve", run.NewSolveCommand}, {"resume", run.NewResumeCommand},
			{"status", watch.NewStatusCommand}, {"log", watch.NewLogCommand}, {"trace", watch.NewTraceCommand},
			{"serve", watch.NewServeCommand}, {"spend", watch.NewSpendCommand}, {"approve", owner.NewApproveCommand},
			{"cancel", control.NewCancelCommand}, {"discard", control.NewDiscardCommand}, {"undo", control.NewUndoCommand},
		}},
		{cli.GroupLook, []command{
			{"plan", plans.NewPlanCommand}, {"outline", plans.NewOutlineCommand}, {"parse", plans.NewParseCommand},
			{"check", plans.NewCheckCommand}, {"route", prepare.NewRouteCommand}, {"context", plans.NewContextCommand},
		}},
		{cli.GroupJudge, []command{
			{"gate", judge.NewGateCommand}, {"review", judge.NewReviewCommand}, {"explain", setup.NewExplainCommand},
			{"blueprint", blueprints.NewBlueprintCommand}, {"lessons", rulebook.NewLessonsCommand},
			{"patterns", rulebook.NewPatternsCommand},
		}},
		{cli.GroupKnow, []command{
			{"index", models.NewIndexCommand}, {"enrich", models.NewEnrichCommand}, {"retrieve", models.NewRetrieveCommand},
			{"training", newTrainingCommand},
		}},
		{cli.GroupTalk, []command{
			{"ask", owner.NewSayCommand(trust.Ask)}, {"note", owner.NewSayCommand(trust.Note)},
			{"critical", owner.NewSayCommand(trust.Critical)},
			{"inbox", owner.NewInboxCommand}, {"feedback", owner.NewFeedbackCommand}, {"self-fix", selffix.NewSelfFixCommand},
			{"standup", owner.NewStandupCommand}, {"notify", owner.NewNotifyCommand},
		}},
		{cli.GroupTrust, []command{
			{"trust", owner.NewTrustCommand}, {"promote", owner.NewPromoteCommand}, {"demote", owner.NewDemoteCommand},
			{"audit", owner.NewAuditCommand}, {"egress", setup.NewEgressCommand},
		}},
		{cli.GroupSetup, []command{
			{"demo", setup.NewDemoCommand}, {"init", setup.NewInitCommand}, {"config", setup.NewConfigCommand},
			{"doctor", doctor.NewDoctorCommand}, {"maintain", blueprints.NewMaintainCommand}, {"gc", setup.NewGCCommand},
			{"introspect", plans.NewIntrospectCommand}, {"version", setup.NewVersionCommand},
		}},
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
			return cli.Usage(fmt.Errorf("no help topic %q", strings.Join(args, " ")), "all commands: runplan --help")
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
		shells := lists.Map(cmd.Commands(), func(c *cobra.Command) string { return c.Name() })
		return cli.Usage(fmt.Errorf("no completion for %q", args[0]), "completion exists for %s", strings.Join(shells, ", "))
	}
	completion.Args = cobra.ArbitraryArgs
}

// nearFlag returns a question about the flag that a mistyped one resembles.
func nearFlag(cmd *cobra.Command, err error) string {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return ""
	}
	if file := "-" + unknown.GetSpecifiedShortnames(); looksLikePlan(file) {
		return "if it is a file, write " + cli.Word(file) + "; "
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	near := config.Similar(unknown.GetSpecifiedName(), names)
	if near == "" {
		return ""
	}
	return "did you mean --" + near + "? "
}

// plainValue replaces a Go parse error of a flag by the kind of value that the flag takes.
func plainValue(err error) error {
	var wrong *pflag.InvalidValueError
	var number *strconv.NumError
	if !errors.As(err, &wrong) || !errors.As(err, &number) {
		return err
	}
	takes := map[string]string{
		"int": "a whole number", "int64": "a whole number", "uint": "a whole number of at least 0",
		"uint64":  "a whole number of at least 0",
		"float64": "a number", "bool": "true or false",
	}[wrong.GetFlag().Value.Type()]
	takes = cmp.Or(takes, "another value")
	if errors.Is(number, strconv.ErrRange) {
		takes = "a smaller number"
	}
	return fmt.Errorf("invalid argument %q for \"--%s\": it takes %s", wrong.GetValue(), wrong.GetFlag().Name, takes)
}

// zeroIsNone rejects an explicit 0 for flags whose zero value means not given.
func zeroIsNone(cmd *cobra.Command) error {
	const name = "max-attempts"
	if f := cmd.Flags().Lookup(name); f != nil && f.Changed && f.Value.String() == "0" {
		return cli.Usage(fmt.Errorf("--%s 0: must be at least 1", name),
			"leave the flag out to use the configured value")
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
			var known *cli.Failure
			if err == nil || errors.As(err, &known) {
				return err
			}
			return cli.Usage(err, "see: %s --help", cmd.CommandPath())
		}
	}
	for _, sub := range c.Commands() {
		argumentsAreUsage(sub)
	}
}

// impliedWords completes a command line: "run" before a plan, and "--" before a negative number.
func impliedWords(root *cobra.Command, args []string) []string {
	return withDashes(root, withRun(root, args))
}

// withRun inserts "run" if the command line begins with a plan.
func withRun(root *cobra.Command, args []string) []string {
	run, _, _ := root.Find([]string{"run"})
	i := slices.Index(words(run, args), true)
	if i < 0 || isCommand(root, args[i]) || !looksLikePlan(args[i]) {
		return args
	}
	return append([]string{"run"}, args...)
}

// withDashes moves the words from a negative number on to the end, after "--". No flag is a digit.
func withDashes(root *cobra.Command, args []string) []string {
	cmd, _, err := root.Find(args)
	if err != nil {
		return args
	}
	var before, after []string
	for i, isWord := range words(cmd, args) {
		switch {
		case args[i] == "--":
			return args
		case isWord && (after != nil || negative.MatchString(args[i])):
			after = append(after, args[i])
		default:
			before = append(before, args[i])
		}
	}
	if after == nil {
		return args
	}
	return append(append(before, "--"), after...)
}

var negative = lazyre.New(`^-\d`)

// words reports for each argument whether it is a word: neither a flag of a command nor the value of one.
func words(cmd *cobra.Command, args []string) []bool {
	is := make([]bool, len(args))
	for i := 0; i < len(args); i++ {
		if args[i] == "--" {
			for k := range is[i+1:] {
				is[i+1+k] = true
			}
			break
		}
		if is[i] = !strings.HasPrefix(args[i], "-") || negative.MatchString(args[i]); is[i] {
			continue
		}
		if f := cmd.Flag(strings.TrimLeft(args[i], "-")); f != nil && f.NoOptDefVal == "" {
			i++
		}
	}
	return is
}

func isCommand(root *cobra.Command, word string) bool {
	if word == "help" || word == "completion" || strings.HasPrefix(word, "__") {
		return true
	}
	return slices.ContainsFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == word })
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
	for _, e := range cli.ExitCodes() {
		fmt.Fprintf(&b, "  %3d  %s\n", e.Code, e.Meaning)
	}
	return &cobra.Command{Use: "exit-codes", Short: "What the exit codes mean", Long: b.String()}
}
