package advise

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/runplan/runplan/internal/fence"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/tokens"
	"github.com/runplan/runplan/llm"
	"github.com/runplan/runplan/training"
	"github.com/runplan/runplan/training/curate"
)

// Limits of one question about examples.
const (
	mostInBatch = 16
	eachAnswer  = 60 // tokens of the opinion about one example
)

// opinion is a model's answer about one example.
type opinion struct {
	Keep   bool   `json:"keep"`
	Reason string `json:"reason"`
}

// Judge asks about examples, in batches that fit into the budget, and reports each opinion in the order of the
// examples. An example without a usable opinion is kept, with the reason why it was not judged. Judge holds only one
// batch in memory.
func (a Adviser) Judge(ctx context.Context, all iter.Seq2[training.Example, error],
	tell func(curate.Opinion)) error {
	var batch []training.Example
	var text string // the question about batch
	ask := func() error {
		defer func() { batch = nil }()
		return a.judge(ctx, batch, text, tell)
	}
	for e, err := range all {
		if err != nil {
			return err
		}
		for {
			next, err := a.question(append(batch, e))
			if err != nil {
				return err
			}
			if len(batch) < a.most() && a.Budget.Of(next) <= a.Budget.Retrieval() {
				batch, text = append(batch, e), next
				break
			}
			if len(batch) == 0 { // a single example does not fit
				tell(curate.Opinion{ID: e.ID, Keep: true, Unjudged: "the question exceeds the budget"})
				break
			}
			if err := ask(); err != nil {
				return err
			}
		}
	}
	if len(batch) == 0 {
		return nil
	}
	return ask()
}

// most returns how many examples one answer can judge.
func (a Adviser) most() int {
	room := a.Model.MaxTokens
	if room == 0 {
		room = a.Budget.Reserved
	}
	return max(1, min(mostInBatch, room/eachAnswer))
}

func key(i int) string { return fmt.Sprintf("e%02d", i+1) }

// question renders the question about a batch. Long texts are cut in the middle, so that a batch has several examples.
func (a Adviser) question(batch []training.Example) (string, error) {
	var b strings.Builder
	for i, e := range batch {
		said := lists.Map(e.Prompt, func(m training.Message) string { return m.Role + ":\n" + m.Content })
		mark := "good"
		switch {
		case e.Rejected != "":
			mark = "better than another answer"
		case !e.Positive:
			mark = "bad"
		}
		fmt.Fprintf(&b, "## %s, marked %s\n\nThe prompt:\n\n%s\nThe answer:\n\n%s\n", key(i), mark,
			fence.Foreign("text", a.cut(strings.Join(said, "\n\n"), 6)), fence.Foreign("text", a.cut(e.Completion, 12)))
		if e.Rejected != "" {
			fmt.Fprintf(&b, "The other answer:\n\n%s\n", fence.Foreign("text", a.cut(e.Rejected, 12)))
		}
	}
	text, err := a.Prompts.Render("curate_data",
		map[string]string{"stage": string(batch[0].Stage), "examples": b.String()})
	return a.Redact(text), err
}

// cut shortens a text to a part of the budget. It keeps the beginning and the end.
func (a Adviser) cut(text string, part int) string {
	runes, most := []rune(text), a.Budget.Retrieval()*tokens.PerToken/part
	if len(runes) <= most {
		return text
	}
	return fmt.Sprintf("%s\n[%d characters cut]\n%s", string(runes[:most*2/3]), len(runes)-most,
		string(runes[len(runes)-(most-most*2/3):]))
}

// judge asks about one batch.
func (a Adviser) judge(ctx context.Context, batch []training.Example, text string, tell func(curate.Opinion)) error {
	ids := make([]string, len(batch))
	for i := range batch {
		ids[i] = fmt.Sprintf("%q", key(i))
	}
	each := lists.Map(ids, func(id string) string {
		return id + `:{"type":"object","properties":{"keep":{"type":"boolean"},"reason":{"type":"string","minLength":1}},` +
			`"required":["keep","reason"],"additionalProperties":false}`
	})
	schema := fmt.Sprintf(`{"type":"object","properties":{%s},"required":[%s],"additionalProperties":false}`,
		strings.Join(each, ","), strings.Join(ids, ","))
	got, _, err := llm.JSON[map[string]opinion](ctx, a.LLM,
		llm.Request{Model: a.Model, Stage: llm.CurateData, Prompt: text, Schema: json.RawMessage(schema)})
	bad, unusable := errors.AsType[*llm.AnswerError](err)
	if err != nil && !unusable {
		return err
	}
	for i, e := range batch {
		o := curate.Opinion{ID: e.ID, Keep: got[key(i)].Keep, Reason: a.line(got[key(i)].Reason)}
		if unusable {
			o = curate.Opinion{ID: e.ID, Keep: true, Unjudged: a.line(bad.Err.Error())}
		}
		tell(o)
	}
	return nil
}
