package local

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/agents/sandbox"
	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/briefing"
	"github.com/runplan/runplan/runner/failures"
	"github.com/runplan/runplan/runner/journal"
)

// work performs commands with git worktrees on this machine. Each method is called at least once for its command, so it
// is idempotent by the id of the command. A failure of the work (a red gate, a conflict) is an event. An error is a
// failure of the infrastructure, and the driver tries again.
type work struct {
	Config
	run    string
	info   runner.Info
	pool   *Pool
	redact *redact.Redactor
	before *reports // gate results of base trees
	proofs proofs   // tests that ran, by tree
	rooms  lateRooms

	learning   sync.Map               // by commit: channel that closes when its tests are known
	firstBase  atomic.Pointer[string] // start commit of the first agent in this process
	baseError  atomic.Pointer[error]  // why the tests cannot run there
	background sync.WaitGroup         // goroutines that fill learning

	memory
	refs *refs

	failures  *failures.Store
	styleOnce sync.Once
	styleText string

	tidying sync.Mutex // only one agent is cleaned up after at a time
	holding sync.Mutex // only one candidate is added to the log at a time

	crossed sync.Map // batch and attempt → map[int]sampling.Evidence
	firsts  sync.Map // batch → *sync.Mutex of the tests written first
	// id of a command → runner.Event of the agent that wrote the tests before it
	wroteFirst     sync.Map
	meter          meter
	outsideReports sync.Map // batch → gates.Report of its agent's changes outside
	keeper         keeper   // files that control git in all worktrees
	ahead          sync.Once

	starting starting

	onRunBranch sync.Once // the user was warned that their current branch moves
}

// Execute runs the agent in a fresh workspace and stages its changes. No gates follow a failed attempt, so its
// event carries the critique.
func (w *work) Execute(ctx context.Context, c runner.Command, p runner.Progress) (runner.Event, error) {
	e, err := w.execute(ctx, c, p)
	if err != nil || e.Outcome == runner.OutcomeOK {
		return e, err
	}
	for _, rep := range w.critique(c) {
		if rep.Status == gates.Warn {
			e.Reports = w.trim(append(e.Reports, rep))
		}
	}
	return e, nil
}

// execute runs the agent in a fresh workspace and stages its changes.
func (w *work) execute(ctx context.Context, c runner.Command, p runner.Progress) (runner.Event, error) {
	agent, err := w.agent(c)
	if err != nil {
		return runner.Event{Base: c.Base, On: c.On, Tier: c.Tier}, err
	}
	e := runner.Event{Base: c.Base, On: c.On, Agent: agent.Name(), Tier: c.Tier, Model: w.model(c)}
	b := w.batch(c)
	if _, err := w.sealed(ctx); err != nil { // before an agent can change the inputs of rooms
		return e, err
	}
	w.readAhead()
	first, failed, err := w.testsFirst(ctx, c, b, p)
	if failed != nil {
		return *failed, err
	}
	prepared := w.starting.enter()
	defer func() { prepared() }()
	start, err := w.startOf(ctx, c.Base, first, err)
	if err != nil {
		return e, err
	}
	found := sync.OnceValues(func() (briefing.Input, error) { return w.gather(ctx, c, b) })
	go found() // in the background; the brief waits for the result
	w.crowd()  // the setup of a workspace may make changes that would be attributed to others
	space, err := w.pool.acquire(ctx, c.Place(), c.Base, start)
	if err != nil {
		return e, err
	}
	dir := w.attemptDir(c)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return e, fmt.Errorf("keep the logs of batch %s: %w", c.Batch, err)
	}
	task, composed, err := w.task(ctx, c, b, space, dir, found, first)
	if err != nil {
		return e, err
	}
	e.Log = w.Layout.Rel(task.LogPath)
	if !literal(agent) {
		e.Context = &composed.Tokens
	}
	before, err := w.glance(ctx, space, c)
	if err != nil {
		return e, err
	}
	around, err := w.lookOutside(ctx)
	if err != nil {
		return e, err
	}
	undo := func() error { return nil }
	if w.ContextFile != "" && composed.Block != "" {
		if undo, err = briefing.PutSection(space.Dir, w.ContextFile, composed.Block); err != nil {
			return e, err
		}
	}
	waited, err := w.learnBase(ctx, c.Base, func() { p(c.Batch, "waits for the tests of the base") })
	if err != nil {
		return e, errors.Join(err, w.again(ctx, undo))
	}
	e.DurationMS = waited.Milliseconds()
	at := w.shift(c, space, "the agent")
	w.begin(at, true)
	steps := w.critic(ctx, space.Dir, b, agent, agents.ObserverFunc(func(line string) { p(c.Batch, line) }))
	prepared()
	res, err := agent.Run(ctx, task, steps)
	prepared = w.starting.enter()
	w.meter.end(c.ID, &res.Usage)
	steps.close(w, c, &e)
	e.Sums = w.Layout.SumFiles(dir, journal.BriefFile, journal.LogFile)
	if err != nil {
		err = &agentError{err}
	} else if ctx.Err() == nil { // the usage counts even if the attempt failed
		e.Usage, e.Model = &res.Usage, cmp.Or(w.redact.String(res.Model), e.Model)
	}
	shared := append(w.end(at), w.unlink()...) // first, because git uses these files from now on
	seen := sync.OnceValues(func() (outside, error) { return w.lookOutside(ctx) })
	go seen() // in the background, while the changes to git are checked
	if uerr := w.again(ctx, undo); err == nil {
		err = uerr
	}
	tampered := w.lookAfter(ctx, space, before) // also after a failure
	if err != nil {
		return e, err
	}
	if ctx.Err() != nil {
		return e, context.Cause(ctx)
	}
	if err := w.again(ctx, func() error { return w.keepResponse(c, res) }); err != nil {
		return e, err
	}
	if tampered = w.redact.String(tampered); tampered != "" {
		e.Outcome, e.Reason = runner.OutcomeFailed, tampered
		e.Reports = []gates.Report{agentReport(tampered, res)}
		if rep := w.touched(around, seen, shared); len(rep.Findings) > 0 {
			e.Reports = w.trim(append(e.Reports, rep))
		}
		e.Fingerprint = runner.Fingerprint(tampered)
		return e, nil
	}
	if err := w.again(ctx, func() error {
		found, err := space.DropSpecial()
		for _, f := range found {
			shared = append(shared, change{name: f.Path, kind: f.Kind, mild: f.Socket})
		}
		return err
	}); err != nil {
		return e, err
	}
	if err := w.again(ctx, func() error { return w.reveal(ctx, space) }); err != nil {
		return e, err
	}
	if err := w.again(ctx, func() error { return w.lay(ctx, c, first, space) }); err != nil {
		return e, err
	}
	var tree string
	var changed []string
	err = w.again(ctx, func() (err error) {
		tree, changed, err = w.stage(ctx, c, b, space)
		return err
	})
	if w.watched(&e, c, around, seen, shared) || err != nil {
		return e, err
	}
	done := e
	err = w.again(ctx, func() (err error) {
		done, err = w.staged(ctx, e, c, b, space, res, tree, changed)
		return err
	})
	return done, err
}

// afterwardsError is a step after the agent that failed repeatedly. The agent does not run again: it was paid for
// and would leave the same changes.
type afterwardsError struct{ err error }

func (e *afterwardsError) Error() string { return e.err.Error() }
func (e *afterwardsError) Unwrap() error { return e.err }

// again runs a step after the agent, and repeats it if it fails.
func (w *work) again(ctx context.Context, step func() error) error {
	for try := 1; ; try++ {
		err := step()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return err
		case try == mostTries || infrastructure(err):
			return &afterwardsError{err}
		}
		select {
		case <-time.After(pauseAfter(try)):
		case <-ctx.Done():
			return err
		}
	}
}

// agentError means that an agent could not start. Fewer concurrent agents may help against this error, but not against
// others.
type agentError struct{ err error }

func (e *agentError) Error() string { return e.err.Error() }
func (e *agentError) Unwrap() error { return e.err }

// batch returns the batch of a command from the plan of this run. [session.tries] has checked that it exists.
func (w *work) batch(c runner.Command) *planparse.Batch {
	b, _ := w.Plan.Batch(c.Batch)
	return b
}

func (w *work) task(ctx context.Context, c runner.Command, b *planparse.Batch, s *Space, dir string,
	found func() (briefing.Input, error), first *firstTests) (agents.Task, briefing.Composed, error) {
	composed, err := w.brief(ctx, s, found)
	if err != nil {
		return agents.Task{}, composed, err
	}
	brief, variant, err := w.variantOf(ctx, c, composed.Brief)
	if err != nil {
		return agents.Task{}, composed, err
	}
	brief.Task += first.words()
	if err := writeFile(filepath.Join(dir, journal.BriefFile), []byte(w.redact.String(brief.Text()))); err != nil {
		return agents.Task{}, composed, err
	}
	temp, err := w.temp(c.Place())
	if err != nil {
		return agents.Task{}, composed, err
	}
	env := w.agentEnv(temp)
	return agents.Task{
		Dir: s.Dir, Brief: brief, Run: w.run, Attempt: c.Attempt, Variant: variant, Model: w.model(c),
		Batch: *b, Limits: w.limits(c), Env: env, Project: gates.SourcePath(ctx, s.Dir, env),
		LogPath: filepath.Join(dir, journal.LogFile), TempDir: temp, Redact: w.redact.String,
	}, composed, nil
}

// limits returns the limits of an attempt. Its cost limit is the remaining limit of the run minus the cost of
// concurrent attempts.
func (w *work) limits(c runner.Command) agents.Limits {
	l := w.Limits
	if c.Left > 0 {
		l.RunCostUSD, l.ConcurrentUSD = c.Left, w.meter.begin(c.ID)
	}
	return l
}

// meter adds up the cost of concurrent attempts.
type meter struct {
	mu    sync.Mutex
	cost  map[string]float64 // by the id of the command; nil until an attempt has a limit
	ended map[string]bool
}

// begin returns the function for [agents.Limits.ConcurrentUSD]. It does not count ended attempts, whose cost is already
// subtracted from the run's limit.
func (m *meter) begin(id string) func(float64) float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cost == nil {
		m.cost, m.ended = map[string]float64{}, map[string]bool{}
	}
	delete(m.ended, id)
	m.cost[id] = 0
	before := maps.Clone(m.ended)
	return func(usd float64) float64 {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.cost[id] = max(m.cost[id], usd)
		concurrent := 0.0
		for other, cost := range m.cost {
			if other != id && !before[other] {
				concurrent += cost
			}
		}
		return concurrent
	}
}

// end takes the final cost of an attempt.
func (m *meter) end(id string, u *agents.Usage) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cost == nil {
		return
	}
	if u != nil && u.CostUSD != nil {
		m.cost[id] = *u.CostUSD
	}
	m.ended[id] = true
}

// temp returns the temporary folder of a batch, outside its workspace. Each batch has its own, because batches run
// concurrently.
func (w *work) temp(batch string) (string, error) {
	dir := filepath.Join(w.Layout.Temp(w.run), batch)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("make a folder for temporary files of batch %s: %w", batch, err)
	}
	return dir, nil
}

// agentEnv returns the environment of all programs in a workspace.
func (w *work) agentEnv(temp string) []string {
	env := git.NoUpkeep(redact.AgentEnv(w.Environ, nil))
	// In a workspace without .git, git must not find the repository around it.
	return w.marked(append(env, "TMPDIR="+temp, "GIT_CEILING_DIRECTORIES="+w.Layout.Worktrees()))
}

// marked adds variables to an environment that identify processes which outlive a killed runplan.
func (w *work) marked(env []string) []string {
	env = append(slices.Clip(env), "RUNPLAN_RUN="+w.run)
	if w.Mark != "" {
		env = append(env, w.Mark)
	}
	return env
}

// stage adds the agent's changes to the index, except changes of the plan. The plan is only input: a ticked box is
// neither work nor proof. It returns the tree and the changed paths.
func (w *work) stage(ctx context.Context, c runner.Command, b *planparse.Batch, s *Space) (tree string,
	changed []string, err error) {
	tree, changed, err = s.Stage(ctx, c.Base, s.Copied)
	if err != nil || !slices.Contains(changed, w.info.Plan) {
		return tree, changed, err
	}
	if !slices.Contains(b.Files.Modify, w.info.Plan) && !slices.Contains(b.Files.Create, w.info.Plan) {
		// fails for a file that the agent made, because the commit lacks it
		if _, err := s.Run(ctx, "checkout", "--quiet", c.Base, "--", w.info.Plan); err == nil {
			w.Note("batch " + b.Number + ": the agent's changes to the plan itself were reverted")
		}
	}
	return s.Stage(ctx, c.Base, s.Copied)
}

// staged turns the staged changes into a candidate.
func (w *work) staged(ctx context.Context, e runner.Event, c runner.Command, b *planparse.Batch, s *Space,
	res agents.Result, tree string, changed []string) (runner.Event, error) {
	if w.Format && len(changed) > 0 && res.Outcome == agents.Done {
		temp, err := w.temp(c.Place())
		if err != nil {
			return e, err
		}
		f, err := gates.Format(ctx, s.Dir, changed, w.agentEnv(temp), w.GateConfig)
		if err != nil {
			return e, err
		}
		if len(f.Changed) > 0 {
			if tree, changed, err = s.Stage(ctx, c.Base, s.Copied); err != nil {
				return e, err
			}
		}
	}
	var err error
	if e.Commit, e.Tree, err = w.candidate(ctx, c.Batch, c.Base, tree); err != nil {
		return e, err
	}
	s.Tree, s.Paths, e.Files = tree, changed, len(changed)
	e.Outcome, e.Reason = outcome(res)
	if e.Outcome == runner.OutcomeOK && len(changed) == 0 && !mayStandStill(b, w.Agent) {
		e.Outcome, e.Reason = runner.OutcomeUnchanged, "the agent changed nothing, but the batch asks for changes"
	}
	if e.Outcome != runner.OutcomeOK {
		e.Reason = w.redact.String(e.Reason)
		e.RetryAt, e.Outage, e.Hopeless = res.RetryAt, res.Kind.Outage(), res.Kind.Hopeless()
		e.Reports = []gates.Report{agentReport(e.Reason, res)}
		e.Fingerprint = runner.Fingerprint(e.Reason)
		w.keepPatch(ctx, c, tree)
	}
	return e, nil
}

// mayStandStill reports whether a batch can succeed without changes: it only checks, or a script agent carried it out.
func mayStandStill(b *planparse.Batch, a agents.Agent) bool { return literal(a) || b.OnlyChecks() }

// literal reports whether an agent executes the plan literally.
func literal(a agents.Agent) bool {
	l, ok := a.(interface{ Literal() bool })
	return ok && l.Literal()
}

func outcome(res agents.Result) (runner.Outcome, string) {
	switch res.Outcome {
	case agents.Done:
		return runner.OutcomeOK, ""
	case agents.RateLimited:
		return runner.OutcomeLimited, res.Summary
	case agents.TimedOut:
		return runner.OutcomeTimedOut, res.Summary
	case agents.NeedsHuman:
		return runner.OutcomeHuman, res.Summary
	}
	return runner.OutcomeFailed, res.Summary
}

// agentReport turns an agent's failure into a gate report, for the digest and the run report.
func agentReport(reason string, res agents.Result) gates.Report {
	r := gates.Report{Gate: "agent", Status: gates.Fail, Note: reason, Output: tail(res.Detail, 4<<10)}
	for _, f := range res.Findings {
		r.Findings = append(r.Findings,
			gates.Finding{Rule: "agent", Path: f.Path, Line: f.Line, Severity: gates.Error, Message: f.Message})
	}
	return r
}

func tail(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[len(s)-n:], "")
}

// keepPatch stores the changes of a failed attempt, for the next attempt and for people.
func (w *work) keepPatch(ctx context.Context, c runner.Command, tree string) {
	if err := w.writePatch(ctx, w.attemptDir(c), c.Base, tree); err != nil {
		w.Note("the patch of batch " + c.Batch + " could not be stored: " + err.Error())
	}
}

// writePatch writes the changes from base to tree into dir, if there are any. They may contain a secret, which may be
// why the attempt failed. The redacted patch is for reading only.
func (w *work) writePatch(ctx context.Context, dir, base, tree string) error {
	out, err := w.Repo.Run(ctx, "diff-tree", "-r", "--no-ext-diff", "--binary", "--patch", base, tree)
	if err != nil || out == "" {
		return err
	}
	return writeFile(filepath.Join(dir, journal.PatchFile), []byte(w.redact.String(out)+"\n"))
}

// attemptDir returns the log folder of an attempt; a candidate of a tournament has its own subfolder.
func (w *work) attemptDir(c runner.Command) string {
	if c.Slot != nil {
		return w.Layout.Candidate(w.run, c.Batch, c.Attempt, c.Slot.Number)
	}
	return w.Layout.Attempt(w.run, c.Batch, c.Attempt)
}

// restore brings the workspace to the candidate of c. Between two commands of a batch, agents in other workspaces
// could write there. restore removes such changes, as they are not part of this batch.
func (w *work) restore(ctx context.Context, c runner.Command) (*Space, error) {
	s, fresh, err := w.pool.Restore(ctx, c.Place(), c.Base, c.Tree)
	if err != nil {
		return nil, err
	}
	if fresh || w.alone(c) {
		return s, nil
	}
	index, files, err := s.Differences(ctx, c.Tree, s.Copied)
	if err != nil || !index && len(files) == 0 {
		return s, err
	}
	s.Tree = ""
	if s, _, err = w.pool.Restore(ctx, c.Place(), c.Base, c.Tree); err != nil {
		return nil, err
	}
	what := strings.Join(files[:min(len(files), 3)], ", ")
	if index {
		what = strings.TrimSuffix("its index, "+what, ", ")
	}
	if what != "" {
		w.Note(fmt.Sprintf("another process wrote into the idle workspace of batch %s (%s); it was restored to the state "+
			"that its agent left", c.Place(), what))
	}
	return s, nil
}

// alone reports whether no agent can run during c, so that no other workspace is written to unseen.
func (w *work) alone(c runner.Command) bool {
	return w.info.Workers < 2 && !w.info.Speculate && c.Slot == nil
}

// maxFindings limits the findings of one report in the journal; the log has all.
const maxFindings = 40

func (w *work) trim(reports []gates.Report) []gates.Report {
	for most := maxFindings; ; most /= 2 {
		out := w.cut(reports, most)
		if body, err := json.Marshal(out); err != nil || len(body) <= runner.MaxMessage/2 || most == 0 {
			return out
		}
	}
}

// cut limits the findings in each report to most.
func (w *work) cut(reports []gates.Report, most int) []gates.Report {
	out := make([]gates.Report, len(reports))
	for i, r := range reports {
		if n := len(r.Findings); n > most {
			r.Findings = r.Findings[:most]
			r.Note = strings.TrimSpace(fmt.Sprintf("%s (%s in the log)", r.Note, phrase.Count(n-most, "more finding")))
		}
		r.Findings = append([]gates.Finding(nil), r.Findings...)
		for k := range r.Findings {
			r.Findings[k].Message = tail(w.redact.String(r.Findings[k].Message), 1<<10)
		}
		r.Output = tail(w.redact.String(r.Output), 4<<10)
		if r.Log != "" {
			r.Log = w.Layout.Rel(r.Log)
		}
		out[i] = r
	}
	return out
}

// reasonOf returns the reason of a red verdict, in one line.
func reasonOf(v gates.Verdict) string {
	// Results of executed tests come before results of reading tests.
	var executed, read []gates.Report
	for _, r := range v.Reports {
		if slices.ContainsFunc(r.Findings, func(f gates.Finding) bool { return f.Severity == gates.Error && !f.Advice }) {
			executed = append(executed, r)
		} else {
			read = append(read, r)
		}
	}
	for _, r := range append(executed, read...) {
		if r.Status != gates.Fail {
			continue
		}
		text := r.Gate + " failed"
		if r.Tests != nil && r.Tests.Failed > 0 {
			text = fmt.Sprintf("%s: %d failed", r.Gate, r.Tests.Failed)
		}
		if len(r.Findings) > 0 {
			f := r.Findings[max(0, slices.IndexFunc(r.Findings,
				func(f gates.Finding) bool { return f.Severity == gates.Error }))]
			text += ": " + strings.TrimSpace(phrase.Place(f.Path, f.Line, 0)+" "+f.Message)
		} else if r.Note != "" {
			text += ": " + r.Note
		}
		return text
	}
	return "a gate failed"
}

// infrastructure reports whether no retry can cure an error.
func infrastructure(err error) bool {
	return errors.As(err, new(*agents.UnusableError)) || errors.As(err, new(*reviewError)) ||
		errors.As(err, new(*afterwardsError)) || errors.Is(err, sandbox.ErrUnusable) || errors.Is(err, proc.ErrNotFound) ||
		errors.Is(err, gates.ErrHindered) ||
		errors.As(err, new(*SetupError)) || errors.As(err, new(*gates.GateError)) || errors.Is(err, git.ErrNoCommits)
}

// agent returns the agent that performs c: the run's own, or a fallback.
func (w *work) agent(c runner.Command) (agents.Agent, error) {
	if c.Agent == "" || c.Agent == w.Agent.Name() {
		return w.Agent, nil
	}
	for _, a := range w.Fallback {
		if a.Name() == c.Agent {
			return a, nil
		}
	}
	return nil,
		fmt.Errorf("batch %s needs agent %s, which this session does not have; stop it, check [run] fallback, and resume",
			c.Batch, c.Agent)
}

// model returns the model for the agent. The model of the run's own agent does not apply to others.
func (w *work) model(c runner.Command) string {
	if c.Agent != "" && c.Agent != w.Agent.Name() {
		return c.Model
	}
	return cmp.Or(c.Model, w.info.Model)
}

// worker returns the name of the agent that made the tree of the batch.
func (w *work) worker(batch string) string {
	return cmp.Or(w.factsOf(batch, "").agent, w.Agent.Name())
}
