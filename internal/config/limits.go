package config

import (
	"errors"
	"slices"
	"strings"
)

// OnLimits returns the words that run.on_limit may have.
func OnLimits() []string { return []string{"exit", "wait", "fallback", "fallback,wait"} }

// Fallback reports whether a value of [OnLimits] lets another agent take over, and what follows when all agents are
// limited: exit or wait.
func Fallback(onLimit string) (fallback bool, then string) {
	if onLimit == "fallback" {
		return true, "exit"
	}
	then, fallback = strings.CutPrefix(onLimit, "fallback,")
	return fallback, then
}

// ErrNoFallback reports that the settings name no agent that can take over.
var ErrNoFallback = errors.New(
	"run.fallback names no agent that can take over; write, for example, fallback = [\"codex\", \"gemini\"] under [run]")

// checkFallback checks the names of the fallback agents. Only the code that starts agents knows which exist.
func (l *checks) checkFallback() {
	for i, name := range l.Run.Fallback {
		switch {
		case name == "" || name == "auto":
			l.say("run.fallback", "has %q, which is not the name of an agent", name)
		case name == "script":
			l.say("run.fallback", "has script, which only executes literal plans; name agents that can take over the work "+
				"of one that met a limit")
		case slices.Contains(l.Run.Fallback[:i], name):
			l.say("run.fallback", "has %q twice", name)
		}
	}
	if over, _ := Fallback(l.Run.OnLimit); over && len(l.Run.Fallback) == 0 {
		l.say("run.on_limit", "is %s, but %w", l.Run.OnLimit, ErrNoFallback)
	}
}
