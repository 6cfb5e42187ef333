package promise

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/testcode"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/planparse"
)

// RuleNotices marks a new test file whose tests pass although the lines that they run are wrong.
const RuleNotices = "tests-notice-nothing"

// notices runs a new test file on a wrong version of the batch's code: operators and results in added lines are
// wrong. Tests that run such a line and still pass check nothing. If they do not run one, or the wrong version
// does not build, nothing is said.
func (o Options) notices(ctx context.Context, l *gates.Look, n planparse.Named, file string, took time.Duration) error {
	s := l.Subject()
	if s.Diff == nil {
		return nil
	}
	files, _, err := gates.Files(ctx, s.Diff, nil)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(files, func(f gates.File) bool { return f.Path == file && newTests(f) }) {
		return nil
	}
	dir, err := os.MkdirTemp("", "runplan-lines-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	mark := filepath.ToSlash(filepath.Join(dir, "ran"))
	wrong, shown, tests, added := map[string]string{}, "", "", []string{}
	for _, f := range files {
		if f.Path == file {
			tests = f.After
		}
		if f.Link || f.Status == gates.Deleted || language.IsTest(f.Path) {
			continue
		}
		if text, first := worse(f, mark); first != "" {
			wrong[f.Path] = text
			if m := goPackage.FindString(text); path.Ext(f.Path) == ".go" {
				wrong[path.Join(path.Dir(f.Path), "zz_runplan_ran.go")] = m + "\n\nimport \"os\"\n\n" +
					"func runplanRan() { _ = os.WriteFile(" + strconv.Quote(mark) + ", nil, 0o644) }\n"
			}
			if shown == "" {
				shown = f.Path + ": " + first
			}
			for _, a := range f.AddedLines() {
				if m := function.FindStringSubmatch(a.Text); m != nil && !strings.Contains(f.Before, m[0]) {
					added = append(added, m[1])
				}
			}
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	for p, text := range wrong {
		name := filepath.Join(s.Dir, filepath.FromSlash(p))
		was, missing := os.ReadFile(name)
		defer func() {
			if missing != nil {
				_ = os.Remove(name)
				return
			}
			_ = os.WriteFile(name, was, 0o644)
		}()
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			return err
		}
	}
	limited, cancel := context.WithTimeout(ctx, 10*took+20*time.Second) // wrong code may not end
	defer cancel()
	var one gates.SingleRun
	err = l.Single(limited, single(file), 1, func(r gates.SingleRun) bool { one = r; return false })
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil || !one.OK || one.Outcome != gates.RunPassed && one.Outcome != gates.RunSkipped {
		return nil // the tests noticed, or nothing is known
	}
	line := fmt.Sprintf("line %d of the plan: ", n.Line)
	if _, err := os.Stat(mark); err == nil {
		o.broken(l, RuleNotices, file, line+"the new tests run changed lines, and pass although these lines are wrong: "+shown,
			"compare the results with the values that they must have")
		return nil
	}
	for _, name := range added { // a test may be about other code, but this one names what it does not run
		if regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`).MatchString(tests) {
			o.broken(l, RuleNotices, file, line+"the new tests name "+name+", and run none of the lines that the batch adds",
				"call the code, and compare its results with the values that they must have")
			return nil
		}
	}
	return nil
}

// newTests reports whether a file has tests that its old version had not.
func newTests(f gates.File) bool {
	if f.Status == gates.Added {
		return true
	}
	old := testcode.Read(f.Path, f.Before)
	return slices.ContainsFunc(testcode.Read(f.Path, f.After).Units, func(u testcode.Unit) bool {
		_, was := old.Find(u.Name)
		return !was
	})
}

// single returns how a test file runs alone. Those of Rust and Ruby run by a command.
func single(file string) gates.Single {
	one := gates.Single{Path: file}
	switch {
	case path.Ext(file) == ".rs" && path.Dir(file) == "tests":
		one.Shell = "cargo test --offline --quiet --test '" + strings.TrimSuffix(path.Base(file), ".rs") + "'"
	case strings.HasSuffix(file, "_spec.rb"):
		one.Shell = "rspec '" + file + "'"
	case path.Ext(file) == ".rb":
		one.Shell = "ruby -Ilib -Itest '" + file + "'"
	}
	return one
}

// wrongs replaces operators, with spaces around, by others. Constants stay, because tests often do not depend on them.
var wrongs = map[string]string{"+": "-", "-": "+", "*": "+", "/": "*", "%": "*", "==": "!=", "!=": "==", "===": "!==",
	"!==": "===", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}

var (
	part = lazyre.New(`"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|` + "`[^`]*`" + `|//.*|#.*|[\w.$]+|[^\s\w"'` + "`" + `]+`)
	// begins matches lines at which a statement may begin, and goesOn lines after which the next one is not a statement.
	begins   = lazyre.New(`^\s*(?:return|if|for|while|let|const|var|raise|throw|[\w.\[\]$@]+(?:, *\w+)* *:?[-+*/]?= |[\w.:]+\()|^\s*[\w()$]+ [-+*/%] `)
	goesOn   = lazyre.New(`(?:[(\[,\\=|&+*/?:.-]|\band|\bor|\bnot)\s*$`)
	opens    = lazyre.New(`[:{]\s*(?:#.*|//.*)?$`)
	result   = lazyre.New(`^(\s*return )([^({\[;]*(?:\([^()]*\))?[^({\[;]*?)(;?)$`)
	constant = lazyre.New(`^(?:[-+]?\d+|[Tt]rue|[Ff]alse|None|nil|null|undefined|self|this|err|["'].*["'])$`)
	// function matches the declaration of a function.
	function  = lazyre.New(`\b(?:def|func|fn|function)\s+(?:\([^)]*\)\s*)?(?:self\.)?(\w{3,})`)
	goPackage = lazyre.New(`(?m)^package \w+`)
	marks     = map[string]string{".py": `open("MARK", "a").close()`, ".rb": `File.write("MARK", "")`, ".go": `runplanRan()`,
		".rs": `std::fs::write("MARK", "").ok();`, ".js": `process.getBuiltinModule("fs").writeFileSync("MARK", "");`, ".sh": `: >"MARK";`}
	empty = map[string]string{".py": "None", ".rb": "nil", ".js": "undefined"}
)

// worse returns a file whose added lines are wrong and leave a mark when they run, and the first of these lines; "" if
// no line can be made wrong.
func worse(f gates.File, mark string) (text, first string) {
	ext := path.Ext(f.Path)
	if slices.Contains([]string{".ts", ".tsx", ".jsx", ".mjs", ".cjs", ".mts", ".cts"}, ext) {
		ext = ".js"
	}
	marker := strings.Replace(marks[ext], "MARK", mark, 1)
	if marker == "" {
		return "", ""
	}
	lines := strings.Split(f.After, "\n")
	values := goResults(ext, f.After)
	before := func(i int) string {
		for i--; i >= 0; i-- {
			if t := strings.TrimSpace(lines[i]); t != "" && !strings.HasPrefix(t, "//") && !strings.HasPrefix(t, "#") {
				return t
			}
		}
		return ""
	}
	out, added := slices.Clone(lines), map[int]bool{}
	for _, a := range f.AddedLines() {
		added[a.Number-1] = true
	}
	var above []int // the headers of the blocks around a line
	for i, line := range lines {
		if strings.TrimSpace(line) == "" {
			continue
		}
		for len(above) > 0 && deep(lines[above[len(above)-1]]) >= deep(line) {
			above = above[:len(above)-1]
		}
		// A line of a new function is new, although another function has the same line.
		added[i] = added[i] || len(above) > 0 && added[above[len(above)-1]]
		above = append(above, i)
		if !added[i] {
			continue
		}
		a := gates.Line{Number: i + 1, Text: line}
		last := before(i)
		if deep(line) == 0 && ext != ".sh" || !begins.MatchString(a.Text) && ext != ".sh" || goesOn.MatchString(last) && !opens.MatchString(last) {
			continue
		}
		bad := wrongLine(a.Text, ext)
		if v, ok := values[a.Number]; ok {
			bad = v
		} else if m := result.FindStringSubmatch(a.Text); m != nil && empty[ext] != "" && !constant.MatchString(m[2]) {
			bad = m[1] + empty[ext] + m[3]
		}
		if bad == a.Text {
			continue
		}
		if first == "" {
			first = strings.TrimSpace(a.Text) + " as " + strings.TrimSpace(bad)
		}
		indent := a.Text[:len(a.Text)-len(strings.TrimLeft(a.Text, " \t"))]
		if at := strings.Index(bad, ") "); ext == ".sh" && at > 0 && !strings.Contains(bad[:at], "(") {
			out[i] = bad[:at+2] + marker + bad[at+1:] // a branch of case
			continue
		}
		out[i] = indent + marker + "\n" + bad
	}
	return strings.Join(out, "\n"), first
}

func deep(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

// wrongLine replaces the operators of a line, outside of texts and comments.
func wrongLine(line, ext string) string {
	return part.ReplaceAllStringFunc(line, func(w string) string {
		if to, ok := wrongs[w]; ok && (ext != ".sh" || len(w) == 1 && strings.Contains("+-*/%", w)) {
			return to
		}
		return w
	})
}

// goResults returns the lines of Go that return a number, a text or a truth value, with another one.
func goResults(ext, text string) map[int]string {
	out := map[int]string{}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "", text, parser.SkipObjectResolution)
	if ext != ".go" || err != nil {
		return out
	}
	lines := strings.Split(text, "\n")
	kinds := regexp.MustCompile(`^(?:u?int\d*|float\d\d|byte|rune)$`)
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil || f.Type.Results.NumFields() == 0 {
			continue
		}
		kind, _ := f.Type.Results.List[0].Type.(*ast.Ident)
		ast.Inspect(f.Body, func(n ast.Node) bool {
			if _, inner := n.(*ast.FuncLit); inner {
				return false
			}
			r, ok := n.(*ast.ReturnStmt)
			if !ok || kind == nil || len(r.Results) == 0 || len(r.Results) != f.Type.Results.NumFields() {
				return true
			}
			from, to := files.Position(r.Results[0].Pos()), files.Position(r.Results[0].End())
			if from.Line != to.Line {
				return true
			}
			l := lines[from.Line-1]
			value := l[from.Column-1 : to.Column-1]
			switch {
			case constant.MatchString(value):
				return true
			case kinds.MatchString(kind.Name):
				value = "(" + value + ") + 1"
			case kind.Name == "string":
				value = "(" + value + `) + "x"`
			case kind.Name == "bool":
				value = "!(" + value + ")"
			default:
				return true
			}
			out[from.Line] = l[:from.Column-1] + value + l[to.Column-1:]
			return true
		})
	}
	return out
}
