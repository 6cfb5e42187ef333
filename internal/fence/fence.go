// Package fence puts text of others into a prompt so that nothing in it passes for a directive: what nobody sees and a
// model reads is taken out, what looks like a secret is hidden, and the fence around it cannot be closed from inside.
package fence

import (
	"strings"
	"sync"

	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/redact"
)

// Around puts a text into a fence that it cannot close. It stays as it is; see [Clean] and [Hide]. The info, such as a
// language, stands on the opening line.
func Around(info, text string) string {
	longest, run := 3, 0
	at := strings.IndexByte(text, '~')
	if at < 0 {
		at = len(text)
	}
	for i := at; i < len(text); i++ {
		if text[i] != '~' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	row := strings.Repeat("~", longest+1)
	return row + info + "\n" + text + "\n" + row + "\n"
}

// Foreign cleans a text, hides what looks like a secret, and fences it.
func Foreign(info, text string) string { return Around(info, Hide(Clean(text))) }

// Line is a text of others that has to stay on the line where it is put.
func Line(text string) string {
	text = Hide(Clean(text))
	if oneLine(text) {
		return text
	}
	return phrase.Line(text)
}

// oneLine tells what is on one line already, as most texts are: in ASCII, and with single spaces alone.
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

// Hide takes out what looks like a secret. It comes before anything is cut: half a key would not look like one.
func Hide(text string) string { return shapes().String(text) }

var shapes = sync.OnceValue(func() *redact.Redactor { return redact.New(nil) })

// Clean removes from foreign text what a reader does not see and a model does, see [redact.Hidden]. Line ends become line
// feeds.
func Clean(text string) string {
	if strings.Contains(text, "\r") {
		text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	}
	return redact.Clean(text)
}
