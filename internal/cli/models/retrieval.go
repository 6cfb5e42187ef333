package models

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/internal/prompt"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/internal/tokens"
	"github.com/runplan/runplan/knowledge"
	"github.com/runplan/runplan/knowledge/retrieve"
	"github.com/runplan/runplan/llm"
	"github.com/runplan/runplan/patterns"
)

// Tools holds what commands need to ask models about a repository.
type Tools struct {
	Project *cli.Project
	Router  *llm.Router
	LLM     llm.Completer
	Journal *store.Journal
	curated *store.CuratedReader
	base    knowledge.Base
	repo    int64
	prompts prompt.Set // of retrieval
	Solver  prompt.Set
	program patterns.Program
	Redact  *redact.Redactor
	environ []string
	embed   retrieve.Embed
}

// openRetrieval opens the index, the log and the models of a project. The caller must close it.
func openRetrieval(ctx context.Context, p *cli.Project, b tokens.Budget) (*Tools, error) {
	r, err := openAsking(ctx, p, llm.Coding, b.Window, nil)
	if err != nil {
		return nil, err
	}
	return r.withLog(ctx)
}

// withLog opens the log. If it cannot, it closes the rest.
func (r *Tools) withLog(ctx context.Context) (_ *Tools, err error) {
	if r.Journal, err = store.OpenJournal(ctx, r.Project.Layout.Journal()); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// noModel replaces the name of a model if no model was asked.
const noModel = "none"

// openSearch opens the index and the log of a project, without a model.
func openSearch(ctx context.Context, p *cli.Project) (*Tools, error) {
	r, err := indexOf(ctx, p)
	if err != nil {
		return nil, err
	}
	if r.program, err = p.AstGrep(ctx); err != nil {
		r.Close()
		return nil, err
	}
	return r.withLog(ctx)
}

// Where returns a function that asks the index for the files and lines of a commit that a text is probably about.
// Without an index it returns nothing.
func Where(p *cli.Project) func(ctx context.Context, commit, text string) ([]string, error) {
	return func(ctx context.Context, commit, text string) ([]string, error) {
		r, err := indexOf(ctx, p)
		if err != nil {
			return nil, nil // the index is optional; commands that need it report its errors
		}
		defer r.Close()
		if r.program, err = p.AstGrep(ctx); err != nil {
			return nil, err
		}
		places, err := retrieve.Where(ctx, r.deps(nil, nil, nil), retrieve.Request{
			Text: text, Dir: p.Repo.Root, Git: p.Repo, Commit: commit, Stages: retrieve.StageNames(), Budget: tokens.Budget{Window: 1},
		})
		switch {
		case errors.Is(err, retrieve.ErrNoIndex):
			return nil, nil
		case err != nil:
			return nil, err
		}
		return lists.Map(places, func(x retrieve.Place) string { return r.Clean(x.Line()) }), nil
	}
}

// Matches returns an error if nothing in the index matches a task.
func Matches(ctx context.Context, p *cli.Project, task string) error {
	r, err := indexOf(ctx, p)
	if err != nil {
		return err
	}
	defer r.Close()
	return cli.ModelTrouble(ctx, retrieve.Check(ctx, r.deps(nil, nil, nil), retrieve.Request{
		Text: task, Dir: p.Repo.Root, Stages: retrieve.StageNames(), Budget: tokens.Budget{Window: 1}}))
}

// openAsking does what [openRetrieval] does, without a log. A run has its own log.
func openAsking(ctx context.Context, p *cli.Project, role llm.Role, window int, reaper *proc.Reaper) (*Tools, error) {
	r, err := indexOf(ctx, p)
	if err != nil {
		return nil, err
	}
	err = openModels(ctx, p.App, r, role, window, reaper)
	if err == nil {
		r.prompts, err = p.Prompts(retrieve.LoadPrompts)
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// indexOf opens the index for reading. If it is missing or empty, the error tells the user to build it.
func indexOf(ctx context.Context, p *cli.Project) (*Tools, error) {
	none := cli.Usage(fmt.Errorf("%s is not indexed", p.Repo.Root), "run: runplan index")
	db, err := store.OpenCuratedReader(ctx, cli.CuratedFile(p.Repo))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, none
	case err != nil:
		return nil, cli.CuratedTrouble(err)
	}
	r := &Tools{Project: p, Redact: p.Redactor(), environ: p.Environ, curated: db, base: knowledge.NewBase(db)}
	if r.repo, err = r.base.Repo(ctx, p.Repo.Root); err == nil && r.repo == 0 {
		err = none
	}
	if err != nil {
		db.Close()
		return nil, err
	}
	return r, nil
}

// Indexed reports whether the repository has an index that retrieval can use.
func Indexed(ctx context.Context, p *cli.Project) bool {
	r, err := indexOf(ctx, p)
	if err != nil {
		return false
	}
	r.Close()
	return true
}

func (r *Tools) Close() {
	if r.Journal != nil {
		r.Journal.Close()
	}
	r.curated.Close()
}

// deps returns the dependencies of a retrieval: c asks the model, s stores progress.
func (r *Tools) deps(c llm.Completer, log retrieve.Log, s retrieve.Session) retrieve.Deps {
	asked := r.Project.Config.Stages
	var model func(llm.Stage) (llm.Model, error)
	if r.Router != nil {
		model = r.Router.Model
	}
	return retrieve.Deps{
		Base: r.base, Repo: r.repo, LLM: c, Model: model, Embed: r.embed, Log: log, Session: s,
		Limits: retrieve.Limits{Candidates: asked.Files, Symbols: asked.Symbols}, Prompts: r.prompts, Program: r.program,
		Environ: r.environ, Redact: r.Clean, Now: time.Now,
	}
}

// PutAway closes the session of a task. Its contents move to the log.
func (r *Tools) PutAway(ctx context.Context, s io.Closer, task string) error {
	return errors.Join(s.Close(),
		r.Journal.ArchiveSession(context.WithoutCancel(ctx), r.Project.Layout.Sessions(), task, time.Now()))
}

// Clean makes foreign text safe to store and show.
func (r *Tools) Clean(text string) string { return redact.Clean(r.Redact.String(text)) }

// openModels adds what is needed to call models: the router over the settings and the active adapters, the client,
// and ast-grep for files changed since the index was built. window overrides the window of the role; 0 means none.
func openModels(ctx context.Context, a *cli.App, r *Tools, role llm.Role, window int, reaper *proc.Reaper) error {
	p := r.Project
	o := llm.RouterOptions{Window: cmp.Or(p.Config.Budget.ContextWindow, window)} // also for the other role
	if window > 0 {
		o.Windows = map[llm.Role]int{role: window}
	}
	o.Adapter = func(s llm.Stage) (string, bool) {
		found, ok, err := r.curated.AdapterForStage(ctx, string(s))
		return found.Tag, ok && err == nil
	}
	var err error
	if r.Router, err = llm.NewRouter(p.Config.Models, o); err != nil {
		return cli.ModelTrouble(ctx, err)
	}
	options := p.ModelOptions(reaper)
	r.LLM = llm.New(options)
	if p.Config.Models.Embedding != "" {
		r.embed = func(ctx context.Context, text string) (string, []float32, error) {
			e, err := llm.NewEmbedder(ctx, options, p.Config.Models)
			if err != nil {
				return "", nil, err
			}
			vectors, err := e.Embed(ctx, []string{r.Clean(text)})
			if err != nil {
				return "", nil, err
			}
			return e.ID, vectors[0], nil
		}
	}
	r.program, err = a.AstGrep(ctx)
	return err
}
