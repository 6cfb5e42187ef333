// Package testcode reads tests from source files: the tests of a file, their assertions, and what turns them off.
//
// The readers are small and know no types. Go code is parsed; code of other languages is read by brackets, indentation
// and keywords. No code is run.
package testcode

import (
	"strconv"
	"strings"

	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
)

// Unit is a test, as read from its text.
type Unit struct {
	Name    string
	Line    int
	Asserts int // that can fail
	Trivial int // that cannot
	Skips   int
	Only    int
	Loops   int
	Empty   bool
	Hollow  bool     // nothing in it could fail: it calls nothing but loggers and skips
	Mute    bool     // assertions of its language are known, so a missing assertion is meaningful
	Opaque  bool     // its text could not be read, only its name
	Lines   []string // of its body, without comments, local names and white space
	Text    string   // its body as written in the file
}

// Bare returns the name without the class or group around it.
func (u Unit) Bare() string {
	if i := strings.LastIndex(u.Name, GroupMark); i >= 0 {
		return u.Name[i+len(GroupMark):]
	}
	return u.Name
}

// GroupMark separates the name of a group from that of a test in it.
const GroupMark = " › "

// Forgives ends the description of a hook in [Sheet.Disabled] that sets the result of a test.
const Forgives = " sets the result of a test"

// Sheet is the content of a test file.
type Sheet struct {
	Units    []Unit
	Disabled map[string]int // code that turns off the file or the runner, with its line
	Opaque   bool           // an unreadable test file
}

// Find returns the test of that name.
func (s Sheet) Find(name string) (Unit, bool) {
	return lists.Find(s.Units, func(u Unit) bool { return u.Name == name })
}

func (s *Sheet) disable(line int, what string) {
	if s.Disabled == nil {
		s.Disabled = map[string]int{}
	}
	if _, ok := s.Disabled[what]; !ok {
		s.Disabled[what] = line
	}
}

// add makes names unique: the second test with a name is called "name #2".
func (s *Sheet) add(u Unit) {
	name := u.Name
	for n := 2; ; n++ {
		if _, taken := s.Find(u.Name); !taken {
			break
		}
		u.Name = name + " #" + strconv.Itoa(n)
	}
	s.Units = append(s.Units, u)
}

// maxUnits limits the work on a hostile file.
const maxUnits = 5000

// Read reads the tests of a file.
func Read(path, text string) Sheet {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if text == "" {
		return Sheet{}
	}
	switch language.OfTest(path) {
	case language.Go:
		return readGo(text)
	case language.Python:
		return readPython(text)
	case language.Node:
		return readNode(text)
	case language.Bats:
		return readBats(text)
	case language.Shell:
		return readShell(path, text)
	case language.Script:
		return readScript(path, text)
	case language.Rust:
		return readRust(text)
	case language.Java:
		return readJava(text)
	case language.Other:
		return Sheet{Opaque: true}
	}
	return Sheet{}
}

// LineAt counts lines from 1.
func LineAt(text string, at int) int { return 1 + strings.Count(text[:min(at, len(text))], "\n") }

// squeeze returns the lines of a text with normalized white space. It omits blank lines and lines with only brackets.
func squeeze(text string) []string {
	var out []string
	for l := range strings.Lines(text) {
		if l = phrase.Line(l); l != "" && strings.Trim(l, "{}();,") != "" {
			out = append(out, l)
		}
	}
	return out
}

// Mask blanks out comments and the contents of strings, so only code remains. Length and lines do not change.
func Mask(text, lang string) string {
	out := []byte(text)
	for _, p := range language.Parts(text, lang) {
		if p.Comment {
			language.Blank(out, p.Start, p.End)
		} else {
			language.Blank(out, p.From, p.To)
		}
	}
	return string(out)
}

// Until returns the first position of end in text at or after from, or the length of text.
func Until(text string, from int, end string) int {
	if k := strings.Index(text[from:], end); k >= 0 {
		return from + k
	}
	return len(text)
}

// Closing finds the end of a string that begins at from. The end of the line ends all strings except templates.
func Closing(text string, from int, quote byte) int {
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

// Matching finds the bracket that closes the one at open in masked text; len(text) if there is none.
func Matching(text string, open int) int {
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
