package history

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/recent"
	"github.com/runplan/runplan/knowledge/outline"
)

// folder is a git tree with its contents. Commits share most folders.
type folder struct {
	files   []leaf // files in indexed languages, sorted by name
	module  string // blob of its go.mod; "" for none
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

// forest is a bounded cache of trees.
type forest struct {
	objects *git.Objects
	read    *recent.Map[string, *folder]
	labels  *recent.Map[labelled, *label]
}

// label holds the parts of a file or folder name that describe its purpose.
type label struct {
	name     string
	language outline.Language
	stems    []string
	made     bool // generated
}

// labelled is the key of a label.
type labelled struct {
	name   string
	folder bool
}

// mostEntries limits the entries in the younger half of the cache.
const mostEntries = 60_000

func newForest(o *git.Objects) *forest {
	return &forest{
		objects: o, read: recent.New[string](mostEntries, func(x *folder) int { return x.entries + 1 }),
		labels: recent.New[labelled](mostEntries, func(*label) int { return 1 }),
	}
}

// roots returns the trees of commits, or nil for a tree that is incomplete in git.
func (f *forest) roots(commits []string) ([]*folder, error) {
	names := lists.Map(commits, func(c string) string { return c + "^{tree}" })
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

// growth reads missing trees, all of one depth together.
type growth struct {
	*forest
	asked map[string]*folder // trees being read
	level []sprout
}

// sprout is a tree that is read but whose subtrees are not.
type sprout struct {
	hash string
	at   *folder
	path string
}

// folder returns a tree by hash. If fresh, it has to be read.
func (g *growth) folder(hash string) (x *folder, fresh bool) {
	if x = g.asked[hash]; x != nil {
		return x, false
	}
	if x, _ = g.read.Get(hash); x != nil {
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
		objects, err := g.objects.Read(names)
		if err != nil {
			return err
		}
		for i, o := range objects {
			if o.Hash == "" || o.Data == nil && o.Size > 0 {
				continue // treat it as empty
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

// label returns the label of a name, mostly from the cache.
func (f *forest) label(of labelled) *label {
	l, known := f.labels.Get(of)
	if known {
		return l
	}
	l = &label{name: of.name, stems: stems(of.name)}
	if !of.folder {
		l.language, l.made = outline.LanguageOf(of.name), language.GeneratedName(of.name)
		l.stems = stems(strings.TrimSuffix(of.name, path.Ext(of.name)))
	}
	f.labels.Put(of, l)
	return l
}

// fill adds the entries of a tree.
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

// count counts the files below a tree once.
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

// at returns the folder at a path.
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

// file returns the file at a path; its blob is "" if it does not exist.
func (x *folder) file(name string) leaf {
	dir := x.at(path.Dir(name))
	if dir == nil {
		return leaf{}
	}
	return dir.leaf(path.Base(name))
}

// leaf returns the file of a name in the folder itself.
func (x *folder) leaf(name string) leaf {
	return lists.First(x.files, func(l leaf) bool { return l.name == name })
}

// overview describes a repository as retrieval does.
func (x *folder) overview() string {
	var parts []string
	for _, l := range slices.SortedFunc(maps.Keys(x.counts), func(a, b outline.Language) int {
		return cmp.Or(cmp.Compare(x.counts[b], x.counts[a]), cmp.Compare(a, b))
	}) {
		parts = append(parts, fmt.Sprintf("%s: %d", l, x.counts[l]))
	}
	return "Files: " + strings.Join(parts, ", ")
}

// found is a file whose path contains words of a task.
type found struct {
	path, blob string
	words      []string
}

// having returns the non-generated files whose path contains words, in tree order. The keys of words are stems.
func (x *folder) having(words map[string]string, most int) []found {
	var out []found
	var walk func(x *folder, dir string, have []string)
	walk = func(x *folder, above string, have []string) {
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
				out = append(out, found{above + l.name, l.blob, all})
			}
		}
		for _, b := range x.below {
			if foreignFolder(b.name) {
				continue
			}
			walk(b.folder, above+b.name+"/", add(have, b.stems))
		}
	}
	walk(x, "", nil)
	return out
}
