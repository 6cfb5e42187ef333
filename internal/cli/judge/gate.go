// Package judge holds the commands gate and review, which judge the working tree or a change. They use the gates of a
// run, without a run: in a pre-commit hook, in CI, or before a pull request. Results are cached, so that an unchanged
// tree is not checked again.
package judge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/cache"
	"github.com/runplan/runplan/gates/differential"
	"github.com/runplan/runplan/gates/report"
	"github.com/runplan/runplan/gates/suite"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/rulebook"
	"github.com/runplan/runplan/internal/config"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/ui"
)

// GateOptions are the flags of gate.
type GateOptions struct {
	Base         string
	all          bool
	only         []string
	list         bool
	requireTests bool
	strictAST    bool
	sarif        string
	junit        string
	github       bool
	Baseline     bool
	noCache      bool
	regression   regressionOptions
	mutants      mutantOptions
}

// NewGateCommand returns the command gate.
func NewGateCommand(a *cli.App) *cobra.Command {
	var o GateOptions
	return a.Command(cli.With{Exits: "0 1 2 5 130", Trust: true, JSON: "a JSON object"}, &cobra.Command{
		Use:   "gate",
		Short: "Run the gates on the working tree",
		Long: `Run the gates on the working tree as it is: linters, type checks, tests, secrets and what
the configuration adds. It needs no plan and no run, and changes nothing in the tree.

The change is the difference from the base, including untracked files. The base is
the merge base with --base, or with the main branch; without one it is
the last commit. --all checks the whole tree.

Tests that ran on the base but do not run now are named. An earlier gate on the base has recorded them;
with --base, or --baseline, its suite runs once if the change touches files that decide which tests run.
With --mutants, the tests of the base also run on the code of the change.

A gate that cannot run is neither a pass nor a failure of the code: the others still run,
and the exit status is 5.`,
		Args: cobra.NoArgs,
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("baseline") {
				o.Baseline = o.Base != "" || o.mutants.asked
			}
			return errors.Join(o.regression.check(), o.mutants.check())
		},
		RunE: a.InProject(o.gate),
	}, func(f *cli.Flags) {
		o.common(f)
		f.BoolVar(&o.all, "all", false, "check the whole tree, not only the change")
		f.StringSliceVar(&o.only, "only", nil, "names of the gates to run; lint means all lint:* gates")
		f.BoolVar(&o.Baseline, "baseline", false,
			"run failing gates on the base as well: failures of the base are shown and do not block (on with --base)")
		f.BoolVar(&o.github, "github", false, "print annotations for GitHub, and write the step summary of the workflow")
		f.StringSliceVar(&o.regression.files, "regression", nil,
			"test that must fail on the base and pass on the working tree, as PATH or PATH::NAME; then files that it reads")
		f.StringVar(&o.regression.command, "regression-command", "",
			"shell command that runs the test, if runplan cannot find one")
		f.IntVar(&o.regression.runs, "regression-runs", differential.DefaultRuns,
			"number of runs on each side; a flaky test is rejected")
		f.BoolVar(&o.mutants.asked, "mutants", false, "mutate the changed lines and report mutants that no test detects")
		f.DurationVar(&o.mutants.budget, "mutants-budget", defaultMutantsBudget, "time limit for all tests on mutants")
		f.IntVar(&o.mutants.bar, "mutants-bar", 0, "percent of mutants that the tests must detect (0 only reports)")
		f.BoolVar(&o.list, "list", false, "list the gates that would run, and stop")
		f.BoolVar(&o.requireTests, "require-tests", false, "fail a project without tests instead of skipping its test gate")
		f.BoolVar(&o.strictAST, "strict-ast", false, cli.StrictASTUse)
	})
}

// common adds the flags that gate and review share.
func (o *GateOptions) common(f *cli.Flags) {
	f.StringVar(&o.Base, "base", "", "commit or branch to compare with")
	f.BoolVar(&o.noCache, "no-cache", false, "run each gate, even if its result for this tree is cached")
	f.StringVar(&o.sarif, "sarif", "", "write a SARIF 2.1.0 log to this file")
	f.StringVar(&o.junit, "junit", "", "write JUnit XML to this file")
}

// Inspection is one check of the working tree by "runplan gate".
type Inspection struct {
	Project  *cli.Project
	Reaper   *LateReaper
	Rules    *rulebook.RuleBooks
	Task     string // task id for the log of calls: a run, whose events record the cost; "" makes a new id
	store    cache.Store
	around   string // inputs of all gates besides the tree
	Options  GateOptions
	Settings gates.Settings
	Gates    []gates.Gate
	Subject  gates.Subject
	from     comparison
	tree     func() written // the working tree as a git tree
	ignored  []string       // files that git ignores in it
	hidden   bool           // the tree does not show every change
	forget   string         // a temporary log folder that can be deleted
}

// Inspect returns an inspection of the working tree of p, with the gates of its settings and more. Git reads the tree
// in parallel while the gates are built: on an unchanged tree, waiting for both would dominate the time. The caller
// must call done.
func Inspect(ctx context.Context, p *cli.Project, books *rulebook.RuleBooks, o GateOptions,
	more ...gates.Gate) (x *Inspection, done func()) {
	x = &Inspection{Project: p, Options: o, Rules: books, Reaper: &LateReaper{Start: cli.StartReaper},
		tree: sync.OnceValue(func() written { return writtenAt(ctx, p.Repo, o.Base) })}
	if !o.list { // --list runs nothing
		go x.tree()
	}
	var end func()
	x.Settings, end = SuiteOf(p, o.requireTests, books)
	x.Settings.Affected = !o.all
	x.Settings.More = append(x.Settings.More, more...)
	if x.Settings.Detect {
		x.Settings.Found = Detected(ctx, p.Repo)
	}
	x.Gates = suite.All(p.Repo.Root, x.Settings)
	return x, func() {
		end()
		if !o.list {
			x.tree() // wait for git to finish
		}
		x.Reaper.Close()
	}
}

func (o *GateOptions) gate(ctx context.Context, p *cli.Project, _ []string) (err error) {
	p.Config.Gates.StrictAST = p.Config.Gates.StrictAST || o.strictAST
	if !o.list { // --list runs nothing
		if err := p.TrustConfig(); err != nil {
			return err
		}
	}
	x, done := Inspect(ctx, p, rulebook.OpenRuleBooks(ctx, p), *o)
	defer done()
	flagged := append(x.regression(), x.mutants()...)
	if x.Gates, err = chosenGates(append(x.Gates, flagged...), o.only); err != nil {
		return err
	}
	for _, g := range flagged { // --only need not name gates that have their own flag
		if !slices.ContainsFunc(x.Gates, func(have gates.Gate) bool { return have.Info().Name == g.Info().Name }) {
			x.Gates = append(x.Gates, g)
		}
	}
	if o.list {
		return x.list(ctx)
	}
	x.tellWhatRuns()
	ctx, stop := cli.Interruptible(ctx, syscall.SIGHUP)
	defer stop()
	return x.look(ctx)
}

// tellWhatRuns names the programs of the gates if the user was not asked to trust them. A repository without .runplan
// has no configuration to trust; its files select its gates.
func (x *Inspection) tellWhatRuns() {
	if _, err := os.Lstat(x.Project.Layout.Root); err == nil {
		return
	}
	var programs []string
	for _, g := range x.Gates {
		if i := g.Info(); i.Command != "" && i.Name != "patterns" { // it reads only rules
			programs = append(programs, fmt.Sprintf("%s (%s)", i.Name, ui.Brief(i.Command, 60)))
		}
	}
	if len(programs) > 0 {
		fmt.Fprintf(x.Project.Stderr,
			"runplan: no .runplan folder, so no trust question was asked; these gates run the project's own code: %s\n",
			strings.Join(programs, ", "))
	}
}

func chosenGates(all []gates.Gate, only []string) ([]gates.Gate, error) {
	if len(only) == 0 {
		return all, nil
	}
	var names, families []string
	for _, g := range all {
		names = append(names, g.Info().Name)
		if family, _, ok := strings.Cut(g.Info().Name, ":"); ok {
			families = lists.Add(families, family)
		}
	}
	for _, word := range only {
		if slices.ContainsFunc(names, func(n string) bool { return means(word, n) }) {
			continue
		}
		err := fmt.Errorf("unknown gate %q", ui.Sanitize(word))
		if near := config.Nearest(word, slices.Concat(names, families)); near != "" {
			err = fmt.Errorf("%w; did you mean %q?", err, near)
		}
		slices.Sort(names)
		return nil, cli.Usage(err, "the gates of this tree: %s", strings.Join(names, ", "))
	}
	return slices.DeleteFunc(all, func(g gates.Gate) bool {
		return !slices.ContainsFunc(only, func(w string) bool { return means(w, g.Info().Name) })
	}), nil
}

// means reports whether a word of --only selects a gate.
func means(word, name string) bool { return name == word || strings.HasPrefix(name, word+":") }

// chooses reports whether --only leaves a gate in.
func (o GateOptions) chooses(name string) bool {
	return len(o.only) == 0 || slices.ContainsFunc(o.only, func(w string) bool { return means(w, name) })
}

// list shows the gates and whether their tools are installed. It runs no program of the tree.
func (x *Inspection) list(ctx context.Context) error {
	infos := lists.Map(x.Gates, gates.Gate.Info)
	slices.SortStableFunc(infos, func(a, b gates.Info) int { return cmp.Compare(a.Cost, b.Cost) })
	type listed struct {
		gates.Info
		gates.Readiness
	}
	all := make([]listed, len(infos))
	var rows ui.Rows
	for i, r := range gates.Examine(ctx, x.Project.Repo.Root, x.Project.Environ, infos) {
		l := listed{infos[i], r}
		all[i] = l
		blocks := map[bool]string{true: "blocks", false: "warns"}[l.Blocking]
		found, _ := FoundTools(r)
		rows.Add(l.Name, l.Kind, l.Cost, blocks, l.State, ui.Brief(found, 80), ui.Brief(l.Command, 100))
	}
	return x.Project.PrintTable(all, "", []string{"gate", "kind", "cost", "failure", "state", "tools", "command"}, rows)
}

// FoundTools describes which tools are installed, which are missing, and how to install those.
func FoundTools(r gates.Readiness) (found, fix string) {
	if r.State == gates.StateOff {
		return "turned off in the configuration", ""
	}
	var texts, fixes []string
	for _, t := range r.Tools {
		texts = append(texts, t.String())
		if t.Install != "" {
			fixes = append(fixes, t.Install)
		}
	}
	if r.Why != "" {
		texts = append([]string{r.Why}, texts...)
		fixes = nil
	}
	return strings.Join(texts, ", "), strings.Join(fixes, "; ")
}

// Open prepares the subject and returns the gates. The caller must call done to clean up, also after an error.
func (x *Inspection) Open(ctx context.Context) (list []gates.Gate, done func(), err error) {
	done = func() {
		if x.forget != "" {
			os.RemoveAll(x.forget)
		}
	}
	if err := x.prepare(ctx); err != nil {
		return nil, done, err
	}
	if list, err = x.cached(ctx); err != nil {
		return nil, done, err
	}
	if err := x.readRules(list); err != nil {
		return nil, done, err
	}
	b, err := x.baseline()
	x.compareTests(b)
	forget, release := done, x.holdTests()
	end := func() { release(); forget() }
	if err != nil || b == nil {
		return list, end, err
	}
	return b.Around(list), func() {
		if err := b.Close(ctx); err != nil {
			x.Project.Warn(err.Error())
		}
		end()
	}, nil
}

func (x *Inspection) look(ctx context.Context) error {
	list, done, err := x.Open(ctx)
	defer done()
	if err != nil {
		return err
	}
	list, at := watched(list)
	line := status(x.Project.App, at.text)
	verdict, blind, err := gates.RunAll(ctx, list, x.Subject, func(r gates.Report) {
		if !x.Project.JSON && r.Command != "" && line == nil { // the command may take long
			fmt.Fprintf(x.Project.Stderr, "%s: %s\n", r.Gate, r.Status)
		}
	})
	line.Close()
	if ctx.Err() != nil {
		return cli.Interrupted("not all gates ran", "")
	}
	if err != nil {
		return cli.Fail(cli.ExitCannotRun, err, "")
	}
	x.recordTests(verdict)
	if x.forget != "" && verdict.OK() {
		for i := range verdict.Reports {
			verdict.Reports[i].Log, verdict.Reports[i].LogHash = "", ""
		}
	} else {
		x.forget = "" // keep the logs, because the report names them
	}
	if err := x.show(verdict); err != nil {
		return err
	}
	if err := x.export(report.Run{Version: cli.Version(), Verdict: verdict, Base: x.Subject.Base}); err != nil {
		return err
	}
	if err := outcomeOf(verdict, blind); x.Project.JSON || len(blind) > 0 {
		return err
	} else if err != nil {
		f := &cli.Failure{Code: cli.ExitFailed, Err: errors.New("")} // the last line of the output has the error
		if x.Subject.Base != "" && !x.Options.Baseline && slices.ContainsFunc(verdict.Reports, func(r gates.Report) bool {
			return r.Status == gates.Fail && r.Command != ""
		}) {
			f.Hint = "with --baseline, what fails without the change too does not count"
		}
		return f
	}
	return nil
}

// outcomeOf converts a verdict into the exit status.
func outcomeOf(v gates.Verdict, blind []*gates.GateError) error {
	if len(blind) > 0 {
		return cli.Named("gate-not-run", cli.Fail(cli.ExitCannotRun, blind[0],
			"this is neither a pass nor a failure; fix it, or disable the gate: [gates] disable"))
	}
	if v.OK() {
		return nil
	}
	return cli.Fail(cli.ExitFailed, errors.New(blocking(v)), "")
}

func blocking(v gates.Verdict) string {
	return phrase.Count(len(v.Blocking()), "finding blocks", "findings block")
}

// prepare finds the changed files and creates the log folder.
func (x *Inspection) prepare(ctx context.Context) (err error) {
	for _, file := range []string{x.Options.sarif, x.Options.junit} {
		if info, err := os.Stat(filepath.Dir(file)); err != nil || !info.IsDir() {
			return cli.Fail(cli.ExitCannotRun, fmt.Errorf("the folder of the report %s does not exist", ui.Sanitize(file)),
				"make it, or name another file")
		}
	}
	repo := x.Project.Repo
	logs, err := x.logs()
	if err != nil {
		return err
	}
	tree := x.tree()
	if tree.unrelated != nil {
		return tree.unrelated
	}
	x.from, x.ignored, x.hidden = tree.from, tree.ignored, tree.hidden
	if tree.err != nil {
		return cli.Fail(cli.ExitCannotRun, tree.err, "")
	}
	hide := x.Project.Redactor()
	x.Subject = gates.Subject{
		Dir: repo.Root, Base: x.from.Commit, Tree: tree.hash, Env: x.Project.Environ,
		Timeout: time.Duration(x.Project.Config.Gates.Timeout),
		LogDir:  logs, Redact: hide.String, Diff: gates.GitDiff(repo, x.from.Tree, tree.hash),
	}
	if x.Options.all {
		return x.wholeTree(ctx)
	}
	x.Subject.Changed = []string{} // an empty list means no change; nil means unknown
	if x.from.Tree == tree.hash {
		return nil
	}
	changes, err := x.Subject.Diff.Changes(ctx)
	if err != nil {
		return err
	}
	for _, c := range changes {
		x.Subject.Changed = append(x.Subject.Changed, c.Path)
	}
	return nil
}

// wholeTree marks all files as new, except for gates that compare with the base.
func (x *Inspection) wholeTree(ctx context.Context) error {
	change := x.Subject.Diff
	empty, err := x.Project.Repo.EmptyTree(ctx)
	if err != nil {
		return err
	}
	x.Subject.Diff = gates.GitDiff(x.Project.Repo, empty, x.Subject.Tree)
	for i, g := range x.Gates {
		if g.Info().Compares {
			x.Gates[i] = gates.Seeing(g, change)
		}
	}
	return nil
}
