//go:build !slim

package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/llm"
	"github.com/runplan/runplan/training"
	"github.com/runplan/runplan/training/adapters"
	"github.com/runplan/runplan/training/curriculum"
	"github.com/runplan/runplan/trust"
)

// forAdapter opens the project and reads the specification of an adapter. It rejects a signature that an agent gives.
func (a *App) forAdapter(ctx context.Context, name string, o deployOptions) (*project, curriculum.Spec, error) {
	p, err := a.openProject(ctx)
	if err != nil {
		return nil, curriculum.Spec{}, err
	}
	if o.by.Name != "" {
		if err := a.notAnAgent("deploying an adapter"); err != nil {
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

// baseModel returns the model under the adapters of a base.
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

// desk opens all files that a deployment writes.
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
		Registry: adapters.RegistryOf(p.layout.Root), Server: p.config.Models.BaseURL, LLM: o, Keep: spec.Versioning.RetentionCount, Now: time.Now,
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
	return d, done, d.Registry.Register(ctx, d.Ledger, d.Log) // registers versions that a killed training did not
}

// errUnsigned reports that a person has to sign first.
var errUnsigned = errors.New("waits for its owner")

// mayDeploy checks the owner's contract for a deployment and records the signature.
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

// adapterTrouble adds the exit code and a hint to an adapter error.
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

// isFull reports disk errors, which modelTrouble does not cover.
func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EROFS) || errors.Is(err, fs.ErrPermission)
}
