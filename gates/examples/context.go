package examples

import (
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
)

var (
	// asItIs matches words, before a call, of a sentence about the code as it is or about what it should not do; depends
	// matches words behind it that make the result a matter of conditions.
	asItIs = lazyre.New(`(?i)\b(?:currently|today|at present|(?:right|for|by|until) now|so far|bugs?|wrong\w*|incorrect\w*|` +
		`unexpected\w*|used to|previously|actual\w*|instead of|rather than|never|no longer|not|imagine|suppose|if|unless)\b|n't\b`)
	depends  = lazyre.New(`(?i)\b(?:currently|today|at present|instead|rather than|if|unless|when|depend\w*|varies|or)\b`)
	demanded = lazyre.New(`(?i)\b(?:should|must|shall|has to|needs to)\b`)
	ending   = lazyre.New(`[.!?;]\s|\n\s*\n|\n\s*(?:[-*+|>]|\d+[.)])\s|,\s+(?:but|while|whereas)\b`)
)

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

var (
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
