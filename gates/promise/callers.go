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

// effects describes what a change does to the functions of the code.
type effects struct {
	all     map[string]string   // the functions of the tree by their names, see [language.Functions]
	in      map[string][]string // the files that declare them
	old     map[string]bool     // names of functions that changed files had before
	changed map[string]bool     // names that the change adds, changes or removes, also outside of functions
	outside bool                // lines outside of functions changed
	loose   bool                // a line outside of functions declares no name, so its effects are unknown
}

// effects returns what the change does; known is false if it contains a file that cannot be read as code.
func (w wording) effects() (e effects, known bool) {
	e = effects{map[string]string{}, map[string][]string{}, map[string]bool{}, map[string]bool{}, false, false}
	for _, f := range w.files {
		switch {
		case language.IsTest(f.Path) || prose.MatchString(f.Path) && !settings.MatchString(f.Path):
			continue
		case marks[codeExt(f.Path)] == "" || f.Link:
			return e, false // unknown effects
		}
		old, now := language.Functions(bare(f.Path, f.Before)), language.Functions(bare(f.Path, f.After))
		for n, body := range now {
			if old[n] != body {
				e.changed[n] = true
			}
		}
		for n := range old {
			e.old[n] = true
			if now[n] == "" {
				e.changed[n] = true
			}
		}
		names, sure := outsideNames(old[""], now[""])
		for _, n := range names {
			e.changed[n] = true
		}
		e.outside = e.outside || old[""] != now[""]
		e.loose = e.loose || !sure
	}
	delete(e.changed, "")
	for p, code := range w.code {
		for n, body := range language.Functions(code) {
			e.all[n] += body
			e.in[n] = append(e.in[n], p)
		}
	}
	return e, true
}

// asBefore reports whether neither a function nor any function that it calls has changed.
func (e effects) asBefore(name string) bool {
	return len(name) > 2 && !e.changed[name] && e.all[name] != "" && !reaches(e.all, name, e.changed)
}

var (
	// declaresName matches a declaration of a name outside of functions, and grouped the first line of a group of
	// declarations.
	declaresName = lazyre.New(`^\s*(?:(?:export|default|pub|static|final|public|private|readonly|mut)\s+)*` +
		`(?:(?:const|let|var|type|struct|enum|interface)\s+(\w+)|(\w+)\s*(?::[^=]*)?(?:=[^=>~]|:=))`)
	grouped = lazyre.New(`^(?:var|const|type) \($`)
	// ownName matches a line that begins with a name, and goImport a line that imports a package.
	ownName  = lazyre.New(`^\s+["']?([A-Za-z_]\w*)`)
	goImport = lazyre.New(`^\s+(?:[\w.]+ )?"[^"]*"$`)
)

// outsideNames returns the names that changed lines outside of functions declare. sure is false if a changed line
// declares no name, so that it may change anything.
func outsideNames(was, now string) (names []string, sure bool) {
	sure = true
	differ := func(text, other string) {
		head, list := "", ""
		for line := range strings.Lines(text) {
			line = strings.TrimRight(line, "\n")
			m := declaresName.FindStringSubmatch(line)
			if language.Depth(line) == 0 {
				if head, list = line, ""; m != nil {
					list = m[1] + m[2]
				}
			}
			own := ownName.FindStringSubmatch(line)
			switch {
			case strings.Trim(line, "})];, \t") == "" || strings.TrimSpace(line) == "end",
				strings.Contains("\n"+other, "\n"+line+"\n"), goImport.MatchString(line) && list == "":
			case list != "":
				if names = append(names, list); own != nil {
					names = append(names, own[1])
				}
			case m != nil:
				names = append(names, m[1]+m[2])
			case grouped.MatchString(head) && own != nil:
				names = append(names, own[1])
			case grouped.MatchString(line):
			default:
				sure = false
			}
		}
	}
	differ(was, now)
	differ(now, was)
	return names, sure
}

// mention is a function that a sentence names.
type mention struct {
	name     string
	from, to int
	clear    bool // the name can only mean this function: it has parentheses, or an object before it
}

// inSentence matches a name in backquotes, and a name that cannot be an ordinary word, such as a call.
var inSentence = lazyre.New("`((?:\\w+[.:#]+)*)(\\w{3,})[?!]?(\\([^`]*\\))?`|" + `\b((?:\w+[.#])+)(\w{3,})\b(\(\))?|\b()(\w{3,})(\(\))|` +
	`\b()(\w*(?:_|[a-z][A-Z])\w+)\b()`)

func mentionsIn(text string) []mention {
	return lists.Map(inSentence.FindAllStringSubmatchIndex(text, -1), func(at []int) (m mention) {
		m.from, m.to = at[0], at[1]
		for i := 2; i < len(at); i += 6 { // three groups for each form: the object, the name, the parentheses
			if at[i] >= 0 {
				m.name, m.clear = text[at[i+2]:at[i+3]], at[i] < at[i+1] || at[i+4] < at[i+5]
			}
		}
		return m
	})
}

var (
	// hands matches the words between a function and another function that it uses ("f calls g"), and takes the words
	// between a function and its user ("g is called by f").
	hands = lazyre.New(`(?i)\b(?:calls?|uses?|invokes?|reads?|appl(?:y|ies)|delegates? to|goes through|through|via|using|on top of|based on|` +
		`in terms of|with)\s+(?:(?:an?|the|its|new|own|small|shared|private|internal|helper|function|method|field|option|setting|constant)\s+)*$`)
	takes = lazyre.New(`(?i)^,?\s*(?:(?:which|that|and)\s+)?(?:(?:is|are|to be|should be|must be|gets?)\s+)?(?:used|called|invoked|read|use (?:it|them)|call (?:it|them))\s+` +
		`(?:by|in|from|inside|within|of)\s+(?:the\s+)?(?:(?:function|method)\s+)?$`)
	// strictly matches the words between two functions if the first must use the second. thing matches the word after a
	// name that is not the name of a function.
	strictly = lazyre.New(`(?i)\b(?:must|should|shall|has to|needs to)\b.*\b(?:calls?|uses?|invokes?|delegates? to|through|via|based on|in terms of)\b`)
	thing    = lazyre.New(`(?i)^\s+(?:options?|flags?|parameters?|params?|arguments?|fields?|settings?|attributes?|files?|types?|columns?|keys?|values?|class|module)\b`)
	// useIn and inside match the words before and after g in "use g in f".
	useIn  = lazyre.New(`(?i)\b(?:use|call|invoke|apply|wire)\s+(?:(?:it|an?|the|new|helper|function|method)\s+)*$`)
	inside = lazyre.New(`(?i)^\s*(?:into|in|from|inside|within)\s+(?:the\s+)?(?:(?:function|method)\s+)?$`)
	// apart matches words that say that two functions do not use each other.
	apart = lazyre.New(`(?i)\b(?:works?|working|used|combin\w*|compatib\w*|together|along|pass\w*|given|interact\w*|compos\w*|compar\w*|consistent|agrees?|` +
		`(?:start|begin|end)s?|equals?|same|like|as|than|unlike|similar\w*|beside\w*|instead|not|no|never|without|may|can|could|might|optional\w*|or|but|when|if|unless)\b|n't\b|[;.]\s`)
)

// unwired finds a function that does not use a name as a sentence wants, such as "`format` uses a new helper
// `runeLen`": the name is neither in this function nor in the functions that it calls. The rule applies if one of the
// two is new, or if the sentence says "must".
func (w wording) unwired(e effects) bool {
	for _, text := range w.titled() {
		if described.MatchString(text) || ofTests.MatchString(text) || goesAway.MatchString(text) {
			continue
		}
		list := mentionsIn(text)
		for i, user := range list {
			for j, fresh := range list {
				isNew := w.isNew(fresh.name)
				if i == j || e.all[user.name] == "" || !e.old[user.name] && !e.changed[user.name] || !isNew && e.all[fresh.name] == "" {
					continue
				}
				asks := false
				if user.to <= fresh.from {
					between := text[user.to:fresh.from]
					asks = hands.MatchString(between) && !apart.MatchString(between) &&
						(isNew || strictly.MatchString(between) && !thing.MatchString(text[fresh.to:])) &&
						!slices.ContainsFunc(list[i+1:j], func(m mention) bool { return e.old[m.name] })
				} else if fresh.to <= user.from && isNew {
					between := text[fresh.to:user.from]
					asks = takes.MatchString(between) || inside.MatchString(between) && useIn.MatchString(text[:fresh.from])
				}
				uses := reaches(e.all, user.name, map[string]bool{fresh.name: true}) || names(listless(e.all[""]), fresh.name)
				if asks && !uses {
					w.broken(RuleNotCalled, "", "the batch wants "+user.name+" to use "+fresh.name+
						", but neither "+user.name+" nor a function that it calls does", "use it where the batch says so")
					return true
				}
			}
		}
	}
	return false
}

// onlyName matches a line of a list of names, such as those that a module exports.
var onlyName = lazyre.New(`(?m)^\s*["']?\w+["']?,?$`)

func listless(code string) string { return onlyName.ReplaceAllString(code, "") }

// isNew reports whether the change adds a name to the code that no changed file had.
func (w wording) isNew(name string) bool {
	return names(w.added, name) &&
		!slices.ContainsFunc(w.files, func(f gates.File) bool { return product(f) && names(f.Before, name) })
}

// titled returns the title of the batch and its sentences.
func (w wording) titled() []string {
	return slices.Concat([]string{w.l.Subject().Batch.Title}, w.sentences)
}

// changing matches a text that may want an old function to be changed, or to use a new one.
var changing = lazyre.New("(?i)\\b(?:make|let|teach|allow|extend|change|enable|support|accept|uses?|calls?|through|with|by|in)\\s+(?:\\w+\\s+){0,3}`[\\w.:#]+`|" +
	"`\\s+(?:must|should|shall|has to|needs to|uses?|calls?)\\b")

var (
	// makes matches the words before a function that a sentence wants to change ("make f accept"), and also and must match
	// the words after it ("f also accepts", "f must accept").
	makes = lazyre.New(`(?i)^\W*(?:[\w.]+(?:\([^)]*\))?!?:\s+)?(?:(?:and|then|now|also)\s+)?(?:make|let|teach|allow|extend|change|have|enable)\s+(?:the\s+)?(?:(?:function|method)\s+)?$`)
	// madeName matches the function in such a sentence if it is written as an ordinary word.
	madeName = lazyre.New(`(?i)^\W*(?:make|let|teach)\s+(\w{3,})\s+\w`)
	also     = lazyre.New(`^ (?:also|now) (?:accept|take|return|support|handle|read|write|refuse|reject|raise|throw|merge|know|allow)s\b`)
	must     = lazyre.New("^(?:(?:,| and| or|, and) `[\\w.:#]+(?:\\(\\))?`)*" + ` (?:both |each |all )?(?:[Mm]ust|should|shall|has to|needs to|learns? to)\s+(?:(?:also|now|then)\s+)?(\w+)`)
	// supports matches the words between the beginning of a title and the function at its end.
	supports = lazyre.New(`(?i)^\W*(?:[\w.]+(?:\([^)]*\))?!?:\s+)?(?:(?:support|accept|allow|handle|honou?r|respect)\b[^.;:]*\s(?:in|by)|[^.;:]*\sin)\s+$`)
	// beside matches words of a title about something else than the behaviour of a function.
	beside = lazyre.New(`(?i)\b(?:tests?|specs?|docs?|docstrings?|documentation|documented|comments?|examples?|benchmarks?|types?|typos?|names?|renam\w*|uses?|used|calls?|remov\w*|drop|` +
		`deprecat\w*|inlin\w*|warnings?|lint|races?|allocations?|speed)\b`)
	// resting matches a verb that asks for no change ("must remain"), and asIs a sentence that asks for none.
	resting = lazyre.New(`(?i)^(?:not|never|be|still|stay|remain|keep|continue|only|always|have|get)$`)
	asIs    = lazyre.New(`(?i)\b(?:still|stays?|remains?|keeps?|continues?|as (?:before|today|now)|unchanged|already|instead)\b`)
	// otherThing matches the word before a name that is not the name of a function.
	otherThing = lazyre.New(`(?i)\b(?:options?|parameters?|params?|arguments?|flags?|fields?|settings?|attributes?|columns?|keys?|values?|propert(?:y|ies)|variables?|types?|files?|commands?|subcommands?)\s+$`)
)

// unmoved finds an old function that a sentence or the title wants to change, such as "Make `parse` accept hex",
// although neither it nor any function that it calls has changed. The change only adds functions, which it does not
// use, or changes others that use it.
func (w wording) unmoved(e effects) bool {
	if len(e.changed) == 0 || e.loose || behavesSame.MatchString(w.l.Subject().Batch.Title) {
		return false
	}
	for i, text := range w.titled() {
		list := mentionsIn(text)
		if at := madeName.FindStringSubmatchIndex(text); at != nil {
			list = append(list, mention{text[at[2]:at[3]], at[2], at[3], false})
		}
		for _, m := range list {
			before, after := text[:m.from], text[m.to:]
			verb := must.FindStringSubmatch(after)
			asks := makes.MatchString(before) || verb != nil && !resting.MatchString(verb[1]) || also.MatchString(after) ||
				i == 0 && supports.MatchString(before) && strings.Trim(after, ". ") == "" && !beside.MatchString(before)
			if !asks || asIs.MatchString(text) || described.MatchString(text) || otherThing.MatchString(before) ||
				!e.old[m.name] || !e.asBefore(m.name) || w.otherwise(m) || e.aside(m.name, "") {
				continue
			}
			w.broken(RuleNotCorrected, "", "the batch changes what "+m.name+
				" does, but neither this function nor a function that it calls has changed", "change "+m.name+" itself")
			return true
		}
	}
	return false
}

var (
	// taskHead matches the heading of a task without its number, and goal a heading that says what a function does.
	taskHead = lazyre.New(`(?m)^#{2,6}\s+(?:(?:Task|Step)\s+[\w.]+\s*[:.—–-]\s*)?(.+)$`)
	goal     = lazyre.New("^\\W*(?:\\w+[.:#]+)*(\\w{3,})(?:\\([^)`]*\\))?`? (?:also |now |only )*" +
		`(?:refuse|reject|check|validate|raise|throw|limit|warn|accept|take|return|support|handle|read|write|print|ignore|skip)s\b`)
	// doneBy matches the words before a list of functions that must all do the same ("is rejected by").
	doneBy = lazyre.New(`(?i)\b(?:is|are|be)\s(?:\w+\s)?(?:refused|rejected|accepted|checked|validated|raised|thrown|returned|supported|handled|reported|skipped|limited)\b[^.;]*?\bby\s`)
)

// untold finds an old function that is as before although the batch says what it does from now on. The heading of a
// task says so, its only sentence, or a sentence about several functions if one of them has changed.
func (w wording) untold(e effects) bool {
	if len(e.changed) == 0 || e.loose || goesAway.MatchString(w.text) {
		return false
	}
	var list []string
	heads := taskHead.FindAllStringSubmatchIndex(w.text, -1)
	for i, at := range heads {
		body := w.text[at[1]:]
		if i+1 < len(heads) {
			body = w.text[at[1]:heads[i+1][0]]
		}
		said := []string{w.text[at[2]:at[3]]}
		if all := fullLines([]byte(sentence.ReplaceAllString(body, "\n"))); len(all) == 1 {
			said = append(said, all[0])
		}
		for _, text := range said {
			if m := goal.FindStringSubmatch(text); m != nil && !asIs.MatchString(text) && !described.MatchString(text) {
				list = append(list, m[1])
			}
		}
	}
	for _, text := range w.sentences {
		if at := doneBy.FindStringIndex(text); at != nil && !asIs.MatchString(text) && !described.MatchString(text) {
			by := lists.Map(mentionsIn(text[at[1]:]), func(m mention) string { return m.name })
			if slices.ContainsFunc(by, func(n string) bool { return e.old[n] && e.changed[n] }) {
				list = append(list, by...)
			}
		}
	}
	for _, name := range list {
		if e.asBefore(name) && !e.aside(name, w.text) {
			w.broken(RuleNotCorrected, "", "the batch says what "+name+
				" does from now on, but neither "+name+" nor a function that it calls has changed", "change "+name+" itself")
			return true
		}
	}
	return false
}

// aside reports whether the change may affect a function that neither changed nor calls changed code. This is possible
// if the change contains a function that runs without its name, or an old function that does not call this one: it may
// set values that this function reads. Functions that the text names do not count.
func (e effects) aside(name, text string) bool {
	for n := range e.changed {
		if names(text, n) {
			continue
		}
		if implicit.MatchString(n) || e.old[n] && !reaches(e.all, n, map[string]bool{name: true}) {
			return true
		}
	}
	return false
}

// otherwise reports whether a name in a sentence may be a parameter of new code instead of a function.
func (w wording) otherwise(m mention) bool {
	return !m.clear && regexp.MustCompile(`[(,]\s*[*&]*`+m.name+`\s*[,:=) ]`).MatchString(w.added)
}

// implicit matches functions that run without being called by their name.
var implicit = lazyre.New(`^(?:__\w+__|constructor|initialize|init|String|Error|to_s|toString|toJSON|inspect|each|Marshal\w*|Unmarshal\w*|method_missing)$`)
