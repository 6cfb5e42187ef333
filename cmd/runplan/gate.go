package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/cache"
	"github.com/runplan/runplan/gates/report"
	"github.com/runplan/runplan/gates/suite"
	"github.com/runplan/runplan/internal/config"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/internal/redact"
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
	trust        string
	sarif        string
	junit        string
	github       bool
	baseline     bool
	noCache      bool
}

func newGateCommand(a *App) *cobra.Command {
	var o gateOptions
	cmd := &cobra.Command{
		Use:   "gate",
		Short: "Ask the gates about the working tree as it is",
		Long: `Ask the gates about the working tree as it is: linters, type checks, tests, secrets and what
the configuration adds. It needs no plan and no run, and changes nothing in the tree.

What changed is what differs from the base, with files that git does not know yet. The base is
the merge base with --base, or with the branch that everybody's work goes to; without one it is
the last commit. --all looks at the whole tree.

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
	f.StringSliceVar(&o.only, "only", nil, "names of the gates to ask; lint stands for all of lint:*")
	f.BoolVar(&o.json, "json", false, "print one JSON object")
	f.BoolVar(&o.baseline, "baseline", false, "ask a gate that fails about the base as well: what failed there too is shown and does not block (on with --base)")
	f.BoolVar(&o.noCache, "no-cache", false, "ask each gate, although it has looked at this tree before")
	f.StringVar(&o.sarif, "sarif", "", "write a SARIF 2.1.0 log to this file")
	f.StringVar(&o.junit, "junit", "", "write JUnit XML to this file")
	f.BoolVar(&o.github, "github", false, "print annotations for GitHub, and write the summary of the workflow's step")
	f.BoolVar(&o.list, "list", false, "list the gates that would run, and stop")
	f.BoolVar(&o.requireTests, "require-tests", false, "a project without tests fails instead of being skipped")
	f.StringVar(&o.trust, "trust-config", "", "digest of the repository's configuration, to trust it unasked")
	return cmd
}

// inspection is one look of "runplan gate" at the working tree.
type inspection struct {
	app      *App
	project  *project
	self     string // this program
	reaper   *proc.Reaper
	store    cache.Store
	around   string // what all gates' answers follow from, besides the tree
	options  gateOptions
	settings gates.Settings
	gates    []gates.Gate
	subject  gates.Subject
	from     comparison
	tree     chan written // the working tree, as git writes it
	forget   string       // a temporary folder of logs that nobody needs
}

// written is the working tree as a tree, and what it is compared with, or why that is not known.
type written struct {
	hash      string
	err       error
	from      comparison
	unrelated error
}

func (a *App) gate(ctx context.Context, o gateOptions) error {
	p, err := a.openProject(ctx)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return fail(exitCannotRun, fmt.Errorf("find runplan's own program: %w", err), "")
	}
	var reaper *proc.Reaper
	if !o.list { // which runs nothing
		if err := a.trustConfig(p, o.trust); err != nil {
			return err
		}
		if reaper, err = startReaper(self); err != nil {
			return fail(exitCannotRun, fmt.Errorf("start the process that ends runplan's children should it be killed: %w", err), "")
		}
		defer reaper.Close()
	}
	// Git looks at the tree while the gates are made; to wait for both is what a look at an unchanged tree costs.
	tree := make(chan written, 1)
	if !o.list {
		go func() {
			var w written
			var group sync.WaitGroup
			group.Go(func() { w.from, w.unrelated = compareWith(ctx, p.repo, o.base) })
			w.hash, w.err = p.repo.WorkingTree(ctx)
			group.Wait()
			tree <- w
		}()
		defer func() { <-tree }() // git is not left behind
	}
	settings, done, err := a.gateSuite(ctx, p, self, o.requireTests, reaper, func(gate string) bool {
		return len(o.only) == 0 || slices.Contains(o.only, gate)
	})
	if err != nil {
		return err
	}
	defer done()
	x := &inspection{app: a, project: p, self: self, options: o, settings: settings, reaper: reaper, tree: tree}
	x.settings.Affected = !o.all
	if x.gates, err = chosenGates(suite.All(p.repo.Root, x.settings), o.only); err != nil {
		return err
	}
	if o.list {
		return x.list()
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	return x.look(ctx)
}

// chosenGates keeps the gates that --only names.
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
		err := fmt.Errorf("there is no gate %q here", ui.Sanitize(word))
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

// list shows the gates without running anything.
func (x *inspection) list() error {
	infos := make([]gates.Info, 0, len(x.gates))
	for _, g := range x.gates {
		infos = append(infos, g.Info())
	}
	slices.SortStableFunc(infos, func(a, b gates.Info) int { return cmp.Compare(a.Cost, b.Cost) })
	if x.options.json {
		return asJSON(x.app.Stdout, infos)
	}
	var rows [][]string
	for _, i := range infos {
		blocks := map[bool]string{true: "blocks", false: "warns"}[i.Blocking]
		rows = append(rows, []string{i.Name, string(i.Kind), i.Cost.String(), blocks, ui.Cut(ui.Sanitize(i.Command), 100, "…")})
	}
	return table(x.app.Stdout, []string{"gate", "kind", "cost", "failure", "command"}, rows)
}

// look asks the gates and shows what they say.
func (x *inspection) look(ctx context.Context) error {
	defer func() {
		if x.forget != "" {
			os.RemoveAll(x.forget)
		}
	}()
	if err := x.prepare(ctx); err != nil {
		return err
	}
	list, err := x.cached(ctx)
	if err != nil {
		return err
	}
	if b := x.baseline(); b != nil {
		defer func() {
			if err := b.Close(ctx); err != nil {
				fmt.Fprintf(x.app.Stderr, "warning: %v\n", err)
			}
		}()
		list = b.Around(list)
	}
	verdict, blind, err := gates.RunAll(ctx, list, x.subject, func(r gates.Report) {
		if !x.options.json && r.Command != "" { // what may take its time
			fmt.Fprintf(x.app.Stderr, "%s: %s\n", r.Gate, r.Status)
		}
	})
	if ctx.Err() != nil {
		return fail(exitInterrupted, errors.New("interrupted; the gates have not all looked"), "")
	}
	if err != nil {
		return fail(exitCannotRun, err, "")
	}
	if x.forget != "" && verdict.OK() {
		for i := range verdict.Reports {
			verdict.Reports[i].Log, verdict.Reports[i].LogHash = "", ""
		}
	} else {
		x.forget = "" // the report names the logs
	}
	if err := x.show(verdict); err != nil {
		return err
	}
	if err := x.export(report.Run{Version: version(), Verdict: verdict, Base: x.subject.Base}); err != nil {
		return err
	}
	return outcomeOf(verdict, blind)
}

// outcomeOf turns a verdict into the exit status.
func outcomeOf(v gates.Verdict, blind []*gates.GateError) error {
	if len(blind) > 0 {
		return fail(exitCannotRun, blind[0], "it is neither a pass nor a failure; put it right, or leave the gate out: [gates] disable")
	}
	if v.OK() {
		return nil
	}
	n := len(v.Blocking())
	return fail(exitFailed, fmt.Errorf("%d %s", n, map[bool]string{true: "finding blocks", false: "findings block"}[n == 1]), "")
}

// comparison says what the working tree is compared with.
type comparison struct {
	Commit string // "" before the first commit
	Tree   string // the empty tree where there is no commit
	Why    string // for people
}

// prepare finds out what changed, and makes room for logs.
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
	x.from = tree.from
	if tree.err != nil {
		return fail(exitCannotRun, tree.err, "")
	}
	hide := redact.New(x.app.Environ)
	x.subject = gates.Subject{
		Dir: repo.Root, Base: x.from.Commit, Tree: tree.hash, Env: x.app.Environ, Timeout: time.Duration(x.project.config.Gates.Timeout),
		LogDir: logs.dir, Reaper: x.reaper, Redact: hide.String, Diff: gates.GitDiff(repo, x.from.Tree, tree.hash),
	}
	if x.options.all {
		return x.wholeTree(ctx)
	}
	changes, err := x.subject.Diff.Changes(ctx)
	if err != nil {
		return fail(exitCannotRun, err, "")
	}
	x.subject.Changed = []string{} // nothing is not the same as not known
	for _, c := range changes {
		x.subject.Changed = append(x.subject.Changed, c.Path)
	}
	return nil
}

// wholeTree shows everything as new, but to the gates that compare with what was there before.
func (x *inspection) wholeTree(ctx context.Context) error {
	empty, err := x.project.repo.EmptyTree(ctx)
	if err != nil {
		return fail(exitCannotRun, err, "")
	}
	change := x.subject.Diff
	x.subject.Diff = gates.GitDiff(x.project.repo, empty, x.subject.Tree)
	for i, g := range x.gates {
		if g.Info().Compares {
			x.gates[i] = gates.Seeing(g, change)
		}
	}
	return nil
}

// compareWith finds the commit that the working tree is compared with.
func compareWith(ctx context.Context, repo *git.Repo, given string) (comparison, error) {
	head, branch, err := repo.Head(ctx)
	if err != nil && !errors.Is(err, git.ErrNoCommits) {
		return comparison{}, fail(exitCannotRun, err, "")
	}
	if head == "" && given == "" {
		empty, err := repo.EmptyTree(ctx)
		return comparison{Tree: empty, Why: "nothing, since there is no commit yet"}, err
	}
	name, commit := given, ""
	if given != "" {
		if strings.HasPrefix(given, "-") {
			return comparison{}, usage(fmt.Errorf("%q is no commit", ui.Sanitize(given)), "")
		}
		commit, err = repo.Resolve(ctx, given)
		if err != nil || commit == "" {
			return comparison{}, usage(fmt.Errorf("there is no commit or branch %q to compare with", ui.Sanitize(given)),
				"a branch of a remote has to be fetched first; in CI, a shallow clone may lack it")
		}
	} else if name, commit, err = repo.Upstream(ctx, branch); err != nil {
		return comparison{}, fail(exitCannotRun, err, "")
	}
	c := comparison{Commit: head, Why: "the last commit"}
	if commit != "" && head != "" {
		common, err := repo.MergeBase(ctx, commit, head)
		switch {
		case err != nil:
			return comparison{}, fail(exitCannotRun, err, "")
		case common == "" && given != "":
			c = comparison{Commit: commit, Why: name + ", which has no history in common with the checkout"}
		case common != "" && common != head:
			c = comparison{Commit: common, Why: "where it left " + name}
		case given != "":
			c.Why = name
		}
	} else if commit != "" {
		c = comparison{Commit: commit, Why: name}
	}
	if c.Tree, err = repo.TreeOf(ctx, c.Commit); err != nil {
		return comparison{}, fail(exitCannotRun, err, "")
	}
	return c, nil
}

type logFolder struct {
	dir       string
	temporary bool
}

// logs makes a folder for what gates print: under .runplan where there is one that can be written to, else a temporary
// one. Nothing else may appear in the tree.
func (x *inspection) logs() (logFolder, error) {
	l := x.project.layout
	if _, err := os.Stat(l.Root); err == nil && l.Make() == nil {
		parent := filepath.Join(l.Root, "logs", "gate")
		if os.MkdirAll(parent, 0o755) == nil {
			prune(parent)
			if dir, err := os.MkdirTemp(parent, time.Now().UTC().Format("20060102-150405-")); err == nil {
				return logFolder{dir: dir}, nil
			}
		}
	}
	dir, err := os.MkdirTemp("", "runplan-gate-")
	if err != nil {
		return logFolder{}, fail(exitCannotRun, fmt.Errorf("make a folder for logs: %w", err), "")
	}
	return logFolder{dir, true}, nil
}

// keptLogs is how many looks keep their logs.
const keptLogs = 20

// prune removes the oldest logs. One that cannot be removed is no reason not to look.
func prune(parent string) {
	entries, err := os.ReadDir(parent) // sorted by name, which begins with the time
	if err != nil {
		return
	}
	for _, e := range entries[:max(0, len(entries)-keptLogs)] {
		os.RemoveAll(filepath.Join(parent, e.Name()))
	}
}

// gateResult is what --json prints.
type gateResult struct {
	Verdict gates.Status     `json:"verdict"`
	Base    string           `json:"base,omitempty"`
	Tree    string           `json:"tree"`
	Changed int              `json:"changed"`
	Tests   *gates.TestCount `json:"tests,omitempty"`
	Reports []gates.Report   `json:"reports"`
}

func (x *inspection) show(v gates.Verdict) error {
	if x.options.json {
		return asJSON(x.app.Stdout, gateResult{v.Status, x.subject.Base, x.subject.Tree, len(x.subject.Changed), v.Tests(), v.Reports})
	}
	return x.print(x.app.Stdout, v)
}

// export writes what other programs read.
func (x *inspection) export(r report.Run) error {
	to := func(file string, flags int, write func(io.Writer, report.Run) error) error {
		if file == "" {
			return nil
		}
		f, err := os.OpenFile(file, flags|os.O_CREATE|os.O_WRONLY, 0o644)
		if err == nil {
			err = write(f, r)
			if cerr := f.Close(); err == nil {
				err = cerr
			}
		}
		if err != nil {
			return fail(exitCannotRun, fmt.Errorf("write the report: %w", err), "")
		}
		return nil
	}
	if err := to(x.options.sarif, os.O_TRUNC, report.SARIF); err != nil {
		return err
	}
	if err := to(x.options.junit, os.O_TRUNC, report.JUnit); err != nil {
		return err
	}
	if !x.options.github {
		return nil
	}
	out := x.app.Stdout
	if x.options.json {
		out = x.app.Stderr // standard output holds one object; GitHub reads both
	}
	if err := report.GitHub(out, r); err != nil {
		return err
	}
	page, _ := x.app.Getenv("GITHUB_STEP_SUMMARY")
	return to(page, os.O_APPEND, report.Summary)
}

// print shows a table of the gates, and then what they found.
func (x *inspection) print(w io.Writer, v gates.Verdict) error {
	var rows [][]string
	for _, r := range v.Reports {
		tests := ""
		if t := r.Tests; t != nil {
			tests = fmt.Sprintf("%d passed, %d failed, %d skipped", t.Passed, t.Failed, t.Skipped)
		}
		rows = append(rows, []string{r.Gate, string(r.Status), tests, ui.Duration(r.Duration), ui.Cut(ui.Sanitize(r.Note), 160, "…")})
	}
	if err := table(w, []string{"gate", "status", "tests", ">time", "note"}, rows); err != nil {
		return err
	}
	if lines := findingLines(v.Reports); len(lines) > 0 {
		fmt.Fprintf(w, "\n%s\n", strings.Join(lines, "\n"))
	}
	for _, r := range v.Reports {
		if (r.Status == gates.Fail || r.Status == gates.Errored) && r.Log != "" {
			log := r.Log
			if rel := x.project.rel(log); filepath.IsLocal(rel) {
				log = rel
			}
			fmt.Fprintf(w, "\nlog of %s: %s", r.Gate, log)
		}
	}
	what := fmt.Sprintf("%d changed %s", len(x.subject.Changed), map[bool]string{true: "file", false: "files"}[len(x.subject.Changed) == 1])
	if x.options.all {
		what = "the whole tree"
	}
	against := x.from.Why
	if x.from.Commit != "" {
		against = fmt.Sprintf("%s, %s", short(x.from.Commit), against)
	}
	_, err := fmt.Fprintf(w, "\n%s: %s, compared with %s\n", v.Status, what, ui.Sanitize(against))
	return err
}

func short(commit string) string { return commit[:min(len(commit), 10)] }

// findingLines shows findings as compilers do, sorted by place.
func findingLines(reports []gates.Report) []string {
	var all []gates.Finding
	for _, r := range reports {
		if r.Status == gates.Skipped {
			continue
		}
		for _, f := range r.Findings {
			if f.Path == "" {
				f.Path = "(" + r.Gate + ")"
			}
			all = append(all, f)
		}
	}
	slices.SortStableFunc(all, func(a, b gates.Finding) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col), cmp.Compare(a.Rule, b.Rule))
	})
	var lines []string
	for _, f := range all {
		at := f.Path
		if f.Line > 0 {
			at += fmt.Sprintf(":%d", f.Line)
			if f.Col > 0 {
				at += fmt.Sprintf(":%d", f.Col)
			}
		}
		severity := string(f.Severity)
		if f.Known {
			severity = "known"
		}
		lines = append(lines, fmt.Sprintf("%s: %s %s: %s", ui.Sanitize(at), severity, ui.Sanitize(f.Rule), ui.Sanitize(f.Message)))
		if f.Fix != "" {
			lines = append(lines, "    fix: "+ui.Sanitize(f.Fix))
		}
	}
	return lines
}
