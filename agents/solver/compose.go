package solver

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"strings"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/internal/fence"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/prompt"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/internal/tokens"
	"github.com/runplan/runplan/knowledge/retrieve"
	"github.com/runplan/runplan/llm"
)

// The prompts, by name.
const (
	executeCode = "execute_code"
	executePlan = "execute_plan"
)

//go:embed prompts/*.md
var prompts embed.FS

// LoadPrompts reads the solver's prompts. Prompts of later layers override the built-in ones (MODEL-14).
func LoadPrompts(layers ...prompt.Layer) (prompt.Set, error) {
	return prompt.LoadEmbedded("agents/solver", prompts, layers...)
}

// question holds the parts of a prompt. Parts that do not change between attempts come first (MODEL-13).
type question struct {
	prompt  string // name of the prompt; the system text has the suffix _system
	context retrieve.Package
	task    string // the goal of the plan
	brief   agents.Brief
	history history // earlier attempts
	granted string  // the result of a request for more context
}

// fit returns the request reduced to the window of the model (BUD-05), and the removed parts. It removes in this
// order (BUD-06): the attempts before the last one, the text about its failure, and supporting context, least
// important first.
func (q question) fit(set prompt.Set, r llm.Request, b tokens.Budget) (llm.Request, []string, error) {
	var left []string
	for {
		made, err := q.render(set, r)
		if err != nil {
			return r, nil, err
		}
		full := llm.Check(made, b)
		if full == nil {
			return made, left, nil
		}
		what, ok := q.shorten()
		if !ok {
			return r, left, fmt.Errorf("after everything optional was omitted: %w", full)
		}
		left = append(left, what)
	}
}

// shorten removes the next removable part.
func (q *question) shorten() (what string, ok bool) {
	switch {
	case len(q.history) > 1:
		q.history = q.history[len(q.history)-1:]
		return "attempts before the last one", true
	case q.brief.Failure != "":
		q.brief.Failure = ""
		return "details of the last failure", true
	}
	for _, d := range []retrieve.Detail{retrieve.TypeContext, retrieve.Supporting} {
		for i := len(q.context.Parts) - 1; i >= 0; i-- {
			p := q.context.Parts[i]
			if p.Detail != d {
				continue
			}
			parts := append([]retrieve.Part(nil), q.context.Parts[:i]...)
			q.context.Parts = append(parts, q.context.Parts[i+1:]...)
			q.context.Tokens -= p.Tokens
			return strings.TrimSuffix(fmt.Sprintf("%s context %s:%s", d, p.Path, p.Symbol), ":"), true
		}
	}
	return "", false
}

func (q question) render(set prompt.Set, r llm.Request) (llm.Request, error) {
	var err error
	if r.System, err = set.Render(q.prompt+"_system", nil); err != nil {
		return r, err
	}
	retry := strings.Join(nonEmpty(q.granted, q.history.text(), q.brief.Failure), "\n")
	q.brief.Failure = "" // it changes between attempts, so it has its place at the end
	r.Prompt, err = set.Render(q.prompt,
		map[string]string{"context": q.context.Text(), "task": q.task, "brief": q.brief.Text(), "retry": retry})
	return r, err
}

func nonEmpty(texts ...string) []string {
	var out []string
	for _, t := range texts {
		if t = strings.TrimSpace(t); t != "" {
			out = append(out, t+"\n")
		}
	}
	return out
}

// entry is the session's record of an attempt, under retry_context (DB-08).
type entry struct {
	Attempt int    `json:"attempt"`
	Variant string `json:"variant,omitempty"` // of a candidate: several have the same number
	Class   Class  `json:"class,omitempty"`   // "": the edits were carried out
	Summary string `json:"summary"`
}

// history lists the attempts so far, in the order in which they ended.
type history []entry

// past reads the results of earlier attempts. If the edits of one were applied, the gates refused it; otherwise no
// attempt would follow.
func past(ctx context.Context, s Session, attempt int) (history, error) {
	var all, out history
	if _, err := s.Get(ctx, store.KeyRetryContext, &all); err != nil {
		return nil, err
	}
	for _, e := range all {
		if e.Attempt >= attempt {
			continue // from a concurrent candidate or a stopped try
		}
		e.Class = cmp.Or(e.Class, Gates)
		out = append(out, e)
	}
	return out, nil
}

// remember adds an attempt. It replaces the entry of an earlier try at the same attempt.
func remember(ctx context.Context, s Session, e entry) error {
	var all history
	if _, err := s.Get(ctx, store.KeyRetryContext, &all); err != nil {
		return err
	}
	kept := lists.Filter(all, func(x entry) bool { return x.Attempt != e.Attempt || x.Variant != e.Variant })
	return s.Set(ctx, store.KeyRetryContext, append(kept, e))
}

// text describes the failures for a model, one line per attempt, with advice on the last one.
func (h history) text() string {
	var b strings.Builder
	for i, e := range h {
		fmt.Fprintf(&b, "- attempt %d: %s", e.Attempt, e.Class)
		if s := fence.Line(e.Summary); s != "" {
			fmt.Fprintf(&b, " (%s)", s)
		}
		b.WriteByte('\n')
		if advice := e.Class.Advice(); advice != "" && i == len(h)-1 {
			fmt.Fprintf(&b, "\nThis time: %s.\n", advice)
		}
	}
	return b.String()
}

// classes summarizes how attempts ended, for the log of a refinement.
func (h history) classes() []string {
	return lists.Map(h, func(e entry) string { return fmt.Sprintf("attempt %d: %s", e.Attempt, e.Class) })
}
