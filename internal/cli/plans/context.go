package plans

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/suite"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/judge"
	"github.com/runplan/runplan/internal/cli/models"
	"github.com/runplan/runplan/internal/cli/prepare"
	"github.com/runplan/runplan/internal/cli/rulebook"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/briefing"
	"github.com/runplan/runplan/runner/failures"
	"github.com/runplan/runplan/runner/journal"
)

// NewContextCommand returns the command context.
func NewContextCommand(a *cli.App) *cobra.Command {
	var from string
	return a.Command(cli.With{Exits: "0 2 5 130", JSON: "a JSON object with the whole brief"}, &cobra.Command{
		Use:   "context PLAN.md BATCH",
		Short: "Show the context that the agent of a batch would get now",
		Long: `Show the context block of a batch's brief, as a run would write it now, and how its parts were
trimmed to the budget, and why. Nothing is run and nothing is changed.

Files are read from the commit that the batch would start from, never from your checkout: the
tip of the run branch while a run of the plan is not finished, else the commit that is checked
out. Facts about earlier batches come from the journal; failure-patterns.json and
progress.txt are those under .runplan. Existing code is found by a search for the names and
words of the batch. Without ast-grep only the style of Go code is described.

The block goes to standard output, the table to standard error. [context] in the configuration
has the figures: tokens, ref_lines, ref_lines_least, commits, progress_lines, similarity.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return cli.Usage(fmt.Errorf("%s needs the path of a plan and the number of a batch", cmd.CommandPath()),
					"see: %s --help", cmd.CommandPath())
			}
			return nil
		},
		RunE: cli.Stoppable(func(ctx context.Context, args []string) error {
			return showContext(ctx, a, args[0], args[1], from)
		}),
		ValidArgsFunction: cli.CompletePlan,
	}, func(f *cli.Flags) { f.StringVar(&from, "base", "", "commit or branch to start the batch from") })
}

func showContext(ctx context.Context, a *cli.App, path, batch, from string) error {
	plan, _, err := cli.ReadPlan(path)
	if err != nil {
		return err
	}
	if err := cli.Invalid(path, plan); err != nil {
		return err
	}
	b, err := batchOf(path, plan, batch)
	if err != nil {
		return err
	}
	p, err := a.OpenProject(ctx)
	if err != nil {
		return err
	}
	h, err := pastOf(ctx, p, path)
	if err != nil {
		return err
	}
	base, err := baseOf(ctx, p, h, from)
	if err != nil {
		return err
	}
	name := p.PlanPath(path)
	s := briefing.Sources{
		Input: h.input(p.Layout, plan, b, filepath.Base(path)), Repo: p.Repo, Commit: base, Plan: name, From: h.sum.Base,
		Run: h.sum.Run, Progress: p.Layout.Progress(),
		Failures: failures.Open(p.Layout.FailurePatterns(), a.Warn),
	}
	s.Where = models.Where(p)
	s.Limits, s.Protected = prepare.ContextLimits(p.Config.Context), p.Config.Gates.Protected
	if err := lookAtTree(ctx, p, base, &s.Input); err != nil {
		return err
	}
	in, err := briefing.Gather(ctx, s)
	if err != nil {
		return err
	}
	c := briefing.Compose(in)
	if a.JSON {
		return cli.AsJSON(a.Stdout, struct {
			Batch string `json:"batch"`
			Base  string `json:"base"`
			Run   string `json:"run,omitempty"` // the unfinished run that has the batch
			Text  string `json:"text"`          // the whole brief
			Block string `json:"block"`         // its context
			briefing.Composed
		}{b.Key, base, h.sum.Run, c.Text(), c.Block, c})
	}
	if _, err := fmt.Fprint(a.Stdout, c.Block); err != nil {
		return err
	}
	return showParts(a, c, base, h)
}

// showParts prints which parts are in the brief and which were omitted.
func showParts(a *cli.App, c briefing.Composed, base string, h past) error {
	if c.Budget == 0 {
		fmt.Fprintln(a.Stderr, "no context block: [context] tokens is 0")
		return nil
	}
	var rows ui.Rows
	for _, p := range c.Parts {
		what := "kept"
		switch {
		case !p.Kept:
			what = "dropped: " + p.Trimmed
		case p.Trimmed != "":
			what = "kept; " + p.Trimmed
		}
		rows.Add(ui.Brief(p.Name, 60), p.Chars, p.Tokens, what)
	}
	fmt.Fprintln(a.Stderr)
	ui.Table(a.Stderr, []string{"part", "characters", "tokens", ""}, rows)
	run := "no run of this plan is active"
	if h.sum.Run != "" {
		run = "run " + h.sum.Run[:min(8, len(h.sum.Run))]
	}
	fmt.Fprintf(a.Stderr, "%d of %d tokens; at commit %s, %s\n", c.Tokens, c.Budget, git.Short(base), run)
	if c.Over {
		fmt.Fprintln(a.Stderr, "over budget: the rest is never trimmed; raise [context] tokens, or name fewer files")
	}
	return nil
}

// batchOf finds a batch by its key, or by its number if the number is unique.
func batchOf(path string, plan *planparse.Plan, name string) (*planparse.Batch, error) {
	if b, ok := plan.Batch(name); ok {
		return b, nil
	}
	var found []*planparse.Batch
	var known []string
	number := strings.TrimPrefix(strings.TrimPrefix(name, "B"), "b") // flags and tables use this form
	for i := range plan.Batches {
		b := &plan.Batches[i]
		if strings.EqualFold(b.Number, name) || strings.EqualFold(b.Number, number) {
			found = append(found, b)
		}
		known = append(known, strings.TrimSpace(b.Key+" "+ui.Brief(b.Title, 40)))
	}
	if len(found) == 1 {
		return found[0], nil
	}
	return nil, cli.Usage(fmt.Errorf("%s has no batch %s", path, ui.Sanitize(name)), "%s", "its batches: "+
		strings.Join(known, ", "))
}

// past holds what the journal says about the unfinished run of a plan. It is empty without such a run.
type past struct {
	sum    runner.Summary
	failed map[string]runner.Event     // the last failed attempt, by batch
	tests  map[string]*gates.TestCount // last test counts of the gates, by batch
	before *gates.TestCount            // test counts of the last merged batch
}

// pastOf reads the newest run of a plan, if it is not finished.
func pastOf(ctx context.Context, p *cli.Project, path string) (past, error) {
	h := past{failed: map[string]runner.Event{}, tests: map[string]*gates.TestCount{}}
	name := p.PlanPath(path)
	sums, err := p.Summaries(ctx, runner.Filter{})
	if err != nil {
		return h, err
	}
	p.LookAlive(sums)
	i := slices.IndexFunc(sums, func(s runner.Summary) bool { return s.Plan == name })
	if i < 0 || sums[i].Status.Over() {
		return h, nil
	}
	h.sum = sums[i]
	err = p.EachEvent(ctx, h.sum.Run, h.add)
	return h, err
}

// add folds in an event. Events must come in the order of the journal.
func (h *past) add(ev runner.Event) error {
	switch ev.Kind {
	case runner.Executed, runner.Gated, runner.Tried, runner.Committed:
		if ev.Outcome != runner.OutcomeOK && len(ev.Reports) > 0 {
			h.failed[ev.Batch] = ev
		}
		if ev.Kind == runner.Gated && ev.Outcome == runner.OutcomeOK {
			h.tests[ev.Batch] = ev.Tests
		}
	case runner.Merged:
		if ev.Outcome == runner.OutcomeOK && h.tests[ev.Batch] != nil {
			h.before = h.tests[ev.Batch]
		}
	}
	return nil
}

// digestBytes is the highest size of the failure digest in a brief, in bytes. Runs use the same bound.
const digestBytes = 6 << 10

// input returns the briefing input for the next attempt at a batch.
func (h past) input(l journal.Layout, plan *planparse.Plan, b *planparse.Batch, file string) briefing.Input {
	in := briefing.Input{PlanTitle: cmp.Or(redact.Clean(plan.Title), file), Preamble: plan.Preamble, Batch: *b, Attempt: 1,
		Before: h.before}
	in.Look(h.sum, plan)
	if ev, ok := h.failed[b.Key]; ok && h.sum.Batch(b.Key).State != string(runner.Passed) {
		in.Attempt, in.Digest = ev.Attempt+1, gates.Digest(gates.Verdict{Reports: ev.Reports}, digestBytes)
		patch := filepath.Join(l.Attempt(h.sum.Run, b.Key, ev.Attempt), journal.PatchFile)
		if _, err := os.Stat(patch); err == nil {
			in.Patch = patch
		}
	}
	return in
}

// baseOf returns the commit that a batch would start from now.
func baseOf(ctx context.Context, p *cli.Project, h past, given string) (string, error) {
	if given != "" {
		return cli.CommitNamed(ctx, p.Repo, given, "")
	}
	if h.sum.Run != "" {
		tip, err := p.Repo.Resolve(ctx, "refs/heads/"+h.sum.Branch)
		return cmp.Or(tip, h.sum.Commit), err
	}
	head, _, err := p.Repo.Head(ctx)
	return head, err
}

// lookAtTree finds the gates and the code style at a commit. If the checkout differs from that commit, it reads the
// commit from a temporary folder, so that uncommitted changes have no effect.
func lookAtTree(ctx context.Context, p *cli.Project, base string, in *briefing.Input) error {
	dir, done, err := treeAt(ctx, p, base)
	if err != nil {
		return err
	}
	defer done()
	settings, closeGates := judge.SuiteOf(p, false, rulebook.OpenRuleBooks(ctx, p))
	defer closeGates()
	in.Gates = lists.Map(suite.All(dir, settings), gates.Gate.Info)
	style, note, err := prepare.StyleOf(ctx, p.App, dir)
	if err != nil {
		return err
	}
	if note != "" {
		fmt.Fprintf(p.Stderr, "skipped: %s\n", ui.Sanitize(note))
	}
	in.Style = style
	return nil
}

// treeAt returns a folder with the files of a commit.
func treeAt(ctx context.Context, p *cli.Project, commit string) (dir string, done func(), err error) {
	cannot := func(err error) (string, func(), error) {
		return "", nil, cli.Fail(cli.ExitCannotRun,
			fmt.Errorf("write the files of %s to inspect them: %w", git.Short(commit), err), "")
	}
	head, _, _ := p.Repo.Head(ctx) // "" before the first commit
	changed, untracked, err := p.Repo.Dirty(ctx)
	if err != nil {
		return cannot(err)
	}
	if head == commit && len(changed)+len(untracked) == 0 {
		return p.Repo.Root, func() {}, nil
	}
	temp, err := os.MkdirTemp("", "runplan-context-")
	if err != nil {
		return cannot(err)
	}
	dir = filepath.Join(temp, "tree")
	env := append(slices.Clip(p.Repo.Env()), "GIT_INDEX_FILE="+filepath.Join(temp, "index"))
	for _, args := range [][]string{{"read-tree", commit},
		{"checkout-index", "--all", "--quiet", "--prefix=" + filepath.ToSlash(dir) + "/"}} {
		if _, err := proc.Output(ctx,
			proc.Cmd{Args: append([]string{"git"}, args...), Dir: p.Repo.Root, Env: env}); err != nil {
			os.RemoveAll(temp)
			return cannot(err)
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { // the commit may have no files
		os.RemoveAll(temp)
		return cannot(err)
	}
	return dir, func() { os.RemoveAll(temp) }, nil
}
