package learn

import (
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

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/adapters"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/llm"
	"github.com/runplan/runplan/training/chat"
	"github.com/runplan/runplan/training/curate"
	"github.com/runplan/runplan/training/export"
	"github.com/runplan/runplan/training/folder"
)

type trainingExportOptions struct {
	export.Options
	format   string
	in       string
	out      string
	template string
	end      string
	count    string
	long     string
	dropBOS  bool
}

func newTrainingExportCommand(a *cli.App) *cobra.Command {
	var o trainingExportOptions
	var formats strings.Builder
	for _, f := range export.Formats() {
		fmt.Fprintf(&formats, "  %-26s%s\n", f.Name, f.What)
	}
	with := cli.With{Exits: "0 1 2 5 130", Repo: true, Trust: true, JSON: "the counts as one JSON object"}
	return a.Command(with, &cobra.Command{
		Use:   "export --format FORMAT --in DIR --out DIR --base-model MODEL",
		Short: "Export a dataset in a trainer's format, with its configuration",
		Long: `Write a dataset in a trainer's format: train and validation file, a configuration that is ready to run,
with the figures of the plan, and a card (README.md) with the content, origin and licenses of the data. Each line is
checked against the JSON schema of its format before it is written.

Formats:
` + formats.String() + `
--template FILE|ollama:MODEL writes prompts and answers as the text that the model itself sees, if the format takes
text; for the other formats it only counts tokens. FILE is a tokenizer_config.json, the folder around one, a *.jinja,
or a *.gotmpl in the language of Ollama. ollama:MODEL asks the server of models.base_url. No token is invented: if a
template does not show the end of an answer, --end must give it.

An example with more tokens than the plan's max_sequence_length is never cut: it is named, and fails the export or is
dropped or kept, as
--too-long says. Tokens are estimated; --count ollama:MODEL has the server count them, which takes time.

  runplan training export --format trl-chat --in set --out for-trl --base-model Qwen/Qwen2.5-Coder-3B-Instruct
  runplan training export --format mlx --in set --out for-mlx --base-model ./model --template ./model --too-long drop`,
		Args: cobra.NoArgs,
		RunE: stoppable(a, o.trainingExport),
	}, func(f *cli.Flags) {
		f.StringVar(&o.format, "format", "", "output format")
		cli.Values(f, "format", lists.Map(export.Formats(), func(x export.Format) string { return x.Name }))
		f.StringVar(&o.in, "in", "", "folder of a dataset that runplan training curate made")
		f.StringVar(&o.out, "out", "", "folder to write to")
		f.StringVar(&o.BaseModel, "base-model", "", "model to train, as the trainer knows it")
		f.StringVar(&o.template, "template", "none", "template of the model: a file or folder, ollama:MODEL, or none")
		f.StringVar(&o.end, "end", "", "text that ends an answer, for a *.gotmpl that does not show it")
		f.StringVar(&o.count, "count", "estimate", "how to count tokens: estimate, or ollama:MODEL")
		f.IntVar(&o.Limit, "max-tokens", 0, "maximum length of an example (default: that of the plan)")
		f.StringVar(&o.long, "too-long", string(export.Fail), "handling of longer examples: fail, drop or keep")
		f.StringSliceVar(&o.Licenses, "licenses", nil,
			"only examples of repositories with these licenses, such as MIT,Apache-2.0")
		f.BoolVar(&o.dropBOS, "drop-bos", false, "omit the first token of rendered text if the trainer adds it itself")
		f.BoolVar(&o.Replace, "replace", false, "replace an existing export")
	})
}

func (o *trainingExportOptions) trainingExport(ctx context.Context, p *cli.Project, _ []string) error {
	if o.format == "" || o.in == "" || o.out == "" || o.BaseModel == "" {
		return cli.Usage(errors.New("training export needs --format, --in, --out and --base-model"),
			"see: runplan training export --help")
	}
	format, err := export.Named(o.format)
	if err != nil {
		return cli.Usage(err, "")
	}
	if strings.ContainsFunc(o.BaseModel, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return cli.Usage(errors.New("--base-model contains a control code"), "give the name or the folder of a model")
	}
	options := o.Options
	options.Format, options.TooLong, options.Canary = format, export.Policy(o.long), adapters.Guard(p).Canary
	if !slices.Contains([]export.Policy{export.Fail, export.Drop, export.Keep}, options.TooLong) {
		return cli.Usage(fmt.Errorf("--too-long is %q", ui.Sanitize(o.long)), "use fail, drop or keep")
	}
	if o.Limit < 0 {
		return cli.Usage(fmt.Errorf("--max-tokens is %d", o.Limit), "it must be above 0")
	}
	if err := exportModels(ctx, p, o, &options); err != nil {
		return err
	}
	ledger, err := adapters.OpenLedger(ctx, p)
	if err != nil {
		return err
	}
	defer ledger.Close()
	m, err := export.Write(ctx, o.in, o.out, options)
	if err != nil {
		return exportTrouble(ctx, err)
	}
	text, err := os.ReadFile(filepath.Join(o.in, curate.PlanFile))
	if err == nil {
		err = addDataset(ctx, p, ledger, m.Plan, text, cli.NewTaskID(), filepath.Join(o.out, "train.jsonl"), m.Train,
			format.Name)
	}
	if err != nil {
		return fmt.Errorf("the export is at %s, but could not be logged: %w", o.out, err)
	}
	return p.Print(m, func() { showExport(p.App, m, o) })
}

// exportModels finds the renderer of conversations and the token counter.
func exportModels(ctx context.Context, p *cli.Project, o *trainingExportOptions, options *export.Options) error {
	server := func(what string) (opts llm.Options, m llm.Model, err error) {
		_, name, _ := strings.Cut(what, ":")
		switch {
		case name == "":
			return opts, m, cli.Usage(fmt.Errorf("%s names no model", what), "such as ollama:qwen2.5-coder:3b")
		case p.Config.Models.BaseURL == "":
			return opts, m, cli.Usage(errors.New("models.base_url is not set, so the Ollama server is unknown"),
				"set it: runplan init --models")
		}
		m = llm.Model{Provider: llm.Ollama, Name: name, BaseURL: p.Config.Models.BaseURL}
		return p.ModelOptions(nil), m, p.TrustConfig()
	}
	switch {
	case o.template == "none" || o.template == "":
	case strings.HasPrefix(o.template, "ollama:"):
		opts, m, err := server(o.template)
		if err != nil {
			return err
		}
		if options.Template, err = chat.FromServer(ctx, opts, m); err != nil {
			return cli.ModelTrouble(ctx, err)
		}
	default:
		t, err := fileTemplate(o.template, o.end)
		if err != nil {
			return cli.Usage(err, "give a tokenizer_config.json, the folder around one, a *.jinja, a *.gotmpl, or ollama:MODEL")
		}
		options.Template = t
	}
	if o.dropBOS {
		j, ok := options.Template.(*chat.Jinja)
		if !ok || j.Begins() == "" {
			return cli.Usage(errors.New(
				"--drop-bos needs a template that has the token: a tokenizer_config.json with bos_token"), "")
		}
		options.DropBegin = j.Begins()
	}
	switch {
	case o.count == "estimate":
		options.Counter = chat.Estimate{}
	case strings.HasPrefix(o.count, "ollama:"):
		opts, m, err := server(o.count)
		if err != nil {
			return err
		}
		options.Counter = chat.Server{Options: opts, Model: m}
	default:
		return cli.Usage(fmt.Errorf("--count is %q", ui.Sanitize(o.count)), "use estimate or ollama:MODEL")
	}
	return nil
}

// fileTemplate reads a template file. The extension selects the format.
func fileTemplate(path, end string) (chat.Renderer, error) {
	switch ext := filepath.Ext(path); ext {
	case ".gotmpl", ".tmpl":
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read the template: %w", err)
		}
		return chat.FromText(path, string(b), end)
	case ".json", ".jinja", ".jinja2", ".j2":
	default:
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			return nil, fmt.Errorf("unknown kind of template: %s", path)
		}
	}
	return chat.LoadJinja(path, time.Now)
}

func exportTrouble(ctx context.Context, err error) error {
	err = cli.Advise(err,
		cli.On(cli.ExitFailed, "nothing was written; drop them with --too-long drop, or give --max-tokens",
			new(*export.LongError)),
		cli.On(cli.ExitUsage, "give another folder, or --replace for one that contains an export", folder.ErrExists),
		cli.On(cli.ExitUsage, "create the dataset again: runplan training curate", curate.ErrChanged),
		cli.On(cli.ExitUsage, "nothing was written; use another format, or other examples", export.ErrEmpty),
		cli.On(cli.ExitUsage, "nothing was written; give another template", chat.ErrTemplate),
		cli.On(cli.ExitUsage, "give a folder that runplan training curate made", fs.ErrNotExist))
	if llm.HintOf(err) != "" {
		err = cli.ModelTrouble(ctx, err)
	}
	return pairsTrouble(err)
}

func showExport(a *cli.App, m export.Manifest, o *trainingExportOptions) {
	var rows ui.Rows
	add := func(name string, s curate.Side) { rows.Add(name, s.Examples, s.Positive, s.Negative, s.Preferences) }
	add("train", m.Train)
	add("validation", m.Validation)
	ui.Table(a.Stdout, []string{"", ">lines", ">good", ">bad", ">preference"}, rows)
	showLeftOut(a, export.Reasons(), m.LeftOut)
	for _, l := range m.TooLong {
		what := "omitted"
		if o.long == string(export.Keep) {
			what = "kept"
		}
		fmt.Fprintf(a.Stderr, "too long, %s: %s of %s has %s, %d are allowed\n", what, l.ID, l.File, l.Count(), m.Limit)
	}
	if n := m.Licenses[""]; n > 0 {
		fmt.Fprintf(a.Stderr, "note: for %d line(s) the license of the repository is unknown\n", n)
	}
	if m.Template != "none" && m.Schema != "text" && !strings.HasSuffix(m.Schema, "-text") && m.Schema != "segments" {
		fmt.Fprintf(a.Stderr, "note: %s renders messages itself; the template was only used to count tokens\n",
			m.Format)
	}
	fmt.Fprintf(a.Stderr, "longest: %d of %d tokens (%s); licenses: %s\n", m.Longest, m.Limit, ui.Sanitize(m.Counter),
		ui.Sanitize(export.Used(m)))
	fmt.Fprintf(a.Stderr, "written: %s; train with: %s\n", ui.Sanitize(o.out), m.Run)
}
