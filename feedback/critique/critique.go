// Package critique looks at the work of an agent while it is done: after each step that changes something a model is
// asked one short question, and may say one thing (FIX-28).
//
// What it is not sure of is dropped, what it is fairly sure of is kept for those who review the batch, and what it is
// sure of is shown before the work goes on to the gates, and to the agent of the next attempt (FIX-29). It advises: it
// keeps no agent waiting, blocks nothing, and an answer that does not come is noted and no more. It costs money, so
// calls are bounded and counted (FIX-30), and what was left out is said.
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

// The borders of confidence, in percent.
const (
	Floor = 60 // below it a finding is dropped
	Sure  = 80 // from here on it is shown before the work goes on
)

// What a call costs and how many there are in a task, for people (FIX-30): a model that is asked for money, and an agent
// with fifty turns.
const (
	TypicalCalls   = 15
	TypicalTurns   = 50
	TypicalCallUSD = 0.02
)

// Rule is that of its findings.
const Rule = "critique"

//go:embed prompts/*.md
var prompts embed.FS

// LoadPrompts reads the prompts (FIX-31); those of later layers take the place of the built-in ones.
func LoadPrompts(layers ...prompt.Layer) (prompt.Set, error) {
	return prompt.LoadEmbedded("feedback/critique", prompts, layers...)
}

// Options say who is asked, and how often.
type Options struct {
	LLM      llm.Completer
	Model    llm.Model
	Prompts  prompt.Set
	MaxCalls int                 // in one attempt
	Queue    int                 // steps that may wait to be looked at
	Wait     time.Duration       // how long those that wait have once the agent is done
	Redact   func(string) string // takes secrets out of what is asked and told; nil leaves it
}

// Attempt is what is looked at.
type Attempt struct {
	Dir  string // the workspace
	Task string // what was asked for
}

// Seen is what came of an attempt.
type Seen struct {
	High []gates.Finding // at least [Sure]
	Kept []gates.Finding // at least [Floor]

	Steps    int // that changed something
	Looked   int // at which somebody looked
	Dropped  int // findings below [Floor]
	Failed   int // calls without an answer that can be used
	OverCap  int // steps that came after the last call that was allowed
	OverFull int // steps that came while too many were waiting
	Late     int // steps that were still waiting when the time was up

	Calls  int    // that were made
	Model  string // that was asked
	Input  *int64 // tokens; nil is unknown, which is not 0
	Output *int64
	Took   time.Duration
	Why    string // why the first call failed
}

// LeftOut is how many steps nobody looked at.
func (s Seen) LeftOut() int { return s.OverCap + s.OverFull + s.Late }

// Report is what is shown before the work goes on. Of an agent that told of no step nobody has seen anything.
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

// Note says in a line what was looked at, and what was not.
func (s Seen) Note() string {
	if s.Steps == 0 {
		return "the agent told of no step that changes something"
	}
	text := fmt.Sprintf("%s looked at, %s", phrase.Count(s.Looked, "step"), phrase.Count(s.Calls, "call"))
	for _, part := range []struct {
		n    int
		what string
	}{
		{len(s.Kept), "kept for the review"}, {s.Dropped, "dropped as unsure"}, {s.Failed, "calls without an answer"},
		{s.OverCap, "steps left out after the last call allowed"}, {s.OverFull, "steps left out while others waited"}, {s.Late, "steps left out when the agent was done"},
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

// Watch begins with an attempt. Nobody is asked before the first step.
func Watch(ctx context.Context, o Options, a Attempt) *Watcher {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &Watcher{o: o, a: a, ctx: ctx, cancel: cancel, queue: make(chan agents.Step, max(o.Queue, 1)), done: make(chan struct{})}
	w.seen.Model = o.Model.Label()
	go w.work()
	return w
}
