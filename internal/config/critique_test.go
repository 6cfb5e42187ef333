package config

import (
	"strings"
	"testing"
	"time"
)

// The critique asks a model many times in each attempt, so it is off by default.
func TestCritiqueDefaultsToOff(t *testing.T) {
	l, err := modelsFile(t, "")
	if err != nil {
		t.Fatal(err)
	}
	if c := l.Critique; c.Enabled || c.MaxCalls != 30 || c.Queue != 16 || time.Duration(c.Wait) != time.Minute {
		t.Errorf("%+v", c)
	}
}

func TestInvalidCritiqueIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"max_calls = 0": "critique.max_calls is 0; it must be 1 to 1000",
		"queue = 1001":  "critique.queue is 1001; it must be 1 to 1000",
		"enabled = true\nreviewer = 'judge'": `critique.reviewer is "judge", but review.reviewers has no such name; ` +
			"there are none",
		"wait = 5":            "is not a duration",
		"maximal_calls = 3":   "unknown key",
		`enabled = "perhaps"`: `:2:11: critique.enabled takes true or false, but is set to the text "perhaps"`,
	} {
		if _, err := modelsFile(t, "[critique]\n"+text+"\n"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	if _, err := modelsFile(t,
		"[critique]\nenabled = true\nreviewer = \"judge\"\n[review.reviewers.judge]\nprovider = \"command\"\ncommand = "+
			"[\"judge\"]\n"); err != nil {
		t.Error(err)
	}
}
