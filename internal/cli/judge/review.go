package judge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/report"
	"github.com/runplan/runplan/gates/review"
	"github.com/runplan/runplan/gates/review/prose"
	"github.com/runplan/runplan/gates/review/security"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/rulebook"
	"github.com/runplan/runplan/internal/ui"
)

// ReviewOptions are the flags of review.
type ReviewOptions struct {
	gate     GateOptions
	only     []int
	selfFix  bool
	feedback string
	plan     string
	accept   string
	refute   string
	reason   string
}

// NewReviewCommand returns the command review.
func NewReviewCommand(a *cli.App) *cobra.Command {
	var o ReviewOptions
	return a.Command(cli.With{Exits: "0 1 2 5 130", Trust: true, JSON: "a JSON object"}, &cobra.Command{
		Use:   "review",
		Short: "Review a change in seven passes",
		Long: `Review the difference from the base, including untracked files, in seven passes:

  1 static         linters, types, lessons, patterns
  2 functional     the tests
  3 architectural  a reviewer: does it fit the design
  4 security       secrets, built-in checks, and the tools that are installed
  5 prose          rules, and a reviewer: text for people
  6 adversarial    a reviewer: what breaks it
  7 feedback       a reviewer: does it answer the feedback; only with --self-fix

Programs run first. If 1, 2 or 4 fails, no reviewer is asked. Reviewers are models that
[review.reviewers] or [models] of the settings name. Each runs in a new session or process, and
must quote the change. Without one, the passes are skipped and the confidence is lower.

The verdict is pass, request-changes or block, with a confidence from 0 to 100; below 60 it blocks.
Findings are stored from round to round under .runplan/reviews, and a person may accept or refute
those of reviewers:

  runplan review --accept 3f2a91 --reason 'the old name stays until 2.0'

The base is the merge base with --base, or with the main branch; without
one it is the last commit. Nothing in the tree is changed.`,
		Args: cobra.NoArgs,
		RunE: a.InProject(o.reviewChange),
	}, func(f *cli.Flags) {
		o.gate.common(f)
		f.IntSliceVar(&o.only, "only", nil, "numbers of the passes to run")
		f.BoolVar(&o.selfFix, "self-fix", false, "the change answers a feedback: run pass 7 too; needs --feedback")
		f.StringVar(&o.feedback, "feedback", "", "file with the feedback that the change answers")
		f.StringVar(&o.plan, "plan", "", "file with the request: a plan, a batch, an issue")
		f.StringVar(&o.accept, "accept", "", "id of a finding that is right but will not be fixed; needs --reason")
		f.StringVar(&o.refute, "refute", "", "id of a finding that is wrong; needs --reason")
		f.StringVar(&o.reason, "reason", "", "why a finding is accepted or refuted")
	})
}

func (o *ReviewOptions) reviewChange(ctx context.Context, p *cli.Project, _ []string) error {
	if o.accept != "" && o.refute != "" {
		return cli.Usage(errors.New("a finding cannot be both accepted and refuted"), "give one of --accept and --refute")
	}
	if o.accept != "" || o.refute != "" {
		return decideFinding(ctx, p, o)
	}
	in, err := o.Input(p)
	if err != nil {
		return err
	}
	if err := p.TrustConfig(); err != nil {
		return err
	}
	if in.Prompts, err = p.Prompts(review.LoadPrompts); err != nil {
		return err
	}
	o.gate.Baseline = o.gate.Base != ""
	x, done := Inspect(ctx, p, rulebook.OpenRuleBooks(ctx, p), o.gate, ReviewGates(p)...)
	defer done()
	ctx, stop := cli.Interruptible(ctx, syscall.SIGHUP)
	defer stop()
	return x.review(ctx, in)
}

// ReviewGates returns the gates that a review has besides those of the settings.
func ReviewGates(p *cli.Project) []gates.Gate {
	return append(security.All(p.Config.Review.Online), prose.New(), prose.Names())
}

// Input reads the files that the flags name.
func (o ReviewOptions) Input(p *cli.Project) (in review.Input, err error) {
	in.Only = o.only
	for _, n := range o.only {
		if n < 1 || n > 7 {
			return in, cli.Usage(fmt.Errorf("unknown pass %d", n), "passes are 1 to 7; see: runplan review --help")
		}
	}
	if o.selfFix && o.feedback == "" {
		return in, cli.Usage(errors.New("--self-fix needs the feedback that the change answers"),
			"give them with --feedback FILE")
	}
	if in.Feedback, err = smallText(o.feedback, "the feedback"); err != nil {
		return in, err
	}
	if o.feedback != "" && strings.TrimSpace(in.Feedback) == "" {
		return in, cli.Usage(fmt.Errorf("the feedback in %s is empty", ui.Sanitize(o.feedback)), "")
	}
	if in.Plan, err = smallText(o.plan, "the request"); err != nil {
		return in, err
	}
	if name := p.Config.Review.Persona; name != "" {
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			return in, cli.Usage(fmt.Errorf("review.persona: %q is outside the repository", ui.Sanitize(name)), "")
		}
		if in.Persona, err = smallText(filepath.Join(p.Repo.Root, filepath.FromSlash(name)), "review.persona"); err != nil {
			return in, err
		}
	}
	in.NewID, in.Margin = cli.NewTaskID, p.Config.Models.Margin
	return in, nil
}

// mostText is the highest size of a text for reviewers, in bytes. The text uses a part of their context window.
const mostText = 64 << 10

// smallText reads a file. It returns "" for "".
func smallText(file, what string) (string, error) {
	if file == "" {
		return "", nil
	}
	f, err := os.Open(file)
	if err != nil {
		return "", cli.Usage(fmt.Errorf("read %s: %w", what, err), "")
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, mostText+1))
	if err != nil {
		return "", cli.Usage(fmt.Errorf("read %s: %w", what, err), "")
	}
	if len(data) > mostText {
		return "", cli.Usage(fmt.Errorf("read %s: %s is longer than %d KiB", what, ui.Sanitize(file), mostText>>10),
			"reviewers get the whole file; shorten it")
	}
	return string(data), nil
}

func (x *Inspection) review(ctx context.Context, in review.Input) error {
	list, done, err := x.Open(ctx)
	defer done()
	if err != nil {
		return err
	}
	in.Subject, in.Gates = x.Subject, list
	in.Reviewers = x.Reviewers(ctx)
	in.Author = x.author(ctx)
	file, ledger, err := openLedger(ctx, x.Project)
	if err != nil {
		return err
	}
	in.Ledger = ledger
	if !x.Project.JSON {
		in.Watch = func(_ int, r gates.Report) {
			if r.Command != "" { // the command may take long
				fmt.Fprintf(x.Project.Stderr, "%s: %s\n", r.Gate, r.Status)
			}
		}
		in.Observe = func(n int, name string, s gates.Status) {
			fmt.Fprintf(x.Project.Stderr, "pass %d, %s: %s\n", n, name, s)
		}
	}
	v, err := review.Run(ctx, in)
	if ctx.Err() != nil {
		return cli.Interrupted("the review was not stored", "")
	}
	if err != nil {
		return cli.Fail(cli.ExitCannotRun, err, "")
	}
	if err = x.Project.Layout.Make(); err == nil {
		err = in.Ledger.Write(file)
	}
	if err != nil {
		return err
	}
	x.keepLogs(&v)
	if err := x.showReview(x.Project.Stdout, v); err != nil {
		return err
	}
	if err := x.export(report.Run{Version: cli.Version(),
		Verdict: gates.Verdict{Status: statusOf(v), Reports: v.Reports()}, Base: x.Subject.Base}); err != nil {
		return err
	}
	return outcomeOfReview(v)
}

// keepLogs keeps the log folder if something failed. Otherwise it clears the names of the logs.
func (x *Inspection) keepLogs(v *review.Review) {
	if x.forget == "" {
		return
	}
	if v.Verdict != review.OK {
		x.forget = ""
		return
	}
	for i := range v.Passes {
		for j := range v.Passes[i].Tools {
			v.Passes[i].Tools[j].Log, v.Passes[i].Tools[j].LogHash = "", ""
		}
	}
}

func statusOf(v review.Review) gates.Status {
	switch v.Verdict {
	case review.OK:
		return gates.Pass
	case review.NoVerdict:
		return gates.Errored
	}
	return gates.Fail
}

func outcomeOfReview(v review.Review) error {
	for _, p := range v.Passes {
		if p.Status == gates.Errored {
			return cli.Fail(cli.ExitCannotRun, fmt.Errorf("pass %d, %s, could not run", p.Number, p.Name),
				"this says nothing about the change; fix it, or omit the pass with --only")
		}
	}
	if v.Verdict == review.OK {
		return nil
	}
	return cli.Fail(cli.ExitFailed, fmt.Errorf("%s: %s", v.Verdict, strings.Join(v.Reasons, ", ")), "")
}
