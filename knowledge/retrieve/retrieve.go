// Package retrieve selects the parts of a repository that a model needs for a task.
//
// It first analyses the task: which files, symbols and errors the text names, and what it is about. Stages then narrow
// the selection: scope selects files, precision selects symbols and how much of each. Each stage queries the index and
// then asks a model to judge the candidates. An answer about anything else is rejected. The result is a [Package]
// within the budget, with a reason for each part and each omission.
//
// The index is only read. Every call and decision is logged, and the session of the task stores its progress.
package retrieve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/config"
	"github.com/runplan/runplan/internal/fence"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/prompt"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/internal/tokens"
	"github.com/runplan/runplan/knowledge"
	"github.com/runplan/runplan/llm"
	"github.com/runplan/runplan/patterns"
)

// ErrNoIndex reports that the repository is not indexed.
var ErrNoIndex = errors.New("the repository is not indexed")

// NoMatchError reports that nothing in the repository matches a task.
type NoMatchError struct {
	Words []string `json:"words"`          // search terms
	Texts int      `json:"searched_files"` // number of searched files
}

func (e *NoMatchError) Error() string {
	if len(e.Words) == 0 {
		return fmt.Sprintf("nothing matches the task: it has no search word for the %s of the index",
			phrase.Count(e.Texts, "file"))
	}
	return fmt.Sprintf("nothing matches the task: %s in the paths, names, texts and commit messages of %s",
		phrase.Cut("no "+strings.Join(e.Words, ", "), 160), phrase.Count(e.Texts, "file"))
}

// matched returns an error unless something in the repository matches the task. Files that a plan names are enough,
// because they may be new.
func (p *pass) matched(ctx context.Context, q TaskQuery) error {
	if len(q.Files)+len(q.Symbols)+len(p.req.Files) > 0 ||
		slices.ContainsFunc(p.ranked, func(r Ranked) bool {
			return r.Features[fWords]+r.Features[fMessages] > 0 || r.Features[fMeaning] >= alike
		}) {
		return nil
	}
	texts, err := p.Base.TextPaths(ctx, p.Repo)
	if err != nil {
		return err
	}
	e := &NoMatchError{Words: []string{}, Texts: len(texts)}
	e.Words = append(e.Words, keywords(trailerRE.ReplaceAllString(q.Text, " "))...)
	return e
}

// Request describes the task that needs a package.
type Request struct {
	Task   string        // id of the task in the session and the log
	Text   string        // the task in the words of the user or plan
	Dir    string        // folder of the files: a worktree or the checkout
	Git    *git.Repo     // with Commit: the repository of Dir; nil: the files of Dir
	Commit string        // the files of this commit instead of those in Dir
	Stages []string      // stages in the order in which they run
	Budget tokens.Budget // of the model that receives the package (BUD-03)
	Files  []string      // files that a plan names: tier 0, before all others (RETR-08)
}

// Limits limits the search.
type Limits struct {
	Candidates int // files to ask the model about
	Symbols    int // symbols to ask the model about
}

const (
	symbolFiles = 8 // highest number of files for one name
	coChange    = 2 // common commits that make two files neighbours (tier 3)
)

func (l Limits) orDefault() Limits {
	asked := config.Default().Stages
	return Limits{cmp.Or(max(l.Candidates, 0), asked.Files), cmp.Or(max(l.Symbols, 0), asked.Symbols)}
}

// Deps holds the dependencies of a retrieval. Only Log and Session are written.
type Deps struct {
	Base    knowledge.Base
	Repo    int64                              // id of the repository in the index
	LLM     llm.Completer                      // nil: use the ranking of the index without a model
	Model   func(llm.Stage) (llm.Model, error) // selects the model, as [llm.Router.Model] does
	Embed   Embed                              // nil: the search compares no vectors
	Log     Log
	Session Session
	Limits  Limits           // zero values mean the defaults of the settings
	Prompts prompt.Set       // see [LoadPrompts]
	Program patterns.Program // ast-grep, for files changed since the index; the zero Program does without
	Environ []string         // environment for git
	Redact  func(string) string
	Info    func(string) // receives progress messages; may be nil
	Now     func() time.Time
}

// Embed returns the vector of a text, of length 1, and the model that made it.
type Embed func(ctx context.Context, text string) (model string, vector []float32, err error)

// Log stores calls and decisions: a [store.Journal].
type Log interface {
	AddCall(ctx context.Context, c store.Call) error
	AddDecisions(ctx context.Context, all []store.FileDecision) error
}

// Session stores the progress of a task: a [store.Session]. The caller creates, closes and removes it.
type Session interface {
	Set(ctx context.Context, key string, value any) error
	Get(ctx context.Context, key string, into any) (found bool, err error)
}

// Progress is the progress of a task, with one entry for each stage.
type Progress struct {
	Stage  string `json:"stage"`
	Status string `json:"status"` // running, done or failed
}

// The analysis and the search without a model are not stages, but report progress like stages (RETR-02).
const (
	analysis   = "task_analysis"
	searchStep = "search"
)

// pass is the state of one retrieval.
type pass struct {
	Deps
	req      Request
	names    names
	tree     *tree
	notes    []string
	progress []Progress
	outputs  map[string]State
	contents map[string]*content
	ranked   []Ranked // search results for the task, best first
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
		return nil, errors.New("the task is empty")
	}
	d.Limits = d.Limits.orDefault()
	if d.Redact == nil {
		d.Redact = func(s string) string { return s }
	}
	if d.Now == nil {
		d.Now = time.Now
	}
	p := &pass{Deps: d, req: r, tree: newTree(d, r.Dir), outputs: map[string]State{}, contents: map[string]*content{}}
	if r.Git != nil {
		if err := p.tree.readCommit(ctx, r.Git, r.Commit); err != nil {
			return nil, err
		}
	}
	return p, p.loadNames(ctx)
}

// Retrieve analyses a task, runs the stages and packs their choices.
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
	pkg, err := p.finish(ctx, s)
	if err != nil || len(pkg.Parts) > 0 || len(r.Files) > 0 {
		return pkg, err
	}
	return p.refused(ctx, s)
}

// refused packs the best search results after the model rejected all candidates. Without context, a model could only
// guess.
func (p *pass) refused(ctx context.Context, s State) (Package, error) {
	err := p.step(ctx, searchStep, func() error {
		p.note("the model refused all that the search offered; the best search results are shown instead")
		return p.takeRanked(ctx, &s)
	})
	if err != nil {
		return Package{}, err
	}
	return p.finish(ctx, s)
}

// unasked packs the best search results up to the budget, without a model.
func (p *pass) unasked(ctx context.Context) (Package, error) {
	var s State
	err := p.step(ctx, searchStep, func() (err error) {
		if s.Query, err = p.query(ctx); err != nil {
			return err
		}
		for _, u := range s.Query.Unknown {
			p.note("not in the repository: %s", fence.Line(u))
		}
		if err := p.seedPlan(ctx, &s); err != nil {
			return err
		}
		if p.ranked, err = p.search(ctx, s.Query); err != nil {
			return err
		}
		if err := p.matched(ctx, s.Query); err != nil {
			return err
		}
		return p.takeRanked(ctx, &s)
	})
	if err != nil {
		return Package{}, err
	}
	return p.finish(ctx, s)
}

// runStage runs one stage and logs its decisions. Stages have no state; all data is in s (RETR-04).
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

// step updates the progress in the session before and after work.
func (p *pass) step(ctx context.Context, name string, work func() error) error {
	at := len(p.progress) // steps can be nested
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

// finish packs the choices and stores them in the session for a refinement.
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

// decide logs decisions of a stage (RETR-12).
func (p *pass) decide(ctx context.Context, stage string, all []store.FileDecision) error {
	if len(all) == 0 {
		return nil
	}
	for i := range all {
		d := &all[i]
		d.Task, d.Stage, d.Reason, d.At = p.req.Task, stage, p.Redact(d.Reason), p.Now()
	}
	return p.Log.AddDecisions(context.WithoutCancel(ctx), all)
}

// note adds a remark for the reader of the package.
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
