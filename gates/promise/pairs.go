package promise

import (
	"regexp"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates/testcode"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
)

var (
	// pairOf matches two names about which a sentence says the same: "both a and b", "a and b must".
	pairOf = lazyre.New(`(?i:\b(?:both|either)\s+(?:of\s+)?(?:the\s+|an?\s+)?)` + pairName + `\s+(?:and|or)\s+(?i:the\s+|an?\s+)?` + pairName +
		"|(?:^|[^`,] )(?i:the\\s+)?" + pairName + `\s+and\s+(?i:the\s+)?` + pairName +
		`(?:\s+(?:options?|fields?|settings?|parameters?|functions?|methods?))?\s+(?:are|may|must|should|can|have|need|get|both|each)\b`)
	// ordinaryWord matches names that tests often use for other things.
	ordinaryWord = lazyre.New(`(?i)^(?:names?|values?|keys?|want|got|inputs?|outputs?|texts?|strings?|results?|errors?|tests?|cases?|files?|paths?|data|lists?|items?|` +
		`index|length|size|numbers?|ints?|bytes?|types?|args?|options?|config|settings?|first|last|true|false|none|null|nil|one|two|old|new|this|that|them|these|those)$`)
)

const pairName = "`?(?:\\w+[.:#]+)*(\\w{3,})(?:\\(\\))?`?"

// halfTested finds a pair of functions, parameters or fields about which a sentence says the same, if the new and
// changed tests contain only one of the two. The batch must ask for tests.
func (w wording) halfTested() bool {
	tests := w.changedTests()
	if tests == "" {
		return false
	}
	touched, all := quotation.ReplaceAllString(w.added, `""`), ""
	for _, f := range w.files {
		if !product(f) {
			continue
		}
		all += quotation.ReplaceAllString(w.code[f.Path], `""`)
		old := language.Functions(bare(f.Path, f.Before))
		for n, body := range language.Functions(w.code[f.Path]) {
			if old[n] != body {
				touched += n + "\n"
			}
		}
	}
	for _, text := range w.sentences {
		text = strings.Join(strings.Fields(text), " ")
		m := pairOf.FindStringSubmatchIndex(text)
		if m == nil || described.MatchString(text) || noCase.MatchString(text) || unwanted.MatchString(text[:m[0]]) ||
			refused.MatchString(text[:m[0]]) {
			continue
		}
		var pair []string
		for i := 2; i < len(m); i += 2 {
			if m[i] >= 0 {
				pair = append(pair, text[m[i]:m[i+1]])
			}
		}
		known := func(name string) bool { return !ordinaryWord.MatchString(name) && anyCase(all, name, "") }
		if !known(pair[0]) || !known(pair[1]) || !anyCase(touched, pair[0], "") && !anyCase(touched, pair[1], "") {
			continue
		}
		absent := lists.Filter(pair, func(n string) bool { return !strings.Contains(folded(tests), folded(n)) })
		set := func(n string) bool { return anyCase(tests, n, `["']?\s*(?:[:=(]|=>)`) }
		if len(absent) == 1 && slices.ContainsFunc(pair, set) {
			w.broken(RuleExampleUntested, "", "the batch speaks of "+pair[0]+" and "+pair[1]+
				" and asks for tests, but no new or changed test has "+absent[0], "test both")
			return true
		}
	}
	return false
}

// anyCase reports whether code has a name in any style, followed by a match of after.
func anyCase(code, name, after string) bool {
	return regexp.MustCompile(`(?i)\b` + regexp.QuoteMeta(folded(name)) + `\b` + after).
		MatchString(strings.ReplaceAll(code, "_", ""))
}

// changedTests returns the names and bodies of new and changed tests, and all new lines of test files.
func (w wording) changedTests() string {
	out := w.tests
	for _, f := range w.files {
		if !language.IsTest(f.Path) {
			continue
		}
		old := testcode.Read(f.Path, f.Before)
		for _, u := range testcode.Read(f.Path, f.After).Units {
			if was, had := old.Find(u.Name); !had || was.Text != u.Text {
				out += u.Name + "\n" + u.Text + "\n"
			}
		}
	}
	return out
}
