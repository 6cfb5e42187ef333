package rulebook

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/runplan/runplan/gates/measured"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/config"
	"github.com/runplan/runplan/lessons"
	"github.com/runplan/runplan/patterns"
	"github.com/runplan/runplan/runner/journal"
)

// RuleLayer names a folder of lessons and a folder of patterns that are not built in.
type RuleLayer struct{ name, Lessons, Patterns string }

// has reports whether the folder that the named gate reads exists.
func (l RuleLayer) has(gate string) bool {
	dir := map[string]string{"lessons": l.Lessons, "patterns": l.Patterns}[gate]
	if dir == "" {
		return false
	}
	_, err := os.Stat(dir)
	return err == nil
}

// RuleLayers returns the rule folders of the user and of the project at root. Later layers override earlier ones. A
// user without a home folder has none.
func RuleLayers(a *cli.App, root string) []RuleLayer {
	at := func(name, dir string) RuleLayer {
		return RuleLayer{name, filepath.Join(dir, "lessons"), filepath.Join(dir, "patterns")}
	}
	var out []RuleLayer
	if file, err := config.UserFile(a.Getenv); err == nil {
		out = append(out, at(string(patterns.User), filepath.Dir(file)))
	}
	return append(out, at(string(patterns.Project), filepath.Join(root, journal.DirName)))
}

// RuleBooks holds the two rule libraries. Each is loaded when a gate first uses it.
type RuleBooks struct {
	Lessons  func() (*lessons.Scanner, error)
	Patterns func() ([]patterns.Rule, error)
	Program  func(context.Context) (patterns.Program, error)
	layers   []RuleLayer // the layers that are not built in
}

// OpenRuleBooks returns the lessons and patterns of a project. Each is read when a gate first uses it.
func OpenRuleBooks(ctx context.Context, p *cli.Project) *RuleBooks {
	root := p.Repo.Root
	find := sync.OnceValues(func() (patterns.Program, error) {
		return patterns.Find(context.WithoutCancel(ctx), p.Environ, p.Config.Gates.AstGrep)
	})
	return &RuleBooks{
		Lessons: sync.OnceValues(func() (*lessons.Scanner, error) {
			lib, _, err := lessonsOf(p.App, root)
			if err != nil {
				return nil, err
			}
			s, err := lessons.NewScanner(lib.Lessons, lessons.Options{})
			if err != nil {
				return nil, cli.Usage(err, "correct the lesson")
			}
			return s, nil
		}),
		Patterns: sync.OnceValues(func() ([]patterns.Rule, error) { return patternsOf(p.App, root) }),
		Program:  func(context.Context) (patterns.Program, error) { return find() },
		layers:   RuleLayers(p.App, root),
	}
}

// HasOwn reports whether the user or the project has own rules for a gate, which may contain errors.
func (b *RuleBooks) HasOwn(gate string) bool {
	return slices.ContainsFunc(b.layers, func(l RuleLayer) bool { return l.has(gate) })
}

// Read loads the library of a gate and returns its error.
func (b *RuleBooks) Read(gate string) (err error) {
	switch gate {
	case "lessons":
		_, err = b.Lessons()
	case "patterns":
		_, err = b.Patterns()
	}
	return err
}

// measuredOf returns the measured precision of a built-in rule.
func measuredOf(rule string, builtIn bool) string {
	if !builtIn {
		return "-"
	}
	return measured.Of(rule).String()
}
