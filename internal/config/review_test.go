package config

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestReviewIsRead(t *testing.T) {
	l, err := modelsFile(t, `
[review]
online = true
persona = "VOICE.md"
[review.reviewers.second]
provider = "command"
command = ["judge", "-m", "{model}"]
model = "m"
vendor = "elsewhere"
passes = [3, 6]
pass_env = ["JUDGE_KEY"]
timeout = "90s"
`)
	if err != nil {
		t.Fatal(err)
	}
	want := Review{Batches: "off", Final: "off", Online: true, Persona: "VOICE.md",
		Reviewers: map[string]Reviewer{"second": {
			Provider: "command", Command: []string{"judge", "-m", "{model}"}, Model: "m", Vendor: "elsewhere",
			Passes: []int{3, 6}, PassEnv: []string{"JUDGE_KEY"}, Timeout: Duration(90 * time.Second),
		}}}
	if diff := cmp.Diff(want, l.Review); diff != "" {
		t.Error(diff)
	}
	if l.Source("review.reviewers.second.command") != l.Files[0] {
		t.Error("the source of the command is not known, so runplan would not ask for trust")
	}
}

func TestInvalidReviewersAreRefused(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"no provider that there is":   {`provider = "cloud"`, `provider is "cloud"; use ollama or command`},
		"a command without a program": {`provider = "command"`, "command is missing"},
		"a program without its word":  {`command = ["x"]` + "\nmodel = 'm'", `command needs provider = "command"`},
		"no model":                    {`base_url = "http://localhost:1"`, "model is missing"},
		"no server":                   {`model = "m"`, "base_url is missing"},
		"an invalid address":          {"model = 'm'\nbase_url = 'nowhere'", "base_url must be a URL"},
		"an address for a program": {"provider = 'command'\ncommand = ['x']\nbase_url = 'http://localhost:1'",
			"base_url is for Ollama"},
		"a pass of programs": {"provider = 'command'\ncommand = ['x']\npasses = [1]",
			"passes has 1; reviewers take part in 3, 5, 6 and 7"},
		"a time without a unit": {"provider = 'command'\ncommand = ['x']\ntimeout = 90", "is not a duration"},
		"a window below 0": {"provider = 'command'\ncommand = ['x']\nwindow = -1",
			"window and max_tokens must be 0 or above"},
		"a key that there is not": {"provider = 'command'\ncomand = ['x']", `did you mean "review.reviewers.x.command"`},
	} {
		if _, err := modelsFile(t, "[review.reviewers.x]\n"+c.text+"\n"); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}
