// Package prose makes the gates that compare comments and documents with the code, as far as a program can do this: the
// rules of the prose pass, and the list of public names that a change removes. docs/rules.md lists the rules.
package prose

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
)

// New makes the gate of the rules about comments and documentation.
func New() gates.Gate {
	info := gates.Info{Name: "prose", Kind: gates.Static, Cost: gates.Instant, Blocking: true, Pure: true}
	return gates.New(info, func(ctx context.Context, l *gates.Look) error {
		files, ok, err := l.Changed(ctx, func(c gates.Change) bool {
			return c.Status != gates.Deleted && !c.Link && !language.Foreign(c.Path)
		})
		if err != nil || !ok {
			return err
		}
		for _, f := range files {
			markers(l, f)
			switch path.Ext(f.Path) {
			case ".go":
				docNames(l, f)
			case ".py":
				pythonParams(l, f)
			case ".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs":
				jsParams(l, f)
			}
		}
		return nil
	})
}

var (
	leftOut = lazyre.New(`(?i)^\s*(?:#|//|/\*|<!--|--|\{/\*)\s*(?:\.\.\.|…)\s*(?:the\s+)?(?:(?:rest|remainder)\s+of|existing|other|previous|remaining|same|unchanged)\b|` +
		`^\s*(?:#|//|/\*|<!--)\s*(?:the\s+)?(?:rest|remainder) of (?:the |this )?(?:code|file|function|class|method|implementation)\b.*\b(?:unchanged|same|as before|here|remains)\b`)
	marker = lazyre.New(`^(?:<{7} |>{7} |\|{7} )`)
	// block matches the markers of the edit format, which are not merge conflicts.
	block = lazyre.New(`^[<>]{7} (?:SEARCH|REPLACE|DELETE|ORIGINAL|UPDATED)\b`)
)

func markers(l *gates.Look, f gates.File) {
	for _, line := range f.AddedLines() {
		switch {
		case marker.MatchString(line.Text) && !block.MatchString(line.Text):
			l.Find(gates.Finding{Rule: "prose/merge-marker", Severity: gates.Error, Path: f.Path, Line: line.Number,
				Message: "a merge conflict was not resolved"})
		// a document shows a part
		case leftOut.MatchString(line.Text) && !gates.Match([]string{"**/*.{md,mdx,rst,adoc,txt}"}, f.Path):
			l.Find(gates.Finding{Rule: "prose/left-out", Severity: gates.Error, Path: f.Path, Line: line.Number,
				Message: "a comment replaces omitted code", Fix: "write the code, or restore the old code"})
		}
	}
}

var (
	goDecl = lazyre.New(`^(?:func (?:\([^)]*\) )?|type |var |const )([A-Za-z_]\w*)`)
	word   = lazyre.New(`^//\s*([A-Za-z_]\w*)\b`)
)

// docNames checks comments directly above a declaration: by custom they begin with its name. It reports another first
// word only if that word is a name: the old file declared it, or it is written like one (aB).
func docNames(l *gates.Look, f gates.File) {
	lines := strings.Split(f.After, "\n")
	fresh := f.FreshLines()
	now, before := declared(lines), declared(strings.Split(f.Before, "\n"))
	for i, line := range lines {
		m := goDecl.FindStringSubmatch(line)
		if m == nil || i == 0 || !strings.HasPrefix(lines[i-1], "//") {
			continue
		}
		first := i - 1
		for first > 0 && strings.HasPrefix(lines[first-1], "//") {
			first--
		}
		says := word.FindStringSubmatch(lines[first])
		if says == nil || strings.HasPrefix(m[1], "Test") || strings.HasPrefix(m[1], "Benchmark") ||
			strings.EqualFold(says[1], m[1]) ||
			!fresh[first+1] && !(fresh[i+1] && !slices.Contains(before, m[1])) { // else the comment was wrong before
			continue
		}
		if slices.Contains(now, says[1]) && !slices.Contains(before, says[1]) || slices.Contains(before, says[1]) ||
			mixed(says[1]) && !slices.Contains(now, says[1]) {
			l.Find(gates.Finding{Rule: "prose/doc-name", Severity: gates.Warning, Path: f.Path, Line: first + 1,
				Message: "the comment of " + m[1] + " is about " + says[1], Fix: "say what " + m[1] + " does"})
		}
	}
}

func declared(lines []string) []string {
	var out []string
	for _, line := range lines {
		if m := goDecl.FindStringSubmatch(line); m != nil {
			out = append(out, m[1])
		}
	}
	return out
}

// mixed reports whether a word has capitals inside, like names in code: aB, ABc.
func mixed(s string) bool {
	lower, upper := false, false
	for i := range s {
		c := s[i]
		if c >= 'A' && c <= 'Z' && lower {
			upper = true
		}
		lower = lower || c >= 'a' && c <= 'z'
	}
	return lower && upper
}

var (
	pyDef    = lazyre.New(`^\s*(?:async\s+)?def\s+(\w+)\s*\(`)
	pyParam  = lazyre.New(`^\s*:param\s+(?:[\w\[\], .|]+\s)?\*{0,2}(\w+)\s*:`)
	pyGoogle = lazyre.New(`^\s*\*{0,2}([a-z_]\w*)\s*(?:\([^)]*\))?\s*:\s+\S`)
	pyNumPy  = lazyre.New(`^\s*(\*{0,2}[a-z_]\w*(?:\s*,\s*\*{0,2}[a-z_]\w*)*)\s*(?::\s.*)?$`)
	pyArgs   = lazyre.New(`^\s*(?:Args|Arguments|Parameters)\s*:\s*$`)
	pyTable  = lazyre.New(`^\s*(?:Other )?Parameters\s*$`)
	rule     = lazyre.New(`^\s*-{3,}\s*$`)
	jsParam  = lazyre.New(`^\s*\*\s*@param\s+(?:\{[^}]*\}\s*)?\[?(\w+)`)
	jsDef    = lazyre.New(`^\s*(?:export\s+)?(?:default\s+)?(?:async\s+)?(?:function\b|(?:const|let)\s+\w+\s*=|(?:static\s+|async\s+)*\w+\s*\()`)
	wordText = lazyre.New(`\w+`)
)

// mostHead limits the lines of a function's head.
const mostHead = 30

func pythonParams(l *gates.Look, f gates.File) {
	fresh := f.FreshLines()
	before := lists.Counts(wrongParams(f.Before), func(w wrongParam) string { return w.function + "(" + w.param })
	for _, w := range wrongParams(f.After) {
		if before[w.function+"("+w.param] > 0 {
			before[w.function+"("+w.param]--
			continue // it was wrong before
		}
		at := w.line
		if !fresh[at] {
			at = w.def // the change removed the parameter
		}
		l.Find(gates.Finding{Rule: "prose/doc-param", Severity: gates.Warning, Path: f.Path, Line: at, Message: w.function +
			" has no parameter " + w.param})
	}
}

// wrongParam is a documented parameter that its function does not have.
type wrongParam struct {
	function, param string
	line, def       int
}

// wrongParams parses docstrings of functions in the styles of Sphinx, Google and NumPy. A function with **kwargs may
// document any parameter.
func wrongParams(text string) []wrongParam {
	var out []wrongParam
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		m := pyDef.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		head, end := line, i
		for depth := brackets(line); depth > 0 && end+1 < len(lines) && end-i < mostHead; {
			end++
			head += " " + lines[end]
			depth += brackets(lines[end])
		}
		_, args, _ := strings.Cut(head, "(")
		if strings.Contains(args, "**") {
			continue
		}
		params := wordText.FindAllString(args, -1)
		for _, d := range documented(lines, end+1) {
			if name := strings.TrimLeft(d.param, "*"); !slices.Contains(params, name) {
				out = append(out, wrongParam{m[1], name, d.line, i + 1})
			}
		}
	}
	return out
}

func brackets(line string) int {
	return strings.Count(line, "(") + strings.Count(line, "[") - strings.Count(line, ")") - strings.Count(line, "]")
}

// documented lists the parameters in the docstring that begins at line from; none if there is no docstring.
func documented(lines []string, from int) []wrongParam {
	if from >= len(lines) {
		return nil
	}
	first := strings.TrimLeft(strings.TrimSpace(lines[from]), "rRuUbB")
	quote := ""
	for _, q := range []string{`"""`, "'''"} {
		if strings.HasPrefix(first, q) {
			quote = q
		}
	}
	if quote == "" || strings.Contains(first[3:], quote) {
		return nil
	}
	var out []wrongParam
	section, indent, table := false, -1, false
	for j := from + 1; j < len(lines) && j < from+200 && !strings.Contains(lines[j], quote); j++ {
		line := lines[j]
		text := strings.TrimSpace(line)
		in := len(line) - len(strings.TrimLeft(line, " \t"))
		switch {
		case pyParam.MatchString(line):
			out = append(out, wrongParam{param: pyParam.FindStringSubmatch(line)[1], line: j + 1})
		case pyArgs.MatchString(line):
			section, table, indent = true, false, -1
		case pyTable.MatchString(line) && j+1 < len(lines) && rule.MatchString(lines[j+1]):
			section, table, indent = true, true, in
			j++
		case text == "" || !section:
		case table && j+1 < len(lines) && rule.MatchString(lines[j+1]):
			section = false
		case table && in == indent:
			if m := pyNumPy.FindStringSubmatch(line); m != nil && strings.Contains(text, ":") {
				for _, name := range strings.Split(m[1], ",") {
					out = append(out, wrongParam{param: strings.TrimSpace(name), line: j + 1})
				}
			}
		case table:
			section = in > indent
		case indent < 0:
			indent = in
			fallthrough
		case in == indent:
			if m := pyGoogle.FindStringSubmatch(line); m != nil {
				out = append(out, wrongParam{param: m[1], line: j + 1})
			}
		case in < indent:
			section = false
		}
	}
	return out
}

func jsParams(l *gates.Look, f gates.File) {
	lines, fresh := strings.Split(f.After, "\n"), f.FreshLines()
	for i, line := range lines {
		p := jsParam.FindStringSubmatch(line)
		if p == nil {
			continue
		}
		j := i + 1
		for j < len(lines) && strings.HasPrefix(strings.TrimSpace(lines[j]), "*") && j-i < mostHead {
			j++
		}
		if j >= len(lines) || !jsDef.MatchString(lines[j]) {
			continue
		}
		head := lines[j]
		for k := j + 1; !strings.Contains(head, ")") && k < len(lines) && k-j < mostHead; k++ {
			head += " " + lines[k]
		}
		_, params, _ := strings.Cut(head, "(")
		if params, _, _ = strings.Cut(params, ")"); strings.Contains(params, "{") || strings.Contains(params, "...") {
			continue // destructured parameters have other names or none
		}
		if !slices.Contains(wordText.FindAllString(head, -1), p[1]) && (fresh[i+1] || fresh[j+1]) {
			l.Find(gates.Finding{Rule: "prose/doc-param", Severity: gates.Note, Path: f.Path, Line: i + 1,
				Message: "the function below has no parameter " + p[1]})
		}
	}
}
