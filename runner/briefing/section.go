package briefing

import (
	"bytes"
	"strings"
)

// The marks around the section in an agent's own context file, such as CLAUDE.md or AGENTS.md. The second one says
// that the file had no line feed at its end, which must be restored.
const (
	markBegin  = "<!-- runplan:context begin -->"
	markJoined = "<!-- runplan:context begin, joined -->"
	markEnd    = "<!-- runplan:context end -->"
)

// Section returns a context file with the block as its section. It replaces the section of an earlier batch, so there
// is never more than one (CTX-10). The rest of the file does not change.
func Section(file []byte, block string) []byte {
	out := WithoutSection(file)
	begin := markBegin
	if len(out) > 0 && out[len(out)-1] != '\n' {
		out, begin = append(out, '\n'), markJoined
	}
	// What is quoted in the block may hold our marks.
	block = strings.ReplaceAll(block, "<!-- runplan:context", "<!-- runplan context")
	out = append(out, begin+"\n"+strings.TrimRight(block, "\n")+"\n"+markEnd+"\n"...)
	return out
}

// WithoutSection removes the section. It returns a copy, which is unchanged if there is no section.
func WithoutSection(file []byte) []byte {
	out := bytes.Clone(file)
	for {
		from, to, ok := section(out)
		if !ok {
			return out
		}
		out = append(out[:from:from], out[to:]...)
	}
}

// section finds a section: the first end mark after a start mark, and the last such start mark.
func section(file []byte) (from, to int, ok bool) {
	begin, joined := -1, false
	for at := 0; at < len(file); {
		line := file[at:]
		next := len(file)
		if i := bytes.IndexByte(line, '\n'); i >= 0 {
			line, next = line[:i], at+i+1
		}
		switch string(bytes.TrimSuffix(line, []byte("\r"))) {
		case markBegin:
			begin, joined = at, false
		case markJoined:
			begin, joined = at, true
		case markEnd:
			if begin < 0 {
				break
			}
			// user text below the section needs the line feed
			if joined && begin > 0 && next == len(file) {
				begin--
			}
			return begin, next, true
		}
		at = next
	}
	return 0, 0, false
}
