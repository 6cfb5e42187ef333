package patterns

import (
	"bytes"
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// languages maps file name extensions to ast-grep's languages.
var languages = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	for language, extensions := range map[string]string{
		"python": "py pyi py3 bzl", "typescript": "ts mts cts", "tsx": "tsx", "javascript": "js mjs cjs jsx", "go": "go",
		"bash": "sh bash bats ksh zsh cgi command env fcgi tmux tool", "java": "java", "c": "c h",
		"cpp": "cc hpp cpp c++ hh cxx cu ino", "csharp": "cs", "css": "css scss", "dart": "dart", "elixir": "ex exs",
		"haskell": "hs", "hcl": "hcl tf tfvars", "html": "html htm xhtml", "json": "json", "kotlin": "kt ktm kts",
		"lua": "lua", "markdown": "md markdown", "nix": "nix", "php": "php", "ruby": "rb rbw gemspec", "rust": "rs",
		"scala": "scala sc sbt", "solidity": "sol", "swift": "swift", "yaml": "yml yaml",
	} {
		for _, e := range strings.Fields(extensions) {
			out[e] = language
		}
	}
	return out
})

// languageOf returns ast-grep's language for a file name, "" if it has none.
func languageOf(name string) string {
	return languages()[strings.TrimPrefix(strings.ToLower(path.Ext(name)), ".")]
}

// Canonical returns the one name that runplan uses for a language of a rule.
func Canonical(language string) string {
	l := strings.ToLower(language)
	switch l {
	case "c++", "cc":
		return "cpp"
	case "c#", "cs":
		return "csharp"
	}
	return cmp.Or(languageOf("x."+l), l)
}

// interpreter returns the language that the first line of a script names.
func interpreter(text []byte) string {
	line, _, _ := bytes.Cut(text[:min(len(text), 200)], []byte("\n"))
	m := regexp.MustCompile(`^#!\s*\S*?(?:/env\s+(?:-\S+\s+)*)?/?(bash|sh|dash|ksh|zsh|python|node)[\d.]*(?:\s|$)`).FindSubmatch(line)
	if m == nil {
		return ""
	}
	switch string(m[1]) {
	case "python":
		return "python"
	case "node":
		return "javascript"
	}
	return "bash"
}

// isProse reports whether a file name indicates text or data without a language in ast-grep.
// TestAstGrepIgnoresProseFiles checks this with ast-grep.
func isProse(name string) bool {
	return slices.Contains([]string{".txt", ".log", ".csv", ".tsv", ".rst", ".adoc", ".toml", ".ini", ".cfg", ".sum",
		".mod", ".lock", ".golden", ".png", ".jpg", ".gif", ".ico", ".pdf"}, strings.ToLower(path.Ext(name)))
}
