package history

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/knowledge/outline"
)

// target is a file that an import may resolve to, and the local names for its contents.
type target struct {
	want
	why     string
	names   []outline.Name // single names: from x import name
	aliases []string       // names of the whole module or package: alias.name
	sibling bool           // same Go package: its names need no import
}

// mostPackage is the highest number of files of a Go package that are read.
const mostPackage = 40

// targets resolves the imports of a file by the tree alone. For a Go package it returns all files; their outlines show
// which declare the used names.
func (r surroundings) targets(f *source, tree *folder) ([]target, error) {
	var out []target
	add := func(name string, names []outline.Name, alias string) {
		l := tree.file(name)
		if l.blob == "" || name == f.path || madeByProgram(name) {
			return
		}
		at := slices.IndexFunc(out, func(t target) bool { return t.path == name })
		if at < 0 {
			at = len(out)
			out = append(out, target{want: want{name, l.blob}, why: "imported by " + f.path})
		}
		out[at].names = append(out[at].names, names...)
		if alias != "" {
			out[at].aliases = append(out[at].aliases, alias)
		}
	}
	switch f.language {
	case outline.Go:
		return r.goTargets(f, tree)
	case outline.Python:
		for _, i := range f.imports {
			pythonTargets(f.path, i, tree, add)
		}
	default:
		for _, i := range f.imports {
			if name := scriptFile(f.path, i.Path, tree); name != "" {
				add(name, i.Names, i.Alias)
			}
		}
	}
	return out, nil
}

// called returns the local name of an import.
func called(n outline.Name) string { return cmp.Or(n.As, n.Name) }

// goTargets resolves imports within the file's module and adds the other files of its package.
func (r surroundings) goTargets(f *source, tree *folder) ([]target, error) {
	var out []target
	take := func(dir string, t target) {
		d := tree.at(dir)
		if d == nil {
			return
		}
		n := 0
		for _, l := range d.files {
			name := path.Join(dir, l.name)
			if name == f.path || outline.LanguageOf(name) != outline.Go || madeByProgram(name) ||
				language.GoTest(name) {
				continue
			}
			if n++; n > mostPackage {
				return
			}
			t.want = want{name, l.blob}
			out = append(out, t)
		}
	}
	root, blob := moduleOf(path.Dir(f.path), tree)
	if blob != "" {
		module, err := r.module(blob)
		if err != nil {
			return nil, err
		}
		for _, i := range f.imports {
			rest, ok := strings.CutPrefix(i.Path, module)
			if module == "" || !ok || rest != "" && rest[0] != '/' {
				continue
			}
			if len(i.Names) > 0 {
				take(path.Join(root, rest),
					target{why: "imported by " + f.path, aliases: []string{cmp.Or(i.Alias, path.Base(i.Path))}})
			}
		}
	}
	take(path.Dir(f.path), target{why: "in the package of " + f.path, sibling: true})
	return out, nil
}

// module returns the module path that a go.mod declares.
func (r surroundings) module(blob string) (string, error) {
	return r.modules.Load(blob, func() (string, error) {
		objects, err := r.objects.Read([]string{blob})
		if err != nil {
			return "", err
		}
		return modfile.ModulePath(objects[0].Data), nil
	})
}

// moduleOf finds the go.mod above a folder.
func moduleOf(dir string, tree *folder) (root, blob string) {
	for ; ; dir = path.Dir(dir) {
		if x := tree.at(dir); x != nil && x.module != "" {
			return dir, x.module
		}
		if dir == "." || dir == "/" {
			return "", ""
		}
	}
}

// pythonTargets resolves modules, and submodules imported from packages.
func pythonTargets(from string, i outline.Import, tree *folder, add func(string, []outline.Name, string)) {
	var bases []string
	rel := strings.ReplaceAll(i.Path, ".", "/")
	if i.Level > 0 {
		dir := path.Dir(from)
		for range i.Level - 1 {
			dir = path.Dir(dir)
		}
		bases = []string{path.Join(dir, rel)}
	} else if rel != "" {
		// The import root is a folder above the file, the top, or src. The nearest one with the module counts.
		for dir := path.Dir(from); ; dir = path.Dir(dir) {
			bases = append(bases, path.Join(dir, rel))
			if dir == "." || dir == "/" {
				break
			}
		}
		bases = append(bases, path.Join("src", rel))
	}
	alias := i.Alias
	if len(i.Names) == 0 && alias == "" {
		alias = i.Path // import a.b is used as a.b.name
	}
	for _, base := range bases {
		above, inside := tree.at(path.Dir(base)), tree.at(base)
		if above == nil {
			continue
		}
		hit := false
		var rest []outline.Name
		for _, n := range i.Names {
			if sub := inside.pythonModule(n.Name); sub != "" {
				add(path.Join(base, sub), nil, called(n))
				hit = true
				continue
			}
			rest = append(rest, n)
		}
		if name := above.pythonModule(path.Base(base)); name != "" && (len(rest) > 0 || len(i.Names) == 0) {
			add(path.Join(path.Dir(base), name), rest, alias)
			hit = true
		}
		if hit {
			return
		}
	}
}

// pythonModule returns the file of a Python module in a folder, "" if there is none, or no folder.
func (x *folder) pythonModule(name string) string {
	if x == nil {
		return ""
	}
	return lists.First(language.PythonFiles(name), func(p string) bool { return x.file(p).blob != "" })
}

// scriptFile resolves a relative import.
func scriptFile(from, spec string, tree *folder) string {
	if !strings.HasPrefix(spec, ".") {
		return ""
	}
	for p := range language.ScriptFiles(path.Join(path.Dir(from), spec)) {
		if tree.file(p).blob != "" {
			return p
		}
	}
	return ""
}
