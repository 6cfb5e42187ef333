// Package names compares the tests that ran on the base with those that run now, test by test.
//
// New tests can hide a removed test in a total, but not in a list of names. A test is lost if it ran on the base and
// does not run now. There are three explanations that excuse it: it was renamed, moved, regrouped, split, merged or
// made a row of a table; the code that it tests was removed; or the plan asks for it. No model decides: tests are
// matched by the product functions that they call and by the values that they pass and compare. A test without a match
// counts as lost.
package names

import (
	"fmt"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates/testout"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
)

// File is a changed file with its old and new text; "" if it did not exist or was removed.
type File struct{ Path, Before, After string }

// Runs holds the tests that ran, with their runners' names.
type Runs struct {
	Base []testout.Case
	Now  []testout.Case
	// Held lists the results of the base's tests on the candidate's code; nil if they were not run.
	Held []testout.Case
}

// Change describes what changed between the two runs.
type Change struct {
	Files []File
	// Removal reports whether the plan asks to remove a test by its name, or its file.
	Removal func(test, path string) bool
	Plan    Plan
}

// Lost is a test that ran on the base, does not run now, and has no explanation.
type Lost struct {
	Case    testout.Case
	Skipped bool   // it exists and is skipped
	Path    string // its file on the base, "" if unknown
	Line    int
	Rows    int // further lost cases of the same test
}

// Answered is a missing test of the base with an explanation.
type Answered struct {
	Case testout.Case
	How  string // "renamed to TestSum"
	Path string // its file on the base, "" if unknown
}

// Lives reports whether the test still exists in another form, and not only its subject was removed too.
func (a Answered) Lives() bool { return !strings.HasSuffix(a.How, subjectGone) }

// Compare returns the lost tests, in the order of the base, and the explained ones.
func Compare(r Runs, c Change) (lost []Lost, answered []Answered) {
	now := lists.By(r.Now, key)
	var gone []Lost
	for _, b := range r.Base {
		n, there := now[key(b)]
		if b.Status != testout.Skipped && (!there || n.Status == testout.Skipped) {
			gone = append(gone, Lost{Case: b, Skipped: there})
		}
	}
	if len(gone) == 0 {
		return nil, nil
	}
	j := newJudge(r, c)
	told := map[string]int{} // index in lost, by the name of the test
	for _, g := range gone {
		old, known := j.before.of(g.Case)
		if how := j.answer(g, old, known); how != "" {
			answered = append(answered, Answered{g.Case, how, old.path})
			continue
		}
		whole := key(testout.Case{Group: g.Case.Group, Name: Trunk(g.Case.Name)})
		if known {
			g.Path, g.Line = old.path, old.unit.Line
			whole = fmt.Sprint(old.path, ":", old.unit.Name)
		}
		if at, again := told[whole]; again {
			lost[at].Rows++
			continue
		}
		told[whole] = len(lost)
		lost = append(lost, g)
	}
	return lost, answered
}

// key identifies a case. It cuts addresses, which differ from run to run.
func key(c testout.Case) string {
	name := c.Name
	if at := strings.Index(name, " at 0x"); at >= 0 {
		name = name[:at]
	}
	return c.Group + "\x00" + name
}

// Trunk returns the name of a test without its subtest or row. It does not change titles made of words.
func Trunk(name string) string {
	if at := strings.IndexAny(name, "/["); at > 0 && !strings.Contains(name[:at], " ") {
		return name[:at]
	}
	return name
}

// judge looks for explanations of lost tests.
type judge struct {
	Change
	before, after side
	passed        map[string]bool         // keys of the cases that pass now
	held          map[string]testout.Case // nil if the base's tests were not run
	base, now     []testout.Case
	rows          map[string][2]int // by trunk: how many cases ran on the base, and how many pass now
	fresh         []candidate       // tests that are new or changed, and passed
	stayed        []candidate       // unchanged tests that passed
	removed       map[string]bool   // names that the product no longer declares
	added         map[string]bool   // names that it newly declares
}

// candidate is a current test that may replace one of the base.
type candidate struct {
	test
	evidence evidence
}

func newJudge(r Runs, c Change) *judge {
	j := &judge{
		Change: c, base: r.Base, now: r.Now, passed: map[string]bool{}, rows: map[string][2]int{},
		before: readSide(c.Files, func(f File) string { return f.Before }),
		after:  readSide(c.Files, func(f File) string { return f.After }),
	}
	for _, n := range r.Now {
		if n.Status == testout.Passed {
			j.passed[key(n)] = true
			had := j.rows[n.Group+"\x00"+Trunk(n.Name)]
			had[1]++
			j.rows[n.Group+"\x00"+Trunk(n.Name)] = had
		}
	}
	for _, b := range r.Base {
		had := j.rows[b.Group+"\x00"+Trunk(b.Name)]
		had[0]++
		j.rows[b.Group+"\x00"+Trunk(b.Name)] = had
	}
	if r.Held != nil {
		j.held = lists.By(r.Held, key)
	}
	for _, t := range j.after.tests {
		if !j.ran(t) {
			continue
		}
		cand := candidate{t, j.after.evidence(t)}
		if old, ok := j.before.same(t); ok && old.unit.Text == t.unit.Text {
			j.stayed = append(j.stayed, cand)
		} else {
			j.fresh = append(j.fresh, cand)
		}
	}
	j.removed, j.added = productNames(c.Files)
	return j
}

// ran reports whether a current test passed completely, without a skipped part.
func (j *judge) ran(t test) bool {
	passed := false
	for _, n := range j.now {
		if t.fits(n) == 0 {
			continue
		}
		if n.Status != testout.Passed {
			return false
		}
		passed = true
	}
	return passed
}

// same finds the test of that file and name.
func (s side) same(t test) (test, bool) {
	return lists.Find(s.tests,
		func(own test) bool { return own.path == t.path && own.unit.Name == t.unit.Name })
}

// Place finds the file and line of a test: in the changed file, else in the file on the base.
func Place(c testout.Case, files []File) (path string, line int) {
	for _, text := range []func(File) string{func(f File) string { return f.After },
		func(f File) string { return f.Before }} {
		if t, ok := readSide(files, text).of(c); ok {
			return t.path, t.unit.Line
		}
	}
	return "", 0
}

// Kept returns the cases of a held run that belong to the base's tests. The files in left have the candidate's
// version; only their unchanged tests count.
func Kept(run []testout.Case, files []File, left []string) []testout.Case {
	if len(left) == 0 {
		return run
	}
	j := newJudge(Runs{}, Change{Files: files})
	out := []testout.Case{}
	for _, c := range run {
		old, was := j.before.of(c)
		if now, is := j.after.of(c); is && slices.Contains(left, now.path) &&
			(!was || old.path != now.path || old.unit.Text != now.unit.Text) {
			continue
		}
		out = append(out, c)
	}
	return out
}

// Unheld returns a test in the files of left that has the same name and another text; "" if there is none.
func Unheld(files []File, left []string) string {
	if len(left) == 0 {
		return ""
	}
	j := newJudge(Runs{}, Change{Files: files})
	for _, old := range j.before.tests {
		if now, ok := j.after.same(old); ok && slices.Contains(left, old.path) && now.unit.Text != old.unit.Text {
			return old.unit.Name
		}
	}
	return ""
}

// Weakened returns tests in changed files that failed on the base and pass now, but no longer make all of their earlier
// calls and comparisons. Use it for tests of the base that could not be run on the candidate's code.
func Weakened(r Runs, c Change) []Lost {
	j := newJudge(r, c)
	return j.less(testout.Failed, func(b testout.Case, _ test) bool { _, held := j.held[key(b)]; return !held })
}

// ChangedInCode returns tests in files of code, such as unit tests of Rust and doctests. These tests passed on the base
// and pass now, but no longer make all of their earlier calls and comparisons. The base's version of these tests never
// runs on the candidate's code.
func ChangedInCode(r Runs, c Change) []Lost {
	j := newJudge(r, c)
	return j.less(testout.Passed, func(_ testout.Case, old test) bool {
		_, there := j.after.same(old)
		return there && language.OfTest(old.path) == ""
	})
}

// less returns tests that had this status on the base and pass now, but no longer check all that they checked.
func (j *judge) less(was testout.Status, wanted func(b testout.Case, old test) bool) []Lost {
	var out []Lost
	seen := map[string]bool{}
	for _, b := range j.base {
		old, ok := j.before.of(b)
		if !ok || b.Status != was || !j.passed[key(b)] || seen[old.path+old.unit.Name] || !wanted(b, old) {
			continue
		}
		seen[old.path+old.unit.Name] = true
		now, there := j.after.same(old)
		if !there {
			now = old
		}
		if (!there || now.unit.Text != old.unit.Text) && j.covered(old, j.before.evidence(old), true) == "" {
			out = append(out, Lost{Case: b, Path: old.path, Line: now.unit.Line})
		}
	}
	return out
}

// Weaker reports whether a test with the same place and name checks less than before: a call is missing, or there are
// fewer assertions, values or comparisons. Different values do not count as less.
func Weaker(c testout.Case, files []File) bool {
	j := newJudge(Runs{}, Change{Files: files})
	old, was := j.before.of(c)
	if !was {
		return false
	}
	now, is := j.after.same(old)
	if !is || now.unit.Text == old.unit.Text {
		return false
	}
	need, have := j.before.evidence(old), j.after.evidence(now)
	for name := range need.calls {
		if !have.calls[name] && !have.idents[name] && !j.removed[name] {
			return true
		}
	}
	return now.unit.Hollow && !old.unit.Hollow || have.asserts+now.unit.Asserts < need.asserts+old.unit.Asserts ||
		sum(have.literals) < sum(need.literals) || sum(have.signs) < sum(need.signs) ||
		len(exact.FindAllString(now.unit.Text, -1)) < len(exact.FindAllString(old.unit.Text, -1))
}

// exact matches comparisons that accept one value only.
var exact = lazyre.New(`[!=]==?|\bassert_eq!|(?i:\bassert_?equals?\b|\btoBe\(|\bto(?:Strict)?Equal\(|\b(?:deep)?(?:Strict)?Equal\()`)

func sum(counts map[string]int) int {
	n := 0
	for _, c := range counts {
		n += c
	}
	return n
}
