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
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/fence"
	"github.com/runplan/runplan/internal/lists"
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
	Redact   func(string) string // removes secrets from questions and answers
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

// The prompts.
const (
	systemPrompt = "critique_system"
	stepPrompt   = "critique"
)

// Limits of a question and of an answer.
const (
	mostTask    = 6 << 10
	mostStep    = 8 << 10
	mostMessage = 600
	mostFix     = 300
)

// schema is the schema of an answer: at most one finding.
var schema = json.RawMessage(
	fmt.Sprintf(`{"type":"object","properties":{"findings":{"type":"array","maxItems":1,"items":{"type":"object","properties":{`+
		`"path":{"type":"string","maxLength":300},"line":{"type":"integer"},"message":{"type":"string","maxLength":%d},"fix":{"type":"string","maxLength":%d},`+
		`"confidence_pct":{"type":"integer","minimum":0,"maximum":100}},"required":["path","line","message","fix","confidence_pct"],"additionalProperties":false}}},`+
		`"required":["findings"],"additionalProperties":false}`, mostMessage, mostFix))

type answer struct {
	Findings []remark `json:"findings"`
}

type remark struct {
	Path       string `json:"path"`
	Line       int    `json:"line"`
	Message    string `json:"message"`
	Fix        string `json:"fix"`
	Confidence int    `json:"confidence_pct"`
}

// ask sends one question. An empty answer means no remark.
func (w *Watcher) ask(s agents.Step) (*remark, call, error) {
	req := llm.Request{Model: w.o.Model, Stage: llm.Critique, Schema: schema}
	var err error
	if req.System, err = w.o.Prompts.Render(systemPrompt, nil); err != nil {
		return nil, call{}, err
	}
	if req.Prompt, err = w.o.Prompts.Render(stepPrompt, w.values(s)); err != nil {
		return nil, call{}, err
	}
	a, res, err := llm.JSON[answer](w.ctx, w.o.LLM, req)
	c := call{made: true, input: res.PromptTokens, output: res.CompletionTokens, took: res.Latency}
	if wrong, ok := errors.AsType[*llm.AnswerError](err); ok && strings.TrimSpace(wrong.Raw) == "" {
		return nil, c, nil
	}
	if err != nil || len(a.Findings) == 0 || strings.TrimSpace(a.Findings[0].Message) == "" {
		return nil, c, err
	}
	return &a.Findings[0], c, nil
}

// values returns the values for the prompt. Text from plans, agents and files is quoted.
func (w *Watcher) values(s agents.Step) map[string]string {
	what := string(kindOf(s.Tool))
	if p := w.pathOf(s); p != "" {
		what += ", " + fence.Line(p)
	}
	what += ", with its tool " + fence.Line(s.Tool)
	if s.Cut {
		what += "; the end is cut off"
	}
	step := s.Input
	if kindOf(s.Tool) == runs {
		step = commandOf(s)
	} else if step == "" {
		step = s.Text
	}
	said := lists.Map(w.said(),
		func(f gates.Finding) string { return "- " + strings.TrimPrefix(f.Path+": "+f.Message, ": ") })
	return map[string]string{
		"task": w.foreign(phrase.CutBytes(w.a.Task, mostTask)), "what": what + ".",
		"step": w.foreign(phrase.CutBytes(readable(step), mostStep)), "file": w.foreign(w.fileOf(s)),
		"said": w.foreign(strings.Join(said, "\n")),
	}
}

// readable formats arguments so that line breaks in code are visible.
func readable(input string) string {
	var m map[string]any
	if json.Unmarshal([]byte(input), &m) != nil {
		return input
	}
	var b strings.Builder
	for _, key := range []string{"file_path", "filePath", "path", "absolute_path", "old_string", "oldString", "old_str",
		"new_string", "newString", "new_str", "content", "file_text", "patch", "diff"} {
		if text, ok := m[key].(string); ok {
			fmt.Fprintf(&b, "%s:\n%s\n\n", key, strings.TrimRight(text, "\n"))
			delete(m, key)
		}
	}
	if len(m) > 0 {
		if rest, err := json.Marshal(m); err == nil { // keys are sorted
			b.WriteString(string(rest))
		}
	}
	return strings.TrimSpace(b.String())
}

func (w *Watcher) foreign(text string) string {
	if strings.TrimSpace(text) == "" {
		return ""
	}
	return fence.Foreign("", strings.TrimRight(w.o.Redact(text), "\n"))
}

// clean makes a model's text safe to show and store.
func (w *Watcher) clean(text string) string {
	return strings.TrimSpace(fence.Hide(fence.Clean(w.o.Redact(text))))
}

// finding converts a remark into a finding. It only advises, so it is never an error.
func (r *remark) finding(clean func(string) string) gates.Finding {
	f := gates.Finding{
		Rule: Rule, Severity: gates.Warning,
		Message: fmt.Sprintf("%s (%d%% sure)", phrase.CutBytes(clean(r.Message), mostMessage), r.Confidence),
		Fix:     phrase.CutBytes(clean(r.Fix), mostFix),
	}
	if p := strings.TrimPrefix(strings.TrimSpace(r.Path), "./"); p != "." && fs.ValidPath(p) && clean(p) == p {
		f.Path, f.Line = p, max(r.Line, 0)
	}
	return f
}
