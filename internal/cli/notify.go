package cli

import (
	"slices"
	"time"

	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/runner/notify"
)

// Notifies reports whether notifications are configured.
func (p *Project) Notifies() bool {
	return len(p.Config.Notify.Command) > 0 || p.Config.Notify.Webhook != ""
}

// Hook returns the notification hook of the configuration. Its program gets the environment of agents, the variables
// for desktops, and the variables that the configuration names.
func (a *App) Hook(p *Project, reaper *proc.Reaper, note func(string)) notify.Hook {
	c := p.Config.Notify
	names := slices.Concat([]string{"DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS"}, c.PassEnv)
	return notify.Hook{
		Command: c.Command, Dir: p.Repo.Root, Env: redact.AgentEnv(a.Environ, names), Webhook: c.Webhook,
		Timeout: time.Duration(c.Timeout),
		Reaper:  reaper, Redact: a.Redactor(p).String, Note: note,
	}
}
