package blueprint

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/runplan/runplan/internal/phrase"
)

// Tables returns the blueprint as tables, the default form for reviewers (BP-15). The other form is [Blueprint.YAML].
func (b *Blueprint) Tables() string {
	var w strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&w, format+"\n", args...) }
	section := func(title string) { fmt.Fprintf(&w, "\n### %s\n\n", title) }
	p("## Blueprint: %s", b.Unit)
	section("Intent")
	p("%s", phrase.Line(b.Intent.Purpose))
	p("Cognitive role: %s", phrase.Line(b.Intent.CognitiveRole))
	for _, d := range b.Intent.DesignDecisions {
		p("- decision: %s", phrase.Line(d))
	}
	section("Interfaces")
	b.interfaces(&w)
	section("Dependencies")
	b.dependencies(p)
	section("Failure modes")
	if len(b.FailureModes) == 0 {
		p("none")
	} else {
		p("| condition | response | caught | status | where |")
		p("|---|---|---|---|---|")
		for _, f := range b.FailureModes {
			p("| %s | %s | %s | %s | %s |", cell(f.Condition), cell(f.Response), cell(f.Exception), number(f.Status),
				cell(f.Interface))
		}
	}
	b.contract(section, p)
	section("Open questions")
	if len(b.Intent.OpenQuestions) == 0 {
		p("none")
	}
	for _, q := range b.Intent.OpenQuestions {
		p("- %s", phrase.Line(q))
	}
	section("Source files")
	for _, f := range b.SourceFiles {
		p("- %s (%s)", f.Path, phrase.Line(f.Role))
	}
	section("Confidence")
	p("| section | confidence |")
	p("|---|---|")
	for _, s := range b.Meta.Confidence.sections() {
		value := "unknown"
		if s.value != nil {
			value = fmt.Sprintf("%.2f", *s.value)
		}
		p("| %s | %s |", s.name, value)
	}
	return w.String()
}

func (b *Blueprint) interfaces(w *strings.Builder) {
	p := func(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }
	if len(b.Interfaces) == 0 {
		p("none")
	}
	if ends := b.Endpoints(); len(ends) > 0 {
		p("| type | method | path | request | response | errors | purpose |")
		p("|---|---|---|---|---|---|---|")
		for _, e := range ends {
			p("| http_rest | %s | %s | %s | %s | %s | %s |", e.Method, cell(e.Path), cell(e.Request), cell(e.Response),
				phrase.Join(e.Errors, " ", strconv.Itoa), cell(e.Purpose))
		}
	}
	for _, i := range b.Interfaces {
		what, names := i.Promises()
		switch {
		case i.Socket != nil:
			p("- websocket %s; messages: %s", i.Socket.Path, list(i.Socket.Messages))
		case i.Stream != nil:
			p("- sse %s; events: %s", i.Stream.Path, list(i.Stream.Events))
		case i.Event != nil:
			p("- event %s (%s); payload: %s", phrase.Line(i.Event.Topic), i.Event.Direction,
				cmp.Or(phrase.Line(i.Event.Payload), "none"))
		case i.GRPC != nil:
			p("- grpc service %s; methods: %s", phrase.Line(i.GRPC.Service), list(names))
		case what != "":
			p("- %s; %ss: %s", i.Type, what, list(names))
		}
	}
}

func (b *Blueprint) dependencies(p func(string, ...any)) {
	d := b.Dependencies
	if len(d.Services)+len(d.Volumes) == 0 {
		p("none")
	}
	for _, s := range d.Services {
		text := "- service " + phrase.Line(s.Name)
		if s.Client != "" {
			text += ", only through " + phrase.Line(s.Client)
		}
		if len(s.Calls) > 0 {
			text += "; calls: " + list(s.Calls)
		}
		if s.Purpose != "" {
			text += "; " + phrase.Line(s.Purpose)
		}
		p("%s", text)
	}
	for _, v := range d.Volumes {
		p("- volume %s (%s)", phrase.Line(v.Path), cmp.Or(v.Mode, "none"))
	}
	if len(d.Shared) > 0 {
		p("- shared libraries that every unit may use: %s", list(d.Shared))
	}
}

func (b *Blueprint) contract(section func(string), p func(string, ...any)) {
	c := b.Contract
	if len(c.Enums)+len(c.Constants)+len(c.Models) == 0 {
		return
	}
	section("Contract")
	for _, e := range c.Enums {
		p("- enum %s: %s", phrase.Line(e.Name), list(e.Members))
	}
	for _, k := range c.Constants {
		p("- constant %s = %s", phrase.Line(k.Name), cmp.Or(phrase.Line(k.Value), "none"))
	}
	for _, m := range c.Models {
		p("- model %s: %s", phrase.Line(m.Name), list(m.Fields))
	}
}

func cell(s string) string { return strings.ReplaceAll(phrase.Line(s), "|", `\|`) }

func list(items []string) string {
	return cmp.Or(phrase.Join(items, ", ", phrase.Line), "none")
}

func number(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}
