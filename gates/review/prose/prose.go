// Package prose makes the gates that hold what people read against the code, as far as a program can: the rules of the
// prose pass, and the list of public names that a change takes away.
//
//	rule                  found in what a change adds                                          severity
//	prose/left-out        a comment that stands for code that was left out                     error
//	prose/merge-marker    a marker of a merge conflict                                         error
//	prose/doc-name        a Go doc comment that begins with the name of something else         warning
//	prose/doc-param       documentation of a parameter that the function does not have         warning
//	names/gone            a public name that was there and is nowhere in its folder any more   warning
package prose

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/lazyre"
)

// New makes the gate of the rules about comments and documentation.
func New() gates.Gate {
	info := gates.Info{Name: "prose", Kind: gates.Static, Cost: gates.Instant, Blocking: true, Pure: true}
	return gates.New(info, func(ctx context.Context, l *gates.Look) error {
		files, ok, err := l.Changed(ctx, func(c gates.Change) bool {
			return c.Status != gates.Deleted && !c.Link && !gates.Match([]string{"**/{testdata,fixtures,vendor,node_modules}/**"}, c.Path)
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
	// block is what edits are written in, and no conflict.
	block = lazyre.New(`^[<>]{7} (?:SEARCH|REPLACE|DELETE|ORIGINAL|UPDATED)\b`)
)

func markers(l *gates.Look, f gates.File) {
	for _, line := range f.AddedLines() {
		switch {
		case marker.MatchString(line.Text) && !block.MatchString(line.Text):
			l.Find(gates.Finding{Rule: "prose/merge-marker", Severity: gates.Error, Path: f.Path, Line: line.Number, Message: "a conflict of a merge was not resolved"})
		case leftOut.MatchString(line.Text):
			l.Find(gates.Finding{Rule: "prose/left-out", Severity: gates.Error, Path: f.Path, Line: line.Number,
				Message: "a comment stands where code was left out", Fix: "write the code, or bring back what was there"})
		}
	}
}

var (
	goDecl = lazyre.New(`^(?:func (?:\([^)]*\) )?|type |var |const )([A-Za-z_]\w*)`)
	word   = lazyre.New(`^//\s*([A-Za-z_]\w*)\b`)
)

// docNames looks at comments right above a declaration: by custom they begin with its name. Another name is told of
// where it is one, and no word: it was declared here before, or is written as names are.
func docNames(l *gates.Look, f gates.File) {
	lines := strings.Split(f.After, "\n")
	fresh := freshLines(f)
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
		if says == nil || says[1] == m[1] || !(fresh[first+1] || fresh[i+1]) {
			continue
		}
		if slices.Contains(now, says[1]) && !slices.Contains(before, says[1]) || slices.Contains(before, says[1]) || mixed(says[1]) && !slices.Contains(now, says[1]) {
			l.Find(gates.Finding{Rule: "prose/doc-name", Severity: gates.Warning, Path: f.Path, Line: first + 1, Message: "the comment of " + m[1] + " is about " + says[1], Fix: "say what " + m[1] + " does"})
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

// mixed reports whether a word is written as names are: aB, ABc.
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

func freshLines(f gates.File) map[int]bool {
	out := map[int]bool{}
	for _, l := range f.AddedLines() {
		out[l.Number] = true
	}
	return out
}

var (
	pyDef    = lazyre.New(`^\s*(?:async\s+)?def\s+(\w+)\s*\(`)
	pyParam  = lazyre.New(`^\s*:param\s+(?:[\w\[\], .|]+\s)?\*{0,2}(\w+)\s*:`)
	jsParam  = lazyre.New(`^\s*\*\s*@param\s+(?:\{[^}]*\}\s*)?\[?(\w+)`)
	jsDef    = lazyre.New(`^\s*(?:export\s+)?(?:default\s+)?(?:async\s+)?(?:function\b|(?:const|let)\s+\w+\s*=|(?:static\s+|async\s+)*\w+\s*\()`)
	wordText = lazyre.New(`\w+`)
)

// mostHead is how many lines the head of a function may have.
const mostHead = 30

func pythonParams(l *gates.Look, f gates.File) {
	lines, fresh := strings.Split(f.After, "\n"), freshLines(f)
	for i, line := range lines {
		m := pyDef.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		head, end := line, i
		for !strings.Contains(head, ")") && end+1 < len(lines) && end-i < mostHead {
			end++
			head += " " + lines[end]
		}
		_, args, _ := strings.Cut(head, "(")
		params := wordText.FindAllString(args, -1)
		for j := end + 1; j < len(lines) && j < end+60; j++ {
			if pyDef.MatchString(lines[j]) {
				break
			}
			if p := pyParam.FindStringSubmatch(lines[j]); p != nil && !slices.Contains(params, p[1]) && (fresh[j+1] || fresh[i+1]) {
				l.Find(gates.Finding{Rule: "prose/doc-param", Severity: gates.Warning, Path: f.Path, Line: j + 1, Message: m[1] + " has no parameter " + p[1]})
			}
		}
	}
}

func jsParams(l *gates.Look, f gates.File) {
	lines, fresh := strings.Split(f.After, "\n"), freshLines(f)
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
		if !slices.Contains(wordText.FindAllString(head, -1), p[1]) && (fresh[i+1] || fresh[j+1]) {
			l.Find(gates.Finding{Rule: "prose/doc-param", Severity: gates.Warning, Path: f.Path, Line: i + 1, Message: "the function below has no parameter " + p[1]})
		}
	}
}
