package history

import (
	"slices"
	"strings"

	"github.com/runplan/runplan/knowledge/outline"
)

// sound tells whether an outlined file may be shown.
func (s *source) sound() bool { return !s.broken && s.skip == "" && !*s.secret }

// declares returns the names that a file of Go may declare for others, and maybe more: by its lines, without parsing it. For
// other languages it returns nil.
func (s *source) declares() []string {
	if s.declared != nil || s.language != outline.Go {
		return s.declared
	}
	s.declared = []string{}
	block := false // between var ( and its end
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

// declare takes the names that a line begins with: a, b = 1, 2
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

// identifier cuts a name off the beginning of a text.
func identifier(text string) (name, rest string) {
	for i := range len(text) {
		if !isWord(text[i]) && text[i] < 0x80 {
			return text[:i], text[i:]
		}
	}
	return text, ""
}
