// Package intent classifies the intent of inbox texts (TRUST-11).
//
// A model selects one of a fixed list of intents and states its confidence. It decides nothing else: a handler in this
// package writes the reply, and a reply only proposes a command and never runs it. So an attacker who writes to the
// inbox or controls the model can at most cause a proposal.
package intent

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/runplan/runplan/internal/fence"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/prompt"
	"github.com/runplan/runplan/llm"
	"github.com/runplan/runplan/trust"
)

// Intent is the intent of a text.
type Intent string

// The intents.
const (
	Promote        Intent = "promote"
	Demote         Intent = "demote"
	EnableSelfEdit Intent = "enable_self_edit"
	StopSelfEdit   Intent = "stop_self_edit"
	ShowTrust      Intent = "show_trust"
	ShowStatus     Intent = "show_status"
	ShowSpend      Intent = "show_spend"
	StandUp        Intent = "stand_up"
	FreeForm       Intent = "free_form"
)

// MinConfidence is the least confidence in percent for a classification to count.
const MinConfidence = 70

// Class is the classification of a text.
type Class struct {
	Intent     Intent      `json:"intent"`
	Confidence int         `json:"confidence_pct"`
	Tier       *trust.Tier `json:"tier"` // tier that the text names
}

// known is an intent with its description for the model and its handler.
type known struct {
	intent  Intent
	meaning string
	handle  func(c Class, now trust.Contract) string
}

// intents returns all intents in the order in which the prompt lists them.
func intents() []known {
	return []known{
		{Promote, "to raise the tier of trust, or to allow more without asking", promote},
		{Demote, "to lower the trust tier, or to allow less", demote},
		{EnableSelfEdit, "to let runplan edit its own prompts and loop, for now or for good", enable},
		{StopSelfEdit, "to stop allowing that", stop},
		{ShowTrust, "to know what runplan may do", shows("runplan trust")},
		{ShowStatus, "to know the state of runs", shows("runplan status")},
		{ShowSpend, "to know the cost", shows("runplan spend --all")},
		{StandUp, "a report of finished, active and stuck work", shows("runplan standup")},
		{FreeForm, "anything else", func(Class, trust.Contract) string {
			return "No automatic answer exists for that. It stays in the inbox until a person reads it."
		}},
	}
}

//go:embed prompts/*.md
var promptFiles embed.FS

// Classifier classifies texts with a model at temperature 0.
type Classifier struct {
	LLM      llm.Completer
	Model    llm.Model
	Identity string // identity documents that precede the prompt
}

// Classify returns the intent of a text. An invalid answer is an error. An answer with low confidence or an unknown
// intent gives [FreeForm].
func (c Classifier) Classify(ctx context.Context, text string) (Class, error) {
	// A repository cannot override the prompt, because it could then control the classification.
	prompts, err := prompt.LoadEmbedded("trust/intent", promptFiles)
	if err != nil {
		return Class{}, err
	}
	var list strings.Builder
	for _, k := range intents() {
		fmt.Fprintf(&list, "- %s: %s\n", k.intent, k.meaning)
	}
	system, err := prompts.Render("intent_classifier",
		map[string]string{"identity": c.Identity, "intents": strings.TrimSpace(list.String())})
	if err != nil {
		return Class{}, err
	}
	model := c.Model
	model.Temperature = 0
	got, _, err := llm.JSON[Class](ctx, c.LLM,
		llm.Request{Model: model, Stage: llm.Review, System: system, Prompt: fence.Foreign("text", text),
			Schema: schema(model.Provider == llm.Ollama)})
	if wrong, ok := errors.AsType[*llm.AnswerError](err); ok {
		// If the server does not enforce the list of names, an unknown name is not an error.
		if named, other := llm.ParseJSON[Class](wrong.Raw, schema(false)); other == nil {
			got, err = named, nil
		}
	}
	if err != nil {
		return Class{}, err
	}
	return settle(got), nil
}

// settle applies the threshold and validates an answer.
func settle(got Class) Class {
	switch {
	case got.Confidence < MinConfidence || handler(got.Intent) == nil:
		return Class{FreeForm, got.Confidence, nil}
	case got.Tier != nil && !got.Tier.Valid():
		got.Tier = nil // an invalid tier: the reply proposes the next one
	}
	return got
}

// schema returns the schema of an answer. With names it restricts the intent to known ones, which a server can enforce.
func schema(names bool) json.RawMessage {
	intent := map[string]any{"type": "string"}
	if names {
		list := lists.Map(intents(), func(k known) Intent { return k.intent })
		intent["enum"] = list
	}
	text, _ := json.Marshal(map[string]any{ // strings and numbers always encode
		"type": "object",
		"properties": map[string]any{
			"intent":         intent,
			"confidence_pct": map[string]any{"type": "integer", "minimum": 0, "maximum": 100},
			"tier":           map[string]any{"type": []string{"integer", "null"}},
		},
		"required": []string{"intent", "confidence_pct", "tier"},
	})
	return text
}

func handler(i Intent) func(Class, trust.Contract) string {
	return lists.First(intents(), func(k known) bool { return k.intent == i }).handle
}

// Reply returns the reply to a classified text under the present contract. It only proposes commands.
func Reply(c Class, now trust.Contract) string {
	if h := handler(c.Intent); h != nil {
		return h(c, now)
	}
	return handler(FreeForm)(c, now)
}

func promote(c Class, now trust.Contract) string {
	if !now.Owned() {
		return "There is no owner who could promote it. Set one: runplan trust --bootstrap --owner NAME --channel WHERE"
	}
	to := min(now.Tier+1, trust.Highest)
	if c.Tier != nil {
		to = *c.Tier
	}
	if to <= now.Tier {
		return fmt.Sprintf("It is at tier %d already. Nothing was changed.", now.Tier)
	}
	return proposal(to, "")
}

// proposal returns the command that the owner would have to run. A human fills in reason and signature.
func proposal(to trust.Tier, flags string) string {
	return fmt.Sprintf("Nothing was changed. If you want that, and you are the owner: runplan promote --to-tier %d%s "+
		"--reason WHY --signature NAME", to, flags)
}

func demote(c Class, now trust.Contract) string {
	to := now.Tier - 1
	if c.Tier != nil {
		to = *c.Tier
	}
	if to >= now.Tier || to < trust.Lowest {
		return fmt.Sprintf("It is at tier %d already. Nothing was changed.", now.Tier)
	}
	return fmt.Sprintf("Nothing was changed. If you want that: runplan demote --to-tier %d --reason WHY", to)
}

func enable(_ Class, now trust.Contract) string {
	switch {
	case !now.Owned():
		return promote(Class{}, now)
	case now.SelfEdit:
		return "It may edit its own prompts and loop already. Nothing was changed."
	case trust.Allows(now.Tier, trust.EditSelf):
		return proposal(now.Tier, " --self-edit")
	}
	return proposal(tierOf(trust.EditSelf), "")
}

func stop(_ Class, now trust.Contract) string {
	if !now.SelfEdit {
		return "It may not edit its own prompts and loop. Nothing was changed."
	}
	to := tierOf(trust.EditSelf) - 1
	return demote(Class{Tier: &to}, now)
}

// tierOf returns the tier that an action needs.
func tierOf(a trust.Action) trust.Tier {
	if r, ok := lists.Find(trust.Table(), func(r trust.Rule) bool { return r.Action == a }); ok {
		return r.Tier
	}
	return trust.Highest
}

func shows(command string) func(Class, trust.Contract) string {
	return func(Class, trust.Contract) string { return command + " shows it." }
}
