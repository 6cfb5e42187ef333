package retrieve

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/knowledge"
	"github.com/runplan/runplan/knowledge/outline"
)

// mostFresh limits how many files that are newer than the index are read for one search.
const mostFresh = 400

// readCommit makes the tree show the files of a commit. The folder is a checkout of another commit.
func (t *tree) readCommit(ctx context.Context, repo *git.Repo, commit string) error {
	head, _, err := repo.Head(ctx)
	if err != nil || head == commit {
		return err
	}
	differ, err := repo.Compare(head, commit).Entries(ctx)
	if err != nil {
		return err
	}
	all, err := t.list(ctx)
	if err != nil {
		return err
	}
	all = slices.Clone(all)
	var names, objects []string
	for _, e := range differ {
		t.sources[e.Path] = &source{path: e.Path, gone: true, bad: "it is not in the commit"}
		at, found := slices.BinarySearch(all, e.Path)
		switch {
		case e.Status == 'D' && found:
			all = slices.Delete(all, at, at+1)
		case e.Status == 'D' || e.NewMode == "120000":
		default:
			names, objects = append(names, e.Path), append(objects, commit+":"+e.Path)
			if !found {
				all = slices.Insert(all, at, e.Path)
			}
		}
	}
	t.listed, t.moved = all, names
	if len(objects) == 0 {
		return nil
	}
	list, err := repo.ReadObjects(ctx, objects)
	if err != nil {
		return fmt.Errorf("read the files of %s: %w", commit, err)
	}
	for i, o := range list {
		s := &source{path: names[i], bytes: o.Data}
		if t.sources[s.path] = s; o.Kind != "blob" || o.Data == nil && o.Size > 0 {
			s.bad = fmt.Sprintf("too large, or not a file: %d bytes", o.Size)
			continue
		}
		s.prepare()
		s.copy = true // ast-grep must not read the folder's version
	}
	return nil
}

// fresh holds the files that are newer than the index.
type fresh struct {
	symbols map[string][]outline.Symbol // by path, also of deleted files
	words   []map[string]float64        // weighted words of each new chunk, whose id is -1 minus its index
	length  []float64                   // number of its words
	mean    float64                     // of length
	total   int                         // chunks of the repository
}

// present replaces the chunks of files that changed since they were indexed, and adds those of new files.
func (p *pass) present(ctx context.Context, chunks []store.Chunk) ([]store.Chunk, *fresh, error) {
	f := &fresh{symbols: map[string][]outline.Symbol{}}
	changed, err := p.changed(ctx, f)
	if err != nil || len(f.symbols) == 0 {
		return chunks, f, err
	}
	if len(changed) > mostFresh {
		p.note("%s changed since the index, of which %d were read again; run: runplan index",
			phrase.Count(len(changed), "file"), mostFresh)
		changed = changed[:mostFresh]
	}
	kept := slices.DeleteFunc(slices.Clone(chunks), func(c store.Chunk) bool { _, ok := f.symbols[c.Path]; return ok })
	outlines, _, err := p.tree.outlines(ctx, changed) // the text is searched without an outline, too
	if err != nil {
		return nil, nil, err
	}
	for _, s := range changed {
		f.symbols[s.path] = outlines[s.path].Symbols
		for _, c := range knowledge.ChunksOf(s.path, s.text, f.symbols[s.path]) {
			f.add(&c)
			c.Path = s.path
			kept = append(kept, c)
		}
	}
	f.total = len(kept)
	slices.SortStableFunc(kept, func(a, b store.Chunk) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), a.Start-b.Start)
	})
	return kept, f, nil
}

// changed returns the present files that differ from the index, sorted, and enters their paths and those of deleted
// files into f.symbols.
func (p *pass) changed(ctx context.Context, f *fresh) ([]*source, error) {
	indexed, err := p.Base.Texts(ctx, p.Repo)
	if err != nil {
		return nil, err
	}
	there, err := p.tree.list(ctx)
	if err != nil {
		return nil, err
	}
	var out []*source
	for _, name := range there {
		k, known := indexed[name]
		delete(indexed, name)
		if _, moved := slices.BinarySearch(p.tree.moved, name); !moved {
			fi, err := os.Lstat(filepath.Join(p.tree.dir, filepath.FromSlash(name)))
			if err != nil || !fi.Mode().IsRegular() || !known && !knowledge.Searchable(name, fi.Size()) ||
				known && k.Size == fi.Size() && k.Modified == fi.ModTime().UnixNano() {
				continue
			}
		} else if !known && !knowledge.Searchable(name, int64(len(p.tree.source(name).bytes))) {
			continue
		}
		if known && p.tree.hash(name) == k.Hash {
			continue // most files, if they were new when they were indexed
		}
		s := p.tree.source(name)
		if !known && p.names.files[name].Hash == s.hash || s.bad != "" && !known {
			continue
		}
		f.symbols[name] = nil
		if s.bad == "" {
			out = append(out, s)
		}
	}
	for name := range maps.Keys(indexed) {
		f.symbols[name] = nil // the file no longer exists
	}
	return out, nil
}

// add enters the words of a chunk and gives it an id.
func (f *fresh) add(c *store.Chunk) {
	words := map[string]float64{}
	name, body := strings.Fields(c.Name), strings.Fields(c.Body)
	for _, w := range name {
		words[w] += nameWeight
	}
	for _, w := range body {
		words[w]++
	}
	n := float64(len(name) + len(body))
	f.mean = (f.mean*float64(len(f.words)) + n) / float64(len(f.words)+1)
	f.words, f.length = append(f.words, words), append(f.length, n)
	c.ID = -int64(len(f.words))
}

// hits returns the BM25 scores of the new chunks for a word, as SQLite computes them. indexed is the number of chunks
// in the index that have the word.
func (f *fresh) hits(word string, indexed int) []store.Hit {
	var out []store.Hit
	const k1, b = 1.2, 0.75
	for i, words := range f.words {
		if n := words[word]; n > 0 {
			norm := n * (k1 + 1) / (n + k1*(1-b+b*f.length[i]/f.mean))
			out = append(out, store.Hit{ID: -int64(i + 1), Score: norm})
		}
	}
	df := float64(indexed + len(out))
	idf := max(1e-6, math.Log((float64(f.total)-df+0.5)/(df+0.5)))
	for i := range out {
		out[i].Score *= idf
	}
	return out
}

// relocate moves the symbols that a task names to their present lines.
func (f *fresh) relocate(named []SymbolNamed) {
	for i := range named {
		short := named[i].Name[strings.LastIndexByte(named[i].Name, '.')+1:]
		for _, s := range f.symbols[named[i].Path] {
			if s.Name == short {
				named[i].Line = s.Start
				break
			}
		}
	}
}
