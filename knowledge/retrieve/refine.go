package retrieve

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/store"
)

// Refine extends the package of a task by the [Refinement] that the caller stored in the session under
// [store.KeyRefinementRequest] (RETR-14). The caller limits the number of refinements (RETR-16).
//
// Existing files and symbols that it names are added without asking a model. If whole files are new and the task has
// the stage precision, that stage judges their symbols.
func Refine(ctx context.Context, d Deps, r Request) (Package, error) {
	var want Refinement
	var s State
	switch found, err := d.Session.Get(ctx, store.KeyRefinementRequest, &want); {
	case err != nil:
		return Package{}, err
	case !found:
		return Package{}, fmt.Errorf("%w: the session has no %s", ErrNoEvidence, store.KeyRefinementRequest)
	}
	if err := want.Check(); err != nil {
		return Package{}, err
	}
	switch found, err := d.Session.Get(ctx, store.KeyFinalContext, &s); {
	case err != nil:
		return Package{}, err
	case !found:
		return Package{}, fmt.Errorf("%w: retrieve for task %s first", ErrNoContext, r.Task)
	}
	p, err := newPass(ctx, d, r)
	if err != nil {
		return Package{}, err
	}
	if _, err := d.Session.Get(ctx, store.KeyStageProgress, &p.progress); err != nil {
		return Package{}, err
	}
	if _, err := d.Session.Get(ctx, store.KeyStageOutputs, &p.outputs); err != nil {
		return Package{}, err
	}
	s.NotFound = nil
	p.refresh(&s)
	var added []string
	err = p.step(ctx, refinement, func() error { added, err = p.refine(ctx, &s, want.evidence()); return err })
	if err != nil {
		return Package{}, err
	}
	pkg, err := p.finish(ctx, s)
	pkg.Added = append(pkg.Added, added...)
	return pkg, err
}

// refinement is the name of a refinement in progress and decisions.
const refinement = "refinement"

// refresh updates the ids and hashes of files, because the repository may have been indexed again.
func (p *pass) refresh(s *State) {
	for i := range s.Files {
		f := p.names.at(s.Files[i].Path)
		s.Files[i].ID, s.Files[i].Hash = f.ID, f.Hash
	}
}

// refine adds what is missing and returns what is new.
func (p *pass) refine(ctx context.Context, s *State, e evidence) (added []string, err error) {
	for _, text := range e.ignored {
		p.note("refinement: %s contains no name to look up", text)
	}
	var asked clues
	for _, path := range e.paths {
		asked.addPlace(place{Path: path})
	}
	for _, name := range e.symbols {
		asked.addName(spoken{name, true})
	}
	m, err := p.lookUp(ctx, asked)
	if err != nil {
		return nil, err
	}
	shown := findClues(strings.Join(e.errors, "\n"))
	places, err := p.lookUp(ctx, shown)
	if err != nil {
		return nil, err
	}
	s.NotFound = m.unknown
	for _, u := range m.unknown {
		p.note("refinement: not in the repository: %s", u)
	}
	s.Query.Errors = append(s.Query.Errors, shown.Errors...)
	m.symbols = append(m.symbols, places.symbols...)
	for _, f := range places.files {
		if c, err := p.content(ctx, p.asFile(*s, f.Path)); err != nil {
			return nil, err
		} else if c.around(f.Line) == nil && !s.has(f.Path) {
			m.addFile(p.names.at(f.Path), 0, f.As) // outside of symbols, use the file itself
		}
	}
	var all []store.FileDecision
	fresh := map[string]bool{}
	for _, f := range m.files {
		if !s.has(f.Path) {
			s.add(p.names.at(f.Path), 1, true, "requested by the refinement")
			fresh[f.Path] = true
			added = append(added, f.Path)
		} else {
			added = append(added, p.more(s, f.Path)...)
		}
		all = append(all, store.FileDecision{File: f.ID, Path: f.Path, Tier: "1", Included: true,
			Reason: "the refinement requests " + f.As})
	}
	chosen, decided, err := p.require(ctx, s, m.symbols, places.files)
	if err != nil {
		return nil, errors.Join(err, p.decide(ctx, refinement, all))
	}
	added, all = append(added, chosen...), append(all, decided...)
	if err := p.decide(ctx, refinement, all); err != nil {
		return nil, err
	}
	if len(fresh) > 0 && s.Precise && slices.Contains(p.req.Stages, precisionName) {
		if err := p.rerun(ctx, s, fresh); err != nil {
			return nil, err
		}
	}
	return lists.Unique(added), nil
}

// more handles a requested file that is already in scope: its shown part was too small, so the whole file is shown.
func (p *pass) more(s *State, path string) []string {
	f := s.file(path)
	c := p.tree.source(path)
	whole := Choice{Path: path, Kind: kindFile, Start: 1, End: len(c.lines), Detail: Primary, Tier: f.Tier,
		Score: weightNamed, Why: "the refinement requests it"}
	if c.bad != "" || slices.Contains(s.Choices, whole) || !s.Precise {
		return nil
	}
	s.Choices = append(s.Choices, whole)
	return []string{path}
}

// require makes the requested symbols primary, and the symbols around the lines of errors.
func (p *pass) require(ctx context.Context, s *State, symbols []SymbolNamed, places []FileNamed) (added []string,
	all []store.FileDecision, err error) {
	type request struct{ path, name, why string }
	var requests []request
	byName := map[string]int{}
	for _, sym := range symbols {
		if byName[sym.As]++; byName[sym.As] > symbolFiles {
			continue
		}
		requests = append(requests, request{sym.Path, sym.Name, "the refinement requests " + sym.As})
	}
	for _, f := range places {
		c, err := p.content(ctx, p.asFile(*s, f.Path))
		if err != nil {
			return nil, nil, err
		}
		if x := c.around(f.Line); x != nil {
			requests = append(requests, request{f.Path, x.name, fmt.Sprintf("line %d of an error is in it", f.Line)})
		}
	}
	for _, w := range requests {
		if !s.has(w.path) {
			s.add(p.names.at(w.path), 1, true, "%s", w.why)
		}
		f := s.file(w.path)
		c, err := p.content(ctx, f)
		if err != nil {
			return nil, nil, err
		}
		for _, x := range c.find(w.name) {
			choice := piece{file: f, symbol: x}.choice(Primary, w.why)
			choice.Score += weightNamed
			i := slices.IndexFunc(s.Choices,
				func(o Choice) bool { return o.Path == w.path && o.Symbol == x.name && o.Start == x.start })
			switch {
			case i >= 0 && s.Choices[i].Detail == Primary:
				continue
			case i >= 0:
				s.Choices[i] = choice
			default:
				s.Choices = append(s.Choices, choice)
			}
			added = append(added, w.path+":"+x.name)
			all = append(all, store.FileDecision{File: f.ID, Path: f.Path, Symbol: x.name, Tier: string(Primary),
				Included: true, Reason: w.why})
		}
	}
	return added, all, nil
}

// asFile returns a file of the scope, or makes one.
func (p *pass) asFile(s State, path string) File {
	if s.has(path) {
		return s.file(path)
	}
	f := p.names.at(path)
	return File{ID: f.ID, Path: f.Path, Language: f.Language, Hash: f.Hash, Tier: 1}
}

// rerun runs precision on new files, and keeps what was requested by name.
func (p *pass) rerun(ctx context.Context, s *State, fresh map[string]bool) error {
	asked := slices.DeleteFunc(slices.Clone(s.Choices), func(c Choice) bool { return !fresh[c.Path] })
	return p.step(ctx, precisionName, func() error {
		next, decided, err := p.choose(ctx, *s, func(f File) bool { return fresh[f.Path] })
		if err := errors.Join(err, p.decide(ctx, precisionName, decided)); err != nil {
			return err
		}
		for _, c := range asked {
			next.Choices = slices.DeleteFunc(next.Choices,
				func(o Choice) bool { return o.Path == c.Path && o.Symbol == c.Symbol && o.Start == c.Start })
			next.Choices = append(next.Choices, c)
		}
		*s = next
		p.outputs[precisionName] = next
		return p.Session.Set(ctx, store.KeyStageOutputs, p.outputs)
	})
}
