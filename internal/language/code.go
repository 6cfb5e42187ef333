package language

import (
	"path"
	"slices"
	"strings"
)

// IsCode reports whether a file is source code, by the end of its slash-separated path. Prose, data, settings and
// minified scripts are not.
func IsCode(p string) bool {
	p = strings.ToLower(p)
	switch path.Ext(p) {
	case ".go", ".py", ".pyi", ".pyx", ".js", ".cjs", ".mjs", ".jsx", ".ts", ".cts", ".mts", ".tsx", ".vue", ".svelte",
		".rs", ".rb", ".java", ".kt", ".kts", ".scala", ".groovy", ".gradle", ".clj", ".c", ".h", ".cc", ".cpp", ".cxx",
		".hh", ".hpp", ".m", ".mm", ".cs", ".fs", ".vb", ".php", ".swift", ".dart", ".lua", ".pl", ".pm", ".r", ".jl",
		".ex", ".exs", ".erl", ".hs", ".ml", ".mli", ".elm", ".zig", ".nim", ".sh", ".bash", ".zsh", ".fish", ".ps1",
		".bats", ".sql", ".proto", ".graphql", ".scss", ".less", ".tf":
		return !strings.HasSuffix(p, ".min.js")
	}
	return false
}

// IsProse reports whether a file is for people to read: by the end of its path, or by a name such as LICENSE.
func IsProse(p string) bool {
	switch name, end := path.Base(p), strings.ToLower(path.Ext(p)); end {
	case ".md", ".mdx", ".markdown", ".rst", ".adoc", ".txt":
		return true
	case "":
		return len(name) > 3 && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-_") == ""
	}
	return false
}

// Built reports whether a slash-separated path is in a folder of build output that some projects commit.
func Built(p string) bool { return slices.Contains(strings.Split(path.Dir(p), "/"), "dist") }
