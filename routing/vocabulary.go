package routing

import (
	"path"
	"slices"
	"strings"
)

// maker is a thing that earlier batches create, under one of its possible names.
type maker struct {
	batches []int  // by plan order
	what    string // the path or name in full
	isPath  bool
}

// vocabulary maps unambiguous words to the things that the batches of a plan create.
type vocabulary struct {
	paths map[string]*maker // paths, their endings, folders of packages; nil for an ending that several paths have
	stems map[string]*maker // the same without the extension, as imports write it
	names map[string]*maker // functions, types and constants
	tests map[string]*maker // tests, by the name of their subject
	own   []map[string]bool // names that each batch declares itself
	build []manifest
}

// manifest is a file that a tree of code is built with.
type manifest struct {
	batch     int
	path, dir string
	only      bool // it affects files directly next to it, and not further down
}

// tooMany is the number of batches that declare a name before it counts as common.
const tooMany = 3

// vocabulary collects what the batches create. Batches come in the order in which they can run.
func (g *graph) vocabulary() *vocabulary {
	v := &vocabulary{paths: map[string]*maker{}, stems: map[string]*maker{}, names: map[string]*maker{},
		tests: map[string]*maker{}}
	v.own = make([]map[string]bool, len(g.plan.Batches))
	for _, i := range g.order {
		for _, p := range g.does[i].makes {
			v.file(p, i)
		}
		v.own[i] = map[string]bool{}
		for _, name := range declarations(&g.plan.Batches[i], g.says[i]) {
			v.own[i][name] = true
			if m := v.names[name]; m == nil {
				v.names[name] = &maker{[]int{i}, name, false}
			} else if !slices.Contains(m.batches, i) {
				m.batches = append(m.batches, i)
			}
		}
	}
	made := map[string]bool{}
	for _, m := range v.paths {
		if m != nil {
			made[m.what] = true
		}
	}
	for _, i := range g.order { // changed files make an ending ambiguous too
		for _, p := range g.does[i].all {
			if !made[p] {
				for _, end := range endings(p) {
					if m, ok := v.paths[end]; ok && (m == nil || m.what != p) {
						v.paths[end] = nil
					}
				}
			}
		}
	}
	v.packages(g)
	return v
}

// file adds a created path to the vocabulary, under the whole path and under each of its endings.
func (v *vocabulary) file(p string, i int) {
	put := func(m map[string]*maker, key string) {
		old, ok := m[key]
		switch {
		case !ok:
			m[key] = &maker{[]int{i}, p, true}
		case old != nil && old.what == p:
			if !slices.Contains(old.batches, i) {
				old.batches = append(old.batches, i)
			}
		default:
			m[key] = nil
		}
	}
	if isPattern(p) || strings.HasSuffix(p, "/") {
		return
	}
	base := path.Base(p)
	for _, end := range endings(p) {
		if end == p || end != base || !anywhere(base) {
			put(v.paths, end)
		}
	}
	ext := path.Ext(p)
	if !isCode(ext) {
		return
	}
	if subject, ok := subjectOf(p); ok {
		put(v.tests, subject)
	}
	stem := strings.TrimSuffix(p, ext)
	if up, ok := strings.CutSuffix(stem, "/index"); ok {
		stem = up
	} else if up, ok := strings.CutSuffix(stem, "/__init__"); ok {
		stem = up
	} else if up, ok := strings.CutSuffix(stem, "/mod"); ok {
		stem = up
	}
	for _, end := range endings(stem) {
		put(v.stems, end)
	}
	// The full path wins over a mere ending of another one.
	if m := v.paths[p]; m == nil || m.what != p {
		v.paths[p] = &maker{[]int{i}, p, true}
	}
}

// endings returns a path and its endings without the first folders.
func endings(p string) []string {
	out := []string{p}
	for {
		_, rest, ok := strings.Cut(p, "/")
		if !ok || rest == "" {
			return out
		}
		out, p = append(out, rest), rest
	}
}

// packages records Go packages whose first file a batch creates.
func (v *vocabulary) packages(g *graph) {
	first := map[string]bool{}
	for _, i := range g.order {
		for _, p := range g.does[i].all {
			dir := path.Dir(p)
			if first[dir] || path.Ext(p) != ".go" {
				continue
			}
			first[dir] = true
			if _, made := slices.BinarySearch(g.does[i].makes, p); made && dir != "." {
				v.build = append(v.build, manifest{i, p, dir, true})
				if !strings.Contains(dir, "/") {
					continue
				}
				if _, taken := v.paths[dir]; !taken {
					v.paths[dir] = &maker{[]int{i}, dir, true}
				}
			}
		}
	}
	for _, i := range g.order {
		for _, p := range g.does[i].makes {
			if isManifest(path.Base(p)) {
				v.build = append(v.build, manifest{i, p, path.Dir(p), false})
			}
		}
	}
}

// anywhere reports whether many folders have a file of this name.
func anywhere(base string) bool {
	switch strings.ToLower(strings.TrimSuffix(base, path.Ext(base))) {
	case "index", "main", "mod", "lib", "init", "__init__", "readme", "test", "tests", "types", "utils", "util", "package",
		"config", "settings", "setup",
		"conftest", "makefile", "dockerfile", "license", "changelog", "page", "layout", "route", "routes", "app", "models",
		"views", "style", "styles", "doc", "go", "skill", "":
		return true
	}
	return false
}

func isManifest(base string) bool {
	switch base {
	case "go.mod", "package.json", "pyproject.toml", "Cargo.toml", "CMakeLists.txt", "pom.xml", "build.gradle",
		"build.gradle.kts", "Gemfile", "composer.json",
		"Package.swift", "mix.exs", "project.yml", "__init__.py":
		return true
	}
	return false
}

func isCode(ext string) bool {
	switch ext {
	case ".go", ".py", ".js", ".mjs", ".cjs", ".jsx", ".ts", ".tsx", ".vue", ".svelte", ".rs", ".rb", ".php", ".java",
		".kt", ".swift", ".c", ".cc", ".cpp", ".h", ".cs", ".sh",
		".ex", ".exs", ".scala", ".lua":
		return true
	}
	return false
}
