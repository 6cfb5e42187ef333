package adapters

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/atomicfile"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/config"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/llm"
	"github.com/runplan/runplan/training"
	"github.com/runplan/runplan/training/adapters"
	"github.com/runplan/runplan/training/curriculum"
	"github.com/runplan/runplan/training/validate"
	"github.com/runplan/runplan/trust"
)

type deployOptions struct {
	by       trust.Signed
	override bool
	toBase   bool
}

func newTrainingDeployCommand(a *cli.App) *cobra.Command {
	var o deployOptions
	return a.Command(cli.With{Exits: "0 1 2 3 5 6 130", Repo: true, Trust: true, JSON: "a JSON object"}, &cobra.Command{
		Use:   "deploy NAME[@VERSION]",
		Short: "Deploy a trained adapter",
		Long: `Deploy a version of an adapter, by default the last one. Its file is checked, the Ollama server makes a
model of the base and the adapter, that model must answer a question, and only then it becomes active for its stage. A
model that does not answer is removed, and nothing changes, because servers also make models of adapters that they
cannot run.

The owner signs for it; without --signature it exits with 3. Three versions are kept, or as many as curriculum.json
says. Older ones are removed with their models, unless they are active.

A line of [models.overrides] overrides an adapter. --override writes the model into that line of .runplan/config.toml.`,
		Example: `  runplan training adapters deploy code-architect --signature ada --reason "validated at 0.82"
  runplan training adapters deploy code-architect@2 --signature ada --reason "v3 was worse"`,
		Args: cli.ExactlyOne("the name of an adapter"),
		RunE: a.StoppableInProject(o.deployAdapter),
	}, func(f *cli.Flags) {
		cli.SignFlags(f, &o.by)
		f.BoolVar(&o.override, "override", false, "write the model into [models.overrides] as well")
	})
}

func newTrainingRollbackCommand(a *cli.App) *cobra.Command {
	var o deployOptions
	return a.Command(cli.With{Exits: "0 1 2 3 5 6 130", Repo: true, Trust: true, JSON: "a JSON object"}, &cobra.Command{
		Use:   "rollback NAME",
		Short: "Roll back the active adapter",
		Long: `Deactivate the active version of an adapter. The previously deployed one becomes active again once it
has answered a question. Without a previous one, or with --to-base, the stage uses the model of its role again. The owner
signs for it.`,
		Example: `  runplan training adapters rollback code-architect --signature ada --reason "it forgets the error paths"`,
		Args:    cli.ExactlyOne("the name of an adapter"),
		RunE:    a.StoppableInProject(o.rollbackAdapter),
	}, func(f *cli.Flags) {
		cli.SignFlags(f, &o.by)
		f.BoolVar(&o.toBase, "to-base", false, "deactivate the adapter; use the base model")
	})
}

func (o *deployOptions) deployAdapter(ctx context.Context, p *cli.Project, args []string) error {
	ref, err := adapters.ParseRef(args[0])
	if err != nil {
		return cli.Usage(err, "runplan training adapters lists them")
	}
	spec, err := forAdapter(ctx, p, ref.Adapter, o)
	if err != nil {
		return err
	}
	v, err := adapters.RegistryOf(p.Layout.Root).Find(ref)
	if err != nil {
		return adapterTrouble(ctx, err)
	}
	base, err := baseModel(p, v.Base)
	if err != nil {
		return cli.ModelTrouble(ctx, err)
	}
	key := "models.overrides." + string(v.Stage)
	if now := p.Config.Models.Overrides[string(v.Stage)]; now != "" && now != v.Tag && !o.override {
		return cli.Usage(fmt.Errorf("%s = %q in %s overrides an adapter", key, now, cli.Rel(p.Config.Source(key))),
			"remove the line, or replace it: --override")
	}
	d, done, err := newDeployer(ctx, p, spec)
	if err != nil {
		return err
	}
	defer done()
	if why := unvalidated(v); why != "" {
		fmt.Fprintf(p.Stderr, "note: %s %s\n", v.Name(), why)
	}
	changed, err := d.Deploy(ctx, v, base, mayDeploy(ctx, p.App, "a deployment", o.by))
	if err != nil {
		if changed.Tag != "" && errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w; the version is damaged", err)
		}
		return adapterTrouble(ctx, err)
	}
	if o.override {
		if err := writeOverride(p, v.Stage, v.Tag); err != nil {
			return err
		}
	}
	return showChanged(ctx, p.App, changed)
}

func (o *deployOptions) rollbackAdapter(ctx context.Context, p *cli.Project, args []string) error {
	if err := curriculum.ValidName(args[0]); err != nil {
		return cli.Usage(err, "runplan training adapters lists them")
	}
	spec, err := forAdapter(ctx, p, args[0], o)
	if err != nil {
		return err
	}
	d, done, err := newDeployer(ctx, p, spec)
	if err != nil {
		return err
	}
	defer done()
	changed, err := d.Rollback(ctx, spec.Stage, o.toBase, mayDeploy(ctx, p.App, "a rollback", o.by))
	if err != nil {
		return adapterTrouble(ctx, err)
	}
	key := "models.overrides." + string(spec.Stage)
	switch now := p.Config.Models.Overrides[string(spec.Stage)]; {
	case now == "" || now == changed.Tag:
	case now == changed.Before && p.Config.Source(key) == p.Layout.Config():
		if err := writeOverride(p, spec.Stage, changed.Tag); err != nil {
			return err
		}
	default:
		fmt.Fprintf(p.Stderr, "note: %s = %q in %s overrides it\n", key, ui.Sanitize(now), cli.Rel(p.Config.Source(key)))
	}
	return showChanged(ctx, p.App, changed)
}

// writeOverride sets the model of a stage in the project's settings; "" removes it.
func writeOverride(p *cli.Project, stage training.Stage, tag string) error {
	file := p.Layout.Config()
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the settings: %w", err)
	}
	value := &tag
	if tag == "" {
		value = nil
	}
	out, err := config.Edit(text, "models.overrides."+string(stage), value)
	if err == nil {
		err = config.Check(cli.Rel(file), out)
	}
	if err != nil {
		return cli.Usage(fmt.Errorf("%s: the model of stage %s could not be written: %w", cli.Rel(file), stage, err),
			"the adapter is active, but a line of [models.overrides] overrides it: write the model there")
	}
	return atomicfile.Write(file, out, 0o644)
}

func showChanged(ctx context.Context, a *cli.App, c adapters.Changed) error {
	if ctx.Err() != nil {
		return cli.Interrupted("", "the change is complete; runplan training adapters shows the state")
	}
	return a.Print(c, func() {
		switch c.Tag {
		case "":
			fmt.Fprintf(a.Stdout, "%s  no adapter; it was %s\n", c.Stage, ui.Sanitize(c.Before))
		default:
			fmt.Fprintf(a.Stdout, "%s  %s (%s); it was %s\n", c.Stage, ui.Sanitize(c.Tag), c.Version,
				ui.Sanitize(cmp.Or(c.Before, "the model of the role")))
			fmt.Fprintf(a.Stdout, "test call  %s\n", ui.Brief(c.Answer, 100))
		}
		for _, tag := range c.Removed {
			fmt.Fprintf(a.Stdout, "removed  %s\n", ui.Sanitize(tag))
		}
	})
}

// unvalidated lists the objections to a version. The owner decides about them.
func unvalidated(v adapters.Version) string {
	last, there, err := validate.Last(v.ValidationFile())
	switch {
	case err != nil:
		return "has an unreadable validation"
	case !there:
		return "was never validated; to validate it: runplan training validate --adapter " + v.Name()
	}
	if last.Score.Verdict != validate.Pass {
		return "was validated at " + last.Score.String()
	}
	return ""
}

// loadSpec reads the specification of an adapter. An unreadable one is a usage error, like bad settings.
func loadSpec(ctx context.Context, p *cli.Project, name string) (curriculum.Spec, error) {
	spec, err := curriculum.Load(p.Repo.Root, name)
	if err == nil {
		return spec, nil
	}
	if !errors.Is(err, curriculum.ErrNone) && !errors.Is(err, curriculum.ErrName) && !isFull(err) {
		err = cli.Usage(err, "correct the file; missing keys have defaults")
	}
	return spec, adapterTrouble(ctx, err)
}

// forAdapter reads the specification of an adapter. It rejects a signature that an agent gives.
func forAdapter(ctx context.Context, p *cli.Project, name string, o *deployOptions) (curriculum.Spec, error) {
	if o.by.Name != "" {
		if err := p.NotAnAgent("deploying an adapter"); err != nil {
			return curriculum.Spec{}, err
		}
	}
	spec, err := loadSpec(ctx, p, name)
	if err != nil {
		return spec, err
	}
	if p.Config.Models.Provider == llm.Command {
		return spec, cli.Usage(errors.New("adapters need an Ollama server, but models.provider is command"),
			"runplan cannot choose the model of your program")
	}
	return spec, p.TrustConfig()
}

// baseModel returns the model under the adapters of a base.
func baseModel(p *cli.Project, b training.Base) (string, error) {
	m := p.Config.Models
	name := m.Reasoning
	if b == training.Coding {
		name = m.Coding
	}
	switch {
	case !m.Configured():
		return "", llm.ErrNoModels
	case m.BaseURL == "":
		return "", &llm.MissingSettingError{Key: "models.base_url",
			Example: `base_url = "http://localhost:11434", or the address of your Ollama server,`}
	case name == "":
		return "", &llm.MissingModelError{Role: llm.Role(b)}
	}
	return name, nil
}

// newDeployer opens all files that a deployment writes.
func newDeployer(ctx context.Context, p *cli.Project, spec curriculum.Spec) (d adapters.Deployer, done func(),
	err error) {
	if _, err := baseModel(p, spec.Base()); err != nil {
		return d, nil, cli.ModelTrouble(ctx, err)
	}
	if _, err := os.Stat(cli.CuratedFile(p.Repo)); errors.Is(err, fs.ErrNotExist) {
		return d, nil, cli.Usage(
			fmt.Errorf("%s is not indexed, but the index records which adapters are active", p.Repo.Root),
			"run: runplan index")
	}
	var opened cli.Closers
	defer opened.CloseAfter(&err)
	d = adapters.Deployer{
		Registry: adapters.RegistryOf(p.Layout.Root), Server: p.Config.Models.BaseURL, LLM: p.ModelOptions(nil),
		Keep: spec.Versioning.RetentionCount, Now: time.Now,
		Note: func(s string) { fmt.Fprintln(p.Stderr, ui.Sanitize(s)) },
	}
	if d.Curated, err = store.OpenCurated(ctx, cli.CuratedFile(p.Repo)); err != nil {
		return d, nil, cli.CuratedTrouble(err)
	}
	opened.Add(func() { d.Curated.Close() })
	if d.Ledger, err = OpenLedger(ctx, p); err != nil {
		return d, nil, err
	}
	opened.Add(func() { d.Ledger.Close() })
	if d.Log, err = store.OpenLog(ctx, p.Layout.Journal()); err != nil {
		return d, nil, err
	}
	opened.Add(func() { d.Log.Close() })
	// A killed training may have left versions unregistered.
	return d, opened.Close, d.Registry.Register(ctx, d.Ledger, d.Log)
}

var errUnsigned = errors.New("waits for its owner")

// mayDeploy checks the owner's contract for a deployment and records the signature.
func mayDeploy(ctx context.Context, a *cli.App, what string, by trust.Signed) func(string) error {
	return func(subject string) error {
		if by.Name == "" {
			return fmt.Errorf("%s of %s %w", what, subject, errUnsigned)
		}
		return a.Agree(ctx, trust.GateDeploy, subject, by)
	}
}

func adapterTrouble(ctx context.Context, err error) error {
	var failed *adapters.FailedError
	switch {
	case errors.As(err, new(*trust.Error)):
		return cli.TrustTrouble(err)
	case errors.As(err, new(*adapters.UntestedError)) && ctx.Err() != nil:
		return cli.Interrupted("nothing became active", "do it again")
	case errors.As(err, &failed) && failed.Log != "":
		return cli.Fail(cli.ExitFailed, err, "its complete output is in %s", failed.Log)
	}
	err = cli.Advise(err,
		cli.On(cli.ExitHuman, "the owner signs: --signature NAME --reason TEXT", errUnsigned),
		cli.On(cli.ExitFailed, "nothing became active; see the server's log. Adapters need an architecture of llama.cpp's "+
			"own runner, such as llama and qwen2", new(*adapters.BrokenError)),
		cli.On(cli.ExitCannotRun, "try again when the server answers", new(*adapters.UntestedError)),
		cli.On(cli.ExitFailed, "nothing was changed", new(*adapters.FileError), new(*llm.AdaptedBaseError)),
		cli.On(cli.ExitFailed, "train one for the model of the settings: runplan training train",
			new(*adapters.MismatchError)),
		cli.On(cli.ExitFailed, "", new(*adapters.FailedError)),
		cli.On(cli.ExitFailed, "add examples, or deliberately set a smaller minimum_corpus_size in curriculum.json",
			new(*adapters.TooFewError)),
		cli.On(cli.ExitUsage,
			"train it: runplan training train --adapter NAME; runplan training adapters lists the existing ones",
			adapters.ErrNoVersion),
		cli.On(cli.ExitUsage, "runplan training adapters shows the state", adapters.ErrNotActive),
		cli.On(cli.ExitUsage, "write the file: stage and base_model at least; everything else has a default",
			curriculum.ErrNone),
		cli.On(cli.ExitUsage, "", curriculum.ErrName))
	if err = cli.CuratedTrouble(err); errors.As(err, new(*cli.Failure)) || isFull(err) {
		return err
	}
	return cli.ModelTrouble(ctx, err)
}

// isFull reports disk errors, which modelTrouble does not cover.
func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EROFS) || errors.Is(err, fs.ErrPermission)
}
