package blueprint

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/rooted"
	"github.com/runplan/runplan/knowledge/summary"
	"github.com/runplan/runplan/patterns"
)

// Draft makes a candidate from existing code: interfaces from its routes, dependencies from its calls, failure modes
// from its handlers. Facts that code does not show, such as its purpose, become open questions and lower the
// confidence. own has the name prefixes of the project's own packages; see [summary.Own].
func Draft(unit string, files []summary.Summary, unseen []patterns.Skip, own []string) *Blueprint {
	b := &Blueprint{Unit: unit,
		Intent: Intent{Purpose: "To be written: what is " + unit + " for?", CognitiveRole: "To be written: what part does " +
			unit + " play among the parts?"}}
	b.ask("What is %s for, and what is it not for?", unit)
	b.ask("Are the failure modes below all that matter, and are their responses the wanted ones?")
	b.Dependencies.Services, b.FailureModes, b.Interfaces = []Service{}, []FailureMode{}, []Interface{}
	draftInterfaces(b, files)
	draftDependencies(b, files, own)
	draftFailures(b, files)
	for _, f := range files {
		b.SourceFiles = append(b.SourceFiles, SourceFile{f.Path, roleOf(f)})
		for _, e := range f.Enums {
			d := Enum{Name: e.Name}
			for _, m := range e.Members {
				text := m.Name
				if m.Value != "" {
					text += " = " + bare(m.Value)
				}
				d.Members = append(d.Members, text)
			}
			b.Contract.Enums = append(b.Contract.Enums, d)
		}
		if roleOf(f) == "model" {
			for _, k := range f.Classes {
				if k.Kind == "class" && len(k.Fields) > 0 && public(f.Language, k.Name) {
					b.Contract.Models = append(b.Contract.Models, Model{k.Name, names(k.Fields)})
				}
			}
		}
	}
	for _, u := range unseen {
		b.SourceFiles = append(b.SourceFiles, SourceFile{u.Path, "unknown"})
		b.ask("What does %s promise? It could not be read: %s", u.Path, u.Reason)
	}
	slices.SortFunc(b.SourceFiles, func(a, b SourceFile) int { return strings.Compare(a.Path, b.Path) })
	sure, half, none := 0.6, 0.4, 0.0
	b.Meta = Meta{Confidence: Confidence{Contract: &sure, Dependencies: &sure, FailureModes: &half, Intent: &none},
		Notes: "Drafted from the code. It shows what the code does; its authors must say what it should do."}
	return b
}

// ask adds an open question.
func (b *Blueprint) ask(format string, args ...any) {
	b.Intent.OpenQuestions = append(b.Intent.OpenQuestions, fmt.Sprintf(format, args...))
}

func names(fields []string) []string {
	var out []string
	for _, f := range fields {
		out = lists.Add(out, fieldName(f))
	}
	return out
}

func draftInterfaces(b *Blueprint, files []summary.Summary) {
	http := &HTTPRest{}
	var library []string
	for _, f := range files {
		if language.IsTest(f.Path) {
			continue // TestMain and examples are not interfaces
		}
		for _, e := range f.Endpoints {
			p := summary.NormalPath(e.Path)
			if e.Method == "WEBSOCKET" {
				b.Interfaces = append(b.Interfaces, Interface{Type: TypeSocket, Socket: &WebSocket{Path: p}})
				continue
			}
			one := Endpoint{Method: e.Method, Path: p}
			if e.Method == "ANY" {
				one.Method = "GET"
				b.ask("Which methods should %s answer? The code takes any.", p)
			}
			if !slices.ContainsFunc(http.Endpoints, func(o Endpoint) bool { return o.Name() == one.Name() }) {
				http.Endpoints = append(http.Endpoints, one)
			}
		}
		for _, fn := range f.Functions {
			if public(f.Language, fn.Name) && len(f.Endpoints) == 0 && !strings.HasPrefix(fn.Signature, "func (") {
				library = lists.Add(library, fn.Name)
			}
		}
		for _, k := range f.Classes {
			if public(f.Language, k.Name) {
				library = lists.Add(library, k.Name)
			}
		}
		if len(f.Mounts) > 0 {
			b.ask("Which routes are mounted below %s? Their paths here are those of the files that define them.",
				strings.Join(f.Mounts, ", "))
		}
	}
	switch {
	case len(http.Endpoints) > 0:
		b.Interfaces = append([]Interface{{Type: TypeHTTP, HTTP: http}}, b.Interfaces...)
	case len(library) > 0 && len(b.Interfaces) == 0:
		b.Interfaces = append(b.Interfaces, Interface{Type: TypeLibrary, Library: &Library{Symbols: library}})
	case len(b.Interfaces) == 0:
		b.ask("How is %s called? The code shows no entry point.", b.Unit)
	}
}

func draftDependencies(b *Blueprint, files []summary.Summary, own []string) {
	at := map[string]int{}
	for _, f := range files {
		for _, c := range f.HTTPCalls {
			if c.Kind == summary.HTTP {
				b.ask("Which unit is behind %s %s in %s, and through which client should it be called?", c.Method, c.Target, f.Path)
				continue
			}
			name := simple(c.Target)
			i, ok := at[name]
			if !ok {
				i = len(b.Dependencies.Services)
				at[name] = i
				b.Dependencies.Services = append(b.Dependencies.Services, Service{Name: name, Client: c.Target})
			}
			s := &b.Dependencies.Services[i]
			s.Calls = lists.Add(s.Calls, c.Method)
		}
	}
	// Imports from other parts of the project count as shared until the owner changes that.
	c := checker{b: &Blueprint{Dependencies: b.Dependencies}, o: summary.Options{Own: own}}
	for _, f := range files {
		c.b.SourceFiles = append(c.b.SourceFiles, SourceFile{Path: f.Path})
	}
	for _, f := range files {
		for _, imp := range f.InternalImports {
			if !strings.HasPrefix(imp.Path, ".") && !c.mayImport(f, imp) {
				b.Dependencies.Shared = lists.Add(b.Dependencies.Shared, imp.Path)
			}
		}
	}
	slices.Sort(b.Dependencies.Shared)
	if len(b.Dependencies.Shared) > 0 {
		b.ask("Are all of dependencies.shared libraries for every unit, or is one of them another unit?")
	}
}

func draftFailures(b *Blueprint, files []summary.Summary) {
	seen := map[string]bool{}
	for _, f := range files {
		for _, h := range f.ErrorHandlers {
			if len(h.Status) == 0 {
				continue
			}
			types := h.Types
			if len(types) == 0 {
				types = []string{""}
			}
			for _, t := range types {
				m := FailureMode{Exception: t, Status: h.Status[0], Response: fmt.Sprintf("answers %d", h.Status[0])}
				m.Condition = t
				if t == "" {
					m.Condition = "when " + h.Guard
				}
				if h.Guard == "" && t == "" {
					m.Condition = "any failure in " + h.Function
				}
				if key := m.Condition + m.Response; !seen[key] {
					seen[key] = true
					b.FailureModes = append(b.FailureModes, m)
				}
			}
		}
	}
}

// roleOf guesses a role from the name of a file, and from what is in it.
func roleOf(f summary.Summary) string {
	stem := strings.ToLower(strings.TrimSuffix(path.Base(f.Path), path.Ext(f.Path)))
	for _, r := range []struct{ role, words string }{
		{"router", "router routes views handlers controller controllers endpoints"}, {"api", "api"},
		{"model", "model models types entities dto"},
		{"schema", "schema schemas"}, {"client", "client clients"}, {"logic", "logic service services"},
	} {
		if slices.Contains(strings.Fields(r.words), stem) {
			return r.role
		}
	}
	if len(f.Endpoints) > 0 {
		return "router"
	}
	return "core"
}

// Save writes a blueprint of a repository. An existing one is not replaced.
func Save(root string, b *Blueprint, s State) (string, error) {
	name := PathOf(b.Unit, s)
	text := b.YAML()
	if _, err := parseNamed(name, b.Unit, []byte(text)); err != nil {
		return name, fmt.Errorf("the draft is not a valid blueprint: %w", err)
	}
	if rooted.Exists(root, name) {
		return name, fmt.Errorf("%s already exists", name)
	}
	return name, rooted.Write(root, name, []byte(text))
}
