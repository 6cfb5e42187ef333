package app

import (
	_ "embed"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/gates/suite"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/control"
	"github.com/runplan/runplan/internal/cli/judge"
	"github.com/runplan/runplan/internal/cli/rulebook"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/lessons"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/routing"
	"github.com/runplan/runplan/runner"
)

// completer completes arguments and flag values from the contents of the repository.
type completer struct{ app *cli.App }

// addCompletions registers shell completion for arguments and flag values.
func addCompletions(a *cli.App, root *cobra.Command) {
	c := completer{a}
	arguments := map[string]cobra.CompletionFunc{"context": c.completePlanBatch, "lessons show": c.completeLesson}
	for _, name := range []string{"run", "parse", "check", "route", "serve"} {
		arguments[name] = cli.CompletePlan
	}
	for _, name := range []string{"approve", "cancel", "discard", "undo", "log", "resume", "spend", "status"} {
		arguments[name] = c.completeRun
	}
	for path, complete := range arguments {
		if cmd, _, err := root.Find(strings.Fields(path)); err == nil {
			cmd.ValidArgsFunction = complete
		}
	}
	flags := map[string]cobra.CompletionFunc{
		"agent": a.CompleteAgent, "from": c.completeBatch, "to": c.completeBatch, "redo": c.completeBatch,
		"sequential-after": c.completeBatch, "sample-batch": c.completeBatchValue, "model-override": c.completeBatchValue,
		"land": cobra.FixedCompletions([]string{"branch", "ff", "pr"}, cobra.ShellCompDirectiveNoFileComp),
	}
	for _, name := range []string{"run", "resume", "route", "solve", "init", "doctor"} {
		cmd, _, err := root.Find([]string{name})
		if err != nil {
			continue
		}
		for flag, complete := range flags {
			if cmd.Flags().Lookup(flag) != nil {
				cmd.RegisterFlagCompletionFunc(flag, complete)
			}
		}
	}
	if cmd, _, err := root.Find([]string{"gate"}); err == nil {
		cmd.RegisterFlagCompletionFunc("only", c.completeGate)
	}
	cli.CompleteValues(root)
	plainBash(root)
}

// completeRun completes the ids of runs that suit the command, each with its plan and status. If runs cannot be listed
// it offers nothing, because the command itself reports the error.
func (c completer) completeRun(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	p, err := c.app.OpenProject(cmd.Context())
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	if cmd.Name() == "approve" {
		waiting, _ := control.Waiting(cmd.Context(), p)
		var ids []string
		for _, w := range waiting {
			ids = append(ids, cobra.CompletionWithDesc(w.ID, ui.Sanitize(w.Plan)))
		}
		return ids, cobra.ShellCompDirectiveNoFileComp
	}
	sums, _ := p.Summaries(cmd.Context(), runner.Filter{})
	p.LookAlive(sums)
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

// completePlanBatch completes a plan, then the number of one of its batches.
func (c completer) completePlanBatch(cmd *cobra.Command, args []string, word string) ([]string,
	cobra.ShellCompDirective) {
	if len(args) == 1 {
		return c.completeBatch(cmd, args, word)
	}
	return cli.CompletePlan(cmd, args, word)
}

// completeBatch completes the numbers of batches, each with its title, after a comma too.
func (c completer) completeBatch(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	before := word[:strings.LastIndexByte(word, ',')+1]
	return lists.Map(c.batchesFor(cmd, args), func(b planparse.Batch) string {
		return cobra.CompletionWithDesc(before+b.Key, ui.Sanitize(b.Title))
	}), cobra.ShellCompDirectiveNoFileComp
}

// completeBatchValue completes the values of --model-override and --sample-batch: B3=large, B4=5.
func (c completer) completeBatchValue(cmd *cobra.Command, args []string, word string) ([]string,
	cobra.ShellCompDirective) {
	batch, _, value := strings.Cut(word, "=")
	if value && cmd.Flags().Lookup("model-override") != nil {
		tiers := []string{batch + "=" + routing.Small, batch + "=" + routing.Medium, batch + "=" + routing.Large}
		return tiers, cobra.ShellCompDirectiveNoFileComp
	}
	return lists.Map(c.batchesFor(cmd, args), func(b planparse.Batch) string {
		return cobra.CompletionWithDesc("B"+b.Key+"=", ui.Sanitize(b.Title))
	}), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// batchesFor returns the batches of the plan or the run that args name, or those of the run that resume would take.
func (c completer) batchesFor(cmd *cobra.Command, args []string) []planparse.Batch {
	if len(args) > 0 {
		if plan, _, err := cli.ReadPlan(args[0]); err == nil {
			return plan.Batches
		}
	}
	p, err := c.app.OpenProject(cmd.Context())
	if err != nil {
		return nil
	}
	sums, _ := p.Summaries(cmd.Context(), runner.Filter{})
	for _, s := range sums {
		if len(args) > 0 && !strings.HasPrefix(s.Run, args[0]) || len(args) == 0 && s.Status.Over() {
			continue
		}
		if plan, _, err := cli.ReadPlan(p.PlanFile(s.Plan)); err == nil {
			return plan.Batches
		}
	}
	return nil
}

// completeGate completes the names of the gates of this tree, and of their families, after a comma too.
func (c completer) completeGate(cmd *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	p, err := c.app.OpenProject(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	settings, done := judge.SuiteOf(p, false, rulebook.OpenRuleBooks(cmd.Context(), p))
	defer done()
	before := word[:strings.LastIndexByte(word, ',')+1]
	var found []string
	for _, g := range suite.All(p.Repo.Root, settings) {
		i := g.Info()
		found = append(found, cobra.CompletionWithDesc(before+i.Name, ui.Sanitize(i.Command)))
		if family, _, ok := strings.Cut(i.Name, ":"); ok && !slices.Contains(found, before+family) {
			found = append(found, before+family)
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

// completeLesson completes the ids of lessons, each with its title.
func (c completer) completeLesson(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	lib, _, err := rulebook.LessonLibrary(cmd.Context(), c.app)
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return lists.Map(lib.Lessons, func(l *lessons.Lesson) string {
		return cobra.CompletionWithDesc(l.ID, ui.Sanitize(l.Title))
	}), cobra.ShellCompDirectiveNoFileComp
}

// cobra's script compares the escaped answer with what was typed, so that nothing would follow "1,".
const (
	bashMatch      = `[[ $comp == "$cur"* ]] || continue`
	bashMatchPlain = `[[ $comp == "$cur"* || ${compline%%$tab*} == "$cur"* ]] || continue`
)

//go:embed complete.bash
var bashFunctions string

// plainBash makes the completion for bash work without the package bash-completion. cobra's script calls three
// functions of that package.
func plainBash(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	cmd, _, err := root.Find([]string{"completion", "bash"})
	if err != nil || cmd.Name() != "bash" {
		return
	}
	cmd.Long = `Write the completion script for bash to standard output. It works with and without the package
bash-completion.

For this shell:

	source <(runplan completion bash)

For every new shell:

	echo 'source <(runplan completion bash)' >> ~/.bashrc
`
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		bare, _ := cmd.Flags().GetBool("no-descriptions")
		var text strings.Builder
		if err := root.GenBashCompletionV2(&text, !bare); err != nil {
			return err
		}
		_, err := io.WriteString(root.OutOrStdout(),
			bashFunctions+strings.Replace(text.String(), bashMatch, bashMatchPlain, 1))
		return err
	}
}
