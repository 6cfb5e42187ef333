package models

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/internal/tokens"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/knowledge/enrich"
)

type enrichOptions struct {
	promote bool
	limit   int
}

// NewEnrichCommand returns the command enrich.
func NewEnrichCommand(a *cli.App) *cobra.Command {
	var o enrichOptions
	return a.Command(cli.With{Exits: "0 1 2 5 6 130", Trust: true, JSON: "a JSON object"}, &cobra.Command{
		Use:   "enrich [REPO]",
		Short: "Have a model describe each file of the index",
		Long: `Ask the reasoning model to describe each file of the index: purpose, module, domain, concepts,
public interface, and pitfalls. The answer goes into .runplan/raw.sqlite with the question;
with --promote it is copied into the index, where retrieval finds files by it.

It asks about a file once, and again after the file or the configured model has changed. Answers
remain stored if the command is interrupted. Everything works without enrichment.

  runplan enrich --limit 20            try it with twenty files
  runplan enrich --promote             describe the rest, and copy all into the index
  runplan enrich --limit 0 --promote   only copy`,
		Args: cobra.MaximumNArgs(1),
		PreRunE: func(cmd *cobra.Command, args []string) error {
			a.Dir = strings.Join(args, "")
			if o.limit < 0 && cmd.Flags().Changed("limit") {
				return cli.Usage(fmt.Errorf("--limit %d is below 0", o.limit), "maximum number of files (0: none; default: all)")
			}
			return nil
		},
		RunE: a.StoppableInProject(o.enrichIndex),
	}, func(f *cli.Flags) {
		f.BoolVar(&o.promote, "promote", false, "copy all known descriptions into the index")
		f.IntVar(&o.limit, "limit", -1, "describe at most this many files (-1: all)")
	})
}

func (o *enrichOptions) enrichIndex(ctx context.Context, p *cli.Project, _ []string) error {
	if err := p.TrustConfig(); err != nil {
		return err
	}
	r, err := openRetrieval(ctx, p, tokens.Budget{})
	if err != nil {
		return err
	}
	defer r.Close()
	prompts, err := p.Prompts(enrich.LoadPrompts)
	if err != nil {
		return err
	}
	d := enrich.Deps{
		Base: r.base, Repo: r.repo, Root: p.Repo.Root, Task: cli.NewTaskID(), LLM: r.LLM, Model: r.Router.Model,
		Margin: p.Config.Models.Margin, Log: r.Journal,
		Prompts: prompts, Redact: r.Clean, Now: time.Now,
		Each: func(done, total int, path string) {
			fmt.Fprintf(p.Stderr, "%d of %d  %s\n", done, total, ui.Sanitize(path))
		},
	}
	res, err := enrich.Files(ctx, d, o.limit)
	if err != nil {
		return cli.ModelTrouble(ctx, err)
	}
	if o.promote {
		if res.Promote, err = promote(ctx, p, d); err != nil {
			return err
		}
	}
	return p.Print(res, func() { printEnriched(p.App, res, o) })
}

// promote copies the enriched knowledge into the index. No other process may be writing to the index.
func promote(ctx context.Context, p *cli.Project, d enrich.Deps) (int, error) {
	db, err := store.OpenCurated(ctx, cli.CuratedFile(p.Repo))
	if err != nil {
		return 0, cli.CuratedTrouble(err)
	}
	n, err := enrich.Promote(ctx, d, db)
	return n, cli.CuratedTrouble(errors.Join(err, db.Close()))
}

func printEnriched(a *cli.App, res enrich.Result, o *enrichOptions) {
	var rows ui.Rows
	rows.Add("files in the index", res.Files)
	rows.Add("sent to the model", res.Asked)
	rows.Add("already known", res.Current)
	rows.Add("skipped", len(res.Skipped))
	rows.Add("beyond the limit", res.Left)
	rows.Add("tokens", cli.TokensOf(res.Tokens))
	if o.promote {
		rows.Add("copied into the index", res.Promote)
	}
	ui.Table(a.Stdout, []string{"enrichment", ">count"}, rows)
	for _, s := range res.Skipped {
		fmt.Fprintf(a.Stderr, "skipped: %s: %s\n", ui.Sanitize(s.Path), ui.Sanitize(s.Reason))
	}
	if res.Refused > 0 {
		fmt.Fprintf(a.Stderr, "%d name(s) were omitted: the files do not define them\n", res.Refused)
	}
	if !o.promote && res.Waiting > 0 {
		fmt.Fprintln(a.Stderr, "retrieval does not use it yet; to copy it into the index: runplan enrich --promote")
	}
}
