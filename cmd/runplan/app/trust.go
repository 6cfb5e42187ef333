package app

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/config"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/trust"
)

// executables lists what the repository's own configuration can run. What stands in the user's own file is
// the user's, and needs no asking.
func (p *project) executables() []trust.Executable {
	c, file := p.config, p.layout.Config()
	var out []trust.Executable
	names := make([]string, 0, len(c.Agents))
	for n := range c.Agents {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		key, a := "agents."+n, c.Agents[n]
		if !slices.ContainsFunc([]string{".preset", ".permission", ".command", ".env", ".pass_env", ".sandbox", ".sandbox_command", ".sandbox_image", ".sandbox_write"}, func(k string) bool { return c.Source(key+k) == file }) {
			continue
		}
		what := strings.Join(a.Command, " ")
		if a.Preset != "" {
			what = strings.TrimSpace("preset " + a.Preset + " permission " + cmp.Or(a.Permission, "workspace") + " " + what)
		}
		if len(a.PassEnv) > 0 {
			what += " (sees " + strings.Join(a.PassEnv, ", ") + ")"
		}
		what += sandboxText(a)
		vars := make([]string, 0, len(a.Env))
		for k, v := range a.Env {
			vars = append(vars, k+"="+v)
		}
		sort.Strings(vars)
		out = append(out, trust.Executable{Where: "agent " + n, What: strings.Join(append(vars, what), " ")})
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
			what := strings.TrimSpace(g.Path + " " + strings.Join(g.Command, " "))
			if g.SHA256 != "" {
				what += " sha256 " + g.SHA256
			}
			if len(g.Env) > 0 {
				what += " (sees " + strings.Join(g.Env, ", ") + ")"
			}
			out = append(out, trust.Executable{Where: "gate plugin " + g.Name, What: what})
		}
	}
	if c.Source("gates.ast_grep") == file && c.Gates.AstGrep != "" {
		out = append(out, trust.Executable{Where: "gate patterns", What: c.Gates.AstGrep})
	}
	if (c.Source("notify.command") == file || c.Source("notify.pass_env") == file) && len(c.Notify.Command) > 0 {
		what := strings.Join(c.Notify.Command, " ")
		if len(c.Notify.PassEnv) > 0 {
			what += " (sees " + strings.Join(c.Notify.PassEnv, ", ") + ")"
		}
		out = append(out, trust.Executable{Where: "notifications", What: what})
	}
	if c.Source("notify.webhook") == file && c.Notify.Webhook != "" {
		// Nothing runs, but what is told leaves the machine, to where the repository says.
		out = append(out, trust.Executable{Where: "notifications", What: "post to " + c.Notify.Webhook})
	}
	out = append(out, p.modelExecutables()...)
	out = append(out, p.reviewExecutables()...)
	out = append(out, p.critiqueExecutables()...)
	out = append(out, p.trainerExecutable()...)
	if c.Source("workspace.setup") == file && c.Workspace.Setup != "" {
		out = append(out, trust.Executable{Where: "setup of each workspace", What: c.Workspace.Setup})
	}
	return out
}

// sandboxText tells what confines an agent. A repository that says none may take away what the user's own file gives.
func sandboxText(a config.Agent) string {
	if a.Sandbox == "" {
		return ""
	}
	text := " [sandbox " + strings.Join(append([]string{a.Sandbox}, a.SandboxCommand...), " ")
	if a.SandboxImage != "" {
		text += " image " + a.SandboxImage
	}
	if len(a.SandboxWrite) > 0 {
		text += " writes " + strings.Join(a.SandboxWrite, ", ")
	}
	return text + "]"
}

// pins is the user's list of trusted configurations.
func (a *App) pins() (trust.Pins, error) {
	file, err := config.UserFile(a.Getenv)
	if err != nil {
		return trust.Pins{}, err
	}
	return trust.Pins{Path: filepath.Join(filepath.Dir(file), "trusted.json")}, nil
}

// trustConfig sees to it that what the repository's configuration can run was looked at by the user: pinned
// before, named by its digest, or agreed to now. given is --trust-config.
func (a *App) trustConfig(p *project, given string) error {
	list := p.executables()
	if len(list) == 0 {
		return nil
	}
	digest := trust.Digest(list)
	if given == "" {
		given, _ = a.Getenv("RUNPLAN_TRUST")
	}
	if given == "all" {
		fmt.Fprintf(a.Stderr, "RUNPLAN_TRUST=all: what %s can run is trusted unseen (%s)\n", p.rel(p.layout.Config()), digest[:12])
		return nil
	}
	if given != "" {
		if trust.Names(given, digest) {
			return nil
		}
		return usage(fmt.Errorf("the configuration is %s, not %s as you named it", digest[:12], ui.Sanitize(given)),
			"look at what it would run: runplan trust config")
	}
	pins, err := a.pins()
	if err != nil {
		return usage(fmt.Errorf("what the configuration can run was never agreed to, and there is no place to remember it: %w", err), "set RUNPLAN_HOME, or give --trust-config %s", digest[:12])
	}
	now, before, err := pins.Trusted(p.repo.Root, digest)
	if err != nil || now {
		return err
	}
	what := "is new to you"
	if before {
		what = "was changed since you trusted it"
	}
	fmt.Fprintf(a.Stderr, "The configuration of this repository %s. It can run:\n", what)
	a.showExecutables(list)
	if !a.yes("Trust it?") {
		return usage(errors.New("the repository's configuration is not trusted, so nothing was run"),
			"trust it: runplan trust config; where nobody can be asked: --trust-config %s, or RUNPLAN_TRUST=%s", digest[:12], digest[:12])
	}
	return a.ofUser(pins.Trust(p.repo.Root, digest, time.Now()))
}

func (a *App) showExecutables(list []trust.Executable) {
	for _, e := range list {
		fmt.Fprintf(a.Stderr, "  %s: %s\n", ui.Sanitize(e.Where), ui.Sanitize(e.What))
	}
}

// yes asks on a terminal. Where there is none the answer is no.
func (a *App) yes(question string) bool {
	in, _ := a.Stdin.(*os.File)
	out, _ := a.Stderr.(*os.File)
	if !ui.Interactive(a.Getenv, in, out) || !ui.IsTerminal(in) {
		return false
	}
	fmt.Fprintf(a.Stderr, "%s [y/N] ", question)
	line, err := bufio.NewReader(in).ReadString('\n')
	answer := strings.ToLower(strings.TrimSpace(line))
	return err == nil && (answer == "y" || answer == "yes")
}

func newTrustConfigCommand(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "config",
		Short: "Trust what this repository's configuration can run",
		Long: `Show what .runplan/config.toml can run (agents, gates, the setup of workspaces), with the digest
that pins it, and trust it from now on. Any change of it asks again.

Where nobody can be asked, name the digest: --trust-config SHA, or RUNPLAN_TRUST=SHA;
RUNPLAN_TRUST=all trusts whatever there is, and says so.` + exitStatus(exitOK, exitUsage),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := a.openProject(cmd.Context())
			if err != nil {
				return err
			}
			list := p.executables()
			if len(list) == 0 {
				fmt.Fprintf(a.Stdout, "%s runs nothing, so there is nothing to trust\n", p.rel(p.layout.Config()))
				return nil
			}
			a.showExecutables(list)
			pins, err := a.pins()
			if err != nil {
				return usage(err, "")
			}
			digest := trust.Digest(list)
			if err := a.ofUser(pins.Trust(p.repo.Root, digest, time.Now())); err != nil {
				return err
			}
			fmt.Fprintf(a.Stdout, "trusted: %s\n", digest[:12])
			return nil
		},
	}
}

// rel names a file as seen from here.
func (p *project) rel(path string) string {
	if rel, err := filepath.Rel(mustGetwd(), path); err == nil {
		return rel
	}
	return path
}
