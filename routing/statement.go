package routing

import (
	"cmp"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/planparse"
)

// statement holds a batch's explicit statements about dependencies, beyond those that the parser reads.
type statement struct {
	made        bool // it states its needs, possibly none: depends_on, context_refs or Consumes
	depends     bool // it states its dependencies, possibly none
	runsOnly    bool // it only runs commands
	safe        bool // it says parallel_safe itself, not just the heading of its group
	dependsLine int  // line of depends_on
	refsLine    int  // line of context_refs
	inline      []reference
	consumes    []item
	produces    []item
}

// reference is a batch or task on which the text claims to depend.
type reference struct {
	id     string // as in taskIDs
	text   string // the source of the claim, for people
	line   int
	strict bool // in parentheses after the work, as in spec-kit: a formal statement
}

// item is one thing that a batch consumes or produces.
type item struct {
	text string // text of the code span
	line int
}

// statementOf reads the text of a batch, line by line. It skips fenced code.
func statementOf(b *planparse.Batch) statement {
	s := statement{made: len(b.DependsOn)+len(b.ContextRefs) > 0, dependsLine: b.StartLine, refsLine: b.StartLine,
		depends: len(b.DependsOn) > 0}
	into, indent := (*[]item)(nil), 0 // the list below "Produces:"
	found := false
	planparse.EachLine(b, func(l planparse.Line) {
		if l.Fenced {
			return
		}
		plain := strings.TrimLeft(l.Text, " \t-*+•>_")
		key, value, ok := label(plain)
		switch {
		case ok && key == "depends_on" && !found:
			s.dependsLine, found = l.Number, true
			ids := idsIn(value)
			s.made = s.made || len(ids) > 0 || none(value)
			s.depends = s.depends || len(ids) > 0 || none(value)
			if len(b.DependsOn) == 0 { // below the part that the parser reads
				for _, id := range ids {
					s.inline = append(s.inline, reference{id: id, text: "the text says that it depends on " + id, line: l.Number})
				}
			}
			return
		case ok && key == "parallel_safe":
			s.safe = b.ParallelSafe
		case ok && key == "context_refs":
			s.refsLine, s.made = l.Number, true
		case ok && (key == "consumes" || key == "produces"):
			into, indent = &s.produces, l.Indent
			if key == "consumes" {
				into, s.made, s.depends = &s.consumes, true, s.depends || none(value)
				for _, id := range idsIn(value) {
					s.inline = append(s.inline, reference{id: id, text: "Consumes: names " + id, line: l.Number})
				}
			}
			for _, span := range planparse.Spans(value) {
				*into = append(*into, item{span, l.Number})
			}
			return
		case into != nil && (l.Indent <= indent || plain == ""):
			into = nil
		case into != nil:
			if spans := planparse.Spans(plain); len(spans) > 0 && strings.HasPrefix(plain, "`") {
				*into = append(*into, item{spans[0], l.Number}) // later code spans only explain the first
			}
		}
		s.inline = append(s.inline, inlineIn(plain, l.Number)...)
	})
	s.runsOnly = runsOnly(b, s)
	return s
}

// none reports whether a list is explicitly empty.
func none(value string) bool {
	word, _, _ := strings.Cut(strings.ToLower(strings.Trim(value, " *_`.[]()")), " ")
	return word == "" || word == "none" || word == "nothing" || word == "no" || word == "n/a" || word == "-"
}

// label splits "Key: value" and returns the key as one lower-case word: "depends_on" for "**Depends on:**".
func label(plain string) (key, value string, ok bool) {
	key, value, ok = strings.Cut(plain, ":")
	if !ok || len(key) > 16 {
		return "", "", false
	}
	key = strings.NewReplacer(" ", "_", "-", "_").Replace(strings.ToLower(strings.Trim(key, " *_`")))
	return key, strings.TrimLeft(value, "* _"), true
}

// inlineIn finds "depends on T012, T013" and "(depends on Task 4)".
func inlineIn(plain string, line int) []reference {
	var out []reference
	for _, m := range dependsOn.FindAllStringSubmatch(plain, -1) {
		for _, id := range idsIn(m[2]) {
			out = append(out, reference{id: id, text: "the text says that it depends on " + id, line: line, strict: m[1] != ""})
		}
	}
	return out
}

var dependsOn = lazyre.New(`(?i)(\(?)depends on ([^).;]*)`)

// idsIn finds the batches and tasks in a text: "T012", "Task 4", "Tasks 1, 2 and 3", "Phase 2".
func idsIn(value string) []string {
	var out []string
	kind := ""
	for _, w := range strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(" \t,;()", r) }) {
		w = strings.ToLower(strings.Trim(w, "*`.:"))
		switch digits := strings.TrimLeft(w, "0123456789"); {
		case len(w) > 1 && w[0] == 't' && strings.Trim(w[1:], "0123456789") == "":
			out = append(out, strings.ToUpper(w))
			kind = ""
		case kind != "" && digits != w && len(digits) < 3:
			out = append(out, kind+" "+w)
		case kind != "" && (w == "and" || w == "&" || w == "+"):
		default:
			kind = ""
			switch k := strings.TrimSuffix(w, "s"); k {
			case "task", "batch", "phase", "batche":
				kind = strings.TrimSuffix(k, "e")
				if k == "phase" {
					kind = k
				}
			}
		}
	}
	return out
}

// taskIDs maps the ids of idsIn to batches. For a duplicate id, the first task counts.
func taskIDs(p *planparse.Plan) map[string]int {
	ids := map[string]int{}
	for id, i := range spoken(p) {
		if _, taken := ids[id]; !taken {
			ids[id] = i
		}
	}
	return ids
}

// consumed makes a batch wait for the producers of what it consumes.
func (g *graph) consumed() {
	producers := map[string][]int{}
	for _, i := range g.order {
		for _, it := range g.says[i].produces {
			if name := declaredIn(it.text); name != "" {
				producers[name] = append(producers[name], i)
			}
		}
	}
	for _, to := range g.order {
		made, lines := map[int][]string{}, map[int]int{}
		note := func(from int, what string, line int) {
			if !slices.Contains(made[from], what) {
				made[from] = append(made[from], what)
				lines[from] = cmp.Or(lines[from], line)
			}
		}
		for _, it := range g.says[to].consumes {
			name := declaredIn(it.text)
			for _, from := range producers[name] {
				note(from, name, it.line)
			}
			if !strings.ContainsAny(it.text, "/.") {
				continue
			}
			for _, from := range g.order[:g.at[to]] {
				if slices.ContainsFunc(g.does[from].makes, func(p string) bool {
					return p == it.text || strings.Contains(it.text, "/") && strings.HasSuffix(p, "/"+it.text)
				}) {
					note(from, it.text, it.line)
				}
			}
		}
		for _, from := range g.order[:g.at[to]] {
			if what := made[from]; len(what) > 0 {
				g.add(from, to, EdgeDeclared, lines[from], "Consumes: names "+list(what)+", which "+g.name(from)+" produces")
			}
		}
	}
}
