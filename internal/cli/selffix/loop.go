package selffix

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/feedback"
	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/control"
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
	project *cli.Project
	options selfFixOptions
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

func openLoop(ctx context.Context, p *cli.Project, o selfFixOptions) (*selfFix, error) {
	if err := p.Layout.Make(); err != nil {
		return nil, err
	}
	p.Repo.AllowPrograms() // the loop commits, fetches and pushes
	l := &selfFix{project: p, options: o}
	var err error
	if l.prompts, err = p.Prompts(feedback.LoadPrompts); err != nil {
		return nil, err
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
	keeper, err := p.Keeper()
	if err != nil {
		return nil, err
	}
	if l.reaper, err = cli.StartReaper(); err != nil {
		return nil, err
	}
	if l.store, err = store.OpenFeedback(ctx, p.Layout.Feedback()); err != nil {
		l.reaper.Close()
		return nil, err
	}
	hide := p.Redactor()
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
		Fixer: feedback.Fixer{Repo: p.Repo, Run: l.run, Plans: p.Layout.SelfFix(),
			Base: func(ctx context.Context) (feedback.Target, error) { return l.base(ctx, prs) }},
		Differ: feedback.Trees{
			Repo: p.Repo, Tree: l.scratch,
			Subject: gates.Subject{Env: p.Environ, Timeout: time.Duration(c.Gates.Timeout), Redact: hide.String,
				Reaper: l.reaper},
		},
		Memory: feedback.Memory{Store: l.store, Failures: failures.Open(p.Layout.FailurePatterns(), p.Warn), Now: time.Now},
		Alarm:  l.alarm, Critique: l.critique,
		Say: func(i feedback.Item, text string) {
			fmt.Fprintf(p.Stderr, "%s: %s: %s\n", i.ID, i.Status, ui.Brief(text, 800))
		},
	}
	l.driver = feedback.New(l.parts)
	return l, nil
}

// base returns the integration branch, from which a fix starts and into which it is merged.
func (l *selfFix) base(ctx context.Context, f feedback.PRClient) (feedback.Target, error) {
	head, branch, err := l.project.Repo.Head(ctx)
	if err != nil {
		return feedback.Target{}, err
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
	c := p.Logged(llm.New(p.ModelOptions(l.reaper)), cli.NewTaskID(), kind)
	return feedback.Asker{LLM: cli.Explained(c), Model: model, Prompts: l.prompts, Identity: trust.IdentityText(docs)}, nil
}

// scratch creates a tree of a commit, set up like the workspace of a batch.
func (l *selfFix) scratch(ctx context.Context, commit string) (string, func(), error) {
	p := l.project
	b := &local.Baseline{
		Home: p.CacheDir(), Environ: p.Environ, Repo: p.Repo, Layout: p.Layout, Subject: gates.Subject{Base: commit},
		Note: p.Warn, Setup: p.WorkspaceSetup(l.reaper),
	}
	dir, _, done, err := b.Lend(ctx, "")
	return dir, done, err
}

// alarm puts an alarm about a failing fix into the owner's inbox, once for each commit. If the inbox cannot be
// written, it warns and continues.
func (l *selfFix) alarm(ctx context.Context, i feedback.Item, c feedback.Checked) error {
	box, err := store.OpenInbox(ctx, trust.InboxFile(l.owner.Keeper.Dir))
	if err != nil {
		l.project.Warn("the alarm is not in the inbox: " + err.Error())
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
		l.project.Warn("the alarm is not in the inbox: " + err.Error())
	}
	return nil
}

// FixOutlets reports where fixes send data: what git fetches and pushes, and what gh receives. Without feedback it
// returns nothing.
func FixOutlets(ctx context.Context, p *cli.Project) ([]cli.Outlet, error) {
	if _, err := os.Stat(p.Layout.Feedback()); err != nil {
		return nil, nil // there is no feedback to fix
	}
	list, err := p.RemoteOutlet(ctx)
	for i := range list {
		list[i].Data, list[i].When = "branches of fixes; through gh the text of their change requests, with the words of "+
			"the feedback", "runplan self-fix process"
	}
	return slices.Clip(list), err
}

func newSelfFixApproveCommand(a *cli.App) *cobra.Command {
	var by trust.Signed
	return a.Command(cli.With{Exits: "0 1 2 5"}, &cobra.Command{
		Use:   "approve ID",
		Short: "Sign for the plan of a large job",
		Long: `Sign for the plan of a large job, as its owner. The signature covers exactly the waiting plan, and is
stored in the audit; another plan of the same feedback needs another signature.`,
		Args: cli.ExactlyOne("the id of a feedback"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return Sign(cmd.Context(), a, strings.TrimPrefix(args[0], "feedback/"), false, by)
		},
	}, func(f *cli.Flags) { cli.SignFlags(f, &by) })
}

// Sign records the owner's decision on the plan of a large job. deny rejects it.
func Sign(ctx context.Context, a *cli.App, id string, deny bool, by trust.Signed) error {
	return withLoop(ctx, a, "an approval", func(l *selfFix) error {
		if deny {
			return l.changed(l.driver.Deny(ctx, l.owner, id, by.Reason, false))
		}
		plan, err := l.driver.Approve(ctx, l.owner, id, by)
		if err != nil {
			return control.FeedbackTrouble(cli.TrustTrouble(err), cli.ExitFailed)
		}
		fmt.Fprintf(a.Stdout, "plan %d of %s is approved. To continue: runplan self-fix process\n", plan.Round,
			plan.FeedbackID)
		return nil
	})
}

func newSelfFixDenyCommand(a *cli.App) *cobra.Command {
	var reason string
	var again bool
	return a.Command(cli.With{Exits: "0 1 2 5"}, &cobra.Command{
		Use:   "deny ID",
		Short: "Deny the plan of a large job",
		Long: `Deny the plan of a large job. The feedback is rejected; with --again another plan is drafted with the
reason as input, at most three in total.`,
		Args: cli.ExactlyOne("the id of a feedback"),
		RunE: onFeedback(a, "a denial", func(ctx context.Context, l *selfFix, id string) (feedback.Item, error) {
			return l.driver.Deny(ctx, l.owner, id, reason, again)
		}),
	}, func(f *cli.Flags) {
		f.StringVar(&reason, "reason", "", "why")
		f.BoolVar(&again, "again", false, "have another plan drafted")
	})
}

func newSelfFixRecordCommand(a *cli.App) *cobra.Command {
	var pr string
	return a.Command(cli.With{Exits: "0 1 2 5"}, &cobra.Command{
		Use:   "record ID --pr URL",
		Short: "Record a change request that was opened by hand",
		Long: "Record the address of a fix's change request that was opened by hand. It is then watched like those that " +
			"runplan opened.",
		Args: cli.ExactlyOne("the id of a feedback"),
		RunE: onFeedback(a, "recording", func(ctx context.Context, l *selfFix, id string) (feedback.Item, error) {
			return l.driver.RecordPR(ctx, id, pr)
		}),
	}, func(f *cli.Flags) { f.StringVar(&pr, "pr", "", "address of the change request") })
}

func newSelfFixCloseCommand(a *cli.App) *cobra.Command {
	var reason string
	return a.Command(cli.With{Exits: "0 1 2 5"}, &cobra.Command{
		Use:   "close ID --reason WHY",
		Short: "Close a feedback that was rejected or is no longer wanted",
		Long: `Close a feedback that was rejected or is no longer wanted. Its history stays. An existing branch and
change request stay too. Only its regression test closes a merged fix.`,
		Args: cli.ExactlyOne("the id of a feedback"),
		RunE: onFeedback(a, "closing a feedback", func(ctx context.Context, l *selfFix, id string) (feedback.Item, error) {
			return l.driver.Close(ctx, l.owner, id, reason)
		}),
	}, func(f *cli.Flags) { f.StringVar(&reason, "reason", "", "why") })
}

func (l *selfFix) changed(i feedback.Item, err error) error {
	if err != nil {
		return control.FeedbackTrouble(err, cli.ExitFailed)
	}
	fmt.Fprintf(l.project.Stdout, "%s: %s\n", i.ID, i.Status)
	return nil
}

// onFeedback returns the RunE function of a command that changes one feedback.
func onFeedback(a *cli.App, what string,
	do func(ctx context.Context, l *selfFix, id string) (feedback.Item, error)) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		return withLoop(cmd.Context(), a, what, func(l *selfFix) error {
			return l.changed(do(cmd.Context(), l, strings.TrimPrefix(args[0], "feedback/")))
		})
	}
}

// withLoop opens the loop and calls a function with it, on behalf of a person.
func withLoop(ctx context.Context, a *cli.App, what string, do func(*selfFix) error) error {
	if err := a.NotAnAgent(what); err != nil {
		return err
	}
	p, err := a.OpenProject(ctx)
	if err != nil {
		return err
	}
	if _, err := os.Stat(p.Layout.Feedback()); errors.Is(err, fs.ErrNotExist) {
		return cli.Usage(store.ErrNoFeedback, "runplan feedback TEXT adds one")
	}
	l, err := openLoop(ctx, p, selfFixOptions{})
	if err != nil {
		return err
	}
	defer l.Close()
	return do(l)
}
