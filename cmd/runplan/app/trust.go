package app

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"maps"
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

// executables lists what the repository's own configuration can run. The user's own settings need no confirmation.
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
		if !slices.ContainsFunc(
			[]string{".preset", ".permission", ".command", ".env", ".pass_env", ".sandbox", ".sandbox_command", ".sandbox_image",
				".sandbox_write", ".models"}, func(k string) bool { return c.Source(key+k) == file }) {
			continue
		}
		what := trust.Words(a.Command)
		if a.Preset != "" {
			what = strings.TrimSpace("preset " + a.Preset + " permission " + cmp.Or(a.Permission, "workspace") + " " + what)
		}
		if len(a.PassEnv) > 0 {
			what += " (sees " + strings.Join(a.PassEnv, ", ") + ")"
		}
		what += sandboxText(a)
		for _, tier := range slices.Sorted(maps.Keys(a.Models)) {
			what += fmt.Sprintf(" [model %s %q]", tier, a.Models[tier])
		}
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
			what := strings.TrimSpace(g.Path + " " + trust.Words(g.Command))
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
		what := trust.Words(c.Notify.Command)
		if len(c.Notify.PassEnv) > 0 {
			what += " (sees " + strings.Join(c.Notify.PassEnv, ", ") + ")"
		}
		out = append(out, trust.Executable{Where: "notifications", What: what})
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

// sandboxText describes the sandbox of an agent. An empty sandbox in the repository can override the one in the user's
// settings.
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

// pins returns the user's list of trusted configurations.
func (a *App) pins() (trust.Pins, error) {
	file, err := config.UserFile(a.Getenv)
	if err != nil {
		return trust.Pins{}, err
	}
	return trust.Pins{Path: filepath.Join(filepath.Dir(file), "trusted.json")}, nil
}

// trustConfig checks that the user has trusted what the repository's configuration can run: pinned earlier, named by
// digest in given (--trust-config), or confirmed now.
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
		fmt.Fprintf(a.Stderr, "RUNPLAN_TRUST=all: the configuration %s is trusted without a look (%s)\n",
			p.rel(p.layout.Config()), digest[:12])
		return nil
	}
	if given != "" {
		if trust.Names(given, digest) {
			return nil
		}
		return usage(fmt.Errorf("the configuration's digest is %s, not %s", digest[:12], ui.Sanitize(given)),
			"inspect it: runplan trust config")
	}
	pins, err := a.pins()
	if err != nil {
		return usage(fmt.Errorf("the configuration is not trusted, and trust cannot be stored: %w", err),
			"set RUNPLAN_HOME, or give --trust-config %s", digest[:12])
	}
	now, before, err := pins.Trusted(p.repo.Root, digest)
	if err != nil || now {
		return err
	}
	what := "is new"
	if before {
		what = "changed after you trusted it"
	}
	fmt.Fprintf(a.Stderr, "The configuration of this repository %s. It can run:\n", what)
	a.showExecutables(list)
	if !a.yes("Trust it?") {
		return usage(errors.New("the repository's configuration is not trusted, so nothing was run"),
			"trust it: runplan trust config %s; without a terminal: --trust-config %s, or RUNPLAN_TRUST=%s", digest[:12],
			digest[:12], digest[:12])
	}
	return a.ofUser(pins.Trust(p.repo.Root, digest, time.Now()))
}

func (a *App) showExecutables(list []trust.Executable) {
	for _, e := range list {
		fmt.Fprintf(a.Stderr, "  %s: %s\n", ui.Sanitize(e.Where), ui.Sanitize(e.What))
	}
}

// yes asks a question on the terminal. Without a terminal the answer is no.
func (a *App) yes(question string) bool {
	in, _ := a.Stdin.(*os.File)
	out := a.stderrFile()
	if !ui.Interactive(a.Getenv, in, out) || !ui.IsTerminal(in) {
		return false
	}
	fmt.Fprintf(a.Stderr, "%s [y/N] ", question)
	line, err := bufio.NewReader(in).ReadString('\n')
	answer := strings.ToLower(strings.TrimSpace(line))
	return err == nil && (answer == "y" || answer == "yes")
}

func newTrustConfigCommand(a *App) *cobra.Command {
	var show, asJSONFlag bool
	cmd := &cobra.Command{
		Use:   "config [DIGEST]",
		Short: "Show what this repository's configuration can run or turn off, and trust it",
		Long: `Show what .runplan/config.toml can run, send away or turn off, with the digest that pins it. On a terminal it
asks whether to trust that from now on. Without a terminal it only shows; naming the digest trusts exactly that.
Any change asks again, also a change of a script in the repository that a command names.

A run where nobody can be asked takes the digest as well: --trust-config DIGEST, or RUNPLAN_TRUST=DIGEST;
RUNPLAN_TRUST=all trusts whatever there is, and says so.` + exitStatus(exitOK, exitFailed, exitUsage),
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := a.openProject(cmd.Context())
			if err != nil {
				return err
			}
			list := p.executables()
			digest := trust.Digest(list)
			if asJSONFlag {
				if list == nil {
					list = []trust.Executable{}
				}
				return asJSON(a.Stdout, map[string]any{"file": p.rel(p.layout.Config()), "digest": digest, "entries": list})
			}
			if len(list) == 0 {
				fmt.Fprintf(a.Stdout, "%s runs nothing and turns nothing off, so there is nothing to trust\n",
					p.rel(p.layout.Config()))
				return nil
			}
			a.showExecutables(list)
			fmt.Fprintf(a.Stdout, "digest: %s\n", digest[:12])
			switch {
			case show:
				return nil
			case len(args) == 1 && !trust.Names(args[0], digest):
				return usage(fmt.Errorf("the configuration's digest is %s, not %s", digest[:12], ui.Sanitize(args[0])),
					"inspect the list above")
			}
			if err := a.notAnAgent("trusting a configuration"); err != nil {
				return err
			}
			if len(args) == 0 && !a.yes("Trust it?") {
				fmt.Fprintf(a.Stderr, "nothing was trusted; trust it: runplan trust config %s\n", digest[:12])
				return nil
			}
			pins, err := a.pins()
			if err != nil {
				return usage(err, "")
			}
			if err := a.ofUser(pins.Trust(p.repo.Root, digest, time.Now())); err != nil {
				return err
			}
			fmt.Fprintf(a.Stdout, "trusted: %s\n", digest[:12])
			return nil
		},
	}
	cmd.Flags().BoolVar(&show, "show", false, "only show")
	cmd.Flags().BoolVar(&asJSONFlag, "json", false, "only show it, as a JSON object")
	return cmd
}

// rel returns the name of a file relative to the current folder.
func (p *project) rel(path string) string {
	if rel, err := filepath.Rel(mustGetwd(), path); err == nil {
		return rel
	}
	return path
}
