package critique

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/fence"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/llm"
)

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

// remark is a model's finding about a step.
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
	var wrong *llm.AnswerError
	if errors.As(err, &wrong) && strings.TrimSpace(wrong.Raw) == "" {
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
	var said []string
	for _, f := range w.said() {
		said = append(said, "- "+strings.TrimPrefix(f.Path+": "+f.Message, ": "))
	}
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
	if w.o.Redact != nil {
		text = w.o.Redact(text)
	}
	return fence.Foreign("", strings.TrimRight(text, "\n"))
}

// clean makes a model's text safe to show and store.
func (w *Watcher) clean(text string) string {
	if w.o.Redact != nil {
		text = w.o.Redact(text)
	}
	return strings.TrimSpace(fence.Hide(fence.Clean(text)))
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
