package cli

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/config"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/trust"
)

// Executables lists what the repository's own configuration can run. The user's own settings need no confirmation.
func (p *Project) Executables() []trust.Executable {
	c, file := p.Config, p.Layout.Config()
	var out []trust.Executable
	for _, n := range slices.Sorted(maps.Keys(c.Agents)) {
		key, a := "agents."+n, c.Agents[n]
		if !slices.ContainsFunc(
			[]string{".preset", ".permission", ".command", ".env", ".pass_env", ".sandbox", ".sandbox_command", ".sandbox_image",
				".sandbox_write", ".models"}, func(k string) bool { return c.Source(key+k) == file }) {
			continue
		}
		what := trust.Words(a.Command)
		if a.Preset != "" {
			what = strings.TrimSpace("preset " + a.Preset + " permission " + cmp.Or(a.Permission, "workspace") + " " + what)
		}
		what += sees(a.PassEnv) + sandboxText(a)
		for _, tier := range slices.Sorted(maps.Keys(a.Models)) {
			what += fmt.Sprintf(" [model %s %q]", tier, a.Models[tier])
		}
		out = append(out, trust.Executable{Where: "agent " + n, What: strings.Join(append(EnvPairs(a.Env), what), " ")})
	}
	if c.Source("gates.command") == file {
		for _, g := range c.Gates.Command {
			what := g.Run
			if g.Dir != "" {
				what = "in " + g.Dir + ": " + what
			}
			out = append(out, trust.Executable{Where: "gate " + g.Name, What: what})
		}
	}
	if c.Source("gates.plugin") == file {
		for _, g := range c.Gates.Plugin {
			what := strings.TrimSpace(g.Path + " " + trust.Words(g.Command))
			if g.SHA256 != "" {
				what += " sha256 " + g.SHA256
			}
			out = append(out, trust.Executable{Where: "gate plugin " + g.Name, What: what + sees(g.Env)})
		}
	}
	if c.Source("gates.ast_grep") == file && c.Gates.AstGrep != "" {
		out = append(out, trust.Executable{Where: "gate patterns", What: c.Gates.AstGrep})
	}
	if (c.Source("notify.command") == file || c.Source("notify.pass_env") == file) && len(c.Notify.Command) > 0 {
		out = append(out, trust.Executable{Where: "notifications",
			What: trust.Words(c.Notify.Command) + sees(c.Notify.PassEnv)})
	}
	if c.Source("notify.webhook") == file && c.Notify.Webhook != "" {
		// This runs no program, but sends data to an address that the repository chooses.
		out = append(out, trust.Executable{Where: "notifications", What: "post to " + c.Notify.Webhook})
	}
	out = append(out, p.modelExecutables()...)
	out = append(out, p.reviewExecutables()...)
	out = append(out, p.critiqueExecutables()...)
	out = append(out, p.trainerExecutable()...)
	if c.Source("workspace.setup") == file && c.Workspace.Setup != "" {
		out = append(out, trust.Executable{Where: "setup of each workspace", What: c.Workspace.Setup})
	}
	out = append(out, p.disarming()...)
	return append(out, p.scripts(out)...)
}

// Pins returns the user's list of trusted configurations.
func (a *App) Pins() (trust.Pins, error) {
	file, err := config.UserFile(a.Getenv)
	if err != nil {
		return trust.Pins{}, err
	}
	return trust.Pins{Path: filepath.Join(filepath.Dir(file), "trusted.json")}, nil
}

// TrustConfig checks that the user has trusted what the repository's configuration can run: pinned earlier, named by
// digest in given (--trust-config), or confirmed now.
func (a *App) TrustConfig(p *Project, given string) error {
	list := p.Executables()
	if len(list) == 0 {
		return nil
	}
	digest := trust.Digest(list)
	if given == "" {
		given, _ = a.Getenv("RUNPLAN_TRUST")
	}
	if given == "all" {
		fmt.Fprintf(a.Stderr, "RUNPLAN_TRUST=all: the configuration %s is trusted without a check (%s)\n",
			p.Rel(p.Layout.Config()), digest[:12])
		return nil
	}
	if given != "" {
		if trust.Names(given, digest) {
			return nil
		}
		return Named("config-not-trusted",
			Usage(fmt.Errorf("the digest of the configuration is %s, not %s", digest[:12], ui.Sanitize(given)),
				"inspect it: runplan trust config"))
	}
	pins, err := a.Pins()
	if err != nil {
		return Usage(fmt.Errorf("the configuration is not trusted, and the decision cannot be stored: %w", err),
			"set RUNPLAN_HOME, or give --trust-config %s", digest[:12])
	}
	now, before, err := pins.Trusted(p.Repo.Root, digest)
	if err != nil || now {
		return err
	}
	what := "is new"
	if before {
		what = "changed after you trusted it"
	}
	fmt.Fprintf(a.Stderr, "The configuration of this repository %s. It can run:\n", what)
	a.ShowExecutables(list)
	if !a.Yes("Trust it?") {
		return Named("config-not-trusted",
			Usage(errors.New("the repository's configuration is not trusted, so nothing was run"),
				"trust it: runplan trust config %s; without a terminal: --trust-config %s, or RUNPLAN_TRUST=%s", digest[:12],
				digest[:12], digest[:12]))
	}
	return a.OfUser(pins.Trust(p.Repo.Root, digest, time.Now()))
}

// ShowExecutables prints programs that wait for trust.
func (a *App) ShowExecutables(list []trust.Executable) {
	for _, e := range list {
		fmt.Fprintf(a.Stderr, "  %s: %s\n", ui.Sanitize(e.Where), ui.Sanitize(e.What))
	}
}

// Yes asks a question on the terminal. Without a terminal the answer is no.
func (a *App) Yes(question string) bool {
	in, _ := a.Stdin.(*os.File)
	out := a.StderrFile()
	if !ui.Interactive(a.Getenv, in, out) || !ui.IsTerminal(in) {
		return false
	}
	fmt.Fprintf(a.Stderr, "%s [y/N] ", question)
	line, err := bufio.NewReader(in).ReadString('\n')
	answer := strings.ToLower(strings.TrimSpace(line))
	return err == nil && (answer == "y" || answer == "yes")
}

// Rel returns the name of a file relative to the current folder.
func (p *Project) Rel(path string) string {
	if rel, err := filepath.Rel(MustGetwd(), path); err == nil {
		return rel
	}
	return path
}
