package promise

import (
	"regexp"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
)

// corrects matches a sentence that wants a function to be corrected.
var corrects = lazyre.New(
	"^\\W*(?:Correct|Fix|Repair)\\s+(?:the (?:function|method) )?`?((?:\\w+[.:#]+)*\\w+)[?!]?`?(?:\\([^)]*\\))?" +
		"((?:,?\\s+(?:and\\s+)?`[\\w.:#]+[?!]?`)*)(?: " +
		"(?:in|so|for|when|to)\\b|,|\\.?$)")

// codeName matches a name that cannot be an ordinary word: to_dict, toDict, Dict.copy, copy(), empty? of Ruby.
var codeName = lazyre.New("\\w_\\w|[a-z][A-Z]|\\w[.#]\\w|\\w\\(|\\w[?!] \\w|`")

// inCode matches a name in a list of names. wrongCall matches a call in backquotes, and faulty a sentence that says
// what calls do wrong or must do.
var (
	inCode    = lazyre.New(`[\w.:#]+\w`)
	wrongCall = lazyre.New("`(?:\\w+[.:]+)*(\\w{3,})\\([^`]*\\)`")
	faulty    = lazyre.New(`(?i)\b(?:today|currently|at present|wrongly|ignores?|panics?|must return|has to return|should return)\b`)
	unchanged = lazyre.New(`(?i)\b(?:still|already|remains?|stays?|as before|like|such as|instead|example|either|or)\b`)
)

// corrected finds a function that the batch corrects, although neither the function nor any function that it calls has
// changed. A sentence about several wrong functions counts only if one of them has changed.
func (w wording) corrected(e effects) {
	if e.outside || len(e.changed) == 0 {
		return
	}
	changed, all, asBefore := e.changed, e.all, e.asBefore
	if name := w.subject(all); name != "" && asBefore(name) {
		w.broken(RuleNotCorrected, "", "the batch is about "+name+
			", but neither this function nor a function that it calls has changed",
			"correct "+name+" itself")
		return
	}
	sentences := w.sentences
	if title := w.l.Subject().Batch.Title; codeName.MatchString(title) {
		sentences = append([]string{title}, sentences...)
	}
	for _, text := range sentences {
		var list []string
		if m := corrects.FindStringSubmatch(text); m != nil {
			for _, name := range append([]string{m[1]}, inCode.FindAllString(m[2], -1)...) {
				list = append(list, name[strings.LastIndexAny(name, ".:#")+1:])
			}
		} else if faulty.MatchString(text) && !unchanged.MatchString(text) {
			for _, m := range wrongCall.FindAllStringSubmatch(text, -1) {
				list = append(list, m[1])
			}
			if !slices.ContainsFunc(list, func(n string) bool { return changed[n] }) {
				continue
			}
		}
		for _, name := range list {
			if asBefore(name) {
				w.broken(RuleNotCorrected, "", "the batch corrects "+name+
					", but neither this function nor a function that it calls has changed",
					"correct "+name+" itself")
				break
			}
		}
	}
}

// about matches a function with a verb that says what it does: "UnmarshalText refuses", "When parseDate reads".
var about = lazyre.New(
	"(?:^|[^\\w`])`?(?:\\w+[.:#]+)*([A-Za-z]\\w*(?:_|[a-z][A-Z])\\w*)[?!]?`?(?:\\(\\))? (?:only |also " +
		")?(?:refuses|rejects|accepts|" +
		"reads|stores|drops|loses|keeps|ignores|treats|knows|compares|does not)\\b")

// subject returns the only old function that the sentences name, if a sentence says what it does and the change adds no
// function; else "".
func (w wording) subject(all map[string]string) (name string) {
	if len(w.fresh()) > 0 || goesAway.MatchString(w.text) {
		return ""
	}
	text := strings.Join(strings.Fields(w.text), " ")
	for _, m := range about.FindAllStringSubmatch(text, -1) {
		if all[m[1]] != "" {
			name = m[1]
			break
		}
	}
	code := strings.Join(codeSpan.FindAllString(text, -1), " ")
	for _, word := range regexp.MustCompile(`\w{3,}`).FindAllString(text, -1) {
		if word != name && all[word] != "" && (codeName.MatchString(word) || names(code, word)) {
			return ""
		}
	}
	return name
}

// reaches reports whether a function calls a changed function, directly or indirectly.
func reaches(all map[string]string, name string, changed map[string]bool) bool {
	seen, open := map[string]bool{}, []string{name}
	for len(open) > 0 && len(seen) < 1000 {
		body := all[open[0]]
		open = open[1:]
		for _, word := range regexp.MustCompile(`\w+`).FindAllString(body, -1) {
			if changed[word] {
				return true
			}
			if !seen[word] && all[word] != "" {
				seen[word], open = true, append(open, word)
			}
		}
	}
	return false
}

var (
	digits     = lazyre.New(`-?\d+(?:\.\d+)?`)
	comparison = lazyre.New(`==|-eq\b|\bcase\b|\bwhen\b|\bin \[?\(|\.has\(|\bmatch\b|^\s*["'][^"']*["']\)|^\s*[({\[]?-?\d+, -?\d+[)}\]]?\s*(?:=>|:)|["']-?\d+[:,;_ |]-?\d+["']\s*(?:,|:|=>)\s*-?\d`)
)

// subscript matches an index, such as tokens[0], because its number is not an input.
var subscript = lazyre.New(`([\w)\]])\[[^\[\]\n]*\]`)

// answers finds hard-coded results: new code that compares with a number and contains, on the same line or the next,
// all numbers of a line of a test. This must be true for at least two lines of tests.
func (w wording) answers() {
	found := map[string]bool{}
	for _, f := range w.files {
		if language.IsTest(f.Path) || marks[codeExt(f.Path)] == "" || f.Status == gates.Deleted {
			continue
		}
		fresh := strings.Split(subscript.ReplaceAllString(bareAdded(f), "$1"), "\n")
		for i, line := range fresh {
			if !comparison.MatchString(line) {
				continue
			}
			for _, text := range []string{line, line + " " + strings.Join(fresh[i+1:min(i+2, len(fresh))], "")} {
				if key := numbersOf(text); key != "" {
					found[key] = true
				}
			}
		}
	}
	if len(found) < 2 {
		return
	}
	hit := map[string]bool{}
	for _, p := range w.o.in(language.IsTest) {
		text, ok := w.read(p)
		if !ok {
			continue
		}
		for line := range strings.Lines(text) {
			if key := numbersOf(line); found[key] {
				hit[key] = true
			}
		}
	}
	if len(hit) >= 2 {
		w.broken(RuleAnswersOnly, "", "the new code compares its input with the inputs of tests and has their results",
			"compute the result for every input")
	}
}

// numbersOf returns the sorted numbers of a line; "" if there are fewer than three or more than eight, or if all are
// equal.
func numbersOf(line string) string {
	list := digits.FindAllString(line, -1)
	slices.Sort(list)
	if len(list) < 3 || len(list) > 8 || len(slices.Compact(slices.Clone(list))) < 2 {
		return ""
	}
	return strings.Join(list, " ")
}

var (
	deferral = lazyre.New(`(?i)(?:#|//|--|/\*|\*).*\b(?:todo|fixme|for now|not yet|until then|follows? (?:when|later|soon|once)|later (?:change|version|batch|step|commit|release)|(?:added|done|implemented|handled|supported) later)\b.*`)
	longWord = lazyre.New(`[A-Za-z]{5,}`)
	plain    = lazyre.New(`^\s*(?:return\b\s*)?(?:(?:-?\d+|[Tt]rue|[Ff]alse|None|nil|null|undefined|""|''|\[\]|\{\}|Some\(\d+\)|Ok\(\(?\d*\)?\))(?:,\s*(?:nil|None))?|pass|continue|break)?;?\s*$`)
)

// later finds comments of new code that postpone work of the batch: the comment contains a word of the batch, and the
// next statement does nothing.
func (w wording) later() {
	asked := map[string]bool{}
	for _, word := range longWord.FindAllString(strings.ToLower(w.text), -1) {
		asked[word[:min(len(word), 7)]] = true
	}
	for _, f := range w.files {
		if language.IsTest(f.Path) || marks[codeExt(f.Path)] == "" || f.Status == gates.Deleted {
			continue
		}
		lines := strings.Split(f.After, "\n")
		for _, a := range f.AddedLines() {
			note := deferral.FindString(a.Text)
			if note == "" || deferral.MatchString(w.text) || w.l.Subject().Contains(a.Text) {
				continue
			}
			idle := a.Number < len(lines) && strings.TrimSpace(lines[a.Number]) != "" && plain.MatchString(lines[a.Number])
			if idle && slices.ContainsFunc(longWord.FindAllString(strings.ToLower(note), -1),
				func(word string) bool { return asked[word[:min(len(word), 7)]] }) {
				w.broken(RuleLater, f.Path, "a comment postpones work that the batch asks for: "+shown(note), "write it now")
				break
			}
		}
	}
}

var (
	// asksCopy matches words of a batch that may want a copy of a file.
	asksCopy = lazyre.New(`(?i)\b(?:cop(?:y|ies|ied)|fork\w*|duplicat\w*|vendor\w*|mov(?:e|es|ed|ing)|renam\w*|split\w*|variants?|versions?|templates?|snapshots?|bundle\w*|migrat\w*)\b`)
	// mayBeCopy matches files that often are copies.
	mayBeCopy = lazyre.New(`(?i)(?:^|/)(?:vendor|third_?party|dist|build|examples?|templates?|migrations?|locales?|i18n|generated|fixtures?|testdata)/|\.min\.|_(?:linux|darwin|windows|amd64|arm64)\.`)
)

// leastSame is the minimum number of lines of a file that counts as a copy.
const leastSame = 40

// copied finds a new file with nearly all lines of an unchanged file of code. The work of the batch is then in the
// copy, and code that uses the old file does not get it.
func (w wording) copied() {
	if asksCopy.MatchString(w.l.Subject().Batch.Title + "\n" + w.text) {
		return
	}
	for _, f := range w.files {
		if f.Status != gates.Added || !product(f) || mayBeCopy.MatchString(f.Path) {
			continue
		}
		own := map[string]bool{}
		for _, line := range fullLines([]byte(w.code[f.Path])) {
			own[line] = true
		}
		for p, code := range w.code {
			lines := fullLines([]byte(code))
			if len(lines) < leastSame || slices.ContainsFunc(w.files, func(c gates.File) bool { return c.Path == p }) {
				continue
			}
			if lists.Count(lines, func(l string) bool { return own[l] })*10 >= len(lines)*9 {
				w.broken(RuleOldKept, f.Path, "the change adds a copy of "+p+", which is unchanged", "change "+p+" itself")
				return
			}
		}
	}
}

var (
	replaces = lazyre.New(`(?i)\bremove the old\b|\bin place of\b|\breplace (?:it|\w+|the \w+) (?:by|with)\b|\binstead of its\b`)
	keeps    = lazyre.New(`(?i)\bfall(?:s|ing)?[- ]?back|\bextract|\bhelper|\bsplit|\bwrap|\bkeep`)
	branches = lazyre.New(`\b(?:try|except|catch|rescue|if|else|match|unwrap_or\w*)\b|\|\||\?\?`)
)

// kept finds functions that the batch replaces, if their old lines are now in a new function.
func (w wording) kept() {
	if !replaces.MatchString(w.text) || keeps.MatchString(w.text) {
		return
	}
	for _, f := range w.files {
		if f.Status != gates.Modified || language.IsTest(f.Path) || marks[codeExt(f.Path)] == "" {
			continue
		}
		old, now := language.Functions(bare(f.Path, f.Before)), language.Functions(bare(f.Path, f.After))
		for name, was := range old {
			body := now[name]
			if name == "" || body == "" || body == was || !branches.MatchString(body) {
				continue
			}
			lines := strings.Split(strings.TrimSpace(was), "\n")[1:]
			for fresh, text := range now {
				if fresh == "" || old[fresh] != "" || len(lines) < 3 || !names(body, fresh) {
					continue
				}
				same := 0
				for _, line := range lines {
					if strings.Contains("\n"+text, "\n"+line+"\n") {
						same++
					}
				}
				if same*10 >= len(lines)*8 {
					w.broken(RuleOldKept, f.Path, "the batch replaces the code of "+name+", but the old code is now in "+fresh+
						", which "+name+" still uses", "remove the old code, and make the new code do its work")
				}
			}
		}
	}
}

var (
	staysSame = lazyre.New(`(?i)\b(?:stays?|remains?) (?:the same|as (?:it|they) (?:is|are)|unchanged)|\b(?:does|do|must|should) not change\b|\bmust still (?:refuse|reject|raise|throw)|\bkeeps? (?:refusing|rejecting|raising|throwing)|` +
		`\bkeeps? (?:(?:the|its|their|all|our) )+(?:guards?|checks?|validations?|behaviou?rs?)\b|\b(?:do not|don't) change (?:the|any) behaviou?r\b`)
	// handlesErrors matches words of a batch that may want an error to be caught.
	handlesErrors = lazyre.New(`(?i)\b(?:errors?|exceptions?|rais|throw|catch|caught|handl|robust|fail|crash|skip|ignor|fall|best effort|toler|retr|missing|lenient)\w*`)
	refusal       = lazyre.New(`\b(?:raise|throw)\b|\breturn\b.*(?:Errorf|errors\.New|\bErr\w*)`)
)

// checkGone finds functions that refuse less than before although the batch says that behaviour stays.
func (w wording) checkGone() {
	if !staysSame.MatchString(w.text) {
		return
	}
	for _, f := range w.files {
		if f.Status != gates.Modified || language.IsTest(f.Path) || marks[codeExt(f.Path)] == "" {
			continue
		}
		now, all := language.Functions(bare(f.Path, f.After)), w.added
		for name, was := range language.Functions(bare(f.Path, f.Before)) {
			if name != "" && now[name] != "" && refusal.MatchString(was) && !refusal.MatchString(now[name]) &&
				!refusal.MatchString(all) {
				w.broken(RuleCheckGone, f.Path, "the batch says that behaviour stays, but "+name+
					" no longer raises an error", "restore the check")
				return
			}
			if now[name] == was || now[name] == "" {
				continue
			}
			for _, m := range comparedText.FindAllStringSubmatch(was, -1) {
				if !w.anywhere(func(_, code string) bool { return strings.Contains(code, unquoted(m[1])) }) {
					w.broken(RuleCheckGone, f.Path, "the batch says that behaviour stays, but "+name+" no longer compares with "+
						m[1]+", and no other code does", "restore the check")
					return
				}
			}
			same := slices.ContainsFunc(w.sentences, func(s string) bool { return staysSame.MatchString(s) && names(s, name) })
			if drops.MatchString(now[name]) && !drops.MatchString(was) && (same || !handlesErrors.MatchString(w.text)) {
				w.broken(RuleCheckGone, f.Path, "the batch says that behaviour stays, but "+name+" now ignores an error: "+
					shown(drops.FindString(now[name])), "report the error as before")
				return
			}
		}
	}
}

var (
	order     = lazyre.New(`(?i)\b(?:(?:in|the) (?:the )?order|order(?:s|ed) by|sort(?:s|ed)|rank(?:s|ed)?|(?:de|a)scending|highest|lowest|newest|oldest)\b`)
	unordered = lazyre.New(`sorted\(.*(?:==|,)\s*sorted\(|\bset\(.*==\s*(?:set\(|\{)|assertCountEqual|match_array|contain_exactly|ElementsMatch|\.sort\(\).*\.sort\(\)|arrayContaining`)
	inOrder   = lazyre.New(`==\s*[\[(]\s*[^\])\s][^\])]*,|[Ee]qual\w*\([^\n]*\[[^\]]+,|\beq\(?\s*\[[^\]]+,|assert_equal[ (]\[[^\]]+,|DeepEqual|slices\.Equal|cmp\.Diff|\[0\]|\.first\b|toStrictEqual`)
)

// ordered finds new tests of an order that pass with any order.
func (w wording) ordered() {
	if order.MatchString(w.text) && unordered.MatchString(w.tests) && !inOrder.MatchString(w.tests) {
		w.broken(RuleNoOrder, "", "the batch asks for an order, but the new tests ignore the order",
			"compare the lists without sorting them first")
	}
}

// remarked finds an old function that is the subject of a sentence, although only its comments changed.
func (w wording) remarked(e effects) {
	for _, f := range w.files {
		if !product(f) || f.Status != gates.Modified {
			continue
		}
		old, now := withRemarks(f.Before), withRemarks(f.After)
		for _, text := range w.sentences {
			list := mentionsIn(text)
			if len(list) == 0 || asksComment.MatchString(text) || asIs.MatchString(text) || unchanged.MatchString(text) ||
				strings.Contains(text[:list[0].from], " ") {
				continue
			}
			if name := list[0].name; old[name] != "" && old[name] != now[name] && e.asBefore(name) {
				w.broken(RuleNotCorrected, f.Path, "only the comments of "+name+" changed",
					"change "+name+" itself")
				return
			}
		}
	}
}

// withRemarks returns the functions of a text with the comments in and above them.
func withRemarks(text string) map[string]string {
	out, above := language.Functions(text), ""
	for line := range strings.Lines(text) {
		switch name := language.Declared(strings.TrimRight(line, "\n")); {
		case strings.TrimSpace(line) != "" && comment.MatchString(line):
			above += strings.TrimSpace(line) + "\n"
			continue
		case name != "":
			out[name] = above + out[name]
		}
		above = ""
	}
	return out
}
