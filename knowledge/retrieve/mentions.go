package retrieve

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/store"
)

// names holds the names of the files in the index and in the tree.
type names struct {
	files  map[string]store.File
	byBase map[string][]string // indexed paths by base name
	tree   *tree
}

func (p *pass) loadNames(ctx context.Context) error {
	files, err := p.Base.Files(ctx, p.Repo, "")
	if err != nil {
		return err
	}
	if len(files) == 0 {
		texts, err := p.Base.TextPaths(ctx, p.Repo)
		if err != nil {
			return err
		}
		if len(texts) == 0 {
			return ErrNoIndex
		}
	}
	p.names = names{files: map[string]store.File{}, byBase: map[string][]string{}, tree: p.tree}
	for _, f := range files {
		p.names.files[f.Path] = f
		p.names.byBase[path.Base(f.Path)] = append(p.names.byBase[path.Base(f.Path)], f.Path)
	}
	return nil
}

// file finds the file for a path as people write it: relative to any folder, absolute on another machine, or only a
// base name. If none is found, why gives the reason. An ambiguous name is not resolved.
func (n names) file(ctx context.Context, written string) (f store.File, found bool, why string, err error) {
	p := strings.TrimPrefix(path.Clean("/"+strings.ReplaceAll(written, `\`, "/")), "/")
	for _, prefix := range []string{"", "a/", "b/"} { // prefixes of diffs
		rest, ok := strings.CutPrefix(p, prefix)
		if !ok {
			continue
		}
		if _, found = n.files[rest]; !found {
			found, err = n.tree.has(ctx, rest)
		}
		if found || err != nil {
			return n.at(rest), found, "", err
		}
	}
	match := n.ending(n.byBase[path.Base(p)], p)
	if len(match) == 0 {
		listed, err := n.tree.list(ctx)
		if err != nil {
			return f, false, "", err
		}
		match = n.ending(listed, p)
	}
	switch {
	case len(match) == 1:
		return n.at(match[0]), true, "", nil
	case len(match) > 1:
		return f, false, fmt.Sprintf("%d files have this name, such as %s and %s", len(match), match[0], match[1]), nil
	}
	return f, false, "no such file", nil
}

// at returns a file of the index, or one that exists only in the tree.
func (n names) at(path string) store.File {
	if f, ok := n.files[path]; ok {
		return f
	}
	return store.File{Path: path, Language: languageOf(path)}
}

// ending returns the paths that end in the written one. Otherwise it returns the longest paths that the written one
// ends in.
func (n names) ending(paths []string, written string) []string {
	out := lists.Filter(paths, func(p string) bool { return strings.HasSuffix(p, "/"+written) })
	if out != nil {
		return out
	}
	longest := 0
	for _, p := range paths {
		// For a path with folders, an equal base name alone is not enough.
		if strings.HasSuffix(written, "/"+p) && strings.Contains(p, "/") && len(p) >= longest {
			if len(p) > longest {
				longest, out = len(p), nil
			}
			out = append(out, p)
		}
	}
	return out
}

// module finds the file of a dotted Python module.
func (n names) module(dotted string) (store.File, bool) {
	base := strings.ReplaceAll(dotted, ".", "/")
	for _, p := range append(language.PythonFiles(base), language.PythonFiles("src/"+base)...) {
		if f, ok := n.files[p]; ok {
			return f, true
		}
	}
	return store.File{}, false
}

// named holds the files and symbols that names in a text refer to.
type named struct {
	files   []FileNamed
	symbols []SymbolNamed
	unknown []string
}

func (m *named) addFile(f store.File, line int, as string) {
	for i, have := range m.files {
		if have.Path == f.Path {
			if have.Line == 0 {
				m.files[i].Line = line
			}
			return
		}
	}
	m.files = append(m.files, FileNamed{ID: f.ID, Path: f.Path, Line: line, As: as})
}

func (m *named) addUnknown(text string) {
	m.unknown = lists.Add(m.unknown, text)
}

// lookUp looks up the clues of a text.
func (p *pass) lookUp(ctx context.Context, c clues) (m named, err error) {
	for _, w := range c.Paths {
		f, found, why, err := p.names.file(ctx, w.Path)
		if err != nil {
			return m, err
		}
		if found {
			m.addFile(f, w.Line, w.Path)
			continue
		}
		m.addUnknown(fmt.Sprintf("%s (%s)", w.Path, why))
	}
	for _, n := range c.Names {
		if mod, ok := p.names.module(n.Name); ok && strings.Contains(n.Name, ".") {
			m.addFile(mod, 0, n.Name)
			continue
		}
		found, err := p.symbols(ctx, n.Name)
		if err != nil {
			return m, err
		}
		none := len(found) == 0
		found = slices.DeleteFunc(found, func(s SymbolNamed) bool {
			return slices.ContainsFunc(m.symbols, func(o SymbolNamed) bool { return o.ID == s.ID })
		})
		if none && n.Sure && !slices.ContainsFunc(m.files, func(f FileNamed) bool { return f.As == n.Name }) {
			m.addUnknown(n.Name + " (no such symbol)")
		}
		m.symbols = append(m.symbols, found...)
	}
	return m, nil
}

// symbols finds the symbols that a name may refer to. For Runner.run it returns run of the type Runner, else of a
// module, else any run.
func (p *pass) symbols(ctx context.Context, name string) ([]SymbolNamed, error) {
	owner, last := "", name
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		owner, last = name[:i], name[i+1:]
		if j := strings.LastIndexByte(owner, '.'); j >= 0 {
			owner = owner[j+1:]
		}
	}
	if last == "" || strings.ContainsAny(last, "*?[") {
		return nil, nil
	}
	found, err := p.Base.SymbolsByName(ctx, p.Repo, last)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	if owner != "" {
		if found, err = p.ownedBy(ctx, found, owner); err != nil {
			return nil, err
		}
	}
	return lists.Map(found, func(s store.Symbol) SymbolNamed {
		return SymbolNamed{ID: s.ID, File: s.File, Path: s.Path, Name: s.Name, Line: s.Start, As: name}
	}), nil
}

// ownedBy keeps the symbols of a class, else those of a module or package of that name. In cart.total() the owner may
// be a variable; then any method counts. The same holds for self and this.
func (p *pass) ownedBy(ctx context.Context, found []store.Symbol, owner string) ([]store.Symbol, error) {
	if owner == "self" || owner == "this" || owner == "cls" {
		return found, nil
	}
	owners, err := p.Base.SymbolsByName(ctx, p.Repo, owner)
	if err != nil {
		return nil, err
	}
	var of, in []store.Symbol
	for _, s := range found {
		if slices.ContainsFunc(owners, func(o store.Symbol) bool { return o.ID == s.Parent }) {
			of = append(of, s)
		}
		stem := strings.TrimSuffix(path.Base(s.Path), path.Ext(s.Path))
		if s.Parent == 0 && (stem == owner || path.Base(path.Dir(s.Path)) == owner) {
			in = append(in, s)
		}
	}
	switch {
	case of != nil:
		return of, nil
	case in == nil && strings.ToLower(owner) == owner:
		return slices.DeleteFunc(found, func(s store.Symbol) bool { return s.Parent == 0 }), nil
	}
	return in, nil
}
