package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/runplan/runplan/gates/testcode"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/runner/journal"
	"github.com/runplan/runplan/runner/report"
	"github.com/runplan/runplan/runner/trace"
)

// meaning is one possible interpretation of WHAT. find reports whether such a thing exists, and what it is linked to.
type meaning struct {
	prefix string
	find   func(context.Context, string) (answer *trace.Answer, run string, err error)
}

func (t *tracing) meanings() []meaning {
	return []meaning{
		{"run", t.asRun}, {"line", t.asLine}, {"commit", t.asCommit}, {"req", t.asRequirement}, {"task", t.asTask},
		{"test", t.asTest},
	}
}

// trace finds the interpretation of WHAT and prints the answer.
func (t *tracing) trace(ctx context.Context, what string) error {
	all := t.meanings()
	if prefix, rest, ok := strings.Cut(what, ":"); ok {
		if i := slices.IndexFunc(all, func(m meaning) bool { return m.prefix == prefix }); i >= 0 {
			all, what = all[i:i+1], strings.TrimSpace(rest)
		}
	}
	if what == "" {
		return cli.Usage(errors.New("WHAT is empty"), "see: runplan trace --help")
	}
	var answers []*trace.Answer
	var found []string
	run := ""
	for _, m := range all {
		a, r, err := m.find(ctx, what)
		if err != nil {
			return err
		}
		if a != nil || r != "" {
			answers, found, run = append(answers, a), append(found, m.prefix+":"+what), r
		}
	}
	switch {
	case len(found) == 0:
		hint := "runplan trace --help lists the forms, runplan trace the names of the newest run"
		if command := t.ahead(ctx, what); command != "" {
			hint = "the run branch has another version of the file: " + command
		}
		return cli.Usage(fmt.Errorf("%s: not a known run, line, commit, requirement, task or test", what), "%s", hint)
	case len(found) > 1:
		return cli.Usage(fmt.Errorf("%s has %d meanings", what, len(found)), "write one of: %s", strings.Join(found, ", "))
	case answers[0] == nil:
		return t.forward(ctx, run)
	}
	if !answers[0].Made {
		if command := t.ahead(ctx, what); command != "" {
			fmt.Fprintln(t.project.Stderr, "note: the run branch has another version of the file:", command)
		}
	}
	return t.show(answers[0])
}

// ahead returns the command that traces WHAT, a file or a line of it, on the branch of a run that is not merged and
// has another version of the file than the checked-out commit; "" if there is none.
func (t *tracing) ahead(ctx context.Context, what string) string {
	name, line, _ := strings.Cut(what, ":")
	file := t.project.PlanPath(name)
	if filepath.IsAbs(file) || t.options.at != "" {
		return ""
	}
	blob := func(commit string) string {
		id, _ := t.project.Repo.Run(ctx, "rev-parse", "--verify", "--quiet", commit+":"+file)
		return id
	}
	now := blob("HEAD")
	for _, run := range t.runs[:min(len(t.runs), mostAhead)] {
		branch := journal.RunBranch(run.Slug)
		if id := blob("refs/heads/" + branch); id == "" || id == now {
			continue
		}
		if _, err := t.project.Repo.Run(ctx, "merge-base", "--is-ancestor", "refs/heads/"+branch, "HEAD"); err != nil {
			return "runplan trace " + cli.Word(name+":"+cmp.Or(line, "1")) + " --at " + branch
		}
	}
	return ""
}

// mostAhead limits the runs whose branches are searched for a file, newest first.
const mostAhead = 20

// show prints an answer. If no run made the thing, it says so and returns a failure.
func (t *tracing) show(a *trace.Answer) error {
	out := t.project.Hiding()
	var err error
	switch {
	case t.project.JSON:
		err = cli.AsJSON(out, a)
	case t.options.html:
		return cli.Usage(errors.New("--html shows a whole run"),
			"runplan trace --html; or for this question --json or --markdown")
	case t.options.markdown:
		_, err = fmt.Fprint(out, report.AnswerMarkdown(a))
	default:
		style, width := t.project.Display()
		err = report.Answer(out, a, style, width)
	}
	if err == nil && !a.Made {
		err = cli.Fail(cli.ExitFailed, errors.New(""), "")
	}
	return err
}

func (t *tracing) asRun(_ context.Context, what string) (*trace.Answer, string, error) {
	run, err := t.find(what)
	if err != nil {
		return nil, "", nil
	}
	return nil, run, nil
}

// asLine finds the commit that a line comes from.
func (t *tracing) asLine(ctx context.Context, what string) (*trace.Answer, string, error) {
	m := regexp.MustCompile(`^(.+):([1-9][0-9]{0,8})$`).FindStringSubmatch(what)
	if m == nil {
		return nil, "", nil
	}
	file, rev, err := t.file(ctx, m[1])
	if file == "" || err != nil {
		return nil, "", err
	}
	n, _ := strconv.Atoi(m[2])
	line, commit, err := trace.Blame(ctx, t.project.Repo, rev, file, n)
	if errors.Is(err, trace.ErrNotCommitted) {
		a := trace.NoRun(what, "line", "the line is not committed yet")
		a.Line = &line
		return a, "", nil
	}
	if err != nil {
		return nil, "", cli.Usage(err, "give an existing line of a file that git tracks")
	}
	a, err := t.ofCommit(ctx, what, "line", file, commit)
	if a != nil {
		a.Line = &line
	}
	return a, "", err
}

// file finds a file of the checkout, or of --at. It returns the path in the repository, or "" if there is none.
func (t *tracing) file(ctx context.Context, name string) (file, rev string, err error) {
	if file = t.project.PlanPath(name); filepath.IsAbs(file) {
		return "", "", nil
	}
	if t.options.at == "" {
		if info, err := os.Stat(filepath.Join(t.project.Repo.Root, filepath.FromSlash(file))); err != nil || info.IsDir() {
			return "", "", nil
		}
		return file, "", nil
	}
	if rev, err = t.project.Repo.Resolve(ctx, t.options.at); err != nil || rev == "" {
		return "", "", cli.Usage(fmt.Errorf("--at %s: commit not found", t.options.at), "give a hash, a branch or a tag")
	}
	return file, rev, nil
}

// asCommit finds a commit. It ignores words of less than four characters, so that names such as 1.2 or US1 are not
// looked up.
func (t *tracing) asCommit(ctx context.Context, what string) (*trace.Answer, string, error) {
	if len(what) < 4 || strings.HasPrefix(what, "-") || strings.ContainsAny(what, " \t\n") {
		return nil, "", nil
	}
	hash, err := t.project.Repo.Resolve(ctx, what)
	if err != nil || hash == "" {
		return nil, "", nil // git gives the same error for invalid names
	}
	commit, err := trace.ReadCommit(ctx, t.project.Repo, hash)
	if err != nil {
		return nil, "", err
	}
	a, err := t.ofCommit(ctx, what, "commit", "", commit)
	return a, "", err
}

// ofCommit traces a commit: by the trailers of its message, else by the commits that the journal records.
func (t *tracing) ofCommit(ctx context.Context, what, kind, file string, c trace.Authored) (*trace.Answer, error) {
	parts := trace.Parts(c.Message)
	if len(parts) == 0 {
		parts = t.recorded(ctx, c.Hash)
	}
	none := trace.NoRun(what, kind, "no run created it")
	none.Commit = &c
	if len(parts) == 0 {
		return none, nil
	}
	for _, run := range t.runs {
		if !slices.ContainsFunc(parts, func(p trace.Part) bool { return p.Run == run.ID }) {
			continue
		}
		r, err := t.report(ctx, run.ID, false)
		if err != nil {
			return nil, err
		}
		if a := r.OfBatches(what, kind, file, parts); len(a.Batches) > 0 {
			a.Commit = &c
			return &a, nil
		}
	}
	none.Made, none.Parts = true, parts
	none.Note = "its message names a run that the journal here does not have"
	return none, nil
}

// recorded searches a commit among the commits that runs merged. A hook may have removed the trailers from its
// message.
func (t *tracing) recorded(ctx context.Context, hash string) []trace.Part {
	for _, run := range t.runs {
		read, err := readRun(ctx, t.journal, run.ID)
		if err != nil {
			continue // written by another version of runplan
		}
		for _, b := range read.Summary.Batches {
			if b.Commit == hash && b.State == "merged" && hash != read.Info.Base {
				return []trace.Part{{Run: run.ID, Batch: b.Key}}
			}
		}
	}
	return nil
}

// each calls f with the report of the newest run of each plan, or of --run, until f returns true.
func (t *tracing) each(ctx context.Context, f func(*trace.Report) bool) error {
	if t.options.run != "" {
		run, err := t.find(t.options.run)
		if err != nil {
			return err
		}
		r, err := t.report(ctx, run, true)
		if err == nil {
			f(r)
		}
		return err
	}
	seen := map[string]bool{}
	for _, run := range t.runs {
		if seen[run.Plan] {
			continue
		}
		seen[run.Plan] = true
		r, err := t.report(ctx, run.ID, true)
		if err != nil {
			return err
		}
		if f(r) {
			return nil
		}
	}
	return nil
}

func (t *tracing) asRequirement(ctx context.Context, what string) (*trace.Answer, string, error) {
	answer, err := t.first(ctx, func(r *trace.Report) (trace.Answer, bool) { return r.OfRequirement(what) })
	return answer, "", err
}

// first returns the first answer that [tracing.each] finds.
func (t *tracing) first(ctx context.Context, find func(*trace.Report) (trace.Answer, bool)) (answer *trace.Answer,
	err error) {
	err = t.each(ctx, func(r *trace.Report) bool {
		a, ok := find(r)
		if ok {
			answer = &a
		}
		return ok
	})
	return answer, err
}

func (t *tracing) asTask(ctx context.Context, what string) (answer *trace.Answer, _ string, err error) {
	var several []string
	err = t.each(ctx, func(r *trace.Report) bool {
		a, found := r.OfTask(what)
		if len(found) == 0 {
			return false
		}
		answer = &a
		for _, f := range found {
			several = append(several, "task:"+f.Name)
		}
		return true
	})
	if len(several) > 1 {
		return nil, "", cli.Usage(fmt.Errorf("%d tasks have the number %s", len(several), what), "write one of: %s",
			strings.Join(several, ", "))
	}
	return answer, "", err
}

// asTest finds the batch that added a test. Otherwise it finds the file and line of a test with that name.
func (t *tracing) asTest(ctx context.Context, what string) (*trace.Answer, string, error) {
	answer, err := t.first(ctx, func(r *trace.Report) (trace.Answer, bool) { return r.OfTest(what) })
	if answer != nil || err != nil || len(what) < 4 {
		return answer, "", err
	}
	head, _, err := t.project.Repo.Head(ctx)
	if err != nil {
		return nil, "", nil
	}
	var places []git.Hit
	err = t.project.Repo.Grep(ctx, head, []string{what}, func(h git.Hit) {
		if language.IsTest(h.Path) && strings.Contains(h.Text, what) {
			places = append(places, h)
		}
	})
	if err != nil {
		return nil, "", nil // a partial clone lacks some files
	}
	for _, h := range places {
		src, err := t.project.Repo.Run(ctx, "show", head+":"+h.Path)
		if err != nil {
			continue
		}
		if _, ok := testcode.Read(h.Path, src).Find(what); !ok {
			continue
		}
		line, commit, err := trace.Blame(ctx, t.project.Repo, head, h.Path, h.Line)
		if err != nil {
			return nil, "", err
		}
		a, err := t.ofCommit(ctx, what, "test", h.Path, commit)
		if a != nil {
			a.Line = &line
		}
		return a, "", err
	}
	return nil, "", nil
}
