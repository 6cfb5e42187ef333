package lessons

import (
	"bytes"
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"
)

// All is the language of lessons that are about every text file.
const All = "all"

// kind describes how files of a language are recognised.
type kind struct {
	extensions string   // separated by spaces, without the dot
	names      string   // whole file names
	shebangs   []string // programs of a first line #!
}

// languages returns the table of those that lessons can name.
func languages() map[string]kind {
	return map[string]kind{
		"python":     {"py pyi pyw", "SConstruct SConscript", []string{"python", "pypy"}},
		"javascript": {"js jsx mjs cjs", "", []string{"node", "nodejs", "bun", "deno"}},
		"typescript": {"ts tsx mts cts", "", []string{"ts-node", "tsx"}},
		"shell": {"sh bash zsh ksh bats", ".bashrc .bash_profile .profile .zshrc",
			[]string{"sh", "bash", "zsh", "dash", "ksh", "bats"}},
		"go":         {"go", "", nil},
		"rust":       {"rs", "", nil},
		"java":       {"java", "", nil},
		"kotlin":     {"kt kts", "", nil},
		"swift":      {"swift", "", nil},
		"csharp":     {"cs", "", nil},
		"ruby":       {"rb rake gemspec", "Rakefile Gemfile", []string{"ruby"}},
		"php":        {"php", "", []string{"php"}},
		"perl":       {"pl pm", "", []string{"perl"}},
		"lua":        {"lua", "", []string{"lua"}},
		"c":          {"c h", "", nil},
		"cpp":        {"cpp cc cxx hpp hh hxx", "", nil},
		"sql":        {"sql", "", nil},
		"html":       {"html htm vue svelte", "", nil},
		"css":        {"css scss less", "", nil},
		"json":       {"json jsonc json5", "", nil},
		"yaml":       {"yaml yml", "", nil},
		"toml":       {"toml", "", nil},
		"terraform":  {"tf tfvars hcl", "", nil},
		"markdown":   {"md markdown", "", nil},
		"dockerfile": {"dockerfile", "Dockerfile Containerfile", nil},
		"make":       {"mk", "Makefile makefile GNUmakefile", []string{"make"}},
		"systemd":    {"service socket timer path mount target", "", nil},
		"env":        {"env", ".env .envrc", nil},
	}
}

// Languages lists the names that lessons can use, besides [All].
func Languages() []string { return slices.Sorted(maps.Keys(languages())) }

// detector has the languages of files by "*.py", "Makefile" and "#!python".
type detector map[string]string

func newDetector() detector {
	d := detector{}
	for lang, by := range languages() {
		for _, e := range strings.Fields(by.extensions) {
			d["*."+e] = lang
		}
		for _, n := range strings.Fields(by.names) {
			d[n] = lang
		}
		for _, s := range by.shebangs {
			d["#!"+s] = lang
		}
	}
	return d
}

// byName detects the language from a path; "" if the path does not show it.
func (d detector) byName(file string) string {
	base := path.Base(file)
	if lang, ok := d[base]; ok {
		return lang
	}
	switch {
	case strings.HasPrefix(base, ".env."):
		return "env"
	case strings.HasPrefix(base, "Dockerfile."):
		return "dockerfile"
	}
	return cmp.Or(d["*"+path.Ext(base)], d["*"+strings.ToLower(path.Ext(base))])
}

// byShebang detects the language by a first line such as #!/usr/bin/env -S bash -eu.
func (d detector) byShebang(src []byte) string {
	if !bytes.HasPrefix(src, []byte("#!")) {
		return ""
	}
	line, _, _ := bytes.Cut(src[2:min(len(src), 256)], []byte("\n"))
	for i, word := range strings.Fields(string(line)) {
		program := path.Base(word)
		if program == "env" || i > 0 && (strings.HasPrefix(word, "-") || strings.Contains(word, "=")) {
			continue
		}
		return cmp.Or(d["#!"+program], d["#!"+strings.TrimRight(program, "0123456789.")])
	}
	return ""
}
