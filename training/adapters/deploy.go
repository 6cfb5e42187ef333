package adapters

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/runplan/runplan/internal/atomicfile"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/llm"
	"github.com/runplan/runplan/training"
)

// Deployer deploys adapters and rolls them back. It combines the registry with the files, the server that creates the
// models, and the rows that assign adapters to stages.
type Deployer struct {
	Registry Registry
	Server   string      // address of the Ollama server
	LLM      llm.Options // options for asking it
	Window   int         // window of the test call in tokens; 0: the model's own
	Curated  *store.Curated
	Ledger   *store.Training
	Log      *store.Log // of the same journal
	Keep     int        // versions of an adapter to keep; 0: all
	Now      func() time.Time
	Note     func(string) // receives progress messages; may be nil
}

// BrokenError reports a model that the server creates but cannot run, or that gives an empty answer. Such a model is
// never activated.
type BrokenError struct {
	Tag string
	Err error
}

func (e *BrokenError) Error() string {
	return fmt.Sprintf("model %s was created but does not answer: %v; it was removed", e.Tag, e.Err)
}

func (e *BrokenError) Unwrap() error { return e.Err }

// UntestedError reports a test call without a result: the server was unreachable or too slow.
type UntestedError struct {
	Tag string
	Err error
}

func (e *UntestedError) Error() string {
	return fmt.Sprintf("model %s could not be tested, and is not active: %v", e.Tag, e.Err)
}

func (e *UntestedError) Unwrap() error { return e.Err }

// MismatchError reports an adapter for another base model.
type MismatchError struct{ What, Have, Want string }

func (e *MismatchError) Error() string {
	return fmt.Sprintf("the adapter is for %s %s, and the model of the stage is %s", e.What, e.Have, e.Want)
}

// Changed describes the effect of a deployment or a rollback.
type Changed struct {
	Stage   training.Stage `json:"stage"`
	Tag     string         `json:"model_tag"` // tag that is active now; "": the model of the role
	Version string         `json:"version,omitempty"`
	Before  string         `json:"before,omitempty"` // tag that was active before
	Answer  string         `json:"test_answer,omitempty"`
	Removed []string       `json:"removed"` // tags of removed old versions
}

// Deploy activates a version. It checks the file and asks agree for a person's consent. The server then creates a
// model from base and adapter, which must answer a test question. Only then Deploy activates it for its stage. base is
// the model tag that the settings name for the role. An interrupted deployment can be repeated.
func (d Deployer) Deploy(ctx context.Context, v Version, base string, agree func(subject string) error) (Changed,
	error) {
	out := Changed{Stage: v.Stage, Tag: v.Tag, Version: v.Name(), Removed: []string{}}
	if v.BaseModel != base {
		return out, &MismatchError{"model", v.BaseModel, base}
	}
	if err := d.fits(ctx, v); err != nil {
		return out, err
	}
	if err := agree(fmt.Sprintf("%s as %s for stage %s", v.Name(), v.Tag, v.Stage)); err != nil {
		return out, err
	}
	before, err := d.active(ctx, v.Stage)
	if err != nil {
		return out, err
	}
	out.Before = before.Tag
	if out.Answer, err = d.made(ctx, v, before.Tag); err != nil {
		return out, err
	}
	if err := d.activate(ctx, v); err != nil {
		return out, err
	}
	out.Removed, err = d.retain(ctx, v.Adapter)
	return out, err
}

// fits makes the checks that need no new model: the file is the trained one, is an adapter, and has the architecture
// of the base.
func (d Deployer) fits(ctx context.Context, v Version) error {
	info, err := Inspect(v.File())
	if err != nil {
		return err
	}
	sum, err := atomicfile.Sum(v.File())
	if err != nil {
		return err
	}
	if sum != v.FileSHA256 {
		return &FileError{v.File(), "it is not the file that was trained; train it again"}
	}
	below, err := llm.Inspect(ctx, d.LLM, llm.Model{Name: v.BaseModel, BaseURL: d.Server})
	switch {
	case err != nil:
		return err
	case below.Adapted:
		return &llm.AdaptedBaseError{Base: v.BaseModel}
	case below.Architecture != "" && below.Architecture != info.Architecture:
		return &MismatchError{"architecture", info.Architecture, below.Architecture}
	}
	return nil
}

// made has the server create the model of a version and tests it. It removes a broken model, and deactivates it if it
// was active.
func (d Deployer) made(ctx context.Context, v Version, active string) (answer string, err error) {
	f, err := os.Open(v.File())
	if err != nil {
		return "", fmt.Errorf("read the adapter: %w", err)
	}
	defer f.Close()
	d.note("making %s of %s and %s", v.Tag, v.BaseModel, v.Name())
	if err := llm.Adapt(ctx, d.LLM,
		llm.Adapted{BaseURL: d.Server, Name: v.Tag, Base: v.BaseModel, File: adapterFile, Adapter: f}); err != nil {
		return "", err
	}
	answer, err = d.test(ctx, v)
	if !errors.As(err, new(*BrokenError)) {
		return answer, err
	}
	ctx = context.WithoutCancel(ctx)
	if v.Tag == active {
		err = errors.Join(err, d.Curated.DeactivateAdapters(ctx, string(v.Stage)), d.deployed(ctx, v.Tag, false))
	}
	return "", errors.Join(err, llm.Remove(ctx, d.LLM, d.Server, v.Tag))
}

// test asks the model of a version one question. This is the only way to find adapters that the server cannot run,
// because it creates their models without an error.
func (d Deployer) test(ctx context.Context, v Version) (string, error) {
	d.note("asking %s a question", v.Tag)
	o := d.LLM
	o.Retries = min(o.Retries, 1)
	m := llm.Model{Role: llm.Role(v.Base), Name: v.Tag, Provider: llm.Ollama, BaseURL: d.Server, Window: d.Window,
		MaxTokens: 32}
	res, err := llm.New(o).Complete(ctx,
		llm.Request{Model: m, Stage: llm.Stage(v.Stage), Prompt: "Answer with one word: are you ready?"})
	switch {
	case errors.As(err, new(*llm.LengthError)):
		return res.Partial, nil // it answers; the token limit stopped it
	case errors.As(err, new(*llm.DownError)), errors.As(err, new(*llm.TimeoutError)), ctx.Err() != nil:
		return "", &UntestedError{v.Tag, err}
	case err != nil:
		return "", &BrokenError{v.Tag, err}
	case res.Text == "":
		return "", &BrokenError{v.Tag, errors.New("its answer is empty")}
	}
	return res.Text, nil
}

// activate writes the row that assigns the adapter to its stage, and records that in the journal.
func (d Deployer) activate(ctx context.Context, v Version) error {
	before, err := d.active(ctx, v.Stage)
	if err != nil {
		return err
	}
	notes := v.Name()
	if v.Loss != nil {
		notes += fmt.Sprintf(", loss %g", *v.Loss)
	}
	row := store.Adapter{Stage: string(v.Stage), BaseModel: string(v.Base), Tag: v.Tag, Version: v.Number, Notes: notes}
	if err := d.Curated.ActivateAdapter(ctx, row, d.Now()); err != nil {
		return err
	}
	if before.Tag != "" && before.Tag != v.Tag {
		if err := d.deployed(ctx, before.Tag, false); err != nil {
			return err
		}
	}
	return d.deployed(ctx, v.Tag, true)
}

func (d Deployer) active(ctx context.Context, s training.Stage) (store.Adapter, error) {
	a, _, err := d.Curated.AdapterForStage(ctx, string(s))
	return a, err
}

// deployed records in the journal whether an adapter is active.
func (d Deployer) deployed(ctx context.Context, tag string, on bool) error {
	all, err := d.Log.TrainedAdapters(ctx)
	if err != nil {
		return err
	}
	for _, a := range slices.Backward(all) {
		if a.Tag == tag {
			return d.Ledger.AddDeployment(ctx, a.ID, on, d.Now())
		}
	}
	return nil // trained elsewhere; its row in the index counts
}

// retain removes old versions above the number to keep: model, row and folder. It never removes the active version, nor
// the version that a rollback would activate (TRAIN-23). If the server fails to remove a model, the folder stays and
// the next call tries again.
func (d Deployer) retain(ctx context.Context, adapter string) ([]string, error) {
	removed := []string{}
	all, err := d.Registry.Versions(adapter)
	if err != nil || d.Keep <= 0 || len(all) <= d.Keep {
		return removed, err
	}
	for _, v := range all[:len(all)-d.Keep] {
		now, err := d.active(ctx, v.Stage)
		if err != nil {
			return removed, err
		}
		before, _, err := d.previous(ctx, v.Stage, now)
		if err != nil {
			return removed, err
		}
		if v.Tag == now.Tag || v.Tag == before.Tag {
			continue
		}
		if err := llm.Remove(ctx, d.LLM, d.Server, v.Tag); err != nil {
			return removed, fmt.Errorf("remove %s, which is not kept any longer: %w", v.Tag, err)
		}
		if err := d.Curated.ForgetAdapter(ctx, string(v.Stage), v.Tag); err != nil {
			return removed, err
		}
		if err := os.RemoveAll(v.dir); err != nil {
			return removed, fmt.Errorf("remove %s: %w", v.Name(), err)
		}
		removed = append(removed, v.Tag)
	}
	return removed, nil
}

func (d Deployer) note(format string, args ...any) {
	if d.Note != nil {
		d.Note(fmt.Sprintf(format, args...))
	}
}

// Trial makes sure that the server has the model of a version. remove deletes that model if Trial created it. Nothing
// is activated.
func (d Deployer) Trial(ctx context.Context, v Version) (remove func(), err error) {
	if err := d.fits(ctx, v); err != nil {
		return nil, err
	}
	_, err = llm.Inspect(ctx, d.LLM, llm.Model{Name: v.Tag, BaseURL: d.Server})
	if err == nil {
		return func() {}, nil
	}
	if !errors.As(err, new(*llm.NotFoundError)) {
		return nil, err
	}
	if _, err := d.made(ctx, v, ""); err != nil {
		return nil, err
	}
	return func() { _ = llm.Remove(context.WithoutCancel(ctx), d.LLM, d.Server, v.Tag) }, nil
}
