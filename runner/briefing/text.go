package briefing

import (
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/runplan/runplan/internal/redact"
)

// oneLine keeps what stands outside of a fence to its line.
func oneLine(text string) string { return strings.Join(strings.Fields(hide(clean(text))), " ") }

// hide takes out what looks like a secret, before anything is cut: half a key would not look like one. A brief is
// stored and shown, and may be sent away; an agent that needs what stands in a file can read the file.
func hide(text string) string { return shapes().String(text) }

var shapes = sync.OnceValue(func() *redact.Redactor { return redact.New(nil) })

// clean takes from foreign text what a reader does not see and a model does: control codes, marks that turn the
// direction of text, and the characters that only ever hide words. Line ends become line feeds.
func clean(text string) string {
	if strings.Contains(text, "\r") {
		text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	}
	return strings.Map(func(r rune) rune {
		if invisible(r) {
			return -1
		}
		return r
	}, redact.Clean(text))
}

func invisible(r rune) bool {
	return r == 0x200b || r >= 0x2060 && r <= 0x2064 || // zero width: joins words that look apart, or the other way round
		r >= 0xe0000 && r <= 0xe01ef // tags and rare variants: whole sentences can be written in them
}

// fence puts foreign text into a fence that it cannot close, so that nothing in it passes for a directive.
func fence(b *strings.Builder, text string) { enclose(b, hide(clean(text))) }

// fencePlan does so with what the user wrote for the agent, as it is.
func fencePlan(b *strings.Builder, text string) { enclose(b, clean(text)) }

func enclose(b *strings.Builder, text string) {
	longest, run := 3, 0
	for i := range len(text) {
		if text[i] != '~' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	ticks := strings.Repeat("~", longest+1)
	b.WriteString(ticks + "\n" + text + "\n" + ticks + "\n")
}

// cut shortens text to n characters.
func cut(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	if n < 1 {
		return ""
	}
	return string([]rune(text)[:n-1]) + "…"
}

// name is a path, a number or a glob in the middle of a sentence.
func name(text string) string {
	return "`" + cut(strings.ReplaceAll(oneLine(text), "`", "'"), 160) + "`"
}

// names lists at most n of them.
func names(list []string, n int) string {
	var out []string
	for _, t := range list[:min(n, len(list))] {
		out = append(out, name(t))
	}
	text := strings.Join(out, ", ")
	if more := len(list) - n; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// count says "1 line" or "2 lines".
func count(n int, of string) string {
	if n == 1 {
		return "1 " + of
	}
	return fmt.Sprintf("%d %ss", n, of)
}

func short(hash string) string { return hash[:min(len(hash), 10)] }
