package tamper

import (
	"cmp"
	"context"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/testcode"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
)

// tale summarizes the whole change: where lines of tests moved, and which code was removed with them.
type tale struct {
	balance  map[string]int  // for each line of the changed tests: its count now minus its count before
	arrived  []testcode.Unit // tests that are new or cover more cases than before
	helpers  string          // added code in test files outside of tests
	gone     map[string]bool // names that the product no longer declares
	files    map[string]bool // files of the product that were deleted, by their subject
	kinds    map[string]bool // the endings of files of the product that were deleted
	moved    map[string]bool // test files that moved to another test folder
	fresh    map[string]bool // files that have new tests
	reverted func() bool
}

// read reads the tale of a change.
func read(ctx context.Context, s gates.Subject, files []gates.File) *tale {
	t := &tale{balance: map[string]int{}, gone: map[string]bool{}, files: map[string]bool{}, kinds: map[string]bool{},
		moved: map[string]bool{}, fresh: map[string]bool{}}
	declared := map[string]bool{}
	var helpers strings.Builder
	all, _, err := gates.Files(ctx, s.Diff, nil)
	if err != nil {
		all = files
	}
	for _, f := range all {
		if f.Link {
			f.After = "" // its future target is unknown
		}
		if !language.IsTest(f.Path) {
			for _, name := range declares(f.Before) {
				t.gone[name] = true
			}
			for _, name := range declares(f.After) {
				declared[name] = true
			}
			if f.Status == gates.Deleted {
				t.files[language.Subject(f.Path)], t.kinds[path.Ext(f.Path)] = true, true
			}
			continue
		}
		if f.From != "" {
			t.moved[f.From] = true
		}
		old, now := testcode.Read(f.Path, f.Before), testcode.Read(f.Path, f.After)
		for _, u := range old.Units {
			for _, l := range u.Lines {
				t.balance[l]--
			}
		}
		for _, u := range now.Units {
			for _, l := range u.Lines {
				t.balance[l]++
			}
		}
		for _, n := range now.Units {
			if u, ok := old.Find(n.Name); !ok || n.Loops > u.Loops || n.Asserts > u.Asserts {
				t.arrived = append(t.arrived, n)
				t.fresh[f.Path] = t.fresh[f.Path] || !ok
			}
		}
		for _, l := range f.AddedLines() {
			helpers.WriteString(l.Text + "\n")
		}
	}
	for name := range declared {
		delete(t.gone, name)
	}
	t.helpers = helpers.String()
	if d, ok := s.Diff.(interface {
		Reverts(ctx context.Context, base string) bool
	}); ok {
		t.reverted = sync.OnceValue(func() bool { return d.Reverts(ctx, s.Base) })
	}
	return t
}

var (
	// declaration matches declarations that other code can use.
	declaration = lazyre.New(`(?m)^\s*(?:export\s+|pub(?:\([^)]*\))?\s+|public\s+|static\s+|default\s+|async\s+)*` +
		`(?:func\s+(?:\([^)]*\)\s*)?|def\s+|class\s+|type\s+|fn\s+|struct\s+|enum\s+|trait\s+|interface\s+|function\*?\s+|const\s+|let\s+|var\s+)([A-Za-z_$][\w$]{2,})`)
	// assigned matches how JavaScript declares members and constants.
	assigned = lazyre.New(`(?m)^\s*(?:[\w$]+\.)+([A-Za-z_$][\w$]{2,})\s*=[^=]|^\s*([A-Z][A-Z0-9_]{4,})\s*[:=]`)
	token    = lazyre.New(`[A-Za-z_]\w{2,}|\d+|"[^"\n]*"|'[^'\n]*'`)
)

// declares lists the names that a file of code declares.
func declares(text string) []string {
	out := lists.Map(declaration.FindAllStringSubmatch(text, -1), func(m []string) string { return m[1] })
	for _, m := range assigned.FindAllStringSubmatch(text, -1) {
		out = append(out, m[1]+m[2])
	}
	return out
}

// because explains why tests of a file were removed, or returns "" if the change shows no reason.
func (j judge) because(file string, units ...testcode.Unit) string {
	t := j.tale
	if t.files[language.Subject(file)] {
		return "; the file that it tests was deleted too"
	}
	why := ""
	for _, u := range units {
		switch {
		case t.wentElsewhere(u):
			why = "; its lines are in other tests"
		case t.subjectGone(u):
			why = "; its subject was removed too"
		case t.cases(u):
			why = "; other tests have its cases"
		default:
			why = ""
		}
		if why == "" {
			break
		}
	}
	why = cmp.Or(why, j.removal())
	switch {
	case why != "":
	case len(units) > 0 && t.reverted != nil && t.reverted():
		return "; the change reverts an earlier one"
	case j.s.Batch.Key != "": // an agent may replace a failing test by a passing one
	case t.fresh[file]:
		return "; the same file has new tests"
	case t.kinds[path.Ext(file)]:
		return "; code was deleted too"
	}
	return why
}

var (
	// removesTests matches an instruction to remove tests, and the words between its verb and them.
	removesTests = lazyre.New(`(?im)(?:^|[.:;]\s+|\band\s+)\W{0,6}(?:\w+\([\w-]+\):\s*)?(?:remove|delete|drop)\s+((?:[\w'-]+\s+){0,4}?)(?:tests?|specs?|assertions?)(?:[\s,;:)]|\.\s|\.?$)`)
	// clause matches a word after which tests are no longer the object of the verb: "remove the flag that the tests use".
	clause = lazyre.New(`(?i)\b(?:from|that|which|in|of|for|to|so|and|by|with|on|if|until|not|no|after|before)\b`)
)

// removal returns an explanation if the batch asks to remove tests, else "".
func (j judge) removal() string {
	for _, m := range removesTests.FindAllStringSubmatch(j.s.Batch.Title+"\n"+j.s.Batch.Text, -1) {
		if !clause.MatchString(m[1]) {
			return "; the batch asks to remove tests"
		}
	}
	return ""
}

// excused returns the severity of removed tests.
func (j judge) excused(sev gates.Severity, file string, units ...testcode.Unit) gates.Severity {
	if j.because(file, units...) == "" {
		return sev
	}
	return j.milder(sev)
}

// milder returns the severity of an explained finding. An agent's explanation counts less than a person's.
func (j judge) milder(sev gates.Severity) gates.Severity {
	if j.s.Batch.Key == "" {
		return gates.Note
	}
	return less(sev, gates.Warning)
}

// wentElsewhere reports whether most lines of a removed test are still in the changed tests, each at least as often as
// before.
func (t *tale) wentElsewhere(u testcode.Unit) bool {
	kept, all := 0, 0
	for _, l := range u.Lines {
		if len(l) < 12 {
			continue // too short to identify a test
		}
		all++
		if now, read := t.balance[l]; read && now >= 0 {
			kept++
		}
	}
	return all > 0 && kept*10 >= all*6
}

// subjectGone reports whether a test uses a name that the product no longer declares.
func (t *tale) subjectGone(u testcode.Unit) bool {
	return slices.ContainsFunc(token.FindAllString(u.Text, -1), func(w string) bool { return t.gone[w] })
}

// cases reports whether a new or extended test contains the names and values of a test, for example because the test
// became a row of a table.
func (t *tale) cases(u testcode.Unit) bool {
	words := lists.Set(token.FindAllString(u.Text, -1))
	if len(words) < 3 {
		return false
	}
	for _, n := range t.arrived {
		if n.Asserts == 0 {
			continue
		}
		have := 0
		for w := range words {
			if strings.Contains(n.Text, w) {
				have++
			}
		}
		if have*10 >= len(words)*7 {
			return true
		}
	}
	return false
}

// fewer explains where the assertions of a test went; "" if the change shows no reason.
func (t *tale) fewer(u, n testcode.Unit) string {
	have := lists.Counts(n.Lines, func(l string) string { return l })
	var left []string
	for _, l := range u.Lines {
		if have[l]--; have[l] < 0 {
			left = append(left, l)
		}
	}
	lost := testcode.Unit{Text: strings.Join(left, "\n"), Lines: left}
	switch {
	case t.wentElsewhere(lost):
		return "; their lines are elsewhere in the tests"
	case t.subjectGone(lost):
		return "; their subject was removed too"
	case n.Asserts > 0 && n.Loops > u.Loops:
		return "; it covers a list of cases now"
	case n.Asserts > 0 && t.helps(n):
		return "; a helper makes the assertions"
	case t.cases(lost):
		return "; other tests have its cases"
	case t.reverted != nil && t.reverted():
		return "; the change reverts an earlier one"
	}
	return ""
}

var (
	calledHelper = lazyre.New(`\b([A-Za-z_]\w{3,})\(`)
	asserting    = lazyre.New(`\.(?:Error|Errorf|Fatal|Fatalf|Fail|FailNow)\(|\bassert\b|\brequire\.|\bexpect\(|\.assert\w*\(|\bassert\w+\(`)
)

// helps reports whether a test calls an asserting helper that the change added to the tests.
func (t *tale) helps(n testcode.Unit) bool {
	if !asserting.MatchString(t.helpers) {
		return false
	}
	return slices.ContainsFunc(calledHelper.FindAllStringSubmatch(n.Text, -1), func(m []string) bool {
		return regexp.MustCompile(`(?:func|def|function) ` + m[1] + `\(|const ` + m[1] + ` =`).MatchString(t.helpers)
	})
}
