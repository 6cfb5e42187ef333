package briefing

import (
	"fmt"
	"strings"

	fences "github.com/runplan/runplan/internal/fence"
	"github.com/runplan/runplan/internal/phrase"
)

// oneLine keeps what stands outside of a fence to its line.
func oneLine(text string) string { return fences.Line(text) }

// hide takes out what looks like a secret. A brief is stored and shown, and may be sent away; an agent that needs what
// stands in a file can read the file.
func hide(text string) string { return fences.Hide(text) }

// clean takes from foreign text what a reader does not see and a model does.
func clean(text string) string { return fences.Clean(text) }

// fence puts foreign text into a fence that it cannot close, so that nothing in it passes for a directive.
func fence(b *strings.Builder, text string) { b.WriteString(fences.Foreign("", text)) }

// fencePlan does so with what the user wrote for the agent, as it is.
func fencePlan(b *strings.Builder, text string) { b.WriteString(fences.Around("", clean(text))) }

// name is a path, a number or a glob in the middle of a sentence.
func name(text string) string {
	return "`" + phrase.Cut(strings.ReplaceAll(oneLine(text), "`", "'"), 160) + "`"
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

func short(hash string) string { return hash[:min(len(hash), 10)] }
