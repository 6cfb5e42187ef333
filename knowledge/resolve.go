package knowledge

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/knowledge/outline"
)

// Kinds of dependencies.
const (
	dependsImport = "import"
	dependsTypes  = "type_ref" // only for type checking
)

// source is the resolver's view of a file.
type source struct {
	id       int64
	path     string
	language outline.Language
	symbols  []store.Symbol
	imports  []store.Import
	refs     []ref

	at       map[int64]int      // symbol by id
	top      map[string][]int64 // module-level symbols by name
	children map[int64]map[string][]int64
	binds    map[string][]binding // local names of imports
	stars    []pyModule           // modules of "from … import *"
	bases    map[int64][]string   // bases of each class
	seen     []int64              // files of imported modules
	byMethod map[string][]int64
}

// ref is a name that a symbol uses.
type ref struct {
	symbol int64
	kind   outline.RefKind
	name   string
}

// binding records what a local name refers to after an import.
type binding struct {
	module pyModule
	name   string // of module; "" is the module itself
}

// refText encodes refs for the next index; refsOf decodes them.
func refText(refs []ref) string {
	var b strings.Builder
	for _, r := range refs {
		b.WriteString(strconv.FormatInt(r.symbol, 10))
		b.WriteByte(' ')
		b.WriteString(string(r.kind))
		b.WriteByte(' ')
		b.WriteString(r.name)
		b.WriteByte('\n')
	}
	return b.String()
}

func refsOf(text string) []ref {
	var out []ref
	for line := range strings.Lines(text) {
		id, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		kind, name, _ := strings.Cut(rest, " ")
		if n, err := strconv.ParseInt(id, 10, 64); err == nil {
			out = append(out, ref{n, outline.RefKind(kind), name})
		}
	}
	return out
}

// resolver resolves imports to files, and names in Python to symbols. It loads files on demand.
type resolver struct {
	tx     *store.CuratedTx
	repo   int64
	layout *layout
	paths  map[int64]string
	known  map[int64]*source
}

// file returns a file with its stored data.
func (r *resolver) file(ctx context.Context, id int64) (*source, error) {
	if s := r.known[id]; s != nil {
		return s, nil
	}
	err := r.load(ctx, []int64{id}, id)
	return r.known[id], err
}

// load loads those of the files that are not known. It reads the rows of some files, or of all.
func (r *resolver) load(ctx context.Context, files []int64, some ...int64) error {
	empty := map[int64]*source{} // files to fill
	for _, id := range files {
		if r.known[id] == nil {
			empty[id] = &source{id: id, path: r.paths[id], language: outline.LanguageOf(r.paths[id])}
		}
	}
	symbols, err := r.tx.SymbolsOf(ctx, r.repo, some...)
	if err != nil {
		return err
	}
	for _, x := range symbols {
		if s := empty[x.File]; s != nil {
			s.symbols = append(s.symbols, x)
		}
	}
	imports, err := r.tx.ImportsOf(ctx, r.repo, some...)
	if err != nil {
		return err
	}
	for _, x := range imports {
		if s := empty[x.File]; s != nil {
			s.imports = append(s.imports, x)
		}
	}
	used, err := r.tx.RefsOf(ctx, r.repo, some...)
	if err != nil {
		return err
	}
	for _, u := range used {
		if s := empty[u.File]; s != nil {
			s.refs = refsOf(u.Refs)
		}
	}
	maps.Copy(r.known, empty)
	return nil
}

// look builds the tables of a file once.
func (r *resolver) look(ctx context.Context, id int64) (*source, error) {
	s, err := r.file(ctx, id)
	if err != nil || s.at != nil {
		return s, err
	}
	s.at, s.top, s.children = map[int64]int{}, map[string][]int64{}, map[int64]map[string][]int64{}
	s.binds, s.bases = map[string][]binding{}, map[int64][]string{}
	for i, x := range s.symbols {
		s.at[x.ID] = i
		if x.Parent == 0 {
			s.top[x.Name] = append(s.top[x.Name], x.ID)
			continue
		}
		if s.children[x.Parent] == nil {
			s.children[x.Parent] = map[string][]int64{}
		}
		s.children[x.Parent][x.Name] = append(s.children[x.Parent][x.Name], x.ID)
	}
	for _, x := range s.refs {
		if x.kind == outline.Inherit {
			s.bases[x.symbol] = append(s.bases[x.symbol], x.name)
		}
	}
	if s.language != outline.Python {
		return s, nil
	}
	for _, i := range s.imports {
		m := r.layout.pyModule(s.path, i.Level, i.Path)
		if m.file != 0 && !slices.Contains(s.seen, m.file) {
			s.seen = append(s.seen, m.file)
		}
		names := importNames(i)
		switch {
		case len(names) > 0:
			for _, n := range names {
				if !m.found() {
					continue
				}
				if n.Name == "*" {
					s.stars = append(s.stars, m)
				} else {
					s.binds[n.As] = append(s.binds[n.As], binding{m, n.Name})
				}
			}
		case i.Alias != "":
			if m.found() {
				s.binds[i.Alias] = append(s.binds[i.Alias], binding{m, ""})
			}
		default: // "import a.b" binds a and makes a.b available
			first, _, _ := strings.Cut(i.Path, ".")
			if top := r.layout.pyModule(s.path, 0, first); top.found() {
				s.binds[first] = append(s.binds[first], binding{top, ""})
			}
		}
	}
	return s, nil
}

func importNames(i store.Import) []outline.Name {
	var names []outline.Name
	if i.Names != "" && json.Unmarshal([]byte(i.Names), &names) != nil {
		return nil
	}
	return names
}

// edge is a dependency to write.
type edge struct {
	to   int64
	kind string
}

// edges holds the edges that begin in a file.
type edges struct {
	file         int64
	dependencies []edge
	references   []reference
}

// edges resolves files one after the other.
func (r *resolver) edges(ctx context.Context, files []int64) iter.Seq2[edges, error] {
	return func(yield func(edges, error) bool) {
		for _, id := range files {
			e := edges{file: id}
			var err error
			if e.dependencies, err = r.dependencies(ctx, id); err == nil {
				e.references, err = r.references(ctx, id)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// dependencies returns the files that a file imports.
func (r *resolver) dependencies(ctx context.Context, id int64) ([]edge, error) {
	s, err := r.look(ctx, id)
	if err != nil {
		return nil, err
	}
	var out []edge
	add := func(to int64, i store.Import) {
		e := edge{to, dependsImport}
		if i.Types {
			e.kind = dependsTypes
		}
		if to != 0 && to != id && !slices.Contains(out, e) {
			out = append(out, e)
		}
	}
	for _, i := range s.imports {
		switch s.language {
		case outline.Python:
			err = r.python(ctx, s, i, add)
		case outline.Go:
			err = r.golang(ctx, i, add)
		default:
			add(r.layout.script(s.path, i.Path), i)
		}
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(out, func(a, b edge) int { return cmp.Or(cmp.Compare(a.to, b.to), cmp.Compare(a.kind, b.kind)) })
	return out, nil
}

func (r *resolver) python(ctx context.Context, s *source, i store.Import, add func(int64, store.Import)) error {
	m := r.layout.pyModule(s.path, i.Level, i.Path)
	names := importNames(i)
	if len(names) == 0 {
		add(m.file, i)
		return nil
	}
	if !m.found() {
		return nil
	}
	for _, n := range names {
		// A name in the module takes precedence over a submodule of that name, as in Python.
		if m.file != 0 && m.folder != "" {
			target, err := r.look(ctx, m.file)
			if err != nil {
				return err
			}
			if len(target.top[n.Name]) > 0 || len(target.binds[n.Name]) > 0 && target.id != s.id {
				add(m.file, i)
				continue
			}
		}
		if m.folder != "" {
			if sub := r.layout.pyAt(path.Join(m.folder, n.Name)); sub.file != 0 {
				add(sub.file, i)
				continue
			}
		}
		add(m.file, i)
	}
	return nil
}

// golang resolves an import to the files of a package that declare the used names. If no use was found, it chooses the
// file named like the package, else doc.go, else the first file.
func (r *resolver) golang(ctx context.Context, i store.Import, add func(int64, store.Import)) error {
	dir, ok := r.layout.goDir(i.Path)
	if !ok {
		return nil
	}
	files := r.layout.goFiles[dir]
	found := false
	for _, n := range importNames(i) {
		for _, f := range files {
			t, err := r.look(ctx, r.layout.ids[f])
			if err != nil {
				return err
			}
			if len(t.top[n.Name]) > 0 {
				add(t.id, i)
				found = true
			}
		}
	}
	if found {
		return nil
	}
	for _, name := range []string{path.Base(dir) + ".go", "doc.go"} {
		if id := r.layout.ids[path.Join(dir, name)]; id != 0 {
			add(id, i)
			return nil
		}
	}
	add(r.layout.ids[files[0]], i)
	return nil
}
