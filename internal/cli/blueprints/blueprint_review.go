package blueprints

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/gates/blueprint"
	"github.com/runplan/runplan/gates/blueprint/lifecycle"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/judge"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/llm"
)

type blueprintReviewOptions struct {
	live     bool
	answer   string
	session  string
	scope    string
	reviewer string
	yaml     bool
	byHand   bool
}

func newBlueprintReviewCommand(a *cli.App) *cobra.Command {
	var o blueprintReviewOptions
	return a.Command(cli.With{Exits: "0 1 2 3 5 130", Trust: true, JSON: "a JSON object"}, &cobra.Command{
		Use:   "review UNIT",
		Short: "Have a cold reviewer compare a unit with its blueprint",
		Long: `Summarise the source files of a unit and ask a cold reviewer whether they keep the promises of the
blueprint. The reviewer gets the blueprint, the summaries and the format of the answer: no source, and nothing about
how the code was written.

With [models] in the settings, the model of the stage review answers. Otherwise, and with --by-hand, the prompt is
written to a file, whose path is printed: give it to a new session, save the answer, and pass it with --answer.

For a rejected unit the command exits with 1 and writes the problems to a file. Notes become open questions of the
blueprint. Critical findings wait in the queue for a person: runplan blueprint queue.`,
		Example: `  runplan blueprint review orders
  runplan blueprint review orders --by-hand
  runplan blueprint review orders --answer answer.json --session 4711`,
		Args: cli.ExactlyOne("the name of a unit"),
		RunE: a.StoppableInProject(o.blueprintReview),
	}, func(f *cli.Flags) {
		f.BoolVar(&o.live, "live", false, "review the live blueprint, for the retroactive corpus")
		f.StringVar(&o.answer, "answer", "", "file with the answer of a reviewer; - is standard input")
		f.StringVar(&o.session, "session", "", "with --answer: the reviewer's session; it must not have written the code")
		f.StringVar(&o.scope, "file", "", "review one source file against the duties of its role")
		f.StringVar(&o.reviewer, "reviewer", "", "who reviews: agent (default), adapter or human")
		f.BoolVar(&o.yaml, "yaml", false, "show the blueprint as YAML, not as tables")
		f.BoolVar(&o.byHand, "by-hand", false, "ask no model; write the prompt and wait for --answer")
	})
}

// stateOf returns the state of blueprints that the flag --live selects.
func stateOf(live bool) blueprint.State {
	if live {
		return blueprint.Live
	}
	return blueprint.Candidate
}

// ReviewModel returns the model of [models] for the stage review and a client that asks it. The log of calls records
// its calls under kind.
func ReviewModel(ctx context.Context, p *cli.Project, kind string) (llm.Completer, llm.Model, error) {
	model, err := p.Model(ctx, llm.Review)
	return p.Logged(llm.New(p.ModelOptions(nil)), cli.NewTaskID(), kind), model, err
}

// ReviewLive has a model review a live unit, or one of its files.
func ReviewLive(ctx context.Context, root, unit, file string, d lifecycle.Deps, ask llm.Completer,
	model llm.Model) (*lifecycle.Review, lifecycle.Record, error) {
	r, err := lifecycle.Prepare(ctx, root,
		lifecycle.Options{Unit: unit, State: blueprint.Live, Scope: file, Reviewer: "agent"}, d)
	if err != nil {
		return nil, lifecycle.Record{}, err
	}
	res, cold, err := r.Ask(ctx, ask, model)
	if err != nil {
		return r, lifecycle.Record{}, err
	}
	return r, r.Judged(res, cold, time.Now()), nil
}

func (o *blueprintReviewOptions) blueprintReview(ctx context.Context, p *cli.Project, args []string) error {
	switch {
	case o.reviewer != "" && o.reviewer != "agent" && o.reviewer != "adapter" && o.reviewer != "human":
		return cli.Usage(fmt.Errorf("unknown reviewer %s", o.reviewer), "use agent, adapter or human")
	case o.session != "" && o.answer == "":
		return cli.Usage(errors.New("--session goes with --answer"), "a model that runplan calls has its own session")
	}
	if o.answer != "" {
		return blueprintAnswer(p, args[0], o)
	}
	d, err := BlueprintDeps(ctx, p)
	if err != nil {
		return err
	}
	ask := p.Config.Models.Configured() && !o.byHand
	if ask {
		if err := p.TrustConfig(); err != nil {
			return err
		}
	}
	r, err := lifecycle.Prepare(ctx, p.Repo.Root,
		lifecycle.Options{Unit: args[0], State: stateOf(o.live), Scope: o.scope, YAML: o.yaml,
			Reviewer: cmp.Or(o.reviewer, "agent")},
		d)
	if err != nil {
		return BlueprintTrouble(err)
	}
	if !ask {
		return waitForAnswer(p, r, o)
	}
	client, model, err := ReviewModel(ctx, p, cli.BlueprintCall)
	if err != nil {
		return err
	}
	res, cold, err := r.Ask(ctx, client, model)
	var answer *llm.AnswerError
	switch {
	case errors.As(err, &answer):
		kept, keepErr := r.Keep(p.Redactor().String(redact.Clean(answer.Raw)))
		if keepErr != nil {
			return errors.Join(err, keepErr)
		}
		return cli.Fail(cli.ExitFailed, err, "its answer is in %s; a larger model may follow the format", kept)
	case errors.Is(err, lifecycle.ErrAnswer):
		return BlueprintTrouble(err)
	case err != nil:
		return cli.ModelTrouble(ctx, err)
	}
	return handleReview(p.App, r, r.Judged(res, cold, time.Now()))
}

// BlueprintDeps returns the dependencies for preparing reviews.
func BlueprintDeps(ctx context.Context, p *cli.Project) (lifecycle.Deps, error) {
	prompts, err := p.Prompts(lifecycle.LoadPrompts)
	if err != nil {
		return lifecycle.Deps{}, err
	}
	o, err := judge.SummaryOptions(ctx, p.App, p.Repo.Root)
	if err != nil {
		return lifecycle.Deps{}, err
	}
	return lifecycle.Deps{Summary: o, Prompts: prompts, Now: time.Now, NewID: cli.NewTaskID, Hide: p.Redactor().String},
		nil
}

// waitForAnswer prints the next steps for a person.
func waitForAnswer(p *cli.Project, r *lifecycle.Review, o *blueprintReviewOptions) error {
	if err := r.Wait(); err != nil {
		return err
	}
	out := map[string]string{"review_id": r.ID, "prompt": r.PromptPath(), "answer": r.AnswerPath(), "status": "waiting"}
	if err := p.Print(out, func() {
		fmt.Fprintf(p.Stdout, "prompt  %s\n", r.PromptPath())
		for _, s := range r.Unseen {
			fmt.Fprintf(p.Stdout, "unseen  %s: %s\n", ui.Sanitize(s.Path), ui.Sanitize(s.Reason))
		}
	}); err != nil {
		return err
	}
	live := ""
	if o.live {
		live = " --live"
	}
	why := "no model is configured"
	if p.Config.Models.Configured() {
		why = "because of --by-hand"
	}
	return cli.Fail(cli.ExitHuman, fmt.Errorf("the review of %s waits for an answer: %s", r.Unit, why),
		"start a new session that knows nothing about how the code was written, give it the prompt, save its answer in a "+
			"file, then: runplan blueprint review %s%s --answer FILE", r.Unit, live)
}

func blueprintAnswer(p *cli.Project, unit string, o *blueprintReviewOptions) error {
	text, err := readAnswer(p.App, o.answer)
	if err != nil {
		return err
	}
	r, rec, err := lifecycle.Answered(p.Repo.Root, unit, stateOf(o.live), text, o.session, time.Now())
	switch {
	case errors.Is(err, lifecycle.ErrNotCold):
		return cli.Fail(cli.ExitFailed, err, "have it reviewed by a session that did not write it")
	case errors.Is(err, lifecycle.ErrStale):
		return cli.Fail(cli.ExitFailed, err, "ask again: runplan blueprint review %s --by-hand", unit)
	case err != nil:
		return BlueprintTrouble(err)
	}
	rec.Reviewer = cmp.Or(o.reviewer, rec.Reviewer)
	return handleReview(p.App, r, rec)
}

const maxAnswer = 2 << 20

func readAnswer(a *cli.App, name string) (string, error) {
	from := a.Stdin
	if name != "-" {
		f, err := os.Open(filepath.Clean(name))
		if err != nil {
			return "", cli.Usage(fmt.Errorf("read the answer: %w", err), "give the file with the reviewer's JSON")
		}
		defer f.Close()
		from = f
	}
	text, err := io.ReadAll(io.LimitReader(from, maxAnswer))
	if err != nil {
		return "", fmt.Errorf("read the answer: %w", err)
	}
	return string(text), nil
}

// handleReview stores a review and prints the result.
func handleReview(a *cli.App, r *lifecycle.Review, rec lifecycle.Record) error {
	h, err := r.Handle(rec, time.Now())
	if err != nil {
		return err
	}
	if err := a.Print(h, func() { showReview(a, h) }); err != nil {
		return err
	}
	if rec.Decision == lifecycle.Reject {
		return cli.Fail(cli.ExitFailed, fmt.Errorf("%s is rejected: %s", rec.ServiceID, rec.DecisionReason),
			"see the problems in %s; correct the code, or the blueprint if that is wrong, and review it again", h.Returned)
	}
	return nil
}

func showReview(a *cli.App, h lifecycle.Handled) {
	rec := h.Record
	out := func(format string, args ...any) { fmt.Fprintf(a.Stdout, format+"\n", args...) }
	out("%s  %s (%s)", ui.Sanitize(rec.ServiceID), rec.Decision, ui.Sanitize(rec.DecisionReason))
	out("fidelity  %.2f, divergence %.2f; the reviewer says %.2f", rec.GroundTruthFidelity, rec.DivergenceScoreFinal,
		rec.OverallFidelityScore)
	for _, d := range rec.Discrepancies {
		out("%s  %s: %s", d.Severity, d.Dimension, ui.Sanitize(d.BlueprintClaim))
		out("          code: %s", ui.Sanitize(d.CodeEvidence))
		out("          to do: %s", ui.Sanitize(d.Recommendation))
	}
	if n := len(rec.UnknownClaims); n > 0 {
		out("note  %d of the claims are not literally in the blueprint", n)
	}
	for _, s := range rec.Unseen {
		out("unseen  %s: %s", ui.Sanitize(s.Path), ui.Sanitize(s.Reason))
	}
	if h.Questions > 0 {
		out("open questions  %d added to %s", h.Questions, h.Found)
	}
	for _, i := range h.Queued {
		out("queued  %s  %s", i.ID, ui.Sanitize(i.Claim))
	}
	out("stored  %s", strings.Join(h.Stored, ", "))
	out("cold  %s: %s", rec.Cold.Context, ui.Sanitize(rec.Cold.Apart))
}

// BlueprintTrouble adds the exit code to errors of blueprints.
func BlueprintTrouble(err error) error {
	return NoBlueprint(cli.Advise(err,
		cli.On(cli.ExitUsage, "ask first: runplan blueprint review UNIT --by-hand", lifecycle.ErrNoQuestion),
		cli.On(cli.ExitFailed, "the answer must be one JSON object, as described in the prompt",
			new(*llm.AnswerError), lifecycle.ErrAnswer),
		cli.On(cli.ExitCannotRun,
			"a reviewer without summaries cannot judge; Python, TypeScript and JavaScript need ast-grep",
			lifecycle.ErrNothingSeen)))
}
