// Package enrich asks a model about the purpose, module, domain and concepts of each file. It logs each question and
// answer. A promotion copies the answers into the index, and retrieval uses them to find files (IDX-12). Everything
// works without enrichment (IDX-13).
package enrich

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/fence"
	"github.com/runplan/runplan/internal/prompt"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/knowledge"
	"github.com/runplan/runplan/llm"
)

//go:embed prompts/*.md
var promptFiles embed.FS

// LoadPrompts returns the prompt of this package, enrichment. A file of that name in a later layer overrides it.
func LoadPrompts(layers ...prompt.Layer) (prompt.Set, error) {
	return prompt.LoadEmbedded("knowledge/enrich", promptFiles, layers...)
}

// Deps holds the dependencies of enriching.
type Deps struct {
	Base    knowledge.Base
	Repo    int64  // id of the repository in the index
	Root    string // its folder, as in the index
	Task    string // id under which failed calls are logged
	LLM     llm.Completer
	Model   func(llm.Stage) (llm.Model, error)
	Margin  float64 // safety margin of token estimates
	Log     Log
	Prompts prompt.Set
	Redact  func(string) string
	Now     func() time.Time
	Each    func(done, total int, path string) // called before each file; may be nil
}

// Log stores questions and answers: a [store.Journal].
type Log interface {
	AddCall(ctx context.Context, c store.Call) error
	AddEnrichment(ctx context.Context, e store.Enrichment) (int64, error)
	Enrichments(ctx context.Context, repo string) ([]store.Enrichment, error)
	MarkPromoted(ctx context.Context, at time.Time, ids ...int64) error
}

// Result counts the work.
type Result struct {
	Files   int    `json:"files"`    // in the index
	Asked   int    `json:"asked"`    // files that a model described
	Current int    `json:"current"`  // files whose stored answer is current
	Left    int    `json:"left"`     // files beyond the limit
	Skipped []Skip `json:"skipped"`  // files not asked about, with the reason
	Refused int    `json:"refused"`  // invented names in answers
	Tokens  *int64 `json:"tokens"`   // of questions and answers; null: some answer had no count
	Waiting int    `json:"waiting"`  // answers not yet in the index
	Promote int    `json:"promoted"` // answers copied into the index
}

// Skip is a file that was skipped.
type Skip struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// said is a model's answer about a file.
type said struct {
	Purpose    string   `json:"purpose"`
	Module     string   `json:"module"`
	Domain     string   `json:"domain"`
	Concepts   []string `json:"concepts"`
	API        []string `json:"public_api_surface"`
	Complexity string   `json:"complexity_notes"`
}

const schema = `{"type":"object","properties":{` +
	`"purpose":{"type":"string","minLength":1,"maxLength":300},"module":{"type":"string","maxLength":60},"domain":{"type":"string","maxLength":60},` +
	`"concepts":{"type":"array","maxItems":8,"items":{"type":"string","maxLength":60}},` +
	`"public_api_surface":{"type":"array","maxItems":30,"items":{"type":"string","maxLength":100}},"complexity_notes":{"type":"string","maxLength":400}},` +
	`"required":["purpose","module","domain","concepts","public_api_surface","complexity_notes"],"additionalProperties":false}`

// Files asks about each file without a current answer, sorted by path, up to about limit files. A negative limit means
// all. Answers from before an error are kept.
func Files(ctx context.Context, d Deps, limit int) (res Result, err error) {
	res.Skipped, res.Tokens = []Skip{}, new(int64)
	model, err := d.Model(llm.Enrichment)
	if err != nil {
		return res, err
	}
	files, err := d.Base.Files(ctx, d.Repo, "")
	if err != nil {
		return res, err
	}
	known, err := d.Log.Enrichments(ctx, d.Root)
	if err != nil {
		return res, err
	}
	res.Files = len(files)
	var open []store.File
	for _, f := range files {
		at := slices.IndexFunc(known,
			func(e store.Enrichment) bool { return e.Path == f.Path && e.Hash == f.Hash && e.Model == model.Label() })
		switch {
		case f.State == "skipped":
			res.Skipped = append(res.Skipped, Skip{f.Path, f.Reason})
		case at >= 0:
			res.Current++
			_, there, err := d.Base.Metadata(ctx, f.ID) // a rebuilt index has lost it
			if err != nil {
				return res, err
			}
			if !there || !known[at].Promoted {
				res.Waiting++
			}
		default:
			open = append(open, f)
		}
	}
	if limit >= 0 && len(open) > limit {
		res.Left, open = len(open)-limit, open[:limit]
	}
	for i, f := range open {
		if err := ctx.Err(); err != nil {
			return res, err
		}
		if d.Each != nil {
			d.Each(i+1, len(open), f.Path)
		}
		if err := d.file(ctx, model, f, &res); err != nil {
			return res, fmt.Errorf("enrich %s: %w", f.Path, err)
		}
	}
	return res, nil
}

// file asks about one file and stores the answer.
func (d Deps) file(ctx context.Context, model llm.Model, f store.File, res *Result) error {
	text, why := read(d.Root, f)
	if why != "" {
		res.Skipped = append(res.Skipped, Skip{f.Path, why})
		return nil
	}
	known, err := d.Base.FileContext(ctx, f.ID)
	if err != nil {
		return err
	}
	question, err := d.question(ctx, model, known, text)
	if err != nil {
		return err
	}
	began := d.Now()
	answer, got, err := llm.JSON[said](ctx, d.LLM, question)
	if err != nil {
		return errors.Join(err, d.failed(ctx, model, question, got, err, began))
	}
	api := []string{}
	for _, n := range answer.API {
		// A name that the file does not define is not part of its interface.
		last := strings.TrimSuffix(n[strings.LastIndexByte(n, '.')+1:], "()")
		if slices.ContainsFunc(known.Symbols, func(s store.Symbol) bool { return s.Name == last }) {
			api = append(api, strings.TrimSuffix(n, "()"))
		} else {
			res.Refused++
		}
	}
	e := store.Enrichment{
		Repo: d.Root, Path: f.Path, Hash: f.Hash, Model: model.Label(), Prompt: d.Redact(question.Prompt),
		Response:     d.Redact(got.Text),
		PromptTokens: got.PromptTokens, CompletionTokens: got.CompletionTokens, Latency: got.Latency, At: began,
		Metadata: store.Metadata{
			File: f.ID, Purpose: d.line(answer.Purpose), Module: strings.ToLower(d.line(answer.Module)),
			Domain:   strings.ToLower(d.line(answer.Domain)),
			Concepts: d.list(answer.Concepts, strings.ToLower), API: d.list(api, strings.TrimSpace),
			Complexity: d.line(answer.Complexity),
		},
	}
	if _, err := d.Log.AddEnrichment(context.WithoutCancel(ctx), e); err != nil { // store an answer that arrived
		return err
	}
	res.Asked++
	res.Waiting++
	if got.PromptTokens == nil || got.CompletionTokens == nil {
		res.Tokens = nil
	} else if res.Tokens != nil {
		*res.Tokens += int64(*got.PromptTokens + *got.CompletionTokens)
	}
	return nil
}

// failed logs a call without a usable answer.
func (d Deps) failed(ctx context.Context, model llm.Model, q llm.Request, got llm.Response, err error,
	began time.Time) error {
	c := store.Call{
		Task: d.Task, Type: "enrichment", Stage: "enrichment", Role: string(model.Role), Model: model.Label(),
		Prompt: d.Redact(q.Prompt), Response: d.Redact(got.Text + got.Partial),
		Error: d.Redact(err.Error()), PromptTokens: got.PromptTokens, CompletionTokens: got.CompletionTokens,
		Latency: got.Latency, At: began,
	}
	return d.Log.AddCall(context.WithoutCancel(ctx), c)
}

// line reduces a model's text to one line.
func (d Deps) line(text string) string { return fence.Line(d.Redact(text)) }

// list encodes the model's texts as a JSON array without duplicates.
func (d Deps) list(texts []string, as func(string) string) string {
	out := []string{}
	for _, t := range texts {
		if t = as(d.line(t)); t != "" && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	data, err := json.Marshal(out)
	if err != nil {
		return "[]" // strings can always be encoded
	}
	return string(data)
}

// Promote copies the newest answer about each indexed file into the index, and marks it in the log (IDX-12). It always
// copies all of them, because a rebuilt index has lost them.
func Promote(ctx context.Context, d Deps, into *store.Curated) (n int, err error) {
	all, err := d.Log.Enrichments(ctx, d.Root)
	if err != nil {
		return 0, err
	}
	var rows []store.Metadata
	var ids []int64
	for _, e := range all {
		f, found, err := d.Base.FileByPath(ctx, d.Repo, e.Path)
		if err != nil {
			return 0, err
		}
		if found {
			m := e.Metadata
			m.File = f.ID // a rebuilt index gives the file another id
			rows, ids = append(rows, m), append(ids, e.ID)
		}
	}
	if len(rows) == 0 {
		return 0, nil
	}
	gone, err := into.PutMetadata(ctx, rows)
	if err != nil {
		return 0, err
	}
	var done []int64
	for i, id := range ids {
		if !slices.Contains(gone, rows[i].File) {
			done = append(done, id)
		}
	}
	return len(done), d.Log.MarkPromoted(ctx, d.Now(), done...)
}
