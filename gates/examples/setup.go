package examples

import (
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
)

var (
	// prompted matches the prompt of an interpreter, answers the sign of its result in those that write one.
	prompted = lazyre.New(`(?m)^(?:>>>|irb[^>]*>|>)(?: |$)`)
	answers  = lazyre.New(`^=> `)
	// signed matches the sign of a result in a comment.
	signed = lazyre.New(`^[ \t]*(?:=>|->|→|==|(?:[Rr]eturns|[Oo]utputs?|[Rr]esult|[Pp]rints|OUTPUT)\b:?|[Rr]eturn:)[ \t]*`)
	// figure matches a date, a range or an amount; failing an error as the result of an expression.
	figure  = lazyre.New(`^[-+$€£]?\d[\d.:,/TZ+%-]*(?: [\d.:+-]+)*(?: UTC)?$`)
	failing = lazyre.New(`^(?:(?:[Rr]aises?|[Tt]hrows?)\s+(?:an?\s+)?)?(?:\w+(?:\.|::))*(\w*(?:Error|Exception))\b|^(?:[Rr]aises|[Tt]hrows)\b`)

	// assigned matches an assignment with its names, identifier each of the names, shows a statement that prints a value.
	assigned = lazyre.New(`^(?:(?:const|let|var)\s+)?([A-Za-z_$][\w$, ]*|[\[{][\w$, ]+[\]}])(?::\s*[\w.\[\]]+\s*)?\s*:?=\s*([^=~>\s].*)`)
	// changing matches an assignment to a part of a value.
	changing = lazyre.New(`^[\w.\[\]'":$]+\s*(?:[-+*/|&?]|\|\|)?=\s*[^=~>\s]`)
	// bareCall matches a call whose result is not used.
	bareCall   = lazyre.New(`^[\w.:$]+[!?]?\(.*\);?$`)
	identifier = lazyre.New(`[A-Za-z_$][\w$]*`)
	shows      = lazyre.New(`^(?:console\.log|fmt\.Println|println|print|puts|p)(?:\(| +)`)
	// statement matches the first word of lines that are not expressions.
	statement = lazyre.New(`^(?:if|for|while|return|del|delete|def|class|func|function|end|else|elsif|elif|with|try|raise|throw|import|from|require|` +
		`package|type|switch|case|do|begin|unless|until|puts|print|assert|expect|defer|go|const|let|var|async|yield|pass|break)\b`)
	// constructs matches calls that may lead to the file of the code, also those of Ruby without parentheses.
	constructs = lazyre.New(`(?:\bnew\s+)?\b[A-Za-z_]\w*(?:(?:\.|::)\w+)*[!?]?\(|\bnew\s+[A-Za-z_][\w.]*|\b[A-Z]\w*(?:::[A-Z]\w*)*\.\w+|\b[A-Z]\w*(?:::[A-Z]\w*)+`)
	// imported matches imports of Go and JavaScript, and the line around the code of a program.
	imported = lazyre.New(`(?m)^(?:import\s*\((?s:.*?)^\)|import\b[^'"\n]*\{[^'"]*['"][^'"]*['"];?|import\b.*|package \w+$|` +
		`(?:const|let|var) [^=]*= *(?:await )?(?:require|import)\(['"][^'"]*['"]\)(?:\.\w+)*;?[ \t]*$)`)
	// tests matches the beginning of a test. Code of tests is no set-up.
	tests = lazyre.New(`(?m)^\s*(?:(?:async )?def test|class Test|func Test|(?:it|test|describe|context|specify)[ (])`)
	// relative matches a text that means another day each day.
	relative = lazyre.New(`(?i)["'](?:now|today|tomorrow|yesterday|next|last)\b`)
	// world matches code whose result depends on more than the code of the project.
	world = lazyre.New(`…|\.\.\.|(?i:\b(?:now|today|sleep|random|rand|randint|shuffle|uuid\w*|input|exit|urlopen|setTimeout|setInterval)\(|` +
		`\.(?:now|today)\b|\bnew Date\(\)|\b(?:open|fetch|listen|connect|system|eval|gets)[ (]|\b(?:argv|stdin|getenv)\b|` +
		`\b(?:sys|os|subprocess|shutil|socket|requests|fs|http|https|axios|process|threading|File|FileUtils|Dir|IO|Net|ENV|Thread|Path|` +
		`tempfile|Rails|ActiveRecord|rand|random|localStorage|document|window|redis|sql)[.:(])|` +
		`[._](?:[kK]ill|[sS]end|[pP]ost|[dD]eploy|[pP]ublish|[wW]rite|[sS]ave|[uU]pload|[uU]nlink|` +
		`[iI]nstall|[lL]oad|[sS]erve|[sS]tart)(?:_|[A-Z]|\(|$)`)
)

// row is a line of a block, or a statement of a session: its code, and the result in the comment or line behind it.
type row struct {
	code, want string
	sure       bool // the result has a sign, such as =>
	only       bool // a comment alone
	line       int  // in the block, from 0
}

// prepared returns the examples of blocks of code whose expression uses a variable of the code before it.
func prepared(text string) (out []Example) {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	for _, b := range language.Blocks(text) {
		block := dedented(b.Text)
		lang := languageOf(b.Word, block)
		if lang == "" || prepares.MatchString(block) || tests.MatchString(block) {
			continue
		}
		first := 1 + strings.Count(text[:b.Start], "\n")
		for _, e := range examplesOf(rows(block, lang), lang) {
			e.Line += first
			out = append(out, e)
		}
	}
	return out
}

// dedented returns a block without the indentation of its first line.
func dedented(block string) string {
	first := strings.TrimLeft(block, "\n")
	indent := first[:len(first)-len(strings.TrimLeft(first, " \t"))]
	return strings.TrimPrefix(strings.ReplaceAll("\n"+block, "\n"+indent, "\n"), "\n")
}

// looks has code that shows the language of a block without a word behind its fence.
var looks = []struct {
	lang string
	code *lazyre.Regexp
}{
	{language.Python, lazyre.New(`>>> |(?m)^assert .* == `)},
	{language.Go, lazyre.New(`:=`)},
	{language.Node, lazyre.New(`\b(?:const|let|var) `)},
	{language.OfSource(".rb"), lazyre.New(`\.new\b| do \|`)},
}

// languageOf returns the language of a block, by the word behind its fence or by its text; "" if there is no driver.
func languageOf(word, block string) string {
	for _, l := range looks {
		if word == "" && l.code.MatchString(block) {
			return l.lang
		}
	}
	return language.OfWord(word)
}

// rows reads the lines of a block with their results.
func rows(block, lang string) (out []row) {
	if prompted.MatchString(block) {
		return session(block)
	}
	if lang == language.Go || lang == language.Node {
		blank := func(s string) string { return strings.Repeat("\n", strings.Count(s, "\n")) }
		block = imported.Re().ReplaceAllStringFunc(block, blank)
	}
	if before, body, ok := strings.Cut(block, "func main() {"); ok {
		body, _, _ = strings.Cut(body, "\n}")
		block = before + dedented(body)
	}
	comments := lists.Filter(language.Parts(block, lang), func(p language.Part) bool { return p.Comment })
	at := 0
	for i, l := range strings.Split(block, "\n") {
		r := row{code: strings.TrimRight(l, " "), line: i}
		for _, p := range comments {
			if p.Start >= at && p.Start < at+len(l) {
				r.code = strings.TrimRight(l[:p.Start-at], " ")
				note := strings.TrimSpace(block[p.From:p.To])
				sign := signed.FindString(note)
				r.want, r.sure, r.only = strings.TrimSpace(note[len(sign):]), sign != "", r.code == ""
				break
			}
		}
		at += len(l) + 1
		out = append(out, r)
	}
	for i := range out { // a long value
		for n := i + 1; out[i].want != "" && !balanced(out[i].want) && n < len(out) && out[n].only && !out[n].sure; n++ {
			out[i].want += " " + out[n].want
			out[n] = row{line: n}
		}
	}
	for i := 1; i < len(out); i++ {
		next := i+1 < len(out) && out[i+1].only && !out[i+1].sure // it goes on in words
		if r := &out[i-1]; r.want == "" && r.code != "" && out[i].only && out[i].sure && !next {
			r.want, r.sure = out[i].want, true
		}
	}
	return out
}

// session reads the statements of a session with their results.
func session(block string) (out []row) {
	for i, l := range strings.Split(block, "\n") {
		prompt := prompted.FindString(l)
		switch {
		case prompt != "":
			out = append(out, row{code: l[len(prompt):], line: i})
		case len(out) == 0:
		case strings.HasPrefix(l, "...") && out[len(out)-1].want == "":
			out[len(out)-1].code += "\n" + strings.TrimPrefix(l[3:], " ")
		case strings.TrimSpace(l) != "":
			r := &out[len(out)-1]
			l = strings.TrimPrefix(l, answers.FindString(l))
			if strings.HasPrefix(r.want, "Traceback") {
				r.want = "Traceback"
			}
			if r.sure = true; r.want == "Traceback" && failing.MatchString(l) {
				r.want = l
			} else {
				r.want = strings.TrimPrefix(r.want+"\n"+l, "\n")
			}
		}
	}
	return out
}

// examplesOf returns the examples of the rows of a block.
func examplesOf(all []row, lang string) (out []Example) {
	var setup, bare, vars []string
	for i, r := range all {
		code := strings.TrimPrefix(strings.TrimSuffix(strings.TrimSpace(r.code), ";"), "_ = ")
		if code == "" {
			continue
		}
		before := strings.Join(setup, "\n")
		var e Example
		var names []string
		if m := assigned.FindStringSubmatch(code); m == nil {
			e = r.example(code)
		} else {
			names = identifier.FindAllString(m[1], -1)
			before = strings.Join(append(setup, r.code), "\n")
			if len(names) == 1 && balanced(m[2]) && uses(m[2], vars, "(") {
				e = r.example(names[0])
			}
			if e.Raises != "" {
				e.Call, names, before = m[2], nil, strings.Join(setup, "\n")
			}
		}
		usable := e.Call != "" && e.Want+e.Raises != "" && balanced(e.Call) && uses(e.Call, append(vars, names...), "") &&
			strings.IndexAny(r.code, " \t") != 0 && !changing.MatchString(e.Call)
		shown := i > 0 && all[i-1].only && asItIs.MatchString(all[i-1].want)
		e.Setup, e.Bare, e.Lang, e.Line = before, strings.Join(bare, "\n"), lang, r.line
		if names != nil {
			e.Bare = strings.TrimPrefix(e.Bare+"\n"+r.code, "\n")
		}
		if usable && !shown && !world.MatchString(quotedText.ReplaceAllString(before+"\n"+e.Call, `""`)) &&
			!relative.MatchString(before+"\n"+e.Call) && len(e.leads()) > 0 {
			out = append(out, e)
		}
		vars = append(vars, names...)
		switch {
		case e.Raises != "" || strings.HasPrefix(code, "assert ") && e.Call == "":
			continue
		case usable && names == nil:
			if r.code = e.Call; lang == language.Go && !strings.HasSuffix(e.Call, ")") {
				r.code = "_ = " + e.Call
			}
		case !bareCall.MatchString(r.code) || !balanced(code):
			bare = append(bare, r.code)
		}
		setup = append(setup, r.code)
	}
	return out
}

// example returns the expression of a row with its result. Call or Want is empty if there is none.
func (r row) example(code string) (e Example) {
	if args := assertion(code); args != nil {
		for i, want := range args {
			if valueKind(want) != "" {
				return Example{Call: strings.TrimSpace(args[1-i]), Want: want, Firm: true, Signed: true}
			}
		}
		return e
	}
	if m := shows.FindString(code); m != "" {
		e.Printed = !strings.HasPrefix(m, "p ")
		if code = code[len(m):]; strings.HasSuffix(m, "(") {
			code = strings.TrimSuffix(code, ")")
		}
		if len(split(code)) > 1 {
			return Example{}
		}
	}
	if statement.MatchString(code) || strings.ContainsAny(r.want, "…") || strings.Contains(r.want, "...") {
		return Example{}
	}
	if e.Call = code; !identifier.MatchString(code[:min(1, len(code))]) {
		return Example{}
	}
	e.Want, e.Signed = strings.TrimSuffix(r.want, ", nil"), r.sure
	switch m := failing.FindStringSubmatch(e.Want); {
	case m != nil && (r.sure || m[1] != e.Want):
		e.Raises, e.Want = m[1], ""
		if e.Raises == "" {
			e.Raises = AnyError
		}
	case !r.sure && !e.Printed && valueKind(e.Want) == "" && !plain.MatchString(e.Want) && !figure.MatchString(e.Want):
		e.Want = ""
	}
	return e
}

// assertion returns the two expressions that an assertion compares; nil if the code is none.
func assertion(code string) []string {
	if expr, want, ok := strings.Cut(code, " == "); ok && strings.HasPrefix(code, "assert ") {
		return []string{strings.TrimPrefix(expr, "assert "), want}
	}
	m := callAt.FindStringIndex(code)
	if m == nil || m[0] > 0 {
		return nil
	}
	shut := closing(code, m[1]-1)
	if name := code[:m[1]-1]; shut < 0 {
		return nil
	} else if to := matcher.FindStringIndex(code[shut:]); name == "expect" && to != nil && strings.HasSuffix(code, ")") {
		return []string{code[m[1] : shut-1], code[shut+to[1] : len(code)-1]}
	} else if args := split(code[m[1] : shut-1]); len(args) == 2 && asserts.MatchString(name) {
		return args
	}
	return nil
}

// balanced reports whether all brackets and quotation marks of an expression are closed.
func balanced(expr string) bool { return closing("("+expr+")", 0) == len(expr)+2 }

// uses reports whether an expression has one of the names, or the mark.
func uses(expr string, names []string, mark string) bool {
	words := identifier.FindAllString(quotedText.ReplaceAllString(expr, `""`), -1)
	return mark != "" && strings.Contains(expr, mark) ||
		slices.ContainsFunc(words, func(n string) bool { return slices.Contains(names, n) })
}
