package blueprint

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/runplan/runplan/knowledge/summary"
	"github.com/runplan/runplan/patterns"
)

// Scope narrows a blueprint to the parts for the role of a file (BP-16). A router is responsible for its interfaces and
// their failures, a model for the data models, a client for the dependencies, and the core for intent and failures. For
// other roles, the blueprint is not narrowed. seen is the summary of the file. With it, a router is responsible only
// for its own endpoints, or for all endpoints if it is the only router.
func (b *Blueprint) Scope(path string, seen *summary.Summary) (*Blueprint, bool) {
	i := slices.IndexFunc(b.SourceFiles, func(f SourceFile) bool { return f.Path == path })
	if i < 0 {
		return nil, false
	}
	role := strings.ToLower(b.SourceFiles[i].Role)
	is := func(words ...string) bool { return slices.Contains(words, role) }
	out := *b
	out.SourceFiles = []SourceFile{b.SourceFiles[i]}
	switch {
	case is("router", "api"):
		out.Interfaces = b.routed(seen)
		ends := out.Endpoints()
		out.FailureModes = slices.DeleteFunc(slices.Clone(b.FailureModes), func(f FailureMode) bool {
			return f.Interface != "" && !slices.ContainsFunc(ends, func(e Endpoint) bool { return e.Name() == f.Interface })
		})
		out.Dependencies, out.Contract = Dependencies{Shared: b.Dependencies.Shared}, Contract{}
		out.Intent.DesignDecisions = nil
	case is("model", "schema"):
		// The models that interfaces exchange keep their names.
		out.FailureModes, out.Dependencies = nil, Dependencies{Shared: b.Dependencies.Shared}
		out.Interfaces = b.withEndpoints(func(e Endpoint) bool { return e.Request != "" || e.Response != "" })
		out.Intent.DesignDecisions = nil
	case is("client"):
		out.Interfaces, out.FailureModes, out.Contract = nil, nil, Contract{}
		out.Intent.DesignDecisions = nil
	case is("core", "logic"):
		out.Interfaces, out.Dependencies, out.Contract = nil, Dependencies{Shared: b.Dependencies.Shared}, Contract{}
	}
	return &out, true
}

// routed returns the interfaces of a router. If several files are routers, each router is checked for the endpoints
// that it has; endpoints missing from all of them are checked for the whole unit.
func (b *Blueprint) routed(seen *summary.Summary) []Interface {
	routers := 0
	for _, f := range b.SourceFiles {
		if role := strings.ToLower(f.Role); role == "router" || role == "api" {
			routers++
		}
	}
	if seen == nil || routers < 2 {
		return b.Interfaces
	}
	return b.withEndpoints(func(e Endpoint) bool {
		return slices.ContainsFunc(seen.Endpoints, func(s summary.Endpoint) bool { return endsAlike(s.Path, e.Path) })
	})
}

// endsAlike reports whether a path of the source is the blueprint's path or ends it, because it may be mounted below
// a prefix.
func endsAlike(source, declared string) bool {
	s, d := summary.NormalPath(source), summary.NormalPath(declared)
	return s == d || s != "/" && strings.HasSuffix(d, s)
}

// withEndpoints returns the HTTP interfaces that have endpoints for which keep is true, with these endpoints only.
func (b *Blueprint) withEndpoints(keep func(Endpoint) bool) []Interface {
	var out []Interface
	for _, in := range b.Interfaces {
		if in.HTTP == nil {
			continue
		}
		http := *in.HTTP
		http.Endpoints = slices.DeleteFunc(slices.Clone(http.Endpoints), func(e Endpoint) bool { return !keep(e) })
		if len(http.Endpoints) > 0 {
			in.HTTP = &http
			out = append(out, in)
		}
	}
	return out
}

// Summaries returns the summaries of source files of a unit, and the missing or unreadable files.
func Summaries(ctx context.Context, o summary.Options, b *Blueprint, paths []string) ([]summary.Summary,
	[]patterns.Skip, error) {
	o.Clients = b.Clients()
	var there []string
	var gone []patterns.Skip
	for _, p := range paths {
		if _, err := os.Lstat(filepath.Join(o.Root, filepath.FromSlash(p))); errors.Is(err, fs.ErrNotExist) {
			gone = append(gone, patterns.Skip{Path: p, Reason: "it does not exist"})
			continue
		}
		there = append(there, p)
	}
	files, skipped, err := summary.Files(ctx, o, there)
	if err != nil {
		return nil, nil, err
	}
	for _, f := range files {
		if f.Partial != "" {
			skipped = append(skipped, patterns.Skip{Path: f.Path, Reason: "in part: " + f.Partial})
		}
	}
	return files, append(gone, skipped...), nil
}
