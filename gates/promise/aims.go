package promise

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
)

var (
	// twoNames matches words of a batch that may want two names for the same thing.
	twoNames = lazyre.New(`(?i)\b(?:alias\w*|synonym\w*|same (?:as|thing|way|result|code|body)|equivalent\w*|identical\w*|another name|either name|shorthands?|stubs?|` +
		`no-?ops?|placeholders?|deprecat\w*)\b`)
	// computes matches a body that calculates a result, instead of only returning a stored value.
	computes = lazyre.New(`(?m)\w\(|\w\.\w+[?!]?\s*[{(]|[^\s=<>!]\s*[-+*/%<>]=?\s*\w`)
)

// spelledOut reports whether the batch has a name in code.
func (w wording) spelledOut(name string) bool {
	return names(strings.Join(codeSpan.FindAllString(w.text, -1), " "), name)
}

// twins finds two new functions that the batch names and that differ only in their names.
func (w wording) twins() {
	if twoNames.MatchString(w.l.Subject().Batch.Title + "\n" + w.text) {
		return
	}
	for _, f := range w.files {
		if !product(f) {
			continue
		}
		by, old, now := map[string]string{}, language.Functions(bare(f.Path, f.Before)), language.Functions(w.code[f.Path])
		for _, name := range slices.Sorted(maps.Keys(now)) {
			text := now[name]
			head, body, _ := strings.Cut(text, "\n")
			if old[name] != "" || len(name) < 3 || !w.spelledOut(name) || implicit.MatchString(name) ||
				strings.Contains(body, head) || !computes.MatchString(body) || gaveUp.MatchString(body) {
				continue
			}
			same := regexp.MustCompile(`\b`+name+`\b`).ReplaceAllString(text, "_")
			if twin := by[same]; twin != "" {
				w.broken(RuleDemand, f.Path, "the batch asks for "+twin+" and "+name+", but both do the same",
					"make each function do what the batch says about it")
				return
			}
			by[same] = name
		}
	}
}

// rehearsed finds new tests that check a copy: they declare a function with the name of a new function of the batch, in
// any style, and do not call the original.
func (w wording) rehearsed() {
	fresh := lists.Filter(w.fresh(), w.spelledOut)
	for _, f := range w.files {
		if !language.IsTest(f.Path) || f.Status == gates.Deleted {
			continue
		}
		old := language.Functions(bare(f.Path, f.Before))
		code := bare(f.Path, f.After)
		now := language.Functions(code)
		for line := range strings.Lines(code) {
			name := language.Declared(strings.TrimRight(line, "\n"))
			if name == "" || old[name] != "" || language.Depth(line) > 0 || receiver.MatchString(line) {
				continue
			}
			is := lists.First(fresh, func(n string) bool { return folded(n) == folded(name) })
			_, body, _ := strings.Cut(now[name], "\n")
			if is != "" && !names(body, is) && strings.Count(folded(code), folded(name)+"(") > 1 {
				w.broken(RuleNotices, f.Path, "the new tests have a function "+name+" of their own, which does not call "+is+
					" of the batch", "test the function of the batch itself")
				return
			}
		}
	}
}

var (
	// goPrivate matches the declaration of an unexported Go function.
	goPrivate = lazyre.New(`^func [a-z]\w*(?:\[[^\]]*\])?\(`)
	// addsFunction matches words of a batch that adds a function for later use.
	addsFunction = lazyre.New(`(?i)\b(?:add|create|write|introduce|implement|provide)\w*\b[^.;]*\b(?:functions?|helpers?|methods?)\b`)
)

// onlyTested finds a new unexported Go function that only tests use.
func (w wording) onlyTested() {
	if addsFunction.MatchString(w.l.Subject().Batch.Title + "\n" + w.text) {
		return
	}
	for _, f := range w.files {
		if !product(f) || path.Ext(f.Path) != ".go" {
			continue
		}
		for _, a := range f.AddedLines() {
			name := freshName(f, a.Text)
			if len(name) > 2 && goPrivate.MatchString(a.Text) && !names(w.text, name) && names(w.tests, name) &&
				!w.anywhere(func(_, code string) bool { return used(code, name) }) {
				w.broken(RuleNotCalled, f.Path, "only tests use the new function "+name, "use it where the batch wants its effect")
				return
			}
		}
	}
}

var (
	// These match words that ask to keep a function unchanged: staysAs ("f stays as it is") and asItIs ("keep f as it is")
	// match the words after its name, keepOne the words before it.
	staysAs = lazyre.New(`(?i)^ (?:itself )?(?:stays?|remains?|is kept) (?:exactly )?(?:as (?:it is|is|before|today)|the same|unchanged)\b|^ (?:does|must|should) not change\b`)
	keepOne = lazyre.New(`(?i)\b(?:keep|leave|do not (?:change|touch)|don't (?:change|touch))\s+(?:the (?:function|method)\s+)?$`)
	asItIs  = lazyre.New(`(?i)^(?:\W*$| (?:as (?:it is|is|before)|unchanged|untouched|alone)\b)`)
	// decides matches keywords of conditions.
	decides = lazyre.New(`\b(?:if|elif|elsif|else|unless|case|when|continue|next|filter|select|reject|except|rescue|catch)\b|&&|\|\||\?[^.]`)
)

// keptFunctions finds an old function that must stay as it is according to the batch, but that has a new condition.
// Only a new test for this function permits the condition.
func (w wording) keptFunctions() {
	tests := w.changedTests()
	if tests == "" || !asksTests.MatchString(w.text) {
		return
	}
	for _, text := range w.sentences {
		for _, m := range mentionsIn(text) {
			after := text[m.to:]
			kept := staysAs.MatchString(after) || keepOne.MatchString(text[:m.from]) && asItIs.MatchString(after)
			if !kept || anyCase(tests, m.name, "") {
				continue
			}
			for _, f := range w.files {
				was, now := language.Functions(bare(f.Path, f.Before))[m.name], language.Functions(bare(f.Path, f.After))[m.name]
				if product(f) && was != "" && len(decides.FindAllString(now, -1)) > len(decides.FindAllString(was, -1)) {
					w.broken(RuleCheckGone, f.Path, "the batch says that "+m.name+" stays as it is, but it has a new condition, "+
						"and no new test is about it", "remove the condition, or test that the function does what it did")
					return
				}
			}
		}
	}
}

// reworded matches words of a batch that may rename functions without naming them.
var reworded = lazyre.New(`(?i)renam\w*|refactor\w*|clean|tid(?:y|ies)|\bnaming\b|remov\w*|delet\w*|deprecat\w*|replac\w*|consisten\w*|typos?|spell\w*|API|breaking`)

// renamed finds an exported Go function that the change renames although the batch does not name it. No code of the
// tree uses the function, so only code outside of the tree can.
func (w wording) renamed() {
	text := w.l.Subject().Batch.Title + "\n" + w.text
	if reworded.MatchString(codeSpan.ReplaceAllString(text, "")) {
		return
	}
	for _, f := range w.files {
		if !product(f) || path.Ext(f.Path) != ".go" || goInternal.MatchString(f.Path) || goMain.MatchString(f.Before) {
			continue
		}
		old, now := language.Functions(bare(f.Path, f.Before)), language.Functions(bare(f.Path, f.After))
		for _, name := range slices.Sorted(maps.Keys(old)) {
			if !goPublic.MatchString(name) || now[name] != "" || names(text, name) ||
				w.anywhere(func(_, code string) bool { return names(code, name) }) {
				continue
			}
			for _, fresh := range slices.Sorted(maps.Keys(now)) {
				if !names(f.Before, fresh) && !names(text, fresh) &&
					strings.ReplaceAll(old[name], name+"(", fresh+"(") == now[fresh] {
					w.broken(RuleCheckGone, f.Path, "the change renames the public function "+name+" to "+fresh+
						", and the batch names neither", "restore its name")
					return
				}
			}
		}
	}
}

var (
	goPublic   = lazyre.New(`^[A-Z]\w{2,}$`)
	goInternal = lazyre.New(`(?:^|/)(?:internal|cmd)/`)
	goMain     = lazyre.New(`(?m)^package main\b`)
)
