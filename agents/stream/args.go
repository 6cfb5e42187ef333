package stream

import (
	"bytes"
	"encoding/json"
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
	var open []byte // open brackets
	inString, key := false, false
	state := byte('k') // in an object: k before a key, c before the colon, v before a value, a after it
	var states []byte
	end := 0 // the text can be closed after this position
	out := make([]byte, 0, len(line)+16)
	for i := 0; i < len(line); i++ {
		c := line[i]
		if inString {
			switch {
			case c == '\\':
				if i+1 >= len(line) {
					goto cut
				}
				n := 2
				if line[i+1] == 'u' {
					n = 6
				}
				if i+n > len(line) {
					goto cut
				}
				out = append(out, line[i:i+n]...)
				i += n - 1
			case c == '"':
				inString = false
				out = append(out, c)
				if key {
					state = 'c'
				} else {
					state, end = 'a', len(out)
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
			inString, key = true, len(open) > 0 && open[len(open)-1] == '}' && state == 'k'
		case '{', '[':
			states = append(states, state)
			open = append(open, c+2)
			state = 'v'
			if c == '{' {
				state = 'k'
			}
			end = len(out)
		case '}', ']':
			if len(open) == 0 || open[len(open)-1] != c {
				out = out[:end]
				goto close
			}
			open, states = open[:len(open)-1], states[:len(states)-1]
			state, end = 'a', len(out)
			if len(open) == 0 {
				goto close
			}
		case ':':
			state = 'v'
		case ',':
			state = 'v'
			if len(open) > 0 && open[len(open)-1] == '}' {
				state = 'k'
			}
		}
	}
cut:
	switch {
	case inString && !key:
		out = append(bytes.ToValidUTF8(out, nil), '"') // without a truncated character
	default:
		out = out[:end]
	}
close:
	for i := len(open) - 1; i >= 0; i-- {
		out = append(out, open[i])
	}
	if !json.Valid(out) {
		return []byte("{}")
	}
	return out
}
