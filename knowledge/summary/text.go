package summary

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/runplan/runplan/internal/lists"
)

// Line width for joined items, and the size of a summary relative to its file (BP-08).
const (
	width      = 160
	mostShare  = 0.15
	mostValues = 24  // values of one kind in the text; the JSON has all
	smallFile  = 150 // lines; smaller files are not condensed
)

// PromptText returns the summary for a prompt, with one line for each signature. If that exceeds 15 % of the file's
// lines, the signatures of a class share lines.
func (s Summary) PromptText() string {
	text := s.text(false)
	if s.Lines >= smallFile && float64(strings.Count(text, "\n")) >= mostShare*float64(s.Lines) {
		text = s.text(true)
	}
	return text
}

func (s Summary) text(dense bool) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("%s (%s, %d lines)", s.Path, s.Language, s.Lines)
	if s.Partial != "" {
		line("NOT ALL OF IT COULD BE PARSED: %s", s.Partial)
	}
	if s.ModuleDocstring != "" {
		line("doc: %s", s.ModuleDocstring)
	}
	wrap(&b, "imports: ", lists.Map(s.InternalImports, func(i Import) string {
		if len(i.Names) == 0 {
			return i.Path
		}
		return i.Path + " (" + strings.Join(i.Names, ", ") + ")"
	}), "; ", 0)
	wrap(&b, "constants: ", lists.Map(s.Constants, func(c Constant) string { return c.Name + " = " + c.Value }), "; ",
		mostValues)
	for _, e := range s.Enums {
		wrap(&b, "enum "+e.Name+": ", lists.Map(e.Members, func(m Member) string {
			return strings.TrimSuffix(m.Name+" = "+m.Value, " = ")
		}), ", ", 3*mostValues)
	}
	lines(&b, "endpoint: ", lists.Map(s.Endpoints, func(e Endpoint) string {
		return fmt.Sprintf("%s %s -> %s", e.Method, e.Path, e.Handler)
	}), dense)
	if len(s.Mounts) > 0 {
		line("routes mounted below: %s", strings.Join(s.Mounts, ", "))
	}
	for _, c := range s.Classes {
		c.write(&b, dense)
	}
	lines(&b, "", signatures(s.Functions), dense)
	lines(&b, "", distinct(lists.Map(s.ErrorHandlers, func(h Handler) string {
		return h.String() + " in " + orModule(h.Function)
	})), dense)
	lines(&b, "", distinct(lists.Map(s.HTTPCalls, func(c Call) string {
		verb := "calls"
		if c.Kind == Client {
			verb = "client call"
		}
		return fmt.Sprintf("%s: %s in %s (%s)", verb, strings.TrimSpace(c.Method+" "+c.Target), orModule(c.Function), c.Via)
	})), dense)
	return b.String()
}

func (c Class) write(b *strings.Builder, dense bool) {
	head := cmp.Or(map[string]string{"interface": "interface "}[c.Kind], "class ")
	head += c.Name
	if c.Signature != "" {
		head = c.Signature
	}
	if len(c.Bases) > 0 {
		head += "(" + strings.Join(c.Bases, ", ") + ")"
	}
	if c.Docstring != "" {
		head += ": " + c.Docstring
	}
	b.WriteString(head + "\n")
	wrap(b, "  fields: ", c.Fields, "; ", mostValues)
	lines(b, "  ", signatures(c.Methods), dense)
}

func signatures(list []Function) []string {
	return lists.Map(list, func(f Function) string { return f.Signature })
}

func orModule(name string) string {
	if name == "" {
		return "the module"
	}
	return name + "()"
}

// lines puts each item on its own line, or with dense as many as fit.
func lines(b *strings.Builder, head string, list []string, dense bool) {
	if !dense {
		for _, item := range list {
			b.WriteString(head + item + "\n")
		}
		return
	}
	wrap(b, head, list, " | ", 0)
}

// wrap puts items on lines of about [width] columns. If most > 0 it prints at most that many, and the number of the
// others.
func wrap(b *strings.Builder, head string, list []string, sep string, most int) {
	if len(list) == 0 {
		return
	}
	if most > 0 && len(list) > most {
		list = append(list[:most:most], fmt.Sprintf("… and %d more", len(list)-most))
	}
	now := head
	for i, item := range list {
		switch {
		case i == 0:
		case len(now)+len(sep)+len(item) > width:
			b.WriteString(now + "\n")
			now = strings.Repeat(" ", min(len(head), 2))
		default:
			now += sep
		}
		now += item
	}
	b.WriteString(now + "\n")
}

// distinct removes duplicates and adds their count.
func distinct(list []string) []string {
	count := map[string]int{}
	var out []string
	for _, s := range list {
		if count[s]++; count[s] == 1 {
			out = append(out, s)
		}
	}
	for i, s := range out {
		if n := count[s]; n > 1 {
			out[i] = fmt.Sprintf("%s (%d times)", s, n)
		}
	}
	return out
}
