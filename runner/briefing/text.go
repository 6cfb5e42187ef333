package briefing

import (
	"slices"
	"strings"

	fences "github.com/runplan/runplan/internal/fence"
	"github.com/runplan/runplan/internal/phrase"
)

// oneLine puts text outside of a fence on one line.
func oneLine(text string) string { return fences.Line(text) }

// hide removes probable secrets. A brief is stored and shown, and may be sent to a provider; an agent that needs the
// content of a file can read the file.
func hide(text string) string { return fences.Hide(text) }

// clean removes characters from foreign text that readers do not see but models do.
func clean(text string) string { return fences.Clean(text) }

// fence puts foreign text into a fence that it cannot close, so that nothing in it passes for a directive.
func fence(b *strings.Builder, text string) { b.WriteString(fences.Foreign("", text)) }

// fencePlan fences the user's text for the agent without changing it.
func fencePlan(b *strings.Builder, text string) { b.WriteString(fences.Around("", clean(text))) }

// name is a path, a number or a glob in the middle of a sentence.
func name(text string) string {
	return "`" + phrase.Cut(strings.ReplaceAll(oneLine(text), "`", "'"), 160) + "`"
}

// names lists at most n of them.
func names(list []string, n int) string {
	list = slices.Clone(list)
	for i := range list {
		list[i] = name(list[i])
	}
	return phrase.Few(list, n)
}

func short(hash string) string { return hash[:min(len(hash), 10)] }
