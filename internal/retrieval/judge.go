package main

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/llm"
)

// judge answers the questions of the stages as a script has it.
type judge struct {
	t    *task
	kind string // perfect, refuses or takes
}

var (
	fileLine  = regexp.MustCompile(`(?m)^(f\d+)  (\S.*?)  \(`)
	ownerLine = regexp.MustCompile(`^(\S.*) \(tier \d`)
	pieceLine = regexp.MustCompile(`^\s+(s\d+)  .*?  (\d+)-(\d+)(?:\s|$)`)
)

func (j judge) Complete(_ context.Context, r llm.Request) (llm.Response, error) {
	answer := map[string]any{}
	switch r.Stage {
	case llm.TaskAnalysis:
		answer = map[string]any{"intent": "do what the task says", "task_type": "other", "concepts": []string{}, "symbols": []string{}, "domain": "", "module": ""}
	case llm.Scope:
		for _, m := range fileLine.FindAllStringSubmatch(r.Prompt, -1) {
			yes := j.kind == "takes"
			if j.kind == "perfect" {
				_, yes = j.t.file(m[2])
			}
			answer[m[1]] = map[string]any{"relevant": yes, "reason": "script"}
		}
	case llm.Precision:
		path := ""
		for line := range strings.Lines(r.Prompt) {
			if m := ownerLine.FindStringSubmatch(line); m != nil {
				path = m[1]
				continue
			}
			m := pieceLine.FindStringSubmatch(strings.TrimRight(line, "\n"))
			if m == nil {
				continue
			}
			from, _ := strconv.Atoi(m[2])
			to, _ := strconv.Atoi(m[3])
			detail := "excluded"
			switch j.kind {
			case "takes":
				detail = "primary"
			case "perfect":
				if f, ok := j.t.file(path); ok {
					detail = f.detail(from, to)
				}
			}
			answer[m[1]] = detail
		}
	}
	text, err := json.Marshal(answer)
	return llm.Response{Text: string(text)}, err
}

func (t *task) file(path string) (changedFile, bool) {
	for _, f := range t.files {
		if f.path == path {
			return f, true
		}
	}
	return changedFile{}, false
}

// detail is what a judge that knows the change says of some lines.
func (f changedFile) detail(from, to int) string {
	for _, n := range f.lines {
		if n < 0 && from <= -n && -n+1 <= to+1 || n > 0 && from <= n && n <= to {
			return "primary"
		}
	}
	return "excluded"
}

// model is the one that the scripts play.
func model(llm.Stage) (llm.Model, error) {
	return llm.Model{Name: "script", Provider: "command", Window: 1 << 20, MaxTokens: 1 << 18}, nil
}

// forgetful keeps nothing of what is asked and decided.
type forgetful struct{ values map[string]json.RawMessage }

func (forgetful) AddCall(context.Context, store.Call) error                 { return nil }
func (forgetful) AddDecisions(context.Context, []store.FileDecision) error { return nil }
func (s forgetful) Set(_ context.Context, key string, value any) error     { return nil }
func (s forgetful) Get(context.Context, string, any) (bool, error)         { return false, nil }

var began = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

func short(hash string) string { return fmt.Sprintf("%.9s", hash) }
