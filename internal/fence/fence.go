// Package fence puts external text into a prompt so that nothing in it looks like an instruction. It removes invisible
// characters, hides secrets, and adds a fence that the text cannot close.
package fence

import (
	"strings"
	"sync"

	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/redact"
)

// Around puts a text into a fence that the text cannot close. It does not change the text; see [Clean] and [Hide]. The
// info, such as a language, is on the opening line.
func Around(info, text string) string {
	row := strings.Repeat("~", max(3, Longest(text, '~'))+1)
	return row + info + "\n" + text + "\n" + row + "\n"
}

// Longest returns the length of the longest row of mark in a text.
func Longest(text string, mark byte) int {
	longest, run := 0, 0
	for i := strings.IndexByte(text, mark); i >= 0 && i < len(text); i++ {
		if text[i] != mark {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

// Foreign cleans a text, hides probable secrets, and fences it.
func Foreign(info, text string) string { return Around(info, Hide(Clean(text))) }

// Line returns an external text that must stay on one line.
func Line(text string) string {
	text = Hide(Clean(text))
	if oneLine(text) {
		return text
	}
	return phrase.Line(text)
}

// oneLine reports whether a text is one line already, as most texts are: ASCII with single spaces.
func oneLine(text string) bool {
	space := true // before it
	for i := range len(text) {
		c := text[i]
		if c < ' ' || c >= 0x80 || c == ' ' && space {
			return false
		}
		space = c == ' '
	}
	return !space || text == ""
}

// Hide removes probable secrets. Call it before cutting a text, because half a key is not recognized.
func Hide(text string) string { return shapes().String(text) }

var shapes = sync.OnceValue(func() *redact.Redactor { return redact.New(nil) })

// Clean removes characters from external text that a reader does not see but a model does, see [redact.Hidden]. It
// turns line ends into line feeds.
func Clean(text string) string {
	if strings.Contains(text, "\r") {
		text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	}
	return redact.Clean(text)
}
