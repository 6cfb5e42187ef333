package feedback

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/fence"
	"github.com/runplan/runplan/internal/prompt"
	"github.com/runplan/runplan/llm"
)

// Triage is the classification of a feedback.
type Triage struct {
	Class          Class    `json:"fix_class"`
	RootCause      string   `json:"root_cause"` // a hypothesis
	CandidateFiles []string `json:"candidate_files"`
	ConfidencePct  int      `json:"confidence_pct"`
	Escalated      bool     `json:"escalated_low_confidence"` // classified, but with too little confidence
	Said           Class    `json:"said_class,omitempty"`     // with Escalated: that class
}

// String describes the triage for people.
func (t Triage) String() string {
	if t.Escalated {
		return fmt.Sprintf("%s: the model says %s with a confidence of %d %%, below the required %d %%", t.Class, t.Said,
			t.ConfidencePct, MinConfidence)
	}
	return fmt.Sprintf("%s (%d %%): %s", t.Class, t.ConfidencePct, cmp.Or(t.RootCause, "the model gives no reason"))
}

// Asker asks a model with the prompts of this package.
type Asker struct {
	LLM      llm.Completer
	Model    llm.Model
	Prompts  prompt.Set
	Identity string // identity documents that precede the prompts
}

// Triage classifies the fix that a text asks for (FIX-07). An invalid answer, class or confidence is an error
// (FIX-09). Below [MinConfidence] the result is out of scope (FIX-08).
func (a Asker) Triage(ctx context.Context, body string) (Triage, error) {
	var list strings.Builder
	for _, k := range classes() {
		fmt.Fprintf(&list, "- %s: %s\n", k.class, k.meaning)
	}
	system, err := a.Prompts.Render("self_fix_triage",
		map[string]string{"identity": a.Identity, "classes": strings.TrimSpace(list.String())})
	if err != nil {
		return Triage{}, err
	}
	model := a.Model
	model.Temperature = 0
	got, _, err := llm.JSON[Triage](ctx, a.LLM,
		llm.Request{Model: model, Stage: llm.Review, System: system, Prompt: fence.Foreign("text", body),
			Schema: triageSchema()})
	if err != nil {
		return Triage{}, err
	}
	if got, err = settle(got); err != nil {
		return Triage{}, &llm.AnswerError{Model: model.Label(), Err: err}
	}
	return got, nil
}

// settle validates an answer, of which it takes the fields of the schema, and applies the threshold.
func settle(got Triage) (Triage, error) {
	t := Triage{Class: got.Class, RootCause: fence.Line(got.RootCause), ConfidencePct: got.ConfidencePct}
	for _, f := range got.CandidateFiles {
		if f = fence.Line(f); f != "" && len(t.CandidateFiles) < mostFiles {
			t.CandidateFiles = append(t.CandidateFiles, f)
		}
	}
	switch {
	case !slices.Contains(classNames(), t.Class):
		return Triage{}, fmt.Errorf("unknown class of fixes %q", fence.Line(string(got.Class)))
	case t.ConfidencePct < 0 || t.ConfidencePct > 100:
		return Triage{}, fmt.Errorf("confidence %d: must be 0 to 100", t.ConfidencePct)
	case t.RootCause == "":
		return Triage{}, fmt.Errorf("it has no cause")
	case t.ConfidencePct < MinConfidence && t.Class != OutOfScope:
		t.Class, t.Said, t.Escalated = OutOfScope, t.Class, true
	}
	return t, nil
}

// mostFiles is the highest number of files in a triage or plan.
const mostFiles = 50

func triageSchema() json.RawMessage {
	return schema(map[string]any{
		"fix_class":       map[string]any{"type": "string", "enum": classNames()},
		"root_cause":      map[string]any{"type": "string", "minLength": 1},
		"candidate_files": map[string]any{"type": "array", "items": map[string]any{"type": "string"}},
		"confidence_pct":  map[string]any{"type": "integer", "minimum": 0, "maximum": 100},
	})
}

// schema returns the schema of an object that requires all given fields.
func schema(fields map[string]any) json.RawMessage {
	all := slices.Sorted(maps.Keys(fields))
	text, _ := json.Marshal(map[string]any{"type": "object", "properties": fields, "required": all}) // always encodes
	return text
}
