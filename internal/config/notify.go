package config

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
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
