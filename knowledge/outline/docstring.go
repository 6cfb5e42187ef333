package outline

import (
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
)

// Format is the format of a docstring.
type Format string

// The formats of docstrings.
const (
	Google Format = "google"
	Numpy  Format = "numpy"
	Sphinx Format = "sphinx"
	JSDoc  Format = "jsdoc"
	Plain  Format = "plain"
)

// Fields holds the structured contents of a docstring.
type Fields struct {
	Summary    string  `json:"summary,omitempty"` // first paragraph
	Params     []Field `json:"params,omitempty"`
	Returns    *Field  `json:"returns,omitempty"`
	Yields     *Field  `json:"yields,omitempty"`
	Raises     []Field `json:"raises,omitempty"`
	Attributes []Field `json:"attributes,omitempty"`
	Deprecated string  `json:"deprecated,omitempty"`
	Examples   string  `json:"examples,omitempty"`
}

// Field is a parameter, a result or an exception. The name of an exception is its type.
type Field struct {
	Name string `json:"name,omitempty"`
	Type string `json:"type,omitempty"`
	Text string `json:"text,omitempty"`
}

var (
	sphinxField   = lazyre.New(`^\s*:(param|parameter|arg|argument|key|keyword|type|returns?|rtype|raises?|except|exception|yields?|ytype|ivar|cvar|var|vartype)\b([^:]*):\s*(.*)$`)
	googleSection = lazyre.New(`^(\s*)(Args|Arguments|Parameters|Params|Keyword Args|Keyword Arguments|Other Parameters|Returns?|Yields?|Raises|Attributes|Examples?|Deprecated)\s*:\s*$`)
	numpySection  = lazyre.New(`^\s*(Parameters|Other Parameters|Returns|Yields|Raises|Attributes|Examples|Deprecated)\s*$`)
	underline     = lazyre.New(`^\s*-{3,}\s*$`)
	googleItem    = lazyre.New(`^(\*{0,2}[\w.]+)\s*(?:\(([^)]*)\))?\s*:\s*(.*)$`)
	jsTag         = lazyre.New(`^\s*@(\w+)\s*(.*)$`)
)

// ParseDocstring detects the format of a docstring and parses its fields. It removes quotes and indentation, and
// accepts any text.
func ParseDocstring(text string) (Format, Fields) {
	lines := lists.Map(strings.Split(text, "\n"), func(l string) string { return strings.TrimRight(l, " \t\r\f") })
	for i, l := range lines {
		switch {
		case sphinxField.MatchString(l):
			return Sphinx, sphinxFields(lines)
		case i+1 < len(lines) && numpySection.MatchString(l) && underline.MatchString(lines[i+1]):
			return Numpy, numpyFields(lines[:i], lines[i:])
		}
	}
	if slices.ContainsFunc(lines, googleSection.MatchString) {
		return Google, googleFields(lines)
	}
	return Plain, Fields{Summary: summary(lines)}
}

// summary returns the first paragraph on one line.
func summary(lines []string) string {
	var words []string
	for _, l := range lines {
		if l = strings.TrimSpace(l); l == "" {
			if len(words) > 0 {
				break
			}
			continue
		}
		words = append(words, l)
	}
	return oneLine(strings.Join(words, " "))
}

func join(a, b string) string { return strings.TrimSpace(a + " " + strings.TrimSpace(b)) }

// section is the destination of a section's lines.
type section struct {
	fields *Fields
	name   string
}

// list returns the list that a section fills, or nil if it holds a single value.
func (s section) list() *[]Field {
	switch s.name {
	case "Args", "Arguments", "Parameters", "Params", "Keyword Args", "Keyword Arguments", "Other Parameters":
		return &s.fields.Params
	case "Raises":
		return &s.fields.Raises
	case "Attributes":
		return &s.fields.Attributes
	}
	return nil
}

// single returns the single value of a section.
func (s section) single() *Field {
	if strings.HasPrefix(s.name, "Yield") {
		return value(&s.fields.Yields)
	}
	return value(&s.fields.Returns)
}

// value returns *v, which it creates.
func value(v **Field) *Field {
	if *v == nil {
		*v = &Field{}
	}
	return *v
}

// text adds a line to a section of plain text. It returns false if the section is of another kind.
func (s section) text(line string) bool {
	switch s.name {
	case "Example", "Examples":
		s.fields.Examples = strings.Trim(s.fields.Examples+"\n"+line, "\n")
	case "Deprecated":
		s.fields.Deprecated = join(s.fields.Deprecated, line)
	default:
		return false
	}
	return true
}

func googleFields(lines []string) Fields {
	var f Fields
	var in section
	base, item, head := 0, -1, len(lines)
	for i, l := range lines {
		if m := googleSection.FindStringSubmatch(l); m != nil {
			in, base, item, head = section{&f, m[2]}, len(m[1]), -1, min(head, i)
			continue
		}
		if in.fields == nil || strings.TrimSpace(l) == "" {
			continue
		}
		if language.Depth(l) <= base { // end of the section
			in = section{}
			continue
		}
		if in.text(l) {
			continue
		}
		body := strings.TrimSpace(l)
		list := in.list()
		if list == nil {
			v := in.single()
			if typ, text, ok := strings.Cut(body, ": "); ok && v.Type == "" && v.Text == "" && !strings.Contains(typ, " ") {
				v.Type, v.Text = typ, text
				continue
			}
			v.Text = join(v.Text, body)
			continue
		}
		m := googleItem.FindStringSubmatch(body)
		if item < 0 {
			item = language.Depth(l)
		}
		if m != nil && language.Depth(l) <= item {
			*list = append(*list, Field{Name: m[1], Type: m[2], Text: m[3]})
		} else if n := len(*list); n > 0 {
			(*list)[n-1].Text = join((*list)[n-1].Text, body)
		}
	}
	f.Summary = summary(lines[:head])
	return f
}

func numpyFields(before, lines []string) Fields {
	f := Fields{Summary: summary(before)}
	var in section
	base := 0
	for i := 0; i < len(lines); i++ {
		l := lines[i]
		if i+1 < len(lines) && underline.MatchString(lines[i+1]) {
			in = section{}
			if m := numpySection.FindStringSubmatch(l); m != nil {
				in, base = section{&f, m[1]}, language.Depth(l)
			}
			i++
			continue
		}
		if in.fields == nil || strings.TrimSpace(l) == "" || in.text(l) {
			continue
		}
		body, list := strings.TrimSpace(l), in.list()
		if language.Depth(l) > base { // continues the item above
			switch {
			case list == nil:
				in.single().Text = join(in.single().Text, body)
			case len(*list) > 0:
				(*list)[len(*list)-1].Text = join((*list)[len(*list)-1].Text, body)
			}
			continue
		}
		name, typ, typed := strings.Cut(body, " : ")
		if !typed {
			name, typ, _ = strings.Cut(body, ": ")
		}
		switch {
		case list != nil:
			*list = append(*list, Field{Name: strings.TrimSpace(name), Type: strings.TrimSpace(typ)})
		case typed:
			v := in.single()
			v.Name, v.Type = strings.TrimSpace(name), strings.TrimSpace(typ)
		default:
			in.single().Type = body
		}
	}
	return f
}

func sphinxFields(lines []string) Fields {
	var f Fields
	head := len(lines)
	var last *string
	find := func(list *[]Field, name string) *Field {
		for i := range *list {
			if (*list)[i].Name == name {
				return &(*list)[i]
			}
		}
		*list = append(*list, Field{Name: name})
		return &(*list)[len(*list)-1]
	}
	for i, l := range lines {
		m := sphinxField.FindStringSubmatch(l)
		if m == nil {
			if last != nil {
				if strings.TrimSpace(l) == "" {
					last = nil
				} else {
					*last = join(*last, l)
				}
			}
			continue
		}
		head = min(head, i)
		words := strings.Fields(m[2])
		name, typ := "", ""
		if n := len(words); n > 0 {
			name, typ = words[n-1], strings.Join(words[:n-1], " ")
		}
		switch m[1] {
		case "type", "vartype":
			list := &f.Params
			if m[1] == "vartype" {
				list = &f.Attributes
			}
			last = &find(list, name).Type
		case "return", "returns":
			last = &value(&f.Returns).Text
		case "rtype":
			last = &value(&f.Returns).Type
		case "yield", "yields":
			last = &value(&f.Yields).Text
		case "ytype":
			last = &value(&f.Yields).Type
		case "raise", "raises", "except", "exception":
			f.Raises = append(f.Raises, Field{Name: strings.Join(words, " ")})
			last = &f.Raises[len(f.Raises)-1].Text
		default:
			list := &f.Params
			if strings.HasSuffix(m[1], "var") {
				list = &f.Attributes
			}
			p := find(list, name)
			if typ != "" {
				p.Type = typ
			}
			last = &p.Text
		}
		*last = join(*last, m[3])
	}
	f.Summary = summary(lines[:head])
	return f
}

// ParseJSDoc parses the tags of a documentation comment whose stars are removed. Without a known tag the format is
// plain.
func ParseJSDoc(text string) (Format, Fields) {
	var f Fields
	lines := strings.Split(text, "\n")
	head, format := len(lines), Plain
	var last *string
	for i, l := range lines {
		m := jsTag.FindStringSubmatch(strings.TrimRight(l, "\r"))
		if m == nil {
			if last != nil && strings.TrimSpace(l) != "" {
				*last = join(*last, l)
			}
			continue
		}
		head, format = min(head, i), JSDoc
		typ, rest := jsType(m[2])
		switch m[1] {
		case "param", "arg", "argument", "prop", "property", "template", "typeParam":
			name, text := jsName(rest)
			list := &f.Params
			if strings.HasPrefix(m[1], "prop") {
				list = &f.Attributes
			}
			*list = append(*list, Field{Name: name, Type: typ, Text: text})
			last = &(*list)[len(*list)-1].Text
		case "return", "returns":
			f.Returns = &Field{Type: typ, Text: rest}
			last = &f.Returns.Text
		case "yield", "yields":
			f.Yields = &Field{Type: typ, Text: rest}
			last = &f.Yields.Text
		case "throws", "throw", "exception":
			name := typ
			if name == "" {
				name, rest, _ = strings.Cut(rest, " ")
			}
			f.Raises = append(f.Raises, Field{Name: name, Text: strings.TrimSpace(rest)})
			last = &f.Raises[len(f.Raises)-1].Text
		case "deprecated":
			if f.Deprecated = m[2]; f.Deprecated == "" {
				f.Deprecated = "deprecated"
			}
			last = &f.Deprecated
		case "example":
			f.Examples = join(f.Examples, m[2])
			last = &f.Examples
		case "description", "desc", "summary":
			f.Summary = join(f.Summary, m[2])
			last = &f.Summary
		default:
			last = nil
		}
	}
	if s := summary(lines[:head]); s != "" {
		f.Summary = s
	}
	return format, f
}

// jsType splits a leading type in braces from a text. Braces may nest.
func jsType(s string) (typ, rest string) {
	if !strings.HasPrefix(s, "{") {
		return "", s
	}
	depth := 0
	for i, c := range s {
		switch c {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return strings.TrimSpace(s[1:i]), strings.TrimSpace(s[i+1:])
			}
		}
	}
	return "", s
}

// jsName splits a leading parameter name from a text: name, [name] or [name=default].
func jsName(s string) (name, text string) {
	if strings.HasPrefix(s, "[") {
		if i := strings.IndexByte(s, ']'); i > 0 {
			name, _, _ = strings.Cut(s[1:i], "=")
			return strings.TrimSpace(name), dash(s[i+1:])
		}
	}
	name, text, _ = strings.Cut(s, " ")
	return name, dash(text)
}

func dash(s string) string { return strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(s), "-")) }
