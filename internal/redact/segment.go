package redact

import (
	"bytes"
	"strings"
)

// A text is redacted in segments of whole lines. Lines of one private key, or of one base64 run, belong to the same
// segment. So a text that arrives in pieces is redacted like a complete one.
const (
	maxSegment = 1 << 20  // a longer line is cut
	lookBehind = 4 << 10  // overlap at a cut, to find secrets across it
	maxKey     = 16 << 10 // of a private key without an end
	maxKeyRows = 150
)

// Cut returns how many bytes of b, which is the beginning of a text, can be redacted without the rest: the complete
// segments, without an incomplete line. Redacting the parts gives the same result as redacting the whole.
func Cut(b []byte) int {
	if len(b) < maxSegment && bytes.IndexByte(b, '\n') < 0 {
		return 0
	}
	text := string(b)
	at := 0
	for {
		n := segment(text[at:], false)
		if n == 0 {
			return at
		}
		at += n
	}
}

// segment returns the length of the first segment of s, 0 if it has not ended. The last segment ends with the text.
func segment(s string, last bool) int {
	key, rows := -1, 0 // where a private key began
	at := 0
	for {
		i := strings.IndexByte(s[at:], '\n')
		if i < 0 || at+i >= maxSegment {
			if len(s) >= maxSegment+lookBehind || i >= 0 && at+i >= maxSegment {
				return cutLong(s)
			}
			if last {
				return len(s)
			}
			return 0
		}
		line := s[at : at+i]
		at += i + 1
		if key < 0 {
			if strings.Contains(line, "PRIVATE KEY") && opensKey(line) {
				key, rows = at, 0
				continue
			}
		} else {
			if rows++; rows < maxKeyRows && at-key < maxKey && !strings.Contains(line, "-----END ") {
				continue
			}
			key = -1
		}
		if !goesOn(line) {
			return at
		}
	}
}

// opensKey reports whether a private key begins in a line and does not end in it.
func opensKey(line string) bool {
	begin := strings.LastIndex(line, "-----BEGIN ")
	return begin >= 0 && strings.Contains(line[begin:], "PRIVATE KEY") && !strings.Contains(line[begin:], "-----END ")
}

// goesOn reports whether a line ends in base64 that may continue in the next one.
func goesOn(line string) bool {
	line = strings.TrimSuffix(line, "\r")
	if len(line) < wrapped {
		return false
	}
	for i := len(line) - wrapped; i < len(line); i++ {
		if sextets[line[i]] == 0xff {
			return false
		}
	}
	return true
}

// cutLong returns the position at which to cut a segment that is too long: outside of any secret.
func cutLong(s string) int {
	cut := maxSegment
	if i := strings.LastIndexAny(s[maxSegment-64<<10:maxSegment], " \t\n\"',;<>"); i >= 0 {
		cut = maxSegment - 64<<10 + i + 1
	}
	low := cut - lookBehind
	for _, m := range Find(s[low:min(cut+lookBehind, len(s))]) {
		if low+m.Context < cut && cut < low+m.To && m.Value != "" && m.Context > 0 {
			return low + m.Context
		}
	}
	return cut
}
