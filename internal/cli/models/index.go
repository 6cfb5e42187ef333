// Package models holds the commands index, retrieve and enrich, and opens what a model needs: index, log and sessions.
package models

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/knowledge"
	"github.com/runplan/runplan/llm"
	"github.com/runplan/runplan/patterns"
	"github.com/runplan/runplan/runner/journal"
)

type indexOptions struct {
	continueOnError bool
	show            string
}

// NewIndexCommand returns the command index.
func NewIndexCommand(a *cli.App) *cobra.Command {
	var o indexOptions
	return a.Command(cli.With{Exits: "0 1 2 5 6 130", Trust: true, JSON: "a JSON object"}, &cobra.Command{
		Use:   "index [REPO]",
		Short: "Index the code and the history of a repository",
		Long: `Index a repository: symbols, docstrings, comments, who imports whom, in Python also who calls
whom, and which files change together. The index is .runplan/curated.sqlite. The same repository gives
the same index. No model is called, unless models.embedding names an embedding model of the Ollama server: it
makes a vector of each new piece of text. Without an answer of the server the index has no new vectors, and says so.

Go needs no tool; Python, TypeScript and JavaScript need ast-grep, and are counted as
skipped without it. Only changed files are read again. A new index replaces the old one at once: an
interrupted command, or one that stops at an unparsable file, does not change the old index.

  runplan index --continue-on-error     keep the parsable parts of broken files
  runplan index --show src/app.py       the entry of a file
  runplan index --show 'parse*'         the entries of symbols`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := cli.Interruptible(cmd.Context())
			defer stop()
			program := sync.OnceValues(func() (patterns.Program, error) { return a.AstGrep(ctx) })
			if !cmd.Flags().Changed("show") { // in parallel with git
				go program()
				defer program()
			}
			repo, err := git.OpenReadOnly(ctx, cmp.Or(strings.Join(args, ""), "."), a.Environ)
			switch {
			case errors.Is(err, git.ErrNotRepo):
				return cli.NoRepo(err, "give the path of a git repository; to make one: git init")
			case err != nil:
				return err
			}
			switch err := cli.NoLinks(journal.LayoutOf(repo.Root)); {
			case err != nil:
				return err
			case cmd.Flags().Changed("show"):
				return showIndex(ctx, a, repo, o)
			}
			return index(ctx, a, repo, program, o)
		},
	}, func(f *cli.Flags) {
		f.BoolVar(&o.continueOnError, "continue-on-error", false,
			"index the parts of broken files that can be parsed")
		f.StringVar(&o.show, "show", "", "index nothing; print the index entry of a file or symbol (* and ? match)")
	})
}

func index(ctx context.Context, a *cli.App, repo *git.Repo, find func() (patterns.Program, error),
	o indexOptions) error {
	program, err := find()
	if err != nil {
		return err
	}
	layout := journal.LayoutOf(repo.Root)
	if err := layout.Make(); err != nil {
		return err
	}
	db, err := store.OpenCurated(ctx, cli.CuratedFile(repo))
	if err != nil {
		return cli.CuratedTrouble(err)
	}
	defer db.Close()
	cli.CollectAt(200) // indexing is short
	// Little of the heap is live. A heap that may grow to three times that would double the memory of a large repository.
	debug.SetMemoryLimit(144 << 20)
	progress := NewProgress(a)
	began := time.Now()
	res, err := knowledge.Index(ctx, knowledge.Options{
		Repo: repo, Store: db, Program: program, ContinueOnError: o.continueOnError, Now: began, Progress: progress.step,
	})
	if err == nil {
		res.Vectors = vectors(ctx, a, repo, db, progress)
	}
	progress.Clear()
	if size, sizeErr := db.Size(ctx); sizeErr == nil {
		res.Bytes = size
	}
	run := store.IndexRun{Repo: repo.Root, Scanned: res.Scanned, Changed: res.Changed, Duration: time.Since(began),
		Status: indexStatus(ctx, res, err), At: began}
	if logErr := logIndex(ctx, layout.Journal(), run); err == nil && logErr != nil {
		err = logErr
	}
	switch {
	case ctx.Err() != nil && res.Vectors != nil:
		return cli.Interrupted("", "the index is complete, but some vectors are missing; to make them: runplan index")
	case ctx.Err() != nil:
		return cli.Interrupted("", "the last index was not changed; run the command again")
	case errors.As(err, new(*knowledge.FileError)):
		return cli.Fail(cli.ExitFailed, err,
			"nothing was written; correct the file, or continue without it: runplan index --continue-on-error")
	case err != nil:
		return cli.CuratedTrouble(err)
	}
	if v := res.Vectors; v != nil && v.Trouble != "" {
		fmt.Fprintf(a.Stderr, "note: vectors are missing, and retrieval works without them: %s\n", ui.Sanitize(v.Trouble))
	}
	return a.Print(res, func() { printIndex(a, res) })
}

// vectors makes the missing vectors of an index, if an embedding model is configured. The index works without them, so
// trouble is reported and no error.
func vectors(ctx context.Context, a *cli.App, repo *git.Repo, db *store.Curated,
	progress *Progress) *knowledge.VectorResult {
	p, err := a.ProjectOf(repo)
	if err != nil {
		return &knowledge.VectorResult{Trouble: err.Error()}
	}
	m := p.Config.Models
	if m.Embedding == "" {
		return nil
	}
	res := &knowledge.VectorResult{Model: m.Embedding}
	err = func() error {
		if err := p.TrustConfig(); err != nil {
			return err
		}
		e, err := llm.NewEmbedder(ctx, p.ModelOptions(nil), m)
		if err != nil {
			return err
		}
		secrets := p.Redactor()
		res.Made, err = knowledge.Vectors(ctx,
			knowledge.VectorOptions{Root: repo.Root, Store: db, Model: e.ID, Embed: e.Embed,
				Redact: func(text string) string { return redact.Clean(secrets.String(text)) }, Progress: progress.step})
		return err
	}()
	if err != nil {
		res.Trouble = err.Error()
	}
	return res
}

func indexStatus(ctx context.Context, res knowledge.Result, err error) string {
	switch {
	case ctx.Err() != nil:
		return "interrupted"
	case err != nil:
		return "failed: " + err.Error()
	case len(res.Errors) == 0:
		return "ok"
	}
	status := fmt.Sprintf("partial: %d file(s) with parse errors", len(res.Errors))
	for i, e := range res.Errors {
		if i == 20 {
			return status + "; …"
		}
		status += "; " + e.Error()
	}
	return status
}

func logIndex(ctx context.Context, path string, run store.IndexRun) error {
	ctx = context.WithoutCancel(ctx)
	j, err := store.OpenJournal(ctx, path)
	if err != nil {
		return err
	}
	defer j.Close()
	return j.AddIndexRun(ctx, run)
}

// Progress draws one updated line on a terminal, and one line for each stage elsewhere.
type Progress struct {
	to    io.Writer
	style ui.Style
	live  bool
	stage string
	last  time.Time
}

// NewProgress returns a display on standard error.
func NewProgress(a *cli.App) *Progress {
	f := a.StderrFile()
	t, _ := a.Getenv("TERM")
	return &Progress{to: a.Stderr, style: ui.StyleFor(a.Getenv, f), live: ui.IsTerminal(f) && t != "dumb"}
}

// Show shows how far the work is: as live on a terminal, and elsewhere as plain when a stage begins.
func (p *Progress) Show(stage, live, plain string) {
	switch {
	case p.live && (stage != p.stage || time.Since(p.last) > 100*time.Millisecond):
		fmt.Fprintf(p.to, "\r%s\x1b[K", p.style.Tone(ui.Busy, live))
		p.last = time.Now()
	case !p.live && stage != p.stage:
		fmt.Fprintln(p.to, plain)
	}
	p.stage = stage
}

func (p *Progress) step(s knowledge.Progress) {
	live := map[string]string{"read": "reading files", "resolve": "resolving imports", "history": "reading the history",
		"vectors": "making vectors"}[s.Stage]
	plain := live
	if s.Total > 0 {
		live += fmt.Sprintf("  %d of %d", s.Done, s.Total)
		plain += fmt.Sprintf(": %d to read", s.Total)
	}
	p.Show(s.Stage, live, plain)
}

// Clear removes the line from the screen.
func (p *Progress) Clear() {
	if p.live {
		fmt.Fprint(p.to, "\r\x1b[K")
	}
}

func printIndex(a *cli.App, res knowledge.Result) {
	var rows, counts ui.Rows
	for _, l := range res.Languages {
		rows.Add(l.Language, l.Files, l.Changed, l.Partial, l.Skipped)
	}
	ui.Table(a.Stdout, []string{"language", ">files", ">read", ">partial", ">skipped"}, rows)
	for _, t := range res.Tables {
		counts.Add(t.Name, t.Count)
	}
	fmt.Fprintln(a.Stdout)
	ui.Table(a.Stdout, []string{"table", ">rows"}, counts)
	for _, e := range res.Errors {
		fmt.Fprintf(a.Stderr, "partial: %s\n", ui.Sanitize(e.Error()))
	}
	for _, s := range res.Skipped {
		if res.Note == "" || s.Reason != patterns.MissingNote { // the note covers the whole index
			fmt.Fprintf(a.Stderr, "skipped: %s: %s\n", ui.Sanitize(s.Path), ui.Sanitize(s.Reason))
		}
	}
	if res.Note != "" {
		fmt.Fprintf(a.Stderr, "skipped: %s\n", res.Note)
	}
	if v := res.Vectors; v != nil && v.Trouble == "" {
		fmt.Fprintf(a.Stderr, "%s made with model %s\n", phrase.Count(v.Made, "vector"), ui.Sanitize(v.Model))
	}
	fmt.Fprintf(a.Stderr,
		"%d file(s), %d of them read, %d removed, %d in other languages; %d commit(s) read; %.1f MiB on disk; %s\n",
		res.Scanned, res.Changed, res.Deleted, res.Other, res.Commits, float64(res.Bytes)/(1<<20),
		ui.Duration(time.Duration(res.Millis)*time.Millisecond))
}

// shown is the output of --show for a symbol.
type shown struct {
	store.Symbol
	Uses   []store.Neighbor `json:"uses"`
	UsedBy []store.Neighbor `json:"used_by"`
}

// showIndex prints what the index knows about a file, else about all symbols that match.
func showIndex(ctx context.Context, a *cli.App, repo *git.Repo, o indexOptions) error {
	db, err := store.OpenCuratedReader(ctx, cli.CuratedFile(repo))
	if errors.Is(err, fs.ErrNotExist) {
		return cli.Usage(fmt.Errorf("%s is not indexed", repo.Root), "run: runplan index")
	}
	if err != nil {
		return cli.CuratedTrouble(err)
	}
	defer db.Close()
	base := knowledge.NewBase(db)
	id, err := base.Repo(ctx, repo.Root)
	if err != nil {
		return err
	}
	below, _ := cli.Below(repo.Root, o.show)
	for _, name := range []string{filepath.ToSlash(filepath.Clean(o.show)), below} {
		f, found, err := base.FileByPath(ctx, id, name)
		if err != nil {
			return err
		}
		if !found {
			continue
		}
		c, err := base.FileContext(ctx, f.ID)
		if err != nil {
			return err
		}
		return a.Print(c, func() { printFile(a, c) })
	}
	symbols, err := base.SymbolsByName(ctx, id, o.show)
	if err != nil {
		return err
	}
	all := []shown{}
	for _, s := range symbols {
		x := shown{Symbol: s}
		if x.Uses, err = base.Neighbors(ctx, s.ID, store.Out); err != nil {
			return err
		}
		if x.UsedBy, err = base.Neighbors(ctx, s.ID, store.In); err != nil {
			return err
		}
		all = append(all, x)
	}
	if len(all) == 0 {
		return cli.Fail(cli.ExitFailed, fmt.Errorf("the index has no file or symbol %q", o.show),
			"names of symbols may contain * and ?; to index new code: runplan index")
	}
	return a.Print(all, func() {
		for _, x := range all {
			printSymbol(a, x)
		}
	})
}

func printSymbol(a *cli.App, x shown) {
	fmt.Fprintf(a.Stdout, "%s:%d-%d  %s %s\n", ui.Sanitize(x.Path), x.Start, x.End, x.Kind, ui.Sanitize(x.Name))
	if x.Signature != "" {
		fmt.Fprintf(a.Stdout, "  %s\n", ui.Sanitize(x.Signature))
	}
	for _, part := range []struct {
		verb string
		list []store.Neighbor
	}{{"uses", x.Uses}, {"used by", x.UsedBy}} {
		for _, n := range part.list {
			fmt.Fprintf(a.Stdout, "  %s %s  %s:%d  (%s, %.2f)\n", part.verb, ui.Sanitize(n.Name), ui.Sanitize(n.Path), n.Start,
				n.Reference, n.Confidence)
		}
	}
}

func printFile(a *cli.App, c knowledge.FileContext) {
	state := c.File.State
	if c.File.Reason != "" {
		state += ": " + c.File.Reason
	}
	fmt.Fprintf(a.Stdout, "%s  %s, %d bytes, %s\n", ui.Sanitize(c.File.Path), c.File.Language, c.File.Size,
		ui.Sanitize(state))
	depth := map[int64]int{}
	for _, s := range c.Symbols {
		if s.Parent != 0 {
			depth[s.ID] = depth[s.Parent] + 1
		}
		text := s.Kind + " " + s.Name
		if s.Signature != "" {
			text = s.Signature
		}
		fmt.Fprintf(a.Stdout, "%6d  %s%s\n", s.Start, strings.Repeat("  ", depth[s.ID]), ui.Brief(text, 100))
	}
	for _, d := range c.Docstrings {
		if d.Symbol == 0 {
			fmt.Fprintf(a.Stdout, "doc  %s\n", ui.Brief(d.Content, 100))
		}
	}
	for _, d := range c.Imports {
		fmt.Fprintf(a.Stdout, "imports  %s (%s)\n", ui.Sanitize(d.Path), d.Kind)
	}
	for _, d := range c.ImportedBy {
		fmt.Fprintf(a.Stdout, "imported by  %s (%s)\n", ui.Sanitize(d.Path), d.Kind)
	}
	for _, x := range c.Rationale {
		fmt.Fprintf(a.Stdout, "why, line %d  %s\n", x.Line, ui.Brief(x.Content, 100))
	}
	for _, x := range c.CoChanges {
		fmt.Fprintf(a.Stdout, "changes with  %s (%s)\n", ui.Sanitize(x.Path), phrase.Count(x.Count, "commit"))
	}
	for _, x := range c.Commits {
		fmt.Fprintf(a.Stdout, "commit  %.10s %s  %s\n", x.Hash, x.Time, ui.Brief(x.Message, 80))
	}
}
