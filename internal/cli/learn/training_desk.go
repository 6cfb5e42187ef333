package learn

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/llm"
	"github.com/runplan/runplan/training"
	"github.com/runplan/runplan/training/adapters"
	"github.com/runplan/runplan/training/curriculum"
	"github.com/runplan/runplan/trust"
)

// forAdapter opens the project and reads the specification of an adapter. It rejects a signature that an agent gives.
func forAdapter(ctx context.Context, a *cli.App, name string, o deployOptions) (*cli.Project, curriculum.Spec, error) {
	p, err := a.OpenProject(ctx)
	if err != nil {
		return nil, curriculum.Spec{}, err
	}
	if o.by.Name != "" {
		if err := a.NotAnAgent("deploying an adapter"); err != nil {
			return nil, curriculum.Spec{}, err
		}
	}
	spec, err := curriculum.Load(p.Repo.Root, name)
	if err != nil {
		return nil, spec, adapterTrouble(ctx, badCurriculum(err))
	}
	if p.Config.Models.Provider == llm.Command {
		return nil, spec, cli.Usage(errors.New("adapters need an Ollama server, but models.provider is command"),
			"runplan cannot choose the model of your program")
	}
	return p, spec, a.TrustConfig(p, o.trust)
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

// desk opens all files that a deployment writes.
func desk(ctx context.Context, a *cli.App, p *cli.Project, spec curriculum.Spec) (d adapters.Desk, done func(),
	err error) {
	if _, err := baseModel(p, spec.Base()); err != nil {
		return d, nil, cli.ModelTrouble(ctx, err)
	}
	if _, err := os.Stat(cli.CuratedFile(p.Repo)); errors.Is(err, fs.ErrNotExist) {
		return d, nil, cli.Usage(fmt.Errorf("%s is not indexed, but the index records which adapters are active", p.Repo.Root),
			"run: runplan index")
	}
	var opened cli.Closers
	defer opened.CloseAfter(&err)
	d = adapters.Desk{
		Registry: adapters.RegistryOf(p.Layout.Root), Server: p.Config.Models.BaseURL, LLM: a.ModelOptions(p, nil),
		Keep: spec.Versioning.RetentionCount, Now: time.Now,
		Note: func(s string) { fmt.Fprintln(a.Stderr, ui.Sanitize(s)) },
	}
	if d.Curated, err = store.OpenCurated(ctx, cli.CuratedFile(p.Repo)); err != nil {
		return d, nil, cli.CuratedTrouble(err)
	}
	opened.Add(func() { d.Curated.Close() })
	if d.Ledger, err = openLedger(ctx, p); err != nil {
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

// errUnsigned reports that a person has to sign first.
var errUnsigned = errors.New("waits for its owner")

// mayDeploy checks the owner's contract for a deployment and records the signature.
func mayDeploy(ctx context.Context, a *cli.App, what string, by trust.Signed) func(string) error {
	return func(subject string) error {
		if by.Name == "" {
			return fmt.Errorf("%s of %s %w", what, subject, errUnsigned)
		}
		k, err := a.Keeper()
		if err != nil {
			return err
		}
		return k.Agree(ctx, trust.GateDeploy, subject, by)
	}
}

// adapterTrouble adds the exit code and a hint to an adapter error.
func adapterTrouble(ctx context.Context, err error) error {
	var known *cli.Failure
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
		return cli.Fail(cli.ExitHuman, err, "the owner signs: --signature NAME --reason TEXT")
	case errors.As(err, &refused):
		return cli.TrustTrouble(err)
	case errors.As(err, &broken):
		return cli.Fail(cli.ExitFailed, err,
			"nothing became active; see the server's log. Adapters need an architecture of llama.cpp's own runner, such "+
				"as llama and qwen2")
	case errors.As(err, &untested):
		if ctx.Err() != nil {
			return cli.Fail(cli.ExitInterrupted, errors.New("interrupted; nothing became active"), "do it again")
		}
		return cli.Fail(cli.ExitCannotRun, err, "try again when the server answers")
	case errors.As(err, &file), errors.As(err, &stacked):
		return cli.Fail(cli.ExitFailed, err, "nothing was changed")
	case errors.As(err, &mismatch):
		return cli.Fail(cli.ExitFailed, err, "train one for the model of the settings: runplan training train")
	case errors.As(err, &failed):
		if failed.Log != "" {
			return cli.Fail(cli.ExitFailed, err, "its complete output is in %s", failed.Log)
		}
		return cli.Fail(cli.ExitFailed, err, "")
	case errors.As(err, &few):
		return cli.Fail(cli.ExitFailed, err,
			"add examples, or deliberately set a smaller minimum_corpus_size in curriculum.json")
	case errors.Is(err, adapters.ErrNoVersion):
		return cli.Usage(err,
			"train it: runplan training train --adapter NAME; runplan training adapters lists the existing ones")
	case errors.Is(err, adapters.ErrNotActive):
		return cli.Usage(err, "runplan training adapters shows the state")
	case errors.Is(err, curriculum.ErrNone):
		return cli.Usage(err, "write the file: stage and base_model at least; everything else has a default")
	case errors.Is(err, curriculum.ErrName):
		return cli.Usage(err, "")
	case errors.Is(err, store.ErrBusy), errors.Is(err, store.ErrCorrupt):
		return cli.CuratedTrouble(err)
	case isFull(err):
		return err
	}
	return cli.ModelTrouble(ctx, err)
}

// isFull reports disk errors, which modelTrouble does not cover.
func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EROFS) || errors.Is(err, fs.ErrPermission)
}
