package promise

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/planparse"
)

var (
	// testTitle matches the title of a batch about tests, and ofAll a sentence that wants tests of everything asked for
	// before.
	testTitle = lazyre.New(`(?i)^\W*(?:(?:add|write)\s+)?(?:(?:unit|regression|acceptance|integration)\s+)?(?:tests|specs)\b`)
	ofAll     = lazyre.New(`(?i)\b(?:tests?|specs?|cover)\b[^.;]*\b(?:above|everything|all of (?:it|this|them)|` +
		`(?:every|each|all|both)(?: the)? (?:rules?|errors?|exceptions?|cases?|examples?))\b`)
	// thrown matches an error that a sentence names with a verb behind it.
	thrown = lazyre.New("`?\\b([A-Z]\\w*(?:Error|Exception))\\b`? (?:is|are|must be|should be) (?:raised|thrown)")
	// errorOfTest matches the name of an error that a test expects, and anyOf names that stand for all errors.
	errorOfTest = lazyre.New(`(?:[Rr]aises\w*|raise_error|[Tt]hrows\w*|[Rr]ejects\w*|\btoThrow\w*|instance[oO]f|expectException|` +
		`\bname:)[\s(,'"]*(?:[^()\n]*,\s*)?(?:\w+(?:\.|::))*((?:[A-Z]\w*)?(?:Error|Exception))\b`)
	anyOf = lazyre.New(`^(?:Base|Standard|Runtime)?(?:Error|Exception)$`)
)

// asksTestsOfEarlier reports whether a batch may ask for tests of the work of earlier batches.
func asksTestsOfEarlier(b *planparse.Batch) bool {
	return testTitle.MatchString(b.Title) || ofAll.MatchString(b.Title) ||
		slices.ContainsFunc(sentence.Split(fenced.ReplaceAllString(b.Text, ""), -1), ofAll.MatchString)
}

// asksOwnTests reports whether a batch asks for any tests.
func asksOwnTests(b *planparse.Batch) bool {
	text := fenced.ReplaceAllString(b.Text, "")
	return asksTestsOfEarlier(b) || asksTests.MatchString(text) || asksTestsOf.MatchString(text) ||
		slices.ContainsFunc(b.Promises(), func(n planparse.Named) bool { return n.Verb == "test" || language.IsTest(n.Path) })
}

// testsOfEarlier compares the tests of a run with the earlier batches that this batch must test: all batches after the
// last one that asks for its own tests.
func (o Options) testsOfEarlier(ctx context.Context, l *gates.Look) error {
	b := l.Subject().Batch
	if o.Since == nil || len(o.Earlier) == 0 || !asksTestsOfEarlier(&b) {
		return nil
	}
	text := ""
	for i := len(o.Earlier) - 1; i >= 0 && !asksOwnTests(&o.Earlier[i]); i-- {
		text = o.Earlier[i].Text + "\n\n" + text
	}
	if text == "" || skeleton.MatchString(text) {
		return nil
	}
	w, err := o.wordingOf(ctx, l, text, o.Since)
	if err != nil || w.tests == "" {
		return err
	}
	if !w.otherErrors() {
		w.testsHaveAll()
	}
	return nil
}

// otherErrors finds new tests that expect errors by name, but none of the errors for which the batch wants tests.
// Errors that the tree declares may be derived from the named ones.
func (w wording) otherErrors() bool {
	var wanted, expected []string
	for i, text := range w.sentences {
		for _, re := range []*lazyre.Regexp{raised, raisedSpan, thrown} {
			at := re.FindStringSubmatchIndex(text)
			if at != nil && !refused.MatchString(text[:at[0]]) && !described.MatchString(text) && !noCase.MatchString(text) &&
				!w.contrasted(i) {
				wanted = lists.Add(wanted, text[at[2]:at[3]])
			}
		}
	}
	if len(wanted) == 0 || slices.ContainsFunc(wanted, func(n string) bool { return names(w.tests, n) }) {
		return false
	}
	for _, m := range errorOfTest.FindAllStringSubmatch(w.tests, -1) {
		expected = lists.Add(expected, m[1])
	}
	if slices.ContainsFunc(expected, func(n string) bool {
		return anyOf.MatchString(n) || w.anywhere(func(_, code string) bool {
			return regexp.MustCompile(`\b(?:class|type)\s+` + n + `\b|\b` + n + `\s*=`).MatchString(code)
		})
	}) || len(expected) == 0 && proves.MatchString(w.tests) {
		return false
	}
	only := "no new test expects an error"
	if len(expected) > 0 {
		only = "the new tests only expect " + strings.Join(expected, " and ")
	}
	w.broken(RuleNoError, "", "the batch asks for tests of what was asked before, which has "+strings.Join(wanted, " and ")+
		", but "+only, "test where they are raised")
	return true
}
