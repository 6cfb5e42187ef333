package history

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/recent"
	"github.com/runplan/runplan/knowledge/outline"
)

// folder is a tree of git with what lies below it. Commits share most of theirs.
type folder struct {
	files   []leaf // in languages of the index, sorted by name
	module  string // blob of a go.mod in it, "" if there is none
	below   []branch
	counts  map[outline.Language]int // of all files below
	entries int
}

type leaf struct {
	*label
	blob string
}

type branch struct {
	*label
	hash   string
	folder *folder
}

// forest reads trees, each once as long as it is remembered. What it remembers is bounded, whatever the history is like.
type forest struct {
	objects *git.Objects
	read    *recent.Map[string, *folder]
	labels  *recent.Map[labelled, *label]
}

// label is what the name of a file or of a folder tells.
type label struct {
	name     string
	language outline.Language
	stems    []string
	made     bool // by a program
}

// labelled is what a label is of.
type labelled struct {
	name   string
	folder bool
}

// mostEntries bounds what the younger half of a forest holds.
const mostEntries = 60_000

func newForest(o *git.Objects) *forest {
	return &forest{
		objects: o, read: recent.New[string](mostEntries, func(x *folder) int { return x.entries + 1 }),
		labels: recent.New[labelled](mostEntries, func(*label) int { return 1 }),
	}
}

// find returns a tree that is remembered.
func (f *forest) find(hash string) *folder {
	x, _ := f.read.Get(hash)
	return x
}

// roots returns the trees of commits, nil for one that git does not have as a whole.
func (f *forest) roots(commits []string) ([]*folder, error) {
	names := make([]string, len(commits))
	for i, c := range commits {
		names[i] = c + "^{tree}"
	}
	objects, err := f.objects.Read(names)
	if err != nil {
		return nil, err
	}
	out := make([]*folder, len(commits))
	g := growth{forest: f, asked: map[string]*folder{}}
	for i, o := range objects {
		if o.Hash == "" || o.Data == nil && o.Size > 0 {
			continue
		}
		fresh := false
		if out[i], fresh = g.folder(o.Hash); fresh {
			if err := g.fill(out[i], o); err != nil {
				return nil, err
			}
			g.level = append(g.level, sprout{o.Hash, out[i], ""})
		}
	}
	return out, g.grow()
}

// growth reads trees that are not remembered, those of one depth together.
type growth struct {
	*forest
	asked map[string]*folder // that are being read
	level []sprout
}

// sprout is a tree that is read, unlike those below it.
type sprout struct {
	hash string
	at   *folder
	path string
}

// folder returns a tree by its name. A fresh one has to be read.
func (g *growth) folder(hash string) (x *folder, fresh bool) {
	if x = g.asked[hash]; x != nil {
		return x, false
	}
	if x = g.find(hash); x != nil {
		return x, false
	}
	x = &folder{}
	g.asked[hash] = x
	return x, true
}

func (g *growth) grow() error {
	made := slices.Clone(g.level)
	for len(g.level) > 0 {
		var names []string
		var next []sprout
		for _, x := range g.level {
			for i := range x.at.below {
				b := &x.at.below[i]
				fresh := false
				if b.folder, fresh = g.folder(b.hash); fresh {
					names, next = append(names, b.hash), append(next, sprout{b.hash, b.folder, path.Join(x.path, b.name)})
				}
			}
		}
		g.level = next
		if len(names) == 0 {
			break
		}
		objects, err := g.objects.Read(names)
		if err != nil {
			return err
		}
		for i, o := range objects {
			if o.Hash == "" || o.Data == nil && o.Size > 0 {
				continue // it is taken for an empty one
			}
			if err := g.fill(next[i].at, o); err != nil {
				return fmt.Errorf("%s: %w", next[i].path, err)
			}
		}
		made = append(made, next...)
	}
	for _, x := range made {
		x.at.count()
		g.read.Put(x.hash, x.at)
	}
	return nil
}

// label tells what a name tells, of most names once.
func (f *forest) label(of labelled) *label {
	l, known := f.labels.Get(of)
	if known {
		return l
	}
	l = &label{name: of.name, stems: stems(of.name)}
	if !of.folder {
		l.language, l.made = outline.LanguageOf(of.name), generatedName(of.name)
		l.stems = stems(strings.TrimSuffix(of.name, path.Ext(of.name)))
	}
	f.labels.Put(of, l)
	return l
}

// fill takes the entries of a tree.
func (f *forest) fill(x *folder, o git.Object) error {
	entries, err := git.ParseTree(o.Data, o.Hash)
	if err != nil {
		return err
	}
	x.entries = len(entries)
	for _, e := range entries {
		switch {
		case e.Folder():
			x.below = append(x.below, branch{label: f.label(labelled{e.Name, true}), hash: e.Hash})
		case e.File() && e.Name == "go.mod":
			x.module = e.Hash
		case e.File():
			if l := f.label(labelled{name: e.Name}); l.language != "" {
				x.files = append(x.files, leaf{l, e.Hash})
			}
		}
	}
	return nil
}

// count counts what is below a tree, once.
func (x *folder) count() {
	if x.counts != nil {
		return
	}
	x.counts = map[outline.Language]int{}
	for _, l := range x.files {
		x.counts[l.language]++
	}
	for _, b := range x.below {
		b.folder.count()
		for l, n := range b.folder.counts {
			x.counts[l] += n
		}
	}
}

// at returns the folder of a path.
func (x *folder) at(dir string) *folder {
	if dir == "." || dir == "" {
		return x
	}
	for part := range strings.SplitSeq(dir, "/") {
		i := slices.IndexFunc(x.below, func(b branch) bool { return b.name == part })
		if i < 0 {
			return nil
		}
		x = x.below[i].folder
	}
	return x
}

// file returns a file by its path; its blob is "" where there is none.
func (x *folder) file(name string) leaf {
	dir := x.at(path.Dir(name))
	if dir == nil {
		return leaf{}
	}
	for _, l := range dir.files {
		if l.name == path.Base(name) {
			return l
		}
	}
	return leaf{}
}

// overview says what a repository is made of, as retrieval does.
func (x *folder) overview() string {
	var languages []outline.Language
	for l := range x.counts {
		languages = append(languages, l)
	}
	slices.SortFunc(languages, func(a, b outline.Language) int {
		return cmp.Or(cmp.Compare(x.counts[b], x.counts[a]), cmp.Compare(a, b))
	})
	var parts []string
	for _, l := range languages {
		parts = append(parts, fmt.Sprintf("%s: %d", l, x.counts[l]))
	}
	return "Files: " + strings.Join(parts, ", ")
}

// found is a file with words of a task in its path.
type found struct {
	path, blob string
	words      []string
}

// having returns the files that people wrote whose path has words, in the order of the tree. words are stems, as the keys say them.
func (x *folder) having(words map[string]string, most int) []found {
	var out []found
	var walk func(x *folder, dir string, have []string)
	walk = func(x *folder, dir string, have []string) {
		if len(x.counts) == 0 || len(out) >= most {
			return
		}
		add := func(have, stems []string) []string {
			for _, s := range stems {
				if w, ok := words[s]; ok && !slices.Contains(have, w) {
					have = append(have[:len(have):len(have)], w)
				}
			}
			return have
		}
		for _, l := range x.files {
			if l.made {
				continue
			}
			if all := add(have, l.stems); len(all) > 0 && len(out) < most {
				out = append(out, found{path.Join(dir, l.name), l.blob, all})
			}
		}
		for _, b := range x.below {
			if foreignFolder(b.name) {
				continue
			}
			walk(b.folder, path.Join(dir, b.name), add(have, b.stems))
		}
	}
	walk(x, "", nil)
	return out
}
