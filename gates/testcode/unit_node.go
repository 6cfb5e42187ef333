package testcode

import (
	"regexp"
	"strings"

	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
)

var (
	jsCall     = lazyre.New(jsCallHead + jsCallTail)
	jsSkip     = lazyre.New(`\.(?:skip\w*|todo|failing|fails|fixme|runIf)\b`)
	jsSkipOpt  = lazyre.New(`^[^{(=]*\{[^}]*\b(?:skip|todo)\s*:\s*(?:true|["'\x60])`)
	jsSkipCall = lazyre.New(`\b(?:this|t|ctx|context|test|it)\.(?:skip|todo|fixme)\(`)
	jsAssert   = lazyre.New(`\bexpect(?:\s*\.\s*\w+)*\s*\(|\bassert(?:\s*\.\s*\w+)*\s*\(|\bt\.(?:assert\.)?(?:is|not|ok|notOk|equal\w*|deepEqual|same|strictSame|notEqual|deepStrictEqual|strictEqual|like|unlike|truthy|falsy|true|false|throws\w*|notThrows\w*|notDeepEqual|rejects|match|regex|notRegex|snapshot|pass|fail|plan|matchSnapshot)\(|\.should\b|\b(?:assert|check|verify|expect)[A-Z]\w*\(|\bthrow\s+new\b|\bsinon\.assert\b|\bcy\.`)
	jsTrivial  = lazyre.New(`\bexpect\s*\(\s*(?:true|1|!false)\s*\)\s*\.(?:toBe|toEqual|toStrictEqual|to\.equal|to\.be|toBeTruthy|toBeDefined)\b|\bexpect\s*\(\s*false\s*\)\s*\.(?:toBe\s*\(\s*false|toBeFalsy)|\bassert(?:\.ok|\.equal|\.strictEqual|\.isTrue)?\s*\(\s*(?:true|1)\s*(?:,\s*(?:true|1)\s*)?[,)]|\bt\.(?:ok|true|truthy|pass)\(\s*(?:true|1)?\s*\)`)
	// jsImport matches names taken from a module of assertions: let { is, ok: yes } = require('uvu/assert').
	jsImport = lazyre.New(`\b(?:const|let|var|import)\s+(?:\*\s*as\s+)?([\w$]+|(?:[\w$]+\s*,\s*)?\{[^}]*\})\s*(?:=\s*require\(\s*|from\s+)["'](?:[^"'\n]*\bassert\b[^"'\n]*|chai)["']`)
	jsBound  = lazyre.New(`([\w$]+)\s*(?:,|$)`)
	jsBraces = strings.NewReplacer("{", "", "}", "")
	// jsAlias matches another name of a test function: s = suite('x'), slow = ci ? test : test.skip.
	jsAlias = lazyre.New(`(?m)\b(?:const|let|var)\s+([\w$]+)\s*=\s*((?:[^;\n?=]*(?:[=!]==?[^;\n?=]*)?\?\s*)?(?:suite\s*\(|(?:test|it)(?:\.\w+)*\s*(?:$|;|:[^;\n]*)))`)
	// of ava and Playwright
	jsHook  = lazyre.New(`\.(?:before|after|beforeEach|afterEach|beforeAll|afterAll|macro|use|extend|step|setTimeout|slow|configure)\b`)
	jsLoop  = lazyre.New(`\bfor\s*\(|\.forEach\s*\(|\.each\b|\.map\s*\(`)
	jsDead  = lazyre.New(`(?m)^\s*(?:return|if\s*\(\s*(?:true|1|!0)\s*\)\s*return)\s*;?\s*$`)
	jsArrow = lazyre.New(`^[^{]*?(?:=>|function\b[^{]*)\s*\{?`)
)

// jsOther matches the arguments of a test whose function has a name: test('adds', addsUp, 1, 2).
var jsOther = lazyre.New(`^\s*,\s*([\w$]+)\s*(?:,|$)`)

// A call of a test function. Between the two parts, further names may follow, each after a bar.
const (
	jsCallHead = `(?:^|[^\w.$])((?:[xf])?(?:it|describe|context)|xtest|test|suite|specify|xspecify`
	jsCallTail = `)((?:\.\w+)*)\s*[(\x60]`
)

// jsGroup is a describe block with its range.
type jsGroup struct {
	name     string
	from, to int
	skips    int
	only     int
}

// readNode reads the calls of it, test and describe of jest, vitest, mocha and node:test.
func readNode(text string) Sheet {
	var s Sheet
	code := Mask(text, language.Node)
	asserts := jsAsserts(text)
	calls, aliases := jsCall.FindAllStringSubmatchIndex, map[string]string{}
	more := ""
	for _, m := range jsAlias.FindAllStringSubmatch(code, -1) {
		aliases[m[1]] = m[2]
		more += "|" + regexp.QuoteMeta(m[1])
	}
	if more != "" {
		calls = regexp.MustCompile(jsCallHead + more + jsCallTail).FindAllStringSubmatchIndex
	}
	var groups []jsGroup
	for _, m := range calls(code, maxUnits) {
		word, mods := code[m[2]:m[3]], code[m[4]:m[5]]
		alias := aliases[word]
		if (word == "test" || word == "it" || alias != "") && jsHook.MatchString(mods) {
			continue
		}
		open := m[1] - 1
		table := open
		if strings.Contains(mods, ".each") || code[open] == '`' || strings.Contains(mods, "If") ||
			strings.Contains(mods, ".for") {
			open = secondCall(code, open)
			if open < 0 {
				continue
			}
		}
		end := Matching(code, open)
		body := code[min(open+1, len(code)):end]
		name, from := title(text, open+1)
		g := jsGroup{name: name, from: open, to: end}
		if jsSkip.MatchString(mods) || jsSkip.MatchString(alias) || alias == "" && strings.HasPrefix(word, "x") ||
			jsSkipOpt.MatchString(afterTitle(body, from)) {
			g.skips = 1
		}
		if strings.Contains(mods, ".only") || alias == "" && strings.HasPrefix(word, "f") {
			g.only = 1
		}
		base := strings.TrimLeft(word, "xf")
		if (base == "describe" || base == "context" || base == "suite" || strings.Contains(mods, ".describe")) &&
			strings.Contains(body, "(") {
			groups = append(groups, g)
			if g.only > 0 { // it contains tests, and turns off all others
				s.add(Unit{Name: "describe " + name, Line: LineAt(text, m[2]), Only: 1, Opaque: true})
			}
			continue
		}
		if !strings.Contains(body, ",") && g.skips == 0 && !strings.Contains(body, "=>") &&
			!strings.Contains(body, "function") {
			continue // the project's own function, or /x/.test(y) across lines
		}
		u := jsUnit(afterTitle(body, from), asserts)
		if m := jsOther.FindStringSubmatch(afterTitle(body, from)); m != nil {
			u.follow(jsFunction(code, m[1]), asserts)
		}
		u.Name, u.Line, u.Only = name, LineAt(text, m[2]), g.only
		u.Text = alias + text[table:open] + text[min(open+1+from, end):end]
		u.Skips += g.skips
		if strings.Contains(mods, ".each") {
			u.Loops++
		}
		for k := len(groups) - 1; k >= 0; k-- {
			if groups[k].from < open && end <= groups[k].to {
				u.Name = groups[k].name + GroupMark + u.Name
				u.Skips += groups[k].skips
			}
		}
		s.add(u)
	}
	return s
}

// secondCall finds the call after each(…) and each`…`.
func secondCall(code string, open int) int {
	var end int
	if code[open] == '`' {
		end = Closing(code, open, '`')
	} else {
		end = Matching(code, open)
	}
	for i := end + 1; i < len(code); i++ {
		switch code[i] {
		case ' ', '\t', '\n':
		case '(':
			return i
		default:
			return -1
		}
	}
	return -1
}

// title reads the first argument of a call in text; from is its length. Parts known only at run time appear as ${}.
func title(text string, at int) (name string, from int) {
	rest := text[min(at, len(text)):]
	trimmed := strings.TrimLeft(rest, " \t\n")
	skip := len(rest) - len(trimmed)
	if trimmed == "" {
		return "", 0
	}
	if strings.IndexByte(`"'`+"`", trimmed[0]) >= 0 {
		end := Closing(trimmed, 0, trimmed[0])
		name, from = trimmed[1:max(1, min(end, len(trimmed)))], skip+min(end+1, len(trimmed))
		if strings.HasPrefix(strings.TrimLeft(trimmed[min(end+1, len(trimmed)):], " "), "+") {
			name += "${…}" // a value follows
		}
		return name, from
	}
	end := strings.IndexAny(trimmed, ",)\n")
	if end < 0 {
		end = len(trimmed)
	}
	return "${" + strings.TrimSpace(trimmed[:min(end, 120)]) + "}", skip
}

func afterTitle(body string, from int) string { return body[min(from, len(body)):] }

// jsFunction returns the function of that name, which a file declares at its top level; "" if it does not.
func jsFunction(code, name string) string {
	at := regexp.MustCompile(`(?m)^(?:export\s+)?(?:(?:const|let|var)\s+` + regexp.QuoteMeta(name) +
		`\s*(?::[^=;]*)?=\s*|(?:async\s+)?(function)\s+` + regexp.QuoteMeta(name) + `\s*)`).FindStringSubmatchIndex(code)
	if at == nil {
		return ""
	}
	from := at[1]
	if at[2] >= 0 {
		from = at[2]
	}
	head, _, ok := strings.Cut(code[from:], "(")
	if !ok || strings.ContainsAny(head, ";\n") {
		return ""
	}
	end := min(Matching(code, from+len(head))+1, len(code)) // of the parameters, or of the call that makes the function
	if open := jsOpens.FindStringIndex(code[end:]); open != nil {
		return code[from:Matching(code, end+open[1]-1)]
	}
	return code[from:Until(code, end, "\n")]
}

// jsOpens matches what is between the parameters of a function and its body.
var jsOpens = lazyre.New(`^\s*(?::[^={;]*)?(?:=>\s*)?\{`)

// follow adds what the function does that the test names.
func (u *Unit) follow(function string, asserts *regexp.Regexp) {
	if function == "" {
		return
	}
	other := jsUnit(function, asserts)
	u.Hollow = other.Hollow && (u.Hollow || !u.Mute)
	u.Mute = u.Mute || other.Mute
	u.Asserts += other.Asserts
	u.Trivial += other.Trivial
	u.Skips += other.Skips
	u.Loops += other.Loops
}

// jsAsserts returns what matches calls of the functions that a file takes from modules of assertions, or nil.
func jsAsserts(text string) *regexp.Regexp {
	var names []string
	for _, m := range jsImport.FindAllStringSubmatch(text, -1) {
		for _, bound := range jsBound.FindAllStringSubmatch(jsBraces.Replace(m[1]), -1) {
			if name := bound[1]; name != "expect" && !strings.HasPrefix(name, "assert") { // jsAssert matches these
				names = append(names, regexp.QuoteMeta(name))
			}
		}
	}
	if len(names) == 0 {
		return nil
	}
	return regexp.MustCompile(`(?:^|[^\w$.])(?:` + strings.Join(names, "|") + `)(?:\.\w+)*\s*\(`)
}

// jsUnit judges the arguments of a call after the title. asserts matches further calls that assert; it may be nil.
func jsUnit(body string, asserts *regexp.Regexp) Unit {
	u := Unit{Hollow: jsHollow(body), Mute: jsBody.MatchString(body)}
	inner := body
	if m := jsArrow.FindStringIndex(body); m != nil {
		inner = body[m[1]:]
	}
	if m := jsDead.FindStringIndex(inner); m != nil &&
		strings.Count(inner[:m[0]], "{") == strings.Count(inner[:m[0]], "}") {
		inner = inner[:m[0]] // what follows is never reached
	}
	u.Lines = squeeze(inner)
	u.Empty = strings.Trim(inner, " \t\n{}();,") == "" || strings.Trim(inner, " \t\n{}();,") == "return"
	u.Trivial = len(jsTrivial.FindAllString(inner, -1))
	u.Asserts = len(jsAssert.FindAllString(inner, -1))
	if asserts != nil {
		u.Asserts += len(asserts.FindAllString(inner, -1))
	}
	u.Asserts = max(0, u.Asserts-u.Trivial)
	u.Skips = len(jsSkipCall.FindAllString(inner, -1))
	u.Loops = len(jsLoop.FindAllString(inner, -1))
	return u
}
