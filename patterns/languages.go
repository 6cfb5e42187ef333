package patterns

import (
	"bytes"
	"cmp"
	"path"
	"regexp"
	"strings"
)

// languageOf returns ast-grep's language for a file name, "" if it has none.
func languageOf(name string) string {
	switch strings.TrimPrefix(strings.ToLower(path.Ext(name)), ".") {
	case "py", "pyi", "py3", "bzl":
		return "python"
	case "ts", "mts", "cts":
		return "typescript"
	case "tsx":
		return "tsx"
	case "js", "mjs", "cjs", "jsx":
		return "javascript"
	case "go":
		return "go"
	case "sh", "bash", "bats", "ksh", "zsh", "cgi", "command", "env", "fcgi", "tmux", "tool":
		return "bash"
	case "java":
		return "java"
	case "c", "h":
		return "c"
	case "cc", "hpp", "cpp", "c++", "hh", "cxx", "cu", "ino":
		return "cpp"
	case "cs":
		return "csharp"
	case "css", "scss":
		return "css"
	case "dart":
		return "dart"
	case "ex", "exs":
		return "elixir"
	case "hs":
		return "haskell"
	case "hcl", "tf", "tfvars":
		return "hcl"
	case "html", "htm", "xhtml":
		return "html"
	case "json":
		return "json"
	case "kt", "ktm", "kts":
		return "kotlin"
	case "lua":
		return "lua"
	case "md", "markdown":
		return "markdown"
	case "nix":
		return "nix"
	case "php":
		return "php"
	case "rb", "rbw", "gemspec":
		return "ruby"
	case "rs":
		return "rust"
	case "scala", "sc", "sbt":
		return "scala"
	case "sol":
		return "solidity"
	case "swift":
		return "swift"
	case "yml", "yaml":
		return "yaml"
	}
	return ""
}

// canonical returns the one name that is used here for a language of a rule.
func canonical(language string) string {
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
	switch strings.ToLower(path.Ext(name)) {
	case ".txt", ".log", ".csv", ".tsv", ".rst", ".adoc", ".toml", ".ini", ".cfg", ".sum", ".mod", ".lock", ".golden",
		".png", ".jpg", ".gif", ".ico", ".pdf":
		return true
	}
	return false
}
