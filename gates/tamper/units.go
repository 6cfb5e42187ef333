package tamper

import (
	"strconv"
	"strings"
)

// unit is a test, as far as it can be told from its text.
type unit struct {
	name    string
	line    int
	asserts int // that can fail
	trivial int // that cannot
	skips   int
	only    int
	loops   int
	empty   bool
	hollow  bool     // nothing in it could fail: it calls nothing but loggers and skips
	mute    bool     // it is known how its language asserts, so that having no assertion says something
	opaque  bool     // its text could not be read, only its name
	lines   []string // of its body, without comments, names of its own and white space
}

// bare is the name without the class or group around it.
func (u unit) bare() string {
	if i := strings.LastIndex(u.name, groupMark); i >= 0 {
		return u.name[i+len(groupMark):]
	}
	return u.name
}

// groupMark stands between the name of a group and that of a test in it.
const groupMark = " › "

// sheet is what a file of tests holds.
type sheet struct {
	units    []unit
	disabled map[string]int // what turns off the file or the runner, with its line
	opaque   bool           // a file of tests that cannot be read
}

func (s sheet) find(name string) (unit, bool) {
	for _, u := range s.units {
		if u.name == name {
			return u, true
		}
	}
	return unit{}, false
}

func (s *sheet) disable(line int, what string) {
	if s.disabled == nil {
		s.disabled = map[string]int{}
	}
	if _, ok := s.disabled[what]; !ok {
		s.disabled[what] = line
	}
}

// add keeps names apart: the second test of a name is called "name #2".
func (s *sheet) add(u unit) {
	name := u.name
	for n := 2; ; n++ {
		if _, taken := s.find(u.name); !taken {
			break
		}
		u.name = name + " #" + strconv.Itoa(n)
	}
	s.units = append(s.units, u)
}

// maxUnits bounds the work on a file that somebody made to be slow.
const maxUnits = 5000

// read reads the tests of a file.
func read(path, text string) sheet {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if text == "" {
		return sheet{}
	}
	switch language(path) {
	case langGo:
		return readGo(text)
	case langPython:
		return readPython(text)
	case langNode:
		return readNode(text)
	case langBats:
		return readBats(text)
	case langShell:
		return readShell(path, text)
	case langScript:
		return readScript(path, text)
	case langRust:
		return readRust(text)
	case langJava:
		return readJava(text)
	case langOther:
		return sheet{opaque: true}
	}
	return sheet{}
}

// lineAt counts lines from 1.
func lineAt(text string, at int) int { return 1 + strings.Count(text[:min(at, len(text))], "\n") }

// squeeze returns the lines of a text that say something.
func squeeze(text string) []string {
	var out []string
	for l := range strings.Lines(text) {
		if l = strings.Join(strings.Fields(l), " "); l != "" && strings.Trim(l, "{}();,") != "" {
			out = append(out, l)
		}
	}
	return out
}

// mask blanks out comments and the insides of strings, so that what remains is code. Length and lines stay.
// Languages with braces only.
func mask(text string, rust bool) string {
	out := []byte(text)
	blank := func(from, to int) {
		for i := from; i < to && i < len(out); i++ {
			if out[i] != '\n' {
				out[i] = ' '
			}
		}
	}
	last := byte('(') // the last byte of code, to tell a division from a regular expression
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case strings.HasPrefix(text[i:], "//"):
			end := until(text, i, "\n")
			blank(i, end)
			i = end
			continue
		case strings.HasPrefix(text[i:], "/*"):
			end := len(text)
			if k := strings.Index(text[i+2:], "*/"); k >= 0 {
				end = i + 2 + k + 2
			}
			blank(i, end)
			i = end
			continue
		case c == '\'' && rust && !(i+2 < len(text) && (text[i+1] == '\\' || text[i+2] == '\'')):
			// a lifetime
		case c == '"' || c == '\'' || c == '`':
			end := closing(text, i, c)
			blank(i+1, end)
			i = end + 1
			last = '"'
			continue
		case c == '/' && strings.IndexByte("(,=:[!&|?{};+\n", last) >= 0 && !rust:
			if end := closing(text, i, '/'); end < len(text) && text[end] == '/' {
				blank(i+1, end)
				i = end + 1
				last = '"'
				continue
			}
		}
		if c != ' ' && c != '\t' && c != '\n' {
			last = c
		}
		i++
	}
	return string(out)
}

func until(text string, from int, end string) int {
	if k := strings.Index(text[from:], end); k >= 0 {
		return from + k
	}
	return len(text)
}

// closing finds the end of a string that begins at from; of all but templates, the end of the line is one too.
func closing(text string, from int, quote byte) int {
	for i := from + 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case quote:
			return i
		case '\n':
			if quote != '`' {
				return i
			}
		}
	}
	return len(text)
}

// matching finds the bracket that closes the one at open in masked text; len(text) if there is none.
func matching(text string, open int) int {
	depth := 0
	for i := open; i < len(text); i++ {
		switch text[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(text)
}
