package planparse

import (
	"bytes"
	"strings"
)

// frontMatter is the YAML block between "---" lines at the top of a file.
type frontMatter struct {
	text []byte // without the "---" lines
	line int    // line of the first line of text
	end  int    // offset of the text after it; without front matter, the length of a byte order mark
}

func cutFrontMatter(src []byte) frontMatter {
	start := 0
	if bytes.HasPrefix(src, []byte("\uFEFF")) {
		start = 3
	}
	none := frontMatter{end: start}
	first, rest, ok := bytes.Cut(src[start:], []byte{'\n'})
	if !ok || string(bytes.TrimRight(first, " \t\r")) != "---" {
		return none
	}
	begin := len(src) - len(rest)
	for at := begin; at < len(src); {
		line := src[at:]
		if n := bytes.IndexByte(line, '\n'); n >= 0 {
			line = line[:n+1]
		}
		if s := string(bytes.TrimRight(line, " \t\r\n")); s == "---" || s == "..." {
			return frontMatter{text: src[begin:at], line: 2, end: at + len(line)}
		} else if strings.HasPrefix(s, "#") && !strings.HasPrefix(s, "# ") &&
			strings.HasPrefix(strings.TrimLeft(s, "#"), " ") {
			return none // a heading: the "---" was a rule
		}
		at += len(line)
	}
	return none
}

// each calls f with the top-level "key: value" lines of the front matter.
func (m frontMatter) each(f func(line int, key, value string)) {
	line := m.line
	for text := range bytes.Lines(m.text) {
		if len(text) > 0 && text[0] != ' ' && text[0] != '\t' && text[0] != '#' && text[0] != '-' {
			if key, value, ok := strings.Cut(string(text), ":"); ok {
				f(line, metaKey(key), yamlScalar(value))
			}
		}
		line++
	}
}

// value returns the last value of a key that is not empty, with its line.
func (m frontMatter) value(key string) (value string, line int) {
	m.each(func(n int, k, v string) {
		if k == key && v != "" {
			value, line = v, n
		}
	})
	return value, line
}

// yamlScalar removes quotes and a trailing comment from a value.
func yamlScalar(value string) string {
	value = strings.TrimSpace(value)
	if len(value) > 1 && (value[0] == '"' || value[0] == '\'') {
		if end := strings.LastIndexByte(value, value[0]); end > 0 {
			return value[1:end]
		}
	}
	if i := strings.Index(value, " #"); i >= 0 {
		value = strings.TrimSpace(value[:i])
	}
	return value
}
