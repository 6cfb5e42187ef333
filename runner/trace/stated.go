package trace

import (
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/runner"
)

// The limits for reading documents.
const (
	maxDocument  = 4 << 20
	maxDocuments = 200
)

// Stated are the requirements that the documents of a plan state.
type Stated struct {
	All   []planparse.Requirement
	aside map[string]bool // documents of the whole repository, whose requirements need not all be named by a task
}

// Read reads the requirements that belong to a plan: those of the plan itself, of spec.md, requirements.md and prd.md
// next to it, of specs/*/spec.md below its folder, and of the markdown files that the plan links to before its first
// batch. From requirements.md and docs/requirements.md of the repository, only requirements named by a task count.
//
// name is the plan's path in files. hide removes secrets from a text. Unreadable documents are ignored.
func Read(files fs.FS, name string, text []byte, hide func(string) string) Stated {
	plan, err := planparse.Parse(name, text)
	if err != nil {
		return Stated{}
	}
	s := Stated{aside: map[string]bool{}}
	taken := map[string]bool{}
	s.add(plan.Requirements(name, text), taken)
	dir := path.Dir(name)
	near := []string{path.Join(dir, "spec.md"), path.Join(dir, "requirements.md"), path.Join(dir, "prd.md")}
	if below, err := fs.Glob(files, path.Join(literal(dir), "specs/*/spec.md")); err == nil {
		near = append(near, below...)
	}
	near = append(near, linked(plan.Preamble, dir)...)
	seen := map[string]bool{name: true}
	read := func(list []string, aside bool) {
		for _, doc := range list {
			if seen[doc] || len(seen) > maxDocuments {
				continue
			}
			seen[doc], s.aside[doc] = true, aside
			if src, ok := document(files, doc); ok {
				s.add(planparse.Requirements(doc, []byte(hide(string(src)))), taken)
			}
		}
	}
	read(near, false)
	read([]string{"requirements.md", "docs/requirements.md"}, true)
	return s
}

// literal makes a path a pattern that only matches itself.
func literal(name string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(name)
}

// document reads a file of at most maxDocument bytes.
func document(files fs.FS, name string) ([]byte, bool) {
	f, err := files.Open(name)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > maxDocument {
		return nil, false
	}
	src, err := io.ReadAll(io.LimitReader(f, maxDocument))
	return src, err == nil
}

// linked lists the markdown files that a text names in links and in code, as paths from the root or from dir.
func linked(text, dir string) []string {
	var out []string
	for _, m := range regexp.MustCompile("\\]\\(<?([^)<>\\s#]+\\.md)|`([^`\\s]+\\.md)`").FindAllStringSubmatch(text, -1) {
		name := m[1] + m[2]
		for _, full := range []string{path.Join(dir, name), path.Clean(strings.TrimPrefix(name, "/"))} {
			if fs.ValidPath(full) && !slices.Contains(out, full) {
				out = append(out, full)
			}
		}
	}
	return out
}

// add adds the requirements of a document. An id that was stated before keeps its meaning; OpenSpec titles may
// occur in several capabilities.
func (s *Stated) add(list []planparse.Requirement, taken map[string]bool) {
	renamed := map[string]string{}
	for _, q := range list {
		if to, ok := renamed[q.Parent]; ok {
			q.ID, q.Parent = to+strings.TrimPrefix(q.ID, q.Parent), to
		} else if taken[q.ID] && q.Kind == planparse.KindRequirement && q.ID == q.Title {
			to := path.Base(path.Dir(q.Path)) + ": " + q.ID
			renamed[q.ID], q.ID = to, to
		}
		if !taken[q.ID] {
			taken[q.ID] = true
			s.All = append(s.All, q)
		}
	}
}

// Info returns the requirements that a run stores: those in the plan's own documents, and those that its batches name.
func (s Stated) Info(plan *planparse.Plan, text []byte) []runner.RequirementInfo {
	named := map[string][]string{}
	for _, m := range plan.Mentions(text, s.All) {
		if key := plan.Batches[m.Batch].Key; !slices.Contains(named[m.ID], key) {
			named[m.ID] = append(named[m.ID], key)
		}
	}
	var out []runner.RequirementInfo
	for _, q := range s.All {
		if s.aside[q.Path] && named[q.ID] == nil {
			continue
		}
		out = append(out, runner.RequirementInfo{
			ID: q.ID, Path: q.Path, Line: q.Line, Digest: runner.WordingDigest(q.Text), Text: q.Text, Batches: named[q.ID],
		})
	}
	return out
}
