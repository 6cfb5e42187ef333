package knowledge

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/knowledge/outline"
)

// Confidence of a reference. Python resolves names at run time; these values rate what is visible without running the
// code.
const (
	sureHere      = 1.0  // defined in an enclosing scope
	sureImported  = 0.95 // imported by name, or an attribute of an imported module or class
	sureOwn       = 0.95 // self.x, if the class has x
	sureInherited = 0.85 // self.x, if a base class has x
	sureStar      = 0.8  // from "from … import *"
	sureByName    = 0.4  // x.method(), if exactly one visible class has such a method
	lessPerHop    = 0.95 // factor for each module that re-exports a name
	lessIfMany    = 0.8  // factor for a name with several definitions
	mostHops      = 8
)

// hit is a symbol or module that a name may refer to.
type hit struct {
	file   *source
	symbol int64 // 0: the module
	module pyModule
	sure   float64
}

// reference is an edge between symbols.
type reference struct {
	from, to int64
	kind     outline.RefKind
	sure     float64
}

// references returns the edges that begin in a Python file.
func (r *resolver) references(ctx context.Context, id int64) ([]reference, error) {
	s, err := r.look(ctx, id)
	if err != nil || s.language != outline.Python {
		return nil, err
	}
	w := walk{resolver: r, ctx: ctx}
	type key struct {
		from, to int64
		kind     outline.RefKind
	}
	best := map[key]float64{}
	for _, x := range s.refs {
		for _, h := range w.name(s, x.symbol, x.kind, strings.Split(x.name, ".")) {
			if h.symbol != 0 {
				k := key{x.symbol, h.symbol, x.kind}
				best[k] = max(best[k], h.sure)
			}
		}
	}
	out := make([]reference, 0, len(best))
	for k, sure := range best {
		out = append(out, reference{k.from, k.to, k.kind, float64(int(sure*1000+0.5)) / 1000})
	}
	slices.SortFunc(out, func(a, b reference) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to), cmp.Compare(a.kind, b.kind))
	})
	return out, w.err
}

// walk resolves names. It stops at the first error.
type walk struct {
	*resolver
	ctx context.Context
	err error
}

func (w *walk) source(id int64) *source {
	if w.err != nil || id == 0 {
		return nil
	}
	s, err := w.look(w.ctx, id)
	if err != nil {
		w.err = err
		return nil
	}
	return s
}

func (s *source) symbol(id int64) store.Symbol {
	if i, ok := s.at[id]; ok {
		return s.symbols[i]
	}
	return store.Symbol{}
}

// some returns hits for symbols with the same name in the same scope.
func some(s *source, ids []int64, sure float64) []hit {
	if len(ids) > 1 {
		sure *= lessIfMany
	}
	return lists.Map(ids, func(id int64) hit { return hit{file: s, symbol: id, sure: sure} })
}

// name resolves a dotted name inside of a symbol.
func (w *walk) name(s *source, caller int64, kind outline.RefKind, parts []string) []hit {
	var found []hit
	switch first := parts[0]; {
	case (first == "self" || first == "cls") && len(parts) > 1:
		if class := s.classAround(caller); class != 0 && len(parts) == 2 {
			found = w.member(s, class, parts[1], sureOwn, sureInherited, 0)
		}
	case first == "super()" && len(parts) == 2:
		if class := s.classAround(caller); class != 0 {
			found = w.inherited(s, class, parts[1], sureInherited, 0)
		}
		return found
	case first == outline.Computed:
	default:
		found = w.attributes(w.scope(s, caller, kind, first), parts[1:])
	}
	if len(found) == 0 && len(parts) > 1 && kind == outline.Call {
		return w.byName(s, parts[len(parts)-1])
	}
	return found
}

// classAround returns the class that encloses a method, or a function in it.
func (s *source) classAround(id int64) int64 {
	for x := s.symbol(id); x.ID != 0; x = s.symbol(x.Parent) {
		if x.Kind == string(outline.Class) {
			return x.ID
		}
	}
	return 0
}

// scope looks up a name as Python does: in the enclosing functions, then in the module. A class scope is visible only
// in its own body.
func (w *walk) scope(s *source, caller int64, kind outline.RefKind, name string) []hit {
	for x := s.symbol(caller); x.ID != 0; x = s.symbol(x.Parent) {
		if x.Kind == string(outline.Class) && x.ID != caller {
			continue
		}
		if kind == outline.Inherit || kind == outline.Decorate || x.Kind == string(outline.Class) && x.ID == caller &&
			kind == outline.TypeOf {
			if x.ID == caller {
				continue // bases and decorators are evaluated in the enclosing scope
			}
		}
		if ids := s.children[x.ID][name]; len(ids) > 0 {
			return some(s, ids, sureHere)
		}
		if x.Kind != string(outline.Class) && kind == outline.Call && hasParameter(x.Signature, name) {
			return nil
		}
	}
	return w.inModule(s, name, sureHere, 0)
}

var parameter = lazyre.New(`[(,*]\s*\*{0,2}([\pL_][\pL\pN_]*)`)

// hasParameter reports whether a parameter shadows a name of the module.
func hasParameter(signature, name string) bool {
	if !strings.Contains(signature, name) {
		return false
	}
	_, rest, _ := strings.Cut(signature, "(")
	return slices.ContainsFunc(parameter.FindAllStringSubmatch("("+rest, -1),
		func(m []string) bool { return m[1] == name })
}

// inModule finds a name that a module defines, imports, or gets from a star import.
func (w *walk) inModule(s *source, name string, sure float64, hops int) []hit {
	if s == nil || hops > mostHops {
		return nil
	}
	if ids := s.top[name]; len(ids) > 0 {
		return some(s, ids, sure)
	}
	for _, b := range s.binds[name] {
		got := sureImported
		if hops > 0 {
			got = sure * lessPerHop
		}
		if b.name == "" {
			return []hit{{module: b.module, sure: got}}
		}
		if found := w.inside(b.module, b.name, got, hops+1); len(found) > 0 {
			return found
		}
	}
	for _, m := range s.stars {
		if m.file == s.id || strings.HasPrefix(name, "_") {
			continue
		}
		if found := w.inside(m, name, min(sure, sureStar), hops+1); len(found) > 0 {
			return found
		}
	}
	return nil
}

// inside finds an attribute of a module: a name of its file, or a submodule.
func (w *walk) inside(m pyModule, name string, sure float64, hops int) []hit {
	if found := w.inModule(w.source(m.file), name, sure, hops); len(found) > 0 {
		return found
	}
	if m.folder == "" {
		return nil
	}
	if sub := w.layout.pyAt(m.folder + "/" + name); sub.found() {
		return []hit{{module: sub, sure: sure}}
	}
	return nil
}

// attributes resolves the rest of a dotted name.
func (w *walk) attributes(from []hit, rest []string) []hit {
	for _, name := range rest {
		var next []hit
		for _, h := range from {
			switch {
			case h.symbol == 0:
				next = append(next, w.inside(h.module, name, min(h.sure, sureImported), 1)...)
			case h.file.symbol(h.symbol).Kind == string(outline.Class):
				next = append(next, w.member(h.file, h.symbol, name, min(h.sure, sureImported), min(h.sure, sureInherited), 0)...)
			}
		}
		from = next
	}
	return from
}

// member finds an attribute of a class or of its bases.
func (w *walk) member(s *source, class int64, name string, own, inherited float64, hops int) []hit {
	if ids := s.children[class][name]; len(ids) > 0 {
		return some(s, ids, own)
	}
	return w.inherited(s, class, name, inherited, hops)
}

func (w *walk) inherited(s *source, class int64, name string, sure float64, hops int) []hit {
	if hops > mostHops {
		return nil
	}
	for _, base := range s.bases[class] {
		parts := strings.Split(base, ".")
		for _, h := range w.attributes(w.scope(s, class, outline.Inherit, parts[0]), parts[1:]) {
			if h.symbol == 0 || h.symbol == class || h.file.symbol(h.symbol).Kind != string(outline.Class) {
				continue
			}
			if found := w.member(h.file, h.symbol, name, sure, sure, hops+1); len(found) > 0 {
				return found
			}
		}
	}
	return nil
}

// byName resolves a method by its name alone, if exactly one visible class has such a method. Visible are the classes
// of the file and of the files that it imports.
func (w *walk) byName(s *source, name string) []hit {
	var found []hit
	seen := map[int64]bool{}
	look := func(f *source) {
		if f == nil || seen[f.id] || len(found) > 1 {
			return
		}
		seen[f.id] = true
		for _, x := range f.methods(name) {
			found = append(found, hit{file: f, symbol: x, sure: sureByName})
		}
	}
	look(s)
	for _, file := range s.seen {
		if len(found) > 1 {
			return nil
		}
		look(w.source(file))
	}
	if len(found) != 1 {
		return nil
	}
	return found
}

// methods returns the methods with a given name in all classes of a file.
func (s *source) methods(name string) []int64 {
	if s.byMethod == nil {
		s.byMethod = map[string][]int64{}
		for _, x := range s.symbols {
			if x.Kind == string(outline.Method) {
				s.byMethod[x.Name] = append(s.byMethod[x.Name], x.ID)
			}
		}
	}
	return s.byMethod[name]
}
