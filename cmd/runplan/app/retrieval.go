package app

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/internal/prompt"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/internal/tokens"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/knowledge"
	"github.com/runplan/runplan/knowledge/retrieve"
	"github.com/runplan/runplan/llm"
	"github.com/runplan/runplan/patterns"
)

// retrieval holds what commands need to ask models about a repository.
type retrieval struct {
	project *project
	router  *llm.Router
	llm     llm.Completer
	journal *store.Journal
	curated *store.CuratedReader
	base    knowledge.Base
	repo    int64
	prompts prompt.Set
	program patterns.Program
	redact  *redact.Redactor
	environ []string
}

// openRetrieval opens the index, the log and the models of a project. The caller must close it.
func (a *App) openRetrieval(ctx context.Context, p *project, b tokens.Budget) (*retrieval, error) {
	r, err := a.openAsking(ctx, p, llm.Coding, b.Window, nil)
	if err != nil {
		return nil, err
	}
	if r.journal, err = store.OpenJournal(ctx, p.layout.Journal()); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// noModel replaces the name of a model if no model was asked.
const noModel = "none"

// openSearch opens the index and the log of a project, without a model.
func (a *App) openSearch(ctx context.Context, p *project, _ tokens.Budget) (*retrieval, error) {
	r := &retrieval{project: p, redact: a.redactor(p), environ: a.Environ}
	if err := r.openIndex(ctx); err != nil {
		return nil, err
	}
	var err error
	if r.program, err = a.astGrep(ctx); err != nil && !errors.Is(err, patterns.ErrMissing) {
		r.close()
		return nil, fail(exitCannotRun, err, "")
	}
	if r.journal, err = store.OpenJournal(ctx, p.layout.Journal()); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// briefPlaces is the highest number of probable files that a brief names.
const briefPlaces = 8

// where returns a function that asks the index for the files and lines that a text is probably about. Without an index
// it returns nothing.
func (a *App) where(p *project) func(context.Context, string) ([]string, error) {
	return func(ctx context.Context, text string) ([]string, error) {
		r := &retrieval{project: p, redact: a.redactor(p), environ: a.Environ}
		if err := r.openIndex(ctx); err != nil {
			return nil, nil // the index is optional; commands that need it report its errors
		}
		defer r.close()
		places, err := retrieve.Where(ctx, r.deps(nil, nil, nil), retrieve.Request{
			Text: text, Dir: p.repo.Root, Stages: retrieve.StageNames(), Budget: tokens.Budget{Window: 1},
		}, briefPlaces)
		switch {
		case errors.Is(err, retrieve.ErrNoIndex):
			return nil, nil
		case err != nil:
			return nil, err
		}
		var out []string
		for _, x := range places {
			out = append(out, r.clean(x.Line()))
		}
		return out, nil
	}
}

// openAsking does what [App.openRetrieval] does, without a log. A run has its own log.
func (a *App) openAsking(ctx context.Context, p *project, role llm.Role, window int, reaper *proc.Reaper) (*retrieval,
	error) {
	r := &retrieval{project: p, redact: a.redactor(p), environ: a.Environ}
	if err := r.openIndex(ctx); err != nil {
		return nil, err
	}
	err := a.openModels(ctx, r, role, window, reaper)
	if err == nil {
		if r.prompts, err = retrieve.LoadPrompts(p.prompts()); err != nil {
			err = usage(err, "correct the project's prompts, or remove them")
		}
	}
	if err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// openIndex opens the index for reading. If it is missing or empty, the error tells the user to build it.
func (r *retrieval) openIndex(ctx context.Context) error {
	root := r.project.repo.Root
	none := usage(fmt.Errorf("%s is not indexed", root), "run: runplan index")
	db, err := store.OpenCuratedReader(ctx, curatedFile(r.project.repo))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return none
	case err != nil:
		return curatedTrouble(err)
	}
	r.curated, r.base = db, knowledge.NewBase(db)
	if r.repo, err = r.base.Repo(ctx, root); err == nil && r.repo == 0 {
		err = none
	}
	if err != nil {
		db.Close()
	}
	return err
}

// indexed reports whether the repository has an index that retrieval can use.
func (p *project) indexed(ctx context.Context) bool {
	r := &retrieval{project: p}
	if r.openIndex(ctx) != nil {
		return false
	}
	r.close()
	return true
}

func (r *retrieval) close() {
	if r.journal != nil {
		r.journal.Close()
	}
	r.curated.Close()
}

// deps returns the dependencies of a retrieval: c asks the model, s stores progress.
func (r *retrieval) deps(c llm.Completer, log retrieve.Log, s retrieve.Session) retrieve.Deps {
	asked := r.project.config.Stages
	var model func(llm.Stage) (llm.Model, error)
	if r.router != nil {
		model = r.router.Model
	}
	return retrieve.Deps{
		Base: r.base, Repo: r.repo, LLM: c, Model: model, Log: log, Session: s,
		Limits: retrieve.Limits{Candidates: asked.Files, Symbols: asked.Symbols}, Prompts: r.prompts, Program: r.program,
		Environ: r.environ, Redact: r.clean, Now: time.Now,
	}
}

// putAway closes the session of a task. Its contents move to the log.
func (r *retrieval) putAway(ctx context.Context, s io.Closer, task string) error {
	return errors.Join(s.Close(),
		r.journal.ArchiveSession(context.WithoutCancel(ctx), r.project.layout.Sessions(), task, time.Now()))
}

// clean makes foreign text safe to store and show.
func (r *retrieval) clean(text string) string { return redact.Clean(r.redact.String(text)) }

// prompts returns the layer of the project's own prompts.
func (p *project) prompts() prompt.Layer {
	return prompt.DirLayer(filepath.Join(p.layout.Root, "prompts"))
}

// openModels adds what is needed to ask models: the router over the settings and the active adapters, the client, and
// ast-grep for files changed since the index was built. window overrides the window of the role; 0 means none.
func (a *App) openModels(ctx context.Context, r *retrieval, role llm.Role, window int, reaper *proc.Reaper) error {
	p := r.project
	o := llm.RouterOptions{Window: cmp.Or(p.config.Budget.ContextWindow, window)} // also for the other role
	if window > 0 {
		o.Windows = map[llm.Role]int{role: window}
	}
	o.Adapter = func(s llm.Stage) (string, bool) {
		found, ok, err := r.curated.AdapterForStage(ctx, string(s))
		return found.Tag, ok && err == nil
	}
	var err error
	if r.router, err = llm.NewRouter(p.config.Models, o); err != nil {
		return modelTrouble(ctx, err)
	}
	options := llm.OptionsOf(p.config.Models)
	options.Environ, options.Redact, options.Reaper, options.Root = a.Environ, r.redact.String, reaper, p.repo.Root
	r.llm = llm.New(options)
	if r.program, err = a.astGrep(ctx); err != nil && !errors.Is(err, patterns.ErrMissing) {
		return fail(exitCannotRun, err, "")
	}
	return nil
}

// newTaskID returns a random UUID (version 4).
func newTaskID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// modelTrouble adds the exit code and a hint to an error of a model or of a question to it.
func modelTrouble(ctx context.Context, err error) error {
	var known *failure
	var missing *llm.MissingModelError
	var unset *llm.MissingSettingError
	var unknown *llm.UnknownModelError
	var answer *llm.AnswerError
	var stage *retrieve.StageError
	var nothing *retrieve.NoMatchError
	switch {
	case ctx.Err() != nil:
		return fail(exitInterrupted, errors.New("interrupted"), "")
	case errors.As(err, &known):
		return err
	case errors.Is(err, llm.ErrNoModels), errors.As(err, &missing), errors.As(err, &unset), errors.As(err, &unknown),
		errors.As(err, &stage):
		return usage(err, "")
	case errors.As(err, &nothing):
		return fail(exitFailed, err,
			"name a file or symbol, or use words of the code; if the code is newer than the index: runplan index")
	case errors.Is(err, retrieve.ErrNoIndex):
		return usage(err, "run: runplan index")
	case errors.As(err, &answer):
		raw := ui.Cut(strings.Join(strings.Fields(redact.New(nil).String(redact.Clean(answer.Raw))), " "), 300, "…")
		return fail(exitFailed, fmt.Errorf("%w; the answer was: %s", err, raw),
			"the whole of it is in .runplan/raw.sqlite; a larger model may keep to the form")
	}
	hint := llm.HintOf(err)
	if strings.Contains(err.Error(), hint) {
		hint = "" // its text already has the hint
	}
	return fail(exitCannotRun, err, "%s", hint)
}
