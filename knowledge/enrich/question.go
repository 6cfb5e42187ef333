package enrich

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/runplan/runplan/internal/edit"
	"github.com/runplan/runplan/internal/fence"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/internal/tokens"
	"github.com/runplan/runplan/knowledge"
	"github.com/runplan/runplan/llm"
)

// question builds the question about a file, with as much of its text as the window allows.
func (d Deps) question(ctx context.Context, model llm.Model, c knowledge.FileContext, text string) (llm.Request,
	error) {
	domains, err := d.Base.DomainCounts(ctx, d.Repo)
	if err != nil {
		return llm.Request{}, err
	}
	var inUse, imports, users, symbols []string
	inUse = append(inUse, lists.Map(domains[:min(20, len(domains))], func(t store.Tally) string { return t.Name })...)
	imports = append(imports, lists.Map(c.Imports, func(x store.Dependency) string { return x.Path })...)
	users = append(users, lists.Map(c.ImportedBy, func(x store.Dependency) string { return x.Path })...)
	for _, s := range c.Symbols {
		if s.Signature != "" {
			symbols = append(symbols, d.Redact(phrase.Cut(s.Signature, 160)))
		}
	}
	if len(symbols) == 0 {
		symbols = []string{"(nothing)"}
	}
	q := llm.Request{Model: model, Stage: llm.Enrichment, Schema: json.RawMessage(schema)}
	text = d.Redact(text) // never send a secret to a model
	runes := []rune(text)
	for n, m := len(runes), len(symbols); ; n, m = n*2/3, m*2/3 {
		shown := string(runes[:n])
		if n < len(runes) {
			shown += fmt.Sprintf("\n[%d characters more]", len(runes)-n)
		}
		q.Prompt, err = d.Prompts.Render("enrichment", map[string]string{
			"domains": joined(inUse, 20), "path": fence.Line(c.File.Path), "language": c.File.Language,
			"imports": joined(imports, 20), "imported_by": joined(users, 20),
			"symbols": strings.TrimSpace(fence.Foreign("", strings.Join(symbols[:min(m+1, len(symbols))], "\n"))),
			"text":    strings.TrimSpace(fence.Foreign(c.File.Language, shown)),
		})
		if err != nil {
			return q, err
		}
		if err := llm.Check(q, tokens.Budget{Margin: d.Margin}); err == nil || n == 0 {
			return q, err
		}
	}
}

// read reads a file if its content equals the indexed one. Otherwise why gives the reason.
func read(root string, f store.File) (text, why string) {
	path, err := edit.SafePath(root, f.Path)
	if err != nil {
		return "", err.Error()
	}
	raw, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", "it is not in the working tree"
	case err != nil:
		return "", "it cannot be read: " + err.Error()
	case knowledge.Hash(raw) != f.Hash:
		return "", "it changed since the index; run: runplan index"
	case !utf8.Valid(raw):
		return "", "not UTF-8"
	}
	return string(raw), ""
}

func joined(names []string, most int) string {
	out := lists.Map(names, func(n string) string { return "`" + strings.ReplaceAll(fence.Line(n), "`", "'") + "`" })
	return strings.Join(phrase.First(out, most), ", ")
}
