package review

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/fence"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/prompt"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/llm"
)

// systemPrompt names the system prompt of all reviewers. The system prompt and the diff come first and are the same for
// all passes, so a server with a prefix cache reads them once (MODEL-13).
const systemPrompt = "review_system"

//go:embed prompts/*.md
var prompts embed.FS

// LoadPrompts reads the prompts of the reviewers (REV-06). Prompts of later layers override the built-in ones.
func LoadPrompts(layers ...prompt.Layer) (prompt.Set, error) {
	return prompt.LoadEmbedded("gates/review", prompts, layers...)
}

// words returns the rules that a reviewer may use. A closed list keeps the ids of findings stable.
func words(pass int) []string {
	switch pass {
	case Architectural:
		return []string{"contract", "layering", "dependency", "duplication", "dead-code", "naming", "design"}
	case Prose:
		return []string{"false-doc", "unclear", "comment", "message", "voice"}
	case Adversarial:
		return []string{"logic", "boundary", "failure-mode", "race", "resource", "input", "security", "missing-test",
			"weak-test"}
	}
	return []string{"not-addressed", "half-addressed", "beyond", "regression"}
}

// The limits for the size of an answer.
const (
	mostFindings = 20
	mostMessage  = 600
	mostCitation = 300
)

// schema returns the JSON schema of an answer.
func schema(pass int) json.RawMessage {
	listed := `"` + strings.Join(words(pass), `","`) + `"`
	return json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{`+
		`"findings":{"type":"array","maxItems":%d,"items":{"type":"object","properties":{`+
		`"rule":{"type":"string","enum":[%s]},"path":{"type":"string","maxLength":300},"line":{"type":"integer"},`+
		`"severity":{"type":"string","enum":["error","warning","info"]},"message":{"type":"string","maxLength":%d},"citation":{"type":"string","maxLength":%d}},`+
		`"required":["rule","path","line","severity","message","citation"],"additionalProperties":false}},`+
		`"verdict":{"type":"string","enum":["pass","request-changes","block"]},"confidence_pct":{"type":"integer","minimum":0,"maximum":100}},`+
		`"required":["findings","verdict","confidence_pct"],"additionalProperties":false}`, mostFindings, listed, mostMessage,
		mostCitation))
}

// answer is a reviewer's answer.
type answer struct {
	Findings   []remark `json:"findings"`
	Verdict    Verdict  `json:"verdict"`
	Confidence int      `json:"confidence_pct"`
}

type remark struct {
	Rule     string         `json:"rule"`
	Path     string         `json:"path"`
	Line     int            `json:"line"`
	Severity gates.Severity `json:"severity"`
	Message  string         `json:"message"`
	Citation string         `json:"citation"`
}

// judge asks the reviewer of a pass about each part of the diff that fits into its window.
func (r *run) judge(ctx context.Context, p *Pass, reviewer Reviewer) {
	began := time.Now()
	defer func() { p.Duration += time.Since(began) }()
	k := kindOf(p.Number)
	parts, left, err := r.parts(k, reviewer)
	if err != nil {
		p.blind(err, r.clean)
		return
	}
	seen, all := 0, 0
	for _, f := range r.diff.files {
		all += max(1, len(f.lines))
	}
	all += len(r.diff.unseen)
	var said []Verdict
	for _, part := range parts {
		a, call, err := r.ask(ctx, k, reviewer, part)
		p.Calls = append(p.Calls, call)
		if err != nil {
			p.blind(err, r.clean)
			return
		}
		seen += part.size
		p.ConfidencePct = lower(p.ConfidencePct, a.Confidence)
		said = append(said, a.Verdict)
		p.Findings = append(p.Findings, lists.Map(a.Findings, func(m remark) Finding { return r.finding(k, m) })...)
	}
	p.judged, p.seen = gates.Pass, 100
	if all > 0 {
		p.seen = seen * 100 / all
	}
	if missing := slices.Concat(left, r.diff.unseen); len(missing) > 0 {
		p.note("not shown to the reviewer: %s", named(missing))
		p.seen = min(p.seen, 99)
	}
	proven := slices.ContainsFunc(p.Findings, func(f Finding) bool { return !f.Fact && f.blocks() })
	for _, v := range said {
		if v != OK && !proven {
			p.note("the reviewer says %s, but proves no finding that requires it", v)
			break
		}
	}
	if n := lists.Count(p.Findings, func(f Finding) bool { return f.Unproven }); n > 0 {
		p.note("%d of its findings quote text that is not in the diff, and cannot block", n)
	}
	p.settle()
}

// blind records that the reviewer could not run: it did not answer, or its answer is invalid.
func (p *Pass) blind(err error, clean func(string) string) {
	p.judged = gates.Errored
	p.note("the reviewer could not run: %s", clean(err.Error()))
	p.settle()
}

func lower(old *int, now int) *int {
	if old != nil {
		now = min(*old, now)
	}
	return &now
}

// ask asks the reviewer once.
func (r *run) ask(ctx context.Context, k kind, reviewer Reviewer, p part) (answer, Call, error) {
	cold := "new session"
	if reviewer.Model.Provider == llm.Command {
		cold = "new process"
	}
	c := Call{
		ID: r.in.NewID(), Reviewer: fence.Line(reviewer.Name), Provider: reviewer.Model.Provider,
		Model: fence.Line(reviewer.Model.Name), Vendor: reviewer.Vendor, Context: cold,
	}
	req, err := r.request(k, reviewer, p.text)
	if err != nil {
		return answer{}, c, err
	}
	a, res, err := llm.JSON[answer](ctx, reviewer.LLM, req)
	c.PromptTokens, c.CompletionTokens, c.Milliseconds = res.PromptTokens, res.CompletionTokens, res.Latency.Milliseconds()
	if err != nil {
		c.Error = r.clean(err.Error())
	}
	return a, c, err
}

func (r *run) request(k kind, reviewer Reviewer, text string) (llm.Request, error) {
	req := llm.Request{Model: reviewer.Model, Stage: llm.Review, Schema: schema(k.number)}
	var err error
	if req.System, err = r.in.Prompts.Render(systemPrompt, nil); err != nil {
		return req, err
	}
	req.Prompt, err = r.in.Prompts.Render(k.prompt, map[string]string{
		"diff": fence.Around("diff", strings.TrimSuffix(text, "\n")), "facts": fence.Foreign("", r.facts),
		"plan": r.foreign(r.in.Plan), "open": r.in.Ledger.open(k.number),
		"rules": strings.Join(words(k.number), ", "), "persona": r.foreign(r.in.Persona),
		"feedback": r.foreign(r.in.Feedback), "earlier": r.in.Ledger.earlier(),
	})
	return req, err
}

// foreign fences external text and removes known secrets.
func (r *run) foreign(text string) string {
	if strings.TrimSpace(text) == "" {
		return ""
	}
	return fence.Around("", safe(strings.TrimRight(text, "\n"), r.in.Subject.Redact))
}

// finding converts a reviewer's remark. Its text is data: cleaned, cut, and compared with the diff.
func (r *run) finding(k kind, m remark) Finding {
	rule := m.Rule
	if !slices.Contains(words(k.number), rule) {
		rule = "other"
	}
	path := strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(m.Path), "a/"), "b/")
	if !slices.ContainsFunc(r.diff.files, func(f shownFile) bool { return f.path == path }) {
		path = strings.TrimSpace(m.Path)
	}
	f := Finding{Citation: phrase.Cut(r.clean(m.Citation), mostCitation)}
	f.Finding = gates.Finding{Rule: k.name + "/" + rule, Severity: m.Severity,
		Message: phrase.Cut(r.clean(m.Message), mostMessage)}
	line, ok := r.diff.prove(path, m.Citation, m.Line)
	if ok {
		f.Path, f.Line = path, line
		return f
	}
	f.Unproven, f.Path = true, redact.Clean(phrase.Cut(path, 300))
	if f.Severity == gates.Error {
		f.Severity = gates.Warning
	}
	if !fs.ValidPath(f.Path) {
		f.Path = "" // not a place in the tree
	}
	return f
}

// clean makes external text safe to show and to store.
func (r *run) clean(text string) string {
	return strings.TrimSpace(safe(text, r.in.Subject.Redact))
}

// mostNamed limits how many files a note names.
const mostNamed = 5

func named(list []string) string { return phrase.Few(list, mostNamed) }
