package promise

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/planparse"
)

// command runs a command of the plan and compares its result with the expectation.
func (o Options) command(ctx context.Context, l *gates.Look, c planparse.Command) error {
	want := expectationOf(c)
	run, outside := o.atRoot(c.Run)
	if outside != "" {
		l.Skip("line %d of the plan: it changes to %s, which is outside of the tree", c.Line, outside)
		return nil
	}
	p := gates.Program{Args: arguments(run, want), Limit: o.Timeout,
		Env: append(l.SourcePath(ctx), "RUNPLAN_ROOT="+l.Subject().Dir)}
	place := fmt.Sprintf("line %d of the plan: %s", c.Line, summary(c.Run))
	old, restore, err := earlier(ctx, l, run, want)
	if err != nil {
		return err
	}
	defer restore()
	if old != "" {
		place += ", with " + old + " as it was before the batch"
	}
	end, err := l.Run(ctx, p)
	if errors.Is(err, gates.ErrNoProgram) && p.Args[0] == "bash" {
		p.Args = []string{"sh", "-c", run}
		end, err = l.Run(ctx, p)
	}
	l.Command(summary(c.Run))
	switch {
	case errors.Is(err, gates.ErrNoProgram):
		o.missing(ctx, l, c, place, firstWord(run))
		return nil
	case errors.Is(err, gates.ErrTimeLimit) && ctx.Err() == nil:
		o.broken(l, RuleLimit, "", fmt.Sprintf("%s: it did not end within %s", place, o.Timeout),
			"make it end; if it only needs longer: runplan config set gates.plan.timeout 30m; "+
				"if it is a server or watches files, name the gate in disable under [gates]")
		return nil
	case err != nil:
		return err
	case end.Exit == 127 || end.Exit == 126:
		if !want.status || want.exit == 0 {
			o.missing(ctx, l, c, place, notFound(end.Text, run))
			return nil
		}
	}
	rule, wrong, certain := want.wrong(end)
	if wrong == "" {
		l.Note("line %d of the plan: %s: %s", c.Line, summary(c.Run), end.How)
		return nil
	}
	f := gates.Finding{Rule: Family + "/" + rule, Severity: o.Severity, Message: place + ": " + wrong,
		Fix: "correct the code until the command has this result; do not change what the command checks"}
	if !certain && f.Severity == gates.Error {
		f.Severity = gates.Warning
	}
	if f.Severity == gates.Error && (o.runsSuite(run) || o.runsOldFailures(ctx, run)) {
		f.Severity = gates.Warning
		f.Fix = "see the report of the test gate, which distinguishes old failures from new ones"
	}
	l.Find(f)
	return nil
}

// earlier restores the base's version of a check before a command runs it, because a batch must not change what
// verifies it. It returns the path of the check, and a function that undoes this. A changed file is a check if its name
// says so. An input file, or a file that now contains the expected output, is a check if the batch names another file.
// A file that the prose of the batch mentions is not.
func earlier(ctx context.Context, l *gates.Look, run string, want expectation) (name string, restore func(),
	err error) {
	s := l.Subject()
	restore = func() {}
	for _, w := range started(s.Dir, run) {
		p := path.Clean(w)
		if !slices.Contains(s.Changed, p) || language.IsTest(p) || s.Names(p) ||
			s.Diff == nil || mentioned(s.Batch, path.Base(p)) {
			continue
		}
		changes, err := s.Diff.Changes(ctx)
		if err != nil {
			return "", restore, err
		}
		for _, c := range changes {
			if c.Path != p || c.Status != gates.Modified {
				continue
			}
			before, err := s.Diff.Before(ctx, p)
			if err != nil {
				return "", restore, err
			}
			file := filepath.Join(s.Dir, filepath.FromSlash(p))
			now, err := os.ReadFile(file)
			if err == nil && !gates.IsCheck(p) &&
				!((inputFile.MatchString(p) || want.newIn(string(before), string(now))) && aboutOther(s, p)) {
				continue
			}
			if err == nil {
				err = os.WriteFile(file, before, 0o755)
			}
			if err != nil {
				return "", restore, fmt.Errorf("restore the check %s: %w", p, err)
			}
			return p, func() { _ = os.WriteFile(file, now, 0o755) }, nil // other gates have trees of their own
		}
	}
	return "", restore, nil
}

// inputFile matches files that a program reads as its input.
var inputFile = lazyre.New(`\.(?:csv|tsv|jsonl|ndjson|xml|log|dat|in|input)$|(?:^|/)(?:examples?|samples?|fixtures?|data|inputs?)/[^/]*\.(?:txt|json|ya?ml)$`)

// literals returns the words without expansions of all commands in a text.
func literals(run string) (out []string) {
	f, err := parse(run)
	if err != nil {
		return nil
	}
	syntax.Walk(f, func(n syntax.Node) bool {
		if word, ok := n.(*syntax.Word); ok {
			if text, plain := literal(word); plain {
				out = append(out, text)
			}
		}
		return true
	})
	return out
}

// started returns the words of a command, and those of the script of package.json or of the Makefile that it runs.
func started(dir, run string) []string {
	out := literals(run)
	if len(out) < 2 {
		return out
	}
	switch out[0] {
	case "make":
		text, _ := os.ReadFile(filepath.Join(dir, "Makefile")) // without one there is nothing to add
		return append(out, strings.Fields(string(text))...)
	case "npm", "pnpm", "yarn", "bun":
		var doc struct{ Scripts map[string]string }
		text, _ := os.ReadFile(filepath.Join(dir, "package.json")) // without one there is nothing to add
		_ = json.Unmarshal(text, &doc)
		for _, w := range out[1:] {
			out = append(out, literals(doc.Scripts[w])...)
		}
	}
	return out
}

// newIn reports whether the expected output, or a number in it, is in the new text of a script but not in the old text.
func (e expectation) newIn(before, now string) bool {
	list := numbers.FindAllString(e.text, -1)
	if len(list) == 0 && e.text != "" {
		list = []string{e.text}
	}
	return e.exact && slices.ContainsFunc(list,
		func(w string) bool { return strings.Contains(now, w) && !strings.Contains(before, w) })
}

var numbers = lazyre.New(`\d{2,}`)

// aboutOther reports whether the batch names another file that it changed, so that its author knows which files change.
func aboutOther(s gates.Subject, file string) bool {
	return slices.ContainsFunc(s.Changed, func(p string) bool {
		return p != file && (s.Names(p) || mentioned(s.Batch, path.Base(p)))
	})
}

// mentioned reports whether the prose of a batch mentions a file, and not only its commands.
func mentioned(b planparse.Batch, name string) bool {
	text := b.Title + "\n" + b.Text
	for _, c := range b.Checks() {
		text = strings.ReplaceAll(text, c.Run, "")
	}
	return strings.Contains(text, name)
}

// runsSuite reports whether a command runs all tests of the project, as one of its test gates does.
func (o Options) runsSuite(run string) bool {
	if o.Suites == nil {
		return false
	}
	want := suiteWords(run)
	return want != "" && slices.ContainsFunc(o.Suites(), func(have string) bool { return suiteWords(have) == want })
}

// everyTest matches commands that run all tests of a project by its own recipe.
var everyTest = lazyre.New(`^(?:make (?:test|tests|check)|just (?:test|check)|(?:npm|pnpm|yarn|bun)(?: run)? test|rake(?: test| spec)?|(?:bundle exec )rake(?: test| spec)?|tox|nox|mvn (?:-\S+ )*(?:test|verify)|(?:\./)?gradlew? (?:test|check))$`)

// runsOldFailures reports whether a command runs all tests by a recipe of the project although some tests failed on the
// base.
func (o Options) runsOldFailures(ctx context.Context, run string) bool {
	return o.RedBefore != nil && everyTest.MatchString(strings.Join(words(run), " ")) && o.RedBefore(ctx)
}

// suiteWords returns the words of a plain command without those that do not change the set of tests.
func suiteWords(run string) string {
	var kept []string
	for _, w := range words(run) {
		switch w {
		case "-json", "-count=1", "-v", "-q", "-race", "-m", "python", "python3", "run", "--silent":
		default:
			kept = append(kept, w)
		}
	}
	return strings.Join(kept, " ")
}

// missing reports a program that does not exist. If its path is in the tree and not ignored by git, the batch should
// have created it. A program that the machine lacks is only a warning.
func (o Options) missing(ctx context.Context, l *gates.Look, c planparse.Command, place, program string) {
	if strings.Contains(program, "/") && !path.IsAbs(program) && !o.ignored(ctx, program) {
		o.broken(l, RuleExpected, "", fmt.Sprintf("%s: %s does not exist or is not executable", place, program),
			"create it, and make it executable")
		return
	}
	l.Find(gates.Finding{Rule: Family + "/" + RuleNotRun, Severity: gates.Warning,
		Message: fmt.Sprintf("line %d of the plan: not verified, because %s is not installed here: %s", c.Line, program,
			summary(c.Run))})
}

// notFound extracts the name from "bash: line 1: frob: command not found".
func notFound(text, run string) string {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		for _, end := range []string{": command not found", ": not found", ": No such file or directory",
			": Permission denied"} {
			if before, _, ok := strings.Cut(line, end); ok {
				parts := strings.Split(before, ": ")
				return parts[len(parts)-1]
			}
		}
	}
	return firstWord(run)
}

func firstWord(run string) string {
	for _, w := range words(run) {
		if !strings.Contains(w, "=") {
			return w
		}
	}
	return summary(run)
}

// Program returns the program of a check that has to be installed on the machine. It returns "" for a command that is
// not run as a check, for a command of the shell and for a path.
func Program(c planparse.Command) string {
	if aside(c) != "" {
		return ""
	}
	f, err := parse(c.Run)
	if err != nil || len(f.Stmts) == 0 {
		return ""
	}
	st := f.Stmts[0]
	for chain, ok := st.Cmd.(*syntax.BinaryCmd); ok; chain, ok = st.Cmd.(*syntax.BinaryCmd) {
		if chain.Op == syntax.OrStmt {
			return "" // the plan says what to do without the first program
		}
		st = chain.X
		if chain.Op == syntax.AndStmt && firstOf(st) == "cd" {
			st = chain.Y
		}
	}
	name := firstOf(st)
	if builtin(name) || strings.Contains(name, "/") {
		return ""
	}
	return name
}

// firstOf returns the name of the command in a statement, or "" if it is not a plain word.
func firstOf(st *syntax.Stmt) string {
	call, ok := st.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 {
		return ""
	}
	name, _ := literal(call.Args[0])
	return name
}

// arguments returns the argument list that runs a command: its own words if it is one plain command, else bash with
// its text.
func arguments(run string, want expectation) []string {
	if list := words(run); list != nil && !builtin(list[0]) {
		return list
	}
	args := []string{"bash"}
	if strings.Contains(strings.TrimSpace(run), "\n") && want.exit == 0 && want.status {
		args = append(args, "-e") // the plan expects each of several lines to pass
	}
	if endsInReader(run) {
		args = append(args, "-o", "pipefail")
	}
	return append(args, "-c", run)
}

// words returns the words of a single plain command without shell expansions; nil for anything else.
func words(run string) []string {
	f, err := parse(run)
	if err != nil || len(f.Stmts) != 1 {
		return nil
	}
	st := f.Stmts[0]
	call, ok := st.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Assigns) > 0 || len(st.Redirs) > 0 || st.Background || st.Negated || len(call.Args) == 0 {
		return nil
	}
	var out []string
	for _, w := range call.Args {
		s, plain := literal(w)
		if !plain {
			return nil
		}
		out = append(out, s)
	}
	return out
}

// literal returns a word without expansions.
func literal(w *syntax.Word) (text string, plain bool) {
	var b strings.Builder
	for _, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			if strings.ContainsAny(p.Value, `*?[{~\`) {
				return "", false
			}
			b.WriteString(p.Value)
		case *syntax.SglQuoted:
			if p.Dollar {
				return "", false
			}
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			for _, q := range p.Parts {
				lit, ok := q.(*syntax.Lit)
				if !ok || strings.Contains(lit.Value, `\`) {
					return "", false
				}
				b.WriteString(lit.Value)
			}
		default:
			return "", false
		}
	}
	return b.String(), true
}

func parse(run string) (*syntax.File, error) {
	return syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(run), "")
}

// builtin reports whether only a shell knows the command.
func builtin(name string) bool {
	return slices.Contains([]string{"cd", "source", ".", "export", "set", "unset", "eval", "exit", "type", "command",
		"test", "[", "true", "false", "echo", "printf", ":", "ulimit", "umask", "read", "trap", "shopt", "alias", "local",
		"declare", "hash"}, name)
}

// endsInReader reports whether a command is piped into a program that reads all of its input, so that the status of the
// first command counts: "pytest 2>&1 | tail -5".
func endsInReader(run string) bool {
	f, err := parse(run)
	if err != nil || len(f.Stmts) == 0 {
		return false
	}
	cmd := f.Stmts[len(f.Stmts)-1].Cmd
	for {
		b, ok := cmd.(*syntax.BinaryCmd)
		if !ok || b.Op == syntax.OrStmt {
			return false
		}
		if b.Op == syntax.AndStmt {
			cmd = b.Y.Cmd
			continue
		}
		return slices.Contains([]string{"tail", "tee", "cat"}, firstOf(b.Y))
	}
}

// atRoot removes the author's own folder from a command: "cd ~/projects/shop && pytest" is pytest in the root of the
// tree, and "cd /home/a/shop/web && npm test" is npm test in web. outside names a folder that is not in the tree.
func (o Options) atRoot(run string) (inside, outside string) {
	f, err := parse(run)
	if err != nil {
		return run, ""
	}
	type cut struct {
		from, to uint
		text     string
	}
	var cuts []cut
	syntax.Walk(f, func(n syntax.Node) bool {
		call, ok := n.(*syntax.CallExpr)
		if !ok || len(call.Args) != 2 {
			return true
		}
		if name, _ := literal(call.Args[0]); name != "cd" {
			return true
		}
		from, to := call.Args[1].Pos().Offset(), call.Args[1].End().Offset()
		dir := strings.Trim(run[from:to], `"'`)
		if !strings.HasPrefix(dir, "/") && !strings.HasPrefix(dir, "~") && !strings.HasPrefix(dir, "$HOME") {
			return true
		}
		below := o.placeOf(dir)
		if below == "" {
			outside = dir
			return true
		}
		cuts = append(cuts, cut{from, to, below})
		return true
	})
	if outside != "" {
		return run, outside
	}
	for i := len(cuts) - 1; i >= 0; i-- {
		run = run[:cuts[i].from] + cuts[i].text + run[cuts[i].to:]
	}
	return run, ""
}

// placeOf maps an absolute folder of the plan's author to the tree: its longest suffix that is a folder there, or the
// root if its last part is the project's name. Otherwise it returns "".
func (o Options) placeOf(dir string) string {
	parts := strings.Split(strings.Trim(path.Clean(strings.ReplaceAll(dir, `\`, "")), "/"), "/")
	for i := range parts {
		below := strings.Join(parts[i:], "/")
		if len(o.in(func(p string) bool { return strings.HasPrefix(p, below+"/") })) > 0 {
			return `"$RUNPLAN_ROOT"/` + quote(below)
		}
	}
	if o.Project != "" && strings.EqualFold(parts[len(parts)-1], o.Project) {
		return `"$RUNPLAN_ROOT"`
	}
	return ""
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// shown returns a part of a text for a message.
func shown(text string) string { return phrase.Fit(strings.Join(strings.Fields(text), " "), 200) }
