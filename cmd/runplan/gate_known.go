package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/cache"
	"github.com/runplan/runplan/internal/config"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/runner/local"
)

// cached puts the store of earlier answers in front of the gates.
func (x *inspection) cached(ctx context.Context) ([]gates.Gate, error) {
	l := x.project.layout
	if _, err := os.Stat(l.Root); err != nil || x.options.noCache {
		return x.gates, nil
	}
	settings, err := json.Marshal(x.settings)
	if err != nil {
		return nil, fmt.Errorf("write the settings of the gates: %w", err)
	}
	more := []string{string(settings), fmt.Sprint(x.options.all), x.project.config.Digest}
	for _, layer := range []string{l.Root, x.userFolder()} {
		more = append(more, listing(filepath.Join(layer, "lessons")), listing(filepath.Join(layer, "patterns")))
	}
	if x.around, err = cache.Surroundings(ctx, x.project.repo, x.subject.Tree, x.self, x.app.Environ, more); err != nil {
		return nil, fail(exitCannotRun, err, "")
	}
	x.store = cache.Store{Dir: l.GateCache()}
	list := make([]gates.Gate, len(x.gates))
	for i, g := range x.gates {
		list[i] = cache.Around(g, x.store, x.around)
	}
	return list, nil
}

// userFolder is where the user's own lessons and patterns are.
func (x *inspection) userFolder() string {
	file, err := config.UserFile(x.app.Getenv)
	if err != nil {
		return ""
	}
	return filepath.Dir(file)
}

// listing tells one state of a folder from another.
func listing(dir string) string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return ""
	}
	var b strings.Builder
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			fmt.Fprintf(&b, "%s %d %d\n", filepath.Join(dir, e.Name()), info.Size(), info.ModTime().UnixNano())
		}
	}
	return b.String()
}

// baseline looks at the base where a gate fails; nil where nobody asked for it, or there is no base.
func (x *inspection) baseline() *local.Baseline {
	if !x.options.baseline || x.subject.Base == "" {
		return nil
	}
	c := x.project.config.Workspace
	key := func(info gates.Info, s gates.Subject) string {
		if k := cache.Key(info, s, x.around); k != "" {
			return "base-" + k
		}
		return ""
	}
	return &local.Baseline{
		Repo: x.project.repo, Layout: x.project.layout, Settings: x.settings, Subject: x.subject,
		Setup: local.Setup{Copy: c.Copy, Command: c.Setup, Timeout: time.Duration(c.SetupTimeout), Env: x.app.Environ, Reaper: x.reaper},
		Note:  func(text string) { fmt.Fprintf(x.app.Stderr, "warning: %s\n", ui.Sanitize(text)) },
		Recall: func(info gates.Info, s gates.Subject) (gates.Report, bool) {
			if k := key(info, s); k != "" {
				return x.store.Get(k)
			}
			return gates.Report{}, false
		},
		Remember: func(info gates.Info, s gates.Subject, r gates.Report) {
			if k := key(info, s); k != "" && info.Pure {
				_ = x.store.Put(k, r) // without it the base is asked again
			}
		},
	}
}
