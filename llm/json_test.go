package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/runplan/runplan/llm"
)

type verdict struct {
	Files []string `json:"files"`
	Sure  bool     `json:"sure"`
	Why   *string  `json:"why,omitempty"`
}

const verdictSchema = `{"type":"object","properties":{"files":{"type":"array","items":{"type":"string"}},"sure":{"type":"boolean"},"why":{"type":"string"}},"required":["files","sure"]}`

func TestJSON(t *testing.T) {
	ok := verdict{Files: []string{"a.go"}, Sure: true}
	const good = `{"files":["a.go"],"sure":true}`
	for name, c := range map[string]struct {
		text     string
		provider string
		why      string // "" is accepted
	}{
		"the request":        {text: good},
		"with blanks around": {text: "\n " + good + " \n"},
		"text after it":      {text: good + " I hope that helps", why: "17 bytes of text follow"},
		"text before it":     {text: "Sure! " + good, why: "invalid character"},
		"two values":         {text: good + good, why: "follow the value"},
		"an unknown field": {text: `{"files":["a.go"],"sure":true,"mood":"fine"}`,
			why: `unknown field "mood"`},
		"a field twice": {text: `{"files":["b.go"],"files":["a.go"],"sure":true}`,
			why: "a field twice"},
		"a field of another type": {text: `{"files":"a.go","sure":true}`, why: "cannot unmarshal"},
		"a missing field": {text: `{"files":["a.go"]}`,
			why: "does not meet the schema at (root): missing property 'sure'"},
		"null where there is a value":           {text: `{"files":null,"sure":true}`, why: "files: got null, want array"},
		"null":                                  {text: `null`, why: "(root): got null, want object"},
		"cut off":                               {text: good[:20], why: "unexpected EOF"},
		"nothing":                               {text: "", why: "is empty"},
		"no UTF-8":                              {text: "{\"files\":[\"\xff\"],\"sure\":true}", why: "not UTF-8"},
		"very deep":                             {text: strings.Repeat("[", 2000), why: "1000 deep"},
		"a fence from a server":                 {text: "```json\n" + good + "\n```", why: "invalid character"},
		"a fence from a program":                {text: "```json\n" + good + "\n```\n", provider: llm.Command},
		"a fence without a word from a program": {text: "````\n" + good + "\n````", provider: llm.Command},
		"a fence of another language": {text: "```yaml\n" + good + "\n```", provider: llm.Command,
			why: "invalid character"},
		"text before the fence": {text: "Here:\n```json\n" + good + "\n```", provider: llm.Command,
			why: "invalid character"},
		"text after the fence": {text: "```json\n" + good + "\n```\nDone.", provider: llm.Command,
			why: "invalid character"},
		"two fences": {text: "```json\n" + good + "\n```\n```json\n" + good + "\n```",
			provider: llm.Command, why: "invalid character"},
	} {
		t.Run(name, func(t *testing.T) {
			said := llm.CompleterFunc(func(_ context.Context, r llm.Request) (llm.Response, error) {
				if string(r.Schema) != verdictSchema {
					t.Errorf("schema %s", r.Schema)
				}
				return llm.Response{Text: c.text, Model: "q"}, nil
			})
			v, res, err := llm.JSON[verdict](t.Context(), said,
				llm.Request{Model: llm.Model{Name: "q", Provider: c.provider}, Prompt: "x", Schema: json.RawMessage(verdictSchema)})
			if res.Text != c.text {
				t.Errorf("the response is lost: %+v", res)
			}
			if c.why == "" {
				if err != nil || !reflect.DeepEqual(v, ok) {
					t.Fatalf("%+v, %v", v, err)
				}
				return
			}
			var wrong *llm.AnswerError
			if !errors.As(err, &wrong) || wrong.Raw != c.text || !strings.Contains(err.Error(), c.why) ||
				!reflect.DeepEqual(v, verdict{}) {
				t.Fatalf("%+v, %v", v, err)
			}
		})
	}
}

func TestJSONNeedsSchema(t *testing.T) {
	asked := llm.CompleterFunc(
		func(context.Context, llm.Request) (llm.Response, error) { t.Error("asked"); return llm.Response{}, nil })
	if _, _, err := llm.JSON[verdict](t.Context(), asked, llm.Request{Prompt: "x"}); err == nil {
		t.Error("no error")
	}
	if _, err := llm.ParseJSON[verdict](`{"files":[],"sure":true}`, json.RawMessage(`{"type":`)); err == nil ||
		errors.As(err, new(*llm.AnswerError)) {
		t.Errorf("an invalid schema must not count as an invalid answer: %v", err)
	}
}

// For any text of a model, an accepted answer is one JSON value that is equal after it is encoded and parsed again.
func FuzzParseJSON(f *testing.F) {
	for _, s := range []string{`{"files":["a"],"sure":true}`, `{"files":[],"sure":false,"why":"x"} `,
		`{"files":[],"files":[]}`, "```json\n{}\n```", `[[[[`, `{"a":1}}`, "\u2028{}", `{"files":["\ud800"],"sure":true}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := llm.ParseJSON[verdict](text, json.RawMessage(verdictSchema))
		if err != nil {
			if wrong := new(llm.AnswerError); !errors.As(err, &wrong) || wrong.Raw != text {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		if !json.Valid([]byte(text)) {
			t.Fatalf("taken, and no JSON: %q", text)
		}
		again, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		w, err := llm.ParseJSON[verdict](string(again), json.RawMessage(verdictSchema))
		if err != nil || !reflect.DeepEqual(v, w) {
			t.Fatalf("%q reads as %+v, and that as %+v (%v)", text, v, w, err)
		}
	})
}
