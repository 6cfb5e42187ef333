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

	"github.com/runplan/runplan/internal/checksum"
	"github.com/runplan/runplan/internal/config"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/llm"
	"github.com/runplan/runplan/trust"
)

// own reports whether the repository's own file sets one of the keys.
func (p *Project) own(keys ...string) bool {
	return slices.ContainsFunc(keys, func(k string) bool { return p.Config.Source(k) == p.Layout.Config() })
}

// Executables lists what the repository's own configuration can run. The user's own settings need no confirmation.
func (p *Project) Executables() []trust.Executable {
	c := p.Config
	var out []trust.Executable
	add := func(where, what string) { out = append(out, trust.Executable{Where: where, What: what}) }
	for _, n := range slices.Sorted(maps.Keys(c.Agents)) {
		key, a := "agents."+n, c.Agents[n]
		if !p.own(key+".preset", key+".permission", key+".command", key+".env", key+".pass_env", key+".sandbox",
			key+".sandbox_command", key+".sandbox_image", key+".sandbox_write", key+".models") {
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
		add("agent "+n, strings.Join(append(proc.Pairs(a.Env), what), " "))
	}
	if p.own("gates.command") {
		for _, g := range c.Gates.Command {
			what := g.Run
			if g.Dir != "" {
				what = "in " + g.Dir + ": " + what
			}
			add("gate "+g.Name, what)
		}
	}
	if p.own("gates.plugin") {
		for _, g := range c.Gates.Plugin {
			what := strings.TrimSpace(g.Path + " " + trust.Words(g.Command))
			if g.SHA256 != "" {
				what += " sha256 " + g.SHA256
			}
			add("gate plugin "+g.Name, what+sees(g.Env))
		}
	}
	if p.own("gates.ast_grep") && c.Gates.AstGrep != "" {
		add("gate patterns", c.Gates.AstGrep)
	}
	if n := c.Notify; p.own("notify.command", "notify.pass_env") && len(n.Command) > 0 {
		add("notifications", trust.Words(n.Command)+sees(n.PassEnv))
	}
	if p.own("notify.webhook") && c.Notify.Webhook != "" {
		// This runs no program, but sends data to an address that the repository chooses.
		add("notifications", "post to "+c.Notify.Webhook)
	}
	// model adds the program or the remote address of a model, if the repository's own settings name it below a key.
	model := func(where, key, provider string, command, passEnv []string, baseURL string) {
		switch {
		case provider == llm.Command && p.own(key+".provider", key+".command", key+".pass_env"):
			add(where, trust.Words(command)+sees(passEnv))
		case baseURL != "" && p.own(key+".base_url") && !config.LoopbackURL(baseURL):
			add(where, "ask "+baseURL)
		}
	}
	m := c.Models
	model("models", "models", m.Provider, m.Command, m.PassEnv, m.BaseURL)
	for _, n := range slices.Sorted(maps.Keys(c.Review.Reviewers)) {
		r := c.Review.Reviewers[n]
		model("reviewer "+n, "review.reviewers."+n, r.Provider, r.Command, r.PassEnv, r.BaseURL)
	}
	if c.Review.Online && p.own("review.online") {
		add("security tools", "ask vuln.go.dev and the npm registry about the project's dependencies")
	}
	if q := c.Critique; q.Enabled && p.own("critique.enabled", "critique.reviewer") {
		add("critique", "ask "+cmp.Or(q.Reviewer, "the model of the stage critique")+" about each step of an agent")
	}
	if t := c.Training; p.own("training.trainer", "training.pass_env") && len(t.Trainer) > 0 {
		add("trainer", trust.Words(t.Trainer)+sees(t.PassEnv))
	}
	if p.own("workspace.setup") && c.Workspace.Setup != "" {
		add("setup of each workspace", c.Workspace.Setup)
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
// digest in --trust-config or RUNPLAN_TRUST, or confirmed now.
func (p *Project) TrustConfig() error {
	list := p.Executables()
	if len(list) == 0 {
		return nil
	}
	digest := trust.Digest(list)
	given := p.Trust
	if given == "" {
		given, _ = p.Getenv("RUNPLAN_TRUST")
	}
	if given == "all" {
		fmt.Fprintf(p.Stderr, "RUNPLAN_TRUST=all: the configuration %s is trusted without a check (%s)\n",
			Rel(p.Layout.Config()), digest[:12])
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
	pins, err := p.Pins()
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
	fmt.Fprintf(p.Stderr, "The configuration of this repository %s. It can run:\n", what)
	p.ShowExecutables(list)
	if !p.Yes("Trust it?") {
		return Named("config-not-trusted",
			Usage(errors.New("the repository's configuration is not trusted, so nothing was run"),
				"trust it: runplan trust config %s; without a terminal: --trust-config %s, or RUNPLAN_TRUST=%s", digest[:12],
				digest[:12], digest[:12]))
	}
	return p.OfUser(pins.Trust(p.Repo.Root, digest, time.Now()))
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

// sees names the variables of the user that a program gets.
func sees(vars []string) string {
	if len(vars) == 0 {
		return ""
	}
	return " (sees " + strings.Join(vars, ", ") + ")"
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

// arming lists the gate settings that can only make gates stricter, or whose commands executables already lists.
func arming() []string {
	return []string{"gates.require_tests", "gates.strict_types", "gates.protected", "gates.strict_ast",
		"gates.min_memory_mb", "gates.format", "gates.ast_grep"}
}

// loosening lists settings outside of gates that let a run do more, check less or cost more.
func loosening() []string {
	return []string{
		"run.land", "run.strict_checkout", "run.max_attempts", "run.max_cost_usd", "run.unknown_cost", "run.max_time",
		"run.agent_timeout", "run.idle_timeout", "run.max_repeats", "run.max_attempt_tokens", "run.max_attempt_cost_usd",
		"run.on_limit", "run.fallback", "workspace.copy", "review.batches", "review.final",
	}
}

// disarming lists the repository's own settings that turn off a check, relax a gate or let data leave the machine. It
// lists all gate settings except those in [arming], so that a new setting is listed by default.
func (p *Project) disarming() []trust.Executable {
	file := p.Layout.Config()
	var out []trust.Executable
	all := p.Config.Effective()
	for _, key := range slices.Sorted(maps.Keys(all)) {
		s := all[key]
		gate := strings.HasPrefix(key, "gates.") && !slices.Contains(arming(), key)
		if s.From != file || !gate && !slices.Contains(loosening(), key) {
			continue
		}
		what := cmp.Or(s.Text, "sha256 "+s.Sum)
		switch {
		case key == "gates.acceptance.dir":
			what = "runs the testscripts in " + what + ", which can run any program"
		case key == "run.land" && what == `"pr"`:
			what = "pushes the run branch to the remote and opens a pull request"
		case key == "run.land" && what == `"ff"`:
			what = "moves the branch that is checked out"
		}
		out = append(out, trust.Executable{Where: "setting " + key, What: what})
	}
	return out
}

// mostScript is the highest size of a script whose content is pinned, in bytes.
const mostScript = 4 << 20

// scripts pins the contents of repository files that commands name. A trusted command with a changed script is a new
// command.
func (p *Project) scripts(commands []trust.Executable) []trust.Executable {
	sums := map[string]string{}
	add := func(name string) {
		path := filepath.Join(p.Repo.Root, filepath.FromSlash(name))
		rel, err := filepath.Rel(p.Repo.Root, path)
		if err != nil || rel == "." || strings.HasPrefix(rel, "..") ||
			strings.HasPrefix(filepath.ToSlash(rel), ".runplan/config.toml") {
			return
		}
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() || info.Size() > mostScript {
			return
		}
		if data, err := os.ReadFile(path); err == nil {
			sums[filepath.ToSlash(rel)] = checksum.SHA256(data)
		}
	}
	for _, c := range commands {
		if strings.HasPrefix(c.Where, "setting ") {
			continue
		}
		dir := ""
		if rest, ok := strings.CutPrefix(c.What, "in "); ok {
			dir, _, _ = strings.Cut(rest, ": ")
		}
		for _, word := range strings.FieldsFunc(c.What,
			func(r rune) bool { return r <= ' ' || strings.ContainsRune(";|&()<>\"'`$={}[],:", r) }) {
			if rest, ok := strings.CutPrefix(word, p.Repo.Root+string(filepath.Separator)); ok {
				word = rest
			}
			add(word)
			if dir != "" {
				add(dir + "/" + word)
			}
			if word == "make" || word == "gmake" {
				for _, name := range []string{"GNUmakefile", "makefile", "Makefile"} {
					add(filepath.ToSlash(filepath.Join(dir, name)))
				}
			}
			if slices.Contains([]string{"npm", "pnpm", "yarn", "bun"}, word) {
				add(filepath.ToSlash(filepath.Join(dir, "package.json")))
			}
		}
	}
	return lists.Map(slices.Sorted(maps.Keys(sums)), func(name string) trust.Executable {
		return trust.Executable{Where: "script " + name, What: fmt.Sprintf("sha256 %s", sums[name][:16])}
	})
}
