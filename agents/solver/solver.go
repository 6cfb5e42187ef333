// Package solver is the agent that asks a local model itself: it has context retrieved, asks the model of the stage
// execute_code for search/replace edits, and carries them out in the workspace.
//
// One answer is one attempt. The edits of an answer are carried out all or none; what was wrong with an answer is the
// class of a failed attempt, which the next attempt is told (SOLVE-07). Only a request for more context, with names of
// what is missing, is answered within an attempt. Worktrees, gates, attempts and landing are the runner's, as for any
// other agent.
//
// The solver knows the repository from what retrieval hands over, and never opens the index (SOLVE-08).
package solver

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/internal/prompt"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/internal/tokens"
	"github.com/runplan/runplan/knowledge/retrieve"
	"github.com/runplan/runplan/llm"
)

// Name is the agent's name on the command line and in the journal.
const Name = "solver"

// Config is what a solver works with.
type Config struct {
	LLM     llm.Completer
	Model   func(name string) (llm.Model, error) // of the stage execute_code; a name is one that the batch asks for
	Budget  tokens.Budget                        // its window counts where the model has none of its own
	Stages  []string                             // of retrieval
	Loops   int                                  // most refinements within an attempt (RETR-16)
	Prompts prompt.Set                           // see [LoadPrompts]

	Retrieve Retrieval // context for a task
	Refine   Retrieval // and more of it

	Sessions func(ctx context.Context, task string) (Session, error) // opens the session of a task, or makes it
	Log      Log
	Archive  func(ctx context.Context, task string) error // keeps a session that is closed, and removes it (DB-07)

	Task string // what the plan is for, "" where the plan says it
	Repo string // path of the repository, for the log
	Plan string // path of the plan, "" for a task alone
	Now  func() time.Time
}

// Retrieval gets context for a task. Its calls go through the completer that it is given, so that they are counted, and
// what it finds out is kept in the session.
type Retrieval func(ctx context.Context, c llm.Completer, s Session, r retrieve.Request) (retrieve.Package, error)

// Session is what lasts between the attempts at a batch: the part of a session file that the solver uses.
type Session interface {
	Set(ctx context.Context, key string, value any) error
	Get(ctx context.Context, key string, into any) (bool, error)
	Close() error
}

// Log keeps what training reads: the part of the journal that the solver writes. Attempts are the runner's to write.
type Log interface {
	StartTask(ctx context.Context, t store.Task) error
	AddCall(ctx context.Context, c store.Call) error
	FinishTask(ctx context.Context, task string, e store.TaskEnd) error
}

// Agent solves batches with a local model.
type Agent struct {
	cfg Config

	mu    sync.Mutex
	locks map[string]*sync.Mutex // by task: candidates of a batch share its session
}

// New makes an agent of c.
func New(c Config) *Agent {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Agent{cfg: c, locks: map[string]*sync.Mutex{}}
}

// Name returns "solver".
func (a *Agent) Name() string { return Name }

// TaskID is the id under which a batch of a run is logged, and its session kept.
func TaskID(run, batch string) string { return run + "/" + batch }

// lock holds other candidates of the task back while one works on their session.
func (a *Agent) lock(task string) (unlock func()) {
	a.mu.Lock()
	l := a.locks[task]
	if l == nil {
		l = new(sync.Mutex)
		a.locks[task] = l
	}
	a.mu.Unlock()
	l.Lock()
	return l.Unlock
}

// Run makes one attempt at t.
func (a *Agent) Run(ctx context.Context, t agents.Task, obs agents.Observer) (agents.Result, error) {
	res, err := a.run(ctx, t, obs)
	if err != nil {
		return agents.Result{}, fmt.Errorf("agent %s: %w", Name, err)
	}
	return res, nil
}

// errTotal is the cause of a context that ends with the limit of the attempt.
var errTotal = errors.New("the time limit of the attempt")

func (a *Agent) run(ctx context.Context, t agents.Task, obs agents.Observer) (agents.Result, error) {
	if err := t.CheckDir(); err != nil {
		return agents.Result{}, err
	}
	model, err := a.cfg.Model(t.Model)
	if err != nil {
		return agents.Result{}, unusable(err)
	}
	if t.Limits.Total > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, t.Limits.Total, errTotal)
		defer cancel()
	}
	w, err := a.begin(ctx, t, obs, model)
	if err != nil {
		return agents.Result{}, err
	}
	defer w.close()
	return w.finish(ctx, w.attempt(ctx))
}

// End is called once a batch has ended for good: its totals are written, and its session is kept and removed (DB-07).
func (a *Agent) End(ctx context.Context, e agents.End) error {
	task := TaskID(e.Run, e.Batch)
	defer a.lock(task)()
	var errs []error
	if err := a.cfg.Log.FinishTask(ctx, task, store.TaskEnd{Success: e.Success, Diff: e.Diff}); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(append(errs, a.cfg.Archive(ctx, task))...)
}
