package history

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/git"
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
	name, blob string
	stems      []string
	made       bool // by a program
}

type branch struct {
	name   string
	stems  []string
	hash   string
	folder *folder
}

// forest reads trees, each once as long as it is remembered. What it remembers is bounded, whatever the history is like.
type forest struct {
	objects *git.Objects
	now     map[string]*folder
	before  map[string]*folder // remembered for a while longer
	held    int
}

// mostEntries bounds what the younger half of a forest holds.
const mostEntries = 60_000

func newForest(o *git.Objects) *forest {
	return &forest{objects: o, now: map[string]*folder{}, before: map[string]*folder{}}
}

// find returns a tree that is remembered.
func (f *forest) find(hash string) *folder {
	x := f.now[hash]
	if x == nil {
		if x = f.before[hash]; x != nil {
			f.keep(hash, x)
		}
	}
	return x
}

func (f *forest) keep(hash string, x *folder) {
	if f.held > mostEntries {
		f.before, f.now, f.held = f.now, map[string]*folder{}, 0
	}
	f.now[hash] = x
	f.held += x.entries + 1
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
	for i, o := range objects {
		if o.Hash == "" || o.Data == nil && o.Size > 0 {
			continue
		}
		if out[i] = f.find(o.Hash); out[i] != nil {
			continue
		}
		if out[i], err = f.grow(o); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// grow makes a folder of a tree, and reads the trees below it, level by level.
func (f *forest) grow(o git.Object) (*folder, error) {
	type open struct {
		hash string
		at   *folder
		path string
	}
	root := &folder{}
	made := []open{{o.Hash, root, ""}}
	if err := root.read(o); err != nil {
		return nil, err
	}
	for level := made; len(level) > 0; {
		var names []string
		var next []open
		asked := map[string]*folder{}
		for _, x := range level {
			for i := range x.at.below {
				b := &x.at.below[i]
				if b.folder = f.find(b.hash); b.folder != nil {
					continue
				}
				if b.folder = asked[b.hash]; b.folder == nil {
					b.folder = &folder{}
					asked[b.hash] = b.folder
					names = append(names, b.hash)
					next = append(next, open{b.hash, b.folder, path.Join(x.path, b.name)})
				}
			}
		}
		if len(names) == 0 {
			break
		}
		objects, err := f.objects.Read(names)
		if err != nil {
			return nil, err
		}
		for i, o := range objects {
			if o.Hash == "" || o.Data == nil && o.Size > 0 {
				continue // it is taken for an empty one
			}
			if err := next[i].at.read(o); err != nil {
				return nil, fmt.Errorf("%s: %w", next[i].path, err)
			}
		}
		made = append(made, next...)
		level = next
	}
	slices.Reverse(made)
	for _, x := range made { // those below come first
		x.at.count()
		f.keep(x.hash, x.at)
	}
	return root, nil
}

func (x *folder) read(o git.Object) error {
	entries, err := git.ParseTree(o.Data, o.Hash)
	if err != nil {
		return err
	}
	x.entries = len(entries)
	for _, e := range entries {
		switch {
		case e.Folder():
			x.below = append(x.below, branch{name: e.Name, stems: stems(e.Name), hash: e.Hash})
		case e.File() && e.Name == "go.mod":
			x.module = e.Hash
		case e.File() && outline.LanguageOf(e.Name) != "":
			x.files = append(x.files, leaf{name: e.Name, blob: e.Hash, stems: stems(strings.TrimSuffix(e.Name, path.Ext(e.Name))), made: generatedName(e.Name)})
		}
	}
	return nil
}

func (x *folder) count() {
	x.counts = map[outline.Language]int{}
	for _, l := range x.files {
		x.counts[outline.LanguageOf(l.name)]++
	}
	for _, b := range x.below {
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
