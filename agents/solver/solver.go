// Package solver is the agent that calls a local model itself. It retrieves context, asks the model of the stage
// execute_code for search/replace edits, and applies them in the workspace.
//
// One answer is one attempt. Either all edits of an answer are applied, or none. A fault in an answer becomes the class
// of the failed attempt, and the next attempt gets it (SOLVE-07). Only a request for more context, with the names of
// missing parts, is answered within an attempt. Worktrees, gates, attempts and landing belong to the runner, as for all
// agents.
//
// The solver knows the repository only through retrieval and never opens the index (SOLVE-08).
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

// Config is the configuration of a solver.
type Config struct {
	LLM llm.Completer
	// returns the model of the stage execute_code, or the one with the name that the batch requests
	Model   func(name string) (llm.Model, error)
	Budget  tokens.Budget // its window applies if the model has no window
	Stages  []string      // of retrieval
	Loops   int           // maximum refinements within an attempt (RETR-16)
	Prompts prompt.Set    // see [LoadPrompts]

	Retrieve Retrieval // retrieves context for a task
	Refine   Retrieval // extends it

	Sessions func(ctx context.Context, task string) (Session, error) // opens or creates the session of a task
	Log      Log
	Archive  func(ctx context.Context, task string) error // archives a closed session and removes it (DB-07)

	Task string // purpose of the plan, "" if the plan states it
	Repo string // path of the repository, for the log
	Plan string // path of the plan, "" for a single task
	Now  func() time.Time
}

// Retrieval gets context for a task. Its model calls go through c, so that they are counted. It stores its results
// in the session.
type Retrieval func(ctx context.Context, c llm.Completer, s Session, r retrieve.Request) (retrieve.Package, error)

// Session is the state that lasts between the attempts at a batch: the part of a session file that the solver uses.
type Session interface {
	Set(ctx context.Context, key string, value any) error
	Get(ctx context.Context, key string, into any) (bool, error)
	Close() error
}

// Log is the part of the journal that the solver writes, for training. The runner writes the attempts.
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

// New returns an agent with configuration c.
func New(c Config) *Agent {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Agent{cfg: c, locks: map[string]*sync.Mutex{}}
}

// Name returns "solver".
func (a *Agent) Name() string { return Name }

// TaskID returns the id of a batch's log entries and session.
func TaskID(run, batch string) string { return run + "/" + batch }

// lock locks the session of a task against its other candidates.
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

// Run performs one attempt at t.
func (a *Agent) Run(ctx context.Context, t agents.Task, obs agents.Observer) (agents.Result, error) {
	res, err := a.run(ctx, t, obs)
	if err != nil {
		return agents.Result{}, fmt.Errorf("agent %s: %w", Name, err)
	}
	return res, nil
}

// errTotal is the cause of a context that ends at the time limit of the attempt.
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

// End writes the totals of a finished batch, and archives and removes its session (DB-07).
func (a *Agent) End(ctx context.Context, e agents.End) error {
	task := TaskID(e.Run, e.Batch)
	defer a.lock(task)()
	err := a.cfg.Log.FinishTask(ctx, task, store.TaskEnd{Success: e.Success, Diff: e.Diff})
	return errors.Join(err, a.cfg.Archive(ctx, task))
}

// meter counts the tokens of calls.
type meter struct {
	llm.Completer
	in, out int64
	calls   int
	unknown bool // a call did not report its tokens
	took    time.Duration
}

// Complete calls the model and counts its tokens.
func (m *meter) Complete(ctx context.Context, r llm.Request) (llm.Response, error) {
	resp, err := m.Completer.Complete(ctx, r)
	m.calls++
	m.took += resp.Latency
	if resp.PromptTokens == nil || resp.CompletionTokens == nil {
		m.unknown = true
		return resp, err
	}
	m.in += int64(*resp.PromptTokens)
	m.out += int64(*resp.CompletionTokens)
	return resp, err
}
