package config

import (
	"fmt"
	"strings"
	"time"
)

// Training configures what trains adapters, and what training data must not contain.
type Training struct {
	Canaries []string `toml:"canaries" doc:"texts that must not be in training data; the build of the data fails if it contains one"`
	Trainer  []string `toml:"trainer" doc:"program that trains an adapter, and its arguments; it gets its task in RUNPLAN_TRAIN_ variables"`
	PassEnv  []string `toml:"pass_env" doc:"environment variables that the trainer gets"`
	Timeout  Duration `toml:"timeout" doc:"time limit of one training"`
}

func defaultTraining() Training { return Training{Timeout: Duration(24 * time.Hour)} }

// checkTraining checks [training].
func (l *Loaded) checkTraining(wrong func(error)) {
	t := l.Training
	switch {
	case len(t.Trainer) > 0 && strings.TrimSpace(t.Trainer[0]) == "":
		wrong(fmt.Errorf("%s: training.trainer begins with an empty word, but its first word must be the program",
			l.where("training.trainer")))
	case len(t.PassEnv) > 0 && len(t.Trainer) == 0:
		wrong(fmt.Errorf("%s: training.pass_env is for training.trainer, which is not set", l.where("training.pass_env")))
	case t.Timeout <= 0:
		wrong(fmt.Errorf("%s: training.timeout is 0; set a time limit",
			l.where("training.timeout")))
	}
	for _, c := range t.Canaries {
		if len(strings.TrimSpace(c)) < 8 {
			wrong(fmt.Errorf("%s: training.canaries has a text of fewer than 8 characters, which could occur by chance",
				l.where("training.canaries")))
			break
		}
	}
}

// trainingValues lists the settings that are not plain strings or numbers. Canaries are secrets: only their number is
// shown.
func (l *Loaded) trainingValues(list func(key, between string, items []string)) {
	list("training.trainer", " ", l.Training.Trainer)
	list("training.pass_env", ", ", l.Training.PassEnv)
	var canaries []string
	if n := len(l.Training.Canaries); n > 0 {
		canaries = []string{fmt.Sprintf("%d texts", n)}
	}
	list("training.canaries", "", canaries)
}
