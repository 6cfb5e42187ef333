package retrieve

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/literal"
	"github.com/runplan/runplan/internal/wordset"
)

// Limits for the text of a task, which may be a whole log.
const (
	maxTaskText = 400_000 // bytes
	maxTaskLine = 2_000
	maxClues    = 60 // of each kind
	maxKeywords = 24
)

// clues holds the names found in the text of a task, before they are looked up.
type clues struct {
	Paths    []place   // possible paths
	Names    []spoken  // possible symbols
	Errors   []Trouble // stack traces and messages
	Keywords []string
	Kind     TaskKind
}

// place is a path as written, with a line if one is given.
type place struct {
	Path string
	Line int
}

// spoken is a name as written. A name in backticks or with parentheses is certainly code.
type spoken struct {
	Name string // dotted: "Runner.run"
	Sure bool
}

var (
	wordRE     = lazyre.New("[^\\s,;\"'<>|()\\[\\]{}=*]+(?:\\(\\))?")
	tickedRE   = lazyre.New("`([^`\n]{1,300})`")
	nameRE     = lazyre.New(`^[A-Za-z_$][\w$]*(?:(?:\.|::|#)[A-Za-z_$][\w$]*)*$`)
	dottedRE   = lazyre.New(`^\w{2,}(?:\.\w{2,})+$`) // no e.g.
	placeRE    = lazyre.New(`^(.+?):(\d{1,7})(?::\d{1,7})?$`)
	endingRE   = lazyre.New(`\.[A-Za-z][A-Za-z0-9_]{0,9}$`)
	camelRE    = lazyre.New(`^[A-Z][a-z0-9]+[A-Z]\w*$|^[a-z]+[A-Z]\w*$|^[A-Z]{2,}[a-z]\w*$`)
	snakeRE    = lazyre.New(`^_*[A-Za-z][A-Za-z0-9]*_[A-Za-z0-9_]*$`)
	hostLikeRE = lazyre.New(`^[a-z]+://|^www\.|@`)
)

// findClues extracts the clues from a text. It looks nothing up.
func findClues(text string) clues {
	var c clues
	text = bounded(strings.ToValidUTF8(text, "\ufffd"))
	prose, code := c.takeErrors(text)
	for _, m := range tickedRE.FindAllStringSubmatch(prose, -1) {
		c.takeWord(strings.TrimSpace(m[1]), true)
	}
	for _, w := range wordRE.FindAllString(tickedRE.ReplaceAllString(prose, " "), -1) {
		c.takeWord(w, false)
	}
	for _, w := range wordRE.FindAllString(code, -1) {
		c.takeWord(w, false)
	}
	c.Keywords = keywords(prose)
	c.Kind = KindOf(prose)
	if len(c.Errors) > 0 {
		c.Kind = BugFix
	}
	return c
}

// Mentions returns the code names in a text, certain ones first, and its significant words. It does not look them up.
func Mentions(text string) (names, words []string) {
	c := findClues(text)
	for _, sure := range []bool{true, false} {
		for _, n := range c.Names {
			if n.Sure == sure {
				names = append(names, n.Name)
			}
		}
	}
	return names, c.Keywords
}

// bounded keeps the beginning and the end of a long text, and the beginning of long lines.
func bounded(text string) string {
	if len(text) > maxTaskText {
		text = text[:maxTaskText/2] + "\n" + text[len(text)-maxTaskText/2:]
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		if len(line) > maxTaskLine {
			line = line[:maxTaskLine] + "\n"
		}
		b.WriteString(line)
	}
	return strings.ToValidUTF8(b.String(), "\ufffd")
}

// takeWord sorts a word into paths and names. Most words are neither.
func (c *clues) takeWord(w string, ticked bool) {
	w = strings.Trim(w, "`")
	call := strings.HasSuffix(w, "()")
	w = strings.TrimSuffix(w, "()")
	if ticked {
		// For a call with arguments, take the name of the function.
		if name, _, cut := strings.Cut(w, "("); cut && nameRE.MatchString(name) {
			w, call = name, true
		}
	} else {
		w = strings.TrimRight(w, ".:!?…")
	}
	if w == "" || len(w) > 300 || hostLikeRE.MatchString(w) || strings.ContainsFunc(w, unicode.IsControl) {
		return
	}
	if p, ok := asPlace(w); ok && !call {
		c.addPlace(p)
		return
	}
	if file, name, cut := strings.Cut(w, "::"); cut && endingRE.MatchString(file) { // tests/test_a.py::test_b
		c.addPlace(place{Path: file})
		w = strings.ReplaceAll(name, "::", ".")
	}
	if nameRE.MatchString(w) &&
		(ticked || call || dottedRE.MatchString(w) || camelRE.MatchString(w) || snakeRE.MatchString(w)) {
		c.addName(spoken{strings.NewReplacer("::", ".", "#", ".").Replace(w), ticked || call})
	}
}

// asPlace reports whether a word looks like a path: it contains a folder, or a name with an extension.
func asPlace(w string) (place, bool) {
	p := place{Path: strings.ReplaceAll(w, `\`, "/")}
	if m := placeRE.FindStringSubmatch(p.Path); m != nil {
		p.Path, p.Line = m[1], atoi(m[2])
	}
	if strings.Contains(p.Path, ":") && !strings.HasPrefix(p.Path[1:], ":/") { // C:/
		return p, false
	}
	folder := strings.Contains(strings.Trim(p.Path, "/"), "/")
	return p, folder || fileEndings.Has(path.Ext(p.Path)) && path.Ext(p.Path) != p.Path
}

// fileEndings holds the extensions that distinguish a file from a dotted name.
var fileEndings = wordset.New(
	".py .pyi .ts .tsx .js .jsx .mjs .cjs .mts .cts .go .md .txt .toml .json .yaml .yml .html .css .sh .sql .cfg .ini " +
		".lock .mod .sum .xml .csv .rst .proto .rs .java .c .h .cpp .rb .php")

func (c *clues) addPlace(p place) {
	for i, q := range c.Paths {
		if q.Path == p.Path {
			if q.Line == 0 {
				c.Paths[i].Line = p.Line
			}
			return
		}
	}
	if len(c.Paths) < maxClues {
		c.Paths = append(c.Paths, p)
	}
}

func (c *clues) addName(n spoken) {
	for i, m := range c.Names {
		if m.Name == n.Name {
			c.Names[i].Sure = m.Sure || n.Sure
			return
		}
	}
	if len(c.Names) < maxClues {
		c.Names = append(c.Names, n)
	}
}

func keywords(text string) []string { return Keywords(text, stopWords.Has) }

// Keywords returns the significant words of a task in order, in lower case and without duplicates. Names are split
// into their parts. empty reports whether a word is not significant.
func Keywords(text string, empty func(word string) bool) []string {
	var out []string
	for _, w := range strings.FieldsFunc(text,
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' }) {
		for _, h := range Humps(w) {
			if utf8.RuneCountInString(h) < 3 || empty(h) || strings.Trim(h, "0123456789") == "" || slices.Contains(out, h) {
				continue
			}
			if out = append(out, h); len(out) == maxKeywords {
				return out
			}
		}
	}
	return out
}

// Humps splits a name into parts: loadHTTPConfig gives load, http and config.
func Humps(name string) []string {
	var out []string
	start, before := 0, rune(0)
	cut := func(end int) {
		if end > start {
			out = append(out, strings.ToLower(name[start:end]))
		}
		start = end
	}
	for i, r := range name {
		switch {
		case r == '_' || r == '$' || r == '-' || r == '.' || r == '/':
			cut(i)
			start = i + 1
		case i > 0 && unicode.IsUpper(r):
			after, _ := utf8.DecodeRuneInString(name[i+utf8.RuneLen(r):])
			if !unicode.IsUpper(before) || unicode.IsLower(after) {
				cut(i)
			}
		}
		before = r
	}
	cut(len(name))
	return out
}

// kindWord matches the words of a kind of tasks.
type kindWord struct {
	kind TaskKind
	re   *lazyre.Regexp
}

// kindWords maps words to kinds of tasks. The first match in the text decides.
var kindWords = []kindWord{
	{BugFix,
		lazyre.New(`(?i)\b(?:fix(?:es|ed)?|bugs?|crash(?:es|ed)?|broken|fails?|failing|wrong(?:ly)?|regressions?|raises?|hangs?|leaks?|incorrect(?:ly)?|exceptions?|error)\b`)},
	{Refactor,
		lazyre.New(`(?i)\b(?:refactor\w*|renames?|extract|move|split|simplif\w+|clean[- ]?up|restructure|inline|deduplicate)\b`)},
	{Testing,
		lazyre.New(`(?i)\b(?:(?:write|add|more|missing) (?:\w+ )?tests?|test coverage|cover .{1,40} with tests?)\b`)},
	{Docs, lazyre.New(`(?i)\b(?:document(?:ation)?|docs|docstrings?|readme|changelog)\b`)},
	{Speed, lazyre.New(`(?i)\b(?:slow(?:er)?|faster|performance|optimi[sz]\w+|speed up)\b`)},
	{Feature, lazyre.New(`(?i)\b(?:add|implement|support|introduce|create|new|allow|let|extend|make)\b`)},
}

// kindHints reports which of the words may occur in a text.
var kindHints = sync.OnceValue(func() *literal.Groups {
	return literal.NewGroups(lists.Map(kindWords, func(k kindWord) []literal.Lit { return literal.Needs(k.re.String()) })...)
})

// typeRE matches the type at the start of a conventional commit message: "fix(parser): ".
var typeRE = lazyre.New(`^(?i)(feat|feature|new|fix|refactor|perf|docs?|tests?|chore|build|ci|style)(?:\([^)\n]{1,60}\))?!?:\s`)

// kindsOfTypes are the kinds of tasks that these types name. All others are [Other].
var kindsOfTypes = map[string]TaskKind{"feat": Feature, "feature": Feature, "new": Feature, "fix": BugFix,
	"refactor": Refactor, "perf": Speed, "doc": Docs, "docs": Docs, "test": Testing, "tests": Testing}

// KindOf returns the kind of a task by the type at its start, or else by the words of its text.
func KindOf(text string) TaskKind {
	if m := typeRE.FindStringSubmatch(text); m != nil {
		return cmp.Or(kindsOfTypes[strings.ToLower(m[1])], Other)
	}
	kind, first := Other, len(text)
	found := kindHints().In(text)
	for i, k := range kindWords {
		if found>>i&1 == 0 {
			continue
		}
		if at := k.re.Re().FindStringIndex(text); at != nil && at[0] < first {
			kind, first = k.kind, at[0]
		}
	}
	return kind
}

// atoi returns the number of a text of digits.
func atoi(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

// stopWords are words without significance for a task.
var stopWords = wordset.New(`
about above across add added adds after again all also although always among and another any anything are
around because been before being below between both bug bugs but can cannot change changed changes class
classes code could did does doing done down during each either else enough ensure error errors every
everything few file files fix fixed fixes for from function functions further get gets give given gives goes
had has have having here how however implement into its itself just keep know least less let like line lines
look made make makes making many may maybe method methods might more most much must need needed needs never
new not nothing now off once one only onto other others our out over own part per please project put rather
really repository same see set several shall she should since some something still such sure take takes task
test tests than that the their them then there these they thing things this those though through thus too two
under until upon use used uses using very want wants was way well were what when where whether which while
who whole why will with within without work works would yet you your
`)
