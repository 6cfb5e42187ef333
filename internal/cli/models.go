package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/runplan/runplan/internal/config"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/internal/prompt"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/internal/tokens"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/knowledge/retrieve"
	"github.com/runplan/runplan/llm"
	"github.com/runplan/runplan/runner/journal"
)

// Models returns the router over the settings and the active adapters of the index (C-04).
func (p *Project) Models(ctx context.Context) (*llm.Router, error) {
	all, err := p.DeployedAdapters(ctx)
	if err != nil && !errors.Is(err, store.ErrOlder) {
		return nil, fmt.Errorf("list the active adapters: %w", err)
	}
	active := map[llm.Stage]string{}
	for _, a := range all {
		if a.Active {
			active[llm.Stage(a.Stage)] = a.Tag
		}
	}
	return llm.NewRouter(p.Config.Models,
		llm.RouterOptions{Window: p.Config.Budget.ContextWindow, Adapter: func(s llm.Stage) (string, bool) {
			tag, ok := active[s]
			return tag, ok
		}})
}

// Model returns the model of a stage. Its error has the exit code and a hint.
func (p *Project) Model(ctx context.Context, stage llm.Stage) (llm.Model, error) {
	router, err := p.Models(ctx)
	if err != nil {
		return llm.Model{}, ModelTrouble(ctx, err)
	}
	m, err := router.Model(stage)
	if err != nil {
		return llm.Model{}, ModelTrouble(ctx, err)
	}
	return m, nil
}

// ModelOptions returns the options for asking the models of a project. reaper may be nil.
func (p *Project) ModelOptions(reaper *proc.Reaper) llm.Options {
	o := llm.OptionsOf(p.Config.Models)
	o.Environ, o.Root, o.Redact, o.Reaper = p.Environ, p.Repo.Root, p.Redactor().String, reaper
	return o
}

// ModelOutlet reports where questions to models are sent.
func (p *Project) ModelOutlet() []Outlet {
	m := p.Config.Models
	if !m.Configured() {
		return nil
	}
	w := Outlet{What: "models", Data: "tasks, and the code that they need",
		When: "plan, solve, retrieve, enrich, reviews by models, and training with --ask-model"}
	w.Name = "ollama"
	if m.Embedding != "" {
		w.Data += "; the text of all files, for vectors"
		w.When = "index, " + w.When
	}
	if m.Provider == llm.Command {
		w.Name = m.Command[0]
	}
	return []Outlet{w.ToModel(m.Provider, m.PassEnv, m.BaseURL)}
}

// ToModel adds where the data for a model goes.
func (w Outlet) ToModel(provider string, passEnv []string, baseURL string) Outlet {
	if provider == llm.Command {
		w.To = "anywhere: the program decides"
		if len(passEnv) > 0 {
			w.Data += ", and " + strings.Join(passEnv, ", ")
		}
		return w
	}
	local := config.LoopbackURL(baseURL)
	w.To, w.Local = config.HostOf(baseURL), &local
	if local {
		w.To = "this machine: " + w.To + "; a model on another machine is refused"
	}
	return w
}

// ModelTrouble adds the exit code and a hint to an error of a model or of a question to it.
func ModelTrouble(ctx context.Context, err error) error {
	var answer *llm.AnswerError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return Interrupted("", "")
	case errors.As(err, new(*Failure)):
		return err
	case errors.Is(err, llm.ErrNoModels), errors.As(err, new(*llm.MissingModelError)),
		errors.As(err, new(*llm.MissingSettingError)), errors.As(err, new(*llm.UnknownModelError)),
		errors.As(err, new(*retrieve.StageError)):
		return Usage(err, "")
	case errors.As(err, new(*retrieve.NoMatchError)):
		return Fail(ExitFailed, err,
			"name a file or symbol, or use words of the code; if the code is newer than the index: runplan index")
	case errors.Is(err, retrieve.ErrNoIndex):
		return Usage(err, "run: runplan index")
	case errors.As(err, &answer):
		raw := ui.Brief(redact.New(nil).String(redact.Clean(answer.Raw)), 300)
		return Named("answer-unusable", Fail(ExitFailed, fmt.Errorf("%w; the answer was: %s", err, raw),
			"the complete answer is in .runplan/raw.sqlite; a larger model may follow the format"))
	}
	hint := llm.HintOf(err)
	if strings.Contains(err.Error(), hint) {
		hint = "" // its text already has the hint
	}
	return Named("model-failed", Fail(ExitCannotRun, err, "%s", hint))
}

// Call types in the log of calls for calls outside of retrieval.
const (
	IntentCall    = "inbox_intent"     // classify the intent of an inbox text
	ReviewCall    = "review"           // one pass of a review
	BlueprintCall = "blueprint_review" // compare code with a blueprint
)

// Logged wraps c so that each call is logged. If the log cannot be written, it warns and the review continues.
func (p *Project) Logged(c llm.Completer, task, kind string) llm.Completer {
	return LogCalls(c, task, kind, p.Redactor(), p.addCall, func(model, why string) {
		fmt.Fprintf(p.Stderr, "note: a call of %s was not logged: %s\n", model, why)
	})
}

// LogCalls wraps c so that add gets a row for each call, without secrets. If add fails, missing gets the model and the
// reason.
func LogCalls(c llm.Completer, task, kind string, secrets *redact.Redactor, add func(context.Context, store.Call) error,
	missing func(model, why string)) llm.Completer {
	hide := func(text string) string { return redact.Clean(secrets.String(text)) }
	return llm.CompleterFunc(func(ctx context.Context, r llm.Request) (llm.Response, error) {
		at := time.Now()
		res, err := c.Complete(ctx, r)
		row := store.Call{
			Task: task, Type: kind, Stage: string(r.Stage), Role: string(r.Model.Role), Model: r.Model.Label(),
			System: hide(r.System), Prompt: hide(r.Prompt), Response: hide(res.Text + res.Partial),
			PromptTokens: res.PromptTokens, CompletionTokens: res.CompletionTokens, Latency: res.Latency, At: at,
		}
		if err != nil {
			row.Error = hide(err.Error())
		}
		if kept := add(context.WithoutCancel(ctx), row); kept != nil {
			missing(ui.Sanitize(r.Model.Label()), ui.Sanitize(kept.Error()))
		}
		return res, err
	})
}

// Explained wraps c so that its errors have the exit code and a hint, see [ModelTrouble].
func Explained(c llm.Completer) llm.Completer {
	return llm.CompleterFunc(func(ctx context.Context, r llm.Request) (llm.Response, error) {
		res, err := c.Complete(ctx, r)
		return res, ModelTrouble(ctx, err)
	})
}

func (p *Project) addCall(ctx context.Context, c store.Call) error {
	if err := p.Layout.Make(); err != nil {
		return err
	}
	j, err := store.OpenJournal(ctx, p.Layout.Journal())
	if err != nil {
		return err
	}
	defer j.Close()
	return j.AddCall(ctx, c)
}

// Prompts loads prompts with the project's own ones as the last layer.
func (p *Project) Prompts(load func(...prompt.Layer) (prompt.Set, error)) (prompt.Set, error) {
	set, err := load(prompt.DirLayer(filepath.Join(p.Layout.Root, "prompts")))
	if err != nil {
		return set, Usage(err, "correct the project's prompts, or remove them")
	}
	return set, nil
}

// NewTaskID returns a random UUID (version 4).
func NewTaskID() string { return uuid.NewString() }

// SolveOptions holds the solver flags of the command line. The settings supply missing values; if they do not either,
// it is an error (CFG-04).
type SolveOptions struct {
	Stages string
	Budget tokens.Budget // window 0: take it from the settings
	Loops  figure
	Task   string // task for which a plan is made
}

// figure is a flag for an integer that may be missing.
type figure struct{ N *int }

func (f *figure) String() string {
	if f.N == nil {
		return ""
	}
	return strconv.Itoa(*f.N)
}

func (f *figure) Type() string { return "int" }

func (f *figure) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return errors.New("use a whole number, 0 or above")
	}
	f.N = &n
	return nil
}

// Keep stores the given flags for a later resume.
func (o SolveOptions) Keep(set func(name, value string, on bool)) {
	set("stages", o.Stages, o.Stages != "")
	set("context-window", strconv.Itoa(o.Budget.Window), o.Budget.Window > 0)
	set("reserved-tokens", strconv.Itoa(o.Budget.Reserved), o.Budget.Window > 0)
	set("max-refinement-loops", o.Loops.String(), o.Loops.N != nil)
	set("task", o.Task, o.Task != "")
}

// Take restores the flags stored by keep.
func (o *SolveOptions) Take(flags map[string]string) {
	o.Stages, o.Task = cmp.Or(o.Stages, flags["stages"]), cmp.Or(o.Task, flags["task"])
	if o.Loops.N == nil && flags["max-refinement-loops"] != "" {
		_ = o.Loops.Set(flags["max-refinement-loops"]) // it was a valid number when it was stored
	}
	if o.Budget.Window == 0 {
		o.Budget.Window, _ = strconv.Atoi(flags["context-window"])
		o.Budget.Reserved, _ = strconv.Atoi(flags["reserved-tokens"])
	}
}

// CuratedFile returns the path of the repository's index.
func CuratedFile(repo *git.Repo) string {
	return filepath.Join(journal.LayoutOf(repo.Root).Root, "curated.sqlite")
}

// CuratedTrouble adds a hint to the error of a database that cannot be used. The whole index can be rebuilt.
func CuratedTrouble(err error) error {
	return Advise(err,
		On(ExitLocked, "wait for the other indexing process", store.ErrBusy),
		On(ExitCannotRun, "move .runplan/curated.sqlite away and run: runplan index", store.ErrCorrupt))
}

// DeployedAdapters returns the adapter rows of the index. Without an index there are none.
func (p *Project) DeployedAdapters(ctx context.Context) ([]store.DeployedAdapter, error) {
	db, found, err := IfExists(store.OpenCuratedReader(ctx, CuratedFile(p.Repo)))
	if !found {
		return nil, err
	}
	defer db.Close()
	return db.Adapters(ctx)
}
