package config

import (
	"slices"
	"strings"

	"github.com/hbollon/go-edlib"
)

// Nearest returns the known key closest to a mistyped one, or "" if none is close. A * in a known key matches the
// word at that place in the mistyped key.
func Nearest(key string, known []string) string {
	best, bestAt := "", len(key)/3+2
	words := strings.Split(key, ".")
	if known := other(words); known != "" {
		return known
	}
	for _, k := range known {
		parts := strings.Split(k, ".")
		for i := range parts {
			if parts[i] == "*" && i < len(words) {
				parts[i] = words[i]
			}
		}
		candidate := strings.Join(parts, ".")
		d := edlib.LevenshteinDistance(key, candidate)
		// The same word in another section counts as close.
		if parts[len(parts)-1] == words[len(words)-1] {
			d = min(d, 1)
		}
		if d < bestAt {
			best, bestAt = candidate, d
		}
	}
	return best
}

// Similar returns the known word that a mistyped one resembles, or "".
func Similar(word string, known []string) string {
	best, bestAt := "", min(3, len(word)/2+1)
	for _, k := range known {
		if d := edlib.LevenshteinDistance(word, k); d < bestAt {
			best, bestAt = k, d
		}
	}
	return best
}

// other returns the key for a word that is used elsewhere for the same: the command of a gate is its key run, the
// program of an agent its key command.
func other(words []string) string {
	section, last := strings.Join(words[:len(words)-1], "."), words[len(words)-1]
	commands := []string{"command", "cmd", "run", "exec", "script", "shell"}
	switch {
	case section == "gates.command" && slices.Contains(commands, last):
		return "gates.command.run"
	case len(words) == 3 && words[0] == "agents" && slices.Contains(commands, last):
		return section + ".command"
	}
	return ""
}
