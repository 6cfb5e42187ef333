package history

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/fence"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/recent"
	"github.com/runplan/runplan/knowledge/retrieve"
	"github.com/runplan/runplan/training"
	"github.com/runplan/runplan/training/edits"
	"github.com/runplan/runplan/training/guess"
)

// maker makes examples from commits. It is safe for concurrent use.
type maker struct {
	Options
	sentry sentry
	guard  training.Guard
	repo   string
	words  *recent.Shared[uint64, []uint64] // of chunks, see [maker.terms]
}

// mostTerms limits the words in the younger half of the memory of chunks.
const mostTerms = 500_000

// lesson is a stage's prompt with the expected answer.
type lesson struct {
	system     string
	prompt     string
	completion string
	texts      []*source // files whose contents are in the prompt
	signals    []training.Signal
}

// shared holds the common data of the solver's stages.
type shared struct {
	answers []edits.Answer
	order   []int           // order of the changes
	context string          // as in prompts
	task    string          // with the details that the answer needs
	receipt training.Signal // for the task
	texts   []*source
	guesses guess.Trials // of the place of the edits
	bad     string
}

// made is the result of a commit.
type made struct {
	lines map[training.Stage][]byte // encoded examples
	not   map[training.Stage]string // reasons for stages without an example

	explained bool // the message explains the change

	guesses guess.Trials // of the place of the edits, if the stages of the solver have examples
}

// examples makes the examples of a commit, at most one for each stage.
func (m *maker) examples(ctx context.Context, w *work) (made, error) {
	out := made{lines: map[training.Stage][]byte{}, not: map[training.Stage]string{}, explained: explained(w.task)}
	q := understood(w)
	a := w.answer()
	if q.vague() {
		w.reason = SaysLittle
		return out, nil
	}
	unfit := cmp.Or(a.takesTests(), a.untaught(q))
	s := shared{bad: unfit} // what no solver can be taught needs no context
	if unfit == "" && (slices.Contains(m.Stages, training.ExecuteCode) ||
		slices.Contains(m.Stages, training.ExecutePlan)) {
		s = m.share(a)
		out.guesses = s.guesses
	}
	for _, stage := range m.Stages {
		var l lesson
		why := ""
		switch stage {
		case training.TaskAnalysis:
			l, why = m.analysis(w, q)
		case training.Scope:
			l, why = m.scope(w, q)
		case training.Precision:
			l, why = m.precision(w, q)
		case training.ExecutePlan:
			l, why = m.plan(a, q, s)
		case training.ExecuteCode:
			l, why = m.code(a, q, s)
		}
		if why == "" {
			why = m.fits(l)
		}
		if why == "" && slices.ContainsFunc([]string{l.system, l.prompt, l.completion},
			func(text string) bool { return len(training.Addresses(text)) > 0 }) {
			why = "it contains a mail address"
		}
		if why == "" && m.sentry.hide(l.completion) != l.completion {
			why = "its answer contains a probable secret"
		}
		if why != "" {
			out.not[stage] = why
			continue
		}
		e, err := m.guardOf(l).Seal(m.example(w, stage, l))
		var leak *training.LeakError
		switch {
		case errors.As(err, &leak):
			out.not[stage] = "it would reveal a secret"
			continue
		case err != nil:
			return out, err
		}
		if out.lines[stage], err = e.Encode(); err != nil {
			return out, err
		}
	}
	if len(out.lines) == 0 {
		w.reason = NoExample
	}
	return out, ctx.Err()
}

// guardOf returns the guard for an example whose answer was already checked.
func (m *maker) guardOf(l lesson) training.Guard {
	g := m.guard
	g.Redact = func(text string) string {
		if text == l.completion {
			return text
		}
		return m.guard.Redact(text)
	}
	return g
}

// share writes the edits and builds the common context of the solver's stages.
func (m *maker) share(w *work) shared {
	var s shared
	s.answers = make([]edits.Answer, len(w.changes))
	for i, c := range w.changes {
		var err error
		if s.answers[i], err = c.edits(); err != nil {
			s.bad = "the change cannot be written as edits"
			return s
		}
	}
	var p retrieve.Package
	if p, s.texts, s.bad = m.context(w, s.answers); s.bad == "" {
		s.order, s.context, s.guesses = w.order(), p.Text(), w.guesses(p, s.answers)
		s.task, s.receipt, s.bad = w.detailed(s.context)
	}
	return s
}

func (m *maker) example(w *work, stage training.Stage, l lesson) training.Example {
	e := training.Example{
		Stage: stage, Base: training.BaseOf(stage), Source: training.Synthetic,
		Prompt: training.Question(l.system, l.prompt), Completion: l.completion, Positive: true,
		Origin: training.Origin{Repo: m.repo, License: m.License, Commit: w.Hash, Parent: w.Parents[0], At: w.Time,
			Files: training.SortedFiles(lists.Map(l.texts,
				func(s *source) training.File { return training.File{Path: s.path, Blob: s.blob} }))},
	}
	e.Signals = append(w.signals(), l.signals...)
	sum, n, factor := 0.0, 0, 1.0
	for _, s := range e.Signals {
		switch {
		case s.Value == nil:
		case s.Name == told:
			factor = *s.Value
		default:
			sum, n = sum+*s.Value, n+1
		}
	}
	e.Quality = new(float64(int(sum/float64(n)*factor*1000+0.5)) / 1000)
	return e
}

// signals returns the known facts about the quality of a commit (TRAIN-13). History does not record whether tests
// passed. If a commit changes no test, that signal is unknown, not bad.
func (w *work) signals() []training.Signal {
	tested := training.Signal{Name: "tested", Note: "it changes no test"}
	if slices.ContainsFunc(w.changes, func(c *change) bool { return language.IsTest(c.path) }) {
		tested = training.Known("tested", 1, "it changes tests too")
	}
	return []training.Signal{
		training.Known("merged", 1, "it is part of the history, and no later commit reverts it"),
		tested,
		training.Known("files_shown", float64(len(w.changes))/float64(len(w.Entries)),
			fmt.Sprintf("%d of %d changed files are code of its languages", len(w.changes), len(w.Entries))),
	}
}

// fenced returns a task as it appears in retrieval prompts. The guard of each example hides secrets.
func fenced(task string) string {
	return strings.TrimSpace(fence.Around("", fence.Clean(strings.TrimSpace(task))))
}

func marshal(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // our own types always encode
	}
	return string(b)
}
