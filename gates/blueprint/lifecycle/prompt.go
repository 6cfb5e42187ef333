package lifecycle

import (
	"cmp"
	"embed"
	"fmt"
	"strings"
	"time"

	"github.com/runplan/runplan/gates/blueprint"
	"github.com/runplan/runplan/internal/fence"
	"github.com/runplan/runplan/internal/prompt"
	"github.com/runplan/runplan/knowledge/summary"
	"github.com/runplan/runplan/patterns"
)

// The prompts, by name.
const (
	systemPrompt   = "blueprint_system"
	reviewPrompt   = "blueprint_review"
	generatePrompt = "blueprint_generate"
	rubricPrompt   = "blueprint_rubric"
)

//go:embed prompts/*.md
var prompts embed.FS

// LoadPrompts reads the prompts. Prompts of later layers override the built-in ones.
func LoadPrompts(layers ...prompt.Layer) (prompt.Set, error) {
	return prompt.LoadEmbedded("gates/blueprint/lifecycle", prompts, layers...)
}

// Question is the content of a review prompt: the blueprint, summaries and the schema. It has no field for the source,
// the author's instructions, or opinions about the code (BP-17).
type Question struct {
	Blueprint *blueprint.Blueprint
	Files     []summary.Summary
	Unseen    []patterns.Skip
	Reviewer  string    // agent, adapter or human
	Now       time.Time // the reviewer name in the answer
	Scope     string    // the reviewed file; "" for the unit
	YAML      bool      // the blueprint as YAML instead of tables (BP-15)
}

// Texts returns the two parts of the prompt.
func (q Question) Texts(set prompt.Set) (system, text string, err error) {
	bp := q.Blueprint.Tables()
	if q.YAML {
		bp = "## Blueprint: " + q.Blueprint.Unit + "\n\n" + fence.Around("yaml", safe(q.Blueprint.YAML()))
	}
	var files, unseen strings.Builder
	for _, f := range q.Files {
		fmt.Fprintf(&files, "### %s\n\n%s\n", fence.Line(f.Path), fence.Foreign("", strings.TrimSpace(f.PromptText())))
	}
	for _, s := range q.Unseen {
		fmt.Fprintf(&unseen, "- %s: %s\n", fence.Line(s.Path), fence.Line(s.Reason))
	}
	scope := "the whole unit."
	if q.Scope != "" {
		scope = "only " + fence.Line(q.Scope) +
			", and the blueprint above contains only the parts that a file of its role is responsible for."
	}
	if system, err = set.Render(systemPrompt, nil); err != nil {
		return "", "", err
	}
	text, err = set.Render(reviewPrompt, map[string]string{
		"blueprint": safe(bp), "summaries": cmp.Or(strings.TrimSpace(files.String()), "none"),
		"unseen": strings.TrimSpace(unseen.String()), "unit": q.Blueprint.Unit,
		"reviewer": q.Reviewer, "now": q.Now.UTC().Format(time.RFC3339), "scope": scope, "schema": string(Schema()),
	})
	return system, text, err
}

// safe removes invisible characters and secrets.
func safe(text string) string { return fence.Hide(fence.Clean(text)) }
