package cli

import (
	"context"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/runner/journal"
	"github.com/runplan/runplan/runner/local"
	"github.com/runplan/runplan/runner/notify"
)

// Redactor returns a redactor for the secrets in the environment.
func (a *App) Redactor() *redact.Redactor { return redact.New(a.Environ) }

// Redactor returns a redactor for the secrets that a run may meet: in the environment, in the settings of agents, and
// in files copied into workspaces.
func (p *Project) Redactor() *redact.Redactor {
	return redact.New(slices.Concat(p.Environ, p.Secrets()))
}

// HideTitles removes secrets from the titles of a plan and its batches. Titles appear on screen and in the journal,
// reports, commits and pull requests.
func HideTitles(secrets *redact.Redactor, plan *planparse.Plan) {
	plan.Title = secrets.String(plan.Title)
	for i := range plan.Batches {
		plan.Batches[i].Title = secrets.String(plan.Batches[i].Title)
	}
}

// Hiding returns standard output with secrets removed. It redacts each Write separately, so a table or an object must
// be one Write.
func (a *App) Hiding() io.Writer { return hidingWriter{a.Stdout, a.Redactor()} }

type hidingWriter struct {
	to      io.Writer
	secrets *redact.Redactor
}

// Columns returns the width of the terminal that the output goes to, or 0.
func (w hidingWriter) Columns() int { return ui.ColumnsOf(w.to) }

func (w hidingWriter) Write(p []byte) (int, error) {
	if _, err := io.WriteString(w.to, w.secrets.String(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Secrets lists the values of settings and copied files as KEY=VALUE. The redactor decides by name which are secret.
func (p *Project) Secrets() []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(p.Config.Agents)) {
		out = append(out, proc.Pairs(p.Config.Agents[name].Env)...)
	}
	for _, file := range p.copied() {
		if text, err := os.ReadFile(filepath.Join(p.Repo.Root, filepath.FromSlash(file))); err == nil {
			out = append(out, pairs(string(text))...)
		}
	}
	return out
}

// largestSettings is the highest size of a settings file, in bytes. A larger file is data.
const largestSettings = 256 << 10

// copied lists the files that workspaces copy from the checkout. It ignores read errors, because the copying reports
// them.
func (p *Project) copied() []string {
	var out []string
	for _, g := range local.CopyGlobs(p.Repo.Root, p.Config.Workspace.Copy) {
		if !doublestar.ValidatePattern(g) {
			continue
		}
		// Of the folders of third-party code only the largest is skipped: any other may have settings with a secret.
		_ = doublestar.GlobWalk(os.DirFS(p.Repo.Root), g, func(path string, d fs.DirEntry) error {
			if d.IsDir() && (path == journal.DirName || path == ".git" || d.Name() == "node_modules") {
				return doublestar.SkipDir
			}
			if info, err := d.Info(); err == nil && info.Mode().IsRegular() && info.Size() <= largestSettings {
				out = append(out, path)
			}
			return nil
		})
	}
	return out
}

// WorkspaceSetup returns how the settings set up a new workspace.
func (p *Project) WorkspaceSetup(reaper *proc.Reaper) local.Setup {
	c := p.Config.Workspace
	return local.Setup{Copy: c.Copy, Command: c.Setup, Timeout: time.Duration(c.SetupTimeout), Env: p.Environ,
		Reaper: reaper}
}

// setting is a line of a file of settings: KEY=value, export KEY="value", key: value, "key": "value",
var setting = lazyre.New(`(?m)^[ \t]*(?:export[ \t]+)?["']?([A-Za-z_][A-Za-z0-9_.-]*)["']?[ \t]*[=:][ \t]*(\S.*)$`)

// pairs parses the settings in a text, in any of the usual formats.
func pairs(text string) []string {
	var out []string
	for _, m := range setting.FindAllStringSubmatch(text, -1) {
		value := strings.TrimRight(m[2], " \t\r,;")
		if q := value[:min(1, len(value))]; q == `"` || q == "'" {
			if end := strings.LastIndex(value, q); end > 0 {
				value = value[1:end]
			}
		} else {
			value, _, _ = strings.Cut(value, " #")
		}
		if value = strings.TrimSpace(value); value != "" {
			out = append(out, m[1]+"="+value)
		}
	}
	return out
}

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
func (p *Project) RemoteOutlet(ctx context.Context) ([]Outlet, error) {
	name, err := p.Repo.PushRemote(ctx, "")
	if err != nil || name == "" {
		return nil, err
	}
	address, err := p.Repo.Run(ctx, "remote", "get-url", "--push", name)
	if err != nil {
		return nil, err
	}
	to, local := remoteAddress(strings.TrimSpace(address))
	return []Outlet{{What: "remote", Name: name, To: p.Redactor().String(to),
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
func (p *Project) Hook(reaper *proc.Reaper, note func(string)) notify.Hook {
	c := p.Config.Notify
	names := slices.Concat([]string{"DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS"}, c.PassEnv)
	return notify.Hook{
		Command: c.Command, Dir: p.Repo.Root, Env: redact.AgentEnv(p.Environ, names), Webhook: c.Webhook,
		Timeout: time.Duration(c.Timeout),
		Reaper:  reaper, Redact: p.Redactor().String, Note: note,
	}
}
