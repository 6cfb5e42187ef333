package retrieve

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/runplan/runplan/internal/fence"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/knowledge/outline"
)

// verdict is a model's judgement of a file.
type verdict struct {
	Relevant bool   `json:"relevant"`
	Reason   string `json:"reason"`
}

const verdictSchema = `{"type":"object","properties":{"relevant":{"type":"boolean"},"reason":{"type":"string","maxLength":80}},"required":["relevant","reason"],"additionalProperties":false}`

// verdictTokens is the number of answer tokens for one verdict.
const verdictTokens = 40

// scope collects candidate files tier by tier and asks a model which of them matter (RETR-06, RETR-07). Files that a
// plan or the task names always stay. A file without an answer is dropped, with that as the reason.
func scope(ctx context.Context, p *pass, s State) (State, []store.FileDecision, error) {
	if err := p.widen(ctx, &s); err != nil {
		return s, nil, err
	}
	open := lists.Filter(s.Files, func(f File) bool { return !f.Sure })
	verdicts, skipped, err := p.judgeFiles(ctx, s, open)
	if err != nil {
		return s, nil, err
	}
	var kept []File
	var all []store.FileDecision
	for _, f := range s.Files {
		d := store.FileDecision{File: f.ID, Path: f.Path, Tier: strconv.Itoa(f.Tier), Included: f.Sure, Reason: f.Why}
		v, judged := verdicts[f.Path]
		switch {
		case f.Sure:
		case judged && v.Relevant:
			d.Included = true
			d.Reason += "; the model: relevant"
		case judged:
			d.Reason += "; the model: irrelevant"
		case skipped[f.Path] != "":
			d.Reason += "; not judged: " + skipped[f.Path]
		default:
			d.Reason += "; not judged"
		}
		if judged && v.Reason != "" {
			d.Reason += ": " + v.Reason
		}
		if all = append(all, d); d.Included {
			kept = append(kept, f)
		}
	}
	s.Files = kept
	return s, all, nil
}

// judgeFiles asks about files. If there is no room for all, the most important ones are asked about; skipped gives the
// reason for the others.
func (p *pass) judgeFiles(ctx context.Context, s State, open []File) (map[string]verdict, map[string]string, error) {
	if len(open) == 0 {
		p.note("scope: no files to judge besides the named ones")
		return nil, nil, nil
	}
	sure := lists.Filter(s.Files, func(f File) bool { return f.Sure })
	lines, ids := make([]string, len(open)), make([]string, len(open))
	for i, f := range open {
		ids[i] = fmt.Sprintf("f%02d", i+1)
		about, err := p.about(ctx, f)
		if err != nil {
			return nil, nil, err
		}
		lines[i] = fmt.Sprintf("%s  %s  (%s)%s", ids[i], fence.Line(f.Path), f.Why, about)
	}
	answer, skipped, err := judge[verdict](ctx, p, s.Query, judging{
		stage: scopeName, what: "files", ids: ids, limit: p.Limits.Candidates, schema: verdictSchema, tokens: verdictTokens,
		slot: "candidates", lines: func(n int) []string { return lines[:n] },
		more: map[string]string{"seeds": Listed(lists.Map(sure, func(f File) string { return f.Path }), 40)},
	})
	if err != nil {
		return nil, nil, err
	}
	verdicts, why := map[string]verdict{}, map[string]string{}
	for i, f := range open {
		if why[f.Path] = skipped[i]; skipped[i] != "" {
			continue
		}
		if v, ok := answer[ids[i]]; ok {
			v.Reason = fence.Line(p.Redact(phrase.Cut(v.Reason, 120)))
			verdicts[f.Path] = v
		}
	}
	return verdicts, why, nil
}

// about briefly describes the contents of a file.
func (p *pass) about(ctx context.Context, f File) (string, error) {
	if f.ID == 0 {
		return "", nil
	}
	var parts []string
	m, found, err := p.Base.Metadata(ctx, f.ID)
	if err != nil {
		return "", err
	}
	if found && m.Purpose != "" {
		parts = append(parts, phrase.Cut(fence.Line(m.Purpose), 120))
	} else {
		docs, err := p.Base.Docstrings(ctx, f.ID)
		if err != nil {
			return "", err
		}
		if len(docs) > 0 && docs[0].Symbol == 0 {
			first, _, _ := strings.Cut(strings.TrimSpace(docs[0].Content), "\n")
			parts = append(parts, phrase.Cut(fence.Line(first), 100))
		}
	}
	symbols, err := p.Base.Symbols(ctx, f.ID, "")
	if err != nil {
		return "", err
	}
	if names := TopNames(symbols, 10); names != "" {
		parts = append(parts, names)
	}
	if len(parts) == 0 {
		return "", nil
	}
	return ": " + strings.Join(parts, "; "), nil
}

// TopNames lists the top-level symbols of a file, variables last.
func TopNames(symbols []store.Symbol, most int) string {
	var names, variables []string
	for _, s := range symbols {
		switch {
		case s.Parent != 0 || slices.Contains(names, s.Name) || slices.Contains(variables, s.Name):
		case s.Kind == string(outline.Variable):
			variables = append(variables, s.Name)
		default:
			names = append(names, s.Name)
		}
	}
	return fence.Line(strings.Join(phrase.First(append(names, variables...), most), ", "))
}
