package solver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/edit"
	"github.com/runplan/runplan/internal/fence"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/knowledge/retrieve"
)

// contextKey is the session key of the context for prompts. Retrieval stores its own data, from which the context
// is made, under final_context.
const contextKey = "solver_context"

// context returns the retrieved context of the batch. It reuses the context of an earlier attempt if the files did not
// change.
func (w *work) context(ctx context.Context) (retrieve.Package, error) {
	defer w.lock(w.id)()
	var p retrieve.Package
	found, err := w.session.Get(ctx, contextKey, &p)
	if err != nil {
		return p, err
	}
	if found && current(p, w.task.Dir) {
		w.say("context of an earlier attempt: " + phrase.Count(len(p.Parts), "part"))
		return p, nil
	}
	p, err = w.cfg.Retrieve(ctx, w.meter, w.session, w.request())
	if errors.As(err, new(*retrieve.NoMatchError)) {
		return p, &Fault{Class: InsufficientContext, Err: err} // a fault of this batch; the context may match other batches
	}
	if err != nil {
		return p, err
	}
	if err := w.session.Set(ctx, contextKey, p); err != nil {
		return p, err
	}
	for _, note := range p.Notes {
		w.say(note)
	}
	w.say(fmt.Sprintf("retrieved %s, about %d of %d tokens", phrase.Count(len(p.Parts), "part"), p.Tokens, p.Budget))
	return p, nil
}

func (w *work) request() retrieve.Request {
	b := w.task.Batch
	return retrieve.Request{
		Task: w.id, Text: strings.Join(nonEmpty(w.cfg.Task, b.Title, b.Text), "\n"), Dir: w.task.Dir, Stages: w.cfg.Stages,
		Budget: w.budget, Files: slices.Concat(b.Files.Modify, b.Files.Test, b.Files.Delete, b.Files.Create, b.ContextRefs),
	}
}

// more extends the context by the missing parts. have is the context that the model has seen.
func (w *work) more(ctx context.Context, needs retrieve.Refinement, before history,
	have retrieve.Package) (retrieve.Package, error) {
	w.say("asks for " + contextText(needs))
	defer w.lock(w.id)()
	if err := w.session.Set(ctx, store.KeyRefinementRequest, needs); err != nil {
		return retrieve.Package{}, err
	}
	if err := w.session.Set(ctx, store.KeyAttemptSummary,
		append(before.classes(), fmt.Sprintf("attempt %d: %s", w.task.Attempt, InsufficientContext))); err != nil {
		return retrieve.Package{}, err
	}
	p, err := w.cfg.Refine(ctx, w.meter, w.session, w.request())
	switch {
	case errors.Is(err, retrieve.ErrNoEvidence):
		return p, &Fault{Class: InsufficientContext, Err: err}
	case err != nil:
		return p, err
	}
	if len(p.Added) == 0 {
		p.Added = unseen(p, have) // another candidate or a killed try requested the same
	}
	if len(p.Added) == 0 {
		return p, &Fault{Class: InsufficientContext, Err: fmt.Errorf("it asks for %s, which is not new", contextText(needs))}
	}
	w.say("more context: " + strings.Join(p.Added, ", "))
	return p, w.session.Set(ctx, contextKey, p)
}

// unseen lists the parts of p that have lacks or has in another version.
func unseen(p, have retrieve.Package) []string {
	type shown struct {
		path, symbol, text string
	}
	seen := lists.SetBy(have.Parts, func(x retrieve.Part) shown { return shown{x.Path, x.Symbol, x.Text} })
	var out []string
	for _, x := range p.Parts {
		name := strings.TrimSuffix(x.Path+":"+x.Symbol, ":")
		if !seen[shown{x.Path, x.Symbol, x.Text}] && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// current reports whether the parts of a package still match the files in dir. Search texts copied from outdated
// parts would not match.
func current(p retrieve.Package, dir string) bool {
	texts := map[string][]string{}
	for _, part := range p.Parts {
		if part.Altered || !part.Whole {
			continue
		}
		lines, ok := texts[part.Path]
		if !ok {
			path, err := edit.SafePath(dir, part.Path)
			if err != nil {
				return false
			}
			b, err := os.ReadFile(path)
			if err != nil {
				return false
			}
			lines = strings.Split(fence.Clean(string(b)), "\n")
			texts[part.Path] = lines
		}
		if part.Start < 1 || part.End > len(lines) || part.End < part.Start {
			return false
		}
		if strings.TrimSpace(strings.Join(lines[part.Start-1:part.End], "\n")) != strings.TrimSpace(part.Text) {
			return false
		}
	}
	return true
}

// contextText formats a request for context in one line.
func contextText(r retrieve.Refinement) string {
	all := slices.Concat(r.MissingFiles, r.MissingSymbols, r.MissingTests, r.ErrorSignatures)
	if len(all) == 0 {
		return "no names"
	}
	return fence.Line(phrase.Few(all, 8))
}

// granted tells the model the result of its request.
func granted(r retrieve.Refinement, p retrieve.Package) string {
	text := fmt.Sprintf("You asked for more context: %s. The context above has it now: %s.", contextText(r),
		fence.Line(strings.Join(p.Added, ", ")))
	if len(p.NotFound) > 0 {
		text += fmt.Sprintf(" Not available: %s.", fence.Line(strings.Join(p.NotFound, ", ")))
	}
	return text
}
