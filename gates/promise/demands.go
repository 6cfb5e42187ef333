package promise

import (
	"regexp"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
)

// demand is a property that a batch may ask of new code. asks matches the words of the batch, plain matches code
// without the property, and shows matches code that can give it the property. A helper with such a word in its name
// counts, too.
type demand struct {
	what               string
	asks, plain, shows *lazyre.Regexp

	near bool // shows must match in a file that plain matches; new lines of old functions are checked, too
}

var demands = []demand{
	{"an order",
		lazyre.New(`(?i)(?:,|\b(?:returns?|prints?|writes?|lists?|shows?)\b[^.;]*)\s(?:sorted|ordered) by\b`),
		lazyre.New(`\b(?:for|while|each|map|filter|select|list|range|values|keys|items)\b`),
		lazyre.New(`(?i)sort|order|heap|tree|rank|bisect|compar|cmp|<=>|insert|ReadDir|glob|walk|json|yaml|\bls\b|uniq|max|min`), false},
	{"safety between threads",
		lazyre.New(`(?i)\b(?:safe for (?:concurrent|use by (?:several|many|multiple))|` +
			`(?:thread|goroutine|concurrency)[- ]?safe)\b`),
		lazyre.New(`(?:\.|@)\w+(?:\[[^\]]*\]\s*=[^=]|(?:\[[^\]]*\])?\s*(?:[-+]=|\+\+|--|<<))|` +
			`(?:\bself\.|\bthis\.|@)\w+\.(?:append|push|pop|add)\(`),
		lazyre.New(`(?i)lock\(|\block\b|<-|\bchan\b|synchroni[sz]e|atomic|sync\.(?:Map|Once|Pool)|queue|concurrent|` +
			`mutex[<(.:]|rwlock|semaphore|monitor|immutable|frozen|contextvar|thread[._]?local`), false},
	{"a file that is replaced at once",
		lazyre.New(`(?i)\batomic(?:ally)?\b[^.;]*\brenam|` +
			`\b(?:replaces?|writes?|saves?|updates?)\b[^.;]*\bfiles?\b[^.;]*\batomic(?:ally)?\b`),
		lazyre.New(writesFile), lazyre.New(`(?i)renam|replace|atomic|\bmove|\bmv\b|\blink|transaction|commit`), false},
	{"a time in UTC",
		lazyre.New(`\b(?i:returns?|prints?|writes?|converts?|formats?|stores?|shows?)\b[^.;]*\bUTC\b`),
		lazyre.New(`fromtimestamp\(|\blocaltime\b|\bnow\(|\bNow\(|\bTime\.(?:now|at)\b|new Date\(|` +
			`\.get(?:Hours|Date)\(|\btime\.Unix\(|\bdate \+`),
		lazyre.New(`(?i)utc|gmt|iso|zone|\btz|epoch|\bdate -u|Instant|offset`), false},
	{"JSON",
		lazyre.New(`(?i)\b(?:prints?|writes?|outputs?|returns?|shows?)\b[^.;]* as JSON\b`),
		lazyre.New(`\b(?:print\w*|write|log|puts|echo|return|Fprint\w*|Print\w*)\b`),
		lazyre.New(`\b(?:json|JSON|Json|simplejson|orjson|ujson)\s*[.:]|(?i:to_?json|jsonify|json_encode|jq\b|serde|marshal|newencoder|` +
			`json(?:response|builder|writer|encoder|generator)|yaml|dump|encode|serial|render|emit)`), true},
	{"a pause",
		lazyre.New(`(?i)\b(?:waits?|pauses?|sleeps?|backs? off)\b[^.;]*\b(?:between|before (?:each|every|the next|it tries)|after each)\b`),
		lazyre.New(`\b(?:for|while|loop|times|retry|until)\b`),
		lazyre.New(`(?i)sleep|settimeout|setinterval|delay\w*\(|timer|ticker|time\.after|backoff|\bwait\w*\(|\.wait|throttle|schedul|limiter`), false},
	{"a limit of what is kept",
		lazyre.New(`(?i)\b(?:at most|no more than|only|up to)\b[^.;]*\d[^.;]*\b(?:forgets?|evicts?|drops?|removes?|discards?|throws away)\b`),
		lazyre.New(`(?:\.|@)\w+(?:\[[^\]]*\]\s*(?:\|\|)?=[^=]|\.(?:append|push|set|put|add|insert)\()`),
		lazyre.New(`(?i)\bshift|delete|\bpop|\bdel\b|evict|lru|remove|discard|trunc|slice|splice|max_?len|\bdrop|clear|deque|\bring\b|reject|` +
			`\[-?\w*:|:-?\w+\]|\b(?:first|last|take)\(`), true},
	{"milliseconds", lazyre.New(`(?i)\b(?:number of|returns?|as|in) milliseconds\b`),
		lazyre.New(`total_seconds\(\)|\btime\.time\(\)|\b(?:monotonic|perf_counter)\(\)|\.Seconds\(\)|\.getSeconds\(\)|\bTime\.now\b`),
		lazyre.New(`(?i)1_?000|1e3|milliseconds?\s*[=)]|\bms\(`), true},
	{"input that stays as it is",
		lazyre.New(`(?i)\b(?:must not|never|without) (?:be(?:ing)? )?(?:reorder\w*|sort\w*|mutat\w*)\b`),
		lazyre.New(`\bsort\.(?:Sort|Stable|Slice|SliceStable|Strings|Ints)\(|\bslices\.(?:Sort\w*|Reverse)\(|\w\.(?:sort|reverse)\(|\.(?:sort|reverse)!`),
		lazyre.New(`(?i)\bcopy|clone|append|slice\(|\.\.\.\w|\bsorted|\blist\(|\.dup\b|\[:\]|\bmake\(|\bArray\.from|concat\(|to(?:Sorted|Reversed)|\.collect\(`), true},
	{"one of a set of values, and nothing else",
		lazyre.New(`(?i)\b(?:not )?(?:exactly|only) one of\b`),
		lazyre.New(`\bstrings\.(?:Contains|HasPrefix|Index)\(|\bin \w+\.join\(|\bjoin\([^)]*\)\.(?:includes|include\?|indexOf|match)|\.startswith\(|\.startsWith\(|\.start_with\?`),
		lazyre.New(`==|\bswitch\b|\bcase\b|\bin \w|map\[|\bslices\.|\.(?:includes|include\?|has|key\?|get|indexOf)\b|\[\w+\]`), true},
	{"a check of the whole text",
		lazyre.New(`(?i)\b(?:any|every|all) other (?:text|value|string|input|format)s?\b[^.;]*\b(?:raises?|throws?|errors?|refused|rejected)\b|` +
			`\banything else (?:raises?|throws?|is (?:an error|refused|rejected))\b`),
		lazyre.New(`\bre\.(?:match|search|compile|findall)\(|/\.(?:match|exec|test)\(|\.match\??\(|=~ ?/|\bregexp\.\w+\(|\bRegex::new\(`),
		lazyre.New(`\\A|\^|\$["'/` + "`" + `)]|\\[zZ]|fullmatch|eos\?|sub\(|scan|strip|trim|==|!=`), true},
	{"seconds", lazyre.New(`(?i)\bseconds\b`),
		lazyre.New(`\b(?:minutes|hours|days|milliseconds|microseconds)\s*[=:]\s*seconds\b|\bseconds\b\)?\s*\*\s*time\.(?:Minute|Hour|Milli|Micro|Nano)|` +
			`\btime\.(?:Minute|Hour|Milli\w*|Micro\w*|Nano\w*)\s*\*\s*time\.Duration\(seconds\)|\bseconds\.(?:minutes|hours|days)\b|\bset(?:Timeout|Interval)\([^()]*, seconds\)`),
		lazyre.New(`\bseconds\b[^\n]*(?:1_?000|1e3|\b60\b)`), true},
	{"a file that only its owner reads", lazyre.New(`(?i)\bmode ` + "`?" + `0?o?600\b`),
		lazyre.New(writesFile), lazyre.New(`(?i)600|S_I[RW]USR|umask|mkstemp|NamedTemporary|CreateTemp|tempfile|u=rw`),
		false},
}

// writesFile matches code that writes a file.
const writesFile = `\bopen\(|\bwrite_(?:text|bytes)\(|\bWriteFile\(|\bwriteFile(?:Sync)?\(|` +
	`\bFile\.(?:write|open)\b|\bos\.Create\(|fs::write|>\s*"?\$`

// demanded finds properties that a sentence asks of new code, but that no changed file of code seems to provide.
func (w wording) demanded() {
	if strings.Count(w.text, "\n") > 20 { // a sentence of a long text may be about other code
		return
	}
	fresh := len(w.fresh()) > 0
	of := func(d demand) (code string) {
		for _, f := range w.files {
			if !language.IsTest(f.Path) && (!d.near || marks[codeExt(f.Path)] != "" && d.plain.MatchString(bareAdded(f))) {
				code += w.code[f.Path]
			}
		}
		return code
	}
	for _, text := range w.sentences {
		for _, d := range demands {
			at := d.asks.FindStringIndex(text)
			if at != nil && (fresh || d.near) && !refused.MatchString(text[:at[0]]) && !described.MatchString(text) &&
				!given.MatchString(text) &&
				d.plain.MatchString(w.added) && !d.shows.MatchString(of(d)) {
				w.broken(RuleDemand, "", "the batch asks for "+d.what+" ("+shown(text[at[0]:at[1]])+
					"), but nothing in the changed code does it", "do what the batch asks for")
				return
			}
		}
	}
}

// given matches a sentence that says that the input, not the code, has the property.
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
				w.broken(RuleOptionUnused, "", "the batch wants "+m[1]+" to stay, but no code has it any more",
					"restore the option")
			}
		}
	}
}

var (
	// drops matches new code that ignores an error.
	drops = lazyre.New(`(?m)^[ \t]*except\b[^\n]*:\n[ \t]*(?:pass|continue|[\w.]+ = [^\n]*|return(?: (?:None|\[\]|\{\}|""|''|[a-z]\w*))?)$|` +
		`\bcontextlib\.suppress\(|\bcatch\s*(?:\(\w*\)\s*)?\{\s*(?:\}|(?:continue|return(?: (?:null|undefined|\[\]|\{\}|''|""|[a-z]\w*))?|[\w.]+ = [^;\n]*);?\s*\})|` +
		`\bif err != nil \{\s*(?:continue|return(?: [^\n]*\bnil)?)\n\s*\}|\brescue\b[^\n]*\n\s*(?:nil|next|\[\]|\{\}|"")\s*$|\brescue nil\b|` +
		`\bErr\(_\) => (?:continue|\{\}|\(\))`)
	// propagated matches an error that the caller must see.
	propagated = lazyre.New(`(?i)\b(?:errors?|exceptions?)\b[^.;]*\b(?:reach|propagat\w+|bubbles?|pass(?:es)? through)\b`)
	// mayDrop matches words of a batch that permits ignoring an error.
	mayDrop = lazyre.New(`(?i)\b(?:skip\w*|ignor\w*|defaults?|falls? back|fallback\w*|best effort|continues?|empty|tolera\w*|(?:is|are) optional|optionally|optional (?:\w+ )?(?:files?|config\w*|settings?|dependenc\w*|modules?|packages?|keys?|fields?|arguments?|parameters?|headers?)|none|nil|null|undefined|silent\w*|` +
		`missing|exists?|retr(?:y|ies)|until|warn\w*|logs?|lenient\w*|otherwise)\b`)
)

var (
	// emptyRefused matches a sentence that wants an error for an empty value, and passesEmpty words that permit an empty
	// value.
	emptyRefused = lazyre.New(`(?i)\bempty \w+\b[^.;]*\b(?:is|are|stays?|remains?)\b[^.;]*\berrors?\b|\b(?:raises?|throws?|reports?|refuses?|rejects?|returns? an error)\b[^.;]*\bempty \w+`)
	passesEmpty  = lazyre.New(`(?i)\b(?:skip\w*|ignor\w*|blanks?|left out|leaves? out)\b`)
	// skipsEmpty matches code that skips an empty value, and refusesEmpty code that reports an error for it.
	skipsEmpty   = lazyre.New(`(?m)` + ifEmpty + `\n?\s*(?:continue|next)\b|\b(?:next|continue) if \w+\.empty\?`)
	refusesEmpty = lazyre.New(`(?m)` + ifEmpty + `\n?\s*(?:raise|throw|panic|error|return\b.*[eE]rr)`)
)

const ifEmpty = `^\s*(?:if|unless)\b[^\n]*(?:==\s*(?:""|'')|={3} ''|\bnot \w+:|\(!\w+\)|\.length === 0|len\(\w+\) == 0)[^\n]*`

// skipped finds new code that skips an empty value although a sentence wants an error for it. No sentence may speak of
// skipping.
func (w wording) skipped() {
	if m := skipsEmpty.FindString(w.added); m != "" && !refusesEmpty.MatchString(w.added) && !passesEmpty.MatchString(w.text) {
		for _, text := range w.sentences {
			at := emptyRefused.FindStringIndex(text)
			if at != nil && !refused.MatchString(text[:at[0]]) && !described.MatchString(text) {
				w.broken(RuleNoError, "", "the batch wants an error ("+shown(text[at[0]:at[1]])+"), but new code continues: "+
					shown(m),
					"report it where the batch says so, and test it")
				return
			}
		}
	}
}

// swallowed finds new code that ignores an error although a sentence wants an error. No other sentence may permit
// ignoring one.
func (w wording) swallowed() {
	if len(w.fresh()) == 0 || strings.Count(w.text, "\n") > 20 {
		return
	}
	for i, text := range w.sentences {
		at, through := reported.FindStringIndex(text), propagated.FindStringIndex(text)
		if at == nil {
			at = raisedSpan.FindStringIndex(text)
		}
		if at == nil {
			at = through
		}
		if at == nil || refused.MatchString(text[:at[0]]) || described.MatchString(text) || w.contrasted(i) {
			continue
		}
		others := strings.Join(slices.Concat(w.sentences[:i], w.sentences[i+1:]), " ")
		if m := drops.FindString(w.added); m != "" && (through != nil || !mayDrop.MatchString(others)) {
			w.broken(RuleNoError, "", "the batch wants an error ("+shown(text[at[0]:at[1]])+"), but new code ignores an error: "+
				shown(m),
				"report it where the batch says so, and test it")
		}
		return
	}
}
