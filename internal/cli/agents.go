package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/runplan/runplan/agents/command"
	"github.com/runplan/runplan/agents/price"
	"github.com/runplan/runplan/agents/sandbox"
	"github.com/runplan/runplan/agents/script"
	"github.com/runplan/runplan/agents/solver"
	"github.com/runplan/runplan/agents/stream"
	"github.com/runplan/runplan/internal/config"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/internal/seal"
	"github.com/runplan/runplan/patterns"
)

// Auto is the value of --agent that leaves the choice to runplan.
const Auto = "auto"

// FormatOf returns the output format of an agent's program.
func (p *Project) FormatOf(agent string) stream.Format {
	name := agent
	if c, ok := p.Config.Agents[agent]; ok {
		name = c.Preset
	}
	preset, _ := command.PresetOf(name)
	return preset.Format
}

// CommandAgent returns the settings of the named agent. Without settings it uses the preset of that name, if its CLI
// is installed.
func (p *Project) CommandAgent(name string) (command.Config, error) {
	c, configured := p.Config.Agents[name]
	out := command.Config{
		Name: name, Command: c.Command, Env: c.Env, PassEnv: c.PassEnv, Root: p.Repo.Root, Environ: p.Environ,
		Permission: c.Permission, Models: c.Models, Sandbox: p.SandboxOf(c),
	}
	presetName := c.Preset
	if !configured {
		presetName = name
	}
	preset, known := command.PresetOf(presetName)
	switch {
	case known:
		out.Preset = &preset
	case !configured:
		return out, p.UnknownAgent(name)
	}
	if !configured {
		if _, err := p.OnPath(preset.Program); err != nil {
			return out, Fail(ExitCannotRun, fmt.Errorf("agent %s: %s is %w", name, preset.Program, err), "install it: %s",
				preset.Install)
		}
	}
	var err error
	if out.Prices, err = price.Load(p.PriceFile()); err != nil {
		return out, Usage(err, "the top of the built-in table, agents/price/prices.toml, describes the format")
	}
	return out, nil
}

// ErrNoAgent reports a name that is neither a configured agent nor a built-in one.
var ErrNoAgent = errors.New("unknown agent")

// knownAgent checks the name of an agent in the settings.
func (p *Project) knownAgent(name string) error {
	_, configured := p.Config.Agents[name]
	if _, preset := command.PresetOf(name); configured || preset ||
		slices.Contains([]string{"", Auto, script.Name, solver.Name}, name) {
		return nil
	}
	return p.UnknownAgent(name)
}

// UnknownAgent returns the error of an agent that neither the settings nor the presets name.
func (p *Project) UnknownAgent(name string) error {
	known := slices.AppendSeq([]string{script.Name, solver.Name}, maps.Keys(p.Config.Agents))
	for _, preset := range p.Installed() {
		known = lists.Add(known, preset.Name)
	}
	slices.Sort(known)
	presets := lists.Map(command.Presets(), func(preset command.Preset) string { return preset.Name })
	near := config.Similar(name, append(presets, known...))
	if near != "" {
		near = "did you mean " + near + "? If not, "
	}
	err := fmt.Errorf("%w %q; agents are: %s", ErrNoAgent, name, strings.Join(known, ", "))
	const add = "add it to .runplan/config.toml:\n    [agents.%s]\n    command = [\"%s\"]"
	if line := strings.Fields(name); len(line) > 1 || strings.Contains(name, "/") {
		return Usage(err, "%sgive this command a name; "+add, near, "mine", strings.Join(line, `", "`))
	}
	return Usage(err, "%s"+add, near, name, `program", "argument`)
}

// Installed returns the presets whose programs are in PATH.
func (a *App) Installed() []command.Preset {
	return lists.Filter(command.Presets(), func(p command.Preset) bool { return a.HasProgram("", p.Program) == nil })
}

// PriceFile returns the path of the user's own price table.
func (a *App) PriceFile() string {
	file, err := config.UserFile(a.Getenv)
	if err != nil {
		return "" // without a home folder there is no user price table
	}
	return filepath.Join(filepath.Dir(file), "prices.toml")
}

// SandboxOf returns the sandbox of an agent.
func (a *App) SandboxOf(c config.Agent) sandbox.Spec {
	s := sandbox.Spec{Kind: c.Sandbox, Command: c.SandboxCommand, Image: c.SandboxImage, Write: c.SandboxWrite}
	if dir, err := a.UserDir(); err == nil { // these files contain the key that signs for the user
		s.Hide = []string{filepath.Join(dir, seal.FileName), filepath.Join(dir, "serve.key")}
	}
	return s
}

// AstGrep finds ast-grep, which is optional: without it the program has no path. It warns about its version.
func (a *App) AstGrep(ctx context.Context) (patterns.Program, error) {
	p, err := patterns.Find(ctx, a.Environ, "")
	switch {
	case errors.Is(err, patterns.ErrMissing):
		return p, nil
	case err == nil && p.Warning != "":
		a.Warn(p.Warning)
	}
	return p, err
}

// Signing tests the commit signature while the user is still there to unlock the key. It creates an object that no
// ref points to.
func (p *Project) Signing(ctx context.Context) error {
	if !p.Repo.Signs(ctx) {
		return nil
	}
	tree, err := p.Repo.Run(ctx, "rev-parse", "HEAD^{tree}")
	if err == nil {
		_, err = p.Repo.Run(ctx, "commit-tree", "-S", "-m", "runplan: can commits be signed?", tree)
	}
	if err != nil {
		return Named("cannot-sign",
			Fail(ExitCannotRun, fmt.Errorf("commit.gpgsign is on, but a test signature failed: %w", err),
				"unlock the key, or turn signing off for this repository: git config commit.gpgsign false"))
	}
	return nil
}

// HasProgram returns an error if a program is missing: a path, relative to root, or a name in PATH.
func (a *App) HasProgram(root, program string) error {
	if !strings.ContainsRune(program, '/') {
		if _, err := a.OnPath(program); err != nil {
			return fmt.Errorf("%s is %w", program, err)
		}
		return nil
	}
	if !filepath.IsAbs(program) {
		program = filepath.Join(root, program)
	}
	_, err := os.Stat(program)
	return err
}

// OnPath finds a program in PATH.
func (a *App) OnPath(name string) (string, error) {
	path, err := proc.LookPath(name, a.Environ)
	if err != nil {
		err = errors.New("not on PATH")
	}
	return path, err
}
