package promise

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/examples"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
)

// The rules about what the sentences of a batch ask for.
const (
	RuleNoError      = "no-error"      // an error that the batch names is never raised
	RuleNotCalled    = "not-called"    // a new function that other code should use is used nowhere
	RuleOptionUnused = "option-unused" // an option or setting has no effect
	RuleCaseMissing  = "case-missing"  // one of several listed words is not in the code
	RuleValueMissing = "value-missing" // the change contains none of the values for a data file
	// a function that the batch corrects is unchanged, and so are all functions that it calls
	RuleNotCorrected    = "not-corrected"
	RuleOldKept         = "old-code-kept"    // new code calls the old code that it should replace
	RuleCheckGone       = "check-gone"       // a check of the input is gone although behaviour should stay
	RuleNoOrder         = "no-order"         // new tests of an order compare without order
	RuleExampleUntested = "example-untested" // an example of the batch is in no test
	RuleAnswersOnly     = "answers-only"     // new code compares with the inputs of tests and contains their results
	// new code lacks a property that the batch asks for, such as safety between threads
	RuleDemand = "demand-unmet"
	RuleLater  = "left-for-later" // a comment postpones work that the batch asks for
)

// wording is a batch's text without code blocks and commands, together with the code to compare it with.
type wording struct {
	o         Options
	l         *gates.Look
	text      string
	sentences []string
	files     []gates.File      // of the change
	code      map[string]string // the texts of all files of the tree but tests and prose, without comments
	added     string            // the added lines of code, without comments
	tests     string            // the added lines of tests
}

var (
	fenced = lazyre.New(
		"(?m)^[ \t]*```(?s:.*?)^[ \t]*```[ \t]*$|^\\W*(?:Run|Expected|Command)\\b.*$|^\\s*-? " +
			"?\\*{0,2}(?:Create|Modify|Test|Delete|Files)\\b\\*{0,2}:.*$")
	sentence = lazyre.New(`[.!?;:]\s|\n\s*\n|\n\s*(?:[-*]|\d+\.)\s`)
	// refused matches "not" directly before a verb. described matches a sentence about the present code, unwanted the
	// words directly before a name that should not be there, and negated any word of these kinds.
	refused   = lazyre.New(`(?i)(?:\b(?:not|never|longer|nor|cannot)|n't)\W*$`)
	described = lazyre.New(`(?i)\b(?:currently|today|at present|so far|bugs?|crash\w*|because|unexpected\w*|wrongly|instead of|already|reported|issue)\b`)
	unwanted  = lazyre.New(`(?i)\b(?:not|no|never|without|instead of|remov\w*|delet\w*|drop\w*|like|such as|e\.g\.)[ \x60"]+(?:\w+[ \x60"]+){0,2}$`)
	negated   = lazyre.New(`(?i)\b(?:not|no|never|without|instead|longer|nor|stops?|currently|today|at present|so far|bug|crash\w*|because|unexpected\w*|wrongly|avoids?|unless|optional\w*|may|might|like|such as|e\.g|example|already)\b|n't\b`)
	// skeleton matches words of a batch whose code need not work yet.
	skeleton = lazyre.New(`(?i)\b(?:` + skeletonWords + `)\b`)
	asking   = lazyre.New(`\b(?:wire|register|hook|[Cc]all|[Rr]ename)\s+(?:it\b|` + "`?" +
		`\w+_?\w*)|\b(?:[Cc]reate|[Aa]dd|[Ww]rite) (?:a |the )?(?:function|method) \w|\w\(\w+(?:, \w+)*\)`)
)

// promisesInText reports whether the rules about sentences may find something.
func promisesInText(text string) bool {
	if len(examples.Find(text)) > 0 {
		return true
	}
	text = fenced.ReplaceAllString(text, "")
	for _, re := range []*lazyre.Regexp{raised, reported, optionNamed, variable, listed, replaces, staysSame, asking,
		oldFlag,
		spelled, changing, memberNamed} {
		if re.MatchString(text) {
			return true
		}
	}
	return slices.ContainsFunc(sentence.Split(text, -1),
		func(s string) bool {
			plain := strings.Join(strings.Fields(s), " ")
			return corrects.MatchString(s) || faulty.MatchString(s) && wrongCall.MatchString(s) ||
				slices.ContainsFunc(demands, func(d demand) bool { return d.asks.MatchString(plain) })
		})
}

// inText compares the change with what the sentences of the batch ask for.
func (o Options) inText(ctx context.Context, l *gates.Look) error {
	s := l.Subject()
	if s.Diff == nil || s.Dir == "" || skeleton.MatchString(s.Batch.Title+"\n"+s.Batch.Text) {
		return nil
	}
	w, err := o.wordingOf(ctx, l, s.Batch.Text, s.Diff)
	if err != nil {
		return err
	}
	if err := o.testsOfEarlier(ctx, l); err != nil {
		return err
	}
	if !slices.ContainsFunc(w.files, product) {
		w.values()
		return nil
	}
	w.errors()
	w.members()
	e, known := w.effects()
	if !known || !w.unwired(e) {
		w.calls()
		if known && !w.unmoved(e) && !w.untold(e) {
			w.corrected(e)
			w.remarked(e)
		}
	}
	w.options()
	w.cases()
	w.units()
	w.values()
	w.answers()
	if !w.special() && !w.answered() && !w.rowCases() {
		w.pieced()
	}
	w.fixedTexts()
	w.unread()
	w.unreadFields(e)
	w.besides()
	w.untested()
	w.later()
	w.kept()
	w.copied()
	w.checkGone()
	w.ordered()
	w.demanded()
	w.swallowed()
	w.keptOptions()
	w.skipped()
	w.twins()
	w.rehearsed()
	w.onlyTested()
	w.keptFunctions()
	w.renamed()
	return nil
}

// wordingOf reads a text of the plan, a change, and the code of the tree.
func (o Options) wordingOf(ctx context.Context, l *gates.Look, text string, diff gates.Diff) (wording, error) {
	text = strings.ReplaceAll(fenced.ReplaceAllString(text, ""), "...", "…")
	w := wording{o: o, l: l, text: text, code: map[string]string{}}
	for _, s := range sentence.Split(text, -1) {
		w.sentences = append(w.sentences, strings.Join(strings.Fields(s), " "))
	}
	var err error
	if w.files, _, err = gates.Files(ctx, diff, nil); err != nil {
		return w, err
	}
	for _, f := range w.files {
		switch {
		case language.IsTest(f.Path):
			for _, a := range f.AddedLines() {
				w.tests += a.Text + "\n"
			}
		case marks[codeExt(f.Path)] != "":
			w.added += bareAdded(f)
		}
	}
	if !slices.ContainsFunc(w.files, product) {
		return w, nil
	}
	for _, p := range o.in(func(p string) bool { return !language.IsTest(p) && !prose.MatchString(p) }) {
		if err := ctx.Err(); err != nil {
			return w, err
		}
		if text, ok := w.read(p); ok {
			w.code[p] = bare(p, text)
		}
	}
	return w, nil
}

// product reports whether a file is code that the rules can read, but not a test.
func product(f gates.File) bool { return !language.IsTest(f.Path) && marks[codeExt(f.Path)] != "" }

// unmeant reports whether a match in a sentence is about the present code, or about something unwanted.
func unmeant(text string, at int) bool {
	return unwanted.MatchString(text[:at]) || described.MatchString(text)
}

var frame = lazyre.New(`(?m)` + frameLines)

// bare removes comments, docstrings and the frame of a file from its text, and keeps the lines.
func bare(file, text string) string {
	lang, out := language.OfSource(file), []byte(text)
	if lang == "" {
		return filler.ReplaceAllString(text, "")
	}
	for _, p := range language.Parts(text, lang) {
		if !p.Comment && !(lang == language.Python && docstring(text, p.Start)) {
			continue
		}
		language.Blank(out, p.Start, p.End)
	}
	return frame.ReplaceAllString(string(out), "")
}

// docstring reports whether a Python string literal begins a line and has three quotation marks.
func docstring(text string, at int) bool {
	return (strings.HasPrefix(text[at:], `"""`) || strings.HasPrefix(text[at:], "'''")) &&
		strings.TrimSpace(text[strings.LastIndexByte(text[:at], '\n')+1:at]) == ""
}

// bareAdded returns the lines that a change adds to a file, without comments.
func bareAdded(f gates.File) (added string) {
	lines := strings.Split(bare(f.Path, f.After), "\n")
	for _, a := range f.AddedLines() {
		if a.Number <= len(lines) {
			added += strings.TrimRight(lines[a.Number-1], " \t") + "\n"
		}
	}
	return added
}

func (w wording) broken(rule, file, message, fix string) {
	w.o.broken(w.l, rule, file, message, fix+", or change the plan")
}

var (
	// raised matches the name of an error after "raises", "throws", "warns" or "rejects".
	raised = lazyre.New(
		"(?:[Rr]aises?|[Tt]hrows?|[Ww]arns?(?: with)?|[Rr]ejects?(?: " +
			"with)?)\\s+(?:an?\\s+|the\\s+)?`?(?:\\w+(?:\\.|::))*([A-Z]\\w*(?:Error|Exception|Warning)|Error)\\b")
	// raisedSpan matches any name of a class that a sentence raises.
	raisedSpan = lazyre.New("(?:[Rr]aises?|[Tt]hrows?)\\s+(?:an?\\s+|the\\s+)?`(?:\\w+(?:\\.|::))*([A-Z]\\w+)`")
	// reported matches an error without a name.
	reported = lazyre.New(`(?i)\b(?:(?:is|are) (?:an )?errors?|returns? (?:an )?error|(?:raises?|throws?|rejects?)\s+(?:an?\s+|the\s+)?\S*(?:error|exception)|exits? with (?:status |code )?[1-9]\d*|returns? ` + "`?Err" + `)\b`)
	// reports matches code that reports an error, and proves code of a test that expects an error.
	reports = lazyre.New(`\braise\b|\bthrow\b|\b[Rr]eject\b|\b(?:sys\.)?exit\b|\berrs?\b|\bErr[A-Z]\w*|\berrors\.\w|Errorf|\bErr\(|\?[;)\n]|\babort\b|\bfail\w*|\bdie\b|\bpanic\w*|\bassert\w*|\bset -\w*e|\$\{\w+:?\?|[eE]xit\(|exitCode|\bcheck=True|bail!|ensure!|\breturn [1-9]|\bint\(|\bfloat\(|\bInteger\(|JSON\.parse|\bdie\b|\bopen\(`)
	proves  = lazyre.New(`(?i)raises|warns|throws?\b|toThrow|rejects|raise_error|assert_raise|expectException|should_panic|is_err|\bErr\(|err == nil|wantErr|Error\(t|ErrorIs|ErrorAs|ErrorContains|\bfails\b|exit_?code|returncode|\$\?|status`)
	// mentions matches lines that name an error without raising it.
	mentions = lazyre.New(`(?m)^.*\b(?:class|struct|except|rescue|import|from|instanceof|export|exports|require|__all__)\b.*$|(?m)^\s*\}? ?catch\b.*$`)
)

// errors finds errors that the batch asks for and no code raises.
func (w wording) errors() {
	if !slices.ContainsFunc(w.sentences, adds.MatchString) {
		return
	}
	seen := map[string]bool{}
	for i, text := range w.sentences {
		at := raised.FindStringSubmatchIndex(text)
		if at == nil || refused.MatchString(text[:at[0]]) || described.MatchString(text) || w.contrasted(i) {
			continue
		}
		name := text[at[2]:at[3]]
		if seen[name] || names(w.tests, name) && proves.MatchString(w.tests) || w.anywhere(func(_, code string) bool {
			return names(mentions.ReplaceAllString(code, ""), name)
		}) {
			continue
		}
		seen[name] = true
		w.broken(RuleNoError, "", "the batch wants "+name+" to be raised, but no code raises it and no new test expects it",
			"raise it where the batch says so, and test it")
	}
	if len(seen) == 0 && w.tests != "" && asksTests.MatchString(w.text) && !proves.MatchString(w.tests) {
		for i, text := range w.sentences {
			at := raisedSpan.FindStringSubmatchIndex(text)
			if at != nil && !refused.MatchString(text[:at[0]]) && !described.MatchString(text) && !noCase.MatchString(text) &&
				!w.contrasted(i) {
				w.broken(RuleNoError, "", "the batch wants "+text[at[2]:at[3]]+" to be raised and asks for tests, but no new test "+
					"expects an error", "test where it is raised")
				return
			}
		}
	}
	// In a long text, a sentence may be about existing code.
	if len(seen) > 0 || strings.Count(w.text, "\n") > 20 || strings.TrimSpace(w.added) == "" ||
		reports.MatchString(w.added) || proves.MatchString(w.tests) {
		return
	}
	for i, text := range w.sentences {
		at := reported.FindStringIndex(text)
		if at != nil && !refused.MatchString(text[:at[0]]) && !described.MatchString(text) && !w.contrasted(i) {
			w.broken(RuleNoError, "", "the batch wants an error ("+shown(text[at[0]:at[1]])+
				"), but no new code reports one and no new test expects one", "report it where the batch says so, and test it")
			return
		}
	}
}

// afterwards matches a sentence which implies that the sentence before describes the old behaviour.
var afterwards = lazyre.New(`(?i)^\W*(?:after (?:the|this) (?:change|batch|fix|correction)|afterwards|(?:it|that|this) (?:should|must) (?:not|work))\b`)

// doesNot matches a sentence that the next sentence explains: "`quality` does not: it raises an error".
var doesNot = lazyre.New(`(?i)(?:\bnot|n't|\bwrong)\W*$`)

// contrasted reports whether a sentence describes the code before the change: the next sentence says what changes, or
// the previous one says what is wrong.
func (w wording) contrasted(sentence int) bool {
	return sentence+1 < len(w.sentences) && afterwards.MatchString(w.sentences[sentence+1]) ||
		sentence > 0 && doesNot.MatchString(w.sentences[sentence-1])
}

// read returns the text of a file of the tree, if it is smaller than 1 MiB.
func (w wording) read(p string) (text string, ok bool) {
	data, err := os.ReadFile(filepath.Join(w.l.Subject().Dir, filepath.FromSlash(p)))
	return string(data), err == nil && len(data) < 1<<20
}

// anywhere reports whether want is true for any file of code.
func (w wording) anywhere(want func(p, code string) bool) bool {
	for p, code := range w.code {
		if want(p, code) {
			return true
		}
	}
	return false
}

// declaredType matches the declaration of a class.
var declaredType = lazyre.New(`^\s*(?:export\s+)?(?:default\s+)?class\s+(\w+)`)

// fresh returns the names of functions and classes that the change adds.
func (w wording) fresh() (out []string) {
	for line := range strings.Lines(w.added) {
		name := language.Declared(strings.TrimRight(line, "\n"))
		if m := declaredType.FindStringSubmatch(line); m != nil {
			name = m[1]
		}
		if len(name) > 2 && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// calls finds new functions that other code should use according to the batch, but that only tests use.
func (w wording) calls() {
	for _, name := range w.fresh() {
		if !names(w.text, name) {
			continue
		}
		q := "`?" + `(?:\w+\.)*` + regexp.QuoteMeta(name) + `\b`
		asks := regexp.MustCompile(`(?i:\b(?:calls?|uses?|invokes?|wires?|registers?|hooks?|plugs?)\s+(?:it\s+|the\s+|an?\s+|new\s+|up\s+|in\s+)*(?:(?:function|method|class|helper|hook|middleware|command|handler)\s+)?)` +
			q + `|` + q +
			`(?s:.*?)\b(?i:(?:wire|register|hook|plug|mount|install)s?\s+(?:it|them)\b|(?:call|use)s?\s+(?:it|them)\s+(?:in|from|by|before|after|at|for|inside)\b|(?:is|be|gets)\s+(?:called|used|registered|wired|hooked|plugged))`)
		for _, text := range w.sentences {
			at := asks.FindStringIndex(text)
			if at == nil || ofTests.MatchString(text) || unmeant(text, at[0]) || refused.MatchString(text[:at[1]]) {
				continue
			}
			if !w.anywhere(func(_, code string) bool { return used(code, name) }) {
				w.broken(RuleNotCalled, "", "the batch wants other code to use "+name+", but only its declaration has that name",
					"use it where the batch says so")
			}
			break
		}
	}
	for _, text := range w.sentences {
		m := condition.FindStringSubmatch(text)
		if m == nil || noCase.MatchString(text) || described.MatchString(text) ||
			!w.anywhere(func(_, code string) bool { return language.Functions(code)[m[1]] != "" }) {
			continue
		}
		same := func(f gates.File) bool {
			return language.Functions(bare(f.Path, f.Before))[m[1]] == language.Functions(bare(f.Path, f.After))[m[1]]
		}
		if lists.Count(w.files, func(f gates.File) bool { return product(f) && !same(f) }) == 0 &&
			!w.anywhere(func(_, code string) bool { return used(code, m[1]) }) {
			w.broken(RuleNotCalled, "", "the batch makes "+m[1]+" a condition, but this function is unchanged, and "+
				"no code uses it",
				"use it where the batch says so")
			return
		}
	}
}

// condition matches a function whose result decides what other code does.
var condition = lazyre.New(
	"\\b(?:if|unless|when|whenever|whether|until|while) `(?:\\w+[.:#]+)*(\\w{3,})[?!]?(?:\\([^`]*\\))?` " +
		`(?:is|returns|gives|says|answers)\b`)

// ofTests matches words which say that tests use a function.
var ofTests = lazyre.New(`(?i)\b(?:in|for|by|all|of) (?:all |the )*tests?\b|\btest (?:files?|set-?up|suites?|hooks?|helpers?)\b`)

// used reports whether a line of code contains the name without declaring or importing it.
func used(code, name string) bool {
	if !strings.Contains(code, name) {
		return false
	}
	for line := range strings.Lines(code) {
		if !names(line, name) || language.IsImport(line) {
			continue
		}
		m := declaredType.FindStringSubmatch(line)
		if language.Declared(strings.TrimRight(line, "\n")) != name && (m == nil || m[1] != name) {
			return true
		}
	}
	return false
}

var (
	// optionNamed matches options and settings that a sentence names.
	optionNamed = lazyre.New(
		"(?i)\\b(?:flag|option|switch|setting|parameter|argument|keyword)s?\\s+(?:named\\s+|called\\s+)?`(-{0,2}[a-z_][\\w-]*)(?:[ =][^`]*)?`|" +
			"`(-{1,2}[a-z][\\w-]*)(?:[ =][^`]*)?`\\s+(?:flag|option|switch)\\b|\\b(?:options?|opts)\\.([a-z]\\w*)\\b")
	binds     = lazyre.New(`&(?:\w+\.)*(\w+)|(\w+)\s*:?=(?:[^=]|$)`)
	flagCalls = lazyre.New(`\bflags?\.|add_argument|add_option|\.option\(|\bclick\b|getopts|\bopts\.on\b|\.on\(|\.Var|Var\(|yargs|parseArgs|\bserde\b`)
	header    = lazyre.New(`^\s*(?:if|elif|else|while|for|case|when|switch|match|unless)\b`)
	field     = lazyre.New(`^\s*(\w+)\s+[*\[\]\w.]+(?:\s+` + "`[^`]*`" + `)?\s*$`)
	settings  = lazyre.New(`(?i)\.(?:toml|ya?ml|json|ini|cfg|conf|properties|env)$`)
)

// options finds options and settings that the batch asks for, but that code only parses or sets and never reads.
func (w wording) options() {
	done := map[string]bool{}
	w.parameters(done)
	w.gone()
	for _, text := range w.sentences {
		if m := variable.FindStringSubmatchIndex(text); m != nil && !unmeant(text, m[0]) {
			name := text[m[2]:m[3]]
			if !w.anywhere(func(_, code string) bool { return names(code, name) }) {
				w.broken(RuleOptionUnused, "", "the batch wants the environment variable "+name+
					" to have an effect, but no code reads it", "read it where the batch says so")
			}
		}
		for _, at := range optionNamed.FindAllStringSubmatchIndex(text, -1) {
			m := optionNamed.FindStringSubmatch(text[at[0]:at[1]])
			name := ""
			if m != nil {
				name = m[1] + m[2] + m[3]
			}
			if name == "" || done[name] || language.IsCode("a."+name) || settings.MatchString("a."+name) ||
				unmeant(text, at[0]) {
				continue
			}
			done[name] = true
			w.option(name)
		}
	}
}

var variable = lazyre.New("(?i:environment variable|env(?:ironment)? var)\\s+`?\\$?([A-Z][A-Z0-9_]{2,})\\b")

// gone finds parameters that the change removes from a function although the batch writes them in a call of it.
func (w wording) gone() {
	if goesAway.MatchString(w.text) || strings.Contains(strings.ToLower(w.text), "renam") {
		return
	}
	for _, m := range spelled.FindAllStringSubmatch(w.text, -1) {
		head := regexp.MustCompile(`\b` + m[1] + `\(([^()]*)\)`)
		for _, f := range w.files {
			was := head.FindStringSubmatch(declarations(f.Before, m[1]))
			now := head.FindStringSubmatch(declarations(f.After, m[1]))
			for _, p := range strings.Split(m[2], ", ") {
				if was != nil && now != nil && !language.IsTest(f.Path) && names(was[1], p) && !names(now[1], p) &&
					!takesMore.MatchString(now[1]) {
					w.broken(RuleOptionUnused, f.Path, "the batch names the parameter "+p+" of "+m[1]+", but the change removes it",
						"restore it")
				}
			}
		}
	}
}

var (
	// spelled matches a call with names of parameters: `f(a, b)`.
	spelled = lazyre.New("`(?:\\w+[.:]+)*(\\w+)\\((\\w+(?:, \\w+)*)\\)`")
	// takesMore matches a parameter that takes any number of arguments.
	takesMore = lazyre.New(`\*\w`)
)

// declarations returns the lines of a text that declare a function.
func declarations(text, name string) (out string) {
	for line := range strings.Lines(text) {
		if language.Declared(strings.TrimRight(line, "\n")) == name {
			out += line
		}
	}
	return out
}

// option finds out whether an option of a plan is read.
func (w wording) option(literal string) {
	plain := strings.TrimLeft(literal, "-")
	list := []string{strings.ReplaceAll(plain, "-", "_"), camel(plain)}
	quoted := regexp.MustCompile(`["' ]-{0,2}` + regexp.QuoteMeta(plain) + `["' =,\])]|^\s*` + regexp.QuoteMeta(plain) +
		`\)`)
	introduced := false
	for line := range strings.Lines(w.added) {
		if literal != plain && quoted.MatchString(line) {
			introduced = true
			for _, b := range binds.FindAllStringSubmatch(line, -1) {
				list = append(list, b[1]+b[2])
			}
		}
		introduced = introduced || len(plain) > 1 && (names(line, list[0]) || names(line, list[1]))
	}
	for _, f := range w.files { // a setting in a file of its own
		if !settings.MatchString(f.Path) || language.IsTest(f.Path) {
			continue
		}
		key := regexp.MustCompile(`^\s*["']?` + regexp.QuoteMeta(plain) + `["']?\s*[=:]`)
		for _, a := range f.AddedLines() {
			introduced = introduced || literal == plain && key.MatchString(a.Text)
		}
	}
	if !introduced {
		return
	}
	list = slices.DeleteFunc(list, func(n string) bool { return len(n) < 2 })
	if len(list) == 0 || w.anywhere(func(p, code string) bool {
		return !settings.MatchString(p) && slices.ContainsFunc(list,
			func(n string) bool { return strings.Contains(code, n) && read(w.effective(code, n), n) })
	}) {
		return
	}
	w.broken(RuleOptionUnused, "", "the batch wants "+literal+" to have an effect, but no code reads it",
		"use it where the batch says so")
}

func camel(name string) string {
	parts := strings.FieldsFunc(name, func(r rune) bool { return r == '-' || r == '_' })
	for i := 1; i < len(parts); i++ {
		parts[i] = strings.ToUpper(parts[i][:1]) + parts[i][1:]
	}
	return strings.Join(parts, "")
}

// read reports whether code reads a variable, field, key or parameter, instead of only declaring or setting it.
func read(code, name string) bool {
	if !strings.Contains(code, name) {
		return false
	}
	word := regexp.MustCompile(`(?:^|\W)(` + regexp.QuoteMeta(name) + `)(?:\W|$)`)
	for line := range strings.Lines(code) {
		line = strings.TrimRight(line, "\n")
		if m := field.FindStringSubmatch(line); m != nil && m[1] == name || language.IsImport(line) {
			continue
		}
		open, shut := strings.Index(line, "("), strings.LastIndex(line, ")")
		if head, _, arrow := strings.Cut(line, "=>"); arrow {
			open, shut = strings.LastIndex(head, "("), strings.LastIndex(head, ")")
		}
		for at := 0; ; {
			m := word.FindStringSubmatchIndex(line[at:])
			if m == nil {
				break
			}
			from, to := at+m[2], at+m[3]
			at = to
			before, after := strings.TrimRight(line[:from], ` "'`), line[to:]
			text := strings.TrimLeft(after, `"'`)
			rest := strings.TrimLeft(text, " ")
			last := ""
			if before != "" {
				last = before[len(before)-1:]
			}
			switch {
			case (strings.HasPrefix(rest, "=") || strings.HasPrefix(rest, ":=")) && !strings.HasPrefix(rest, "==") &&
				!strings.HasPrefix(rest, "=>"):
			case (strings.HasPrefix(text, ":") || strings.HasPrefix(text, "?:")) && strings.Contains("{,(", last) &&
				!header.MatchString(line): // a key, or a parameter with its type
			case strings.Contains(line[:from], "&") && strings.HasSuffix(strings.TrimRight(before, "."), "&"),
				flagCalls.MatchString(line) && (strings.ContainsAny(line[max(0, from-1):from], `"'-&.`)):
			case language.Declared(line) != "" && from > open && to <= shut:
			case strings.Contains(line[:from], "{") && regexp.MustCompile(`^[^{}]*\}\s*=[^=]`).MatchString(after):
			default:
				return true
			}
		}
	}
	return false
}

// listed matches words in quotation marks that follow each other.
var (
	listed = lazyre.New("(?:[`\"'][\\w-]{2,}[`\"'](?:,? (?:and|or) |, |/)){2,}[`\"'][\\w-]{2,}[`\"']")
	inList = lazyre.New("[`\"']([\\w-]{2,})[`\"']")
)

// cases finds a list of words in the batch if new code handles at least two of them, but not all.
func (w wording) cases() {
	for _, text := range strings.Split(w.text, "\n\n") {
		text = strings.Join(strings.Fields(text), " ")
		for _, at := range listed.FindAllStringIndex(text, -1) {
			before := text[:at[0]]
			if i := strings.LastIndexAny(before, ".;"); i >= 0 {
				before = before[i:]
			}
			if negated.MatchString(before) {
				continue
			}
			var have, miss []string
			for _, m := range inList.FindAllStringSubmatch(text[at[0]:at[1]], -1) {
				word := regexp.QuoteMeta(m[1])
				is := regexp.MustCompile("(?i)[\"'`:]" + word + "\\b|(?m)^\\s*(?:\\w+\\|)*" + word + `[|)]`)
				in := func(_, code string) bool { return strings.Contains(folded(code), folded(m[1])) }
				if is.MatchString(w.added) && !w.idleBranch(m[1]) {
					have = append(have, m[1])
				} else if w.idleBranch(m[1]) || !w.anywhere(in) {
					miss = append(miss, m[1])
				}
			}
			if len(have) >= 2 && len(miss) > 0 && len(miss) <= len(have) {
				w.broken(RuleCaseMissing, "", "the batch lists "+strings.Join(append(have, miss...), ", ")+
					", but no code does the work of "+
					strings.Join(miss, ", "), "write the missing case")
			}
		}
	}
}

// unitList matches a list of values with units, and aUnit the unit of one value.
var (
	unitList = lazyre.New("(?:`\\d+[a-z]+`,? ?(?:and |or )?){3,}")
	aUnit    = lazyre.New("\\d([a-z]+)`")
)

// units finds a list of values with units, such as `5s`, `2m` or `1h`, if new code handles at least two of the units,
// but not all.
func (w wording) units() {
	for _, text := range unitList.FindAllString(w.text, -1) {
		var miss []string
		have, code := 0, strings.ToLower(w.added)
		for _, m := range aUnit.FindAllStringSubmatch(text, -1) {
			if names(code, m[1]) || regexp.MustCompile(`[a-z]`+m[1]+`\b.*[:=]`).MatchString(code) {
				have++
			} else {
				miss = lists.Add(miss, m[1])
			}
		}
		if have >= 2 && len(miss) > 0 && len(miss) <= have {
			w.broken(RuleCaseMissing, "", "the batch lists "+strings.TrimSpace(text)+", but no code handles the unit "+
				strings.Join(miss, " and "), "write the missing case")
			return
		}
	}
}

// idleBranch reports whether new code has a branch for a word that only returns a constant.
func (w wording) idleBranch(word string) bool {
	branch := regexp.MustCompile(`(?:\bcase\b|\bwhen\b|\bif\b|==).*["'\x60:]` + regexp.QuoteMeta(word) +
		`\b["'\x60]?\)?\s*\{?:?\s*$`)
	lines := strings.Split(w.added, "\n")
	for i, line := range lines {
		for next := i + 1; branch.MatchString(line) && next < len(lines); next++ {
			if text := strings.TrimSpace(lines[next]); text != "" {
				return text != "break" && text != "continue" && plain.MatchString(text)
			}
		}
	}
	return false
}

// dataFile matches names of data files, and decimal the values that a sentence gives for them.
var (
	dataFile = lazyre.New("[\\w./-]+\\.(?:json|csv|tsv|ya?ml|toml)\\b")
	decimal  = lazyre.New(`\b\d+\.\d+\b`)
)

// values finds data files for which the batch gives values, if the change contains none of these values.
func (w wording) values() {
	for _, text := range regexp.MustCompile(`[.;!?]\s|\n\s*\n`).Split(w.text, -1) {
		name := dataFile.FindString(text)
		if name == "" || negated.MatchString(text) ||
			!slices.ContainsFunc(w.files, func(f gates.File) bool { return means(name, f.Path) }) {
			continue
		}
		list := decimal.FindAllString(text, -1)
		slices.Sort(list)
		if list = slices.Compact(list); len(list) < 2 || slices.ContainsFunc(w.files, func(f gates.File) bool {
			return slices.ContainsFunc(f.AddedLines(), func(a gates.Line) bool {
				return slices.ContainsFunc(list, func(v string) bool { return strings.Contains(a.Text, v) })
			})
		}) {
			continue
		}
		w.broken(RuleValueMissing, name, "the batch gives values ("+strings.Join(list, ", ")+
			"), but the change contains none of them", "write the values that the batch gives")
	}
}
