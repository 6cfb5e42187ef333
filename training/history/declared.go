package history

import (
	"slices"
	"strings"

	"github.com/runplan/runplan/knowledge/outline"
)

// sound reports whether an outlined file may be shown.
func (s *source) sound() bool { return !s.broken && s.skip == "" && !*s.secret }

// declares returns a superset of the names that a file of Go or Python declares for others. It scans lines without
// parsing. For other languages it returns nil.
func (s *source) declares() []string {
	if s.declared != nil || s.language != outline.Go && s.language != outline.Python {
		return s.declared
	}
	if s.language == outline.Python {
		s.declared = pythonNames(s.text)
		return s.declared
	}
	s.declared = []string{}
	block := false // inside of var ( … )
	for line := range strings.Lines(s.text) {
		line = strings.TrimLeft(line, " \t")
		switch {
		case block && strings.HasPrefix(line, ")"):
			block = false
		case block:
			s.declare(line)
		case strings.HasPrefix(line, "func "):
			rest := line[len("func "):]
			if strings.HasPrefix(rest, "(") {
				_, rest, _ = strings.Cut(rest, ")")
			}
			name, _ := identifier(strings.TrimLeft(rest, " "))
			s.declared = append(s.declared, name)
		default:
			for _, word := range []string{"var", "const", "type"} {
				if rest, ok := strings.CutPrefix(line, word); ok {
					rest = strings.TrimLeft(rest, " \t")
					if block = strings.HasPrefix(rest, "("); block {
						rest = rest[1:]
					}
					s.declare(rest)
				}
			}
		}
	}
	s.declared = slices.DeleteFunc(s.declared, func(name string) bool { return name == "" })
	return s.declared
}

// declare collects the names at the start of a line such as a, b = 1, 2
func (s *source) declare(line string) {
	for {
		name, rest := identifier(line)
		s.declared = append(s.declared, name)
		next, more := strings.CutPrefix(strings.TrimLeft(rest, " \t"), ",")
		if !more {
			return
		}
		line = strings.TrimLeft(next, " \t")
	}
}

// identifier splits a leading name from a text.
func identifier(text string) (name, rest string) {
	for i := range len(text) {
		if !isWord(text[i]) && text[i] < 0x80 {
			return text[:i], text[i:]
		}
	}
	return text, ""
}

// pythonNames returns the names at the beginning of statements that may define one, in any block. A colon or a
// semicolon may begin a statement.
func pythonNames(text string) []string {
	out := []string{}
	for line := range strings.Lines(text) {
		for part := range strings.FieldsFuncSeq(line, func(r rune) bool { return r == ':' || r == ';' }) {
			part = strings.TrimPrefix(strings.TrimLeft(part, " \t\f"), "async ")
			for _, word := range []string{"def ", "class ", "type "} {
				if rest, ok := strings.CutPrefix(part, word); ok {
					part = strings.TrimLeft(rest, " \t")
					break
				}
			}
			if name, _ := identifier(part); name != "" {
				out = append(out, name)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
