package blueprint

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/rooted"
	"github.com/runplan/runplan/knowledge/outline"
	"github.com/runplan/runplan/knowledge/summary"
	"github.com/runplan/runplan/patterns"
)

// The rules of the mechanical check.
const (
	RuleInvalid    = "blueprint/invalid"             // the blueprint cannot be read
	RuleChanged    = "blueprint/changed"             // a live blueprint was changed along with the code
	RuleSource     = "blueprint/source-missing"      // a source file is missing
	RuleEndpoint   = "blueprint/endpoint-missing"    // a declared endpoint is missing in the code
	RuleUndeclared = "blueprint/endpoint-undeclared" // an endpoint of the code is not declared
	RuleInterface  = "blueprint/interface-missing"   // a promised function, tool, command or topic is missing
	// an enumeration, a constant or a model differs from its declaration
	RuleContract      = "blueprint/contract-differs"
	RuleRawHTTP       = "blueprint/raw-http"              // a call that bypasses the client utilities
	RuleDependency    = "blueprint/dependency-undeclared" // a call of an undeclared unit
	RuleCall          = "blueprint/call-undeclared"       // an undeclared call of a declared unit
	RuleUnused        = "blueprint/dependency-unused"     // a declared unit is never called
	RuleImport        = "blueprint/import-undeclared"     // another unit's code is imported
	RuleFailure       = "blueprint/failure-unhandled"     // a failure mode without a handler
	RuleResponse      = "blueprint/failure-response"      // a failure mode whose handler answers differently
	RuleUntyped       = "blueprint/untyped"               // a public function without types
	RuleUndocumented  = "blueprint/undocumented"          // a module, class or public function without a docstring
	mostOfOneRule     = 25                                // reported findings of one rule
	mostWords         = 400_000                           // characters of source that are searched for a word
	unknownInterfaces = "tools, commands, methods and topics are searched by their words only"
)

// Checked is the result of a mechanical check.
type Checked struct {
	Unit     string          `json:"unit"`
	State    State           `json:"state"`
	Findings []gates.Finding `json:"findings"`
	Unseen   []patterns.Skip `json:"unseen"`         // files that were not checked
	Note     string          `json:"note,omitempty"` // what a program cannot check
}

// Failed reports whether a finding blocks.
func (c Checked) Failed() bool {
	return slices.ContainsFunc(c.Findings, func(f gates.Finding) bool { return f.Severity == gates.Error })
}

// Check compares the source of a unit with its blueprint (BP-26, BP-28, GATE-19). It reports facts and no opinions. If
// a file cannot be read, missing parts are only notes, because that file may contain them.
func Check(ctx context.Context, b *Blueprint, s State, o summary.Options) (Checked, error) {
	c := checker{b: b, o: o, out: Checked{Unit: b.Unit, State: s, Findings: []gates.Finding{}, Unseen: []patterns.Skip{}},
		count: map[string]int{}}
	files, unseen, err := Summaries(ctx, o, b, b.Paths())
	if err != nil {
		return c.out, err
	}
	c.files = files
	for _, u := range unseen {
		if u.Reason == "it does not exist" {
			i := slices.Index(b.Paths(), u.Path)
			c.claim(RuleSource, fmt.Sprintf("source_files[%d]", i), gates.Error, "the source file %s does not exist", u.Path)
			continue
		}
		c.out.Unseen = append(c.out.Unseen, u)
	}
	if len(c.files) > 0 {
		c.endpoints()
		c.promises()
		c.contract()
		c.dependencies()
		c.imports()
		c.failures()
		c.rubric()
	}
	slices.SortStableFunc(c.out.Findings, func(a, b gates.Finding) int {
		return cmp.Or(cmp.Compare(a.Severity.Rank(), b.Severity.Rank()), cmp.Compare(a.Path, b.Path),
			cmp.Compare(a.Line, b.Line), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Message, b.Message))
	})
	return c.out, nil
}

type checker struct {
	b     *Blueprint
	o     summary.Options
	files []summary.Summary
	out   Checked
	count map[string]int
}

func (c *checker) find(f gates.Finding) {
	if c.count[f.Rule]++; c.count[f.Rule] <= mostOfOneRule {
		c.out.Findings = append(c.out.Findings, f)
	}
}

// claim reports a finding at a place of the blueprint.
func (c *checker) claim(rule, key string, s gates.Severity, format string, args ...any) {
	c.find(gates.Finding{Rule: rule, Path: c.b.File(), Line: c.b.Line(key), Severity: s,
		Message: fmt.Sprintf(format, args...), Fix: "correct the code, or the blueprint if that is wrong"})
}

// missing reports a missing part: an error if all source files were read, else a note, because an unread file may
// contain it.
func (c *checker) missing(rule, key string, format string, args ...any) {
	if len(c.out.Unseen) > 0 {
		c.claim(rule, key, gates.Note, format+" in the readable source", args...)
		return
	}
	c.claim(rule, key, gates.Error, format, args...)
}

// code reports a finding at a place of the source.
func (c *checker) code(rule, path string, at int, s gates.Severity, fix, format string, args ...any) {
	c.find(gates.Finding{Rule: rule, Path: path, Line: at, Severity: s, Message: fmt.Sprintf(format, args...), Fix: fix})
}

// has reports whether the code answers to a method at a path, directly or below a prefix that routes are mounted at.
func (c *checker) has(method, path string) (ok bool, others []string) {
	want := summary.NormalPath(path)
	for _, f := range c.files {
		for _, e := range f.Endpoints {
			if !slices.Contains(c.paths(e.Path), want) {
				continue
			}
			if e.Method == method || e.Method == "ANY" || method == "" {
				return true, nil
			}
			others = append(others, e.Method)
		}
	}
	return false, others
}

// paths returns the possible paths of a route: as written, and below each prefix of the unit.
func (c *checker) paths(p string) []string {
	out := []string{summary.NormalPath(p)}
	for _, f := range c.files {
		out = append(out, lists.Map(f.Mounts, func(m string) string { return summary.NormalPath(summary.Join(m, p)) })...)
	}
	return out
}

func (c *checker) endpoints() {
	declared := false
	for i, in := range c.b.Interfaces {
		key := fmt.Sprintf("interfaces[%d]", i)
		switch {
		case in.HTTP != nil:
			declared = true
			for j, e := range in.HTTP.Endpoints {
				ok, others := c.has(e.Method, e.Path)
				switch {
				case ok:
				case len(others) > 0:
					c.claim(RuleEndpoint, fmt.Sprintf("%s.endpoints[%d].path", key, j), gates.Error,
						"%s is declared, but the code answers %s there", e.Name(), strings.Join(others, ", "))
				default:
					c.missing(RuleEndpoint, fmt.Sprintf("%s.endpoints[%d].path", key, j), "%s is declared, but no route answers it",
						e.Name())
				}
			}
		case in.Socket != nil:
			if ok, _ := c.has("WEBSOCKET", in.Socket.Path); !ok && !c.says(in.Socket.Path) {
				c.missing(RuleEndpoint, key, "the websocket %s is declared, but no route answers it", in.Socket.Path)
			}
		case in.Stream != nil:
			if ok, _ := c.has("", in.Stream.Path); !ok && !c.says(in.Stream.Path) {
				c.missing(RuleEndpoint, key, "the stream %s is declared, but no route answers it", in.Stream.Path)
			}
		}
	}
	for _, f := range c.files {
		for _, e := range f.Endpoints {
			if !c.declares(e) {
				sev := gates.Error
				if !declared {
					sev = gates.Warning // a unit without declared endpoints may not document them
				}
				c.code(RuleUndeclared, f.Path, e.Line, sev, "declare it in the blueprint, or remove it",
					"%s %s is not an endpoint of the blueprint", e.Method, e.Path)
			}
		}
	}
}

// declares reports whether the blueprint has a route of the code.
func (c *checker) declares(e summary.Endpoint) bool {
	at := c.paths(e.Path)
	for _, in := range c.b.Interfaces {
		switch {
		case in.HTTP != nil && slices.ContainsFunc(in.HTTP.Endpoints, func(d Endpoint) bool {
			return (d.Method == e.Method || e.Method == "ANY") && slices.Contains(at, summary.NormalPath(d.Path))
		}),
			in.Socket != nil && slices.Contains(at, summary.NormalPath(in.Socket.Path)),
			in.Stream != nil && slices.Contains(at, summary.NormalPath(in.Stream.Path)):
			return true
		}
	}
	return false
}

// promises looks for the names in the other interfaces: a declaration for functions, else a word in the source.
func (c *checker) promises() {
	for i, in := range c.b.Interfaces {
		what, names := in.Promises()
		for _, name := range names {
			found := c.says(name)
			if in.Direct != nil || in.Library != nil {
				found = c.symbol(name)
			}
			if !found {
				c.missing(RuleInterface, fmt.Sprintf("interfaces[%d]", i), "the %s %s is declared for %s, but is missing in "+
					"the source",
					what, name, in.Type)
			}
		}
		if len(names) > 0 && in.Direct == nil && in.Library == nil {
			c.out.Note = unknownInterfaces
		}
	}
}

// symbol looks for a declaration: "name", "Class.name" or "module.name".
func (c *checker) symbol(name string) bool {
	name, _, _ = strings.Cut(name, "(")
	last := name[strings.LastIndexByte(name, '.')+1:]
	owner := strings.TrimSuffix(strings.TrimSuffix(name, last), ".")
	for _, f := range c.files {
		if slices.ContainsFunc(f.Functions, func(fn summary.Function) bool { return fn.Name == last }) ||
			slices.ContainsFunc(f.Enums, func(e summary.Enum) bool { return e.Name == last }) ||
			slices.ContainsFunc(f.Constants, func(k summary.Constant) bool { return k.Name == last }) ||
			slices.ContainsFunc(f.Classes, func(cl summary.Class) bool {
				return cl.Name == last || slices.ContainsFunc(cl.Methods, func(m summary.Function) bool {
					return m.Name == last && (owner == "" || strings.HasSuffix("."+owner, "."+cl.Name))
				})
			}) {
			return true
		}
	}
	return false
}

// says looks for a word in the full source.
func (c *checker) says(word string) bool {
	whole := regexp.MustCompile(`(?:^|[^\pL\pN_])` + regexp.QuoteMeta(word) + `(?:[^\pL\pN_]|$)`)
	return slices.ContainsFunc(c.files, func(f summary.Summary) bool {
		text, err := rooted.Read(c.o.Root, f.Path, MaxSource)
		return err == nil && whole.Match(text[:min(len(text), mostWords)])
	})
}

// public reports whether a name is exported by the rules of its language.
func public(l outline.Language, name string) bool {
	if l == outline.Go {
		return name != "" && name[0] >= 'A' && name[0] <= 'Z'
	}
	return !strings.HasPrefix(name, "_") && !strings.HasPrefix(name, "#")
}
