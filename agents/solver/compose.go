package solver

import (
	"fmt"
	"strings"

	"embed"

	"github.com/runplan/runplan/internal/prompt"
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
	task    string  // the goal of the plan
	brief   string  // the task, without its part about the last failure
	history history // earlier attempts
	failure string  // the part of the brief about the last failure
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
	case q.failure != "":
		q.failure = ""
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
	retry := strings.Join(nonEmpty(q.granted, q.history.text(), q.failure), "\n")
	r.Prompt, err = set.Render(q.prompt,
		map[string]string{"context": q.context.Text(), "task": q.task, "brief": q.brief, "retry": retry})
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
