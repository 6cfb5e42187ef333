package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/cache"
	"github.com/runplan/runplan/gates/differential"
	"github.com/runplan/runplan/gates/report"
	"github.com/runplan/runplan/gates/suite"
	"github.com/runplan/runplan/internal/config"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/ui"
)

// gateOptions are the flags of gate.
type gateOptions struct {
	base         string
	all          bool
	only         []string
	json         bool
	list         bool
	requireTests bool
	strictAST    bool
	trust        string
	sarif        string
	junit        string
	github       bool
	baseline     bool
	noCache      bool
	regression   regressionOptions
	mutants      mutantOptions
}

func newGateCommand(a *App) *cobra.Command {
	var o gateOptions
	cmd := &cobra.Command{
		Use:   "gate",
		Short: "Run the gates on the working tree",
		Long: `Ask the gates about the working tree as it is: linters, type checks, tests, secrets and what
the configuration adds. It needs no plan and no run, and changes nothing in the tree.

What changed is what differs from the base, with files that git does not know yet. The base is
the merge base with --base, or with the branch that everybody's work goes to; without one it is
the last commit. --all looks at the whole tree.

Tests that ran on the base and do not run now are named. An earlier gate on the base knows them;
with --base, or --baseline, its suite runs once where the change touches what decides which tests run.

A gate that cannot look is neither a pass nor a failure of the code: the others still answer,
and the exit status is 5.` + exitStatus(exitOK, exitFailed, exitUsage, exitCannotRun, exitInterrupted),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("baseline") {
				o.baseline = o.base != ""
			}
			return a.gate(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.base, "base", "", "commit or branch to compare with")
	f.BoolVar(&o.all, "all", false, "look at the whole tree, not only at what changed")
	f.StringSliceVar(&o.only, "only", nil, "names of the gates to run; lint means all lint:* gates")
	f.BoolVar(&o.json, "json", false, "print a JSON object")
	f.BoolVar(&o.baseline, "baseline", false, "run failing gates on the base as well: failures of the base are shown and do not block (on with --base)")
	f.BoolVar(&o.noCache, "no-cache", false, "run each gate, even if its result for this tree is cached")
	f.StringVar(&o.sarif, "sarif", "", "write a SARIF 2.1.0 log to this file")
	f.StringVar(&o.junit, "junit", "", "write JUnit XML to this file")
	f.BoolVar(&o.github, "github", false, "print annotations for GitHub, and write the step summary of the workflow")
	f.StringSliceVar(&o.regression.files, "regression", nil, "test that must fail on the base and pass on the working tree, as PATH or PATH::NAME; then files that it reads")
	f.StringVar(&o.regression.command, "regression-command", "", "shell command that runs it, if the project's files do not tell")
	f.IntVar(&o.regression.runs, "regression-runs", differential.DefaultRuns, "number of runs on each side; a flaky test is refused")
	f.BoolVar(&o.mutants.asked, "mutants", false, "mutate the changed lines and report mutants that no test notices")
	f.DurationVar(&o.mutants.budget, "mutants-budget", defaultMutantsBudget, "time limit for all tests on mutants")
	f.IntVar(&o.mutants.bar, "mutants-bar", 0, "percent of mutants that the tests must notice (0 only reports)")
	f.BoolVar(&o.list, "list", false, "list the gates that would run, and stop")
	f.BoolVar(&o.requireTests, "require-tests", false, "fail a project without tests instead of skipping its test gate")
	f.BoolVar(&o.strictAST, "strict-ast", false, strictASTUse)
	f.StringVar(&o.trust, "trust-config", "", "digest of the repository's configuration, to trust it without a question")
	return cmd
}

// inspection is one check of the working tree by "runplan gate".
type inspection struct {
	app      *App
	project  *project
	self     string // this program
	reaper   *lateReaper
	rules    *ruleBooks
	task     string // task id for the log of calls: a run, whose events record the cost; "" makes a new id
	store    cache.Store
	around   string // what the results of all gates depend on, besides the tree
	options  gateOptions
	settings gates.Settings
	gates    []gates.Gate
	subject  gates.Subject
	from     comparison
	tree     chan written // the working tree as a git tree
	ignored  []string     // what git ignores in it
	hidden   bool         // the tree does not show every change
	forget   string       // a temporary log folder that can be deleted
}

func (a *App) gate(ctx context.Context, o gateOptions) error {
	if err := errors.Join(o.regression.check(), o.mutants.check()); err != nil {
		return err
	}
	p, err := a.openProject(ctx)
	if err != nil {
		return err
	}
	p.config.Gates.StrictAST = p.config.Gates.StrictAST || o.strictAST
	self, err := os.Executable()
	if err != nil {
		return fail(exitCannotRun, fmt.Errorf("find the runplan executable: %w", err), "")
	}
	if !o.list { // --list runs nothing
		if err := a.trustConfig(p, o.trust); err != nil {
			return err
		}
	}
	x := &inspection{app: a, project: p, self: self, options: o, reaper: &lateReaper{self: self}, tree: make(chan written, 1)}
	defer x.reaper.Close()
	// Git reads the tree in parallel while the gates are built. On an unchanged tree, waiting for both would dominate
	// the time.
	if !o.list {
		go func() { x.tree <- writtenAt(ctx, p.repo, o.base) }()
		defer func() { <-x.tree }() // wait for git to finish
	}
	x.rules = a.ruleBooks(ctx, p)
	var done func()
	x.settings, done = a.suiteOf(p, self, o.requireTests, x.rules)
	defer done()
	x.settings.Affected = !o.all
	if x.settings.Detect {
		x.settings.Found = gates.DetectIn(p.repo.Root)
	}
	flagged := append(x.regression(), x.mutants()...)
	if x.gates, err = chosenGates(append(suite.All(p.repo.Root, x.settings), flagged...), o.only); err != nil {
		return err
	}
	for _, g := range flagged { // --only need not name gates that have a flag of their own
		if !slices.ContainsFunc(x.gates, func(have gates.Gate) bool { return have.Info().Name == g.Info().Name }) {
			x.gates = append(x.gates, g)
		}
	}
	if o.list {
		return x.list(ctx)
	}
	x.tellWhatRuns()
	ctx, stop := interruptible(ctx, syscall.SIGHUP)
	defer stop()
	return x.look(ctx)
}

// tellWhatRuns names the programs of the gates if the user was not asked to trust them. A repository without .runplan
// has no configuration to trust; its gates follow from its files.
func (x *inspection) tellWhatRuns() {
	if _, err := os.Lstat(x.project.layout.Root); err == nil {
		return
	}
	var programs []string
	for _, g := range x.gates {
		if i := g.Info(); i.Command != "" && i.Name != "patterns" { // it reads only rules
			programs = append(programs, fmt.Sprintf("%s (%s)", i.Name, ui.Cut(ui.Sanitize(i.Command), 60, "…")))
		}
	}
	if len(programs) > 0 {
		fmt.Fprintf(x.app.Stderr, "runplan: no .runplan folder, so no trust question was asked; these gates run the project's own code: %s\n", strings.Join(programs, ", "))
	}
}

// chosenGates returns the gates that --only names.
func chosenGates(all []gates.Gate, only []string) ([]gates.Gate, error) {
	if len(only) == 0 {
		return all, nil
	}
	var names, families []string
	for _, g := range all {
		names = append(names, g.Info().Name)
		if family, _, ok := strings.Cut(g.Info().Name, ":"); ok && !slices.Contains(families, family) {
			families = append(families, family)
		}
	}
	means := func(word, name string) bool { return name == word || strings.HasPrefix(name, word+":") }
	for _, word := range only {
		if slices.ContainsFunc(names, func(n string) bool { return means(word, n) }) {
			continue
		}
		err := fmt.Errorf("unknown gate %q", ui.Sanitize(word))
		if near := config.Nearest(word, slices.Concat(names, families)); near != "" {
			err = fmt.Errorf("%w; did you mean %q?", err, near)
		}
		slices.Sort(names)
		return nil, usage(err, "the gates of this tree: %s", strings.Join(names, ", "))
	}
	return slices.DeleteFunc(all, func(g gates.Gate) bool {
		return !slices.ContainsFunc(only, func(w string) bool { return means(w, g.Info().Name) })
	}), nil
}

// listedGate is a gate and whether its tools are installed.
type listedGate struct {
	gates.Info
	gates.Readiness
}

// list shows the gates and whether their tools are installed. It runs nothing of the tree.
func (x *inspection) list(ctx context.Context) error {
	infos := make([]gates.Info, 0, len(x.gates))
	for _, g := range x.gates {
		infos = append(infos, g.Info())
	}
	slices.SortStableFunc(infos, func(a, b gates.Info) int { return cmp.Compare(a.Cost, b.Cost) })
	all := make([]listedGate, len(infos))
	for i, r := range gates.Examine(ctx, x.project.repo.Root, x.app.Environ, infos) {
		all[i] = listedGate{infos[i], r}
	}
	if x.options.json {
		return asJSON(x.app.Stdout, all)
	}
	var rows [][]string
	for _, l := range all {
		blocks := map[bool]string{true: "blocks", false: "warns"}[l.Blocking]
		found, _ := foundTools(l.Readiness)
		rows = append(rows, []string{l.Name, string(l.Kind), l.Cost.String(), blocks, string(l.State), ui.Cut(ui.Sanitize(found), 80, "…"), ui.Cut(ui.Sanitize(l.Command), 100, "…")})
	}
	return table(x.app.Stdout, []string{"gate", "kind", "cost", "failure", "state", "tools", "command"}, rows)
}

// Kindly returns the kind of the gate as a word.
func (l listedGate) Kindly() string { return string(l.Kind) }

// foundTools describes which tools are installed, which are missing, and how to install those.
func foundTools(r gates.Readiness) (found, fix string) {
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

// open prepares the subject and returns the gates. The caller must call done to clean up, also after an error.
func (x *inspection) open(ctx context.Context) (list []gates.Gate, done func(), err error) {
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
	if err != nil || b == nil {
		return list, done, err
	}
	forget := done
	return b.Around(list), func() {
		if err := b.Close(ctx); err != nil {
			fmt.Fprintf(x.app.Stderr, "warning: %v\n", err)
		}
		forget()
	}, nil
}

// look runs the gates and shows their results.
func (x *inspection) look(ctx context.Context) error {
	list, done, err := x.open(ctx)
	defer done()
	if err != nil {
		return err
	}
	list, at := watched(list)
	line := x.app.status(at.text)
	verdict, blind, err := gates.RunAll(ctx, list, x.subject, func(r gates.Report) {
		if !x.options.json && r.Command != "" && line == nil { // the command may take long
			fmt.Fprintf(x.app.Stderr, "%s: %s\n", r.Gate, r.Status)
		}
	})
	line.Close()
	if ctx.Err() != nil {
		return fail(exitInterrupted, errors.New("interrupted; not all gates ran"), "")
	}
	if err != nil {
		return fail(exitCannotRun, err, "")
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
	if err := x.export(report.Run{Version: version(), Verdict: verdict, Base: x.subject.Base}); err != nil {
		return err
	}
	if err := outcomeOf(verdict, blind); x.options.json || len(blind) > 0 {
		return err
	} else if err != nil {
		return &failure{code: exitFailed, err: errors.New("")} // the last line of the output says it
	}
	return nil
}

// outcomeOf converts a verdict into the exit status.
func outcomeOf(v gates.Verdict, blind []*gates.GateError) error {
	if len(blind) > 0 {
		return fail(exitCannotRun, blind[0], "this is neither a pass nor a failure; fix it, or disable the gate: [gates] disable")
	}
	if v.OK() {
		return nil
	}
	return fail(exitFailed, errors.New(blocking(v)), "")
}

// blocking counts the findings that block.
func blocking(v gates.Verdict) string {
	return phrase.Count(len(v.Blocking()), "finding blocks", "findings block")
}

// prepare finds the changed files and creates the log folder.
func (x *inspection) prepare(ctx context.Context) (err error) {
	repo := x.project.repo
	logs, err := x.logs()
	if err != nil {
		return err
	}
	if logs.temporary {
		x.forget = logs.dir
	}
	tree := <-x.tree
	x.tree <- tree
	if tree.unrelated != nil {
		return tree.unrelated
	}
	x.from, x.ignored, x.hidden = tree.from, tree.ignored, tree.hidden
	if tree.err != nil {
		return fail(exitCannotRun, tree.err, "")
	}
	hide := x.app.redactor(x.project)
	x.subject = gates.Subject{
		Dir: repo.Root, Base: x.from.Commit, Tree: tree.hash, Env: x.app.Environ, Timeout: time.Duration(x.project.config.Gates.Timeout),
		LogDir: logs.dir, Redact: hide.String, Diff: gates.GitDiff(repo, x.from.Tree, tree.hash),
	}
	if x.options.all {
		x.wholeTree()
		return nil
	}
	x.subject.Changed = []string{} // an empty list means no change; nil means unknown
	if x.from.Tree == tree.hash {
		return nil
	}
	changes, err := x.subject.Diff.Changes(ctx)
	if err != nil {
		return fail(exitCannotRun, err, "")
	}
	for _, c := range changes {
		x.subject.Changed = append(x.subject.Changed, c.Path)
	}
	return nil
}

// wholeTree marks all files as new, except for gates that compare with the base.
func (x *inspection) wholeTree() {
	change := x.subject.Diff
	x.subject.Diff = gates.GitDiff(x.project.repo, emptyTree(x.subject.Tree), x.subject.Tree)
	for i, g := range x.gates {
		if g.Info().Compares {
			x.gates[i] = gates.Seeing(g, change)
		}
	}
}
