package main

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/llm"
)

// judge answers the questions of the stages as a script has it.
type judge struct {
	t    *task
	kind string // perfect, refuses or takes
	seen offers
}

// offers holds the lines of each file that a judge was asked about. A file without lines was offered only to scope.
type offers map[string][][2]int

// whether describes whether lines of a file were offered, for the notes about misses.
func (o offers) whether(path string, lines []int) string {
	spans, ok := o[path]
	switch {
	case o == nil:
		return ""
	case !ok:
		return " (file not offered)"
	case len(lines) > 0 && !slices.ContainsFunc(lines, func(n int) bool {
		return !slices.ContainsFunc(spans, func(s [2]int) bool { return s[0] <= n && n <= s[1] })
	}):
		return " (offered)"
	}
	return fmt.Sprintf(" (file offered in %d pieces)", len(spans))
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
		answer = map[string]any{"intent": "do the task", "task_type": "other", "concepts": []string{},
			"symbols": []string{}, "domain": "", "module": ""}
	case llm.Scope:
		for _, m := range fileLine.FindAllStringSubmatch(r.Prompt, -1) {
			yes := j.kind == "takes"
			if j.kind == "perfect" {
				_, yes = j.t.file(m[2])
			}
			answer[m[1]] = map[string]any{"relevant": yes, "reason": "script"}
			j.seen[m[2]] = nil
		}
	case llm.Precision:
		answer = j.pieces(r.Prompt)
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

// pieces chooses what is shown of each. A judge that knows the change takes the smallest pieces with its lines.
func (j judge) pieces(prompt string) map[string]any {
	type offered struct {
		id       string
		from, to int
	}
	byPath := map[string][]offered{}
	answer := map[string]any{}
	path := ""
	for line := range strings.Lines(prompt) {
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
		byPath[path] = append(byPath[path], offered{m[1], from, to})
		j.seen[path] = append(j.seen[path], [2]int{from, to})
		answer[m[1]] = map[string]string{"takes": "primary"}[j.kind]
		if answer[m[1]] == "" {
			answer[m[1]] = "excluded"
		}
	}
	if j.kind != "perfect" {
		return answer
	}
	for _, f := range j.t.files {
		for _, n := range f.lines {
			at := []int{n}
			if n < 0 {
				at = []int{-n, -n + 1}
			}
			for _, n := range at {
				best := -1
				for i, o := range byPath[f.path] {
					if o.from <= n && n <= o.to && (best < 0 || o.to-o.from < byPath[f.path][best].to-byPath[f.path][best].from) {
						best = i
					}
				}
				if best >= 0 {
					answer[byPath[f.path][best].id] = "primary"
					continue
				}
				// A comment belongs to the piece below it; any other line outside of a piece belongs to a near one.
				next, last := -1, -1
				for i, o := range byPath[f.path] {
					if o.from > n && (next < 0 || o.from < byPath[f.path][next].from) {
						next = i
					}
					if o.to < n && (last < 0 || o.to > byPath[f.path][last].to) {
						last = i
					}
				}
				switch {
				case next >= 0 && byPath[f.path][next].from-n <= commentLines:
					answer[byPath[f.path][next].id] = "primary"
				case last >= 0 && answer[byPath[f.path][last].id] != "primary":
					answer[byPath[f.path][last].id] = "supporting"
				case last < 0 && next >= 0 && answer[byPath[f.path][next].id] != "primary":
					answer[byPath[f.path][next].id] = "supporting"
				}
			}
		}
	}
	return answer
}

// commentLines limits how far above a piece its comment may begin.
const commentLines = 12

// model returns the one that the scripts play.
func model(llm.Stage) (llm.Model, error) {
	return llm.Model{Name: "script", Provider: "command", Window: 1 << 20, MaxTokens: 1 << 18}, nil
}

// forgetful stores nothing of the questions and decisions.
type forgetful struct{}

func (forgetful) AddCall(context.Context, store.Call) error                { return nil }
func (forgetful) AddDecisions(context.Context, []store.FileDecision) error { return nil }
func (forgetful) Set(_ context.Context, key string, value any) error       { return nil }
func (forgetful) Get(context.Context, string, any) (bool, error)           { return false, nil }

func short(hash string) string { return fmt.Sprintf("%.9s", hash) }
