package gates

import (
	"context"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lists"
)

// The sorts of detected gates. A gate is named SORT:LANGUAGE, and SORT:LANGUAGE:ROOT below the root of the tree.
const (
	lintName  = "lint"
	testsName = "tests"
)

// Builtin returns the gates for the tree in dir: detected gates and configured gates. If a gate is turned off or not
// found, the list has a gate in its place that reports a skip. Call it again for each tree, because an agent may add or
// remove a language.
//
// The configuration can turn off or replace the gates in more by name, like those of this package. A configured gate
// replaces the gates that it names.
func Builtin(dir string, s Settings, more ...Gate) []Gate {
	var found []builtin
	var projects []Project
	why := "detection is turned off in the configuration, and no command gate is named tests"
	if s.Detect {
		projects = s.Projects(dir)
		found = append(found, linters(dir, projects)...)
		found = append(found, suites(dir, projects)...)
		why = noSuite(dir, projects)
	}
	replaced := func(gate string) bool {
		return slices.ContainsFunc(s.Commands, func(c CommandGate) bool { return covers(c.Name, gate) })
	}
	found = slices.DeleteFunc(found, func(b builtin) bool { return replaced(b.info.Name) })
	found = append(found, lists.Map(s.Commands, commandGate)...)
	if !slices.ContainsFunc(found, func(b builtin) bool { return covers(testsName, b.info.Name) }) {
		found = append(found, noTests(why))
	}
	out := make([]Gate, 0, len(found)+len(more))
	for _, b := range found {
		b.requireTests, b.reruns = s.RequireTests, s.FlakyReruns
		out = append(out, b)
	}
	out = append(out, lists.Filter(more, func(g Gate) bool { return !replaced(g.Info().Name) })...)
	for i, g := range out {
		info := g.Info()
		b, own := g.(builtin)
		switch {
		case slices.ContainsFunc(s.Disable, func(name string) bool { return covers(name, info.Name) }):
			info.Off = true
			out[i] = builtin{info: info, do: skipping("turned off in the configuration")}
		case own && s.Affected && info.Root != "" && info.Root != ".":
			b.affected = func(changed []string) bool { return affected(dir, Project{Root: info.Root}, projects, changed) }
			out[i] = b
		}
	}
	return underConditions(out, s)
}

// covers reports whether a name in the configuration means that gate.
func covers(name, gate string) bool {
	return name != "" && (gate == name || strings.HasPrefix(gate, name+":"))
}

func gateName(sort string, p Project) string {
	name := sort + ":" + string(p.Language)
	if p.Root != "." {
		name += ":" + p.Root
	}
	return name
}

func skipping(reason string) func(context.Context, *Look) error {
	return func(_ context.Context, w *Look) error {
		w.Skip("%s", reason)
		return nil
	}
}

func noSuite(dir string, projects []Project) string {
	if len(projects) == 0 {
		return "no test suite found: no project with tests was detected" + proposal(dir)
	}
	names := lists.Map(projects, func(p Project) string { return p.Marker })
	return "no test suite found, but there is " + strings.Join(names[:min(len(names), 5)], ", ") + proposal(dir)
}

// noTests returns the visible skip of a tree without a suite (GATE-04). [prove] checks whether there were tests before.
func noTests(why string) builtin {
	info := Info{Name: testsName, Kind: Static, Cost: Costly, Blocking: true, Unset: why}
	return builtin{info: info, do: func(_ context.Context, w *Look) error {
		if !w.requireTests {
			w.Skip("%s", why)
			return nil
		}
		w.Find(Finding{
			Rule: ruleRequired, Severity: Error, Message: why + "; this project requires tests",
			Fix: `add tests, configure a gate "tests" with the command that runs them, or do not require tests`,
		})
		return nil
	}}
}

// IsSuite reports whether a gate is a test suite, by its name.
func IsSuite(gate string) bool { return covers(testsName, gate) }

// Suites makes the test gates of the tree in dir, without the visible skip for a tree without tests.
func Suites(dir string, s Settings) []Gate {
	return lists.Filter(Builtin(dir, s),
		func(g Gate) bool {
			return IsSuite(g.Info().Name) && (g.Info().Name != testsName || g.Info().Command != "")
		})
}
