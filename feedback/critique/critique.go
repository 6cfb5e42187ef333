// Package critique reviews the work of an agent while it runs. After each step that changes something it asks a model
// one short question, and the model may give one remark (FIX-28).
//
// Remarks with low confidence are dropped, and those with medium confidence are kept for the reviewers of the batch.
// Remarks with high confidence are shown before the gates run, and in the brief of the next attempt (FIX-29). Critique
// only advises: it does not delay the agent or block anything, and a missing answer is only noted. It costs money, so
// calls are limited and counted, and omitted steps are reported (FIX-30).
package critique

import (
	"context"
	"embed"
	"fmt"
	"time"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/prompt"
	"github.com/runplan/runplan/llm"
)

// Thresholds of confidence, in percent.
const (
	Floor = 60 // findings below are dropped
	Sure  = 80 // findings from here on are shown before the gates
)

// Typical cost of a call and number of calls in a task, for people (FIX-30). They assume a paid model and an agent
// with fifty turns.
const (
	TypicalCalls   = 15
	TypicalTurns   = 50
	TypicalCallUSD = 0.02
)

// Rule is the rule name of its findings.
const Rule = "critique"

//go:embed prompts/*.md
var prompts embed.FS

// LoadPrompts reads the prompts (FIX-31). Those of later layers override the built-in ones.
func LoadPrompts(layers ...prompt.Layer) (prompt.Set, error) {
	return prompt.LoadEmbedded("feedback/critique", prompts, layers...)
}

// Options selects the model and limits the calls.
type Options struct {
	LLM      llm.Completer
	Model    llm.Model
	Prompts  prompt.Set
	MaxCalls int                 // in one attempt
	Queue    int                 // steps that may wait
	Wait     time.Duration       // time limit for waiting steps after the agent is done
	Redact   func(string) string // removes secrets from questions and answers; nil removes none
}

// Attempt is the attempt to review.
type Attempt struct {
	Dir  string // the workspace
	Task string // task of the agent
}

// Seen is the result for an attempt.
type Seen struct {
	High []gates.Finding // at least [Sure]
	Kept []gates.Finding // at least [Floor]

	Steps    int // steps that changed something
	Looked   int // steps that were reviewed
	Dropped  int // findings below [Floor]
	Failed   int // calls without a usable answer
	OverCap  int // steps after the last allowed call
	OverFull int // steps that found the queue full
	Late     int // steps still waiting at the time limit

	Calls  int    // calls made
	Model  string // model that was asked
	Input  *int64 // tokens; nil: unknown, which is not 0
	Output *int64
	Took   time.Duration
	Why    string // why the first call failed
}

// Report returns the report that is shown before the gates. If the agent reported no step, nothing was reviewed.
func (s Seen) Report() gates.Report {
	rep := gates.Report{Gate: Rule, Status: gates.Pass, Findings: s.High, Note: s.Note()}
	switch {
	case s.Looked == s.Failed:
		rep.Status = gates.Skipped
	case len(s.High) > 0:
		rep.Status = gates.Warn
	}
	return rep
}

// Note summarizes in one line what was reviewed and what was not.
func (s Seen) Note() string {
	if s.Steps == 0 {
		return "the agent reported no step that changes something"
	}
	text := fmt.Sprintf("%s reviewed, %s", phrase.Count(s.Looked, "step"), phrase.Count(s.Calls, "call"))
	for _, part := range []struct {
		n    int
		what string
	}{
		{len(s.Kept), "kept for the review"}, {s.Dropped, "dropped as unsure"}, {s.Failed, "calls without an answer"},
		{s.OverCap, "steps skipped after the last allowed call"}, {s.OverFull, "steps skipped while others waited"},
		{s.Late, "steps skipped at the end of the agent"},
	} {
		if part.n > 0 {
			text += fmt.Sprintf(", %d %s", part.n, part.what)
		}
	}
	if s.Why != "" {
		text += ": " + s.Why
	}
	return text
}

// Watch starts the review of an attempt. The first call follows the first step.
func Watch(ctx context.Context, o Options, a Attempt) *Watcher {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &Watcher{o: o, a: a, ctx: ctx, cancel: cancel, queue: make(chan agents.Step, max(o.Queue, 1)),
		done: make(chan struct{})}
	w.seen.Model = o.Model.Label()
	go w.work()
	return w
}
