package gates

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/runplan/runplan/gates/testout"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/proc"
)

// commandGate makes a gate of a configured command.
func commandGate(c CommandGate) builtin {
	info := Info{Name: c.Name, Kind: Static, Cost: Costly, Blocking: c.Blocking == nil || *c.Blocking}
	args := slices.Clone(c.Command)
	if len(args) > 0 {
		info.Command = commandLine(c.Dir, args)
	} else {
		args = []string{"bash", "-eu", "-o", "pipefail", "-c", c.Shell}
		info.Command = c.Shell
	}
	return builtin{info: info, limit: c.Timeout, do: func(ctx context.Context, w *Look) error {
		if len(c.Command) == 0 && strings.TrimSpace(c.Shell) == "" {
			return errors.New("it has no command: set one in the configuration")
		}
		if skip, err := untouched(c.Paths, w.subject); err != nil || skip {
			if skip {
				w.Skip("nothing that changed matches %s", strings.Join(c.Paths, ", "))
			}
			return err
		}
		out, err := w.run(ctx, program{args: args, dir: c.Dir, env: c.Env})
		if len(c.Command) == 0 && errors.Is(err, proc.ErrNotFound) {
			out, err = w.run(ctx, program{args: []string{"sh", "-eu", "-c", c.Shell}, dir: c.Dir, env: c.Env})
		}
		if err != nil {
			return err
		}
		if len(c.Command) == 0 {
			w.rep.Command = info.Command
		}
		res := testout.Text(out.text)
		if err := w.hindered(out, res.Failures); err != nil {
			return err
		}
		if !out.ok() && len(res.Failures) == 0 {
			res.Failures = places(w, c.Dir, out.text)
		}
		note(w, c.Dir, "", out, res)
		w.rep.Cases = res.Cases
		if covers(testsName, c.Name) {
			w.uncalibrated("it is a configured command")
		}
		if res.Known || covers(testsName, c.Name) {
			conclude(w, res)
		}
		return nil
	}}
}

// untouched reports whether no changed path matches. If the changes are unknown, everything may have changed.
func untouched(globs []string, s Subject) (bool, error) {
	for _, g := range globs {
		if !doublestar.ValidatePattern(g) {
			return false, fmt.Errorf("paths of the gate: %q is not a valid glob; correct it in the configuration", g)
		}
	}
	if len(globs) == 0 || s.Changed == nil {
		return false, nil
	}
	for _, g := range globs {
		for _, p := range s.Changed {
			if doublestar.MatchUnvalidated(g, p) {
				return false, nil
			}
		}
	}
	return true, nil
}

var placeLine = lazyre.New(`^(?:\s*(?:error|ERROR):?\s+)?((?:\./)?[\w@+./-]+\.\w+):(\d+)(?::(\d+))?:?\s+(.+)$`)

// places finds messages of linters and compilers in the form PATH:LINE:COL: MESSAGE, with a path in the tree.
func places(w *Look, dir, text string) []testout.Failure {
	var out []testout.Failure
	for _, l := range strings.Split(text, "\n") {
		m := placeLine.FindStringSubmatch(l)
		if m == nil || len(out) >= 50 {
			continue
		}
		if w.existing(dir, m[1]) != "" {
			out = append(out, testout.Failure{Path: m[1], Line: Atoi(m[2]), Col: Atoi(m[3]), Message: m[4]})
		}
	}
	return out
}
