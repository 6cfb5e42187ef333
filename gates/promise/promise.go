// Package promise makes gates of the promises of a batch: the files that it creates, changes and tests, and the
// commands that verify its outcome.
//
// Each command is a separate gate, named after its line in the plan, with its own row, log and time limit. Commands run
// as written: without a shell if the text is one plain command, else in bash. They run in a separate tree, so that no
// other gate sees the files that they write. A command is skipped, with the reason in the report, if it would never
// end, waits for a person, changes something outside of the tree or checks nothing.
package promise

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/differential"
	"github.com/runplan/runplan/gates/examples"
	"github.com/runplan/runplan/gates/giventests"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/planparse"
)

// Family is the first part of the names of the gates: "plan:files", "plan:tests", "plan:run:34".
const Family = "plan"

// DefaultTimeout is the time limit of one command.
const DefaultTimeout = 10 * time.Minute

// The rules of the gates.
const (
	RuleNotCreated = "not-created"     // a file that the batch creates is missing
	RuleNotChanged = "not-changed"     // a file that the batch changes is unchanged
	RuleNotDeleted = "not-deleted"     // a file that the batch deletes still exists
	RuleNoFunction = "no-function"     // a function that the batch adds by name does not exist
	RuleNoTests    = "no-tests-ran"    // a test file holds no test that ran
	RuleExpected   = "expected"        // a command exits differently than the plan expects
	RuleOutput     = "expected-output" // its output is not what the plan expects
	RuleLimit      = "time-limit"      // a command did not end
	RuleNotRun     = "not-run"         // a command could not run here
)

// Options sets how strictly promises are checked.
type Options struct {
	Severity gates.Severity // of a broken promise; "" is error
	Timeout  time.Duration  // of one command; 0 is [DefaultTimeout]
	Literal  bool           // the agent executed the plan literally, with its commands: only checks run again

	Project string // name of the project's folder, as in the paths of the plan's author
	Tree    Tree   // what is checked

	// Suites lists the commands of the project's test gates. Such a gate checks its tests one by one, and knows which
	// tests failed before. So a command of the plan that runs the same suite only warns. nil means no test gates.
	Suites func() []string

	// RedBefore reports whether a test gate failed on the base. A command such as "make test" then only warns: it cannot
	// distinguish old failures from new ones, but the test gates can. nil means false.
	RedBefore func(context.Context) bool

	// Room returns a tree with the subject's files in which commands run, and the environment for programs. If it is nil,
	// they run in the subject's own tree.
	Room func(ctx context.Context, s gates.Subject) (dir string, env []string, err error)

	Base gates.Room // makes the tree of the base, on which examples that differ are tried; nil tries none there

	Preamble string            // the text before the batches of the plan
	Earlier  []planparse.Batch // the batches before this one in the plan
	Since    gates.Diff        // the changes since the run began; nil if they are unknown
}

// Tree is the tree to check, from git.
type Tree interface {
	// Files returns the paths of its files, with slashes.
	Files() []string
	// Ignored returns the paths that git ignores in the tree.
	Ignored(ctx context.Context, paths []string) (map[string]bool, error)
}

// in returns the files of the tree for which want is true.
func (o Options) in(want func(p string) bool) []string {
	return lists.Filter(o.Tree.Files(), want)
}

// ignored reports whether git ignores a path, so that it can be in no commit.
func (o Options) ignored(ctx context.Context, p string) bool {
	found, err := o.Tree.Ignored(ctx, []string{p})
	return err == nil && found[p]
}

// Gates returns the gates of a batch; none if it promises nothing.
func Gates(b *planparse.Batch, o Options) []gates.Gate {
	o.Severity = cmp.Or(o.Severity, gates.Error)
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	var files, tests []planparse.Named
	for _, n := range b.Promises() {
		if n.Verb == "test" {
			tests = append(tests, n)
		} else {
			files = append(files, n)
		}
	}
	var out []gates.Gate
	info := func(name string, cost gates.Cost, command string) gates.Info {
		return gates.Info{Name: Family + ":" + name, Kind: gates.Static, Cost: cost, Blocking: true, Compares: true,
			Command: command}
	}
	noneNew, _ := wantsNoneNew(o.Preamble + "\n\n" + b.Text)
	if len(files) > 0 || noneNew != "" || promisesInText(b.Title+"\n\n"+b.Text) ||
		len(o.Earlier) > 0 && asksTestsOfEarlier(b) {
		out = append(out, gates.New(info("files", gates.Costly, ""),
			func(ctx context.Context, l *gates.Look) error { return o.files(ctx, l, files) }))
	}
	if len(tests) > 0 || asksTests.MatchString(testsPass.ReplaceAllString(fenced.ReplaceAllString(b.Text, ""), "")) {
		out = append(out, o.inRoom(
			gates.New(info("tests", gates.Costly, ""),
				func(ctx context.Context, l *gates.Look) error { return o.tests(ctx, l, tests) })))
	}
	shown := examples.Options{Severity: o.Severity, Base: o.Base, Files: func() []string { return o.Tree.Files() }}
	if g, ok := examples.Gate(b, shown); ok {
		out = append(out, o.inRoom(g))
	}
	if g, ok := giventests.Gate(b, giventests.Options{Severity: o.Severity, Files: shown.Files}); ok {
		out = append(out, o.inRoom(g))
	}
	if saysRed.MatchString(b.Title + "\n" + b.Text) {
		out = append(out, o.inRoom(gates.New(info("inputs", gates.Costly, ""), o.inputs)))
	}
	names := map[string]int{}
	for _, c := range b.Checks() {
		name := fmt.Sprintf("run:%d", c.Line)
		if names[name]++; names[name] > 1 { // "Run: `a` and `b`"
			name = fmt.Sprintf("%s.%d", name, names[name])
		}
		why := aside(c)
		if why == "" && o.Literal && !checks(c.Run) {
			why = "the agent ran it with the same expectation when it executed the plan"
		}
		i := info(name, gates.Costly, summary(c.Run))
		if why != "" {
			out = append(out, gates.New(i, func(_ context.Context, l *gates.Look) error {
				l.Skip("line %d of the plan: %s", c.Line, why)
				return nil
			}))
			continue
		}
		out = append(out, o.inRoom(
			gates.New(i, func(ctx context.Context, l *gates.Look) error { return o.command(ctx, l, c) })))
	}
	return out
}

// summary returns a command in one line.
func summary(run string) string {
	first, rest, more := strings.Cut(strings.TrimSpace(run), "\n")
	if more && strings.TrimSpace(rest) != "" {
		first += " …"
	}
	return phrase.Fit(first, 120)
}

// inRoom runs g in a separate tree.
func (o Options) inRoom(g gates.Gate) gates.Gate {
	if o.Room == nil {
		return g
	}
	return roomed{g, o.Room}
}

type roomed struct {
	gates.Gate
	room func(ctx context.Context, s gates.Subject) (string, []string, error)
}

// Check runs the gate on the tree in the room.
func (r roomed) Check(ctx context.Context, s gates.Subject) (gates.Report, error) {
	var err error
	if s.Dir, s.Env, err = r.room(ctx, s); err != nil {
		return gates.Report{}, fmt.Errorf("make a tree for the plan's commands: %w", err)
	}
	return r.Gate.Check(ctx, s)
}

// broken adds a finding for a promise that was not kept.
func (o Options) broken(l *gates.Look, rule, file, message, fix string) {
	l.Find(gates.Finding{Rule: Family + "/" + rule, Path: file, Severity: o.Severity, Message: message, Fix: fix})
}

// files compares the change with the files that the batch names.
func (o Options) files(ctx context.Context, l *gates.Look, named []planparse.Named) error {
	s := l.Subject()
	kept, open := 0, 0
	for _, n := range named {
		if err := ctx.Err(); err != nil {
			return err
		}
		if placeholder(n.Path) {
			open++
			continue
		}
		is := func(p string) bool { return means(n.Path, p) }
		if slices.Contains(o.Tree.Files(), n.Path) || slices.Contains(s.Changed, n.Path) {
			// The name of a file without its folder may be short for another one, but dist/calc.js is not calc.js.
			is = func(p string) bool {
				return p == n.Path || !strings.Contains(n.Path, "/") && means(n.Path, p) && !language.Built(p) &&
					!language.IsTest(p)
			}
		}
		there, changed := len(o.in(is)) > 0, slices.ContainsFunc(s.Changed, is)
		if n.Place && !there && !changed { // plans often name a nearby file or folder instead
			is = func(p string) bool { return path.Dir(p) == path.Dir(n.Path) && path.Ext(p) == path.Ext(n.Path) }
			changed = slices.ContainsFunc(s.Changed, is)
		}
		ok := there || changed
		rule, what, fix := RuleNotCreated, "the batch creates it, but it does not exist", "create it"
		switch n.Verb {
		case "modify":
			// A change of a missing file creates it, and a removal is a change as well.
			blank, err := o.blank(ctx, s, is)
			if err != nil {
				return err
			}
			ok = changed && !blank || s.Changed == nil
			rule, what, fix = RuleNotChanged, "the batch changes it, but it is unchanged",
				"make the change that the batch asks for"
			if blank {
				what = "the batch changes it, but only comments, empty lines and spaces at ends of lines differ"
			}
			if !there && !changed {
				what = "the batch changes it, but it does not exist"
			}
		case "delete":
			ok = !there || o.gone(n.Path, s.Changed)
			rule, what, fix = RuleNotDeleted, "the batch deletes it, but it still exists", "delete it"
		case "create":
			if ok && o.hollow(s, n.Path) {
				ok, what, fix = false, "the batch creates it, but it has no content", "write what the batch asks for"
			}
			if ok && o.linked(ctx, s, n.Path) {
				ok, what, fix = false, "the batch creates it, but it is only a link to another file", "write the file itself"
			}
			if !ok && !there && o.ignored(ctx, n.Path) && !slices.ContainsFunc(s.Changed, hides) {
				l.Find(gates.Finding{Rule: Family + "/" + RuleNotCreated, Severity: gates.Warning, Path: n.Path,
					Message: fmt.Sprintf("line %d of the plan: git ignores it, so it is not in the commit", n.Line),
					Fix:     "correct .gitignore, or remove the file from the plan"})
				continue
			}
		}
		switch {
		case ok:
			kept++
		case n.Maybe:
			open++
		default:
			o.broken(l, rule, n.Path, fmt.Sprintf("line %d of the plan: %s", n.Line, what), fix+", or remove it from the plan")
		}
	}
	if err := o.functions(ctx, l); err != nil {
		return err
	}
	if err := o.noNewDependencies(ctx, l); err != nil {
		return err
	}
	if err := o.inText(ctx, l); err != nil {
		return err
	}
	if len(named) == 0 {
		return nil
	}
	l.Note("%d of %s kept", kept, phrase.Count(len(named), "promise about a file", "promises about files"))
	if open > 0 {
		l.Note("%d not decided: the plan does not say which file is meant, or whether it changes", open)
	}
	return nil
}

var (
	clauses = lazyre.New(`[.!?;]\s|\n\s*\n|\n\s*(?:[-*]|\d+\.)\s`)
	adds    = lazyre.New(`(?i)^\W*(?:[^:\n]{0,40}:\s*)?(?:and |then )?(?:add|create|write|implement|define|provide|introduce)\b`)
	avoids  = lazyre.New(`(?i)\b(?:not|no|never|remove\w*|delete\w*|renam\w*|replac\w*|instead|optional\w*|example|like|such as|e\.g\.|similar|maybe|or)\b`)
	// wanted matches the name of a function in prose: a function to_km(miles), add `Cart.total()`.
	wanted = lazyre.New(
		"(?i)\\b(?:functions?|methods?)\\s+(?:named\\s+|called\\s+)?(?:`([\\w.]+)(?:\\([^`]*\\))?`|([\\w.]+)\\()|" +
			"\\b(?:add|create|write|implement|define|provide|introduce)\\s+(?:an? |the )?`([\\w.]+)\\([^`]*\\)`")
)

// functions finds functions that the batch adds by name and that no code has.
func (o Options) functions(ctx context.Context, l *gates.Look) error {
	s := l.Subject()
	var missing []string
	for _, clause := range clauses.Split(s.Batch.Text, -1) {
		if !adds.MatchString(clause) {
			continue
		}
		for _, m := range wanted.FindAllStringSubmatch(clause, -1) {
			name := m[1] + m[2] + m[3]
			if before, _, _ := strings.Cut(clause, m[0]); avoids.MatchString(before) {
				break
			}
			if name = name[strings.LastIndex(name, ".")+1:]; len(name) > 2 && !slices.Contains(missing, name) {
				missing = append(missing, name)
			}
		}
	}
	if len(missing) == 0 || s.Dir == "" {
		return nil
	}
	for _, p := range o.in(func(p string) bool { return !language.IsTest(p) && !prose.MatchString(p) }) {
		if err := ctx.Err(); err != nil {
			return err
		}
		data, err := os.ReadFile(filepath.Join(s.Dir, filepath.FromSlash(p)))
		if err != nil { // unknown
			return nil
		}
		all, code := folded(string(data)), ""
		missing = slices.DeleteFunc(missing, func(name string) bool {
			if !strings.Contains(all, folded(name)) {
				return false
			}
			code = cmp.Or(code, folded(bare(p, string(data))))
			return names(code, folded(name))
		})
		if len(missing) == 0 {
			return nil
		}
	}
	for _, name := range missing {
		o.broken(l, RuleNoFunction, "", "the batch adds the function "+name+", but no code has that name",
			"write it, or remove it from the plan")
	}
	return nil
}

// folded makes names of all styles equal: to_km, toKm and ToKm.
func folded(text string) string { return strings.ToLower(strings.ReplaceAll(text, "_", "")) }

// prose matches files that are not code.
var prose = lazyre.New(`(?i)\.(?:md|mdx|txt|rst|adoc|lock|sum|svg|png|jpe?g|gif|ico|pdf|csv|json)$`)

// asksLayout matches words of a batch that may ask for a change of white space.
var asksLayout = lazyre.New(`(?i)\b(?:re-?format\w*|format(?:s|ted|ting|ter)?|fmt|gofmt|prettier|indent\w*|white-?space|spaces?|tabs?|new-?lines?|blank lines?|empty lines?|line (?:endings?|breaks?)|layout|style|crlf|align\w*)\b`)

// formats matches words of a batch that runs a formatter, which may change only comments.
var formats = lazyre.New(`(?im)\b(?:re-?format\w*|formatt(?:ed|er|ing)|fmt|gofmt|prettier|layout|style|indent\w*|align\w*)\b|(?:^|[.;:]\s|\b(?:to|and)\s)format\b`)

// asksComment matches words of a batch that asks for comments.
var asksComment = lazyre.New(`(?i)\b(?:comment\w*|document\w*|docs?|doc-?strings?|describ\w*|descriptions?|explain\w*|notes?|licen[cs]e\w*|copyright|headers?|` +
	`annotat\w*|dead|directives?|pragmas?|tags?|lint\w*|nolint|noqa|todos?|typos?|spelling|wording|prose|english|clarify|mention\w*|broken links?|references?|rubocop|eslint|` +
	`types? (?:hints?|ignores?|checks?|checker|errors?)|@types?|jsdoc|tsdoc)\b`)

// blank reports whether the files differ from the base only in empty lines, in spaces at the ends of lines and, if they
// are code, in comments. It is false if the batch asks for such changes.
func (o Options) blank(ctx context.Context, s gates.Subject, is func(string) bool) (bool, error) {
	text := s.Batch.Title + "\n" + s.Batch.Text
	if s.Diff == nil || formats.MatchString(text) {
		return false, nil
	}
	lines := fullLines
	if asksLayout.MatchString(text) { // white space counts
		lines = func(text []byte) []string {
			return lists.Filter(strings.Split(string(text), "\n"), func(l string) bool { return l != remarkLine })
		}
	}
	changes, err := s.Diff.Changes(ctx)
	if err != nil {
		return false, err
	}
	blank := false
	for _, c := range changes {
		if !is(c.Path) {
			continue
		}
		if c.Status != gates.Modified {
			return false, nil
		}
		before, err := s.Diff.Before(ctx, c.Path)
		if err == nil {
			var after []byte
			after, err = s.Diff.After(ctx, c.Path)
			if marks[codeExt(c.Path)] != "" && !asksComment.MatchString(text) {
				before, after = withoutRemarks(before), withoutRemarks(after)
			}
			blank = err == nil && len(before) > 0 && slices.Equal(lines(before), lines(after))
		}
		if err != nil || !blank {
			return false, nil // a file that is too large has changed
		}
	}
	return blank, nil
}

// remarkLine stands for a comment on lines of its own.
const remarkLine = "\x00"

func withoutRemarks(text []byte) []byte {
	return []byte(remarks.ReplaceAllString(string(text), remarkLine))
}

// fullLines returns the lines of a text that are not empty, without spaces at their ends.
func fullLines(text []byte) (lines []string) {
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimRight(line, " \t\r\n"); line != "" && line != remarkLine {
			lines = append(lines, line)
		}
	}
	return lines
}

// hides reports whether a file lists files that git ignores. A promised file that the batch itself hides is not kept.
func hides(p string) bool { return path.Base(p) == ".gitignore" }

// linked reports whether the change adds a promised file as a link although the batch does not ask for a link.
func (o Options) linked(ctx context.Context, s gates.Subject, name string) bool {
	if s.Diff == nil || asksLink.MatchString(s.Batch.Title+"\n"+s.Batch.Text) {
		return false
	}
	changes, err := s.Diff.Changes(ctx)
	return err == nil && slices.ContainsFunc(changes, func(c gates.Change) bool { return c.Path == name && c.Link })
}

var asksLink = lazyre.New(`(?i)link|alias|point(?:s|ing)? to`)

// gone reports whether the change removed the file or folder with exactly this path, even if the batch moved it.
func (o Options) gone(name string, changed []string) bool {
	name = strings.TrimSuffix(path.Clean(strings.TrimSpace(name)), "/")
	is := func(p string) bool { return p == name || strings.HasPrefix(p, name+"/") }
	return slices.ContainsFunc(changed, is) && len(o.in(is)) == 0
}

// means reports whether a path of the plan refers to the path p of the tree. It may be p itself, a folder above p, a
// glob that matches p, or a suffix of p, since plans shorten paths.
func means(name, p string) bool {
	name = strings.TrimSuffix(path.Clean(strings.TrimSpace(name)), "/")
	if strings.ContainsAny(name, "*?{") {
		name = strings.ReplaceAll(name, "[", `\[`) // frameworks use it in names: "rooms/[id]/*.tsx"
		return slices.ContainsFunc([]string{name, "**/" + name}, func(pattern string) bool {
			ok, err := doublestar.Match(pattern, p)
			return ok && err == nil
		})
	}
	return p == name || strings.HasPrefix(p, name+"/") || strings.HasSuffix(p, "/"+name) ||
		strings.Contains("/"+p, "/"+name+"/")
}

// placeholder reports whether a path is a pattern for a person to fill in: "src/<name>.go", "YYYY-MM-DD-x.md".
func placeholder(p string) bool {
	return strings.ContainsAny(p, "<>{}…$") || strings.Contains(p, "...") || strings.Contains(p, "YYYY") ||
		strings.Contains(p, "NNN") || strings.Contains(p, "XXX")
}

// tests runs the test files that the batch names, one by one. If the batch asks for tests and names no test file, these
// are the changed files with new tests.
func (o Options) tests(ctx context.Context, l *gates.Look, named []planparse.Named) error {
	ran, blind := 0, []unseen{}
	if len(named) == 0 {
		files, _, err := gates.Files(ctx, l.Subject().Diff, func(c gates.Change) bool { return language.IsTest(c.Path) })
		if err != nil {
			return err
		}
		files = lists.Filter(files, func(f gates.File) bool { return f.Status != gates.Deleted && newTests(f) })
		if len(files) == 0 || len(files) > mostUnnamed {
			l.Skip("%d files have new tests, and the plan names none", len(files))
			return nil
		}
		named = lists.Map(files,
			func(f gates.File) planparse.Named { return planparse.Named{Path: f.Path, Maybe: true, Line: unnamed} })
	}
	for _, n := range named {
		if placeholder(n.Path) {
			l.Note("%s: the plan does not say which file is meant", n.Path)
			continue
		}
		file, only := differential.Split(n.Path)
		files := o.in(func(p string) bool { return means(file, p) })
		if slices.Contains(files, file) {
			files = []string{file}
		}
		tests := slices.DeleteFunc(slices.Clone(files), func(p string) bool { return !language.IsTest(p) })
		switch {
		case len(files) == 0:
			if !n.Maybe {
				o.broken(l, RuleNoTests, file,
					fmt.Sprintf("line %d of the plan: the batch adds this test, but it does not exist", n.Line),
					"write the test at that path")
			}
			continue
		case slices.ContainsFunc(files, func(p string) bool { return o.linked(ctx, l.Subject(), p) }):
			o.broken(l, RuleNoTests, file,
				fmt.Sprintf("line %d of the plan: the batch adds this test, but it is only a link", n.Line),
				"write the test at that path")
			continue
		case len(tests) == 0: // a fixture, or a document
			ran++
			continue
		}
		if kept, err := o.anyRan(ctx, l, n, tests, only, &blind); err != nil {
			return err
		} else if kept {
			ran++
		}
	}
	if !slices.ContainsFunc(blind, func(u unseen) bool { return u.what == "" }) { // another file may check it
		for _, u := range blind {
			where := fmt.Sprintf("line %d of the plan: ", u.line)
			if u.line == unnamed {
				where = "the batch asks for tests: "
			}
			o.broken(l, RuleNotices, u.file, where+u.what,
				"compare the results of the new code with the values that they must have")
		}
	}
	l.Note("%d of %s with tests that ran", ran, phrase.Count(len(named), "test file"))
	return nil
}

// mostUnnamed limits the number of test files of a batch that names none. Each costs several runs of its tests.
const mostUnnamed = 3

// unnamed stands for the line number in the plan if the plan does not name the file.
const unnamed = -1

// unseen says why the tests of a file notice nothing; "" if they do.
type unseen struct {
	file string
	line int
	what string
}

// compiled matches Go test files for examples and benchmarks. Without an expected output, go test only compiles
// examples.
var compiled = lazyre.New(`(?:^|[_/])(?:example|bench)\w*_test\.go$`)

// anyRan runs test files until one has run a test. A failed test did run; the suite reports its failure.
func (o Options) anyRan(ctx context.Context, l *gates.Look, n planparse.Named, files []string, only string,
	blind *[]unseen) (bool, error) {
	var why, unknown string
	for _, f := range files[:min(len(files), 20)] {
		var one gates.SingleRun
		dir := filepath.Join(l.Subject().Dir, filepath.FromSlash(path.Dir(f)))
		began, known := time.Now(), below(dir)
		err := l.Single(ctx, gates.Single{Path: f, Only: only}, 1, func(r gates.SingleRun) bool { one = r; return false })
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		switch {
		case errors.Is(err, gates.ErrTimeLimit):
			return false, err
		case err != nil:
			unknown = err.Error()
		case one.Outcome == gates.RunBroken && o.brokenBefore(ctx, l, f):
			unknown = "neither this file nor its old version can run alone, so the project must start it in another way: " +
				one.Why
		case one.Outcome == gates.RunEmpty && compiled.MatchString(f):
			l.Note("%s compiles, and has no test to run", f)
			return true, nil
		case one.Outcome == gates.RunEmpty || one.Outcome == gates.RunSkipped && one.Passed == 0 ||
			one.Outcome == gates.RunBroken:
			why = fmt.Sprintf("it %s", one.Outcome)
			if one.Why != "" {
				why += ": " + one.Why
			}
		default:
			if one.OK && only == "" && o.Room != nil { // only a separate tree may be changed
				took := time.Since(began)
				for p := range below(dir) { // a test may have written its expected result itself
					if !known[p] {
						_ = os.Remove(p) // if the file remains, the test passes without proof
					}
				}
				what, err := notices(ctx, l, f, one, took)
				*blind = append(*blind, unseen{f, n.Line, what})
				return true, err
			}
			*blind = append(*blind, unseen{})
			return true, nil
		}
	}
	switch {
	case n.Line == unnamed: // the plan does not say that this file has its tests
	case why != "":
		o.broken(l, RuleNoTests, files[0],
			fmt.Sprintf("line %d of the plan: the batch adds tests to this file, but none of them ran: %s", n.Line, why),
			"write tests that run")
	case unknown != "":
		l.Find(gates.Finding{Rule: Family + "/" + RuleNotRun, Path: files[0], Severity: gates.Warning,
			Message: fmt.Sprintf("line %d of the plan: it is unknown whether its tests run: %s", n.Line, unknown)})
	}
	return false, nil
}

// brokenBefore reports whether the old version of a test file of Node cannot run alone either. The suite of such a
// project runs a program that starts its tests.
func (o Options) brokenBefore(ctx context.Context, l *gates.Look, file string) bool {
	s := l.Subject()
	if o.Room == nil || s.Diff == nil || gates.LanguageOf(file) != gates.LangNode {
		return false
	}
	before, err := s.Diff.Before(ctx, file)
	name := filepath.Join(s.Dir, filepath.FromSlash(file))
	now, failed := os.ReadFile(name)
	if err != nil || failed != nil || len(before) == 0 || os.WriteFile(name, before, 0o644) != nil {
		return false
	}
	defer func() { _ = os.WriteFile(name, now, 0o644) }()
	var old gates.RunOutcome
	err = l.Single(ctx, gates.Single{Path: file}, 1, func(r gates.SingleRun) bool { old = r.Outcome; return false })
	return err == nil && old == gates.RunBroken
}

// below returns the files in a folder, except files of package managers and build tools.
func below(dir string) map[string]bool {
	out := map[string]bool{}
	_ = filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil // unreadable files stay
		case d.IsDir() && (language.Vendored(d.Name()) ||
			slices.Contains([]string{".git", "target", "__pycache__"}, d.Name())):
			return filepath.SkipDir
		case d.Type().IsRegular():
			out[p] = true
		}
		return nil
	})
	return out
}
