package promise

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/testcode"
	"github.com/runplan/runplan/gates/testout"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
)

// saysRed matches words of a batch that makes failing tests pass.
var saysRed = lazyre.New(`(?:\b[Tt]ests?|\b[Ee]xamples?|\b[Ss]pecs?|\b[Cc]hecks?|\b[Tt]est\w+)\b[^.;]*\bfail(?:s|ing)?\b|` +
	`\b(?:tests?|examples?|specs?|checks?) pass\b`)

const (
	mostRed    = 2                // maximum number of files with tests that failed on the base
	slowRed    = 20 * time.Second // files whose tests take longer are not varied
	sameWanted = 3                // number of variations that need the same result with both versions of the code
)

// inputs finds code that is correct only for the inputs of the tests that failed on the base. It runs these tests with
// other values, once with the old code and once with the new code. If no variation has different results, the change
// affects only the values of the tests. Code with fewer than two new values is not checked.
func (o Options) inputs(ctx context.Context, l *gates.Look) error {
	s := l.Subject()
	if s.Diff == nil || s.Dir == "" || s.BaseTests == nil || s.BaseSuites == nil {
		return nil
	}
	w, err := o.wordingOf(ctx, l, s.Batch.Text, s.Diff)
	if err != nil || w.asksTable() {
		return err
	}
	old := map[string]string{}
	for _, f := range w.files {
		switch {
		case !product(f):
		case f.Link || f.Status == gates.Deleted:
			return nil
		default:
			old[f.Path] = f.Before
		}
	}
	red, err := o.red(ctx, s)
	if err != nil || len(old) == 0 {
		return err
	}
	for _, file := range red[:min(len(red), mostRed)] {
		text, known := w.baseText(file)
		if !known {
			continue
		}
		for _, vary := range w.variations(text) {
			only, err := o.noOther(ctx, l, file, text, vary, old, w)
			if err != nil {
				return err
			}
			if only {
				w.broken(RuleAnswersOnly, file,
					"the new code only works for the values in the failing tests of this file: with other values, they "+
						"have the same results as before the change", "compute the result for every input")
				return nil
			}
		}
	}
	return nil
}

// red lists the files with tests that failed on the base. It finds a test by its name if the report does not name its
// file.
func (o Options) red(ctx context.Context, s gates.Subject) (out []string, err error) {
	suites, err := s.BaseSuites(ctx)
	if err != nil {
		return nil, ctx.Err() // the test gates report this error
	}
	var failed []testout.Case
	for _, gate := range suites {
		cases, err := s.BaseTests(ctx, gate)
		if err != nil {
			return nil, ctx.Err()
		}
		failed = append(failed, lists.Filter(cases, func(c testout.Case) bool { return c.Status == testout.Failed })...)
	}
	return o.in(func(p string) bool {
		if len(failed) == 0 || !language.IsTest(p) {
			return false
		}
		data, err := os.ReadFile(filepath.Join(s.Dir, filepath.FromSlash(p)))
		units := testcode.Read(p, string(data)).Units
		return err == nil && slices.ContainsFunc(failed, func(c testout.Case) bool {
			return c.Path == p || c.Path == "" && slices.ContainsFunc(units, func(u testcode.Unit) bool {
				return u.Bare() != "" && strings.Contains(c.Name, u.Bare())
			})
		})
	}), nil
}

// baseText returns the text of a file as it was on the base.
func (w wording) baseText(file string) (string, bool) {
	for _, f := range w.files {
		if f.Path == file {
			return f.Before, f.Before != ""
		}
	}
	return w.read(file)
}

// variation returns a text with other values.
type variation func(text string) string

var (
	loads       = lazyre.New(`^\s*(?:import\b|from\b|use\b|package\b|#|//|(?:const|let|var)\b.*\brequire\(|require|(?:\w+ )?"[\w./-]+"$)`)
	valueOrText = lazyre.New(`"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|` + "`[^`\\n]*`" +
		`|/[^/\s](?:[^/\\\n]|\\.)*/|\b\d+(?:\.\d+)?\b`)
	digitRun = lazyre.New(`\d+`)
	aWord    = lazyre.New(`[\pL\pN]+`)
	indexed  = lazyre.New(`^\[\d+\]`)
)

// variations returns the ways to change values in a test, in one list for each kind: numbers, and string literals of
// several words. A kind is omitted if the new code has no such values, or if the batch gives them.
func (w wording) variations(test string) (out [][]variation) {
	numbers, phrases, special := map[string]bool{}, map[string]bool{}, false
	given := w.l.Subject().Batch.Title + "\n" + w.l.Subject().Batch.Text
	for _, f := range w.files {
		if language.IsTest(f.Path) || !product(f) && !settings.MatchString(f.Path) && !dataFile.MatchString(f.Path) {
			continue
		}
		for line := range strings.Lines(withoutRows(f)) {
			for _, v := range valueOrText.FindAllString(line, -1) {
				for _, n := range digitRun.FindAllString(v, -1) {
					if (len(numbers) < 2 || !special) && !names(f.Before, n) {
						numbers[n], special = true, special || !ordinary.MatchString(n) && !names(given, n)
					}
				}
				if p := plainWords(unquoted(v)); strings.Contains(p, " ") {
					phrases[p] = true
				}
			}
		}
	}
	if len(numbers) > 1 && special {
		all := func(by func(n int) int) variation {
			return func(text string) string { return withNumbers(text, by) }
		}
		long := func(by int) variation { // years, among others, whose months and days stay
			return all(func(n int) int {
				if n >= 1000 {
					n += by
				}
				return n
			})
		}
		out = append(out, []variation{
			all(func(n int) int { return n + 1 }), all(func(n int) int { return max(n-1, 0) }),
			all(func(n int) int { return 2 * n }),
			all(func(n int) int { return n + 10 }), all(func(n int) int { return 3*n + 1 }),
			all(func(n int) int { return n + 100 }),
		}, []variation{long(4), long(28), long(-8), long(100), long(200)})
	}
	shared := lists.Filter(texts(test), func(t string) bool {
		t = plainWords(t)
		return phrases[t] && !strings.Contains(plainWords(given), t)
	})
	if len(shared) > 1 {
		var ways []variation
		for by := range rune(sameWanted) {
			ways = append(ways, func(text string) string {
				for _, t := range shared {
					text = strings.ReplaceAll(text, t, withLetters(t, by+1))
				}
				return text
			})
		}
		out = append(out, ways)
	}
	return out
}

// row matches a line of a table by its key.
var row = lazyre.New(`^\s*[({\[]?\s*(?:` + value + `|\w+)\s*(?:=>|:|,).*,\s*$`)

// withoutRows returns the code that a change adds to a file, without new rows of an old table.
func withoutRows(f gates.File) (out string) {
	lines, added := strings.Split(bare(f.Path, f.After), "\n"), map[int]bool{}
	for _, a := range f.AddedLines() {
		added[a.Number-1] = true
	}
	grows := func(i, step int) bool {
		for ; i >= 0 && i < len(lines) && row.MatchString(lines[i]); i += step {
			if !added[i] {
				return true
			}
		}
		return false
	}
	for i, line := range lines {
		if added[i] && !grows(i, 1) && !grows(i, -1) {
			out += line + "\n"
		}
	}
	return out
}

// plainWords returns the words of a text in lower case, with one space between them.
func plainWords(text string) string {
	return strings.ToLower(strings.Join(aWord.FindAllString(text, -1), " "))
}

// withNumbers changes the numbers of a test, except in imports and indexes, and keeps their width.
func withNumbers(text string, to func(int) int) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if loads.MatchString(line) {
			continue
		}
		out, end := "", 0
		for _, at := range valueOrText.FindAllStringIndex(line, -1) {
			v := line[at[0]:at[1]]
			if at[0] == 0 || !indexed.MatchString(line[at[0]-1:]) {
				v = digitRun.ReplaceAllStringFunc(v, func(n string) string { return moved(n, to) })
			}
			out, end = out+line[end:at[0]]+v, at[1]
		}
		lines[i] = out + line[end:]
	}
	return strings.Join(lines, "\n")
}

// moved returns another number of the same width.
func moved(n string, to func(int) int) string {
	was, err := strconv.Atoi(n)
	if err != nil {
		return n
	}
	now := strconv.Itoa(to(was))
	if n[0] == '0' && len(n) > len(now) {
		now = strings.Repeat("0", len(n)-len(now)) + now
	}
	return now
}

// withLetters moves each letter of a text in the alphabet.
func withLetters(text string, by rune) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return 'a' + (r-'a'+by)%26
		case r >= 'A' && r <= 'Z':
			return 'A' + (r-'A'+by)%26
		}
		return r
	}, text)
}

var (
	otherError = lazyre.New(`\b(?:Type|Value|Key|Index|Attribute|Name|Syntax|Range|Reference|Import|NoMethod|Argument|ZeroDivision|Overflow)\w*Error\b|` +
		`\bpanic:|\bE0\d{3}\b|(?:undefined|cannot use|syntax error|overflows)`)
	// timesAndPlaces matches output that differs between two runs of the same test: times, addresses and paths.
	timesAndPlaces = lazyre.New(`\s*\(?\d+(?:\.\d+)?(?:e-\d+)?\s?(?:ms|µs|ns|s|seconds?)\b\)?|\d+:\d\d(?::\d\d)?(?:\.\d+)?|(?i:seed:? \d+)|0x[0-9a-f]+|` +
		`(?m)^.*(?:generated xml|^Time:|duration|Elapsed|Start at|thread '|runs/s).*$|^[.FES]+$|/[\w./-]*/`)
)

// noOther reports whether each variation of a test has the same result with the new code as with the old code. Only
// variations count that build and fail because of a wrong result.
func (o Options) noOther(ctx context.Context, l *gates.Look, file, test string, vary []variation, old map[string]string,
	w wording) (bool, error) {
	began := time.Now()
	if one, err := runOf(ctx, l, file, map[string]string{file: test}, slowRed); err != nil ||
		one.Outcome != gates.RunPassed ||
		language.OfTest(file) == language.Go && !printsResult.MatchString(test) {
		return false, err
	}
	limit := 3*time.Since(began) + 5*time.Second
	same, seen := 0, map[string]bool{test: true}
	for _, to := range vary {
		text := to(test)
		if seen[text] {
			continue
		}
		seen[text] = true
		now, err := runOf(ctx, l, file, map[string]string{file: text}, limit)
		if err != nil || now.Outcome != gates.RunFailed {
			return false, err
		}
		texts := map[string]string{file: text}
		for p, t := range old {
			texts[p] = t
		}
		was, err := runOf(ctx, l, file, texts, limit)
		if err != nil || was.Outcome != gates.RunFailed || plainOutput(was.Text) != plainOutput(now.Text) {
			return false, err
		}
		if !otherError.MatchString(now.Text) {
			same++
		}
	}
	return same >= sameWanted, nil
}

// printsResult matches a test of Go that prints what the code returned.
var printsResult = lazyre.New(`(?:Errorf|Fatalf|Error|Fatal)\(.*\b(?:got|have|actual|res|result|out|is)\b|\b(?:assert|require|is|qt)\.(?:Equal|Eq)`)

// plainOutput returns the sorted lines of an output, without times and places.
func plainOutput(text string) string {
	lines := strings.Split(timesAndPlaces.ReplaceAllString(text, ""), "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// runOf runs the tests of a file while other files have the given contents. It restores the files and removes new ones.
func runOf(ctx context.Context, l *gates.Look, file string, texts map[string]string,
	limit time.Duration) (one gates.SingleRun,
	err error) {
	restore, err := replaced(l, texts)
	defer restore()
	if err != nil {
		return one, err
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := l.Single(limited, gates.Single{Path: file}, 1,
		func(r gates.SingleRun) bool { one = r; return false }); err != nil {
		one.Outcome = gates.RunBroken // the result is unknown
	}
	return one, ctx.Err()
}

// texted counts the texts that files got.
var texted atomic.Int64

// replaced writes other contents to files of the tree, and removes files whose new content is empty. It returns a
// function that restores them.
func replaced(l *gates.Look, texts map[string]string) (restore func(), err error) {
	var back []func()
	restore = func() {
		for _, f := range back {
			f()
		}
	}
	for p, text := range texts {
		name := filepath.Join(l.Subject().Dir, filepath.FromSlash(p))
		was, missing := os.ReadFile(name)
		back = append(back, func() {
			if missing != nil {
				_ = os.Remove(name)
				return
			}
			_ = os.WriteFile(name, was, 0o644)
		})
		if text == "" {
			_ = os.Remove(name)
			continue
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			return restore, err
		}
		// Python compiles a file again only if its time or its size differs.
		later := time.Now().Add(time.Minute + time.Duration(texted.Add(1))*time.Second)
		_ = os.Chtimes(name, later, later)
	}
	return restore, nil
}
