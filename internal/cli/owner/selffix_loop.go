package owner

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/runplan/runplan/feedback"
	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/models"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/internal/prompt"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/llm"
	"github.com/runplan/runplan/runner/failures"
	"github.com/runplan/runplan/runner/local"
	"github.com/runplan/runplan/trust"
)

// Types of the loop's calls in the log of calls.
const (
	triageCall = "self_fix_triage"
	draftCall  = "self_fix_plan"
)

// selfFix holds the feedback loop and its parts for one process.
type selfFix struct {
	app     *cli.App
	project *cli.Project
	options selfFixOptions
	self    string
	store   *store.Feedbacks
	reaper  *proc.Reaper
	parts   feedback.Parts
	owner   feedback.Owner
	prompts prompt.Set // for models; the project's prompts override the built-in ones
	driver  *feedback.Driver
}

func (l *selfFix) Close() {
	l.reaper.Close()
	l.store.Close()
}

// openLoop builds the loop for a repository.
func openLoop(ctx context.Context, a *cli.App, p *cli.Project, o selfFixOptions) (*selfFix, error) {
	self, err := cli.Self()
	if err != nil {
		return nil, err
	}
	if err := p.Layout.Make(); err != nil {
		return nil, cli.Fail(cli.ExitCannotRun, err, "")
	}
	p.Repo.AllowPrograms() // the loop commits, fetches and pushes
	l := &selfFix{app: a, project: p, options: o, self: self}
	if l.prompts, err = feedback.LoadPrompts(p.Prompts()); err != nil {
		return nil, cli.Usage(err, "correct the project's prompts, or remove them")
	}
	// The repository must not override what the owner is asked to sign.
	own, err := feedback.LoadPrompts()
	if err != nil {
		return nil, err
	}
	acks, err := trust.LoadPrompts()
	if err != nil {
		return nil, err
	}
	keeper, err := a.Keeper()
	if err != nil {
		return nil, err
	}
	if l.reaper, err = cli.StartReaper(self); err != nil {
		return nil, err
	}
	if l.store, err = store.OpenFeedback(ctx, p.Layout.Feedback()); err != nil {
		l.reaper.Close()
		return nil, err
	}
	hide := a.Redactor(p)
	c := p.Config
	l.owner = feedback.Owner{Keeper: keeper, Prompts: own, Acks: acks, Repo: p.Repo.Root, Plans: p.Layout.SelfFix(),
		Now: time.Now}
	prs := feedback.PRClient{Repo: p.Repo, Env: p.Repo.Env(), Reaper: l.reaper, Redact: hide.String,
		Remote: c.Feedback.Remote, Dir: p.Layout.SelfFix()}
	asker := func(kind string, stage llm.Stage) func(context.Context) (feedback.Asker, error) {
		return func(ctx context.Context) (feedback.Asker, error) {
			return l.asker(ctx, kind, stage)
		}
	}
	attempts, err := models.Attempts(p, 0, cmp.Or(o.agent, c.Feedback.Agent))
	if err != nil {
		l.Close()
		return nil, err
	}
	l.parts = feedback.Parts{
		Store: l.store, Triage: asker(triageCall, llm.Review), Plan: asker(draftCall, llm.ExecutePlan),
		Cost:  feedback.Envelope{Attempts: attempts, MaxUSD: c.Run.MaxCostUSD},
		Owner: l.owner, PRClient: prs, Review: l.review, Now: time.Now,
		Fixer: feedback.Fixer{Repo: p.Repo, Runner: l, Plans: p.Layout.SelfFix(),
			Base: func(ctx context.Context) (feedback.Target, error) { return l.base(ctx, prs) }},
		Differ: feedback.Trees{
			Repo: p.Repo, Tree: l.scratch,
			Subject: gates.Subject{Env: a.Environ, Timeout: time.Duration(c.Gates.Timeout), Redact: hide.String,
				Reaper: l.reaper},
		},
		Memory: feedback.Memory{Store: l.store, Failures: failures.Open(p.Layout.FailurePatterns(), l.warn), Now: time.Now},
		Alarm:  l.alarm, Critique: l.critique,
		Say: func(i feedback.Item, text string) {
			fmt.Fprintf(a.Stderr, "%s: %s: %s\n", i.ID, i.Status, ui.Cut(ui.Sanitize(text), 800, "…"))
		},
	}
	l.driver = feedback.New(l.parts)
	return l, nil
}

func (l *selfFix) warn(text string) {
	fmt.Fprintf(l.app.Stderr, "warning: %s\n", ui.Sanitize(text))
}

// base returns the integration branch, from which a fix starts and into which it is merged.
func (l *selfFix) base(ctx context.Context, f feedback.PRClient) (feedback.Target, error) {
	head, branch, err := l.project.Repo.Head(ctx)
	if err != nil {
		return feedback.Target{}, cli.Usage(err, "make a first commit: git add -A && git commit -m start")
	}
	if want := l.project.Config.Feedback.Base; want != "" && want != branch {
		return feedback.Target{},
			cli.Usage(fmt.Errorf("fixes are made for %s, but %s is checked out", want, cmp.Or(branch, "no branch")),
				"git switch %s; or change feedback.base", want)
	}
	main, err := f.DefaultBranch(ctx)
	if err != nil {
		return feedback.Target{}, err
	}
	t := feedback.Target{Branch: branch, Commit: head, Default: main}
	return t, t.Check()
}

// asker returns a client for a stage that puts the identity documents before each prompt.
func (l *selfFix) asker(ctx context.Context, kind string, stage llm.Stage) (feedback.Asker, error) {
	p := l.project
	model, err := p.Model(ctx, stage)
	if err != nil {
		return feedback.Asker{}, err
	}
	docs, err := p.Identity()
	if err != nil {
		return feedback.Asker{}, err
	}
	c := l.app.Logged(p, llm.New(l.app.ModelOptions(p, l.reaper)), cli.NewTaskID(), kind)
	asked := llm.CompleterFunc(func(ctx context.Context, r llm.Request) (llm.Response, error) {
		res, err := c.Complete(ctx, r)
		if err != nil {
			err = cli.ModelTrouble(ctx, err)
		}
		return res, err
	})
	return feedback.Asker{LLM: asked, Model: model, Prompts: l.prompts, Identity: trust.IdentityText(docs)}, nil
}

// scratch creates a tree of a commit, set up like the workspace of a batch.
func (l *selfFix) scratch(ctx context.Context, commit string) (string, func(), error) {
	p, c := l.project, l.project.Config.Workspace
	b := &local.Baseline{
		Home: l.app.CacheDir(), Environ: l.app.Environ,
		Repo: p.Repo, Layout: p.Layout, Subject: gates.Subject{Base: commit}, Note: l.warn,
		Setup: local.Setup{Copy: c.Copy, Command: c.Setup, Timeout: time.Duration(c.SetupTimeout), Env: l.app.Environ,
			Reaper: l.reaper},
	}
	dir, err := b.Scratch(ctx)
	return dir, func() {
		if err := b.Close(ctx); err != nil {
			l.warn(err.Error())
		}
	}, err
}

// alarm puts an alarm about a failing fix into the owner's inbox, once for each commit. If the inbox cannot be
// written, it warns and continues.
func (l *selfFix) alarm(ctx context.Context, i feedback.Item, c feedback.Checked) error {
	box, err := store.OpenInbox(ctx, trust.InboxFile(l.owner.Keeper.Dir))
	if err != nil {
		l.warn("the alarm is not in the inbox: " + err.Error())
		return nil
	}
	defer box.Close()
	head := fmt.Sprintf("feedback/%s in %s: %s", i.ID, filepath.Base(l.owner.Repo), c.String())
	pending, err := box.Pending(ctx)
	if err == nil {
		for _, p := range pending {
			if p.Repo == l.owner.Repo && p.Body == head {
				return nil
			}
		}
		_, _, err = trust.Enqueue(ctx, box, l.owner.Acks,
			trust.Said{Kind: trust.Critical, Body: head, Channel: "self-fix", Repo: l.owner.Repo, At: time.Now()})
	}
	if err != nil {
		l.warn("the alarm is not in the inbox: " + err.Error())
	}
	return nil
}

// FixOutlets reports where fixes send data: what git fetches and pushes, and what gh receives. Without feedback it
// returns nothing.
func FixOutlets(ctx context.Context, a *cli.App, p *cli.Project) ([]cli.Outlet, error) {
	if _, err := os.Stat(p.Layout.Feedback()); err != nil {
		return nil, nil // there is no feedback to fix
	}
	list, err := a.RemoteOutlet(ctx, p)
	for i := range list {
		list[i].Data, list[i].When = "branches of fixes; through gh the text of their change requests, with the words of "+
			"the "+
			"feedback", "runplan self-fix process"
	}
	return slices.Clip(list), err
}
