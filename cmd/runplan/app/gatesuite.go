package app

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/blueprint"
	"github.com/runplan/runplan/gates/plugin"
	"github.com/runplan/runplan/gates/rules"
	"github.com/runplan/runplan/internal/config"
	"github.com/runplan/runplan/internal/proc"
)

// gateSuite returns the gate settings of the configuration, with the gates that live as long as the process. These are
// the rule libraries and the plugins. Libraries are read from the user's checkout, never from a workspace, and only if
// their gate is enabled. A plugin starts on first use. done ends the plugins.
func (a *App) gateSuite(ctx context.Context, p *project, self string, requireTests bool, reaper *proc.Reaper,
	wanted func(gate string) bool) (s gates.Settings, done func(), err error) {
	books := a.ruleBooks(ctx, p)
	for _, gate := range books.gates() {
		if wanted(gate) {
			if err := books.read(gate); err != nil {
				return s, nil, err
			}
		}
	}
	s, done = a.suiteOf(p, self, requireTests, books)
	for _, g := range s.More {
		if l, ok := g.(*lazyPlugin); ok {
			l.config.Reaper = reaper
		}
	}
	return s, done, nil
}

// suiteOf does what [App.gateSuite] does, with rule libraries that are not loaded yet.
func (a *App) suiteOf(p *project, self string, requireTests bool, books *ruleBooks) (s gates.Settings, done func()) {
	s = p.gateSettings(self, requireTests)
	s.More = append(s.More, rules.Lessons(books.lessons),
		rules.Patterns(books.program, books.patterns, p.config.Gates.StrictAST), blueprint.Gate(books.program))
	var plugins []*lazyPlugin
	hide := a.redactor(p)
	for _, g := range p.config.Gates.Plugin {
		l := &lazyPlugin{config: pluginConfig(g)}
		l.config.Dir, l.config.Environ, l.config.Redact = p.repo.Root, a.Environ, hide.String
		l.config.LogFile = filepath.Join(p.layout.Root, "logs", "plugin-"+g.Name+".log")
		plugins = append(plugins, l)
		s.More = append(s.More, l)
	}
	return s, func() {
		for _, l := range plugins {
			l.close()
		}
	}
}

func pluginConfig(g config.Plugin) plugin.Config {
	return plugin.Config{
		Name: g.Name, Path: g.Path, Command: g.Command, Settings: g.Settings, SHA256: g.SHA256, Env: g.Env,
		Blocking:     g.Blocking,
		StartTimeout: time.Duration(g.StartTimeout), CallTimeout: time.Duration(g.Timeout),
	}
}

// lazyPlugin starts a plugin on its first check.
type lazyPlugin struct {
	config plugin.Config
	mu     sync.Mutex
	open   *plugin.Plugin
	failed error
}

// Info returns what the configuration says. After the start it returns what the plugin says.
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
		if l.config.Reaper == nil {
			l.config.Reaper = s.Reaper
		}
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
