package adapters

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/blueprint"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/blueprints"
	"github.com/runplan/runplan/internal/cli/judge"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/llm"
	"github.com/runplan/runplan/training"
	"github.com/runplan/runplan/training/adapters"
	"github.com/runplan/runplan/training/curriculum"
	"github.com/runplan/runplan/training/validate"
)

const validateCall = "adapter_validation"

type validateOptions struct {
	adapter   string
	unit      string
	validator string
	schema    string
}

// NewValidateCommand returns the command training validate.
func NewValidateCommand(a *cli.App) *cobra.Command {
	var o validateOptions
	return a.Command(cli.With{Exits: "0 1 2 5 130", Repo: true, Trust: true, JSON: "a JSON object"}, &cobra.Command{
		Use:   "validate --adapter NAME[@VERSION] | --unit UNIT",
		Short: "Measure the quality of an adapter's answers",
		Long: `Have an adapter answer the examples of validation.jsonl, which it was not trained on, and measure the answers. A version that is
not on the server is created there temporarily; nothing becomes active.

With blueprint_fidelity the adapter writes units from their blueprints, and the code is compared with them: 30 % is the
share of declared interfaces that exist, 25 % that of calls to declared units, 25 % that of failure modes that are
handled, 10 % whether linters find no error, 10 % the share of public functions with all types. It passes at 0.75. With
json_schema the score is the share of answers that match --schema, and it passes at 0.6.

If something could not be checked, the score is a range. It passes if its lower end does, and fails if its upper
end does not reach the threshold; otherwise the result is unknown, and it exits with 5. Parts that a unit does not
declare have no weight.

--unit measures the present code of one unit in this repository.`,
		Example: `  runplan training validate --adapter code-architect --validator blueprint_fidelity
  runplan training validate --unit orders`,
		Args: cobra.NoArgs,
		RunE: a.StoppableInProject(o.validateModels),
	}, func(f *cli.Flags) {
		f.StringVar(&o.adapter, "adapter", "", "adapter to measure: NAME for its last version, or NAME@VERSION")
		f.StringVar(&o.unit, "unit", "", "measure an existing unit instead")
		f.StringVar(&o.validator, "validator", validate.BlueprintFidelity, "blueprint_fidelity or json_schema")
		f.StringVar(&o.schema, "schema", "", "with json_schema: file with the schema")
	})
}

func (o *validateOptions) validateModels(ctx context.Context, p *cli.Project, _ []string) error {
	switch {
	case (o.adapter == "") == (o.unit == ""):
		return cli.Usage(errors.New("name either --adapter or --unit"), "such as --adapter %s", curriculum.CodeArchitect)
	case o.validator != validate.BlueprintFidelity && o.validator != validate.JSONSchema:
		return cli.Usage(fmt.Errorf("unknown validator %q", ui.Sanitize(o.validator)), "use %s or %s",
			validate.BlueprintFidelity, validate.JSONSchema)
	case (o.validator == validate.JSONSchema) != (o.schema != ""):
		return cli.Usage(errors.New("--validator json_schema and --schema require each other"), "")
	}
	if err := p.TrustConfig(); err != nil { // linters run programs that the configuration names
		return err
	}
	out := validate.Report{Adapter: o.adapter, Validator: o.validator, At: time.Now().UTC().Truncate(time.Second),
		Units: []validate.Score{}, Broken: []string{}}
	if o.unit != "" {
		b, err := blueprint.Load(p.Repo.Root, o.unit, blueprint.Live)
		if err != nil {
			return blueprints.NoBlueprint(err)
		}
		if out.Score, err = measureUnit(ctx, p, p.Repo.Root, b); err != nil {
			return validateTrouble(ctx, err)
		}
		out.Units = append(out.Units, out.Score)
	} else if err := validateAdapter(ctx, p, o, &out); err != nil {
		return validateTrouble(ctx, err)
	}
	return showValidated(p.App, out)
}

func measureUnit(ctx context.Context, p *cli.Project, dir string, b *blueprint.Blueprint) (validate.Score, error) {
	options, err := judge.SummaryOptions(ctx, p.App, dir)
	if err != nil {
		return validate.Score{}, err
	}
	run, done, err := blueprints.StageGatesIn(ctx, p, dir)
	if err != nil {
		return validate.Score{}, err
	}
	defer done()
	v := validate.BlueprintFidelityValidator{Summary: options,
		Lint: func(ctx context.Context) (gates.Verdict, error) { return run(ctx, "lint") }}
	return v.Validate(ctx, b)
}

func validateAdapter(ctx context.Context, p *cli.Project, o *validateOptions, out *validate.Report) error {
	ref, err := adapters.ParseRef(o.adapter)
	if err != nil {
		return cli.Usage(err, "runplan training adapters lists them")
	}
	spec, err := loadSpec(ctx, p, ref.Adapter)
	if err != nil {
		return err
	}
	v, err := adapters.RegistryOf(p.Layout.Root).Find(ref)
	if err != nil {
		return err
	}
	out.Adapter = v.Name()
	examples, err := v.HeldBack()
	if errors.Is(err, adapters.ErrNothingHeld) {
		return cli.Usage(err,
			"an adapter is measured on held-out examples; train it on a folder that has them: runplan training "+
				"corpus build, or curate and export")
	}
	if err != nil {
		return cli.Fail(cli.ExitFailed, err, "train it again")
	}
	d, done, err := newDeployer(ctx, p, spec)
	if err != nil {
		return err
	}
	defer done()
	remove, err := d.Trial(ctx, v)
	if err != nil {
		return err
	}
	defer remove()
	trial := validate.Trial{
		Ask: p.Logged(llm.New(d.LLM), cli.NewTaskID(), validateCall), Stage: llm.Stage(v.Stage), Root: p.Repo.Root,
		Model: llm.Model{
			Role: llm.Role(v.Base), Name: v.Tag, Provider: llm.Ollama, BaseURL: d.Server, Window: p.Config.Budget.ContextWindow,
			MaxTokens: p.Config.Models.MaxTokens, Source: "adapter " + v.Name(),
		},
		Tree: func(ctx context.Context) (string, func(), error) { return scratchTree(ctx, p) },
		Measure: func(ctx context.Context, dir string, b *blueprint.Blueprint) (validate.Score, error) {
			return measureUnit(ctx, p, dir, b)
		},
		OnScore: func(s validate.Score) { fmt.Fprintf(p.Stderr, "%s  %s\n", ui.Sanitize(s.Unit), s.String()) },
	}
	if o.validator == validate.JSONSchema {
		err = answersMeet(ctx, trial, examples, o.schema, out)
	} else {
		err = trial.Units(ctx, examples, out)
	}
	if err != nil {
		return err
	}
	return out.Write(v.ValidationFile())
}

func answersMeet(ctx context.Context, trial validate.Trial, examples []training.Example, file string,
	out *validate.Report) error {
	text, err := os.ReadFile(filepath.Clean(file))
	if err != nil {
		return cli.Usage(fmt.Errorf("read the schema: %w", err), "give the path of a JSON schema")
	}
	schema, err := validate.NewJSONSchema(text)
	if err != nil {
		return cli.Usage(err, "correct the schema")
	}
	answers, err := trial.Answers(ctx, examples)
	if err == nil {
		out.Score = schema.Validate(answers)
	}
	return err
}

// scratchTree checks out HEAD into a temporary folder. remove deletes it.
func scratchTree(ctx context.Context, p *cli.Project) (dir string, remove func(), err error) {
	head, _, err := p.Repo.Head(ctx)
	if err != nil {
		return "", nil, err
	}
	tmp := filepath.Join(p.Layout.Root, "tmp")
	if err := os.MkdirAll(tmp, 0o755); err != nil {
		return "", nil, err
	}
	home, err := os.MkdirTemp(tmp, "validate-")
	if err != nil {
		return "", nil, err
	}
	tree := filepath.Join(home, "tree")
	remove = func() {
		_ = p.Repo.RemoveWorkspace(context.WithoutCancel(ctx), tree) // leftovers are deleted with the parent folder
		_ = os.RemoveAll(home)
	}
	if _, err := p.Repo.AddDetached(ctx, tree, head); err != nil {
		remove()
		return "", nil, err
	}
	return tree, remove, nil
}

func showValidated(a *cli.App, v validate.Report) error {
	if err := a.Print(v, func() {
		var table ui.Rows
		for _, u := range append(append([]validate.Score{}, v.Units...), v.Score) {
			for _, m := range u.Measures {
				value := fmt.Sprintf("%.3f", m.Low)
				switch {
				case m.Of == 0:
					value = "no weight"
				case !m.Known():
					value = fmt.Sprintf("%.3f to %.3f", m.Low, m.High)
				}
				if len(v.Units) > 0 || len(v.Score.Measures) == 1 {
					table.Add(cmp.Or(u.Unit, v.Adapter), m.Name, value, m.Of, fmt.Sprintf("%.2f", m.Weight), m.Why)
				}
			}
			if v.Adapter == "" {
				break // the score is that of the unit
			}
		}
		ui.Table(a.Stdout, []string{"OF", "MEASURE", "VALUE", "COUNT", "WEIGHT", "NOTE"}, table)
		for _, b := range v.Broken {
			fmt.Fprintf(a.Stderr, "no code: %s\n", ui.Sanitize(b))
		}
		fmt.Fprintf(a.Stdout, "%s  %s\n", ui.Sanitize(cmp.Or(v.Adapter, v.Score.Unit)), v.Score.String())
	}); err != nil {
		return err
	}
	switch v.Score.Verdict {
	case validate.Fail:
		return cli.Fail(cli.ExitFailed, errors.New("the score is below the threshold"), "the missing parts are listed above")
	case validate.Unknown:
		return cli.Fail(cli.ExitCannotRun,
			fmt.Errorf("whether it reaches the threshold is unknown%s", phrase.After(v.Score.Why)),
			"make the unknown parts above checkable: install a linter or ast-grep, or add held-out units")
	}
	return nil
}

func validateTrouble(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return cli.Interrupted("nothing was kept", "")
	}
	return adapterTrouble(ctx, err)
}
