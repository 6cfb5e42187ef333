package knowledge

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/runplan/runplan/internal/checksum"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/knowledge/outline"
	"github.com/runplan/runplan/patterns"
)

// Limits of one ast-grep process and of the size of a file.
const (
	chunkBytes = 1 << 20
	chunkFiles = 400
	maxSource  = 16 << 20
	// A file may change within the clock tick in which it was read. Files younger than this are checked again.
	young = 2 * time.Second
)

// candidate is a file that has to be checked.
type candidate struct {
	path     string
	language outline.Language
	size     int64
	modified int64
	known    store.FileState // zero for a new file
}

// listing holds the files of a tree.
type listing struct {
	all     []string
	files   []listed        // those of all that still exist
	foreign []patterns.Skip // third-party code
	err     error
}

// listed is a file with its state on disk.
type listed struct {
	path     string
	language outline.Language
	state    fs.FileInfo // nil: a file that people do not write
}

// list lists the files of a repository. It needs no database.
func list(ctx context.Context, repo *git.Repo) (t listing) {
	if t.all, t.foreign, t.err = patterns.Files(ctx, repo.Env(), repo.Root); t.err != nil {
		t.err = fmt.Errorf("list the files of %s: %w", repo.Root, t.err)
		return t
	}
	for _, p := range t.all {
		f := listed{path: p, language: outline.LanguageOf(p)}
		if f.language != "" || worthSearching(p) {
			var err error
			f.state, err = os.Lstat(filepath.Join(repo.Root, filepath.FromSlash(p)))
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				t.err = fmt.Errorf("read the state of %s: %w", p, err)
				return t
			}
		}
		t.files = append(t.files, f)
	}
	return t
}

// plan compares all files with the index. It removes deleted files, skips files with the same size and time, and
// returns the others sorted by path.
func (x *indexer) plan(ctx context.Context, all []listed) ([]candidate, error) {
	there := map[string]bool{}
	var work []candidate
	for _, f := range all {
		p, l, fi := f.path, f.language, f.state
		if l == "" {
			x.res.Other++
			if fi == nil {
				continue
			}
			if c, ok := x.otherText(p, fi); ok {
				work = append(work, c)
			}
			continue
		}
		if !fi.Mode().IsRegular() {
			x.res.Skipped = append(x.res.Skipped, patterns.Skip{Path: p, Reason: "a symbolic link or a special file"})
			continue
		}
		if odd := patterns.OddName(p); odd != "" {
			x.res.Skipped = append(x.res.Skipped, patterns.Skip{Path: p, Reason: odd})
			continue
		}
		there[p] = true
		x.res.Scanned++
		x.files[string(l)].Files++
		c, same := x.candidate(p, l, fi, x.known[p])
		if same && x.uptodate(l, c.known) {
			x.keep(c.known)
			continue
		}
		work = append(work, c)
	}
	if err := x.forgetTexts(ctx); err != nil {
		return nil, err
	}
	gone := []int64{}
	for p, k := range x.known {
		if !there[p] {
			if err := x.tx.DeleteText(ctx, x.state.ID, p); err != nil {
				return nil, err
			}
			gone = append(gone, k.ID)
			delete(x.ids, p)
		}
	}
	slices.Sort(gone)
	for _, id := range gone {
		if err := x.tx.DeleteFile(ctx, id); err != nil {
			return nil, err
		}
	}
	x.res.Deleted = len(gone)
	return work, nil
}

// candidate makes a candidate of a file. It reports whether size and time are those of the index.
func (x *indexer) candidate(p string, l outline.Language, fi fs.FileInfo, known store.FileState) (candidate, bool) {
	c := candidate{path: p, language: l, size: fi.Size(), modified: fi.ModTime().UnixNano(), known: known}
	same := known.ID != 0 && known.Modified == c.modified && known.Size == c.size
	if x.Now.Sub(fi.ModTime()) < young {
		c.modified = 0
	}
	return c, same
}

// uptodate reports whether a file with the same content would give the same outline. Without ast-grep the stored
// outline stays valid.
func (x *indexer) uptodate(l outline.Language, k store.FileState) bool {
	now := x.reader(l)
	return k.Reader == now || now == noReader
}

// keep counts an unchanged file.
func (x *indexer) keep(k store.FileState) {
	n := x.files[k.Language]
	switch k.State {
	case partial:
		n.Partial++
	case skipped:
		n.Skipped++
		x.res.Skipped = append(x.res.Skipped, patterns.Skip{Path: k.Path, Reason: k.Reason})
	}
}

// Hash returns the hash by which the index knows the content of a file.
func Hash(data []byte) string {
	return checksum.SHA256(data)
}

// seenFile is the result of a worker for one candidate.
type seenFile struct {
	candidate
	hash    string
	same    bool // same content and same reader
	gone    bool
	skip    string
	outline outline.Outline
	text    []byte // until its chunks are made
	chunks  []store.Chunk
}

// read reads the candidates in parallel and writes them in path order.
func (x *indexer) read(ctx context.Context, work []candidate) error {
	var chunks [][]candidate
	size := int64(0)
	for i, c := range work {
		n := len(chunks)
		if n == 0 || size+c.size > chunkBytes || len(chunks[n-1]) == chunkFiles {
			chunks, size = append(chunks, nil), 0
			n++
		}
		chunks[n-1] = append(chunks[n-1], work[i])
		size += c.size
	}
	threads := 0
	if len(chunks) > 1 {
		threads = 1 // other processes run in parallel
	}
	ctx, stop := context.WithCancel(ctx)
	var group sync.WaitGroup
	defer group.Wait()
	defer stop()
	type answer struct {
		files []seenFile
		err   error
	}
	answers := make(chan chan answer, runtime.GOMAXPROCS(0)) // in order; limits the chunks in memory
	group.Go(func() {
		defer close(answers)
		for _, files := range chunks {
			result := make(chan answer, 1)
			select {
			case answers <- result:
			case <-ctx.Done():
				return
			}
			group.Go(func() {
				files, err := x.chunk(ctx, files, threads)
				result <- answer{files, err}
			})
		}
	})
	done := 0
	x.progress("read", 0, len(work))
	for result := range answers {
		a := <-result
		if a.err != nil {
			return a.err
		}
		for i := range a.files {
			if err := x.write(ctx, &a.files[i]); err != nil {
				return err
			}
		}
		done += len(a.files)
		x.progress("read", done, len(work))
	}
	return context.Cause(ctx)
}

// chunk reads some files: Go in this process, the others in one ast-grep process.
func (x *indexer) chunk(ctx context.Context, work []candidate, threads int) ([]seenFile, error) {
	out := make([]seenFile, len(work))
	var texts []patterns.Text
	var which []int
	for i, c := range work {
		f := &out[i]
		f.candidate = c
		if c.size > maxSource && c.language != "" {
			f.hash, f.skip = "size "+fmt.Sprint(c.size),
				fmt.Sprintf("too large: %d bytes, the limit is %d", c.size, maxSource)
			continue
		}
		raw, err := os.ReadFile(filepath.Join(x.Repo.Root, filepath.FromSlash(c.path)))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			f.gone = true
			continue
		case errors.Is(err, fs.ErrPermission):
			f.skip = "no permission to read it"
			continue
		case err != nil:
			return nil, fmt.Errorf("read %s: %w", c.path, err)
		}
		f.hash, f.size = Hash(raw), int64(len(raw))
		if c.known.ID != 0 && c.known.Hash == f.hash && (c.language == "" || x.uptodate(c.language, c.known)) {
			f.same = true
			continue
		}
		f.text = raw
		if c.language == "" {
			continue
		}
		if c.language == outline.Go {
			f.outline = outline.ReadGo(c.path, raw)
			continue
		}
		text, copied, why := outline.Prepare(c.language, raw)
		if why == "" && !x.Program.Found() {
			why = patterns.MissingNote
		}
		if why == "" && c.language == outline.Python { // most files need no other parser, which takes ten times as long
			var known bool
			if f.outline, known = outline.ReadPython(text); known {
				continue
			}
		}
		if f.skip = why; why == "" {
			texts, which = append(texts, patterns.Text{Path: c.path, Text: text, Copy: copied}), append(which, i)
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	if err := x.outlines(ctx, out, texts, which, threads); err != nil {
		return nil, err
	}
	for i := range out {
		out[i].makeChunks()
	}
	return out, nil
}

// outlines runs ast-grep on texts. If the output is too long, it retries with fewer texts at a time.
func (x *indexer) outlines(ctx context.Context, out []seenFile, texts []patterns.Text, which []int, threads int) error {
	if len(texts) == 0 {
		return nil
	}
	languages := lists.Map(which, func(i int) outline.Language { return out[i].language })
	nodes, skip, err := x.Program.Nodes(ctx, x.Repo.Root, texts, outline.Rules(lists.Unique(languages)...), threads)
	if errors.Is(err, patterns.ErrTooMuch) {
		if len(texts) == 1 {
			out[which[0]].skip = "ast-grep's answer about it is too long: probably a generated file"
			return nil
		}
		half := len(texts) / 2
		if err := x.outlines(ctx, out, texts[:half], which[:half], threads); err != nil {
			return err
		}
		return x.outlines(ctx, out, texts[half:], which[half:], threads)
	}
	if err != nil {
		return err
	}
	reasons := map[string]string{}
	for _, s := range skip {
		reasons[s.Path] = s.Reason
	}
	for j, i := range which {
		if f := &out[i]; reasons[f.path] != "" {
			f.skip = reasons[f.path]
		} else {
			f.outline = outline.Read(f.language, texts[j].Text, nodes[f.path])
		}
	}
	return nil
}

// write writes one file to the database.
func (x *indexer) write(ctx context.Context, f *seenFile) error {
	if f.language == "" {
		return x.writeText(ctx, f)
	}
	n := x.files[string(f.language)]
	switch {
	case f.gone: // deleted meanwhile: the next index removes it
		n.Files--
		x.res.Scanned--
		return nil
	case f.same:
		x.keep(f.known)
		return x.tx.Touch(ctx, f.known.ID, f.modified)
	}
	n.Changed++
	x.res.Changed++
	state := store.FileState{
		File: store.File{ID: f.known.ID, Path: f.path, Language: string(f.language), Hash: f.hash, Size: f.size,
			State: parsed},
		Modified: f.modified, Reader: x.reader(f.language),
	}
	if f.skip != "" {
		state.State, state.Reason = skipped, f.skip
		n.Skipped++
		x.res.Skipped = append(x.res.Skipped, patterns.Skip{Path: f.path, Reason: f.skip})
	}
	if e := f.outline.Error; e != nil {
		fe := FileError{f.path, e.Line, e.Content, e.Message}
		if !x.ContinueOnError && f.language != outline.TypeScript { // the parser does not know the newest syntax
			return &fe
		}
		state.State, state.Reason = partial, fmt.Sprintf("line %d: %s", e.Line, e.Message)
		n.Partial++
		x.res.Errors = append(x.res.Errors, fe)
	}
	return x.put(ctx, f, state)
}

// put writes the rows of a file. Existing symbols keep their ids, so references to them stay valid.
func (x *indexer) put(ctx context.Context, f *seenFile, state store.FileState) error {
	o := &f.outline
	names := qualified(o.Symbols)
	ids := make([]int64, len(o.Symbols))
	content := store.Content{}
	if state.ID != 0 {
		old, err := x.tx.SymbolsOf(ctx, x.state.ID, state.ID)
		if err != nil {
			return err
		}
		content.Gone = reuse(old, names, ids)
	}
	fresh := lists.Count(ids, func(id int64) bool { return id == 0 })
	next := x.tx.SymbolIDs(fresh)
	for i := range ids {
		if ids[i] == 0 {
			ids[i], next = next, next+1
		}
	}
	id := func(i int) int64 {
		if i < 0 {
			return 0
		}
		return ids[i]
	}
	for i, s := range o.Symbols {
		content.Symbols = append(content.Symbols,
			store.Symbol{ID: ids[i], Name: s.Name, Kind: string(s.Kind), Start: s.Start, End: s.End, Signature: s.Signature,
				Parent: id(s.Parent)})
	}
	for _, d := range o.Docs {
		fields, err := json.Marshal(d.Fields)
		if err != nil {
			return fmt.Errorf("write a docstring of %s: %w", f.path, err)
		}
		content.Docstrings = append(content.Docstrings,
			store.Docstring{Symbol: id(d.Symbol), Content: d.Content, Format: string(d.Format), Fields: string(fields)})
	}
	for _, c := range o.Comments {
		content.Comments = append(content.Comments,
			store.Comment{Symbol: id(c.Symbol), Line: c.Line, Content: c.Content, Kind: string(c.Kind), Rationale: c.Rationale})
	}
	for _, i := range o.Imports {
		imp := store.Import{Path: i.Path, Level: i.Level, Alias: i.Alias, Types: i.Types, Line: i.Line}
		if len(i.Names) > 0 {
			text, err := json.Marshal(i.Names)
			if err != nil {
				return fmt.Errorf("write an import of %s: %w", f.path, err)
			}
			imp.Names = string(text)
		}
		content.Imports = append(content.Imports, imp)
	}
	refs := lists.Map(o.Refs, func(r outline.Ref) ref { return ref{id(r.Symbol), r.Kind, r.Name} })
	state.Refs, state.Interface = refText(refs), visible(o, names)
	isNew := state.ID == 0
	var err error
	if state.ID, err = x.tx.PutFile(ctx, x.state.ID, state); err != nil {
		return err
	}
	if err := x.tx.PutContent(ctx, state.ID, isNew, content); err != nil {
		return err
	}
	if err := x.tx.PutText(ctx, x.state.ID, store.Text{Path: f.path, Hash: f.hash, Size: f.size, Source: true}, isNew,
		f.chunks); err != nil {
		return err
	}
	x.ids[f.path] = state.ID
	x.changed = append(x.changed, state.ID)
	if isNew {
		x.added = append(x.added, state.ID)
	}
	if isNew || state.Interface != f.known.Interface {
		x.moved = append(x.moved, f.path)
	}
	for i := range content.Symbols {
		content.Symbols[i].File = state.ID
	}
	slices.SortFunc(content.Symbols, func(a, b store.Symbol) int { // as the database returns them
		return cmp.Or(a.Start-b.Start, cmp.Compare(a.ID, b.ID))
	})
	x.facts[state.ID] = &source{id: state.ID, path: f.path, language: f.language, symbols: content.Symbols,
		imports: content.Imports, refs: refs}
	return nil
}

// qualified returns unique names of symbols in a file: kind, names of all parents, and a number for duplicates.
func qualified(all []outline.Symbol) []string {
	full := make([]string, len(all))
	var name func(i int) string
	name = func(i int) string {
		if full[i] == "" {
			s := all[i]
			full[i] = string(s.Kind) + " " + s.Name
			if s.Parent >= 0 {
				full[i] = name(s.Parent) + "\x00" + full[i]
			}
		}
		return full[i]
	}
	for i := range all {
		name(i)
	}
	out := slices.Clone(full)
	count := map[string]int{}
	for i, n := range full {
		if count[n]++; count[n] > 1 {
			out[i] = fmt.Sprintf("%s\x01%d", n, count[n])
		}
	}
	return out
}

// reuse assigns the previous ids to symbols and returns the ids that are no longer used.
func reuse(old []store.Symbol, names []string, ids []int64) (gone []int64) {
	at := lists.Index(old, func(s store.Symbol) int64 { return s.ID })
	symbols := make([]outline.Symbol, len(old))
	for i, s := range old {
		symbols[i] = outline.Symbol{Name: s.Name, Kind: outline.Kind(s.Kind), Parent: -1}
		if p, ok := at[s.Parent]; ok && s.Parent != 0 {
			symbols[i].Parent = p
		}
	}
	had := map[string]int64{}
	for i, n := range qualified(symbols) {
		had[n] = old[i].ID
	}
	for i, n := range names {
		if id := had[n]; id != 0 {
			ids[i] = id
			delete(had, n)
		}
	}
	return slices.Sorted(maps.Values(had))
}

// visible hashes what other files can see of a file: top-level and class-level names, bases and imports.
func visible(o *outline.Outline, names []string) string {
	sum := sha256.New()
	for i, s := range o.Symbols {
		if s.Parent < 0 || o.Symbols[s.Parent].Kind == outline.Class {
			sum.Write([]byte(names[i] + "\n"))
		}
	}
	for _, r := range o.Refs {
		if r.Kind == outline.Inherit {
			sum.Write([]byte("\x02" + names[r.Symbol] + " " + r.Name + "\n"))
		}
	}
	for _, i := range o.Imports {
		fmt.Fprintf(sum, "\x03%s %d %s %v %v\n", i.Path, i.Level, i.Alias, i.Types, i.Names)
	}
	return hex.EncodeToString(sum.Sum(nil)[:12])
}
