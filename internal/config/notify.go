package config

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Notify configures who is notified of the events of a run, outside of its terminal.
type Notify struct {
	Command []string `toml:"command" doc:"program and arguments that get notifications, each as one JSON object on standard input"`
	Webhook string   `toml:"webhook" doc:"URL that gets each notification as JSON by POST; https, or http on this machine"`
	Events  []string `toml:"events" doc:"events to notify of: started, gate, blocked, paused, budget, failed, done, approval; empty means all but started and gate"`
	Timeout Duration `toml:"timeout" doc:"time limit of one message"`
	PassEnv []string `toml:"pass_env" doc:"environment variables that the program gets"`
}

// NotifyEvents returns the words that notify.events may have.
func NotifyEvents() []string {
	return []string{"started", "gate", "blocked", "paused", "budget", "failed", "done", "approval"}
}

// checkNotify checks the events and the URL. Everything in the URL but its host may be a secret, so errors do not
// contain it.
func (l *checks) checkNotify() {
	for _, name := range l.Notify.Events {
		if !slices.Contains(NotifyEvents(), name) {
			l.say("notify.events", "has the unknown event %q; events are %s", name, strings.Join(NotifyEvents(), ", "))
		}
	}
	if l.Notify.Webhook != "" {
		if err := checkWebhook(l.Notify.Webhook); err != nil {
			l.at("notify.webhook", "notify.webhook: %w", err)
		}
	}
	if l.Notify.Timeout <= 0 {
		l.say("notify.timeout", "is 0; a message without a time limit could block a run")
	}
}

func checkWebhook(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "":
		return errors.New("it must be a URL such as https://example.org/hook")
	case u.Scheme == "https", u.Scheme == "http" && Loopback(u.Hostname()):
		return nil
	case u.Scheme == "http":
		return fmt.Errorf("http to %s would send messages unencrypted; use https", u.Host)
	}
	return fmt.Errorf("%s is not https", u.Scheme)
}

// Loopback reports whether a host is this machine by its name or address.
func Loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// HostOf returns an address without possible secrets: scheme and host.
func HostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "…"
	}
	out := u.Scheme + "://" + u.Host
	if strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.User != nil {
		out += "/…"
	}
	return out
}

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
