package retrieve

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/fence"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/llm"
)

// understood is a model's analysis of a task.
type understood struct {
	Intent   string   `json:"intent"`
	Kind     TaskKind `json:"task_type"`
	Concepts []string `json:"concepts"`
	Symbols  []string `json:"symbols"`
	Domain   string   `json:"domain"`
	Module   string   `json:"module"`
}

const analysisSchema = `{"type":"object","properties":{` +
	`"intent":{"type":"string","minLength":1,"maxLength":400},` +
	`"task_type":{"type":"string","enum":["bug_fix","feature","refactor","test","documentation","performance","other"]},` +
	`"concepts":{"type":"array","maxItems":8,"items":{"type":"string","maxLength":60}},` +
	`"symbols":{"type":"array","maxItems":8,"items":{"type":"string","maxLength":80}},` +
	`"domain":{"type":"string","maxLength":60},"module":{"type":"string","maxLength":60}},` +
	`"required":["intent","task_type","concepts","symbols","domain","module"],"additionalProperties":false}`

// query looks up the names in a task, without a model.
func (p *pass) query(ctx context.Context) (TaskQuery, error) {
	c := findClues(p.req.Text)
	m, err := p.lookUp(ctx, c)
	return TaskQuery{Text: p.req.Text, Kind: c.Kind, Files: m.files, Symbols: m.symbols, Errors: c.Errors,
		Keywords: c.Keywords, Unknown: m.unknown}, err
}

// analyse finds the names in a task and asks a model what the task is about (RETR-02).
func (p *pass) analyse(ctx context.Context) (TaskQuery, error) {
	q, err := p.query(ctx)
	if err != nil {
		return q, err
	}
	if p.ranked, err = p.search(ctx, q); err != nil {
		return q, err
	}
	if err := p.matched(ctx, q); err != nil {
		return q, err // do not ask a model about an empty repository
	}
	for _, u := range q.Unknown {
		p.note("not in the repository: %s", fence.Line(u))
	}
	overview, err := p.overview(ctx)
	if err != nil {
		return q, err
	}
	r, err := p.room(llm.TaskAnalysis)
	if err != nil {
		return q, err
	}
	text, left := r.share(q.Text)
	if left > 0 {
		p.note("the task is long: %d characters of its middle are not shown to the model", left)
	}
	text, err = p.Prompts.Render(analysis, map[string]string{
		"overview": overview, "task": strings.TrimSpace(fence.Foreign("", strings.TrimSpace(text))),
		"files":   Listed(lists.Map(q.Files, func(f FileNamed) string { return f.Path }), 30),
		"symbols": Listed(q.symbolNames(), 30),
		"errors":  Listed(q.errorTexts(), 10), "unknown": Listed(q.Unknown, 10),
	})
	if err != nil {
		return q, err
	}
	a, err := ask[understood](ctx, p,
		question{Type: analysis, LLM: llm.TaskAnalysis, Prompt: text, Schema: json.RawMessage(analysisSchema)})
	if err != nil {
		return q, err
	}
	err = p.take(ctx, &q, a)
	return q, err
}

// take adds the model's answer to the query. It keeps only symbols that exist.
func (p *pass) take(ctx context.Context, q *TaskQuery, a understood) error {
	say := func(s string) string { return fence.Line(p.Redact(s)) }
	q.Intent, q.Domain, q.Module = say(a.Intent), strings.ToLower(say(a.Domain)), say(a.Module)
	if q.Kind == Other {
		q.Kind = a.Kind
	}
	for _, c := range a.Concepts {
		if c = strings.ToLower(say(c)); c != "" && !slices.Contains(q.Concepts, c) {
			q.Concepts = append(q.Concepts, c)
		}
	}
	for _, name := range a.Symbols {
		name = strings.TrimSuffix(strings.TrimSpace(name), "()")
		if !nameRE.MatchString(name) || slices.Contains(q.symbolNames(), name) || slices.Contains(q.Suggested, name) {
			continue
		}
		found, err := p.symbols(ctx, name)
		if err != nil {
			return err
		}
		if len(found) > 0 {
			q.Suggested = append(q.Suggested, name)
		}
	}
	return nil
}

// overview describes the contents of the repository.
func (p *pass) overview(ctx context.Context) (string, error) {
	languages, err := p.Base.LanguageCounts(ctx, p.Repo)
	if err != nil {
		return "", err
	}
	domains, err := p.Base.DomainCounts(ctx, p.Repo)
	if err != nil {
		return "", err
	}
	text := "Files: " +
		phrase.Join(languages, ", ", func(l store.Tally) string { return fmt.Sprintf("%s: %d", l.Name, l.Count) })
	if len(domains) > 0 {
		text += "\nDomains: " +
			phrase.Join(domains[:min(30, len(domains))], ", ", func(d store.Tally) string { return fence.Line(d.Name) })
	}
	return text, nil
}

// symbolNames returns the symbol names of the task without duplicates.
func (q TaskQuery) symbolNames() []string {
	var out []string
	for _, s := range q.Symbols {
		out = lists.Add(out, s.As)
	}
	return out
}

func (q TaskQuery) errorTexts() []string {
	var out []string
	for _, e := range q.Errors {
		if e.Message != "" && !slices.Contains(out, e.Message) {
			out = append(out, e.Message)
		}
	}
	return out
}

// Listed joins foreign texts into one line.
func Listed(texts []string, most int) string {
	out := lists.Map(texts[:min(len(texts), most)],
		func(t string) string { return "`" + strings.ReplaceAll(phrase.Cut(fence.Line(t), 160), "`", "'") + "`" })
	if more := len(texts) - most; more > 0 {
		out = append(out, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(out, ", ")
}
