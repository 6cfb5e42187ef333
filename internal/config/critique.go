package config

import (
	"maps"
	"slices"
	"strings"
)

// Critique configures whether, and how often, a model checks the steps of agents during their work (FIX-28 to
// FIX-30). It is off by default, because it calls a model many times in each attempt.
type Critique struct {
	Enabled  bool     `toml:"enabled" doc:"a model reviews each step of an agent that changes something, while the agent works; it only advises"`
	Reviewer string   `toml:"reviewer" doc:"name of a reviewer in [review]; empty uses the model of [models] for the stage critique"`
	MaxCalls int      `toml:"max_calls" doc:"maximum number of questions in one attempt"`
	Queue    int      `toml:"queue" doc:"maximum number of steps that wait for a review; further ones are skipped, and counted"`
	Wait     Duration `toml:"wait" doc:"time limit for waiting steps after the agent has ended"`
}

// checkCritique checks the reviewer of [critique].
func (l *checks) checkCritique() {
	c := l.Critique
	if _, ok := l.Review.Reviewers[c.Reviewer]; c.Enabled && c.Reviewer != "" && !ok {
		names := slices.Sorted(maps.Keys(l.Review.Reviewers))
		known := "there are none"
		if len(names) > 0 {
			known = "there are " + strings.Join(names, ", ")
		}
		l.say("critique.reviewer", "is %q, but review.reviewers has no such name; %s", c.Reviewer, known)
	}
}
