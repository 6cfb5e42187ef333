package testout

import (
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/phrase"
)

var (
	// shellWords matches a figure and its noun: "12 passed", "3 tests failed".
	shellWords = lazyre.New(`(?i)(?:^|[^\w.%/-])(\d+)\s+(?:(?:tests?|checks?|assertions?|cases?|specs?|files?|suites?)(?:\(s\))?\s+)?(?:have |were |are )?` +
		`(pass(?:ed|es|ing)?|fail(?:ed|ures?|s|ing)?|skip(?:ped|s)?|pending|ignored|succe(?:eded|sses|ss|ssful)|errors?|errored)\b`)
	// shellLabel matches a label and its figure: "Passed: 12", "FAILED=0", "Tests passed: 3".
	shellLabel = lazyre.New(`(?i)(?:^|[^\w])(?:tests?[ _-]*)?(pass(?:ed|es|ing)?|fail(?:ed|ures?|s|ing)?|skip(?:ped|s)?|pending|ignored|succe(?:eded|sses|ss|ssful)|errors?|errored)` +
		`(?:[ _-]*(?:tests?|count|cases?))?\s*[:=]\s*(\d+)\b`)
	// shellBare matches labels and figures without a sign between them. It counts only if a line has one of each.
	shellBare = lazyre.New(`(?i)\b(pass(?:ed|es|ing)?|fail(?:ed|ures?|s|ing)?|skip(?:ped|s)?|errors?)\s+(\d+)\b`)
	shellEnds = lazyre.New(`\d\s*$`) // such a line begins with a label
	// shellHash matches a summary line of TAP runners: "# pass  12".
	shellHash = lazyre.New(`(?i)^#\s*(pass(?:ed)?|fail(?:ed)?|skip(?:ped)?)\s+(\d+)\s*$`)
	// shellAll matches the total number of tests.
	shellAll   = lazyre.New(`(?i)(?:^|[^\w.%/-])(?:(\d+)\s+(?:tests?|checks?|assertions?|cases?|specs?|examples?)\b(?:\s+(?:run|ran|executed|completed|total))?|(?:total|tests|tests run|ran)(?:[ _-]*(?:tests?|run|count))?\s*[:=]\s*(\d+)\b|ran\s+(\d+)\s+tests?\b)`)
	shellRatio = lazyre.New(`(?i)\b(\d+)\s*(?:/|of|out of)\s*(\d+)\s+(?:(?:tests?|checks?|assertions?|cases?|specs?)\s+)?(?:have |were )?(?:passed|pass|succeeded|ok)\b`)
	shellRest  = lazyre.New(`(?i)\b\d+% tests passed, (\d+) tests? failed out of (\d+)`)
	shellSigns = lazyre.New(`[✓✔]\s*(\d+)\b[^\d]*[✗✘✖×]\s*(\d+)\b`)
	shellTotal = lazyre.New(`(?i)\b(total|overall|all suites)\b`)
	shellLine  = lazyre.New(`^\s*(?:\[\s*)?(PASS|PASSED|FAIL|FAILED|SKIP|SKIPPED|✓|✔|✗|✘|✖)(?:\s*\]|:|\s+-)?\s+(\S.*)$`)
	// shellLint matches what eslint and xo print behind a cross: a finding at a line, or their number.
	shellLint = lazyre.New(`^(?:\d+ problems? \(\d+ errors?|\d+:\d+\s)`)
	// shellCase matches the result of one test, whose name may contain figures.
	shellCase  = lazyre.New(`^\s*(?:PASS|FAIL|SKIP|ok|not ok)(?::| -)\s+(\S.*)`)
	shellOnly  = lazyre.New(`(?i)^\d+\s*(?:$|[,;|/)]|(?:pass|fail|skip|error|succ|total)\w*\s*[:=])`)
	shellFiles = lazyre.New(`(?i)\btotal\b.*\b\d+\s+(?:test\s+)?(?:files|suites|scripts)\b`)
	shellQuote = lazyre.New(`(?i)^\s+(?:expected|actual|got|want|in|output)\b[^:]*:`)
	shellAt    = lazyre.New(`^(\S+\.(?:sh|bash|bats)): line (\d+): (.+)$`)
)

// dejaGnu has the words of the summaries of DejaGnu and SRFI 64.
var dejaGnu = strings.NewReplacer("# of expected passes", "# pass", "# of unexpected failures", "# fail",
	"# of expected failures", "# skip", "# of skipped tests", "# skip", "# of unsupported tests", "# skip",
	"# of unresolved testcases", "# fail", "# of unexpected successes", "# fail")

// tally holds the counts of one line, or of several label lines.
type tally struct {
	passed, failed, skipped int
	all                     int  // number of tests
	sum                     bool // it is the total of other counts
	told                    bool // it has the number of passed tests
	hasAll                  bool // it has the number of tests
	ran                     bool // it has the number of passed or failed tests
}

// Shell reads the common output of hand-written suites: "12 passed, 1 failed", "Passed: 12 Failed: 1", "PASSED=12",
// "11/12 passed", "12 tests, 1 failure", else lines that begin with PASS, FAIL or SKIP. A suite of suites prints a
// line for each and perhaps their sum: the sum is not counted again.
func Shell(lines []string) Result {
	var sums []tally
	var r, marks Result
	before := false // the line above was a sum
	files := false  // the line above was a sum of files
	open := false   // the previous line was a label ("Passed: 12"), which the next may continue ("Failed: 1")
	for _, l := range lines {
		if m := shellAt.FindStringSubmatch(l); m != nil {
			r.fail(Failure{Name: m[1], Path: m[1], Line: number(m[2]), Message: m[3]})
		}
		t, label, ok := shellSum(l)
		if m := shellCase.FindStringSubmatch(l); ok &&
			(m != nil && !shellOnly.MatchString(m[1]) || shellQuote.MatchString(l)) {
			ok = false // figures in the name of a test, or in the expectation of a failed one
		}
		files = shellFiles.MatchString(l) || files && label
		if files {
			continue // it counts files of tests
		}
		if ok && before && label && !t.told && !t.hasAll && t.failed > 0 && sums[len(sums)-1].told &&
			t.failed == sums[len(sums)-1].failed {
			continue // "Failures: 1" below "23/24 passed"
		}
		beside := !ok && t.skipped > 0 && before // "2 skipped" below "12 passed"
		before = ok || beside
		if beside {
			sums[len(sums)-1] = sums[len(sums)-1].plus(t)
			continue
		}
		if ok {
			if open && label {
				sums[len(sums)-1] = sums[len(sums)-1].plus(t)
			} else {
				sums = append(sums, t)
			}
			open = label
			continue
		}
		if strings.Trim(l, " \t-=_*#|") != "" {
			open = false
		}
		m := shellLine.FindStringSubmatch(l)
		if m == nil || strings.HasPrefix(l, "FAIL\t") || shellLint.MatchString(m[2]) {
			continue
		}
		switch m[1] {
		case "PASS", "PASSED", "✓", "✔":
			marks.Passed++
		case "SKIP", "SKIPPED":
			marks.Skipped++
		default:
			marks.Failed++
			marks.fail(Failure{Name: phrase.CutBytes(m[2], 120), Message: m[2]})
		}
		marks.Known = true
	}
	for _, f := range marks.Failures {
		r.fail(f)
	}
	var whole []tally
	for _, t := range sums {
		if t.ran {
			whole = append(whole, t.settle())
		}
	}
	switch {
	case len(whole) > 0:
		t := addUp(whole)
		r.Passed, r.Failed, r.Skipped, r.Known = t.passed, t.failed, t.skipped, true
	case marks.Known:
		r.Passed, r.Failed, r.Skipped, r.Known = marks.Passed, marks.Failed, marks.Skipped, true
	}
	return r
}

// shellSum reads one line. label distinguishes "Passed: 12", which the next lines may continue, from "12 passed".
func shellSum(l string) (t tally, label, ok bool) {
	l = dejaGnu.Replace(l)
	t.sum = shellTotal.MatchString(l)
	if m := shellRest.FindStringSubmatch(l); m != nil {
		t.passed, t.failed, t.told, t.ran = max(0, number(m[2])-number(m[1])), number(m[1]), true, true
		return t, false, true
	}
	if m := shellRatio.FindStringSubmatch(l); m != nil {
		t.passed, t.told, t.ran = number(m[1]), true, true
		t.failed = max(0, number(m[2])-t.passed)
		return t, false, true
	}
	figures, labels := shellWords.FindAllStringSubmatch(l, -1), shellLabel.FindAllStringSubmatch(l, -1)
	if len(labels) == 0 {
		if labels = shellHash.FindAllStringSubmatch(l, -1); len(labels) > 0 {
			figures = nil
		} else if bare := shellBare.FindAllStringSubmatch(l, -1); len(bare) > 1 &&
			(len(bare) > len(figures) || len(bare) == len(figures) && shellEnds.MatchString(l)) {
			labels = bare
		}
	}
	signs := shellSigns.FindStringSubmatch(l)
	switch {
	case len(labels) > 0 && len(labels) >= len(figures):
		label = true
		for _, m := range labels {
			t.take(m[1], m[2])
		}
	case len(figures) > 0:
		for _, m := range figures {
			t.take(m[2], m[1])
		}
	case signs != nil:
		t.take("passed", signs[1])
		t.take("failed", signs[2])
		return t, false, true
	}
	if m := shellAll.FindStringSubmatch(l); m != nil && (t.ran || shellTotalAlone(l, m)) {
		label = label || !t.ran
		t.hasAll, t.all = true, number(m[1]+m[2]+m[3])
	}
	// Skipped tests and errors alone do not show that tests ran.
	return t, label, t.ran || label && (t.hasAll || len(labels) > 0)
}

// shellTotalAlone reports whether a line contains only the number of tests: "Total: 12".
func shellTotalAlone(l string, m []string) bool {
	return m[2] != "" && len(strings.Trim(strings.Replace(l, m[0], "", 1), " \t-=_*#|.:")) == 0
}

// take adds a figure to the counter of its word.
func (t *tally) take(word, n string) {
	switch word = strings.ToLower(word); {
	case strings.HasPrefix(word, "pass"):
		t.passed += number(n)
		t.ran, t.told = true, true
	case strings.HasPrefix(word, "succe"):
		t.passed += number(n)
		t.told = true
	case strings.HasPrefix(word, "fail"):
		t.failed += number(n)
		t.ran = true
	case strings.HasPrefix(word, "err"):
		t.failed += number(n)
	default:
		t.skipped += number(n)
	}
}

func (t tally) plus(o tally) tally {
	return tally{
		passed: t.passed + o.passed, failed: t.failed + o.failed, skipped: t.skipped + o.skipped, all: max(t.all, o.all),
		sum: t.sum || o.sum, told: t.told || o.told, hasAll: t.hasAll || o.hasAll, ran: t.ran || o.ran,
	}
}

// settle computes the number of passed tests if only the other counts are known.
func (t tally) settle() tally {
	if !t.told && t.hasAll {
		t.passed, t.told = max(0, t.all-t.failed-t.skipped), true
	}
	return t
}

// addUp sums the lines, unless the last one is already their sum, according to its text or its figures.
func addUp(sums []tally) tally {
	last := sums[len(sums)-1]
	var before tally
	for _, s := range sums[:len(sums)-1] {
		before = before.plus(s)
	}
	same := last.passed == before.passed && last.failed == before.failed
	if len(sums) == 1 || (last.sum && !before.sum) || (len(sums) > 2 && same) {
		return last
	}
	return before.plus(last)
}
