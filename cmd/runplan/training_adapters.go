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
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/atomicfile"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/llm"
	"github.com/runplan/runplan/training"
	"github.com/runplan/runplan/training/adapters"
	"github.com/runplan/runplan/training/curriculum"
	"github.com/runplan/runplan/training/validate"
	"github.com/runplan/runplan/trust"
)

func newTrainingAdaptersCommand(a *App) *cobra.Command {
	var asJSONFlag bool
	cmd := &cobra.Command{
		Use:   "adapters",
		Short: "List trained adapters, and which model each stage has",
		Long: `List which model answers for each stage and what chose it, then the versions of all adapters that were trained here.

The model of a stage is chosen by the flag of a command, else by [models.overrides] of the settings, else it is the active
adapter, else the model of the role. One adapter of a stage is active at most. deploy makes it so, rollback takes it back; both
are for the owner alone.` + exitStatus(exitOK, exitUsage, exitCannotRun),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.listAdapters(cmd.Context(), asJSONFlag) },
	}
	cmd.Flags().BoolVar(&asJSONFlag, "json", false, "print one JSON object")
	cmd.AddCommand(newTrainingDeployCommand(a), newTrainingRollbackCommand(a))
	return cmd
}

// stageChoice is which model a stage has.
type stageChoice struct {
	Stage  llm.Stage `json:"stage"`
	Model  string    `json:"model"`
	By     string    `json:"chosen_by"`
	Active string    `json:"active_adapter"` // "": none
}

// versionRow is a version of an adapter, and what became of it.
type versionRow struct {
	adapters.Version
	State string `json:"state"` // active, deployed before, or trained
}

func (a *App) listAdapters(ctx context.Context, asJSONFlag bool) error {
	p, err := a.openProject(ctx)
	if err != nil {
		return err
	}
	rows, err := p.deployedAdapters(ctx)
	if err != nil {
		return curatedTrouble(err)
	}
	versions, err := adapters.ShelfOf(p.layout.Root).All()
	if err != nil {
		return err
	}
	choices, err := p.stageChoices(ctx, rows)
	if err != nil {
		return modelTrouble(ctx, err)
	}
	list := []versionRow{}
	for _, v := range versions {
		row := versionRow{v, "trained"}
		for _, r := range rows {
			switch {
			case r.Tag != v.Tag || r.Stage != string(v.Stage):
			case r.Active:
				row.State = "active"
			default:
				row.State = "deployed before"
			}
		}
		list = append(list, row)
	}
	if asJSONFlag {
		return asJSON(a.Stdout, struct {
			Stages   []stageChoice `json:"stages"`
			Versions []versionRow  `json:"versions"`
		}{choices, list})
	}
	return a.showAdapters(choices, list)
}

func (a *App) showAdapters(choices []stageChoice, list []versionRow) error {
	clean := func(s string) string { return ui.Sanitize(redact.Clean(s)) }
	var table [][]string
	for _, c := range choices {
		table = append(table, []string{string(c.Stage), clean(c.Model), clean(c.By), clean(cmp.Or(c.Active, "-"))})
	}
	if len(table) == 0 {
		fmt.Fprintln(a.Stdout, "no models are configured")
	} else if err := ui.Table(a.Stdout, []string{"STAGE", "MODEL", "CHOSEN BY", "ACTIVE ADAPTER"}, table); err != nil {
		return err
	}
	fmt.Fprintln(a.Stdout)
	if len(list) == 0 {
		fmt.Fprintln(a.Stdout, "no adapter was trained here yet")
		return nil
	}
	table = nil
	for _, v := range list {
		loss := "unknown"
		if v.Loss != nil {
			loss = fmt.Sprintf("%.4g", *v.Loss)
		}
		table = append(table, []string{v.Name(), v.State, clean(v.Tag), string(v.Stage), fmt.Sprint(v.Examples), loss, v.TrainedAt.Format(time.DateTime)})
	}
	return ui.Table(a.Stdout, []string{"VERSION", "STATE", "MODEL", "STAGE", "EXAMPLES", "LOSS", "TRAINED"}, table)
}

// stageChoices resolves all stages as the commands do that ask models. Without models there are none.
func (p *project) stageChoices(ctx context.Context, rows []store.DeployedAdapter) ([]stageChoice, error) {
	out := []stageChoice{}
	router, err := p.models(ctx)
	if errors.Is(err, llm.ErrNoModels) {
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	for _, s := range llm.Stages() {
		c := stageChoice{Stage: s}
		for _, r := range rows {
			if r.Active && r.Stage == string(s) {
				c.Active = r.Tag
			}
		}
		m, err := router.Model(s)
		var missing *llm.MissingModelError
		switch {
		case errors.As(err, &missing):
			c.Model, c.By = "-", fmt.Sprintf("models.%s is not set", missing.Role)
		case err != nil:
			return nil, err
		default:
			c.Model, c.By = m.Label(), m.Source
		}
		out = append(out, c)
	}
	return out, nil
}

// deployedAdapters are the rows of the index about adapters. Without an index there are none.
func (p *project) deployedAdapters(ctx context.Context) ([]store.DeployedAdapter, error) {
	db, err := store.OpenCuratedReader(ctx, curatedFile(p.repo))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer db.Close()
	return db.Adapters(ctx)
}

// deployOptions are those of deploy and rollback.
type deployOptions struct {
	by       trust.Signed
	override bool
	toBase   bool
	trust    string
	json     bool
}

func (o *deployOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.by.Name, "signature", "", "the owner's name")
	f.StringVar(&o.by.Reason, "reason", "", "why")
	f.StringVar(&o.trust, "trust-config", "", "digest of the repository's configuration, to trust it unasked")
	f.BoolVar(&o.json, "json", false, "print one JSON object")
}

func newTrainingDeployCommand(a *App) *cobra.Command {
	var o deployOptions
	cmd := &cobra.Command{
		Use:   "deploy NAME[@VERSION]",
		Short: "Put a trained adapter to work",
		Long: `Put a version of an adapter to work, the last one if none is named: its file is looked at, the Ollama server makes a model of
the base and the adapter, that model is asked a question, and only then it is the active one of its stage. One that does not
answer is removed again, and nothing changes: servers make models of adapters that they cannot run.

The owner signs for it; without --signature it exits with 3. Three versions are kept, or as many as curriculum.json says; older
ones go, with their models, unless they are active.

A line of [models.overrides] wins over an adapter. --override writes the model into that line of .runplan/config.toml.` +
			exitStatus(exitOK, exitFailed, exitUsage, exitHuman, exitCannotRun, exitLocked, exitInterrupted),
		Example: `  runplan training adapters deploy code-architect --signature ada --reason "validated at 0.82"
  runplan training adapters deploy code-architect@2 --signature ada --reason "v3 was worse"`,
		Args: exactlyOne("the name of an adapter"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return a.deployAdapter(ctx, args[0], o)
		},
	}
	o.flags(cmd)
	cmd.Flags().BoolVar(&o.override, "override", false, "write the model into [models.overrides] as well")
	return cmd
}

func newTrainingRollbackCommand(a *App) *cobra.Command {
	var o deployOptions
	cmd := &cobra.Command{
		Use:   "rollback NAME",
		Short: "Take the active adapter back",
		Long: `Take the active version of an adapter back: the one that was deployed before it is active again, once it has answered a
question. Where there is none before it, and with --to-base, the model of the role answers again. The owner signs for it.` +
			exitStatus(exitOK, exitFailed, exitUsage, exitHuman, exitCannotRun, exitLocked, exitInterrupted),
		Example: `  runplan training adapters rollback code-architect --signature ada --reason "it forgets the error paths"`,
		Args:    exactlyOne("the name of an adapter"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return a.rollbackAdapter(ctx, args[0], o)
		},
	}
	o.flags(cmd)
	cmd.Flags().BoolVar(&o.toBase, "to-base", false, "have no adapter at all")
	return cmd
}

func (a *App) deployAdapter(ctx context.Context, name string, o deployOptions) error {
	ref, err := adapters.ParseRef(name)
	if err != nil {
		return usage(err, "runplan training adapters lists them")
	}
	p, spec, err := a.forAdapter(ctx, ref.Adapter, o)
	if err != nil {
		return err
	}
	v, err := adapters.ShelfOf(p.layout.Root).Find(ref)
	if err != nil {
		return adapterTrouble(ctx, err)
	}
	base, err := p.baseModel(v.Base)
	if err != nil {
		return modelTrouble(ctx, err)
	}
	key := "models.overrides." + string(v.Stage)
	if now := p.config.Models.Overrides[string(v.Stage)]; now != "" && now != v.Tag && !o.override {
		return usage(fmt.Errorf("%s = %q in %s wins over an adapter", key, now, p.rel(p.config.Source(key))), "take the line out, or have it replaced: --override")
	}
	d, done, err := a.desk(ctx, p, spec)
	if err != nil {
		return err
	}
	defer done()
	if why := unvalidated(v); why != "" {
		fmt.Fprintf(a.Stderr, "note: %s %s; runplan training validate --adapter %s tells how good it is\n", v.Name(), why, v.Name())
	}
	changed, err := d.Deploy(ctx, v, base, a.mayDeploy(ctx, "a deployment", o.by))
	if err != nil {
		if changed.Tag != "" && errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w; the version is not whole any more", err)
		}
		return adapterTrouble(ctx, err)
	}
	if o.override {
		if err := p.writeOverride(v.Stage, v.Tag); err != nil {
			return err
		}
	}
	return a.showChanged(ctx, changed, o.json)
}

// unvalidated says what speaks against a version: it is for the owner to know, and to decide.
func unvalidated(v adapters.Version) string {
	text, err := os.ReadFile(validationFile(v))
	if err != nil {
		return "was never validated"
	}
	var last validated
	if err := json.Unmarshal(text, &last); err != nil {
		return "has a validation that cannot be read"
	}
	if last.Score.Verdict != validate.Pass {
		return "was validated at " + scoreText(last.Score)
	}
	return ""
}

func (a *App) rollbackAdapter(ctx context.Context, name string, o deployOptions) error {
	if err := curriculum.ValidName(name); err != nil {
		return usage(err, "runplan training adapters lists them")
	}
	p, spec, err := a.forAdapter(ctx, name, o)
	if err != nil {
		return err
	}
	d, done, err := a.desk(ctx, p, spec)
	if err != nil {
		return err
	}
	defer done()
	changed, err := d.Rollback(ctx, spec.Stage, o.toBase, a.mayDeploy(ctx, "a rollback", o.by))
	if err != nil {
		return adapterTrouble(ctx, err)
	}
	key := "models.overrides." + string(spec.Stage)
	switch now := p.config.Models.Overrides[string(spec.Stage)]; {
	case now == "" || now == changed.Tag:
	case now == changed.Before && p.config.Source(key) == p.layout.Config():
		if err := p.writeOverride(spec.Stage, changed.Tag); err != nil {
			return err
		}
	default:
		fmt.Fprintf(a.Stderr, "note: %s = %q in %s wins over it\n", key, ui.Sanitize(now), p.rel(p.config.Source(key)))
	}
	return a.showChanged(ctx, changed, o.json)
}

// forAdapter opens the project and reads what an adapter is for. People do this, and nobody else.
func (a *App) forAdapter(ctx context.Context, name string, o deployOptions) (*project, curriculum.Spec, error) {
	p, err := a.openProject(ctx)
	if err != nil {
		return nil, curriculum.Spec{}, err
	}
	if o.by.Name != "" {
		if err := a.notAnAgent("putting an adapter to work"); err != nil {
			return nil, curriculum.Spec{}, err
		}
	}
	spec, err := curriculum.Load(p.repo.Root, name)
	if err != nil {
		return nil, spec, adapterTrouble(ctx, badCurriculum(err))
	}
	if p.config.Models.Provider == llm.Command {
		return nil, spec, usage(errors.New("adapters are models of an Ollama server, and models.provider is command"), "what your program answers with is up to it")
	}
	return p, spec, a.trustConfig(p, o.trust)
}

// baseModel is the model below the adapters of a base.
func (p *project) baseModel(b training.Base) (string, error) {
	m := p.config.Models
	name := m.Reasoning
	if b == training.Coding {
		name = m.Coding
	}
	switch {
	case !m.Configured():
		return "", llm.ErrNoModels
	case m.BaseURL == "":
		return "", &llm.MissingSettingError{Key: "models.base_url", Example: `base_url = "http://localhost:11434", or where your Ollama server is,`}
	case name == "":
		return "", &llm.MissingModelError{Role: llm.Role(b)}
	}
	return name, nil
}

// desk opens all that a deployment writes to.
func (a *App) desk(ctx context.Context, p *project, spec curriculum.Spec) (d adapters.Desk, done func(), err error) {
	if _, err := p.baseModel(spec.Base()); err != nil {
		return d, nil, modelTrouble(ctx, err)
	}
	if _, err := os.Stat(curatedFile(p.repo)); errors.Is(err, fs.ErrNotExist) {
		return d, nil, usage(fmt.Errorf("%s is not indexed, and the index says which adapters are active", p.repo.Root), "run: runplan index")
	}
	if err := p.layout.Make(); err != nil {
		return d, nil, err
	}
	var opened []interface{ Close() error }
	done = func() {
		for _, c := range slices.Backward(opened) {
			c.Close()
		}
	}
	defer func() {
		if err != nil {
			done()
		}
	}()
	o := llm.OptionsOf(p.config.Models)
	o.Environ, o.Root, o.Redact = a.Environ, p.repo.Root, a.redactor(p).String
	d = adapters.Desk{
		Shelf: adapters.ShelfOf(p.layout.Root), Server: p.config.Models.BaseURL, LLM: o, Keep: spec.Versioning.RetentionCount, Now: time.Now,
		Note: func(s string) { fmt.Fprintln(a.Stderr, ui.Sanitize(s)) },
	}
	if d.Curated, err = store.OpenCurated(ctx, curatedFile(p.repo)); err != nil {
		return d, nil, curatedTrouble(err)
	}
	opened = append(opened, d.Curated)
	if d.Ledger, err = training.OpenLedger(ctx, p.layout.Journal()); err != nil {
		return d, nil, err
	}
	opened = append(opened, d.Ledger)
	if d.Log, err = store.OpenLog(ctx, p.layout.Journal()); err != nil {
		return d, nil, err
	}
	opened = append(opened, d.Log)
	return d, done, d.Shelf.Register(ctx, d.Ledger, d.Log) // what a killed training did not come to
}

// errUnsigned says that a person has to sign first.
var errUnsigned = errors.New("waits for its owner")

// mayDeploy asks the owner's contract for a deployment, and writes the signature down.
func (a *App) mayDeploy(ctx context.Context, what string, by trust.Signed) func(string) error {
	return func(subject string) error {
		if by.Name == "" {
			return fmt.Errorf("%s of %s %w", what, subject, errUnsigned)
		}
		k, err := a.keeper()
		if err != nil {
			return err
		}
		return k.Agree(ctx, trust.GateDeploy, subject, by)
	}
}

// writeOverride gives a stage its model in the project's settings; "" takes it out.
func (p *project) writeOverride(stage training.Stage, tag string) error {
	file := p.layout.Config()
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the settings: %w", err)
	}
	out, err := adapters.SetOverride(p.rel(file), text, stage, tag)
	if err != nil {
		return usage(err, "the adapter is active; a line of [models.overrides] wins over it")
	}
	return atomicfile.Write(file, out, 0o644)
}

func (a *App) showChanged(ctx context.Context, c adapters.Changed, asJSONFlag bool) error {
	if ctx.Err() != nil {
		return fail(exitInterrupted, errors.New("interrupted"), "it was done; runplan training adapters shows how it stands")
	}
	if asJSONFlag {
		return asJSON(a.Stdout, c)
	}
	clean := func(s string) string { return ui.Sanitize(redact.Clean(s)) }
	switch c.Tag {
	case "":
		fmt.Fprintf(a.Stdout, "%s  no adapter; it was %s\n", c.Stage, clean(c.Before))
	default:
		fmt.Fprintf(a.Stdout, "%s  %s (%s); it was %s\n", c.Stage, clean(c.Tag), c.Version, clean(cmp.Or(c.Before, "the model of the role")))
		fmt.Fprintf(a.Stdout, "test call  %s\n", ui.Cut(clean(c.Answer), 100, "…"))
	}
	for _, tag := range c.Removed {
		fmt.Fprintf(a.Stdout, "removed  %s\n", clean(tag))
	}
	return nil
}

// adapterTrouble gives what went wrong with an adapter its exit code, and what to do about it.
func adapterTrouble(ctx context.Context, err error) error {
	var known *failure
	var refused *trust.Error
	var broken *adapters.BrokenError
	var untested *adapters.UntestedError
	var file *adapters.FileError
	var mismatch *adapters.MismatchError
	var stacked *llm.AdaptedBaseError
	var few *adapters.TooFewError
	var failed *adapters.FailedError
	switch {
	case errors.As(err, &known):
		return err
	case errors.Is(err, errUnsigned):
		return fail(exitHuman, err, "the owner signs: --signature NAME --reason TEXT")
	case errors.As(err, &refused):
		return trustTrouble(err)
	case errors.As(err, &broken):
		return fail(exitFailed, err, "nothing became active; the server's log says more. Adapters run on architectures of llama.cpp's own runner, such as llama and qwen2")
	case errors.As(err, &untested):
		if ctx.Err() != nil {
			return fail(exitInterrupted, errors.New("interrupted; nothing became active"), "do it again")
		}
		return fail(exitCannotRun, err, "do it again once the server answers")
	case errors.As(err, &file), errors.As(err, &stacked):
		return fail(exitFailed, err, "nothing was changed")
	case errors.As(err, &mismatch):
		return fail(exitFailed, err, "train one for the model of the settings: runplan training train")
	case errors.As(err, &failed):
		if failed.Log != "" {
			return fail(exitFailed, err, "all that it printed is in %s", failed.Log)
		}
		return fail(exitFailed, err, "")
	case errors.As(err, &few):
		return fail(exitFailed, err, "have more examples, or write a smaller minimum_corpus_size into curriculum.json if you mean it")
	case errors.Is(err, adapters.ErrNoVersion):
		return usage(err, "train it: runplan training train --adapter NAME; runplan training adapters lists what there is")
	case errors.Is(err, adapters.ErrNotActive):
		return usage(err, "runplan training adapters shows what is")
	case errors.Is(err, curriculum.ErrNone):
		return usage(err, "write the file: stage and base_model at least; everything else has a default")
	case errors.Is(err, curriculum.ErrName):
		return usage(err, "")
	case errors.Is(err, store.ErrBusy), errors.Is(err, store.ErrCorrupt):
		return curatedTrouble(err)
	case isFull(err):
		return err
	}
	return modelTrouble(ctx, err)
}

// isFull tells errors of the disk, to which modelTrouble has nothing to say.
func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EROFS) || errors.Is(err, fs.ErrPermission)
}
