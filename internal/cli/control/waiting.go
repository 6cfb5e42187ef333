// Package control holds the commands that end or change an existing run: cancel stops it, discard removes its branches
// and worktrees, undo reverts what it landed. It also finds what waits for a person, for the commands that show or
// answer it.
package control

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/runplan/runplan/feedback"
	"github.com/runplan/runplan/internal/cells"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/llm"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/journal"
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

// Waiting lists the open approvals of the runs in the repository, newest run first.
func Waiting(ctx context.Context, p *cli.Project) ([]waitingItem, error) {
	out := []waitingItem{}
	sums, err := p.Summaries(ctx, runner.Filter{})
	if err != nil || !slices.ContainsFunc(sums, func(s runner.Summary) bool { return len(s.Waiting) > 0 }) {
		return out, err
	}
	p.LookAlive(sums)
	j, err := p.OpenJournal(ctx)
	if err != nil {
		return nil, err
	}
	defer j.Close()
	_ = p.Signed(j) // a sandbox hides the key, and this function only lists
	for _, s := range sums {
		if len(s.Waiting) == 0 || s.Status.Over() {
			continue
		}
		unheard, err := journal.Unheard(ctx, j, s.Run)
		if err != nil {
			return nil, err
		}
		plan := planOf(ctx, j, p.Layout, s)
		for _, w := range s.Waiting {
			item := waitingItem{Approval: w, Plan: s.Plan, Branch: s.Branch, Live: s.Status.Live(),
				Answered: map[runner.EventKind]string{runner.ApprovalGiven: "given",
					runner.ApprovalDenied: "denied"}[w.Answer(unheard)]}
			if w.Batch != "" {
				item.Checkpoints = plan.Asked(w.Batch)
			}
			out = append(out, item)
		}
	}
	return out, nil
}

// planOf returns the plan of a run as the journal stores it, or an empty plan on failure, because a question can be
// answered without the plan.
func planOf(ctx context.Context, j *store.Journal, l journal.Layout, s runner.Summary) *planparse.Plan {
	if text, _, err := journal.PlanText(ctx, j, l, s.Run); err == nil {
		if plan, err := planparse.Parse(s.Plan, text); err == nil {
			plan.Rename(s.Keys)
			return plan
		}
	}
	return &planparse.Plan{}
}

// CheckpointLines describes what a person must check before a batch is merged.
func CheckpointLines(batch string, list []planparse.Checkpoint) []string {
	var lines []string
	for _, c := range list {
		lines = append(lines, fmt.Sprintf("before batch %s is merged, %s of the plan asks (line %d):", ui.Sanitize(batch),
			strings.TrimSpace("checkpoint "+ui.Sanitize(c.Kind)), c.Line))
		for line := range strings.SplitSeq(c.Text, "\n") {
			lines = append(lines, "  "+ui.Sanitize(line))
		}
	}
	return lines
}

// What describes the waiting item in a few words.
func (w waitingItem) What() string {
	switch {
	case w.Kind == approveLargeJob:
		return "large job: " + ui.Brief(w.Title, 40)
	case w.Batch != "":
		return ui.Sanitize(fmt.Sprintf("batch %s: %s", w.Number, cells.Cut(w.Title, 40, "…")))
	}
	return "landing of " + ui.Sanitize(w.Branch)
}

// ListWaiting prints what waits for a person.
func ListWaiting(ctx context.Context, p *cli.Project) error {
	list, err := Waiting(ctx, p)
	if err != nil {
		return err
	}
	large, err := WaitingFeedback(ctx, p)
	if err != nil { // the list of approvals is shown without it
		p.Warn("the state of feedback is unknown: " + err.Error())
	}
	list = append(list, large...)
	return p.Print(list, func() { showWaiting(p.App, list) })
}

func showWaiting(a *cli.App, list []waitingItem) {
	if len(list) == 0 {
		fmt.Fprintln(a.Stdout, "nothing waits")
		return
	}
	var rows ui.Rows
	for _, w := range list {
		state := "waits"
		if w.Answered != "" {
			state = w.Answered + ", not yet read by the run"
		}
		rows.Add(w.ID, w.Plan, w.What(), state, w.Since.Local().Format("2006-01-02 15:04"), w.Question)
	}
	ui.Table(a.Stdout, []string{"id", "plan", "what", "state", "since", "question"}, rows)
	for _, w := range list {
		if lines := CheckpointLines(w.Number, w.Checkpoints); len(lines) > 0 {
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
		"\nshow it:  %s\nagree:    runplan approve %s%s\nreject:   runplan approve %s --deny --reason TEXT\n", look,
		w.ID, signed, w.ID)
}

// Answer posts a person's answer to the run that asked.
func Answer(ctx context.Context, p *cli.Project, id string, deny bool, by trust.Signed) error {
	list, err := Waiting(ctx, p)
	if err != nil {
		return err
	}
	found, err := runner.FindApproval(lists.Map(list, func(w waitingItem) runner.Approval { return w.Approval }), id)
	if err != nil {
		return cli.Usage(err, "runplan approve lists what waits")
	}
	w := list[slices.IndexFunc(list, func(w waitingItem) bool { return w.ID == found.ID })]
	if w.Answered != "" {
		return cli.Usage(fmt.Errorf("%s was already answered: %s", w.ID, w.Answered),
			"it takes effect when the run continues: runplan resume %s", w.Run[:8])
	}
	if w.Gate != "" && !deny {
		subject := fmt.Sprintf("run %s, commit %s", w.Run, w.Commit)
		if err := p.Agree(ctx, trust.Gate(w.Gate), subject, by); err != nil {
			return err
		}
	}
	who := cmp.Or(by.Name, person(ctx, p))
	said := w.Yes(who, redact.Clean(by.Reason))
	word := "approved"
	if deny {
		said, word = w.No(who, redact.Clean(by.Reason)), "denied"
	}
	if err := post(ctx, p, w.Run, said); err != nil {
		return err
	}
	fmt.Fprintf(p.Stdout, "%s: %s by %s\n", w.ID, word, ui.Sanitize(who))
	if w.Live {
		fmt.Fprintln(p.Stderr, "its run is active and continues by itself")
	} else {
		fmt.Fprintf(p.Stderr, "continue: runplan resume %s\n", w.Run[:8])
	}
	return nil
}

// person returns the name of the user as git is configured.
func person(ctx context.Context, p *cli.Project) string {
	for _, key := range []string{"user.name", "user.email"} {
		if out, err := p.Repo.Run(ctx, "config", key); err == nil && strings.TrimSpace(out) != "" {
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

// InboxItems reads the inbox and removes terminal control codes. A missing inbox has no items.
func InboxItems(ctx context.Context, a *cli.App, all bool) ([]store.InboxItem, error) {
	dir, err := a.UserDir()
	if err != nil {
		return nil, err
	}
	box, found, err := cli.IfExists(store.ReadInbox(ctx, trust.InboxFile(dir)))
	if !found {
		return []store.InboxItem{}, err
	}
	defer box.Close()
	read := box.Pending
	if all {
		read = box.All
	}
	items, err := read(ctx)
	for i := range items {
		items[i] = ShownItem(items[i])
	}
	return items, err
}

// ShownItem removes control codes from text that others wrote. The inbox keeps the original text.
func ShownItem(i store.InboxItem) store.InboxItem {
	i.Body, i.Reply, i.Outcome, i.Repo = redact.Clean(i.Body), redact.Clean(i.Reply), redact.Clean(i.Outcome),
		redact.Clean(i.Repo)
	return i
}

// RepoName returns the name of the repository in which an item was written, "-" outside of one.
func RepoName(i store.InboxItem) string {
	if i.Repo == "" {
		return "-"
	}
	return ui.Sanitize(filepath.Base(i.Repo))
}

// approveLargeJob is the kind of approval for the plan of a feedback. No run waits for it.
const approveLargeJob = "large_job"

// WaitingFeedback lists the feedback plans that wait for the owner.
func WaitingFeedback(ctx context.Context, p *cli.Project) ([]waitingItem, error) {
	items, err := FeedbackItems(ctx, p)
	if err != nil {
		return nil, err
	}
	var out []waitingItem
	for _, i := range items {
		job, ok, err := i.Waits()
		if err != nil {
			return out, FeedbackTrouble(err, cli.ExitCannotRun)
		}
		if !ok {
			continue
		}
		file := p.PlanPath(feedback.PlanFile(p.Layout.SelfFix(), job.Plan))
		out = append(out, waitingItem{Plan: filepath.ToSlash(file), Branch: feedback.Branch(i.ID), Approval: runner.Approval{
			ID: "feedback/" + i.ID, Kind: approveLargeJob, Gate: string(trust.GateLargeJob), Title: job.Plan.Change,
			Question: job.Why, Since: job.Since,
		}})
	}
	return out, nil
}

// FeedbackTrouble adds the exit code and a hint to errors of the feedback loop.
func FeedbackTrouble(err error, code int) error {
	var refused *feedback.Refusal
	var blocked *feedback.Blocked
	var known *cli.Failure
	switch {
	case errors.As(err, new(*llm.AnswerError)):
		return cli.ModelTrouble(context.Background(), err)
	case errors.As(err, &known):
		return cli.Fail(known.Code, err, "%s", known.Hint)
	case errors.As(err, &refused):
		return cli.Fail(code, err, "%s", refused.Do)
	case errors.As(err, &blocked):
		return cli.Fail(cli.ExitUsage, err, "%s", blocked.Do)
	}
	return cli.Advise(err,
		cli.On(cli.ExitFailed, "it stays open until the test passes on the branch; revert the merge, or fix the code",
			new(*feedback.Alarm)),
		cli.On(cli.ExitUsage, "runplan self-fix list shows all feedback", store.ErrNoFeedback),
		cli.On(cli.ExitCannotRun, "the row was not changed; restore a backup of .runplan/feedback.sqlite, or move the file",
			feedback.ErrHistory),
		cli.On(cli.ExitLocked, "show it again: runplan self-fix list", store.ErrFeedbackMoved))
}

// ShownFeedback removes terminal control codes from text that others wrote. The stored row keeps the original text.
func ShownFeedback(i feedback.Item) feedback.Item {
	i.Body, i.URL, i.Source = redact.Clean(i.Body), redact.Clean(i.URL), redact.Clean(i.Source)
	i.Notes = slices.Clone(i.Notes)
	for n := range i.Notes {
		i.Notes[n].Text = redact.Clean(i.Notes[n].Text)
	}
	return i
}

// FeedbackItems reads all feedback. A repository without feedback has none.
func FeedbackItems(ctx context.Context, p *cli.Project) ([]feedback.Item, error) {
	s, found, err := cli.IfExists(store.ReadFeedback(ctx, p.Layout.Feedback()))
	if !found {
		return []feedback.Item{}, err
	}
	defer s.Close()
	rows, err := s.All(ctx)
	if err != nil {
		return nil, err
	}
	items := make([]feedback.Item, 0, len(rows))
	for _, r := range rows {
		i, err := feedback.Read(r)
		if err != nil {
			return nil, FeedbackTrouble(err, cli.ExitCannotRun)
		}
		items = append(items, ShownFeedback(i))
	}
	return items, nil
}
