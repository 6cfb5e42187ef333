package main

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/mutants/mutant"
	"github.com/runplan/runplan/patterns"
)

// The kinds of candidates.
const (
	truth   = "truth"   // the commit
	mutated = "mutant"  // the commit with one small error
	partial = "partial" // the commit without one of its hunks
	near    = "near"    // the parent's code, changed at the right place in a wrong way
	guard   = "guard"   // the parent's code, with its panics hidden
	cheat   = "cheat"   // only a test that cannot fail
	noise   = "noise"   // an unrelated change, up to twice as large as the commit
	special = "special" // the parent's code with special cases for the visible tests
)

// version is the code of a candidate: its files that differ from the parent's.
type version struct {
	kind, what string
	files      map[string]string
	same       bool // it behaves as the parent does: it need not run
}

// hunk is a part of the change of one file.
type hunk struct {
	file     string
	from, n  int // lines of the parent's file, from 1; n = 0 inserts after from
	new      []string
	newStart int
}

var hunkRE = regexp.MustCompile(`^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,\d+)? @@`)

// hunks returns the changes of the code files.
func (f fix) hunks(ctx context.Context) ([]hunk, error) {
	args := append([]string{"diff", "-U0", "--no-renames", "--no-ext-diff", "--no-color", "--no-prefix", f.parent,
		f.commit, "--"}, f.code...)
	out, err := git(ctx, f.dir, args...)
	if err != nil {
		return nil, err
	}
	var list []hunk
	file := ""
	for line := range strings.Lines(out) {
		if name, ok := strings.CutPrefix(line, "+++ "); ok {
			file = strings.TrimRight(name, "\t\n")
		} else if m := hunkRE.FindStringSubmatch(line); m != nil {
			h := hunk{file: file, n: 1}
			h.from, _ = strconv.Atoi(m[1])
			h.newStart, _ = strconv.Atoi(m[3])
			if m[2] != "" {
				h.n, _ = strconv.Atoi(m[2])
			}
			list = append(list, h)
		} else if len(list) > 0 && strings.HasPrefix(line, "+") {
			list[len(list)-1].new = append(list[len(list)-1].new, line[1:])
		}
	}
	return list, nil
}

// apply puts hunks into the parent's text of their file.
func apply(text string, list []hunk) string {
	lines := strings.SplitAfter(text, "\n")
	slices.SortFunc(list, func(a, b hunk) int { return b.from - a.from })
	for _, h := range list {
		at := h.from - 1
		if h.n == 0 {
			at = h.from
		}
		if at > len(lines) || at+h.n > len(lines) {
			continue
		}
		lines = slices.Replace(lines, at, at+h.n, h.new...)
	}
	return strings.Join(lines, "")
}

// maker makes the candidates of one fix.
type maker struct {
	f          fix
	before     map[string]string // the parent's code files
	after      map[string]string // the commit's
	hunks      []hunk
	rng        *rand.Rand
	program    patterns.Program
	candidates []version
}

func (m *maker) add(kind, what string, files map[string]string) {
	for _, c := range m.candidates {
		if equal(m.before, c.files, files) {
			return
		}
	}
	if len(files) > 0 && !equal(m.before, nil, files) {
		m.candidates = append(m.candidates, version{kind: kind, what: what, files: files})
	}
}

// equal reports whether two candidates have the same files.
func equal(base, a, b map[string]string) bool {
	for p, text := range base {
		x, y := text, text
		if t, ok := a[p]; ok {
			x = t
		}
		if t, ok := b[p]; ok {
			y = t
		}
		if x != y {
			return false
		}
	}
	return true
}

// with returns a copy of files with another text of one.
func with(files map[string]string, p, text string) map[string]string {
	out := map[string]string{}
	for k, v := range files {
		out[k] = v
	}
	out[p] = text
	return out
}

// make makes all candidates. The truth comes first.
func (m *maker) make(ctx context.Context) error {
	m.add(truth, m.f.subject, m.after)
	m.partials()
	good, err := m.mutate(ctx, m.after, func(h hunk) (int, int) { return h.newStart, len(h.new) })
	if err != nil {
		return err
	}
	for _, x := range good[:min(len(good), 3)] {
		m.add(mutated, fmt.Sprintf("%s:%d %s", x.Path, x.Line, x.Kind), with(m.after, x.Path, x.Apply(m.after[x.Path])))
	}
	bad, err := m.mutate(ctx, m.before, func(h hunk) (int, int) { return h.from - 1, h.n + 2 })
	if err != nil {
		return err
	}
	for _, x := range bad[:min(len(bad), 1)] {
		m.add(near, fmt.Sprintf("%s:%d %s", x.Path, x.Line, x.Kind), map[string]string{x.Path: x.Apply(m.before[x.Path])})
	}
	m.guard()
	first := m.f.code[0]
	mark := map[bool]string{true: "# ", false: "// "}[path.Ext(first) == ".py"]
	unrelated := strings.Repeat(mark+"see the manual\n", 1+m.rng.IntN(2*changed(m.before, m.after)))
	m.candidates = append(m.candidates,
		version{kind: cheat, what: "a test that cannot fail",
			files: map[string]string{first: m.before[first] + "\n" + mark + "done\n"}, same: true},
		version{kind: noise, what: "an unrelated change", files: map[string]string{first: m.before[first] + "\n" + unrelated},
			same: true})
	return nil
}

// partials leaves out one hunk, or half of the only one.
func (m *maker) partials() {
	list := m.hunks
	if len(list) == 1 && len(list[0].new) > 1 {
		h := list[0]
		for i, part := range [][]string{h.new[:len(h.new)/2], h.new[len(h.new)/2:]} {
			p := h
			p.new = part
			m.add(partial, fmt.Sprintf("half %d of the only hunk", i+1), with(nil, h.file, apply(m.before[h.file], []hunk{p})))
		}
		return
	}
	order := m.rng.Perm(len(list))
	for _, out := range order[:min(len(order), 2)] {
		files := map[string]string{}
		for _, p := range m.f.code {
			var of []hunk
			for i, h := range list {
				if h.file == p && i != out {
					of = append(of, h)
				}
			}
			files[p] = apply(m.before[p], of)
		}
		m.add(partial, fmt.Sprintf("without hunk %d of %d", out+1, len(list)), files)
	}
}

// mutate returns the mutants of lines of texts, spread over them.
func (m *maker) mutate(ctx context.Context, texts map[string]string, lines func(hunk) (from, n int)) ([]mutant.Mutant,
	error) {
	at := map[string]map[int]bool{}
	for _, h := range m.hunks {
		if at[h.file] == nil {
			at[h.file] = map[int]bool{}
		}
		from, n := lines(h)
		for i := range n {
			at[h.file][from+i] = true
		}
	}
	var list []mutant.Mutant
	var others []patterns.Text
	for _, p := range m.f.code {
		if gates.LanguageOf(p) == gates.LangGo {
			list = append(list, mutant.Of(p, texts[p], at[p])...)
		} else if at[p] != nil {
			others = append(others, patterns.Text{Path: p, Text: []byte(texts[p])})
		}
	}
	if len(others) > 0 && m.program.Found() {
		dir, err := os.MkdirTemp("", "runplan-selection-")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
		if err := (&tree{dir: dir, put: map[string]bool{}}).lay(ctx, texts); err != nil {
			return nil, err
		}
		more, err := mutant.Script(ctx, m.program, dir, others, at)
		if err != nil {
			return nil, err
		}
		list = append(list, more...)
	}
	m.rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return mutant.Spread(list), nil
}

// guard hides the panics of the first function of the parent that the commit changes.
func (m *maker) guard() {
	for _, h := range m.hunks {
		if path.Ext(h.file) != ".go" {
			continue
		}
		text := m.before[h.file]
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, h.file, text, parser.SkipObjectResolution)
		if err != nil {
			continue
		}
		for _, d := range file.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil || set.Position(fn.Pos()).Line > h.from || set.Position(fn.End()).Line < h.from {
				continue
			}
			at := set.Position(fn.Body.Lbrace).Offset + 1
			m.add(guard, "recover in "+fn.Name.Name,
				map[string]string{h.file: text[:at] + "\n\tdefer func() { _ = recover() }()\n" + text[at:]})
			return
		}
	}
}
