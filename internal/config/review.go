package config

import (
	"maps"
	"slices"
	"time"
)

// Review configures who reviews changes, and how. Without reviewers, the model of [models] for the stage review is
// used, if there is one.
type Review struct {
	Batches   string              `toml:"batches" doc:"review of the change of each batch, before its merge: off, programs, or all (programs, then reviewers)"`
	Final     string              `toml:"final" doc:"review of the whole run, before it lands: off, programs or all"`
	Online    bool                `toml:"online" doc:"the security pass may run tools that use external servers: govulncheck, npm audit"`
	Persona   string              `toml:"persona" doc:"file of the repository with the writing conventions of the project, for the prose pass"`
	Reviewers map[string]Reviewer `toml:"reviewers"`
}

// Reviewer is a model that judges changes.
type Reviewer struct {
	Provider  string   `toml:"provider" doc:"ollama, or command for a program that answers; empty is ollama"`
	Model     string   `toml:"model" doc:"name of the model"`
	Vendor    string   `toml:"vendor" doc:"vendor of the model, if its name does not show it; a reviewer of another vendor than the author's is preferred"`
	Passes    []int    `toml:"passes" doc:"passes that it reviews, of 3, 5, 6 and 7; empty is all of them"`
	BaseURL   string   `toml:"base_url" doc:"address of the Ollama server; empty is models.base_url"`
	Command   []string `toml:"command" doc:"with provider = \"command\": program and arguments; it gets the question on standard input, and {model} is replaced"`
	PassEnv   []string `toml:"pass_env" doc:"with provider = \"command\": environment variables that the program gets"`
	Window    int      `toml:"window" doc:"maximum number of tokens of question and answer together; 0 uses budget.context_window"`
	MaxTokens int      `toml:"max_tokens" doc:"maximum number of tokens of an answer; 0 uses models.max_tokens"`
	Timeout   Duration `toml:"timeout" doc:"time limit of one question; 0 uses models.timeout"`
}

func (l *checks) checkReview() {
	l.oneOf("review.batches", l.Review.Batches, "off", "programs", "all")
	l.oneOf("review.final", l.Review.Final, "off", "programs", "all")
	for _, name := range slices.Sorted(maps.Keys(l.Review.Reviewers)) {
		r := l.Review.Reviewers[name]
		say := l.below("review.reviewers." + name)
		switch {
		case r.Provider != "" && r.Provider != "ollama" && r.Provider != "command":
			say("provider is %q; use ollama or command", r.Provider)
		case r.Provider == "command" && (len(r.Command) == 0 || r.Command[0] == ""):
			say("command is missing; with provider = \"command\" it is [\"program\", \"argument\"]")
		case r.Provider != "command" && len(r.Command) > 0:
			say("command needs provider = \"command\"")
		case r.Provider != "command" && r.Model == "":
			say("model is missing: give the tag of a model on the Ollama server")
		case r.Provider == "command" && r.BaseURL != "":
			say("base_url is for Ollama; remove it with provider = \"command\"")
		case r.BaseURL != "":
			if why := badBaseURL(r.BaseURL); why != "" {
				say("base_url %s", why)
			}
		case r.Provider != "command" && l.Models.BaseURL == "":
			say("base_url is missing, and models.base_url is not set either")
		}
		for _, n := range r.Passes {
			if !slices.Contains([]int{3, 5, 6, 7}, n) {
				say("passes has %d; reviewers take part in 3, 5, 6 and 7", n)
			}
		}
		if r.Timeout > 0 && time.Duration(r.Timeout) < time.Millisecond {
			say("timeout is %d, which is not a duration such as \"90s\" or \"30m\"", r.Timeout)
		}
		if r.Window < 0 || r.MaxTokens < 0 {
			say("window and max_tokens must be 0 or above")
		}
	}
}
