// Package retrieve picks what a model has to see of a repository to do a task.
//
// A task is analysed: which files, symbols and errors does it name, and what is it about. Stages then narrow down: scope
// says which files matter, precision which symbols of them, and how much of each. Every stage first asks the index and
// then a model, which judges and invents nothing: what it names and nobody offered is refused. [Package] is the result,
// never over the budget, with the reason of each part and of what was left out.
//
// The index is only read. Every call and every decision goes to the log, and where a task has got to stands in its session.
package retrieve

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/config"
	"github.com/runplan/runplan/internal/fence"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/prompt"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/internal/tokens"
	"github.com/runplan/runplan/knowledge"
	"github.com/runplan/runplan/llm"
	"github.com/runplan/runplan/patterns"
)

// ErrNoIndex says that nothing is known of the repository.
var ErrNoIndex = errors.New("the repository is not indexed")

// NoMatchError says that nothing in the repository has to do with a task.
type NoMatchError struct {
	Words []string // that were searched
	Texts int      // files
}

func (e *NoMatchError) Error() string {
	if len(e.Words) == 0 {
		return fmt.Sprintf("nothing matches the task: it has no word to search the %s of the index for", phrase.Count(e.Texts, "file"))
	}
	return fmt.Sprintf("nothing matches the task: %s in the paths, names, texts and commit messages of %s",
		phrase.Cut("no "+strings.Join(e.Words, ", "), 160), phrase.Count(e.Texts, "file"))
}

// matched tells whether anything in the repository has to do with the task. Where a plan names files the search does not
// matter: they may be new.
func (p *pass) matched(ctx context.Context, q TaskQuery) error {
	if len(q.Files)+len(q.Symbols)+len(p.req.Files) > 0 || slices.ContainsFunc(p.ranked, func(r Ranked) bool { return r.Features[fWords]+r.Features[fMessages] > 0 }) {
		return nil
	}
	texts, err := p.Base.TextPaths(ctx, p.Repo)
	if err != nil {
		return err
	}
	e := &NoMatchError{Texts: len(texts)}
	e.Words = append(e.Words, keywords(q.Text)...)
	return e
}

// Request is what a package is wanted for.
type Request struct {
	Task   string        // id: of the session and of the rows of the log
	Text   string        // what is to be done, in the words of the user or of a plan
	Dir    string        // tree whose files are read: a worktree, or the checkout
	Stages []string      // names, in the order in which they run
	Budget tokens.Budget // of the model that will get the package (BUD-03)
	Files  []string      // files that a plan names: tier 0, ahead of all others (RETR-08)
}

// Limits bound what is looked at.
type Limits struct {
	SymbolFiles int // files that one name may stand for; of more, the first ones count
	CoChange    int // commits that two files need in common to be neighbours (tier 3)
	Candidates  int // files that the model is asked about
	Symbols     int // symbols that the model is asked about
}

// DefaultLimits returns the limits of who names none.
func DefaultLimits() Limits {
	asked := config.Default().Stages
	return Limits{SymbolFiles: 8, CoChange: 2, Candidates: asked.Files, Symbols: asked.Symbols}
}

func (l Limits) orDefault() Limits {
	d := DefaultLimits()
	for _, x := range []struct{ have, other *int }{
		{&l.SymbolFiles, &d.SymbolFiles}, {&l.CoChange, &d.CoChange}, {&l.Candidates, &d.Candidates}, {&l.Symbols, &d.Symbols},
	} {
		if *x.have <= 0 {
			*x.have = *x.other
		}
	}
	return l
}

// Deps is what retrieval works with. It writes to Log and Session and reads all else.
type Deps struct {
	Base    knowledge.Base
	Repo    int64                              // id of the repository in the index
	LLM     llm.Completer                      // nil: no model is asked, and what the index ranks first is shown
	Model   func(llm.Stage) (llm.Model, error) // says who is asked, as [llm.Router.Model] does
	Log     Log
	Session Session
	Limits  Limits           // those that are 0 are as in [DefaultLimits]
	Prompts prompt.Set       // see [LoadPrompts]
	Program patterns.Program // ast-grep, for files that changed since the index; the zero Program does without
	Environ []string         // for git
	Redact  func(string) string
	Info    func(string) // gets the story, a line at a time; may be nil
	Now     func() time.Time
}

// Log keeps what was asked and decided: a [store.Journal].
type Log interface {
	AddCall(ctx context.Context, c store.Call) error
	AddDecisions(ctx context.Context, all []store.FileDecision) error
}

// Session keeps where a task has got to: a [store.Session]. The caller makes, closes and removes it.
type Session interface {
	Set(ctx context.Context, key string, value any) error
	Get(ctx context.Context, key string, into any) (found bool, err error)
}

// Progress is where a task has got to, one entry a stage.
type Progress struct {
	Stage  string `json:"stage"`
	Status string `json:"status"` // running, done or failed
}

// The analysis of the task and the search without a model are no stages, but their progress is told like that of one
// (RETR-02).
const (
	analysis   = "task_analysis"
	searchStep = "search"
)

// pass is one retrieval at work.
type pass struct {
	Deps
	req      Request
	names    names
	tree     *tree
	notes    []string
	progress []Progress
	outputs  map[string]State
	contents map[string]*content
	ranked   []Ranked // what a search finds for the task, the best first
	byPath   map[string][]int
}

func newPass(ctx context.Context, d Deps, r Request) (*pass, error) {
	if err := CheckStages(r.Stages); err != nil {
		return nil, err
	}
	if err := r.Budget.Validate(); err != nil {
		return nil, err
	}
	if strings.TrimSpace(r.Text) == "" {
		return nil, errors.New("the task says nothing")
	}
	d.Limits = d.Limits.orDefault()
	if d.Redact == nil {
		d.Redact = func(s string) string { return s }
	}
	if d.Now == nil {
		d.Now = time.Now
	}
	p := &pass{Deps: d, req: r, tree: newTree(d, r.Dir), outputs: map[string]State{}, contents: map[string]*content{}}
	return p, p.loadNames(ctx)
}

// Retrieve analyses a task, runs the stages and packs what they chose.
func Retrieve(ctx context.Context, d Deps, r Request) (Package, error) {
	p, err := newPass(ctx, d, r)
	if err != nil {
		return Package{}, err
	}
	if d.LLM == nil {
		return p.unasked(ctx)
	}
	var s State
	if err := p.step(ctx, analysis, func() error { s.Query, err = p.analyse(ctx); return err }); err != nil {
		return Package{}, err
	}
	if err := p.seed(ctx, &s); err != nil {
		return Package{}, err
	}
	for _, name := range r.Stages {
		if err := p.runStage(ctx, name, &s); err != nil {
			return Package{}, err
		}
	}
	return p.finish(ctx, s)
}

// unasked picks what to show without a model: what the search ranks first, as far as the budget goes.
func (p *pass) unasked(ctx context.Context) (Package, error) {
	var s State
	err := p.step(ctx, searchStep, func() (err error) {
		if s.Query, err = p.query(ctx); err != nil {
			return err
		}
		for _, u := range s.Query.Unknown {
			p.note("not in the repository: %s", fence.Line(u))
		}
		for _, name := range p.req.Files {
			f, found, why, err := p.names.file(ctx, name)
			if err != nil {
				return err
			}
			if !found {
				s.NotFound = append(s.NotFound, name)
				p.note("the plan names %s: %s", name, why)
				continue
			}
			s.add(f, 0, true, "the plan names it")
		}
		if p.ranked, err = p.search(ctx, s.Query); err != nil {
			return err
		}
		if err := p.matched(ctx, s.Query); err != nil {
			return err
		}
		decided, err := p.takeRanked(ctx, &s)
		return errors.Join(err, p.decide(ctx, searchStep, decided))
	})
	if err != nil {
		return Package{}, err
	}
	return p.finish(ctx, s)
}

// runStage runs one stage and writes down what it decided. Stages keep nothing; all that goes on is in the state (RETR-04).
func (p *pass) runStage(ctx context.Context, name string, s *State) error {
	return p.step(ctx, name, func() error {
		next, decided, err := registry()[name](ctx, p, *s)
		if err := p.decide(ctx, name, decided); err != nil {
			return err
		}
		if err != nil {
			return err
		}
		*s = next
		p.outputs[name] = next
		return p.Session.Set(ctx, store.KeyStageOutputs, p.outputs)
	})
}

// step keeps the progress in the session up to date around a piece of work.
func (p *pass) step(ctx context.Context, name string, work func() error) error {
	at := len(p.progress) // steps lie in each other
	p.progress = append(p.progress, Progress{name, "running"})
	if err := p.Session.Set(ctx, store.KeyStageProgress, p.progress); err != nil {
		return err
	}
	err := work()
	status := "done"
	if err != nil {
		status = "failed"
		err = fmt.Errorf("%s: %w", strings.ReplaceAll(name, "_", " "), err)
	}
	p.progress[at].Status = status
	return errors.Join(err, p.Session.Set(context.WithoutCancel(ctx), store.KeyStageProgress, p.progress))
}

// finish packs what was chosen, and leaves it in the session for a refinement.
func (p *pass) finish(ctx context.Context, s State) (Package, error) {
	s.Notes = nil
	pkg, err := p.pack(ctx, s)
	if err != nil {
		return Package{}, err
	}
	pkg.NotFound = append(pkg.NotFound, s.NotFound...)
	pkg.Notes = append(pkg.Notes, p.notes...)
	s.Notes = p.notes
	return pkg, p.Session.Set(ctx, store.KeyFinalContext, s)
}

// decide writes decisions into the log.
func (p *pass) decide(ctx context.Context, stage string, all []Decision) error {
	rows := make([]store.FileDecision, len(all))
	for i, d := range all {
		rows[i] = store.FileDecision{
			Task: p.req.Task, Stage: stage, File: d.File, Path: d.Path, Symbol: d.Symbol, Tier: d.Tier, Included: d.Included,
			Reason: p.Redact(d.Reason), At: p.Now(),
		}
	}
	if len(rows) == 0 {
		return nil
	}
	return p.Log.AddDecisions(context.WithoutCancel(ctx), rows)
}

// note tells something that whoever reads the package should know.
func (p *pass) note(format string, args ...any) {
	text := p.Redact(fmt.Sprintf(format, args...))
	if slices.Contains(p.notes, text) {
		return
	}
	p.notes = append(p.notes, text)
	if p.Info != nil {
		p.Info(text)
	}
}
