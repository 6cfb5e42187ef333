package gates

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
)

// affected reports whether a change may matter to a project below the root of the tree. It may if a changed file is in
// the project, in another project that the project's own files name, or outside of all projects below the root.
func affected(dir string, p Project, all []Project, changed []string) bool {
	if len(changed) == 0 {
		return true // nothing is known to have changed: everything is checked
	}
	if sample(p.Root) && !slices.ContainsFunc(changed, func(file string) bool { return within(file, p.Root) }) {
		return slices.ContainsFunc(all, func(q Project) bool {
			return q.Root != p.Root && mentions(dir, p.Root, way(p.Root, q.Root))
		})
	}
	touched := map[string]bool{}
	for _, file := range changed {
		root := ""
		for _, q := range all {
			if q.Root != "." && within(file, q.Root) && len(q.Root) > len(root) {
				root = q.Root
			}
		}
		if root == "" {
			return true
		}
		touched[root] = true
	}
	seen := map[string]bool{}
	var reach func(root string) bool
	reach = func(root string) bool {
		if seen[root] {
			return false
		}
		seen[root] = true
		for t := range touched {
			if t == root || within(t, root) || within(root, t) {
				return true
			}
		}
		return slices.ContainsFunc(all, func(q Project) bool {
			return q.Root != "." && q.Root != root && dependsOn(dir, root, q.Root) && reach(q.Root)
		})
	}
	return reach(p.Root)
}

// manifests lists the files in which a project names others.
var manifests = []string{"go.mod", "package.json", "pyproject.toml", "setup.py", "setup.cfg", "requirements.txt",
	"Cargo.toml", "tsconfig.json", "Makefile", "pom.xml", "build.gradle"}

var packageName = lazyre.New(`(?m)^\s*name\s*=\s*["']([^"']+)["']`)

// sample reports whether a folder holds an example or a page about the project that is independent of the rest. A
// change elsewhere does not matter to it unless its own files name a path there.
func sample(root string) bool {
	return slices.ContainsFunc(strings.Split(root, "/"), func(folder string) bool {
		switch strings.ToLower(folder) {
		case "example", "examples", "sample", "samples", "demo", "demos", "tutorial", "tutorials", "playground",
			"playgrounds", "website", "docs":
			return true
		}
		return false
	})
}

// way returns the relative path from one folder to another folder.
func way(root, other string) string {
	rel, err := filepath.Rel(filepath.FromSlash(root), filepath.FromSlash(other))
	if err != nil {
		return other
	}
	return filepath.ToSlash(rel)
}

// dependsOn reports whether the project at root names the project at other, by path or by name.
func dependsOn(dir, root, other string) bool {
	known := []string{way(root, other)}
	if module := moduleOf(dir, other); module != "" {
		known = append(known, module)
	}
	var pkg struct{ Name string }
	if json.Unmarshal([]byte(readText(dir, other, "package.json")), &pkg) == nil && pkg.Name != "" {
		known = append(known, `"`+pkg.Name+`"`)
	}
	for _, file := range []string{"pyproject.toml", "Cargo.toml"} {
		if m := packageName.FindStringSubmatch(readText(dir, other, file)); m != nil {
			known = append(known, `"`+m[1], `'`+m[1], "\n"+m[1])
		}
	}
	return mentions(dir, root, known...)
}

// mentions reports whether a manifest of the project at root has one of the words.
func mentions(dir, root string, words ...string) bool {
	return slices.ContainsFunc(manifests, func(file string) bool {
		text := "\n" + readText(dir, root, file)
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
	})
}
