package names

import (
	"maps"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates/testcode"
	"github.com/runplan/runplan/internal/language"
)

// evidence lists what a test checks: the functions that it calls, and the values that it passes and compares.
type evidence struct {
	calls    map[string]bool
	idents   map[string]bool
	literals map[string]int
	signs    map[string]int // comparisons and negations
	asserts  int
	loose    int // conditions that make a comparison fail less often: && before t.Error, or in an assertion
}

func newEvidence() evidence {
	return evidence{calls: map[string]bool{}, idents: map[string]bool{}, literals: map[string]int{},
		signs: map[string]int{}}
}

func (e *evidence) add(o evidence) {
	maps.Copy(e.calls, o.calls)
	maps.Copy(e.idents, o.idents)
	for k, n := range o.literals {
		e.literals[k] += n
	}
	for k, n := range o.signs {
		e.signs[k] += n
	}
	e.asserts += o.asserts
	e.loose += o.loose
}

// has reports whether a test has all of these values.
func (e evidence) has(values map[string]int) bool {
	for value, n := range values {
		if e.literals[value] < n {
			return false
		}
	}
	return true
}

// mentions reports whether any of names is called, or passed to a function that may call it.
func (e evidence) mentions(names map[string]bool) bool {
	for name := range names {
		if e.calls[name] || e.idents[name] {
			return true
		}
	}
	return false
}

// frame is an open bracket, with the call that it belongs to.
type frame struct {
	callee string
	arg    int
}

// scanner reads the tokens of a test. It needs no grammar: brackets, strings, numbers, names and signs are enough.
type scanner struct {
	text   string
	lang   string
	out    evidence
	stack  []frame
	path   []string // the current dotted name
	last   string   // the previous token, "" at the beginning
	before string   // the token before prev
	msg    bool     // the rest of the line is the message of a Python assertion
}

// gather finds the calls and compared values in a text.
func gather(lang, text string) evidence {
	s := scanner{text: text, lang: lang, out: newEvidence()}
	for i := 0; i < len(text); {
		i = s.next(i)
	}
	return s.out
}

func (s *scanner) token(t string) { s.before, s.last = s.last, t }

func (s *scanner) hashComments() bool {
	return slices.Contains([]string{language.Python, language.Shell, language.Bats, language.Script}, s.lang)
}

// next reads the token at i and returns where the one after it begins.
func (s *scanner) next(i int) int {
	c, rest := s.text[i], s.text[i:]
	switch {
	case c == '\n':
		if len(s.stack) == 0 {
			s.msg = false
		}
		return i + 1
	case c == ' ' || c == '\t' || c == '\r':
		return i + 1
	case c == '#' && s.hashComments():
		return testcode.Until(s.text, i, "\n")
	case strings.HasPrefix(rest, "//") && !s.hashComments():
		return testcode.Until(s.text, i, "\n")
	case strings.HasPrefix(rest, "/*") && !s.hashComments():
		return min(testcode.Until(s.text, i+2, "*/")+2, len(s.text))
	case c == '"' || c == '\'' || c == '`':
		return s.quoted(i)
	case isDigit(c) || c == '.' && len(rest) > 1 && isDigit(rest[1]) && s.last != ".":
		return s.number(i)
	case isLetter(c):
		return s.name(i)
	}
	return s.sign(i)
}

func (s *scanner) quoted(i int) int {
	c := s.text[i]
	if s.lang == language.Python && (strings.HasPrefix(s.text[i:], `"""`) || strings.HasPrefix(s.text[i:], "'''")) {
		end := testcode.Until(s.text, i+3, s.text[i:i+3])
		s.literal(`"` + strings.Trim(s.text[i+3:end], "\n"))
		return min(end+3, len(s.text))
	}
	if s.lang == language.Rust && c == '\'' && !(i+2 < len(s.text) && (s.text[i+1] == '\\' || s.text[i+2] == '\'')) {
		return i + 1 // a lifetime
	}
	end := testcode.Closing(s.text, i, c)
	s.literal(`"` + s.text[i+1:min(max(end, i+1), len(s.text))])
	return min(end+1, len(s.text))
}

func (s *scanner) number(i int) int {
	end := i
	for end < len(s.text) && (isLetter(s.text[end]) || isDigit(s.text[end]) || s.text[end] == '.') {
		end++
	}
	text := strings.ReplaceAll(s.text[i:end], "_", "")
	if s.last == "-" && (s.before == "" || strings.Contains("([{,=:<>!&|+-*/", s.before[len(s.before)-1:]) ||
		s.before == "return" || s.before == "==") {
		text = "-" + text
	}
	s.literal(text)
	return end
}

func (s *scanner) literal(text string) {
	defer s.token("lit")
	if text == `"` || s.message(text[0] == '"') {
		return
	}
	s.out.literals[text]++
}

// message reports whether a value at this place is a failure message or the name of a case.
func (s *scanner) message(text bool) bool {
	if s.msg {
		return true
	}
	for depth, f := range slices.Backward(s.stack) {
		name := f.callee[strings.LastIndexByte(f.callee, '.')+1:]
		switch {
		case name == "":
			continue
		case slices.Contains(told, name):
			return true
		case text && depth == len(s.stack)-1 && f.arg >= judged(f.callee):
			return true
		}
	}
	return false
}

// told lists the calls whose arguments are messages for people.
var told = []string{
	"Error", "Errorf", "Fatal", "Fatalf", "Log", "Logf", "Skip", "Skipf", "Println", "Printf", "print", "log", "skipTest",
	"skip", "subTest",
	"println", "fail",
}

// judged returns how many arguments of an assertion are compared; the rest are messages.
func judged(callee string) int {
	root, _, _ := strings.Cut(callee, ".")
	name := callee[strings.LastIndexByte(callee, '.')+1:]
	switch {
	case (root == "t" || root == "tb" || root == "b") && name == "Run":
		return -1 // the name of a case; its body is a function, not text
	case root == "assert" && callee == "assert" || name == "ok" || name == "assertTrue" || name == "assertFalse" ||
		callee == "expect":
		return 1
	case strings.HasPrefix(name, "assert") || root == "assert" && name != "" && name[0] >= 'a':
		return 2
	case root == "assert" || root == "require":
		return 3
	}
	return 1 << 20
}

func (s *scanner) name(i int) int {
	end := i
	for end < len(s.text) && (isLetter(s.text[end]) || isDigit(s.text[end])) {
		end++
	}
	word := s.text[i:end]
	if end < len(s.text) && (s.text[end] == '"' || s.text[end] == '\'') && len(word) <= 2 && s.lang == language.Python {
		return end // a prefix of a string
	}
	if s.last == "." && len(s.path) > 0 {
		s.path = append(s.path, word)
	} else if s.last == "." {
		s.path = []string{"", word}
	} else {
		s.path = []string{word}
	}
	s.token(word)
	next := end
	for next < len(s.text) && s.text[next] == ' ' {
		next++
	}
	called := next < len(s.text) && s.text[next] == '('
	switch word {
	case "true", "True":
		s.literalWord("true")
	case "false", "False":
		s.literalWord("false")
	case "nil", "None", "null", "undefined":
		s.literalWord("nil")
	case "not":
		s.out.signs["!"]++
	case "or":
		s.out.loose++
	case "assert", "raises", "should":
		s.out.asserts++
	default:
		full := strings.Join(s.path, ".")
		if called && asserts(word) {
			s.out.asserts++
		}
		switch {
		// a declaration, not a call
		case slices.Contains([]string{"def", "func", "function", "fn", "class", "void", "fun"}, s.before):
		case called && !s.told() && product(full):
			s.out.calls[word] = true
		case !called:
			s.out.idents[word] = true
		}
	}
	return end
}

func (s *scanner) told() bool {
	return s.msg || slices.ContainsFunc(s.stack, func(f frame) bool {
		return slices.Contains(told, f.callee[strings.LastIndexByte(f.callee, '.')+1:])
	})
}

func (s *scanner) literalWord(w string) {
	if !s.message(false) {
		s.out.literals[w]++
	}
}

// closure reports whether "||" after this text is the empty list of parameters of a Rust closure.
func closure(before string) bool {
	before = strings.TrimRight(before, " \t\n")
	return before == "" || strings.ContainsRune("(,=", rune(before[len(before)-1])) || strings.HasSuffix(before, " move") ||
		strings.HasSuffix(before, "(move")
}

func (s *scanner) sign(i int) int {
	rest := s.text[i:]
	if s.lang == language.Go && strings.HasPrefix(rest, "&&") ||
		s.lang != language.Go && strings.HasPrefix(rest, "||") && !closure(s.text[:i]) {
		s.out.loose++
	}
	for _, op := range []string{"===", "!==", "==", "!=", "<=", ">=", "=>", "->", "<-", ":="} {
		if strings.HasPrefix(rest, op) {
			if op[0] != ':' && op != "=>" && op != "->" && op != "<-" {
				s.out.signs[op[:2]]++
			}
			s.path = nil
			s.token(op)
			return i + len(op)
		}
	}
	switch c := s.text[i]; c {
	case '(', '[', '{':
		f := frame{}
		if c == '(' && len(s.path) > 0 && s.last == s.path[len(s.path)-1] {
			f.callee = strings.Join(s.path, ".")
		}
		s.stack = append(s.stack, f)
	case ')', ']', '}':
		if len(s.stack) > 0 {
			s.stack = s.stack[:len(s.stack)-1]
		}
	case ',':
		if n := len(s.stack); n > 0 {
			s.stack[n-1].arg++
		} else if s.lang == language.Python && lineStarts(s.text, i, "assert") {
			s.msg = true
		}
	case '!', '<', '>':
		s.out.signs[string(c)]++
	}
	if s.text[i] != '.' {
		s.path = nil
	} else if s.last == ")" || s.last == "]" {
		s.path = []string{""}
	}
	s.token(s.text[i : i+1])
	return i + 1
}

// lineStarts reports whether the line of text that contains i begins with a word.
func lineStarts(text string, i int, word string) bool {
	line := text[strings.LastIndexByte(text[:i], '\n')+1 : i]
	return strings.HasPrefix(strings.TrimLeft(line, " \t"), word)
}

func asserts(word string) bool {
	low := strings.ToLower(word)
	return slices.Contains([]string{"Fatal", "Fatalf", "Error", "Errorf", "Fail", "FailNow", "fail", "expect", "throw"},
		word) ||
		strings.HasPrefix(low, "assert") || strings.HasPrefix(word, "require") || strings.HasPrefix(low, "expect")
}

// roots lists packages and handles of test libraries and standard libraries. A change from one to another does not
// change what a test checks.
var roots = []string{
	"t", "tb", "b", "f", "assert", "require", "is", "qt", "expect", "testing", "fmt", "errors", "reflect", "cmp", "slices",
	"maps", "strings",
	"sort", "time", "pytest", "unittest", "mock", "vi", "jest", "sinon", "Object", "Array", "JSON", "Math", "Promise",
	"console", "assertThat", "Assertions",
}

// plainCalls lists keywords before a bracket, which are not calls, and calls that are common in every language.
var plainCalls = []string{
	"if", "for", "while", "switch", "return", "func", "function", "catch", "and", "or", "in", "not", "is", "await",
	"typeof", "new", "elif", "print", "with",
	"len", "cap", "append", "make", "string", "int", "int64", "float64", "byte", "any", "error", "bool", "str", "list",
	"dict", "set", "range", "sorted",
	"tuple", "repr", "isinstance", "type", "enumerate", "zip", "float", "bytes", "super", "lambda", "require", "import",
	"String", "Number", "Boolean",
	"describe", "it", "test", "context", "suite", "beforeEach", "afterEach", "before", "after", "setUp", "tearDown",
	"parametrize", "param", "fixture",
	"forEach", "map", "each", "Error", "TypeError", "ValueError", "vec", "format", "println", "println!", "assert",
	"struct", "subTest", "raises",
}

// chained lists the words of assertions that read like sentences.
var chained = []string{
	"should", "to", "be", "not", "have", "equal", "eql", "equals", "deep", "include", "contain", "throw", "throws",
	"lengthOf", "instanceOf", "resolves", "rejects",
	"isEqualTo", "isTrue", "isFalse", "isNull", "unwrap", "unwrap_err",
}

// product reports whether a call may belong to the code under test, and not to the test library.
func product(path string) bool {
	root, rest, dotted := strings.Cut(path, ".")
	last := path[strings.LastIndexByte(path, '.')+1:]
	switch {
	case dotted && slices.Contains(roots, root), !dotted && slices.Contains(plainCalls, last):
		return false
	case root == "self" && (strings.HasPrefix(rest, "assert") || rest == "fail" || rest == "subTest" ||
		rest == "skipTest"):
		return false
	case dotted && slices.ContainsFunc(strings.Split(path, "."),
		func(p string) bool { return slices.Contains(chained, p) }):
		return false
	case dotted && root == "" && (strings.HasPrefix(last, "to") || slices.Contains(plainCalls, last)):
		return false // expect(…).toBe
	case !dotted && asserts(last) && last != "" && last[0] >= 'a':
		return false
	}
	return true
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isLetter(c byte) bool {
	return c == '_' || c == '$' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}
