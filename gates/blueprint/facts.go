package blueprint

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/knowledge/outline"
	"github.com/runplan/runplan/knowledge/summary"
)

// contract looks for enumerations, constants and models word by word.
func (c *checker) contract() {
	for i, e := range c.b.Contract.Enums {
		key := fmt.Sprintf("contract.enums[%d]", i)
		have, ok := declared(c.files, func(f summary.Summary) []summary.Enum { return f.Enums },
			func(d summary.Enum) bool { return d.Name == e.Name })
		if !ok {
			c.missing(RuleContract, key, "the enumeration %s is declared, but missing in the source", e.Name)
			continue
		}
		for _, m := range e.Members {
			name, value, valued := strings.Cut(m, "=")
			name, value = strings.TrimSpace(name), bare(value)
			at := slices.IndexFunc(have.Members, func(h summary.Member) bool { return h.Name == name })
			switch {
			case at < 0:
				c.claim(RuleContract, key, gates.Error, "%s.%s is declared, but the source has no such member", e.Name, name)
			case valued && bare(have.Members[at].Value) != value:
				c.claim(RuleContract, key, gates.Error, "%s.%s is declared as %s; the source says %s", e.Name, name, value,
					have.Members[at].Value)
			}
		}
	}
	for i, k := range c.b.Contract.Constants {
		key := fmt.Sprintf("contract.constants[%d]", i)
		have, ok := declared(c.files, func(f summary.Summary) []summary.Constant { return f.Constants },
			func(d summary.Constant) bool { return d.Name == k.Name })
		switch {
		case !ok:
			c.missing(RuleContract, key, "the constant %s is declared, but missing in the source", k.Name)
		case k.Value != "" && bare(have.Value) != bare(k.Value):
			c.claim(RuleContract, key, gates.Error, "%s is declared as %s; the source says %s", k.Name, k.Value, have.Value)
		}
	}
	for i, m := range c.b.Contract.Models {
		key := fmt.Sprintf("contract.models[%d]", i)
		have, ok := declared(c.files, func(f summary.Summary) []summary.Class { return f.Classes },
			func(d summary.Class) bool { return d.Name == m.Name })
		if !ok {
			c.missing(RuleContract, key, "the model %s is declared, but missing in the source", m.Name)
			continue
		}
		for _, f := range m.Fields {
			if !hasField(have, f) {
				c.claim(RuleContract, key, gates.Error, "%s.%s is declared, but the source has no such field", m.Name, fieldName(f))
			}
		}
	}
}

// bare returns a value without quotes.
func bare(s string) string {
	return strings.Trim(strings.TrimSpace(s), "\"'`")
}

// declared finds a declaration in the files.
func declared[T any](files []summary.Summary, in func(summary.Summary) []T, is func(T) bool) (found T, ok bool) {
	for _, f := range files {
		if i := slices.IndexFunc(in(f), is); i >= 0 {
			return in(f)[i], true
		}
	}
	return found, false
}

// fieldName returns the name in "name: type", "Name type json:name" or "name".
func fieldName(s string) string {
	i := strings.IndexAny(s, ":? ")
	if i < 0 {
		return s
	}
	return s[:i]
}

// hasField looks for a field by its name or by its JSON name.
func hasField(c summary.Class, field string) bool {
	want := fieldName(field)
	return slices.ContainsFunc(c.Fields, func(f string) bool {
		_, tag, tagged := strings.Cut(f, " json:")
		return fieldName(f) == want || tagged && tag == want
	})
}

// simple normalizes the spelling of a name: BillingClient, billing_client and billing-client become billing.
func simple(s string) string {
	s = s[strings.LastIndexAny(s, "./")+1:]
	s = strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(s))
	for _, word := range []string{"client", "service"} {
		if rest := strings.TrimSuffix(s, word); rest != "" {
			s = rest
		}
	}
	return s
}

// service returns the declared unit that a name means.
func (c *checker) service(name string) (int, bool) {
	i := slices.IndexFunc(c.b.Dependencies.Services, func(s Service) bool {
		return simple(s.Name) == simple(name) || s.Client != "" && simple(s.Client) == simple(name)
	})
	return i, i >= 0
}

func (c *checker) dependencies() {
	used := map[int]bool{}
	for _, f := range c.files {
		for _, call := range f.HTTPCalls {
			if call.Kind == summary.HTTP {
				if c.isClient(f) {
					continue
				}
				c.code(RuleRawHTTP, f.Path, call.Line, gates.Error, "call the unit through its client utility",
					"%s %s bypasses the client utilities (%s)", call.Method, call.Target, call.Via)
				continue
			}
			i, ok := c.service(call.Target)
			if !ok {
				c.code(RuleDependency, f.Path, call.Line, gates.Error, "declare the dependency in the blueprint, or remove the "+
					"call",
					"%s calls a unit that is not a dependency in the blueprint", call.Via)
				continue
			}
			used[i] = true
			if s := c.b.Dependencies.Services[i]; len(s.Calls) > 0 && call.Method != call.Target &&
				!slices.Contains(s.Calls, call.Method) {
				c.code(RuleCall, f.Path, call.Line, gates.Warning, "declare the call in the blueprint",
					"%s of %s is not among the calls that the blueprint declares: %s", call.Method, s.Name, strings.Join(s.Calls, ", "))
			}
		}
		for _, imp := range f.InternalImports {
			for i, s := range c.b.Dependencies.Services {
				if s.Client != "" && mentions(imp, s.Client) {
					used[i] = true
				}
			}
		}
	}
	for i, s := range c.b.Dependencies.Services {
		if !used[i] && len(c.out.Unseen) == 0 {
			c.claim(RuleUnused, fmt.Sprintf("dependencies.services[%d]", i), gates.Warning,
				"%s is declared as a dependency, but nothing calls it", s.Name)
		}
	}
}

// isClient reports whether a file is the client utility of a dependency, which may speak HTTP.
func (c *checker) isClient(f summary.Summary) bool {
	stem := strings.TrimSuffix(path.Base(f.Path), path.Ext(f.Path))
	return slices.ContainsFunc(c.b.Dependencies.Services, func(s Service) bool {
		if s.Client == "" {
			return false
		}
		last := s.Client[strings.LastIndexAny(s.Client, "./")+1:]
		return stem == last || slices.ContainsFunc(f.Classes, func(k summary.Class) bool { return k.Name == last }) ||
			slices.ContainsFunc(f.Functions, func(k summary.Function) bool { return k.Name == last })
	})
}

// mentions reports whether an import names a client: its module, or its name from a module.
func mentions(imp summary.Import, client string) bool {
	full := dots(imp.Path)
	want := dots(client)
	if full == want || strings.HasPrefix(want, full+".") &&
		slices.Contains(imp.Names, want[strings.LastIndexByte(want, '.')+1:]) {
		return true
	}
	return !strings.Contains(want, ".") && (slices.Contains(imp.Names, client) || strings.HasSuffix(full, "."+want))
}

func dots(s string) string { return strings.ReplaceAll(s, "/", ".") }

// imports finds imports from units that are not dependencies.
func (c *checker) imports() {
	for _, f := range c.files {
		for _, imp := range f.InternalImports {
			if !c.mayImport(f, imp) {
				c.code(RuleImport, f.Path, imp.Line, gates.Error,
					"declare the unit as a dependency and call it through its client, or name the library in dependencies.shared",
					"%s belongs neither to this unit nor to a declared dependency, and is not shared", imp.Path)
			}
		}
	}
}

func (c *checker) mayImport(f summary.Summary, imp summary.Import) bool {
	at := c.place(f, imp.Path)
	for _, s := range c.b.SourceFiles {
		stem := strings.TrimSuffix(s.Path, path.Ext(s.Path))
		dir := path.Dir(s.Path)
		if at == stem || at == dir || dir != "." && strings.HasPrefix(at+"/", dir+"/") || strings.HasPrefix(stem, at+"/") {
			return true
		}
	}
	full := dots(strings.TrimLeft(imp.Path, "."))
	for _, shared := range c.b.Dependencies.Shared {
		if s := dots(shared); full == s || strings.HasPrefix(full, s+".") || dots(at) == s ||
			strings.HasPrefix(dots(at), s+".") {
			return true
		}
	}
	return slices.ContainsFunc(c.b.Dependencies.Services, func(s Service) bool {
		return s.Client != "" && (mentions(imp, s.Client) || mentions(summary.Import{Path: at, Names: imp.Names}, s.Client))
	})
}

// place returns the path of an import relative to the root, without an extension.
func (c *checker) place(f summary.Summary, imp string) string {
	dir := path.Dir(f.Path)
	switch f.Language {
	case outline.Python:
		name := strings.TrimLeft(imp, ".")
		below := strings.ReplaceAll(name, ".", "/")
		up := len(imp) - len(name)
		if up == 0 {
			if strings.HasPrefix(f.Path, "src/") {
				return path.Join("src", below)
			}
			return below
		}
		for range up - 1 {
			dir = path.Dir(dir)
		}
		return path.Join(dir, below)
	case outline.Go:
		return cmp.Or(summary.Folder(c.o.Own, imp), imp)
	}
	if strings.HasPrefix(imp, ".") {
		p := path.Join(dir, imp)
		return strings.TrimSuffix(p, path.Ext(p))
	}
	return strings.TrimPrefix(imp, "@/")
}

// failures looks for a handler of each failure mode: code that catches its error or answers its status.
func (c *checker) failures() {
	for i, f := range c.b.FailureModes {
		key := fmt.Sprintf("failure_modes[%d]", i)
		if f.Exception == "" && f.Status == 0 {
			continue // only a reviewer can judge it
		}
		var caught []summary.Handler
		answered := false
		for _, s := range c.files {
			for _, h := range s.ErrorHandlers {
				is := f.Exception == "" || slices.ContainsFunc(h.Types, func(t string) bool { return sameType(t, f.Exception) }) ||
					len(h.Types) == 0 && h.Guard == "" && (s.Language == outline.TypeScript || s.Language == outline.JavaScript)
				if !is {
					continue
				}
				caught = append(caught, h)
				answered = answered || f.Status == 0 || slices.Contains(h.Status, f.Status)
			}
		}
		what := cmp.Or(f.Exception, fmt.Sprintf("an answer of %d", f.Status))
		switch {
		case answered:
		case len(caught) == 0 || f.Exception == "":
			c.missing(RuleFailure, key, "%s: no code handles %s", phrase.Line(f.Condition), what)
		default:
			have := phrase.Join(caught, "; ", func(h summary.Handler) string { return h.String() + " in " + h.Function })
			c.claim(RuleResponse, key, gates.Error, "%s: %s is caught, but not answered with %d: %s", phrase.Line(f.Condition),
				f.Exception, f.Status, have)
		}
	}
}

// sameType compares errors by their last name: httpx.TimeoutException is TimeoutException.
func sameType(a, b string) bool {
	return a == b || a[strings.LastIndexByte(a, '.')+1:] == b[strings.LastIndexByte(b, '.')+1:]
}

// rubric checks each public function and class (BP-26, BP-28).
func (c *checker) rubric() {
	for _, f := range c.files {
		if f.ModuleDocstring == "" && !(f.Language == outline.Go && c.otherDoc(f)) {
			c.code(RuleUndocumented, f.Path, 1, gates.Warning, "describe the purpose of the module at its top",
				"the module has no docstring")
		}
		for _, fn := range f.Functions {
			c.function(f, "", fn)
		}
		for _, k := range f.Classes {
			if !public(f.Language, k.Name) {
				continue
			}
			if k.Docstring == "" {
				c.code(RuleUndocumented, f.Path, k.Line, gates.Warning, "describe what it is", "%s has no docstring", k.Name)
			}
			for _, fn := range k.Methods {
				c.function(f, k.Name+".", fn)
			}
		}
	}
}

// otherDoc reports whether another file of the same Go package has the package comment.
func (c *checker) otherDoc(f summary.Summary) bool {
	return slices.ContainsFunc(c.files,
		func(o summary.Summary) bool { return path.Dir(o.Path) == path.Dir(f.Path) && o.ModuleDocstring != "" })
}

func (c *checker) function(f summary.Summary, owner string, fn summary.Function) {
	if !public(f.Language, fn.Name) || fn.Name == "constructor" {
		return
	}
	if len(fn.Untyped) > 0 {
		c.code(RuleUntyped, f.Path, fn.Line, gates.Error, "add the types of parameters and results",
			"%s%s is not fully typed: %s", owner, fn.Name, strings.Join(fn.Untyped, ", "))
	}
	if !fn.Documented {
		c.code(RuleUndocumented, f.Path, fn.Line, gates.Warning, "describe what it does", "%s%s has no docstring", owner, fn.Name)
	}
}
