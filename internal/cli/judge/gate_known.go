package judge

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
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/rulebook"
	"github.com/runplan/runplan/patterns"
	"github.com/runplan/runplan/runner/local"
)

// cached wraps the gates with the result cache and the reaper.
func (x *Inspection) cached(ctx context.Context) ([]gates.Gate, error) {
	list := underReaper(x.Gates, x.Reaper)
	l := x.Project.Layout
	if _, err := os.Stat(l.Root); err != nil || x.Options.noCache || x.hidden {
		return list, nil
	}
	s, err := x.App.Seal()
	if err != nil {
		return list, nil // without a key no cache entry can be verified later, so nothing is cached
	}
	x.store = cache.Store{Dir: l.GateCache(), Seal: s}
	complete, err := x.store.Complete(ctx, x.Project.Repo, x.Subject.Tree)
	if err != nil {
		return nil, cli.Fail(cli.ExitCannotRun, err, "")
	}
	if !complete {
		return list, nil
	}
	settings, err := json.Marshal(x.Settings)
	if err != nil {
		return nil, fmt.Errorf("write the settings of the gates: %w", err)
	}
	place := cache.Place{
		Root: x.Project.Repo.Root, Ignored: x.ignored, Self: x.Self, Programs: x.named(), Env: x.App.Environ,
		More: []string{string(settings), fmt.Sprint(x.Options.all), x.Project.Config.Digest},
	}
	for _, p := range x.Settings.Projects(place.Root) {
		place.Roots = append(place.Roots, p.Root)
	}
	for _, layer := range rulebook.RuleLayers(x.App, place.Root) {
		place.More = append(place.More, contents(layer.Lessons), contents(layer.Patterns))
	}
	x.around = cache.Surroundings(place)
	for i, g := range list {
		list[i] = cache.Around(g, x.store, x.around)
	}
	return list, nil
}

// named returns the programs that the configuration or the environment names.
func (x *Inspection) named() []string {
	out := []string{x.Project.Config.Gates.AstGrep}
	if p, ok := x.App.Getenv(patterns.EnvVar); ok {
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
func (x *Inspection) readRules(list []gates.Gate) error {
	for _, g := range list {
		name := g.Info().Name
		if slices.ContainsFunc(rulebook.RuleLayers(x.App, x.Project.Repo.Root),
			func(l rulebook.RuleLayer) bool { return l.Has(name) }) && !cache.Known(g, x.Subject) {
			if err := x.Rules.Read(name); err != nil {
				return err
			}
		}
	}
	return nil
}

// baseline returns the baseline for failing gates. It returns nil if it was not requested or there is no base.
func (x *Inspection) baseline() (*local.Baseline, error) {
	if !x.Options.Baseline || x.Subject.Base == "" {
		return nil, nil
	}
	return x.baselineOf(x.Subject)
}

// baselineOf returns the baseline of a subject.
func (x *Inspection) baselineOf(subject gates.Subject) (*local.Baseline, error) {
	reaper, err := x.Reaper.get()
	if err != nil {
		return nil, err
	}
	subject.Reaper = reaper
	c := x.Project.Config.Workspace
	return &local.Baseline{
		Home: x.App.CacheDir(), Environ: x.App.Environ,
		Repo: x.Project.Repo, Layout: x.Project.Layout, Settings: x.Settings, Subject: subject,
		Setup: local.Setup{Copy: c.Copy, Command: c.Setup, Timeout: time.Duration(c.SetupTimeout), Env: x.App.Environ,
			Reaper: reaper},
		Note: x.warn,
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
