package lessons

import "bytes"

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
