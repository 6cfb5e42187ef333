package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
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

func defaultCritique() Critique {
	return Critique{MaxCalls: 30, Queue: 16, Wait: Duration(time.Minute)}
}

// checkCritique checks [critique].
func (l *Loaded) checkCritique(wrong func(error)) {
	c := l.Critique
	for _, f := range []struct {
		key string
		v   int
	}{{"max_calls", c.MaxCalls}, {"queue", c.Queue}} {
		if f.v < 1 || f.v > 1000 {
			wrong(fmt.Errorf("%s: critique.%s is %d; it must be 1 to 1000", l.where("critique."+f.key), f.key, f.v))
		}
	}
	if _, ok := l.Review.Reviewers[c.Reviewer]; c.Enabled && c.Reviewer != "" && !ok {
		names := slices.Sorted(maps.Keys(l.Review.Reviewers))
		known := "there are none"
		if len(names) > 0 {
			known = "there are " + strings.Join(names, ", ")
		}
		wrong(fmt.Errorf("%s: critique.reviewer is %q, but review.reviewers has no such name; %s",
			l.where("critique.reviewer"), c.Reviewer, known))
	}
}
