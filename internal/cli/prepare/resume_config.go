package prepare

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/config"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/runner"
)

// errConfigChanged reports that the settings differ from those that the run started with.
var errConfigChanged = errors.New("the configuration changed after the run started")

// sameConfig refuses to resume a run with changed settings unless the user accepts them. Otherwise an agent could
// edit the configuration of the checkout and turn off the gate that stopped it.
func sameConfig(a *cli.App, p *cli.Project, info *runner.Info, accept bool) error {
	now := p.Config.Effective()
	changes := config.Changes(storedSettings(info.Settings), now)
	if len(changes) == 0 || info.ConfigDigest == config.DigestOf(now) {
		return nil
	}
	said := func(s *config.Setting) string {
		if s == nil {
			return "built-in value"
		}
		return cmp.Or(redact.Clean(s.Text), "sha256 "+s.Sum)
	}
	var lines []string
	for _, c := range changes {
		from := "removed from"
		where := ""
		if c.New != nil {
			from, where = "from", c.New.From
		} else {
			where = c.Old.From
		}
		lines = append(lines, fmt.Sprintf("  %s: %s → %s (%s %s)", redact.Clean(c.Key), said(c.Old), said(c.New), from,
			redact.Clean(p.Rel(where))))
	}
	text := strings.Join(lines, "\n")
	if !accept {
		return cli.Named("settings-changed", cli.Usage(fmt.Errorf("%w:\n%s", errConfigChanged, text),
			"undo the change; or continue with the current settings: runplan resume --accept-config"))
	}
	fmt.Fprintf(a.Stderr, "runplan: continues with a changed configuration:\n%s\n", text)
	info.Settings, info.ConfigDigest = settingsOf(now), config.DigestOf(now)
	return nil
}

// settingsOf converts settings into the form that the journal stores.
func settingsOf(all map[string]config.Setting) map[string]runner.Setting {
	out := make(map[string]runner.Setting, len(all))
	for k, s := range all {
		s.Text = redact.Clean(s.Text)
		out[k] = runner.Setting(s)
	}
	return out
}

func storedSettings(all map[string]runner.Setting) map[string]config.Setting {
	out := make(map[string]config.Setting, len(all))
	for k, s := range all {
		out[k] = config.Setting(s)
	}
	return out
}
