//go:build unix

package testscripts

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/review"
	"github.com/runplan/runplan/llm"
	"github.com/runplan/runplan/tools/gatetest"
	"github.com/runplan/runplan/tools/tinymodel"
	"github.com/runplan/runplan/tools/tooltest"
)

// With the real server, the schema makes a model give an answer that can be parsed, in each of 50 calls: with random
// text, with other text that the model prefers, or with findings. An invented finding does not block, since it is not
// in the diff.
func TestOllamaReviewAnswersParse(t *testing.T) {
	tooltest.Slow(t)
	lookAtSources(t)
	program := ollamaProgram(t)
	server, err := startOllama(program, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.stop(); err != nil {
			t.Error(err)
		}
	})
	models := []tinymodel.Model{
		{Seed: 1}, {Seed: 2}, {Seed: 3},
		{Rules: []tinymodel.Rule{{Say: "LGTM! Ship it.\n```json\n{}\n```"}}},
		{Rules: []tinymodel.Rule{{Say: `{"findings":[{"rule":"logic","path":"a.go","line":3,"severity":"error","message":"it is \"wrong\": n / 0","citation":"func F(n int) int {"},` +
			`{"rule":"race","path":"a.go","line":9,"severity":"error","message":"two at once","citation":"go invented()"}],"verdict":"block","confidence_pct":70}`}}},
	}
	const rounds = 10
	prompts, err := review.LoadPrompts()
	if err != nil {
		t.Fatal(err)
	}
	asker := llm.New(llm.Options{Timeout: time.Minute})
	asked, parsed, findings := 0, 0, 0
	answers := map[string]bool{}
	for i, m := range models {
		name := fmt.Sprintf("review-%d", i)
		if err := server.create(t.Context(), name, m); err != nil {
			t.Fatal(err)
		}
		reviewer := review.Reviewer{
			Name: name, LLM: asker, Model: llm.Model{Name: name, Provider: llm.Ollama, BaseURL: server.url, Window: 8192,
				MaxTokens: 3000, Temperature: 1.5},
		}
		for n := range rounds {
			s := gatetest.Change(t, map[string]string{"a.go": "package a\n"},
				map[string]string{"a.go": fmt.Sprintf("package a\n\nfunc F(n int) int {\n\treturn n / %d\n}\n", n)})
			v, err := review.Run(t.Context(), review.Input{
				Subject: s, Reviewers: []review.Reviewer{reviewer}, Prompts: prompts, Only: []int{review.Adversarial},
				NewID: func() string { return "c" },
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range v.Passes {
				for _, c := range p.Calls {
					asked++
					if c.Error != "" {
						t.Errorf("%s, pass %d: %s", name, p.Number, c.Error)
						continue
					}
					parsed++
					answers[fmt.Sprint(*p.ConfidencePct, len(p.Findings), *c.CompletionTokens)] = true
				}
				for _, f := range p.Findings {
					findings++
					if f.Unproven == (f.Citation == "func F(n int) int {") || f.Unproven && f.Severity == gates.Error {
						t.Errorf("%+v", f)
					}
					if at := control(f.Message + f.Path); at >= 0 || !strings.HasPrefix(f.Rule, p.Name+"/") {
						t.Errorf("%+v", f)
					}
				}
			}
		}
	}
	t.Logf("%d of %d answers parse; %d findings, %d different answers", parsed, asked, findings, len(answers))
	if asked != len(models)*rounds || parsed != asked || len(answers) < 5 || findings < 2*rounds {
		t.Error("too few answers or findings")
	}
}
