package summary

import (
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/knowledge/outline"
)

var (
	upperCase = lazyre.New(`^_?[A-Z][A-Z0-9_]*$`)
	plain     = lazyre.New(`^(?:-?\d[\d_]*(?:\.\d+)?|0x[0-9a-fA-F_]+|[Tt]rue|[Ff]alse|[rub]?"[^"]*"|[rub]?'[^']*'|` +
		"`[^`]*`" + `)$`)
	enumBase = lazyre.New(`(?:^|\.)(?:Enum|IntEnum|StrEnum|Flag|IntFlag)$`)
	heritage = lazyre.New(`\b(?:extends|implements)\s+`)
)

func (m *maker) symbols() {
	classes := map[int]int{}   // symbol → index in Classes
	enums := map[int]int{}     // symbol → index in Enums
	byType := map[string]int{} // Go: name of the type → index in Enums
	for i, s := range m.o.Symbols {
		switch s.Kind {
		case outline.Class, outline.Interface, outline.TypeAlias, outline.Enum:
			if m.local(s.Parent) {
				continue
			}
			bases := m.bases(i, s)
			if s.Kind == outline.Enum || slices.ContainsFunc(bases, enumBase.MatchString) {
				enums[i] = len(m.s.Enums)
				m.s.Enums = append(m.s.Enums, Enum{Name: s.Name, Line: s.Start})
				continue
			}
			c := Class{Name: s.Name, Kind: string(s.Kind), Bases: bases, Docstring: short(m.docs[i], mostClass), Line: s.Start}
			if s.Kind == outline.TypeAlias {
				c.Signature = short(s.Signature, 120)
			}
			classes[i] = len(m.s.Classes)
			m.s.Classes = append(m.s.Classes, c)
		case outline.Function, outline.Method:
			if s.Parent >= 0 && m.local(s.Parent) {
				continue
			}
			_, documented := m.docs[i]
			f := Function{Name: s.Name, Signature: s.Signature, Line: s.Start, Documented: documented, Untyped: untyped(m.l, s)}
			if c, ok := classes[s.Parent]; ok {
				m.s.Classes[c].Methods = append(m.s.Classes[c].Methods, f)
			} else if _, ok := enums[s.Parent]; !ok {
				m.s.Functions = append(m.s.Functions, f)
			}
		case outline.Variable:
			m.variable(i, s, classes, enums, byType)
		}
	}
	for _, f := range m.d.Members {
		if c, ok := classes[f.Symbol]; ok {
			m.s.Classes[c].Fields = append(m.s.Classes[c].Fields, f.Text)
		}
	}
	m.s.Enums = slices.DeleteFunc(m.s.Enums, func(e Enum) bool { return len(e.Members) == 0 })
	m.named()
}

// local reports whether a symbol is inside of a function.
func (m *maker) local(symbol int) bool {
	for ; symbol >= 0; symbol = m.o.Symbols[symbol].Parent {
		if k := m.o.Symbols[symbol].Kind; k == outline.Function || k == outline.Method {
			return true
		}
	}
	return false
}

func (m *maker) bases(i int, s outline.Symbol) []string {
	var out []string
	for _, r := range m.o.Refs {
		if r.Symbol == i && r.Kind == outline.Inherit {
			out = append(out, r.Name)
		}
	}
	if m.l == outline.TypeScript || m.l == outline.JavaScript {
		for i, list := range heritage.Split(s.Signature, -1) {
			for base := range strings.SplitSeq(list, ",") {
				if base = strings.TrimSpace(base); i > 0 && base != "" {
					out = append(out, base)
				}
			}
		}
	}
	return out
}

func (m *maker) variable(i int, s outline.Symbol, classes, enums map[int]int, byType map[string]int) {
	v := m.values[i]
	if e, ok := enums[s.Parent]; ok {
		m.s.Enums[e].Members = append(m.s.Enums[e].Members, Member{s.Name, short(v.Text, mostValue)})
		return
	}
	if c, ok := classes[s.Parent]; ok {
		text := s.Name
		if _, rest, ok := strings.Cut(s.Signature, s.Name); ok && strings.HasPrefix(strings.TrimSpace(rest), ":") {
			typ, _, _ := strings.Cut(rest, "=")
			text += strings.TrimRight(strings.TrimSpace(typ), ";, ")
		}
		m.s.Classes[c].Fields = append(m.s.Classes[c].Fields, short(text, mostValue))
		return
	}
	if s.Parent >= 0 {
		return
	}
	constant := upperCase.MatchString(s.Name) && plain.MatchString(v.Text)
	if m.l == outline.Go {
		if constant = v.Const && v.Text != ""; v.Const && v.Type != "" && !builtin(v.Type) {
			e, ok := byType[v.Type]
			if !ok {
				e = len(m.s.Enums)
				byType[v.Type] = e
				m.s.Enums = append(m.s.Enums, Enum{Name: v.Type, Line: s.Start})
			}
			m.s.Enums[e].Members = append(m.s.Enums[e].Members, Member{s.Name, short(v.Text, mostValue)})
			return
		}
	}
	if constant {
		m.s.Constants = append(m.s.Constants, Constant{s.Name, short(v.Text, mostValue), s.Start})
	}
}

func builtin(t string) bool {
	return slices.Contains([]string{"string", "bool", "byte", "rune", "int", "int8", "int16", "int32", "int64", "uint",
		"uint8", "uint16", "uint32", "uint64", "uintptr", "float32", "float64"}, t)
}

// named removes Go types that only name an enumeration from the classes.
func (m *maker) named() {
	if m.l != outline.Go {
		return
	}
	m.s.Classes = slices.DeleteFunc(m.s.Classes, func(c Class) bool {
		return c.Kind == string(outline.TypeAlias) && len(c.Methods) == 0 &&
			slices.ContainsFunc(m.s.Enums, func(e Enum) bool { return e.Name == c.Name })
	})
}

// untyped returns the parameters without a type, and "return". JavaScript has no types, and Go has no untyped
// parameters.
func untyped(l outline.Language, s outline.Symbol) []string {
	if l != outline.Python && l != outline.TypeScript || strings.HasSuffix(s.Signature, "…") {
		return nil
	}
	open := strings.IndexByte(s.Signature, '(')
	if open < 0 {
		return nil
	}
	list, rest, ok := brackets(s.Signature[open:])
	if !ok {
		return nil
	}
	var out []string
	for i, p := range list {
		name, _, typed := strings.Cut(p, ":")
		name, _, _ = strings.Cut(name, "=")
		name = strings.TrimSpace(name)
		bare := strings.TrimLeft(name, "*./")
		if typed || bare == "" || l == outline.Python && i == 0 && (bare == "self" || bare == "cls") ||
			strings.HasPrefix(name, "this") {
			continue
		}
		if l == outline.TypeScript && strings.Contains(p, "=") {
			continue // its type follows from the default value
		}
		out = append(out, name)
	}
	answered := strings.Contains(rest, "->")
	if l == outline.TypeScript {
		answered = strings.HasPrefix(strings.TrimSpace(rest), ":") || s.Name == "constructor" ||
			strings.HasPrefix(s.Signature, "set ")
	}
	if !answered && !(l == outline.Python && s.Name == "__init__") {
		out = append(out, "return")
	}
	return out
}

// brackets splits "(a, b) rest" into its parts.
func brackets(s string) (list []string, rest string, ok bool) {
	depth, from := 0, 1
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '(', '[', '{', '<':
			depth++
		case '>':
			if i > 0 && (s[i-1] == '-' || s[i-1] == '=') {
				continue // an arrow
			}
			depth--
		case ')', ']', '}':
			if depth--; depth == 0 {
				if part := strings.TrimSpace(s[from:i]); part != "" {
					list = append(list, part)
				}
				return list, s[i+1:], true
			}
		case ',':
			if depth == 1 {
				list = append(list, strings.TrimSpace(s[from:i]))
				from = i + 1
			}
		case '\'', '"', '`':
			if j := strings.IndexByte(s[i+1:], c); j >= 0 {
				i += j + 1
			}
		}
	}
	return nil, "", false
}

func (m *maker) imports() {
	for _, i := range m.o.Imports {
		path := strings.Repeat(".", i.Level) + i.Path
		if !m.own(i, path) {
			continue
		}
		imp := Import{Path: path, Line: i.Line}
		imp.Names = append(imp.Names, lists.Map(i.Names, func(n outline.Name) string { return n.Name })...)
		m.s.InternalImports = append(m.s.InternalImports, imp)
	}
}

// own reports whether an import is from the project itself.
func (m *maker) own(i outline.Import, path string) bool {
	if strings.HasPrefix(path, ".") {
		return true
	}
	return slices.ContainsFunc(m.Own, func(own string) bool {
		return i.Path == own || strings.HasPrefix(i.Path, own+"/") || m.l == outline.Python &&
			strings.HasPrefix(i.Path, own+".")
	})
}
