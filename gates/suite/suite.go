// Package suite assembles the gates of a tree: those that package gates detects from the files of a project, those that
// the settings name, and those of the packages below package gates. It is the only package that knows all of them, so a
// new gate is added here.
package suite

import (
	"slices"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/acceptance"
	"github.com/runplan/runplan/gates/hygiene"
	"github.com/runplan/runplan/gates/links"
	"github.com/runplan/runplan/gates/review/security"
	"github.com/runplan/runplan/gates/secrets"
	"github.com/runplan/runplan/gates/tamper"
	"github.com/runplan/runplan/gates/types"
)

// All makes the gates for the tree in dir. Make them again for each tree.
func All(dir string, s gates.Settings) []gates.Gate {
	more := []gates.Gate{
		tamper.Protected(s.Protected, s.Checks()), tamper.New(), secrets.New(), links.New(), hygiene.DeniedCommands(), hygiene.License(),
		hygiene.Docs(),
	}
	// a review has its own, which blocks
	if !slices.ContainsFunc(s.More, func(g gates.Gate) bool { return g.Info().Name == security.Built }) {
		more = append(more, security.Advice())
	}
	if s.MaxFileLines > 0 {
		more = append(more, hygiene.Size(s.MaxFileLines))
	}
	if s.MinMemoryMB > 0 {
		more = append(more, hygiene.Memory(s.MinMemoryMB, s.Memory))
	}
	if s.Detect {
		more = append(more, types.All(dir, s.Projects(dir), s.StrictTypes)...)
	}
	if s.Acceptance != "" {
		more = append(more, acceptance.New(s.Acceptance, s.Engine))
	}
	return gates.Builtin(dir, s, append(more, s.More...)...)
}
