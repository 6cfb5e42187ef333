package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/local"
	"github.com/runplan/runplan/trust"
)

// waitingItem is one entry of runplan approve --json.
type waitingItem struct {
	runner.Approval
	Plan     string `json:"plan"`
	Branch   string `json:"branch"`
	Live     bool   `json:"live"`               // the run is still running
	Answered string `json:"answered,omitempty"` // given or denied; the run has not read the answer yet

	Checkpoints []planparse.Checkpoint `json:"checkpoints,omitempty"` // of the plan, subject of the question
}

func newApproveCommand(a *App) *cobra.Command {
	var deny, asJSONFlag bool
	var by trust.Signed
	cmd := &cobra.Command{
		Use:   "approve [ID]",
		Short: "Approve what a run waits for, or list what waits",
		Long: `List what waits for a person, over all runs and all feedback of the repository; or agree to the one that is
named, or with --deny do not. The id of a run's question may be cut short as long as it is clear.

A batch waits once its gates are green, if the plan says "approve: true" of it, if a checkpoint of the plan follows
it, or if its review leaves it to a person. What is merged is the very tree that was approved: if the run branch
has moved meanwhile, the run asks again. A denial is a failure of the batch, and the reason stands in the brief of
the next attempt.

A run waits before it lands if the final review is below the owner's bar; then the owner signs. So does the plan of
a feedback that is a large job: approve feedback/ID is self-fix approve ID.

An active run continues by itself; one that has stopped (exit status 3) with runplan resume.` + exitStatus(exitOK, exitFailed, exitUsage, exitCannotRun),
		Example: `  runplan approve
  runplan approve 1f0c2a7b/2
  runplan approve 1f0c2a7b/2 --deny --reason "the old endpoint has to stay"`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := a.openProject(cmd.Context())
			if err != nil {
				return err
			}
			if len(args) == 0 {
				if deny || by != (trust.Signed{}) {
					return usage(errors.New("which one?"), "runplan approve lists what waits; name one by its id")
				}
				return a.listWaiting(cmd.Context(), p, asJSONFlag)
			}
			if err := a.notAnAgent("an approval"); err != nil {
				return err
			}
			if deny && strings.TrimSpace(by.Reason) == "" {
				return usage(errors.New("--deny needs a reason: the next attempt gets it"), "say what must change: --reason TEXT")
			}
			if id, ok := strings.CutPrefix(args[0], "feedback/"); ok {
				return a.signFeedback(cmd.Context(), id, deny, by)
			}
			return a.answer(cmd, p, args[0], deny, by)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&deny, "deny", false, "deny; needs --reason")
	f.StringVar(&by.Reason, "reason", "", "why")
	f.StringVar(&by.Name, "signature", "", "the owner's name, if the owner must sign")
	f.BoolVar(&asJSONFlag, "json", false, "print a JSON array of what waits")
	return cmd
}

// waiting lists the open approvals of the runs in the repository, newest run first.
func (a *App) waiting(ctx context.Context, p *project) ([]waitingItem, error) {
	out := []waitingItem{}
	sums, err := p.summaries(ctx, runner.Filter{})
	if err != nil || !slices.ContainsFunc(sums, func(s runner.Summary) bool { return len(s.Waiting) > 0 }) {
		return out, err
	}
	p.lookAlive(sums)
	j, err := p.openJournal(ctx)
	if err != nil {
		return nil, err
	}
	defer j.Close()
	_ = a.signed(j) // a sandbox hides the key, and this function only lists
	for _, s := range sums {
		if len(s.Waiting) == 0 || s.Status.Over() {
			continue
		}
		unheard, err := local.Unheard(ctx, j, s.Run)
		if err != nil {
			return nil, err
		}
		plan := planOf(ctx, j, p.layout, s)
		for _, w := range s.Waiting {
			item := waitingItem{Approval: w, Plan: s.Plan, Branch: s.Branch, Live: s.Status.Live()}
			if w.Batch != "" {
				item.Checkpoints = plan.Asked(w.Batch)
			}
			for _, ev := range unheard {
				if ev.Command == w.Command && ev.Commit == w.Commit && ev.Tree == w.Tree {
					item.Answered = map[bool]string{true: "given", false: "denied"}[ev.Kind == runner.ApprovalGiven]
				}
			}
			out = append(out, item)
		}
	}
	return out, nil
}

// planOf returns the plan of a run as the journal stores it, or an empty plan on failure, because a question can be
// answered without the plan.
func planOf(ctx context.Context, j *store.Journal, l local.Layout, s runner.Summary) *planparse.Plan {
	if text, _, err := local.PlanText(ctx, j, l, s.Run); err == nil {
		if plan, err := planparse.Parse(s.Plan, text); err == nil {
			plan.Rename(s.Keys)
			return plan
		}
	}
	return &planparse.Plan{}
}

// checkpointLines describes what a person has to check before a batch is merged.
func checkpointLines(batch string, list []planparse.Checkpoint) []string {
	var lines []string
	for _, c := range list {
		lines = append(lines, fmt.Sprintf("before batch %s is merged, %s of the plan asks (line %d):", ui.Sanitize(batch),
			strings.TrimSpace("checkpoint "+ui.Sanitize(c.Kind)), c.Line))
		for line := range strings.SplitSeq(c.Text, "\n") {
			lines = append(lines, "  "+ui.Sanitize(redact.Clean(line)))
		}
	}
	return lines
}

// what names what waits, in a few words.
func (w waitingItem) what() string {
	switch {
	case w.Kind == approveLargeJob:
		return "large job: " + ui.Sanitize(ui.Cut(w.Title, 40, "…"))
	case w.Batch != "":
		return ui.Sanitize(fmt.Sprintf("batch %s: %s", w.Number, ui.Cut(w.Title, 40, "…")))
	}
	return "landing of " + ui.Sanitize(w.Branch)
}

func (a *App) listWaiting(ctx context.Context, p *project, asJSONFlag bool) error {
	list, err := a.waiting(ctx, p)
	if err != nil {
		return err
	}
	large, err := a.waitingFeedback(ctx, p)
	if err != nil { // the list of approvals is shown without it
		fmt.Fprintf(a.Stderr, "warning: what feedback waits for is not known: %s\n", ui.Sanitize(err.Error()))
	}
	list = append(list, large...)
	if asJSONFlag {
		return asJSON(a.Stdout, list)
	}
	if len(list) == 0 {
		fmt.Fprintln(a.Stdout, "nothing waits")
		return nil
	}
	var rows [][]string
	for _, w := range list {
		state := "waits"
		if w.Answered != "" {
			state = w.Answered + ", not yet read by the run"
		}
		rows = append(rows, []string{w.ID, ui.Sanitize(w.Plan), w.what(), state, w.Since.Local().Format("2006-01-02 15:04"),
			ui.Sanitize(w.Question)})
	}
	if err := table(a.Stdout, []string{"id", "plan", "what", "state", "since", "question"}, rows); err != nil {
		return err
	}
	for _, w := range list {
		if lines := checkpointLines(w.Number, w.Checkpoints); len(lines) > 0 {
			fmt.Fprintf(a.Stdout, "\n%s\n", strings.Join(lines, "\n"))
		}
	}
	w := list[0]
	look, signed := "git diff "+w.Diff(), ""
	if w.Kind == approveLargeJob {
		look = ui.Sanitize(w.Plan)
	}
	if w.Batch == "" { // a landing and a large job need the owner's signature
		signed = " --signature NAME --reason WHY"
	}
	fmt.Fprintf(a.Stdout,
		"\nlook at it: %s\nagree:      runplan approve %s%s\ndo not:     runplan approve %s --deny --reason TEXT\n", look,
		w.ID, signed, w.ID)
	return nil
}

// answer posts a person's answer to the run that asked.
func (a *App) answer(cmd *cobra.Command, p *project, id string, deny bool, by trust.Signed) error {
	ctx := cmd.Context()
	list, err := a.waiting(ctx, p)
	if err != nil {
		return err
	}
	asked := make([]runner.Approval, len(list))
	for i, w := range list {
		asked[i] = w.Approval
	}
	found, err := runner.FindApproval(asked, id)
	if err != nil {
		return usage(err, "runplan approve lists what waits")
	}
	w := list[slices.IndexFunc(list, func(w waitingItem) bool { return w.ID == found.ID })]
	if w.Answered != "" {
		return usage(fmt.Errorf("%s was answered already: %s", w.ID, w.Answered),
			"it takes effect when the run continues: runplan resume %s", w.Run[:8])
	}
	if w.Gate != "" && !deny {
		if err := a.agree(cmd, trust.Gate(w.Gate), fmt.Sprintf("run %s, commit %s", w.Run, w.Commit), by); err != nil {
			return err
		}
	}
	j, err := store.OpenExistingJournal(ctx, p.layout.Journal())
	if err != nil {
		return err
	}
	defer j.Close()
	if err := a.signed(j); err != nil {
		return err
	}
	who := cmp.Or(by.Name, p.person(ctx))
	said := w.Yes(who, redact.Clean(by.Reason))
	word := "approved"
	if deny {
		said, word = w.No(who, redact.Clean(by.Reason)), "denied"
	}
	if err := local.Post(ctx, j, w.Run, said); err != nil {
		return err
	}
	fmt.Fprintf(a.Stdout, "%s: %s by %s\n", w.ID, word, ui.Sanitize(who))
	if w.Live {
		fmt.Fprintln(a.Stderr, "its run is active and continues by itself")
	} else {
		fmt.Fprintf(a.Stderr, "continue: runplan resume %s\n", w.Run[:8])
	}
	return nil
}

// person returns the name of the user as git is configured.
func (p *project) person(ctx context.Context) string {
	for _, key := range []string{"user.name", "user.email"} {
		if out, err := p.repo.Run(ctx, "config", key); err == nil && strings.TrimSpace(out) != "" {
			return redact.Clean(strings.TrimSpace(out))
		}
	}
	for _, key := range []string{"USER", "USERNAME"} {
		if name := os.Getenv(key); name != "" {
			return redact.Clean(name)
		}
	}
	return "somebody"
}

// whatToAnswer explains how to resume a run that stopped for an approval.
func (x *execution) whatToAnswer() string {
	sums, err := x.project.summaries(context.Background(), runner.Filter{Run: x.run})
	if err != nil || len(sums) == 0 || len(sums[0].Waiting) == 0 {
		return "then continue: runplan resume " + x.run[:8]
	}
	var lines []string
	for _, w := range sums[0].Waiting {
		if w.Batch != "" {
			lines = append(lines, checkpointLines(w.Number, x.plan.Asked(w.Batch))...)
		}
		lines = append(lines, fmt.Sprintf(
			"look: git diff %s; then: runplan approve %s, or runplan approve %s --deny --reason TEXT", w.Diff(), w.ID, w.ID))
	}
	return strings.Join(append(lines, "then continue: runplan resume "+x.run[:8]), "\n")
}

func newCancelCommand(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "cancel [RUN]",
		Short: "Stop an active run in another terminal",
		Long: `Ask an active run to stop, as Ctrl-C in its terminal does: what is in progress is finished, nothing
else is begun. It stops with exit status 130, and runplan resume continues it. The run may be left out
where only one is active.` + exitStatus(exitOK, exitUsage, exitCannotRun),
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.notAnAgent("stopping a run"); err != nil {
				return err
			}
			p, err := a.openProject(cmd.Context())
			if err != nil {
				return err
			}
			return a.cancel(cmd.Context(), p, strings.Join(args, ""))
		},
	}
}

func (a *App) cancel(ctx context.Context, p *project, name string) error {
	sums, err := p.summaries(ctx, runner.Filter{})
	if err != nil {
		return err
	}
	p.lookAlive(sums)
	var live []string
	known := false
	for _, s := range sums {
		if !selects(name, s.Run, s.Slug, s.Plan) {
			continue
		}
		known = true
		if s.Status.Live() {
			live = append(live, s.Run)
		}
	}
	switch {
	case !known && name != "":
		return noSuchRun(name)
	case len(live) == 0:
		return usage(errors.New("no run is active"), "runplan status shows the runs")
	case len(live) > 1:
		return usage(fmt.Errorf("%d runs are active: %s", len(live), strings.Join(live, ", ")),
			"name one: runplan cancel RUN")
	}
	j, err := store.OpenExistingJournal(ctx, p.layout.Journal())
	if err != nil {
		return err
	}
	defer j.Close()
	if err := a.signed(j); err != nil {
		return err
	}
	said := runner.Event{Kind: runner.StopAsked, Outcome: runner.OutcomeCancelled, Reason: "cancelled by " + p.person(ctx),
		At: time.Now()}
	if err := local.Post(ctx, j, live[0], said); err != nil {
		return err
	}
	fmt.Fprintf(a.Stdout, "run %s stops after the current step; then: runplan resume %s\n", live[0][:8], live[0][:8])
	return nil
}
