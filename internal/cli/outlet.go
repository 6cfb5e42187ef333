package cli

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/runner/notify"
)

// Outlet is one destination of data outside of the process.
type Outlet struct {
	What  string `json:"what"` // agent, models, notification, plugin, remote
	Name  string `json:"name"`
	To    string `json:"to"`
	Data  string `json:"data"`
	When  string `json:"when"`
	Local *bool  `json:"local"` // true: data stays on this machine; null: unknown
}

// RemoteOutlet returns the remote that --land pr pushes to. It selects the remote as runs do.
func (a *App) RemoteOutlet(ctx context.Context, p *Project) ([]Outlet, error) {
	name, err := p.Repo.PushRemote(ctx)
	if err != nil || name == "" {
		return nil, err
	}
	address, err := p.Repo.Run(ctx, "remote", "get-url", "--push", name)
	if err != nil {
		return nil, err
	}
	to, local := remoteAddress(strings.TrimSpace(address))
	return []Outlet{{What: "remote", Name: name, To: a.Redactor(p).String(to),
			Data: "the run branch, and the text of the pull request", When: `runs that land: run.land = "pr"`, Local: &local}},
		nil
}

// remoteAddress returns a remote's address without user and password, and whether it is a folder of this machine.
func remoteAddress(address string) (to string, local bool) {
	if u, err := url.Parse(address); err == nil && u.Scheme != "" && (u.Host != "" || u.Scheme == "file") {
		u.User = nil
		return u.String(), u.Scheme == "file"
	}
	host, path, scp := strings.Cut(address, ":")
	if scp && !strings.Contains(host, "/") {
		return host[strings.LastIndexByte(host, '@')+1:] + ":" + path, false
	}
	return address, true
}

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
