package summary

import (
	"encoding/json"
	"io/fs"
	"path"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/runplan/runplan/internal/lists"
)

// Own returns the name prefixes of a project's own packages, sorted: its Go module, the name in package.json, and the
// Python packages at its root or in src.
func Own(tree fs.FS) []string {
	var out []string
	add := func(name string) {
		if name != "" {
			out = append(out, name)
		}
	}
	if text, err := fs.ReadFile(tree, "go.mod"); err == nil {
		add(modfile.ModulePath(text))
	}
	if text, err := fs.ReadFile(tree, "package.json"); err == nil {
		var p struct {
			Name string `json:"name"`
		}
		if json.Unmarshal(text, &p) == nil {
			add(p.Name)
			if scope, _, ok := strings.Cut(p.Name, "/"); ok && strings.HasPrefix(scope, "@") {
				add(scope)
			}
		}
		add("@")
	}
	for _, dir := range []string{".", "src"} {
		entries, err := fs.ReadDir(tree, dir)
		if err != nil {
			continue
		}
		for _, e := range entries {
			name := e.Name()
			switch {
			case strings.HasPrefix(name, ".") || name == "tests" || name == "test":
			case e.IsDir():
				if files, err := fs.Glob(tree, path.Join(dir, name, "*.py")); err == nil && len(files) > 0 {
					add(name)
				}
			case strings.HasSuffix(name, ".py"):
				add(strings.TrimSuffix(name, ".py"))
			}
		}
	}
	return lists.Unique(out)
}

// Folder returns the folder of a package of Go whose name begins with one of the prefixes of [Own], or "" for a package of
// others. The folder of the module itself is ".".
func Folder(own []string, name string) string {
	for _, module := range own {
		if rest, ok := strings.CutPrefix(name+"/", module+"/"); ok {
			return path.Clean(rest)
		}
	}
	return ""
}
