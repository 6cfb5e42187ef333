package summary

import (
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/knowledge/outline"
)

// binding is a variable of a function (or of the file: symbol -1) that contains the result of a call, or a parameter
// with a declared type.
type binding struct {
	symbol int
	name   string // as written: billing, self.billing
}

var (
	assigned  = lazyre.New(`([A-Za-z_][\w.]*)(?:\s*:\s*[\w.\[\]"' |]+)?\s*:?=\s*(?:await\s+|new\s+|&)?$`)
	goResults = lazyre.New(`([A-Za-z_]\w*)\s*,\s*\w+\s*:?=\s*$`)
	asName    = lazyre.New(`^\s+as\s+([A-Za-z_]\w*)`)
	annotated = lazyre.New(`\b([a-z_]\w*)\s*:\s*["']?([A-Za-z_][\w.]*Client)\b`)
	goTyped   = lazyre.New(`\b([a-z_]\w*)\s+\*?((?:[A-Za-z_]\w*\.)?[A-Z]\w*Client|[a-z]\w*\.Client)\b`)
)

// bind records which variables hold clients: BillingClient for `billing = BillingClient()`, httpx.AsyncClient for
// `async with httpx.AsyncClient() as c`, and the types that parameters and fields declare.
func (m *maker) bind(text []byte) {
	m.bound = map[binding]string{}
	for _, c := range m.d.Calls {
		if c.Decorator || c.Name == "" || c.From < 0 || c.To > len(text) || c.From > c.To {
			continue
		}
		before := string(text[strings.LastIndexByte(string(text[:c.From]), '\n')+1 : c.From])
		for _, form := range []*lazyre.Regexp{assigned, goResults} {
			if found := form.FindStringSubmatch(before); found != nil {
				m.bound[binding{m.scope(c.Symbol, found[1]), found[1]}] = c.Name
				break
			}
		}
		if found := asName.FindSubmatch(text[c.To:min(len(text), c.To+80)]); found != nil {
			m.bound[binding{c.Symbol, string(found[1])}] = c.Name
		}
	}
	typed := annotated
	if m.l == outline.Go {
		typed = goTyped
	}
	for _, found := range typed.Re().FindAllSubmatch(text, -1) {
		for _, name := range []string{string(found[1]), "self." + string(found[1]), "this." + string(found[1])} {
			if b := (binding{-1, name}); m.bound[b] == "" {
				m.bound[b] = string(found[2])
			}
		}
	}
}

// scope returns the symbol that a variable belongs to. Fields belong to the file: a method sets them, others read them.
func (m *maker) scope(symbol int, name string) int {
	if strings.Contains(name, ".") {
		return -1
	}
	return symbol
}

// holds returns the type or constructor of the value on which a method is called, "" if it is unknown.
func (m *maker) holds(symbol int, owner string) string {
	for {
		if t := m.bound[binding{symbol, owner}]; t != "" {
			return t
		}
		if symbol < 0 {
			break
		}
		symbol = m.o.Symbols[symbol].Parent
	}
	if _, field, ok := strings.Cut(owner, "."); ok { // c.billing of a Go receiver c
		return m.bound[binding{-1, field}]
	}
	return ""
}

var clientModule = lazyre.New(`(?:^|[./])(?:\w*_)?clients?(?:$|[./])`)

// fromClients reports whether a name was imported from one of the project's client packages.
func (m *maker) fromClients(name string) bool {
	first, _, _ := strings.Cut(name, ".")
	return slices.ContainsFunc(m.o.Imports, func(i outline.Import) bool {
		if !m.own(i, strings.Repeat(".", i.Level)+i.Path) || !clientModule.MatchString(strings.ToLower(i.Path)) {
			return false
		}
		return imports(i, first)
	})
}

// imports reports whether an import makes a name known in its file.
func imports(i outline.Import, name string) bool {
	if slices.ContainsFunc(i.Names, func(n outline.Name) bool { return n.As == name || n.As == "" && n.Name == name }) {
		return true
	}
	return i.Alias == name || i.Alias == "" && i.Path[strings.LastIndexAny(i.Path, "./")+1:] == name
}

// isClientType reports whether a type or constructor is a client of another unit: a client in the blueprint, or a
// type of this project whose name ends in Client.
func (m *maker) isClientType(t string) bool {
	last := strings.TrimPrefix(t[strings.LastIndexByte(t, '.')+1:], "New")
	if slices.ContainsFunc(m.Clients, func(c string) bool { return alike(c[strings.LastIndexAny(c, "./")+1:], last) }) {
		return true
	}
	if !strings.HasSuffix(last, "Client") {
		return false
	}
	first, _, _ := strings.Cut(t, ".")
	return m.fromClients(t) ||
		slices.ContainsFunc(m.o.Imports,
			func(i outline.Import) bool { return m.own(i, strings.Repeat(".", i.Level)+i.Path) && imports(i, first) })
}

// clientName is the name under which a blueprint may declare a client: the type, or in Go the package of a type that
// is called Client only.
func clientName(t string) string {
	owner, name := member(t)
	if name = strings.TrimPrefix(name, "New"); name == "Client" && owner != "" {
		return owner
	}
	return name
}
