package config

import (
	"strings"
)

// Training configures what trains adapters, and what training data must not contain.
type Training struct {
	Canaries []string `toml:"canaries" doc:"texts that must not be in training data; the build of the data fails if it contains one"`
	Trainer  []string `toml:"trainer" doc:"program that trains an adapter, and its arguments; it gets its task in RUNPLAN_TRAIN_ variables"`
	PassEnv  []string `toml:"pass_env" doc:"environment variables that the trainer gets"`
	Timeout  Duration `toml:"timeout" doc:"time limit of one training"`
}

func (l *checks) checkTraining() {
	t := l.Training
	switch {
	case len(t.Trainer) > 0 && strings.TrimSpace(t.Trainer[0]) == "":
		l.say("training.trainer", "begins with an empty word, but its first word must be the program")
	case len(t.PassEnv) > 0 && len(t.Trainer) == 0:
		l.say("training.pass_env", "is for training.trainer, which is not set")
	case t.Timeout <= 0:
		l.say("training.timeout", "is 0; set a time limit")
	}
	for _, c := range t.Canaries {
		if len(strings.TrimSpace(c)) < 8 {
			l.say("training.canaries", "has a text of fewer than 8 characters, which could occur by chance")
			break
		}
	}
}
