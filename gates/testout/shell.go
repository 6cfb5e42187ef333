package testout

import (
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/phrase"
)

var (
	shellWords = lazyre.New(`(?i)(\d+) (?:tests? |checks? |assertions? )?(passed|failed|failures?|skipped)\b`)
	shellLabel = lazyre.New(`(?i)\b(passed|pass|failed|fail|failures|skipped|skip)\s*[:=]\s*(\d+)\b`)
	shellRatio = lazyre.New(`(?i)\b(\d+)\s*(?:/|of)\s*(\d+)\s+(?:tests? |checks? )?passed\b`)
	shellTotal = lazyre.New(`(?i)\b(total|overall|all suites)\b`)
	shellLine  = lazyre.New(`^\s*(?:\[\s*)?(PASS|PASSED|FAIL|FAILED|SKIP|SKIPPED|✓|✔|✗|✘|✖)(?:\s*\]|:|\s+-)?\s+(\S.*)$`)
	shellAt    = lazyre.New(`^(\S+\.(?:sh|bash|bats)): line (\d+): (.+)$`)
)

type tally struct {
	passed, failed, skipped int
	total                   bool
}

// Shell reads the habits of hand-written suites: "12 passed, 1 failed", "Passed: 12", "11/12 passed", else lines that
// begin with PASS, FAIL or SKIP. A suite of suites prints a line for each and perhaps their sum: the sum is not
// counted again.
func Shell(lines []string) Result {
	var sums []tally
	var r, marks Result
	open := false // the line above was a label ("Passed: 12"), which the next one may go on with ("Failed: 1")
	for _, l := range lines {
		if m := shellAt.FindStringSubmatch(l); m != nil {
			r.fail(Failure{Name: m[1], Path: m[1], Line: number(m[2]), Message: m[3]})
		}
		if t, ok := shellFigures(l); ok {
			open = false
			sums = append(sums, t)
			continue
		}
		if t, ok := shellLabels(l); ok {
			if open {
				sums[len(sums)-1] = sums[len(sums)-1].plus(t)
			} else {
				sums = append(sums, t)
			}
			open = true
			continue
		}
		open = false
		m := shellLine.FindStringSubmatch(l)
		if m == nil || strings.HasPrefix(l, "FAIL\t") {
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
	switch {
	case len(sums) > 0:
		t := addUp(sums)
		r.Passed, r.Failed, r.Skipped, r.Known = t.passed, t.failed, t.skipped, true
	case marks.Known:
		r.Passed, r.Failed, r.Skipped, r.Known = marks.Passed, marks.Failed, marks.Skipped, true
	}
	return r
}

// shellFigures reads "12 passed, 1 failed" and "11/12 passed".
func shellFigures(l string) (tally, bool) {
	t := tally{total: shellTotal.MatchString(l)}
	if m := shellRatio.FindStringSubmatch(l); m != nil {
		t.passed = number(m[1])
		t.failed = max(0, number(m[2])-t.passed)
		return t, true
	}
	ran := false // skipped tests alone say nothing of those that ran
	for _, m := range shellWords.FindAllStringSubmatch(l, -1) {
		ran = t.take(m[2], m[1]) || ran
	}
	return t, ran
}

// shellLabels reads "Passed: 12  Failed: 1".
func shellLabels(l string) (tally, bool) {
	t := tally{total: shellTotal.MatchString(l)}
	found := shellLabel.FindAllStringSubmatch(l, -1)
	for _, m := range found {
		t.take(m[1], m[2])
	}
	return t, len(found) > 0
}

func (t *tally) take(word, n string) (ran bool) {
	switch word = strings.ToLower(word); {
	case strings.HasPrefix(word, "pass"):
		t.passed += number(n)
	case strings.HasPrefix(word, "fail"):
		t.failed += number(n)
	default:
		t.skipped += number(n)
		return false
	}
	return true
}

func (t tally) plus(o tally) tally {
	return tally{t.passed + o.passed, t.failed + o.failed, t.skipped + o.skipped, t.total || o.total}
}

// addUp sums the lines, unless the last one is their sum already: it says so, or the figures do.
func addUp(sums []tally) tally {
	last := sums[len(sums)-1]
	var before tally
	for _, s := range sums[:len(sums)-1] {
		before = before.plus(s)
	}
	same := last.passed == before.passed && last.failed == before.failed
	if len(sums) == 1 || (last.total && !before.total) || (len(sums) > 2 && same) {
		return last
	}
	return before.plus(last)
}
