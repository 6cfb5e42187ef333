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

// LoadPrompts reads the solver's prompts; those of later layers take the place of the built-in ones (MODEL-14).
func LoadPrompts(layers ...prompt.Layer) (prompt.Set, error) {
	return prompt.LoadEmbedded("agents/solver", prompts, layers...)
}

// question holds the parts of a prompt. The parts that stay the same between attempts come first (MODEL-13).
type question struct {
	prompt  string // name of the prompt; that of the system text has _system behind it
	context retrieve.Package
	task    string  // that the plan is for
	brief   string  // what is to be done; without its part on the last failure
	history history // attempts before this one
	failure string  // what the brief says of the last failure
	granted string  // what became of a request for more context
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
		what, ok := q.shorten(b)
		if !ok {
			return r, left, fmt.Errorf("after everything optional was left out: %w", full)
		}
		left = append(left, what)
	}
}

// shorten takes out the next thing that may go.
func (q *question) shorten(b tokens.Budget) (what string, ok bool) {
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
