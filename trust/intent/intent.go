// Package intent finds out what a text of the inbox wants (TRUST-11).
//
// A model names one of a fixed list of intents, and says how sure it is. That is all that it decides: what follows is a
// reply that a handler here writes, and a reply proposes a command and never runs it. Whoever can write into the inbox, or
// steer the model, gets to propose at most.
package intent

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/runplan/runplan/internal/fence"
	"github.com/runplan/runplan/internal/prompt"
	"github.com/runplan/runplan/llm"
	"github.com/runplan/runplan/trust"
)

// Intent is what a text wants.
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

// MinConfidence is what a model has to be sure of, in percent, for its word to count.
const MinConfidence = 70

// Class is what a text was taken for.
type Class struct {
	Intent     Intent      `json:"intent"`
	Confidence int         `json:"confidence_pct"`
	Tier       *trust.Tier `json:"tier"` // that the text names
}

// known is an intent, how a model is told of it, and what answers it.
type known struct {
	intent  Intent
	meaning string
	handle  func(c Class, now trust.Contract) string
}

// intents is the table of all of them, in the order in which a model reads it.
func intents() []known {
	return []known{
		{Promote, "to raise the tier of trust, or to allow more without asking", promote},
		{Demote, "to lower the tier of trust, or to allow less", demote},
		{EnableSelfEdit, "to let runplan edit its own prompts and loop, for now or for good", enable},
		{StopSelfEdit, "to no longer let it do so", stop},
		{ShowTrust, "to know what runplan may do", shows("runplan trust")},
		{ShowStatus, "to know how runs stand", shows("runplan status")},
		{ShowSpend, "to know what was spent", shows("runplan spend --all")},
		{StandUp, "a report of what was done, is under way and is stuck", shows("runplan standup")},
		{FreeForm, "anything else", func(Class, trust.Contract) string {
			return "Nothing here answers that by itself. It stays in the inbox for somebody to read."
		}},
	}
}

//go:embed prompts/*.md
var promptFiles embed.FS

// loadPrompts reads the prompt of the classifier. Nobody else's takes its place: a repository that could write it could say what a
// text is taken for.
func loadPrompts() (prompt.Set, error) {
	return prompt.LoadEmbedded("trust/intent", promptFiles)
}

// Classifier asks a model, at temperature 0.
type Classifier struct {
	LLM      llm.Completer
	Model    llm.Model
	Identity string // the identity documents, which head the prompt
}

// Classify says what a text wants. An answer that is none is an error; one that is not sure enough, or names an intent that is
// none, is [FreeForm].
func (c Classifier) Classify(ctx context.Context, text string) (Class, error) {
	prompts, err := loadPrompts()
	if err != nil {
		return Class{}, err
	}
	var list strings.Builder
	for _, k := range intents() {
		fmt.Fprintf(&list, "- %s: %s\n", k.intent, k.meaning)
	}
	system, err := prompts.Render("intent_classifier", map[string]string{"identity": c.Identity, "intents": strings.TrimSpace(list.String())})
	if err != nil {
		return Class{}, err
	}
	model := c.Model
	model.Temperature = 0
	got, _, err := llm.JSON[Class](ctx, c.LLM, llm.Request{Model: model, Stage: llm.Review, System: system, Prompt: fence.Foreign("text", text), Schema: schema(model.Provider == llm.Ollama)})
	var wrong *llm.AnswerError
	if errors.As(err, &wrong) {
		// A server that does not hold the model to the names: a name that is none is no error.
		if named, other := llm.ParseJSON[Class](wrong.Raw, schema(false)); other == nil {
			got, err = named, nil
		}
	}
	if err != nil {
		return Class{}, err
	}
	return settle(got), nil
}

// settle makes of an answer what counts.
func settle(got Class) Class {
	switch {
	case got.Confidence < MinConfidence || handler(got.Intent) == nil:
		return Class{FreeForm, got.Confidence, nil}
	case got.Tier != nil && !got.Tier.Valid():
		got.Tier = nil // there is no such tier: the reply proposes the next
	}
	return got
}

// schema is the form of an answer. With names, the intent is one of those that there are: a server can hold a model to it.
func schema(names bool) json.RawMessage {
	intent := map[string]any{"type": "string"}
	if names {
		var list []Intent
		for _, k := range intents() {
			list = append(list, k.intent)
		}
		intent["enum"] = list
	}
	text, _ := json.Marshal(map[string]any{ // of strings and numbers only, so it never fails
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
	for _, k := range intents() {
		if k.intent == i {
			return k.handle
		}
	}
	return nil
}

// Reply answers a text of that class, as the contract stands. It proposes and never acts.
func Reply(c Class, now trust.Contract) string {
	if h := handler(c.Intent); h != nil {
		return h(c, now)
	}
	return handler(FreeForm)(c, now)
}

func promote(c Class, now trust.Contract) string {
	if !now.Owned() {
		return "There is no owner who could promote it. Name one: runplan trust --bootstrap --owner NAME --channel WHERE"
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

// proposal is the command that the owner would have to give. Reason and signature are left to a human.
func proposal(to trust.Tier, flags string) string {
	return fmt.Sprintf("Nothing was changed. If you want that, and you are the owner: runplan promote --to-tier %d%s --reason WHY --signature NAME", to, flags)
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

// tierOf is the tier that an action needs.
func tierOf(a trust.Action) trust.Tier {
	for _, r := range trust.Table() {
		if r.Action == a {
			return r.Tier
		}
	}
	return trust.Highest
}

func shows(command string) func(Class, trust.Contract) string {
	return func(Class, trust.Contract) string { return command + " shows it." }
}
