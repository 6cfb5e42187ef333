package examples

import (
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
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
	// Other is the same call with texts instead of numbers, if a table does not tell which of the two it means.
	Other string `json:"-"`

	Setup string `json:"setup,omitempty"` // the code that runs before the call, which is any expression then
	Bare  string `json:"-"`               // the set-up without calls whose result is not used and other examples
	Lang  string `json:"-"`               // the language of the set-up, as [language.OfSource] names it
	// Signed says that a sign of an example with set-up, such as =>, shows that the result is that of the expression.
	Signed bool `json:"-"`
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
		"(\\w*(?:Error|Exception|Invalid)\\w*)\\b|(?:return|raise|throw)s? an (error|exception)\\b|(?:raise|throw)s?(?: with\\b|\\s*[.,;)]))")
	// remark matches the sign of a comment behind code, on the same line or on the next one.
	remark = lazyre.New(`^\)*;?(?:[ \t]*|[ \t]*\n[ \t]*)(?:#|//)[ \t]*(?:=>|->|→|==|(?:[Rr]eturns?|[Oo]utput|[Rr]esult|[Pp]rints):?(?:[ \t]|$))?[ \t]*`)
	// asserts matches functions of test frameworks that compare a call with a result, matcher what follows expect(…).
	matcher = lazyre.New(`^\.(?:toBe|toEqual|toStrictEqual|to\.equal|to\.eql|to\.deep\.equal|to eq|to eql)\(`)
	asserts = lazyre.New(`^(?:self\.)?(?:t\.|assert\.)?(?:equal|strictEqual|deepEqual|deepStrictEqual|is|same|assertEquals?|assert_equal|(?:[Rr]equire|[Aa]ssert)\.Equal)$`)

	asserted = lazyre.New(`^\s*(?:assert|expect|self\.assert|t\.|if got\b)|[aA]ssert|[eE]qual\(`)
	printing = lazyre.New(`(?i)\b(?:print\w*|puts|echo|(?:console|log|fmt)\.\w+)\s*\(?[^()]*$`)
	chained  = lazyre.New(`^(?:\.\w+)?\(`)
	// inArgs matches names in arguments that are no value: variables. constructed matches those that are values.
	inArgs      = lazyre.New(`[A-Za-z_$][\w$]*`)
	constructed = lazyre.New(`^\s*(?:\(|\.\s*\w|=[^=]|:)`)
	// rawText matches an empty text with the prefix of a raw text, of bytes or of a format.
	rawText = lazyre.New(`\b[rRbBuUfF]{1,2}""`)
	// outside matches calls of libraries and words of languages; acting matches names of functions that change something
	// and are not called for their result.
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
	blocks := language.Blocks(text)
	for at := 0; ; {
		m := callAt.FindStringIndex(text[at:])
		if m == nil {
			return append(out, inTables(text)...)
		}
		from := at + m[0]
		e, end := exampleAt(text, from, at+m[1]-1)
		at += m[1]
		if end == 0 {
			continue
		}
		in := slices.IndexFunc(blocks, func(b language.Block) bool { return b.Start <= from && from < b.End })
		if in < 0 && !firm(text, from, from+len(e.Call)) || in >= 0 && !free(text[blocks[in].Start:blocks[in].End], from-blocks[in].Start) {
			continue
		}
		at = end
		before := text[lineStart(text, from):from]
		e.Firm = demanded.MatchString(text[from:end]) || asserted.MatchString(before+text[from:end])
		e.Printed = printing.MatchString(before)
		e.Line = 1 + strings.Count(text[:from], "\n")
		if !slices.ContainsFunc(out, func(o Example) bool { return o.Call == e.Call }) {
			out = append(out, e)
		}
	}
}

// exampleAt reads the example whose call begins at from, with its parenthesis at open. end is 0 if it is none.
func exampleAt(text string, from, open int) (e Example, end int) {
	shut := closing(text, open)
	if shut < 0 || strings.Count(text[open:shut], "\n") > 6 {
		return e, 0
	}
	switch name := text[from:open]; {
	case asserts.MatchString(name):
		return compared(split(text[open+1:shut-1]), shut)
	case name == "expect":
		m := matcher.FindStringIndex(text[shut:])
		if m == nil {
			return e, 0
		}
		last := closing(text, shut+m[1]-1)
		if last < 0 {
			return e, 0
		}
		return compared([]string{strings.TrimSpace(text[open+1 : shut-1]), strings.TrimSpace(text[shut+m[1] : last-1])}, last)
	}
	for m := chained.FindStringIndex(text[shut:]); m != nil; m = chained.FindStringIndex(text[shut:]) { // Cart("a").total(), MultipleOf(5)(15)
		next := closing(text, shut+m[1]-1)
		if next < 0 {
			break
		}
		shut = next
	}
	if e.Call = text[from:shut]; !callable(e.Call) {
		return e, 0
	}
	n := e.readResult(text[lineStart(text, from):from], text[shut:min(len(text), shut+near)])
	if n == 0 || acting.MatchString(e.Call) && keyword.MatchString(e.Want) {
		return e, 0
	}
	return e, shut + n
}

// readResult reads the result of a call from the text behind it, and returns the length of what it read. before is the
// line before the call.
func (e *Example) readResult(before, rest string) (n int) {
	if m := fails.FindStringSubmatchIndex(rest); m != nil {
		if e.Raises = AnyError; m[2] >= 0 {
			e.Raises = rest[m[2]:m[3]]
		}
		return m[1]
	}
	sign := told.FindStringIndex(unwrapped(rest))
	row := sign != nil && strings.HasPrefix(strings.TrimLeft(rest[:sign[1]], "` "), "|")
	if sign != nil && (!row || strings.HasPrefix(strings.TrimSpace(before), "|")) {
		if e.Want, n = valueOf(rest[sign[1]:]); n > 0 {
			n += sign[1]
		}
		return n
	}
	if sign = remark.FindStringIndex(rest); sign == nil && strings.TrimSpace(before) == ">>>" && strings.HasPrefix(rest, "\n") {
		sign = []int{0, 1}
	}
	if sign == nil {
		return 0
	}
	line, _, _ := strings.Cut(rest[sign[1]:], "\n")
	e.Want = strings.TrimSpace(line)
	if _, n = valueOf(e.Want); n == len(e.Want) && n > 0 || plain.MatchString(e.Want) {
		return sign[1] + len(line)
	}
	return 0
}

// unwrapped returns a text with its first line break as a space, so that words of a sentence may be on two lines.
func unwrapped(text string) string {
	if i := strings.IndexByte(text, '\n'); i >= 0 && i < 60 && !strings.HasPrefix(text[i+1:], "\n") {
		return text[:i] + " " + text[i+1:]
	}
	return text
}

// lineStart returns where the line of a place begins.
func lineStart(text string, at int) int { return strings.LastIndexByte(text[:at], '\n') + 1 }

// compared makes an example of the arguments of an assertion: a call and a value, in any order.
func compared(args []string, end int) (Example, int) {
	if len(args) > 2 && args[0] == "t" { // a test of Go
		args = args[1:]
	}
	if len(args) < 2 {
		return Example{}, 0
	}
	for _, pair := range [][2]string{{args[0], args[1]}, {args[1], args[0]}} {
		m := callAt.FindStringIndex(pair[0])
		if m == nil || m[0] != 0 || closing(pair[0], m[1]-1) != len(pair[0]) || !callable(pair[0]) {
			continue
		}
		if want, n := valueOf(pair[1]); n > 0 && n == len(pair[1]) {
			return Example{Call: pair[0], Want: want}, end
		}
	}
	return Example{}, 0
}

// callable reports whether a call has values as arguments, and is no call of a library.
func callable(call string) bool {
	if strings.ContainsAny(call, "…<>") || strings.Contains(call, "...") || outside.MatchString(call) {
		return false
	}
	args := call[strings.IndexByte(call, '(')+1:]
	blank := rawText.ReplaceAllString(quotedText.ReplaceAllString(args, `""`), `""`)
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
