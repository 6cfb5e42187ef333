package lessons

import (
	"bytes"
	"path"
	"strings"

	"github.com/runplan/runplan/internal/language"
)

// foreignName returns why a folder with this name contains no code of the project; "" if it may.
func foreignName(name string) string {
	if language.Vendored(name) {
		return "dependencies"
	}
	switch name {
	case ".git", ".hg", ".svn", ".jj":
		return "version control"
	case "__pycache__", ".tox", ".nox", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".gradle", ".next", ".nuxt",
		".terraform", ".cache":
		return "cache"
	}
	return ""
}

// foreign returns the outermost folder of a path that contains no code of the project.
func foreign(file string) (folder, why string) {
	for at := 0; ; {
		i := strings.IndexByte(file[at:], '/')
		if i < 0 {
			return "", ""
		}
		if why := foreignName(path.Base(file[:at+i])); why != "" {
			return file[:at+i], why
		}
		at += i + 1
	}
}

// notText returns why the content of a file is not checked.
func notText(text []byte) string {
	switch {
	case bytes.HasPrefix(text, []byte{0xFF, 0xFE}), bytes.HasPrefix(text, []byte{0xFE, 0xFF}):
		return "UTF-16 text, which is not read"
	case bytes.IndexByte(text[:min(len(text), 8<<10)], 0) >= 0:
		return "binary"
	}
	return ""
}

// generated reports whether the first lines of a file say that a program wrote it.
func generated(text []byte) bool {
	head := text[:min(len(text), 2<<10)]
	for line := range bytes.Lines(head) {
		if bytes.Contains(line, []byte("@generated")) ||
			bytes.Contains(line, []byte("Code generated")) && bytes.Contains(line, []byte("DO NOT EDIT")) {
			return true
		}
	}
	return false
}
