package gates

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
)

// affected reports whether a change may matter to a project below the root of the tree: it is in the project, in one
// that the project's own files name, or outside of all projects below the root.
func affected(dir string, p Project, all []Project, changed []string) bool {
	if len(changed) == 0 {
		return true // nothing is known to have changed: everything is checked
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
		for _, q := range all {
			if q.Root != "." && q.Root != root && dependsOn(dir, root, q.Root) && reach(q.Root) {
				return true
			}
		}
		return false
	}
	return reach(p.Root)
}

// manifests returns the files in which a project names others.
func manifests() []string {
	return []string{"go.mod", "package.json", "pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "Cargo.toml",
		"tsconfig.json", "Makefile", "pom.xml", "build.gradle"}
}

var packageName = lazyre.New(`(?m)^\s*name\s*=\s*["']([^"']+)["']`)

// dependsOn reports whether the project at root names the one at other: by the way to it, or by its name.
func dependsOn(dir, root, other string) bool {
	way, err := filepath.Rel(filepath.FromSlash(root), filepath.FromSlash(other))
	if err != nil {
		return true
	}
	names := []string{filepath.ToSlash(way)}
	if m := goModule.FindStringSubmatch(readText(dir, other, "go.mod")); m != nil {
		names = append(names, m[1])
	}
	var pkg struct{ Name string }
	if json.Unmarshal([]byte(readText(dir, other, "package.json")), &pkg) == nil && pkg.Name != "" {
		names = append(names, `"`+pkg.Name+`"`)
	}
	for _, file := range []string{"pyproject.toml", "Cargo.toml"} {
		if m := packageName.FindStringSubmatch(readText(dir, other, file)); m != nil {
			names = append(names, `"`+m[1], `'`+m[1], "\n"+m[1])
		}
	}
	for _, file := range manifests() {
		text := "\n" + readText(dir, root, file)
		if slices.ContainsFunc(names, func(n string) bool { return strings.Contains(text, n) }) {
			return true
		}
	}
	return false
}
