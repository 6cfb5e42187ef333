package blueprint

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/rooted"
	"github.com/runplan/runplan/knowledge/summary"
	"github.com/runplan/runplan/patterns"
)

// Gate compares changed source files with their live blueprints. It is skipped if there are no live blueprints, or if
// none of their source files changed. A batch may change a live blueprint only if it names the file. Otherwise the
// change is a finding, and the old blueprint counts.
func Gate(find func(context.Context) (patterns.Program, error)) gates.Gate {
	info := gates.Info{Name: "blueprint", Kind: gates.Static, Cost: gates.Cheap, Blocking: true, Pure: true}
	return gates.New(info, func(ctx context.Context, l *gates.Look) error {
		g := gateLook{Look: l, root: l.Subject().Dir, find: find}
		return g.look(ctx)
	})
}

type gateLook struct {
	*gates.Look
	root    string
	invalid bool // a blueprint that cannot be read was found
	find    func(context.Context) (patterns.Program, error)
	changes []gates.Change
}

func (g *gateLook) look(ctx context.Context) error {
	units, err := Units(g.root, Live)
	if err != nil {
		return err
	}
	if err := g.changed(ctx); err != nil {
		return err
	}
	for _, c := range g.changes { // a removed one counts too
		if unit, ok := unitOf(c.Path); ok && !slices.Contains(units, unit) {
			units = append(units, unit)
		}
	}
	slices.Sort(units)
	if len(units) == 0 {
		g.Skip("there is no live blueprint")
		return nil
	}
	looked := 0
	var unseen []string
	options, ready := summary.Options{}, false
	for _, unit := range units {
		b, err := g.blueprint(ctx, unit)
		if err != nil {
			return err
		}
		if b == nil || !g.concerns(b) {
			continue
		}
		if !ready {
			if options, err = g.options(ctx); err != nil {
				return err
			}
			ready = true
		}
		c, err := Check(ctx, b, Live, options)
		if err != nil {
			return err
		}
		looked++
		for _, f := range c.Findings {
			g.Find(f)
		}
		unseen = append(unseen, lists.Map(c.Unseen,
			func(u patterns.Skip) string { return u.Path + " (" + u.Reason + ")" })...)
		if len(c.Unseen) == len(b.SourceFiles) && len(c.Findings) == 0 {
			looked--
		}
	}
	if len(unseen) > 0 {
		g.Note("not checked: %s", strings.Join(unseen[:min(len(unseen), 10)], ", "))
	}
	switch {
	case looked > 0 || g.invalid:
	case len(unseen) > 0:
		g.Skip("none of the source files could be read: %s", unseen[0])
	default:
		g.Skip("no source file of a live blueprint changed")
	}
	return nil
}

// changed lists the differing files.
func (g *gateLook) changed(ctx context.Context) error {
	sub := g.Subject()
	if sub.Diff == nil {
		for _, p := range sub.Changed {
			g.changes = append(g.changes, gates.Change{Path: p, Status: gates.Modified})
		}
		return nil
	}
	var err error
	g.changes, err = sub.Diff.Changes(ctx)
	return err
}

func (g *gateLook) change(p string) (gates.Change, bool) {
	i := slices.IndexFunc(g.changes, func(c gates.Change) bool { return c.Path == p })
	if i < 0 {
		return gates.Change{}, false
	}
	return g.changes[i], true
}

// unitOf returns the unit whose live blueprint has the path p.
func unitOf(p string) (string, bool) {
	name, ok := strings.CutPrefix(p, Folder+"/")
	unit, yaml := strings.CutSuffix(name, ".yaml")
	return unit, ok && yaml && !strings.Contains(unit, "/") && ValidUnit(unit) == nil
}

// blueprint returns the blueprint to compare a unit with; nil if none applies.
func (g *gateLook) blueprint(ctx context.Context, unit string) (*Blueprint, error) {
	name := PathOf(unit, Live)
	sub := g.Subject()
	c, changed := g.change(name)
	moved := changed && c.Status != gates.Added && sub.Diff != nil && !sub.Names(name)
	if moved && sub.Batch.Number == "" { // a person's own change, which reviewers see as such
		g.Find(gates.Finding{Rule: RuleChanged, Path: name, Severity: gates.Warning,
			Message: "a live blueprint changes along with the code; the code was compared with the new one",
			Fix:     "runplan blueprint promote is the way to a live blueprint"})
		moved = false
	}
	var src []byte
	var err error
	if moved {
		g.Find(gates.Finding{
			Rule: RuleChanged, Path: name, Severity: gates.Error,
			Message: "the change rewrites a live blueprint; the code was compared with the old one",
			Fix:     "leave the blueprint unchanged, or have the batch name it; use runplan blueprint promote to another one",
		})
		src, err = sub.Diff.Before(ctx, name)
	} else {
		src, err = rooted.Read(g.root, name, maxFile+1)
		if errors.Is(err, os.ErrNotExist) {
			return nil, nil // a person removed it, or the batch names it
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read the blueprint %s: %w", name, err)
	}
	b, err := parseNamed(name, unit, src)
	if wrong, ok := errors.AsType[FileErrors](err); ok {
		g.invalid = true
		for _, e := range wrong {
			g.Find(gates.Finding{Rule: RuleInvalid, Path: name, Line: e.Line, Severity: gates.Error, Message: e.Message})
		}
		return nil, nil
	}
	return b, err
}

// concerns reports whether the change is about a unit.
func (g *gateLook) concerns(b *Blueprint) bool {
	if _, ok := g.change(b.File()); ok {
		return true
	}
	return slices.ContainsFunc(b.SourceFiles, func(f SourceFile) bool {
		_, ok := g.change(f.Path)
		return ok
	})
}

func (g *gateLook) options(ctx context.Context) (summary.Options, error) {
	p, err := g.find(ctx)
	if err != nil && !errors.Is(err, patterns.ErrMissing) {
		return summary.Options{}, err
	}
	sub := g.Subject()
	p.Env, p.Limit, p.Reaper = sub.Env, sub.Timeout, sub.Reaper
	return summary.Options{Root: g.root, Program: p, Own: summary.Own(os.DirFS(g.root))}, nil
}
