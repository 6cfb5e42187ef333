package draft

import (
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/wordset"
)

// sectionKind is the kind of a section according to its title.
type sectionKind string

// The kinds of sections.
const (
	workSection    sectionKind = "work"    // the title is neutral: the text decides
	contextSection sectionKind = "context" // background, goals, exclusions
	testSection    sectionKind = "test"    // how to verify the result
	filesSection   sectionKind = "files"   // a table or list of files
	orderSection   sectionKind = "order"   // order of the work
	listSection    sectionKind = "list"    // its items are the work
)

// The words that identify the kind of a section. A title is of a kind if it contains at least one word of that kind,
// and otherwise only words of that kind and small words.
var (
	contextWords = wordset.New(`background motivation introduction intro overview summary abstract context problem problems solution goals goal non-goals nongoals
		objective objectives alternatives considered rejected references reference links glossary terminology definitions risks risk mitigations open questions
		question unresolved future possibilities timeline history revision log appendix changelog faq status conclusion related work prior art strengths verdict
		issues issue deviations deviation spec dependencies principles assumptions constraints metadata authors acknowledgements rationale consequences current
		state existing tradeoffs trade-offs drawbacks success metrics scope out in conversation minor important critical explanation guide-level key insight why
		user stories story impact decision`)
	testWords     = wordset.New(`test tests testing plan strategy verification verify verifying validation acceptance criteria checklist quality assurance qa manual unit integration definition done`)
	testPlanWords = wordset.New(`plan integration unit manual`)
	fileWords     = wordset.New(`file files create created modify modified changed change changes touched affected new structure layout summary list key critical update updated delete deleted`)
	orderWords    = wordset.New(`implementation order dependencies sequence sequencing rollout roll-out ordering phasing roadmap milestones schedule build merge plan timeline estimated effort`)
	listWords     = wordset.New(`changes change threads thread adds pr implementation proposed deliverables deliverable components component tasks task items item action todo todos next steps
		requirements requirement features feature required proposal specification plan work functional included implemented fixes improvements`)
	smallWords = wordset.New(`the a an and or of to in for this that these those what is are not do be how it its we with by on at from does key & / detailed high level high-level technical proposed`)
)

// only reports whether a title has words of a kind, and otherwise only small words.
func only(title string, kind *wordset.Set) bool {
	found := false
	for _, w := range strings.FieldsFunc(strings.ToLower(title),
		func(r rune) bool { return strings.ContainsRune(" ,:;()?!.&/→—–", r) }) {
		switch {
		case kind.Has(w):
			found = true
		case !smallWords.Has(w):
			return false
		}
	}
	return found
}

var aboutKnowing = lazyre.New(`(?i)^(?:what|why|how)\b.*\b(?:know|knows|matters|exists|works today|is wrong|now|we have)\b|principles?\b|\bdo not\b|\bnot\b|\bunchanged\b|\bstays\b|\bremains\b|\bnever\b|\bnon-|^why\b|^about\b|^next steps$|\brevision log\b|\bcriteria$|\bestimates?$`)

var ordering = lazyre.New(`(?i)order|sequenc|roll-?out|phasing|roadmap|milestones|schedule|merge plan|timeline|effort`)

func kindOf(s *section) sectionKind {
	t, _, _ := strings.Cut(s.name, "(")
	switch {
	case t == "":
		return workSection
	case only(t, testWords) && !only(t, testPlanWords):
		return testSection
	case only(t, fileWords) &&
		(strings.Contains(strings.ToLower(t), "file") || strings.Contains(strings.ToLower(t), "structure")):
		return filesSection
	case only(t, orderWords) && ordering.MatchString(t):
		return orderSection
	case only(t, contextWords), aboutKnowing.MatchString(t):
		return contextSection
	case only(t, listWords):
		return listSection
	}
	return workSection
}

// knownTitle reports whether an unmarked line is the title of a section.
func knownTitle(line string) bool {
	line, _, _ = strings.Cut(line, "(")
	words := strings.Fields(line)
	if len(words) == 0 || len(words) > 5 || strings.ContainsAny(line, ".!?,;:`*#|<>[]{}=") || line[0] < 'A' ||
		line[0] > 'Z' {
		return false
	}
	s := section{name: line}
	return kindOf(&s) != workSection
}

const verbs = `add|build|change|convert|create|define|delete|deprecate|drop|emit|ensure|expose|extend|extract|fix|generate|implement|integrate|introduce|migrate|modify|move|narrow|port|promote|provide|refactor|register|remove|rename|replace|restore|rewrite|split|support|switch|update|wire|write`

var (
	located = lazyre.New(`(?im)^[\s>*_-]*(?:location|files?|paths?|module|script|where|endpoint|new files?|modified files?|implementation)\s*:?[*_]*\s*:?[*_]*\s+[\x60\[(*]*[\w.{-]+[/.]`)
	doing   = lazyre.New(`(?im)^\s*(?:(?:[-*+•]|\d+[.)])\s+)?[*_]{0,2}(?:we (?:will |should |must )?)?(?:` +
		verbs + `)s?\b`)
	titled   = lazyre.New(`(?i)^(?:(?:phase|step|stage|part|milestone)\s+\d[\d.]*\b[\s:.—–-]*)?(?:new|` + verbs + `)\b`)
	must     = lazyre.New(`\b(?:must|shall|should|will|SHALL|MUST|needs to|has to)\b`)
	required = lazyre.New(`\b[A-Z]{2,}[A-Z0-9]*-\d+\b`)
)

// enough is the minimum score of a section that counts as work.
const enough = 2

// score rates how much the text of a section describes work.
func (d *document) score(s *section) int {
	text := d.body(s)
	if strings.TrimSpace(text) == "" || s.Line == 0 {
		return 0
	}
	n := 0
	if located.MatchString(text) {
		n += 2
	}
	if titled.MatchString(s.name) {
		n++
	}
	if s.phase != "" {
		n++
	}
	prose := d.prose(s.First, s.Last)
	if doing.MatchString(prose) {
		n++
	}
	if must.MatchString(prose) && strings.Contains(text, "`") {
		n++
	}
	if required.MatchString(text) {
		n++
	}
	if len(text) > len(prose) { // the text contains code
		n++
	}
	if slices.ContainsFunc(d.mentions(prose), func(m mention) bool { return m.verb != "" && m.verb != "read" }) {
		n++
	}
	return n
}

// prose returns the lines without fenced code.
func (d *document) prose(first, last int) string {
	var out []string
	for n := max(first, 1); n <= min(last, len(d.lines)); n++ {
		if !d.code[n] {
			out = append(out, d.lines[n-1])
		}
	}
	return strings.Join(out, "\n")
}
