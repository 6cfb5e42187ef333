package knowledge

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/knowledge/outline"
	"github.com/runplan/runplan/patterns"
)

// Options holds the parameters of [Index].
type Options struct {
	Repo    *git.Repo
	Store   *store.Curated
	Program patterns.Program // ast-grep; the zero Program indexes only Go and reports that

	ContinueOnError bool // keep the readable part of a broken file and continue
	Now             time.Time
	Progress        func(Progress) // called from one goroutine; may be nil
}

// Progress reports the state of indexing.
type Progress struct {
	Stage string // read, resolve, history or vectors
	Done  int    // files of this stage
	Total int
}

// Result counts the work of [Index].
type Result struct {
	Repo      string           `json:"repo"`
	Scanned   int              `json:"files_scanned"` // files in indexed languages
	Changed   int              `json:"files_changed"` // files that are new or have changed content
	Deleted   int              `json:"files_deleted"`
	Other     int              `json:"files_other"` // files in languages that are not indexed
	Commits   int              `json:"commits_read"`
	Resolved  int              `json:"files_resolved"` // files whose imports and references were resolved again
	Languages []LanguageResult `json:"languages"`
	Tables    []store.Tally    `json:"tables"`
	Skipped   []patterns.Skip  `json:"skipped"`
	Errors    []FileError      `json:"errors"` // with ContinueOnError
	AstGrep   string           `json:"ast_grep,omitempty"`
	Note      string           `json:"note,omitempty"`
	Vectors   *VectorResult    `json:"vectors,omitempty"` // nil: no embedding model is configured
	Millis    int64            `json:"duration_ms"`
	Bytes     int64            `json:"bytes,omitempty"` // size of the index on disk
}

// LanguageResult counts the files of a language.
type LanguageResult struct {
	Language string `json:"language"`
	Files    int    `json:"files"`
	Changed  int    `json:"changed"`
	Partial  int    `json:"partial"` // parse errors
	Skipped  int    `json:"skipped"`
}

// FileError is a position that could not be parsed.
type FileError struct {
	Path    string `json:"path"`
	Line    int    `json:"line"`
	Content string `json:"content"`
	Message string `json:"message"`
}

func (e *FileError) Error() string {
	text := fmt.Sprintf("%s:%d: %s", e.Path, e.Line, e.Message)
	if e.Content != "" {
		text += ": " + e.Content
	}
	return text
}

// Index updates the database to the present state of the repository. A file that cannot be parsed is a [*FileError].
// After any error the database is unchanged; with ContinueOnError, parse errors do not stop it.
func Index(ctx context.Context, o Options) (Result, error) {
	began := time.Now()
	x := &indexer{Options: o,
		res: Result{Repo: o.Repo.Root, Languages: []LanguageResult{}, Skipped: []patterns.Skip{}, Errors: []FileError{},
			AstGrep: o.Program.Version}}
	tx, err := o.Store.Begin(ctx)
	if err != nil {
		return x.res, err
	}
	defer tx.Rollback()
	x.tx = tx
	err = x.index(ctx)
	x.res.Millis = time.Since(began).Milliseconds()
	return x.res, err
}

// indexer is the state of one [Index] call.
type indexer struct {
	Options
	tx    *store.CuratedTx
	res   Result
	state store.RepoState

	known   map[string]store.FileState
	texts   map[string]store.FileState // known files of languages without symbols; existing files are removed from the map
	ids     map[string]int64
	added   []int64  // new files
	changed []int64  // files that were read, including new ones
	moved   []string // changed files whose visible names differ
	facts   map[int64]*source
	files   map[string]*LanguageResult
}

func (x *indexer) progress(stage string, done, total int) {
	if x.Progress != nil {
		x.Progress(Progress{stage, done, total})
	}
}

func (x *indexer) index(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	var background sync.WaitGroup
	defer background.Wait()
	defer stop()
	// In parallel with reading the database:
	listed := make(chan listing, 1)
	background.Go(func() { listed <- list(ctx, x.Repo) })
	remote, _ := x.Repo.Run(ctx, "config", "--get", "remote.origin.url") // the repository may have no remote
	var err error
	if x.state, err = x.tx.Repo(ctx, x.Repo.Root, plainRemote(remote), x.Now.UTC().Format(time.RFC3339)); err != nil {
		return err
	}
	said := make(chan past, 1)
	known := x.state.Head
	background.Go(func() { said <- readPast(ctx, x.Repo, known, &background) }) // in parallel with reading files
	if err := x.recall(ctx); err != nil {
		return err
	}
	tree := <-listed
	if tree.err != nil {
		return tree.err
	}
	x.res.Skipped = append(x.res.Skipped, tree.foreign...)
	if len(x.known) == 0 {
		// Nobody queries before the commit, and building the database indexes once is cheaper than updating them.
		if err := errors.Join(x.tx.DropIndexes(ctx), x.tx.ManyTexts(ctx)); err != nil {
			return err
		}
	}
	work, err := x.plan(ctx, tree.files)
	if err != nil {
		return err
	}
	if err := x.read(ctx, work); err != nil {
		return err
	}
	if err := x.tx.Flush(ctx); err != nil {
		return err
	}
	if err := x.resolve(ctx, tree.all); err != nil {
		return err
	}
	x.progress("history", 0, 0)
	if err := x.history(ctx, <-said); err != nil {
		return err
	}
	if err := x.tx.SetRepo(ctx, x.state); err != nil {
		return err
	}
	if err := x.tx.Flush(ctx); err != nil {
		return err
	}
	if err := x.tx.MakeIndexes(ctx); err != nil {
		return err
	}
	if x.res.Tables, err = x.tx.CuratedTables(ctx); err != nil {
		return err
	}
	x.finish()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return x.tx.Commit(ctx)
}

// plainRemote removes the password from a URL.
func plainRemote(url string) string {
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok {
		return url
	}
	host, path, _ := strings.Cut(rest, "/")
	if i := strings.LastIndexByte(host, '@'); i >= 0 {
		host = host[i+1:]
	}
	return scheme + "://" + host + "/" + path
}

// recall reads the state of the last index.
func (x *indexer) recall(ctx context.Context) error {
	list, err := x.tx.Known(ctx, x.state.ID)
	if err != nil {
		return err
	}
	x.known, x.ids, x.facts = make(map[string]store.FileState, len(list)), make(map[string]int64, len(list)),
		map[int64]*source{}
	for _, f := range list {
		x.known[f.Path] = f
		x.ids[f.Path] = f.ID
	}
	if x.texts, err = x.tx.OtherTexts(ctx, x.state.ID); err != nil {
		return err
	}
	x.files = map[string]*LanguageResult{}
	for _, l := range outline.Languages() {
		x.files[string(l)] = &LanguageResult{Language: string(l)}
	}
	return nil
}

// reader identifies the parser of a language. If it changes, all files of the language are read again.
func (x *indexer) reader(l outline.Language) string {
	switch {
	case l == outline.Go:
		return "go " + outline.Version
	case !x.Program.Found():
		return noReader
	}
	return "ast-grep " + x.Program.Version + " " + outline.Version
}

const noReader = "none"

// The states of a file.
const (
	parsed  = "parsed"
	partial = "partial"
	skipped = "skipped"
)

// resolve resolves imports and names for all files that a change may affect.
func (x *indexer) resolve(ctx context.Context, all []string) error {
	l := newLayout(x.Repo.Root, all, x.ids)
	r := &resolver{tx: x.tx, repo: x.state.ID, layout: l, paths: make(map[int64]string, len(x.ids)), known: x.facts}
	for p, id := range x.ids {
		r.paths[id] = p
	}
	todo, err := x.affected(ctx, r)
	if err != nil {
		return err
	}
	whole := todo == nil
	x.state.Layout = l.hash
	if whole {
		todo = slices.Collect(maps.Keys(r.paths))
		if len(x.changed) < len(todo) { // else all files are already loaded
			if err := r.load(ctx, todo); err != nil {
				return err
			}
		}
	}
	if len(todo) == 0 {
		return nil
	}
	slices.Sort(todo)
	x.res.Resolved = len(todo)
	var clear []int64
	if !whole {
		clear = todo
	}
	if err := errors.Join(x.tx.ClearDependencies(ctx, x.state.ID, clear...),
		x.tx.ClearReferences(ctx, x.state.ID, clear...)); err != nil {
		return err
	}
	edges := r.edges(ctx, todo)
	if whole { // all data is in memory, so resolving can run while rows are written
		var stop func()
		edges, stop = lists.Ahead(edges, edgesAhead)
		defer stop()
		if err := x.tx.MakeIndexes(ctx, "symbols", "docstrings", "inline_comments", "imports"); err != nil {
			return err
		}
	}
	done := 0
	for e, err := range edges {
		if err != nil {
			return err
		}
		if done%200 == 0 {
			x.progress("resolve", done, len(todo))
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
		}
		done++
		for _, d := range e.dependencies {
			if err := x.tx.AddDependency(ctx, e.file, d.to, d.kind); err != nil {
				return err
			}
		}
		for _, r := range e.references {
			if err := x.tx.AddReference(ctx, r.from, r.to, string(r.kind), r.sure); err != nil {
				return err
			}
		}
	}
	return nil
}

// edgesAhead is the number of files whose edges may wait to be written.
const edgesAhead = 500

// affected returns the files whose imports or names may resolve differently; nil means all. A file with unchanged
// visible names affects only itself.
func (x *indexer) affected(ctx context.Context, r *resolver) ([]int64, error) {
	if r.layout.hash != x.state.Layout {
		return nil, nil
	}
	todo := append([]int64{}, x.changed...)
	var ids []int64
	for _, p := range x.moved {
		if strings.HasSuffix(p, "/__init__.py") || strings.HasSuffix(p, "/__init__.pyi") {
			return nil, nil // names of a package hide its submodules
		}
		ids = append(ids, x.ids[p])
		if outline.LanguageOf(p) == outline.Go {
			more, err := x.tx.Importers(ctx, x.state.ID, r.layout.goSpec(path.Dir(p))...)
			if err != nil {
				return nil, err
			}
			todo = append(todo, more...)
		}
	}
	if len(ids) > 0 {
		more, err := x.tx.Dependents(ctx, ids...)
		if err != nil {
			return nil, err
		}
		todo = append(todo, more...)
	}
	return lists.Unique(todo), nil
}

// finish computes the totals.
func (x *indexer) finish() {
	slices.SortStableFunc(x.res.Skipped, func(a, b patterns.Skip) int { return strings.Compare(a.Path, b.Path) })
	missing := 0
	for _, l := range outline.Languages() {
		n := x.files[string(l)]
		if n.Files > 0 {
			x.res.Languages = append(x.res.Languages, *n)
		}
		if l != outline.Go && !x.Program.Found() {
			missing += n.Files
		}
	}
	if missing > 0 {
		x.res.Note = fmt.Sprintf("%d file(s) in Python, TypeScript and JavaScript were not read: %s", missing,
			patterns.MissingNote)
	}
}
