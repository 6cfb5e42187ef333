package examples

import (
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
)

// Example is a call that a plan shows with its result.
type Example struct {
	Call   string `json:"call"`             // as written, such as slugify("a b")
	Want   string `json:"want,omitempty"`   // the result as written, such as "a-b"; "" if Raises is set
	Raises string `json:"raises,omitempty"` // the name of the error that the call raises, or [AnyError]
	Line   int    `json:"line"`             // in the text, from 1

	// Firm says that the plan demands the result: "should return", or an assertion. Other words may describe a fault.
	Firm bool `json:"firm,omitempty"`
	// Printed says that the code prints the result, so Want is its text.
	Printed bool `json:"printed,omitempty"`
}

// Args returns the arguments of the call as written.
func (e Example) Args() []string {
	open := strings.IndexByte(e.Call, '(')
	return split(e.Call[open+1 : max(open+1, closing(e.Call, open)-1)])
}

// AnyError stands for the name of an error that the plan does not name.
const AnyError = "error"

// root returns the name that has to be known to make the call: slugify, or Cart of Cart("a").total().
func (e Example) root() string { return rootOf.FindStringSubmatch(e.Call)[1] }

// last returns the last part of the name of the first function: Make of slug.Make("a").
func (e Example) last() string {
	name := rootOf.FindStringSubmatch(e.Call)[0]
	return strings.TrimRight(name[strings.LastIndexAny(name, ".: ")+1:], "(")
}

var (
	rootOf = lazyre.New(`^(?:new\s+)?([A-Za-z_]\w*)(?:(?:\.|::)\w+)*[!?]?\(`)
	callAt = lazyre.New(`(?:\bnew\s+)?\b[A-Za-z_]\w*(?:(?:\.|::)\w+)*[!?]?\(`)

	// told matches the words between a call and its result, and fails those between a call and an error.
	told = lazyre.New("^`?\\*{0,2}\\s*(?:(?:[Nn]ow|also|still)\\s+)?(?:→|⇒|⟹|=>|==>|-->?|={2,3}|;\\s*got\\s*!=|" +
		`\|(?:\s)|(?:(?:should|must|will|shall|has to|needs to|to)\s+)?(?:(?:now|also|still)\s+)?(?:return|give|yield|produce|evaluate(?:s)? to|become|equal|be|i)s?\b(?:\s+(?:exactly|equal to))?` +
		`(?:\s+the\s+(?:string|text|number|list|array|value|result))?)\s*:?\s*`)
	fails = lazyre.New("^`?\\s*(?:(?:should|must|will|shall|has to|to)\\s+)?(?:(?:raise|throw|reject)s?(?:\\s+with)?\\s+(?:an?\\s+)?`?" +
		"(\\w*(?:Error|Exception)\\w*)|(?:return|raise|throw)s? an (error|exception))\\b")
	// remark matches the sign of a comment behind code, on the same line or on the next one.
	remark = lazyre.New(`^\)*;?(?:[ \t]*|[ \t]*\n[ \t]*)(?:#|//)[ \t]*(?:=>|->|→|==|(?:[Rr]eturns?|[Oo]utput|[Rr]esult|[Pp]rints):?(?:[ \t]|$))?[ \t]*`)
	// wraps matches calls of test frameworks that compare a call with a result.
	expects = lazyre.New(`^expect\(`)
	matcher = lazyre.New(`^\.(?:toBe|toEqual|toStrictEqual|to\.equal|to\.eql|to\.deep\.equal|to eq|to eql)\(`)
	asserts = lazyre.New(`^(?:self\.)?(?:t\.|assert\.)?(?:equal|strictEqual|deepEqual|deepStrictEqual|is|same|assertEquals?|assert_equal|(?:[Rr]equire|[Aa]ssert)\.Equal)\($`)

	// literal matches a result that is a value and no description.
	keyword = lazyre.New(`^(?:true|false|True|False|None|null|nil|undefined|NaN)\b`)
	numeral = lazyre.New(`^[-+]?\d[\d_]*(?:\.\d+)?(?:e[-+]?\d+)?\b`)
	// plain matches a result without quotation marks that can only be a text.
	plain = lazyre.New(`^[\w.:/@#%+-]*[-/@#%+][\w.:/@#%+-]*$`)
	// stops matches what may follow a value that has no marks of its own: it is no part of a longer expression or phrase.
	stops = lazyre.New("^\\s*?(?:$|\n|\\s*(?:[,;:)|`*]|\\.(?:\\s|$)|#|//|\\{\n)|\\s+(?:and|for|because|since|as)\\b)")

	// asItIs matches words, before a call, of a sentence about the code as it is or about what it should not do; depends
	// matches words behind it that make the result a matter of conditions.
	asItIs = lazyre.New(`(?i)\b(?:currently|today|at present|(?:right|for|by|until) now|so far|bugs?|wrong\w*|incorrect\w*|` +
		`unexpected\w*|used to|previously|actual\w*|instead of|rather than|never|no longer|not|imagine|suppose|if|unless)\b|n't\b`)
	depends  = lazyre.New(`(?i)\b(?:currently|today|at present|instead|rather than|if|unless|when|depend\w*|varies|or)\b`)
	demanded = lazyre.New(`(?i)\b(?:should|must|shall|has to|needs to)\b`)
	asserted = lazyre.New(`^\s*(?:assert|expect|self\.assert|t\.|if got\b)|[aA]ssert|[eE]qual\(`)
	printing = lazyre.New(`(?i)\b(?:print\w*|puts|echo|(?:console|log|fmt)\.\w+)\s*\(?[^()]*$`)
	chained  = lazyre.New(`^\.\w+\(`)
	ending   = lazyre.New(`[.!?;]\s|\n\s*\n|\n\s*(?:[-*+|>]|\d+[.)])\s|,\s+(?:but|while|whereas)\b`)

	// inArgs matches names in arguments that are no value: variables. constructed matches those that are values.
	inArgs      = lazyre.New(`[A-Za-z_$][\w$]*`)
	constructed = lazyre.New(`^\s*(?:\(|\.\s*\w|=[^=]|:)`)
	// outside matches calls that act on the world outside of the code.
	outside = lazyre.New(`^(?:os|sys|shutil|subprocess|fs|child_process|process|requests|http|https|axios|fetch|exec|eval|system|require|import|` +
		`File|FileUtils|Dir|Kernel|IO|print|println|console|fmt|log|open|input|exit|sleep|describe|it|test|context|for|if|while|switch|return|assert|` +
		`typeof|len|str|int|float|list|dict|set|tuple|range|sorted|repr|type|isinstance|String|Number|Array|Object|JSON|Math|Date|Promise|func|function|def|fn|class)\b`)
	acting = lazyre.New(`(?i)(?:^|[._])(?:delete|remove|drop|destroy|kill|send|post|deploy|publish|write|save|upload|unlink|install|rm)(?:_|[A-Z]|\(|$)`)
)

// near limits how far from a call its sentence and its result may be, in bytes.
const near = 1000

// Find returns the examples in the text of a batch: calls with values as arguments, in prose and in blocks of code, each
// with the value that it returns or the error that it raises. It omits calls whose sentence describes the code as it is.
func Find(text string) (out []Example) {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	blocks := fencedCode.FindAllStringSubmatchIndex(text, -1)
	for at := 0; ; {
		m := callAt.FindStringIndex(text[at:])
		if m == nil {
			return out
		}
		from := at + m[0]
		e, end := exampleAt(text, from, at+m[1]-1)
		at += m[1]
		if end == 0 {
			continue
		}
		in := slices.IndexFunc(blocks, func(b []int) bool { return b[2] <= from && from < b[3] })
		if in < 0 && !firm(text, from, from+len(e.Call)) || in >= 0 && !free(text[blocks[in][2]:blocks[in][3]], from-blocks[in][2]) {
			continue
		}
		at = end
		before := text[strings.LastIndexByte(text[:from], '\n')+1 : from]
		e.Firm = demanded.MatchString(text[from:end]) || asserted.MatchString(before+text[from:end])
		e.Printed = printing.MatchString(before)
		e.Line = 1 + strings.Count(text[:from], "\n")
		if !slices.ContainsFunc(out, func(o Example) bool { return o.Call == e.Call }) {
			out = append(out, e)
		}
	}
}

var (
	fencedCode = lazyre.New("(?m)^[ \t]*```[^\n]*\n((?s:.*?))^[ \t]*```")
	// prepares matches code that makes a result depend on more than the arguments of a call.
	prepares  = lazyre.New(`(?i)mock|patch|\bstub|\bspy|fixture|beforeEach|beforeAll|\bbefore\b|set_?up\b|\blet\(|tmp_?path|tmp_?dir|environ|freeze`)
	commented = lazyre.New(`^\s*(?:#|//)`)
	// begins matches the first line of a test, with its parameters; idle matches lines before a call that change nothing.
	begins = lazyre.New(`^(?:(?:async )?def \w+\((.*?)\)|func |fn |(?:it|test|describe|context|Deno\.test)\b|class )`)
	idle   = lazyre.New(`^(?:assert|expect|self\.assert|t\.|if got\b|import\b|from\b|use\b|package\b|(?:const|let|var) .*\brequire\(|` +
		`//|#|\*|"""|'''|>>>|['"\d\[{(].*|[\])}]+[;,)]*|end|(?:new )?[A-Za-z_][\w.:]*\(.*(?:#|//|→|=>|==).*)`)
)

// free reports whether the code before a call in a block, up to the beginning of its test, changes nothing that the
// call could depend on.
func free(block string, at int) bool {
	if prepares.MatchString(block) {
		return false
	}
	lines := strings.Split(block[:at], "\n")
	if len(lines) > 1 && asItIs.MatchString(lines[len(lines)-2]) && commented.MatchString(lines[len(lines)-2]) {
		return false
	}
	for i := len(lines) - 2; i >= 0; i-- {
		line := strings.TrimSpace(lines[i])
		if m := begins.FindStringSubmatch(line); m != nil {
			return (m[1] == "" || m[1] == "self") && (i == 0 || !strings.HasPrefix(strings.TrimSpace(lines[i-1]), "@"))
		}
		answered := i+1 < len(lines)-1 && commented.MatchString(lines[i+1]) // the line below says what the call returns
		if line != "" && !idle.MatchString(line) && !(answered && callAt.MatchString(line)) {
			return false
		}
	}
	return true
}

// exampleAt reads the example whose call begins at from, with its parenthesis at open. end is 0 if it is none.
func exampleAt(text string, from, open int) (e Example, end int) {
	name := text[from:open]
	if asserts.MatchString(name + "(") {
		return compared(text, open)
	}
	shut := closing(text, open)
	if shut < 0 || strings.Count(text[open:shut], "\n") > 6 {
		return e, 0
	}
	if name == "expect" {
		m := matcher.FindStringIndex(text[shut:])
		if m == nil {
			return e, 0
		}
		last := closing(text, shut+m[1]-1)
		if last < 0 {
			return e, 0
		}
		return checked(strings.TrimSpace(text[open+1:shut-1]), strings.TrimSpace(text[shut+m[1]:last-1]), last)
	}
	for { // a chain: Cart("a").total()
		m := chained.FindStringIndex(text[shut:])
		if m == nil {
			break
		}
		next := closing(text, shut+m[1]-1)
		if next < 0 {
			break
		}
		shut = next
	}
	call, rest := text[from:shut], text[shut:min(len(text), shut+near)]
	if !callable(call) {
		return e, 0
	}
	if m := fails.FindStringSubmatchIndex(rest); m != nil {
		kind := AnyError
		if m[2] >= 0 {
			kind = rest[m[2]:m[3]]
		}
		return Example{Call: call, Raises: kind}, shut + m[1]
	}
	m, whole := told.FindStringIndex(unwrapped(rest)), false
	if m != nil && strings.HasPrefix(strings.TrimLeft(rest[:m[1]], "` "), "|") && !inTable(text, from) {
		m = nil
	}
	if m == nil {
		m, whole = remark.FindStringIndex(rest), true
	}
	if m == nil {
		if line, prompt := promptOf(text, from); prompt && strings.HasPrefix(rest, "\n") {
			value, _, _ := strings.Cut(rest[1:], "\n")
			value = strings.TrimSpace(value)
			if _, n := valueOf(value); strings.TrimSpace(line) == ">>>" && (n > 0 && n == len(value) || plain.MatchString(value)) {
				return Example{Call: call, Want: value}, shut + 1
			}
		}
		return e, 0
	}
	want, n := valueOf(rest[m[1]:])
	if line, _, _ := strings.Cut(rest[m[1]:], "\n"); n == 0 && whole && plain.MatchString(strings.TrimSpace(line)) {
		want, n = strings.TrimSpace(line), len(line)
	}
	if n == 0 {
		return e, 0
	}
	after := rest[m[1]+n:]
	if whole {
		if line, _, _ := strings.Cut(after, "\n"); strings.TrimSpace(line) != "" {
			return e, 0
		}
	}
	return Example{Call: call, Want: want}, shut + m[1] + n
}

// unwrapped returns a text with its first line break as a space, so that words of a sentence may be on two lines.
func unwrapped(text string) string {
	if i := strings.IndexByte(text, '\n'); i >= 0 && i < 60 && !strings.HasPrefix(text[i+1:], "\n") {
		return text[:i] + " " + text[i+1:]
	}
	return text
}

// promptOf returns the line before a call, and whether it is the prompt of an interpreter.
func promptOf(text string, from int) (before string, prompt bool) {
	before = text[strings.LastIndexByte(text[:from], '\n')+1 : from]
	return before, strings.HasPrefix(strings.TrimSpace(before), ">>>")
}

func inTable(text string, from int) bool {
	line, _ := promptOf(text, from)
	return strings.HasPrefix(strings.TrimSpace(line), "|")
}

// compared reads the arguments of a comparison of a test framework: a call and a value.
func compared(text string, open int) (e Example, end int) {
	shut := closing(text, open)
	if shut < 0 {
		return e, 0
	}
	args := split(text[open+1 : shut-1])
	if len(args) > 2 && args[0] == "t" { // a test of Go
		args = args[1:]
	}
	if len(args) < 2 {
		return e, 0
	}
	if e, end = checked(args[0], args[1], shut); end == 0 {
		e, end = checked(args[1], args[0], shut)
	}
	return e, end
}

// checked makes an example of a whole call and a whole value; end is 0 if they are none.
func checked(call, value string, end int) (Example, int) {
	m := callAt.FindStringIndex(call)
	if m == nil || m[0] != 0 || closing(call, m[1]-1) != len(call) || !callable(call) {
		return Example{}, 0
	}
	want, n := valueOf(value)
	if n == 0 || n != len(value) {
		return Example{}, 0
	}
	return Example{Call: call, Want: want}, end
}

// callable reports whether a call has values as arguments, and is no call of a library that acts on the world outside.
func callable(call string) bool {
	if strings.ContainsAny(call, "…<>") || strings.Contains(call, "...") || outside.MatchString(call) ||
		acting.MatchString(call[:strings.IndexByte(call, '(')+1]) {
		return false
	}
	args := call[strings.IndexByte(call, '(')+1:]
	blank := quotedText.ReplaceAllString(args, `""`)
	if !strings.ContainsAny(blank, `"0123456789[{`) && !keyword.MatchString(blank) {
		return false
	}
	for _, at := range inArgs.FindAllStringIndex(blank, -1) {
		word, after := blank[at[0]:at[1]], blank[at[1]:]
		before := strings.TrimRight(blank[:at[0]], " ")
		if keyword.MatchString(word) || constructed.MatchString(after) || strings.HasSuffix(before, ".") || word == "new" ||
			at[0] > 0 && blank[at[0]-1] >= '0' && blank[at[0]-1] <= '9' {
			continue
		}
		return false
	}
	return true
}

var (
	quotedText = lazyre.New(`"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'`)
	quotedHere = lazyre.New(`^(?:"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')`)
)

// quoted returns the length of the text in quotation marks at the beginning; 0 if there is none.
func quoted(text string) int { return len(quotedHere.FindString(text)) }

// firm reports whether the sentence around a call says what the code has to do.
func firm(text string, from, shut int) bool {
	before, after := text[max(0, from-near):from], text[shut:min(len(text), shut+near)]
	if ends := ending.FindAllStringIndex(before, -1); len(ends) > 0 {
		before = before[ends[len(ends)-1][1]:]
	}
	if end := ending.FindStringIndex(after); end != nil {
		after = after[:end[0]]
	}
	before, after = quotedText.ReplaceAllString(before, ""), quotedText.ReplaceAllString(after, "")
	return demanded.MatchString(after) || !asItIs.MatchString(before) && !depends.MatchString(after)
}

// valueOf reads the value at the beginning of a text, and returns its length with its marks; 0 if there is none.
func valueOf(text string) (value string, n int) {
	if strings.HasPrefix(text, "`") {
		shut := strings.IndexByte(text[1:], '`')
		if shut < 1 {
			return "", 0
		}
		value = strings.TrimSpace(text[1 : 1+shut])
		if _, n := valueOf(value); n == len(value) || plain.MatchString(value) {
			return value, shut + 2
		}
		return "", 0
	}
	switch {
	case quoted(text) > 0:
		n = quoted(text)
	case strings.IndexAny(text, "[{(") == 0:
		if n = closing(text, 0); n < 2 || !valued(text[:n]) {
			return "", 0
		}
	case keyword.MatchString(text):
		n = keyword.FindStringIndex(text)[1]
	case numeral.MatchString(text):
		n = numeral.FindStringIndex(text)[1]
	default:
		return "", 0
	}
	if strings.Contains(text[:n], "...") || strings.Contains(text[:n], "…") || !stops.MatchString(text[n:]) {
		return "", 0
	}
	return text[:n], n
}

// valued reports whether all names in a list or map are keys or constants.
func valued(text string) bool {
	blank := quotedText.ReplaceAllString(text, `""`)
	for _, at := range inArgs.FindAllStringIndex(blank, -1) {
		if !keyword.MatchString(blank[at[0]:at[1]]) && !strings.HasPrefix(strings.TrimLeft(blank[at[1]:], " "), ":") {
			return false
		}
	}
	return true
}

// closing returns the place behind the bracket that closes the one at open; -1 if none does.
func closing(text string, open int) int {
	var stack []byte
	for i := open; i < len(text); i++ {
		switch c := text[i]; c {
		case '"', '\'':
			n := quoted(text[i:])
			if n == 0 {
				return -1
			}
			i += n - 1
		case '(', '[', '{':
			stack = append(stack, c)
		case ')', ']', '}':
			if len(stack) == 0 || pairs[stack[len(stack)-1]] != c {
				return -1
			}
			if stack = stack[:len(stack)-1]; len(stack) == 0 {
				return i + 1
			}
		case '`':
			return -1
		}
	}
	return -1
}

var pairs = map[byte]byte{'(': ')', '[': ']', '{': '}'}

// split splits arguments at their commas.
func split(args string) (out []string) {
	last := 0
	for i := 0; i < len(args); i++ {
		switch args[i] {
		case '"', '\'', '(', '[', '{':
			n := quoted(args[i:])
			if end := closing(args, i); n == 0 && end > i {
				n = end - i
			}
			if n == 0 {
				return nil
			}
			i += n - 1
		case ',':
			out, last = append(out, args[last:i]), i+1
		}
	}
	return lists.Map(append(out, args[last:]), strings.TrimSpace)
}
