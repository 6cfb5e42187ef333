package promise

import (
	"regexp"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
)

// demand is a property that a batch may ask of new code: asks matches the words of the batch, plain code that needs
// help to have the property, and shows the help. A helper with such a word in its name is help as well.
type demand struct {
	what               string
	asks, plain, shows *lazyre.Regexp
}

var demands = []demand{
	{"an order",
		lazyre.New(`(?i)(?:,|\b(?:returns?|prints?|writes?|lists?|shows?)\b[^.;]*)\s(?:sorted|ordered) by\b`),
		lazyre.New(`\b(?:for|while|each|map|filter|select|list|range|values|keys|items)\b`),
		lazyre.New(`(?i)sort|order|heap|tree|rank|bisect|compar|cmp|<=>|insert|ReadDir|glob|walk|json|yaml|\bls\b|uniq|max|min`)},
	{"safety between threads",
		lazyre.New(`(?i)\b(?:safe for (?:concurrent|use by (?:several|many|multiple))|` +
			`(?:thread|goroutine|concurrency)[- ]?safe)\b`),
		lazyre.New(`(?:\.|@)\w+(?:\[[^\]]*\]\s*=[^=]|(?:\[[^\]]*\])?\s*(?:[-+]=|\+\+|--|<<))|` +
			`(?:\bself\.|\bthis\.|@)\w+\.(?:append|push|pop|add)\(`),
		lazyre.New(`(?i)lock\(|\block\b|<-|\bchan\b|synchroni[sz]e|atomic|sync\.(?:Map|Once|Pool)|queue|concurrent|` +
			`mutex[<(.:]|rwlock|semaphore|monitor|immutable|frozen|contextvar|thread[._]?local`)},
	{"a file that is replaced at once",
		lazyre.New(`(?i)\batomic(?:ally)?\b[^.;]*\brenam|` +
			`\b(?:replaces?|writes?|saves?|updates?)\b[^.;]*\bfiles?\b[^.;]*\batomic(?:ally)?\b`),
		lazyre.New(writesFile), lazyre.New(`(?i)renam|replace|atomic|\bmove|\bmv\b|\blink|transaction|commit`)},
	{"a time in UTC",
		lazyre.New(`\b(?i:returns?|prints?|writes?|converts?|formats?|stores?|shows?)\b[^.;]*\bUTC\b`),
		lazyre.New(`fromtimestamp\(|\blocaltime\b|\bnow\(|\bNow\(|\bTime\.(?:now|at)\b|new Date\(|` +
			`\.get(?:Hours|Date)\(|\btime\.Unix\(|\bdate \+`),
		lazyre.New(`(?i)utc|gmt|iso|zone|\btz|epoch|\bdate -u|Instant|offset`)},
	{"a file that only its owner reads", lazyre.New(`(?i)\bmode ` + "`?" + `0?o?600\b`),
		lazyre.New(writesFile), lazyre.New(`(?i)600|S_I[RW]USR|umask|mkstemp|NamedTemporary|CreateTemp|tempfile|u=rw`)},
}

// writesFile matches code that writes a file.
const writesFile = `\bopen\(|\bwrite_(?:text|bytes)\(|\bWriteFile\(|\bwriteFile(?:Sync)?\(|` +
	`\bFile\.(?:write|open)\b|\bos\.Create\(|fs::write|>\s*"?\$`

// demanded finds properties that a sentence asks of new code and for which no changed file of code has any help.
func (w wording) demanded() {
	if len(w.fresh()) == 0 || strings.Count(w.text, "\n") > 20 { // a sentence of a long text may be about other code
		return
	}
	code := ""
	for _, f := range w.files {
		if !language.IsTest(f.Path) {
			code += w.code[f.Path]
		}
	}
	for _, text := range w.sentences {
		text = strings.Join(strings.Fields(text), " ")
		for _, d := range demands {
			at := d.asks.FindStringIndex(text)
			if at != nil && !refused.MatchString(text[:at[0]]) && !described.MatchString(text) && !given.MatchString(text) &&
				d.plain.MatchString(w.added) && !d.shows.MatchString(code) {
				w.broken(RuleDemand, "", "the batch asks for "+d.what+" ("+shown(text[at[0]:at[1]])+
					"), but nothing in the changed code does it", "do what the batch asks for")
				return
			}
		}
	}
}

// given matches words that say that the input has the property.
var given = lazyre.New(`(?i)\b(?:takes|given|inputs?|receives?|assum\w*|expects?|arguments?)\b`)

var (
	staysOn  = lazyre.New(`(?i)\b(?:keep\w*|still|remains?|stays?|continues?)\b`)
	oldFlag  = lazyre.New("`(--[a-z][\\w-]*)[^`]*`")
	goesAway = lazyre.New(`(?i)\b(?:remov\w*|delet\w*|drop\w*|gone|no longer)\b`)
)

// keptOptions finds options that a sentence wants to keep, and that the change removes from all code.
func (w wording) keptOptions() {
	for _, text := range w.sentences {
		if !staysOn.MatchString(text) || goesAway.MatchString(text) {
			continue
		}
		for _, m := range oldFlag.FindAllStringSubmatch(text, -1) {
			has := regexp.MustCompile(regexp.QuoteMeta(m[1]) + `(?:[^\w-]|$)`).MatchString
			if slices.ContainsFunc(w.files, func(f gates.File) bool { return product(f) && has(bare(f.Path, f.Before)) }) &&
				!w.anywhere(func(_, code string) bool { return has(code) }) {
				w.broken(RuleOptionUnused, "", "the batch wants "+m[1]+" to stay, but no code knows it any more",
					"restore the option")
			}
		}
	}
}
