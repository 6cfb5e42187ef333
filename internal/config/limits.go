package config

import (
	"errors"
	"fmt"
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
func (l *Loaded) checkFallback(wrong func(error)) {
	for i, name := range l.Run.Fallback {
		switch {
		case name == "" || name == "auto":
			wrong(fmt.Errorf("%s: run.fallback has %q, which is not the name of an agent", l.where("run.fallback"), name))
		case name == "script":
			wrong(
				fmt.Errorf(
					"%s: run.fallback has script, which only executes literal plans; name agents that can take over the work of one "+
						"that met a limit", l.where("run.fallback")))
		case slices.Contains(l.Run.Fallback[:i], name):
			wrong(fmt.Errorf("%s: run.fallback has %q twice", l.where("run.fallback"), name))
		}
	}
	if over, _ := Fallback(l.Run.OnLimit); over && len(l.Run.Fallback) == 0 {
		wrong(fmt.Errorf("%s: run.on_limit is %s, but %w", l.where("run.on_limit"), l.Run.OnLimit, ErrNoFallback))
	}
}
