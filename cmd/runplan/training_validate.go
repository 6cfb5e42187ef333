package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/blueprint"
	"github.com/runplan/runplan/internal/atomicfile"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/llm"
	"github.com/runplan/runplan/training"
	"github.com/runplan/runplan/training/adapters"
	"github.com/runplan/runplan/training/corpus"
	"github.com/runplan/runplan/training/curriculum"
	"github.com/runplan/runplan/training/validate"
)

// validateCall is what the log calls a question of a validation.
const validateCall = "adapter_validation"

type validateOptions struct {
	adapter   string
	unit      string
	candidate bool
	validator string
	schema    string
	trust     string
	json      bool
}

func newTrainingValidateCommand(a *App) *cobra.Command {
	var o validateOptions
	cmd := &cobra.Command{
		Use:   "validate --adapter NAME[@VERSION] | --unit UNIT",
		Short: "Measure how good what an adapter writes is",
		Long: `Have an adapter answer the examples of validation.jsonl, which it was not trained on, and measure the answers. A version that is
not on the server is made there for that time; nothing becomes active.

With blueprint_fidelity the adapter writes units from their blueprints, and the code is held against them: 30 % is the share of
what interfaces declare that is there, 25 % that of calls which go to declared units, 25 % that of failure modes which are
handled, 10 % whether linters find no error, 10 % the share of public functions with all types. It passes from 0.75. With
json_schema it is the share of answers that meet --schema, and it passes from 0.6.

What could not be looked at is unknown: the score is a range then. It passes when its lower end does, and fails when its upper
end does not reach the threshold; else nobody knows, and it exits with 5. What a unit declares nothing of has no weight.

--unit measures the code of one unit as it is in this repository.` + exitStatus(exitOK, exitFailed, exitUsage, exitCannotRun, exitInterrupted),
		Example: `  runplan training validate --adapter code-architect --validator blueprint_fidelity
  runplan training validate --unit orders`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return a.validate(ctx, o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.adapter, "adapter", "", "adapter, the last version or the named one")
	f.StringVar(&o.unit, "unit", "", "measure a unit as it is here instead")
	f.BoolVar(&o.candidate, "candidate", false, "with --unit: hold it against its candidate blueprint")
	f.StringVar(&o.validator, "validator", validate.BlueprintFidelity, "blueprint_fidelity or json_schema")
	f.StringVar(&o.schema, "schema", "", "with json_schema: file with the schema")
	f.StringVar(&o.trust, "trust-config", "", "digest of the repository's configuration, to trust it unasked")
	f.BoolVar(&o.json, "json", false, "print one JSON object")
	return cmd
}

// validated is what a validation found, as it is kept beside the version.
type validated struct {
	Adapter   string           `json:"adapter,omitempty"`
	Validator string           `json:"validator"`
	At        time.Time        `json:"at"`
	Score     validate.Score   `json:"score"`
	Units     []validate.Score `json:"units"`
	Broken    []string         `json:"broken"` // answers that are no code of their unit, and count as 0
}

func (a *App) validate(ctx context.Context, o validateOptions) error {
	switch {
	case (o.adapter == "") == (o.unit == ""):
		return usage(errors.New("name either --adapter or --unit"), "such as --adapter %s", curriculum.CodeArchitect)
	case o.validator != validate.BlueprintFidelity && o.validator != validate.JSONSchema:
		return usage(fmt.Errorf("there is no validator %q", ui.Sanitize(o.validator)), "it is %s or %s", validate.BlueprintFidelity, validate.JSONSchema)
	case (o.validator == validate.JSONSchema) != (o.schema != ""):
		return usage(errors.New("--validator json_schema and --schema go together"), "")
	}
	p, err := a.openProject(ctx)
	if err != nil {
		return err
	}
	if err := a.trustConfig(p, o.trust); err != nil { // linters run what it names
		return err
	}
	out := validated{Adapter: o.adapter, Validator: o.validator, At: time.Now().UTC().Truncate(time.Second), Units: []validate.Score{}, Broken: []string{}}
	if o.unit != "" {
		state := blueprint.Live
		if o.candidate {
			state = blueprint.Candidate
		}
		b, err := blueprint.Load(p.repo.Root, o.unit, state)
		if err != nil {
			return noBlueprint(err)
		}
		if out.Score, err = a.measureUnit(ctx, p, p.repo.Root, b); err != nil {
			return validateTrouble(ctx, err)
		}
		out.Units = append(out.Units, out.Score)
		return a.showValidated(out, o.json)
	}
	if err := a.validateAdapter(ctx, p, o, &out); err != nil {
		return validateTrouble(ctx, err)
	}
	return a.showValidated(out, o.json)
}

// measureUnit holds the code of a unit in a tree against its blueprint.
func (a *App) measureUnit(ctx context.Context, p *project, dir string, b *blueprint.Blueprint) (validate.Score, error) {
	options, err := a.summaryOptions(ctx, dir)
	if err != nil {
		return validate.Score{}, err
	}
	run, done, err := a.stageGatesIn(ctx, p, dir)
	if err != nil {
		return validate.Score{}, err
	}
	defer done()
	v := validate.BlueprintFidelityValidator{Summary: options, Lint: func(ctx context.Context) (gates.Verdict, error) { return run(ctx, "lint") }}
	return v.Validate(ctx, b)
}

// validateAdapter asks a version the examples that were held back.
func (a *App) validateAdapter(ctx context.Context, p *project, o validateOptions, out *validated) error {
	ref, err := adapters.ParseRef(o.adapter)
	if err != nil {
		return usage(err, "runplan training adapters lists them")
	}
	spec, err := curriculum.Load(p.repo.Root, ref.Adapter)
	if err != nil {
		return badCurriculum(err)
	}
	v, err := adapters.ShelfOf(p.layout.Root).Find(ref)
	if err != nil {
		return err
	}
	out.Adapter = v.Name()
	examples, err := p.heldBack(v)
	if err != nil {
		return err
	}
	d, done, err := a.desk(ctx, p, spec)
	if err != nil {
		return err
	}
	defer done()
	remove, err := d.Trial(ctx, v)
	if err != nil {
		return err
	}
	defer remove()
	ask := a.logged(p, llm.New(d.LLM), newTaskID(), validateCall)
	m := llm.Model{
		Role: llm.Role(v.Base), Name: v.Tag, Provider: llm.Ollama, BaseURL: d.Server, Window: p.config.Budget.ContextWindow,
		MaxTokens: p.config.Models.MaxTokens, Source: "adapter " + v.Name(),
	}
	if o.validator == validate.JSONSchema {
		err = a.answersMeet(ctx, ask, m, v, examples, o.schema, out)
	} else {
		err = a.unitsKeep(ctx, p, ask, m, v, examples, out)
	}
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Write(validationFile(v), append(text, '\n'), 0o644)
}

// validationFile has the last validation of a version.
func validationFile(v adapters.Version) string {
	return filepath.Join(filepath.Dir(v.File()), "validation.json")
}

// heldBack are the examples that a version was not trained on.
func (p *project) heldBack(v adapters.Version) ([]training.Example, error) {
	file := filepath.Join(filepath.FromSlash(v.Data), adapters.ValidationFile)
	if !filepath.IsAbs(file) {
		file = filepath.Join(p.repo.Root, file)
	}
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, usage(fmt.Errorf("%s has no %s", v.Data, adapters.ValidationFile), "an adapter is measured by what it was not trained on; make the data anew: runplan training corpus build")
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []training.Example
	for e, err := range training.Read(filepath.Join(v.Data, adapters.ValidationFile), f) {
		if err != nil {
			return nil, fail(exitFailed, err, "make the data anew")
		}
		out = append(out, e)
	}
	return out, nil
}

func asked(m llm.Model, v adapters.Version, e training.Example) llm.Request {
	r := llm.Request{Model: m, Stage: llm.Stage(v.Stage)}
	for _, msg := range e.Prompt {
		switch msg.Role {
		case "system":
			r.System = msg.Content
		default:
			r.Prompt += msg.Content
		}
	}
	return r
}

func (a *App) answersMeet(ctx context.Context, ask llm.Completer, m llm.Model, v adapters.Version, examples []training.Example, file string, out *validated) error {
	text, err := os.ReadFile(filepath.Clean(file))
	if err != nil {
		return usage(fmt.Errorf("read the schema: %w", err), "give the path of a JSON schema")
	}
	schema, err := validate.NewJSONSchema(text)
	if err != nil {
		return usage(err, "correct the schema")
	}
	var answers []string
	for _, e := range examples {
		res, err := ask.Complete(ctx, asked(m, v, e))
		if err != nil && !errors.Is(err, llm.ErrCutOff) {
			return err
		}
		answers = append(answers, res.Text)
	}
	out.Score = schema.Validate(answers)
	return nil
}

// unitsKeep has the adapter write each unit that was held back, in a tree of its own, and measures it there.
func (a *App) unitsKeep(ctx context.Context, p *project, ask llm.Completer, m llm.Model, v adapters.Version, examples []training.Example, out *validated) error {
	seen := map[string]bool{}
	for _, e := range examples {
		unit := e.Origin.Unit
		if unit == "" || seen[unit] {
			continue
		}
		b, err := blueprint.Load(p.repo.Root, unit, blueprint.Live)
		if errors.Is(err, blueprint.ErrNoBlueprint) {
			b, err = blueprint.Load(p.repo.Root, unit, blueprint.Candidate)
		}
		if err != nil {
			return err
		}
		if len(e.Origin.Files) != len(b.SourceFiles) {
			continue // about one file; the unit is measured as a whole
		}
		seen[unit] = true
		res, err := ask.Complete(ctx, asked(m, v, e))
		var files []corpus.Source
		if err == nil {
			files, err = corpus.ParseBlocks(unit, res.Text, b.Paths())
		} else if !errors.Is(err, llm.ErrCutOff) {
			return err
		}
		if err != nil {
			out.Broken = append(out.Broken, unit+": "+ui.Sanitize(err.Error()))
			out.Units = append(out.Units, validate.Score{Unit: unit, Measures: []validate.Measure{}, Threshold: validate.CodeThreshold, Verdict: validate.Fail, Why: "the answer is no code of the unit"})
			continue
		}
		score, err := a.measureWritten(ctx, p, b, files)
		if err != nil {
			return err
		}
		out.Units = append(out.Units, score)
		fmt.Fprintf(a.Stderr, "%s  %s\n", unit, scoreText(score))
	}
	out.Score = validate.Mean(validate.CodeThreshold, out.Units)
	return nil
}

// measureWritten puts files into a checkout of its own and measures the unit there. Files of the unit that were not written are not
// there: nothing of the code that exists helps the adapter.
func (a *App) measureWritten(ctx context.Context, p *project, b *blueprint.Blueprint, files []corpus.Source) (validate.Score, error) {
	head, _, err := p.repo.Head(ctx)
	if err != nil {
		return validate.Score{}, err
	}
	tmp := filepath.Join(p.layout.Root, "tmp")
	if err := os.MkdirAll(tmp, 0o755); err != nil {
		return validate.Score{}, err
	}
	dir, err := os.MkdirTemp(tmp, "validate-")
	if err != nil {
		return validate.Score{}, err
	}
	defer os.RemoveAll(dir)
	tree := filepath.Join(dir, "tree")
	if _, err := p.repo.AddDetached(ctx, tree, head); err != nil {
		return validate.Score{}, err
	}
	defer p.repo.RemoveWorkspace(context.WithoutCancel(ctx), tree)
	root, err := os.OpenRoot(tree)
	if err != nil {
		return validate.Score{}, err
	}
	defer root.Close()
	for _, f := range b.Paths() {
		if err := root.Remove(filepath.FromSlash(f)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return validate.Score{}, err
		}
	}
	for _, f := range files {
		name := filepath.FromSlash(f.Path)
		if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return validate.Score{}, err
		}
		if err := root.WriteFile(name, []byte(f.Text), 0o644); err != nil {
			return validate.Score{}, err
		}
	}
	return a.measureUnit(ctx, p, tree, b)
}

func scoreText(s validate.Score) string {
	if s.Low == s.High {
		return fmt.Sprintf("%.3f  %s (from %.2f)", s.Low, s.Verdict, s.Threshold)
	}
	return fmt.Sprintf("%.3f to %.3f  %s (from %.2f)", s.Low, s.High, s.Verdict, s.Threshold)
}

func (a *App) showValidated(v validated, asJSONFlag bool) error {
	if asJSONFlag {
		if err := asJSON(a.Stdout, v); err != nil {
			return err
		}
	} else {
		var table [][]string
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
					table = append(table, []string{ui.Sanitize(cmp.Or(u.Unit, v.Adapter)), m.Name, value, fmt.Sprint(m.Of), fmt.Sprintf("%.2f", m.Weight), ui.Sanitize(m.Why)})
				}
			}
			if v.Adapter == "" {
				break // the score is that of the unit
			}
		}
		if err := ui.Table(a.Stdout, []string{"OF", "MEASURE", "VALUE", "COUNT", "WEIGHT", "NOTE"}, table); err != nil {
			return err
		}
		for _, b := range v.Broken {
			fmt.Fprintf(a.Stderr, "no code: %s\n", b)
		}
		fmt.Fprintf(a.Stdout, "%s  %s\n", ui.Sanitize(cmp.Or(v.Adapter, v.Score.Unit)), scoreText(v.Score))
	}
	switch v.Score.Verdict {
	case validate.Fail:
		return fail(exitFailed, errors.New("it is below the threshold"), "what it lacks is above")
	case validate.Unknown:
		return fail(exitCannotRun, fmt.Errorf("whether it reaches the threshold is unknown%s", whyText(v.Score.Why)), "see to it that what is unknown above can be looked at: a linter, ast-grep, held-back units")
	}
	return nil
}

func whyText(why string) string {
	if why == "" {
		return ""
	}
	return ": " + why
}

func validateTrouble(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fail(exitInterrupted, errors.New("interrupted; nothing was kept"), "")
	}
	return adapterTrouble(ctx, err)
}
