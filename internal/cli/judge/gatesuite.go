package judge

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/blueprint"
	"github.com/runplan/runplan/gates/plugin"
	"github.com/runplan/runplan/gates/rules"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/rulebook"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/patterns"
	"github.com/runplan/runplan/routing"
)

// GateSuite is [SuiteOf] for a run: it reads a library with own rules of the user or the project at once, so that an error
// in one is reported before anything runs. The gates keep files in the folder scratch, which the caller removes.
func GateSuite(ctx context.Context, p *cli.Project, requireTests bool,
	scratch string) (s gates.Settings, done func(), err error) {
	books := rulebook.OpenRuleBooks(ctx, p)
	find := books.Program
	books.Program = func(ctx context.Context) (patterns.Program, error) {
		program, err := find(ctx)
		program.Scratch = filepath.Join(scratch, "ast-grep")
		return program, err
	}
	for _, gate := range []string{"lessons", "patterns"} {
		if !books.HasOwn(gate) {
			continue
		}
		if err := books.Read(gate); err != nil {
			return s, nil, err
		}
	}
	s, done = SuiteOf(p, requireTests, books)
	return s, done, nil
}

// SuiteOf returns the gate settings of the configuration. They include the gates that live as long as the process: the
// gates of rules and of plugins. Rules come from the user's checkout, never from a workspace, and are read when a gate
// first uses them. A plugin starts on first use. done ends the plugins.
func SuiteOf(p *cli.Project, requireTests bool, books *rulebook.RuleBooks) (s gates.Settings, done func()) {
	s = GateSettings(p, requireTests)
	s.More = append(s.More, rules.Lessons(books.Lessons),
		rules.Patterns(books.Program, books.Patterns, p.Config.Gates.StrictAST), blueprint.Gate(books.Program))
	var plugins []*lazyPlugin
	hide := p.Redactor()
	for _, g := range p.Config.Gates.Plugin {
		l := &lazyPlugin{config: plugin.Config{
			Name: g.Name, Path: g.Path, Command: g.Command, Settings: g.Settings, SHA256: g.SHA256, Env: g.Env,
			Blocking: g.Blocking, StartTimeout: time.Duration(g.StartTimeout), CallTimeout: time.Duration(g.Timeout),
			Dir: p.Repo.Root, Environ: p.Environ, Redact: hide.String,
			LogFile: filepath.Join(p.Layout.Root, "logs", "plugin-"+g.Name+".log"),
		}}
		plugins = append(plugins, l)
		s.More = append(s.More, l)
	}
	return s, func() {
		for _, l := range plugins {
			l.close()
		}
	}
}

type lazyPlugin struct {
	config plugin.Config
	mu     sync.Mutex
	open   *plugin.Plugin
	failed error
}

// Info returns the configured description. After the start it returns that of the plugin.
func (l *lazyPlugin) Info() gates.Info {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open != nil {
		return l.open.Info()
	}
	return gates.Info{Name: l.config.Name, Kind: gates.Static, Cost: gates.Cheap, Blocking: l.config.Blocking == nil ||
		*l.config.Blocking, Command: l.config.Path}
}

// Check starts the plugin if necessary, then calls it.
func (l *lazyPlugin) Check(ctx context.Context, s gates.Subject) (gates.Report, error) {
	l.mu.Lock()
	if l.open == nil && l.failed == nil {
		l.config.Reaper = s.Reaper
		l.open, l.failed = plugin.Open(ctx, l.config)
	}
	open, err := l.open, l.failed
	l.mu.Unlock()
	if err != nil {
		return gates.Report{}, fmt.Errorf("start the plugin: %w", err)
	}
	return open.Check(ctx, s)
}

func (l *lazyPlugin) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open != nil {
		l.open.Close()
	}
}

// GateSettings returns the gate settings of the configuration. self is the path of this program, which contains the
// testscript engine.
func GateSettings(p *cli.Project, requireTests bool) gates.Settings {
	c := p.Config.Gates
	s := gates.Settings{
		Detect: c.Detect, RequireTests: c.RequireTests || requireTests, Disable: c.Disable,
		FlakyReruns: c.FlakyReruns, When: p.When, Overrides: p.Overrides, Protected: c.Protected, StrictTypes: c.StrictTypes,
		MaxFileLines: c.MaxFileLines,
		MinMemoryMB:  c.MinMemoryMB, Memory: routing.AvailableMemory,
		Acceptance: c.Acceptance.Dir, Engine: []string{cli.Self(), cli.TestscriptCommand},
		ChangedTests: gates.ChangedTests(c.Tests.Changed),
		Promises: gates.Promises{Severity: gates.Severity(c.Plan.Severity), Off: c.Plan.Severity == "off",
			Timeout: time.Duration(c.Plan.Timeout)},
	}
	for _, g := range c.Command {
		s.Commands = append(s.Commands, gates.CommandGate{
			Name: g.Name, Shell: g.Run, Dir: g.Dir, Paths: g.Paths, Blocking: g.Blocking, Timeout: time.Duration(g.Timeout),
		})
	}
	return s
}

// Detected finds the projects of the user's checkout. It leaves out projects in folders that git ignores, which hold
// build output and installed tools.
func Detected(ctx context.Context, repo *git.Repo) *gates.Detection {
	found := gates.DetectIn(repo.Root)
	var roots []string
	for _, p := range found.Projects {
		if p.Root != "." {
			roots = append(roots, p.Root)
		}
	}
	ignored, err := repo.Ignored(ctx, roots)
	if err != nil {
		return found // the gates of a folder too many are better than none
	}
	found.Projects = slices.DeleteFunc(found.Projects, func(p gates.Project) bool {
		return slices.Contains(ignored, p.Root)
	})
	return found
}

// LateReaper starts the reaper only when a program may be started. The reaper ends runplan's children if runplan is
// killed. Starting it takes as long as starting runplan, and a check that hits the cache starts no program.
type LateReaper struct {
	Start  func() (*proc.Reaper, error)
	once   sync.Once
	reaper *proc.Reaper
	err    error
}

func (l *LateReaper) get() (*proc.Reaper, error) {
	l.once.Do(func() { l.reaper, l.err = l.Start() })
	return l.reaper, l.err
}

// Close ends the reaper if it is running.
func (l *LateReaper) Close() { l.reaper.Close() }

// supervised is a gate that registers its programs with the reaper.
type supervised struct {
	gates.Gate
	reaper *LateReaper
}

// underReaper wraps the gates that start programs. It does not wrap gates that only read files.
func underReaper(list []gates.Gate, r *LateReaper) []gates.Gate {
	return lists.Map(list, func(g gates.Gate) gates.Gate {
		if info := g.Info(); info.Cost > gates.Instant || info.Command != "" {
			return supervised{g, r}
		}
		return g
	})
}

func (g supervised) Check(ctx context.Context, s gates.Subject) (gates.Report, error) {
	var err error
	if s.Reaper, err = g.reaper.get(); err != nil {
		return gates.Report{}, err
	}
	return g.Gate.Check(ctx, s)
}
