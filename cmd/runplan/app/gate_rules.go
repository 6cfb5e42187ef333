package app

import (
	"context"
	"os"
	"path/filepath"
	"sync"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/config"
	"github.com/runplan/runplan/lessons"
	"github.com/runplan/runplan/patterns"
	"github.com/runplan/runplan/runner/local"
)

// ruleLayer names a folder of lessons and a folder of patterns that are not built in.
type ruleLayer struct{ name, lessons, patterns string }

// has reports whether the folder that the named gate reads exists.
func (l ruleLayer) has(gate string) bool {
	dir := map[string]string{"lessons": l.lessons, "patterns": l.patterns}[gate]
	if dir == "" {
		return false
	}
	_, err := os.Stat(dir)
	return err == nil
}

// ruleLayers returns the rule folders of the user and of the project at root. Later layers override earlier ones. A
// user without a home folder has none.
func ruleLayers(a *cli.App, root string) []ruleLayer {
	at := func(name, dir string) ruleLayer {
		return ruleLayer{name, filepath.Join(dir, "lessons"), filepath.Join(dir, "patterns")}
	}
	var out []ruleLayer
	if file, err := config.UserFile(a.Getenv); err == nil {
		out = append(out, at(string(patterns.User), filepath.Dir(file)))
	}
	return append(out, at(string(patterns.Project), filepath.Join(root, local.DirName)))
}

// ruleBooks holds the two rule libraries. Each is loaded when a gate first uses it.
type ruleBooks struct {
	lessons  func() (*lessons.Scanner, error)
	patterns func() ([]patterns.Rule, error)
	program  func(context.Context) (patterns.Program, error)
}

func openRuleBooks(ctx context.Context, a *cli.App, p *cli.Project) *ruleBooks {
	root := p.Repo.Root
	find := sync.OnceValues(func() (patterns.Program, error) {
		return patterns.Find(context.WithoutCancel(ctx), a.Environ, p.Config.Gates.AstGrep)
	})
	return &ruleBooks{
		lessons: sync.OnceValues(func() (*lessons.Scanner, error) {
			lib, _, err := lessonsOf(a, root)
			if err != nil {
				return nil, err
			}
			s, err := lessons.NewScanner(lib.Lessons, lessons.Options{})
			if err != nil {
				return nil, cli.Usage(err, "correct the lesson")
			}
			return s, nil
		}),
		patterns: sync.OnceValues(func() ([]patterns.Rule, error) { return patternsOf(a, root) }),
		program:  func(context.Context) (patterns.Program, error) { return find() },
	}
}

// gates returns the names of the gates that use the libraries.
func (*ruleBooks) gates() []string { return []string{"lessons", "patterns"} }

// read loads the library of a gate and returns its error.
func (b *ruleBooks) read(gate string) (err error) {
	switch gate {
	case "lessons":
		_, err = b.lessons()
	case "patterns":
		_, err = b.patterns()
	}
	return err
}
