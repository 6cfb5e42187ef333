package stream

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/phrase"
)

// shortArgs returns the most important argument of a tool, in one line.
func shortArgs(raw json.RawMessage) string {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) == nil {
		for _, key := range []string{"command", "cmd", "file_path", "filePath", "path", "absolute_path", "pattern", "query",
			"url", "prompt", "description"} {
			if v, ok := m[key]; ok {
				if s := plain(v); s != "" {
					return phrase.CutBytes(phrase.Line(s), 160)
				}
			}
		}
	}
	var b bytes.Buffer
	if len(raw) == 0 || json.Compact(&b, raw) != nil || b.String() == "{}" || b.String() == "null" {
		return ""
	}
	return phrase.CutBytes(phrase.Line(b.String()), 160)
}

// plain returns a JSON string, or a list of strings as some CLIs report a command.
func plain(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var list []string
	if json.Unmarshal(raw, &list) == nil {
		return strings.Join(list, " ")
	}
	return ""
}

// mend completes a truncated JSON object. It closes open brackets, sets missing values to null, and keeps the
// beginning of a truncated string.
func mend(line []byte) []byte {
	var open []byte // the brackets that close the open ones
	inString, key, keyNext := false, false, false
	end := 0 // the text can be closed after this position
	out := make([]byte, 0, len(line)+16)
scan:
	for i := 0; i < len(line); i++ {
		c := line[i]
		if inString {
			switch {
			case c == '\\':
				n := 2
				if bytes.HasPrefix(line[i:], []byte(`\u`)) {
					n = 6
				}
				if i+n > len(line) {
					break scan
				}
				out = append(out, line[i:i+n]...)
				i += n - 1
			case c == '"':
				inString, keyNext = false, false
				out = append(out, c)
				if !key {
					end = len(out)
				}
			case c < 0x20: // not allowed here; the line is damaged
				out = append(out, ' ')
			default:
				out = append(out, c)
			}
			continue
		}
		out = append(out, c)
		switch c {
		case '"':
			inString, key = true, keyNext
		case '{', '[':
			open = append(open, c+2)
			keyNext, end = c == '{', len(out)
		case '}', ']':
			if !bytes.HasSuffix(open, []byte{c}) {
				break scan
			}
			open = open[:len(open)-1]
			keyNext, end = false, len(out)
			if len(open) == 0 {
				break scan
			}
		case ':':
			keyNext = false
		case ',':
			keyNext = bytes.HasSuffix(open, []byte("}"))
		}
	}
	if inString && !key {
		out = append(bytes.ToValidUTF8(out, nil), '"') // without a truncated character
	} else {
		out = out[:end]
	}
	slices.Reverse(open)
	if out = append(out, open...); !json.Valid(out) {
		return []byte("{}")
	}
	return out
}
