package review

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/llm"
	"github.com/runplan/runplan/tools/gatetest"
)

// says returns a gate that reports these findings.
func says(name string, cost gates.Cost, findings ...gates.Finding) gates.Gate {
	return gates.New(gates.Info{Name: name, Kind: gates.Static, Cost: cost, Blocking: true},
		func(_ context.Context, l *gates.Look) error {
			for _, f := range findings {
				l.Find(f)
			}
			return nil
		})
}

// skips returns a gate that does not run.
func skips(name string) gates.Gate {
	return gates.New(gates.Info{Name: name, Kind: gates.Static, Blocking: true},
		func(_ context.Context, l *gates.Look) error {
			l.Skip("not requested")
			return nil
		})
}

// cannot returns a gate that cannot run.
func cannot(name string) gates.Gate {
	return gates.New(gates.Info{Name: name, Kind: gates.Static, Blocking: true},
		func(context.Context, *gates.Look) error { return errors.New("no such tool") })
}

func green() []gates.Gate {
	return []gates.Gate{says("lint:go", gates.Cheap), says("tests:go", gates.Costly), says("secrets", gates.Instant),
		says("security:gosec", gates.Cheap), says("prose", gates.Instant)}
}

// judge is a reviewer that answers by pass and records its requests.
type judge struct {
	answers map[string]string // by a phrase of the prompt; "" is for all others
	err     error
	asked   []llm.Request
}

func (j *judge) Complete(_ context.Context, r llm.Request) (llm.Response, error) {
	j.asked = append(j.asked, r)
	if j.err != nil {
		return llm.Response{}, j.err
	}
	for phrase, text := range j.answers {
		if phrase != "" && strings.Contains(r.Prompt, phrase) {
			return llm.Response{Text: text, Latency: time.Millisecond}, nil
		}
	}
	return llm.Response{Text: j.answers[""], Latency: time.Millisecond}, nil
}

const (
	fine          = `{"findings":[],"verdict":"pass","confidence_pct":90}`
	architectural = "the architecture"
	prosaic       = "prose and voice"
	adversarial   = "break it"
	binding       = "does it answer the feedback"
)

// found returns an answer with one finding.
func found(rule, path string, line int, severity, citation string) string {
	quoted, _ := json.Marshal(citation)
	return fmt.Sprintf(`{"findings":[{"rule":%q,"path":%q,"line":%d,"severity":%q,"message":"it is wrong","citation":%s}],"verdict":"request-changes","confidence_pct":80}`,
		rule, path, line, severity, quoted)
}

func approves() *judge { return &judge{answers: map[string]string{"": fine}} }

func (j *judge) reviewer(vendor string, passes ...int) Reviewer {
	return Reviewer{Name: "judge-" + vendor, Vendor: vendor, Passes: passes, LLM: j,
		Model: llm.Model{Name: "m", Provider: llm.Ollama}}
}

// small returns a small change of code and documents.
func small(t *testing.T) gates.Subject {
	return gatetest.Change(t,
		map[string]string{"shop.go": "package shop\n\nfunc Total() int {\n\treturn 1\n}\n", "old.txt": "x\n"},
		map[string]string{"shop.go": "package shop\n\nfunc Total() int {\n\tsum := first()\n\treturn sum\n}\n",
			"new.md": "# Shop\n\nTotal adds up.\n"})
}

func input(t *testing.T, s gates.Subject, list []gates.Gate, reviewers ...Reviewer) Input {
	t.Helper()
	set, err := LoadPrompts()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	return Input{Subject: s, Gates: list, Reviewers: reviewers, Prompts: set,
		NewID: func() string { n++; return fmt.Sprintf("call-%d", n) }}
}

func mustRun(t *testing.T, in Input) Review {
	t.Helper()
	v, err := Run(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if len(v.Passes) != 7 {
		t.Fatalf("%d passes", len(v.Passes))
	}
	return v
}

// statuses returns the statuses of the seven passes in one line.
func statuses(v Review) string {
	var out []string
	for _, p := range v.Passes {
		out = append(out, string(p.Status))
	}
	return strings.Join(out, " ")
}
