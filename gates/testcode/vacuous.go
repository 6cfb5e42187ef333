package testcode

import (
	"regexp"
	"strings"

	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
)

var (
	pyRaises = lazyre.New(`^\s*with\s+(?:pytest\.raises|self\.assertRaises\w*)\([^()]*(?:\([^()]*\))?[^()]*\)(?:\s+as\s+\w+)?:\s*$`)
	pyOwn    = lazyre.New(`^\s*raise\b`)
	jsOwn    = lazyre.New(`\b(?:throws|rejects)\(\s*(?:async\s*)?\(\)\s*=>\s*\{[^{}]*;\s*throw\b[^{}]*\}|\bexpect\(\s*(?:async\s*)?\(\)\s*=>\s*\{[^{}]*;\s*throw\b[^{}]*\}\)(?:\.rejects)?\.toThrow`)

	checked   = lazyre.New(`\bassert\w*\b|\bexpect\(|\bshould\b`)
	pyHandler = lazyre.New(`^\s*except\b.*:`)
	mustFail  = lazyre.New(`(?m)/ ?0$|\bfail\(|\.fail\b|\bunreachable\b|\bhasAssertions\(|\bexpect\.assertions\(|\bplan\(|\brejects\b|\bthrows\b|\btoThrow|\braise\b|\bthrow\b|\braises\(|assertRaises|\bdone\(|\belse:|\breject\(|\.then\([^)]*,`)
	jsHandler = lazyre.New(`\.catch\(|\bcatch\s*(?:\(\w*\))?\s*\{`)

	// tellsFake matches an assertion about the calls of a fake, with its name.
	tellsFake = lazyre.New(`\bexpect\(((?:\w+\.)*\w+)\)(?:\.not)?\.(?:toHaveBeen|toBeCalled|lastCalled|nthCalled)|\b((?:\w+\.)*\w+)\.mock\.(?:calls?|callCount)\b|\b((?:\w+\.)*\w+)\.assert_(?:called|any_call|has_calls)\w*\(`)
)

// Vacuous explains why a test that has assertions passes whatever the code does; "" if it does not see that. It reads
// Python and JavaScript.
func (u Unit) Vacuous(lang string) string {
	if lang != language.Python && lang != language.Node {
		return ""
	}
	lines := strings.Split(u.Text, "\n")
	switch {
	case lang == language.Python && raisesItself(lines), lang == language.Node && jsOwn.MatchString(u.Text):
		return "it raises the error that it expects"
	case onlyOnError(lang, u.Text):
		return "all its assertions are in the handler of an error, so it passes if there is no error"
	}
	for _, m := range tellsFake.FindAllStringSubmatch(u.Text, -1) {
		fake := m[1] + m[2] + m[3]
		if strings.Contains(fake, ".") && regexp.MustCompile(`(?m)^\s*(?:await\s+)?`+regexp.QuoteMeta(fake)+`\(.*\);?\s*$`).MatchString(u.Text) {
			return "it calls " + fake + " itself, and asserts that it was called"
		}
	}
	return ""
}

// raisesItself reports whether a block that expects an error calls something and then raises the error itself.
func raisesItself(lines []string) bool {
	for i, line := range lines {
		if !pyRaises.MatchString(line) {
			continue
		}
		first := -1
		for _, next := range lines[i+1:] {
			if strings.TrimSpace(next) == "" {
				continue
			}
			depth := indentOf(next)
			if first < 0 {
				first = depth
				if depth <= indentOf(line) || pyOwn.MatchString(next) {
					break
				}
			}
			if depth < first {
				break
			}
			if depth == first && pyOwn.MatchString(next) {
				return true
			}
		}
	}
	return false
}

// onlyOnError reports whether a test asserts only in handlers of errors and has nothing that fails without an error.
// Words of comments and strings are no code.
func onlyOnError(lang, text string) bool {
	text = Mask(text, lang)
	if mustFail.MatchString(text) {
		return false
	}
	var inside, outside string
	if lang == language.Python {
		in, depth := false, 0
		for line := range strings.Lines(text) {
			if in && strings.TrimSpace(line) != "" && indentOf(line) <= depth {
				in = false
			}
			switch {
			case in:
				inside += line
			case pyHandler.MatchString(line):
				in, depth = true, indentOf(line)
			default:
				outside += line
			}
		}
		return checked.MatchString(inside) && !checked.MatchString(outside)
	}
	for rest := text; ; {
		at := jsHandler.FindStringIndex(rest)
		if at == nil {
			outside += rest
			break
		}
		end := min(Matching(rest, at[1]-1)+1, len(rest))
		inside, outside, rest = inside+rest[at[0]:end], outside+rest[:at[0]], rest[end:]
	}
	return checked.MatchString(inside) && !checked.MatchString(outside) && !jsAssert.MatchString(outside)
}
