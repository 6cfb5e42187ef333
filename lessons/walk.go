package lessons

import (
	"bytes"
	"slices"
)

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
	return slices.ContainsFunc(bytes.Split(head, []byte("\n")), func(line []byte) bool {
		return bytes.Contains(line, []byte("@generated")) ||
			bytes.Contains(line, []byte("Code generated")) && bytes.Contains(line, []byte("DO NOT EDIT"))
	})
}
