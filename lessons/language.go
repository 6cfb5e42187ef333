package lessons

import (
	"bytes"
	"cmp"
	_ "embed"
	"maps"
	"path"
	"slices"
	"strings"
)

// All is the language of lessons that are about every text file.
const All = "all"

// table has a line for each language that lessons can name: the name, and the endings, the whole names and the programs
// of a first line #! by which its files are recognized.
//
//go:embed languages.txt
var table string

// Languages lists the names that lessons can use, besides [All].
func Languages() []string { return slices.Compact(slices.Sorted(maps.Values(newDetector()))) }

// detector has the languages of files by "*.py", "Makefile" and "#!python".
type detector map[string]string

func newDetector() detector {
	d := detector{}
	for line := range strings.Lines(table) {
		words := strings.Fields(line)
		for _, word := range words[1:] {
			d[word] = words[0]
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
