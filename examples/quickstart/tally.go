// Package tally counts the lines of a text.
package tally

import "strings"

// Lines returns the number of lines.
func Lines(text string) int {
	if text == "" {
		return 0
	}
	return strings.Count(strings.TrimSuffix(text, "\n"), "\n") + 1
}
