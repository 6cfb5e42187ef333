package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/cache"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/patterns"
	"github.com/runplan/runplan/runner/local"
)

// cached wraps the gates with the result cache and the reaper.
func (x *inspection) cached(ctx context.Context) ([]gates.Gate, error) {
	list := underReaper(x.gates, x.reaper)
	l := x.project.layout
	if _, err := os.Stat(l.Root); err != nil || x.options.noCache || x.hidden {
		return list, nil
	}
	s, err := x.app.seal()
	if err != nil {
		return list, nil // without a key no cache entry can be verified later, so nothing is cached
	}
	x.store = cache.Store{Dir: l.GateCache(), Seal: s}
	complete, err := x.store.Complete(ctx, x.project.repo, x.subject.Tree)
	if err != nil {
		return nil, fail(exitCannotRun, err, "")
	}
	if !complete {
		return list, nil
	}
	settings, err := json.Marshal(x.settings)
	if err != nil {
		return nil, fmt.Errorf("write the settings of the gates: %w", err)
	}
	place := cache.Place{
		Root: x.project.repo.Root, Ignored: x.ignored, Self: x.self, Programs: x.named(), Env: x.app.Environ,
		More: []string{string(settings), fmt.Sprint(x.options.all), x.project.config.Digest},
	}
	for _, p := range x.settings.Projects(place.Root) {
		place.Roots = append(place.Roots, p.Root)
	}
	for _, layer := range x.app.ruleLayers(place.Root) {
		place.More = append(place.More, contents(layer.lessons), contents(layer.patterns))
	}
	x.around = cache.Surroundings(place)
	for i, g := range list {
		list[i] = cache.Around(g, x.store, x.around)
	}
	return list, nil
}

// named returns the programs that the configuration or the environment names.
func (x *inspection) named() []string {
	out := []string{x.project.config.Gates.AstGrep}
	if p, ok := x.app.Getenv(patterns.EnvVar); ok {
		out = append(out, p)
	}
	return out
}

// contents returns a cache key for a folder of rules. It covers the contents of files, not their dates.
func contents(dir string) string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return ""
	}
	sum := sha256.New()
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		fmt.Fprintf(sum, "%q %d %t\n", e.Name(), len(data), err == nil)
		sum.Write(data)
	}
	return dir + " " + hex.EncodeToString(sum.Sum(nil))
}

// readRules reads the project's and user's own rules for the selected gates. An error in them is reported before
// anything runs. Built-in rules are read later.
func (x *inspection) readRules(list []gates.Gate) error {
	for _, g := range list {
		name := g.Info().Name
		if slices.ContainsFunc(x.app.ruleLayers(x.project.repo.Root), func(l ruleLayer) bool { return l.has(name) }) &&
			!cache.Known(g, x.subject) {
			if err := x.rules.read(name); err != nil {
				return err
			}
		}
	}
	return nil
}

// baseline returns the baseline for failing gates. It returns nil if it was not requested or there is no base.
func (x *inspection) baseline() (*local.Baseline, error) {
	if !x.options.baseline || x.subject.Base == "" {
		return nil, nil
	}
	return x.baselineOf(x.subject)
}

// baselineOf returns the baseline of a subject.
func (x *inspection) baselineOf(subject gates.Subject) (*local.Baseline, error) {
	reaper, err := x.reaper.get()
	if err != nil {
		return nil, fail(exitCannotRun, err, "")
	}
	subject.Reaper = reaper
	c := x.project.config.Workspace
	return &local.Baseline{
		Home: x.app.cacheDir(), Environ: x.app.Environ,
		Repo: x.project.repo, Layout: x.project.layout, Settings: x.settings, Subject: subject,
		Setup: local.Setup{Copy: c.Copy, Command: c.Setup, Timeout: time.Duration(c.SetupTimeout), Env: x.app.Environ,
			Reaper: reaper},
		Note: func(text string) { fmt.Fprintf(x.app.Stderr, "warning: %s\n", ui.Sanitize(text)) },
		Recall: func(info gates.Info, s gates.Subject) (gates.Report, bool) {
			if k := x.recordKey(info, s); k != "" {
				return x.store.Get(k)
			}
			return gates.Report{}, false
		},
		Remember: func(info gates.Info, s gates.Subject, r gates.Report) {
			if k := x.recordKey(info, s); k != "" && info.Pure {
				_ = x.store.Put(k, r) // without the entry, the base is checked again
			}
		},
	}, nil
}
