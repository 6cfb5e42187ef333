package planparse

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
)

// askedFile matches a path in three groups: a code span, a bare path with a folder, a bare name. "Next.js" is no file.
const askedFile = "(?:`([^`\\s]+)`|([\\w.@-]+(?:/[\\w.@()\\[\\]-]+)+)|([\\w-]+\\.(?:[a-ik-z]\\w{0,4}|json))\\b)"

// A plan without a Files block names its files in sentences: "T002 Create the model in src/user.py", "Step 1: Create
// `package.json`", "Delete `old.py`". An agent that omits them has not done the task, so they are promises like the
// entries of a Files block. They are not added to [Files], because a mention gives no permission: a task that names a
// test does not permit weakening the test. Only "Delete `a_test.py`" permits the deletion.
var (
	// askedMarks matches labels before the sentence: "**Step 2:**", "T002 [P] [US1]", "1.3", "(a)".
	askedMarks = lazyre.New(`^(?:[\s>*_~-]+|\[[^\]]{0,12}\]|\(?[a-z]?\)|(?i:step|task)\s+\d[\d.]*[a-z]?|` +
		`[A-Z]{0,4}-?\d[\d.]*|[:.)–—])*`)
	// askedEnds matches the end of a sentence.
	askedEnds = lazyre.New(`[.!?]\s+`)
	// askedVerb matches the word that an instruction begins with.
	askedVerb = lazyre.New(`^\p{L}+[:\s]*`)
	// askedLast matches a file before its verb: "`a.py` erstellen", "`a.py` を作成".
	askedLast = lazyre.New("^`([^`\\s]+)`\\s*[을를を]?\\s*(\\p{L}+)")
	// askedIn matches the place of the work in Chinese: "在 `a.py` 中实现".
	askedIn = lazyre.New("^在\\s*`([^`\\s]+)`\\s*[中里]")
	// askedObject matches the file itself as the object: "Create a new file called `a.py`".
	askedObject = lazyre.New(`^(?i)(?:(?:an?|the|new|empty|basic|minimal|initial|shared|main|files?|script|module|component|` +
		`config|configuration|tests?|unit|called|named)\s+){0,5}` + askedFile)
	// askedPlace matches the file that the object goes into: "Create the User model in src/user.py".
	askedPlace = lazyre.New(`(?i)\s(?:in|at|into|to)\s+(?:(?:the|a|new|file)\s+){0,3}` + askedFile)
	// askedAside matches text that does not name a place: a note in brackets, and an explanation.
	askedAside = lazyre.New(`\s\([^)]*\)|(?:\s[—–-]+\s|[;:]\s).*`)
	// askedNext matches where another instruction begins: "Export it; declare it in `a.d.ts` and add checks to `b.ts`".
	askedNext = lazyre.New(`(?:;|(?:^|,?\s+)(?:and|then)|,)\s+(?:also\s+|then\s+)?(\p{L}+)\s`)
	// askedFirst matches the place in front of the instruction: "In `README.md`, below the list, add a section".
	askedFirst = lazyre.New("^(?i)(?:in|into|to|at the (?:top|end) of)\\s+(?:(?:the|file)\\s+)*`([^`\\s]+)`,?(.*)")
	// askedNoun matches an instruction without a verb, which names the content of a file: "Tests in `a_test.py`", "Specs
	// go to `a_spec.rb`".
	askedNoun = lazyre.New(
		"^(?i)(?:(?:the|new|unit|more)\\s+)*(?:tests?|specs?|cases|entries|docs?|documentation|an?\\s+" +
			"(?:test|entry|section|note|line|paragraph|example))(?:\\s+for\\s[^.;:]{1,80}?)?\\s+(?:go(?:es)?\\s+|belongs?\\s+)?" +
			"(?:in|to|into|at the (?:top|end) of)\\s+`([^`\\s]+)`(?:\\s+(\\w+))?")
	// askedMore matches another file of the same instruction.
	askedMore = lazyre.New("^(?i)\\s*(?:,|&|,?\\s*and)\\s+`([^`\\s]+)`")
	// askedRest matches the rest of an instruction to delete, after a list of files: ", and everything that imports them".
	askedRest = lazyre.New(`^(?i)\s*,?\s+(?:and|along with|together with|as well as)\s+(?:everything|all|any\w*|their|its)\s`)
	// askedNot matches words which show that a sentence is not an instruction for this file, or that the change is
	// optional.
	askedNot = lazyre.New(`(?i)\b(?:if|unless|or|not|never|without|instead|optional\w*|either|e\.g\.|example|such as|like|` +
		`similar|temp\w*|dummy|sample|scratch|manually|for now|falls|wenn|oder|si|ou)\b|如果|或者|場合|必要に|\P{L}(?:если|или)\P{L}|/tmp|\.\.\.|…|\*\.|<|>|\{`)
	// askedElsewhere matches headings above text about trying the result, or about work that is not part of the plan.
	askedElsewhere = lazyre.New(`(?i)\b(?:verif\w*|manual\w*|acceptance|criteria|scenarios?|examples?|smoke|qa|checks?|` +
		`notes?|future|out of scope|risks?|rollback|usage|background|context|overview|references?)\b`)
	// askedKind matches files that are not code.
	askedKind = lazyre.New(`(?i)\.(?:md|mdx|rst|txt|json|jsonc|ya?ml|toml|ini|cfg|conf|css|html?|xml|csproj|sln|xaml|lock|` +
		`mod|svg|prisma|env|j2|tmpl|hbs|ejs|erb|mk|cmake|bat)$`)
	// askedField matches a field of an object that could be the name of a file: opts.env, options.lock.
	askedField = lazyre.New(`^(?:opts?|options|args?|props|params|ctx|self|this|req|res|process|meta)\.\w+$`)
)

// asked adds the files that a sentence outside of a Files block asks for to the promises of the batch.
func (r *filesReader) asked(m *mark) {
	if m.owner.batch < 0 || m.kind == markRepeat || !bytes.ContainsAny(m.text, "`/") {
		return
	}
	line := string(m.text)
	goesOn := m.kind == markText && r.asks == m.line-1
	for _, sentence := range askedEnds.Split(line[len(askedMarks.FindString(line)):], -1) {
		goesOn = goesOn || instruction(leadingWord(sentence)) != ""
		if strings.ContainsAny(sentence, "`/.") { // file names contain one of these
			for _, clause := range clauses(sentence, goesOn) {
				r.sentence(m, clause)
			}
		}
		if r.asks = -1; goesOn && !strings.HasSuffix(sentence, ".") {
			r.asks = m.line
		}
		goesOn = false
	}
}

// clauses splits a sentence before each instruction, if the sentence is an instruction or continues the line before.
func clauses(sentence string, instructs bool) []string {
	if !instructs {
		return []string{sentence}
	}
	var out []string
	from := 0
	for _, m := range askedNext.Re().FindAllStringSubmatchIndex(sentence, -1) {
		if instruction(strings.ToLower(sentence[m[2]:m[3]])) != "" {
			out, from = append(out, sentence[from:m[0]]), m[2]
		}
	}
	return append(out, sentence[from:])
}

// leadingWord returns the word that a sentence begins with, in lower case.
func leadingWord(sentence string) string {
	return strings.ToLower(strings.TrimRight(askedVerb.FindString(sentence), ": \t"))
}

// sentence reads one instruction of a mark.
func (r *filesReader) sentence(m *mark, line string) {
	open := func() bool {
		return askedNot.MatchString(line) || saysMaybe([]byte(line)) || m.head != nil && askedElsewhere.Match(m.head.text)
	}
	if first := askedFirst.FindStringSubmatch(line); first != nil {
		for _, c := range askedNext.Re().FindAllStringSubmatch(","+first[2]+" ", -1) {
			if does := instruction(strings.ToLower(c[1])); does != "" && does != "delete" && !open() {
				r.ask(m, "modify", true, first[1])
				return
			}
		}
		return
	}
	if noun := askedNoun.FindStringSubmatch(line); noun != nil {
		if !open() && (noun[2] == "" || slices.Contains(afterPlace, strings.ToLower(noun[2]))) {
			r.ask(m, "modify", true, noun[1])
		}
		return
	}
	if in := askedIn.FindStringSubmatch(line); in != nil && !open() {
		r.ask(m, "modify", true, in[1])
		return
	}
	if last := askedLast.FindStringSubmatch(line); last != nil {
		if does := instruction(strings.TrimSuffix(last[2], "する")); does != "" && !open() {
			r.ask(m, does, false, last[1])
		}
		return
	}
	verb, rest := leadingWord(line), line[len(askedVerb.FindString(line)):]
	does := instruction(verb)
	if does == "" {
		return
	}
	paths, place := objects(does, rest), false
	if paths == nil && does != "delete" {
		rest = askedAside.ReplaceAllString(rest, "")
		found := askedPlace.FindStringSubmatchIndex(rest)
		if found == nil || verb != "add" && strings.HasPrefix(rest[found[0]+1:], "to ") {
			return // "Change `a.js` to `b.js`", "write it to out.json"
		}
		paths, place = []string{submatch(rest, found)}, true
		if verb != "create" {
			does = "modify"
		}
	}
	if paths != nil && !open() { // last, because it reads the whole line
		r.ask(m, does, place, paths...)
	}
}

// afterPlace holds words that may follow the place of something new. With another word, the sentence describes the
// present: "Tests in `a_test.py` pass".
var afterPlace = []string{"for", "under", "below", "above", "that", "which", "with", "and", "of", "about", "as"}

// ask adds promises about files to the batch.
func (r *filesReader) ask(m *mark, does string, place bool, paths ...string) {
	b := &r.plan.Batches[m.owner.batch]
	for _, p := range paths {
		if p = stripRange(p); does != "" && fileName(p) {
			if clean, ok := cleanPath(p); ok {
				b.Named = append(b.Named, Named{Verb: does, Path: clean, Line: m.line, Place: place})
			}
		}
	}
}

// instruction returns the action that the verb of an instruction stands for: "create", "modify", "delete", or "".
func instruction(verb string) string {
	switch verb {
	case "write", "anlegen", "crea", "cree", "crie", "créez", "创建", "создай", "создайте":
		return "create"
	case "implement", "define", "register", "export", "declare", "describe", "document", "mention", "实现", "実装", "구현":
		return "modify"
	case "creates", "new", "modifies", "modified", "change", "replace", "deletes", "deleted":
		return ""
	}
	if does := fileVerb(verb); does != "test" && does != "move" {
		return does
	}
	return ""
}

// objects returns the files that are the object of an instruction, without its verb; nil if there is none. In "Add
// `a.ts` to `index.ts`" the file is the place.
func objects(does, rest string) []string {
	found := askedObject.FindStringSubmatchIndex(rest)
	if found == nil {
		return nil
	}
	name, after := submatch(rest, found), rest[found[1]:]
	place := askedPlace.FindStringSubmatchIndex(after)
	if !fileName(name) || place != nil && strings.Trim(after[:place[0]], "*_") == "" && fileName(submatch(after, place)) {
		return nil
	}
	paths := []string{name}
	for more := askedMore.FindStringSubmatchIndex(after); more != nil; more = askedMore.FindStringSubmatchIndex(after) {
		paths, after = append(paths, submatch(after, more)), after[more[1]:]
	}
	if does == "delete" && strings.Trim(after, "*_.,;:) ") != "" && !askedRest.MatchString(after) {
		return nil // "Remove `a.py` from the list"
	}
	return paths
}

// submatch returns the first group that matched.
func submatch(text string, at []int) string {
	for i := 2; i+1 < len(at); i += 2 {
		if at[i] >= 0 {
			return text[at[i]:at[i+1]]
		}
	}
	return ""
}

// fileName reports whether a word of a sentence is certainly the path of a file, unlike "user.name" and "v1/users".
func fileName(p string) bool {
	p = stripRange(p)
	if !looksLikePath(p) || strings.HasSuffix(p, "/") || strings.ContainsAny(p, "*<>{}[]:@") && !strings.Contains(p, "/") {
		return false
	}
	return language.IsCode(p) || askedKind.MatchString(p) && !askedField.MatchString(p) || path.Ext(p) == "" && !strings.Contains(p, "/")
}
