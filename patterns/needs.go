package patterns

import (
	"maps"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/literal"
	"github.com/runplan/runplan/internal/yamldoc"
)

// Starting the program takes longer than reading a few files. So the text that a file must contain for a match is
// derived from each rule: the words of patterns, the regular expressions, the keywords of some kinds. The program
// gets a rule only if a file contains its text. An unknown form of rule may match in any file.

// need is a condition on the text of a file. The zero need holds for each text.
type need struct {
	all  []need
	any  []need
	text string                // part of the text
	word string                // a whole word in the text
	expr func() *regexp.Regexp // matches in the text; compiled at its first use, because most rules do not need it
	lits []string              // expr matches only if one of these is in the text; empty if unknown
}

func (n need) none() bool {
	return len(n.all) == 0 && len(n.any) == 0 && n.text == "" && n.word == "" && n.expr == nil
}

// in reports whether a text satisfies the need.
func (n need) in(text string) bool {
	contains := func(s string) bool { return strings.Contains(text, s) }
	switch {
	case n.text != "":
		return contains(n.text)
	case n.word != "":
		return hasWord(text, n.word)
	case n.expr != nil:
		return (len(n.lits) == 0 || slices.ContainsFunc(n.lits, contains)) && n.expr().MatchString(text)
	case len(n.any) > 0:
		return slices.ContainsFunc(n.any, func(n need) bool { return n.in(text) })
	}
	return !slices.ContainsFunc(n.all, func(n need) bool { return !n.in(text) })
}

// cost orders needs: the cheap ones are tried first.
func (n need) cost() int {
	switch {
	case n.text != "" || n.word != "":
		return 0
	case n.expr != nil && len(n.lits) > 0:
		return 1
	case n.expr != nil:
		return 3
	}
	return 2
}

// allOf returns the conjunction of the needs. It omits those that are always met.
func allOf(list ...need) need {
	var all []need
	for _, n := range list {
		switch {
		case n.none():
		case len(n.all) > 0:
			all = append(all, n.all...)
		default:
			all = append(all, n)
		}
	}
	if len(all) == 1 {
		return all[0]
	}
	slices.SortStableFunc(all, func(a, b need) int { return a.cost() - b.cost() })
	return need{all: all}
}

// anyOf returns the disjunction of the needs. If one of them is always met, so is the result.
func anyOf(list []need) need {
	if len(list) == 0 || slices.ContainsFunc(list, need.none) {
		return need{}
	}
	if len(list) == 1 {
		return list[0]
	}
	return need{any: list}
}

// hasWord reports whether text has word with no letter next to it. A digit may precede it: 1if x is Python.
func hasWord(text, word string) bool {
	letter := func(c byte) bool { return c == '_' || 'a' <= c|0x20 && c|0x20 <= 'z' }
	for at := 0; ; {
		i := strings.Index(text[at:], word)
		if i < 0 {
			return false
		}
		i, at = at+i, at+i+1
		before, after := text[:i], text[i+len(word):]
		begins := before == "" || !letter(before[i-1])
		if begins && (after == "" || !letter(after[0]) && (after[0] < '0' || after[0] > '9')) {
			return true
		}
	}
}

// ruleKeys lists the known keys of a rule file. Any other key may change the matches of a rule.
var ruleKeys = []string{
	"id", "language", "rule", "constraints", "utils", "transform", "fix", "rewriters", "severity", "message", "note",
	"labels", "files", "ignores", "url", "metadata",
}

// needOf returns the need of a rule document for files in a language. It ignores constraints, because they only
// narrow a match.
func needOf(text, language string) need {
	var doc map[string]any
	if err := yamldoc.Unmarshal([]byte(text), &doc); err != nil {
		return need{}
	}
	for key := range doc {
		if !slices.Contains(ruleKeys, key) {
			return need{}
		}
	}
	utils, _ := doc["utils"].(map[string]any)
	return reader{language: language, utils: utils}.rule(doc["rule"])
}

// reader reads the rules of one document.
type reader struct {
	language string
	utils    map[string]any
	within   []string // utils that are being read
}

// rule reads a rule object. All of its conditions must hold for a node, or for a node near it in the same file.
func (r reader) rule(v any) need {
	obj, ok := v.(map[string]any)
	if !ok {
		return need{}
	}
	var all []need
	for _, key := range slices.Sorted(maps.Keys(obj)) {
		switch v := obj[key]; key {
		case "kind":
			kind, _ := v.(string)
			all = append(all, need{word: kindWords(r.language)[kind]})
		case "pattern":
			if s, ok := v.(string); ok {
				all = append(all, patternNeed(s, r.language))
			}
		case "regex":
			if s, ok := v.(string); ok {
				all = append(all, regexNeed(s))
			}
		case "matches":
			all = append(all, r.util(v))
		case "inside", "has", "precedes", "follows":
			all = append(all, r.rule(v))
		case "all", "any":
			list, ok := v.([]any)
			if !ok {
				continue
			}
			parts := lists.Map(list, r.rule)
			if key == "any" {
				parts = []need{anyOf(parts)}
			}
			all = append(all, parts...)
		case "not", "nthChild", "range", "field", "stopBy":
		default: // it may change the meaning of the other keys
			return need{}
		}
	}
	return allOf(all...)
}

// util reads the rule with the given name.
func (r reader) util(v any) need {
	name, ok := v.(string)
	if !ok || slices.Contains(r.within, name) {
		return need{}
	}
	r.within = append(slices.Clip(r.within), name)
	return r.rule(r.utils[name])
}

// kindWords returns the keyword that each node of some kinds contains. It lists only keywords that need more text after
// them: in broken code a parser inserts a missing token only if the token ends its node.
func kindWords(language string) map[string]string {
	switch language {
	case "go":
		return map[string]string{
			"defer_statement": "defer", "for_statement": "for", "go_statement": "go",
			"func_literal": "func", "function_declaration": "func", "method_declaration": "func",
		}
	case "python":
		return map[string]string{
			"except_clause": "except", "try_statement": "try", "for_statement": "for", "while_statement": "while",
			"with_statement": "with", "function_definition": "def", "class_definition": "class", "assert_statement": "assert",
		}
	case "typescript", "tsx", "javascript":
		return map[string]string{
			"catch_clause": "catch", "try_statement": "try", "for_statement": "for", "for_in_statement": "for",
			"while_statement": "while", "do_statement": "do",
		}
	case "java":
		return map[string]string{
			"catch_clause": "catch", "try_statement": "try", "for_statement": "for", "while_statement": "while",
		}
	}
	return nil
}

// patternNeed returns the need of a pattern: ast-grep compares the leaves of its tree as text. Text in quotes or
// comments need not be a whole leaf, so patterns with comments give no need and quoted text is ignored.
func patternNeed(pattern, language string) need {
	switch language {
	case "go", "python", "typescript", "tsx", "javascript", "java", "c", "cpp", "csharp", "rust":
	default:
		return need{}
	}
	if strings.ContainsAny(pattern, `/#\`) {
		return need{}
	}
	var all []need
	for len(pattern) > 0 {
		if q := pattern[0]; q == '"' || q == '\'' || q == '`' {
			end := strings.IndexByte(pattern[1:], q)
			if end < 0 {
				break
			}
			pattern = pattern[end+2:]
			continue
		}
		word := pattern[:wordEnd(pattern)]
		if word == "" {
			_, n := utf8.DecodeRuneInString(pattern)
			pattern = pattern[n:]
			continue
		}
		pattern = pattern[len(word):]
		if len(word) >= literal.Shortest && !strings.Contains(word, "$") {
			all = append(all, need{text: word})
		}
	}
	return allOf(all...)
}

// wordEnd returns the length of the word at the beginning of s. A dollar sign is part of it: it marks a variable.
func wordEnd(s string) int {
	for i := range len(s) {
		if c := s[i]; c != '_' && c != '$' && (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') {
			return i
		}
	}
	return len(s)
}

// regexNeed returns the need of an expression that must match in the text of a node.
func regexNeed(expr string) need {
	if !portable(expr) {
		return need{}
	}
	tree, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return need{}
	}
	tree = loose(tree.Simplify())
	// An optional part at an end gives no need.
	for tree.Op == syntax.OpConcat && len(tree.Sub) > 1 && optional(tree.Sub[0]) {
		tree.Sub = tree.Sub[1:]
	}
	for tree.Op == syntax.OpConcat && len(tree.Sub) > 1 && optional(tree.Sub[len(tree.Sub)-1]) {
		tree.Sub = tree.Sub[:len(tree.Sub)-1]
	}
	if matchesEmpty(tree) { // it matches in any text
		return need{}
	}
	n := need{expr: sync.OnceValue(func() *regexp.Regexp {
		if re, err := regexp.Compile(tree.String()); err == nil {
			return re
		}
		return regexp.MustCompile("") // the simplified form, such as of x{0,999}, nests too deeply; this matches any text
	})}
	for _, l := range literal.Required(tree).Any {
		if l.Fold { // ast-grep folds more letters than Go
			n.lits = nil
			break
		}
		n.lits = append(n.lits, l.Text)
	}
	return n
}

// loose returns an expression that matches a text if ast-grep finds re in any part of it: without
// anchors, and with all characters beyond ASCII in classes that may come from \s, \d or \w, which Rust reads as
// Unicode.
func loose(re *syntax.Regexp) *syntax.Regexp {
	switch re.Op {
	case syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText, syntax.OpWordBoundary,
		syntax.OpNoWordBoundary:
		return &syntax.Regexp{Op: syntax.OpEmptyMatch}
	case syntax.OpCharClass:
		has := func(list string) bool {
			return !strings.ContainsFunc(list, func(c rune) bool {
				for i := 0; i < len(re.Rune); i += 2 {
					if re.Rune[i] <= c && c <= re.Rune[i+1] {
						return false
					}
				}
				return true
			})
		}
		if has("\t\n\f\r ") || has("0123456789") {
			wide := *re
			wide.Rune = append(slices.Clone(re.Rune), '\v', '\v', utf8.RuneSelf, unicode.MaxRune)
			return &wide
		}
		return re
	}
	out := *re
	out.Sub = make([]*syntax.Regexp, 0, len(re.Sub))
	out.Sub = append(out.Sub, lists.Map(re.Sub, loose)...)
	if out.Op == syntax.OpConcat {
		out.Sub = slices.DeleteFunc(out.Sub, func(sub *syntax.Regexp) bool { return sub.Op == syntax.OpEmptyMatch })
		if len(out.Sub) == 0 {
			return &syntax.Regexp{Op: syntax.OpEmptyMatch}
		}
	}
	return &out
}

func optional(re *syntax.Regexp) bool { return re.Op == syntax.OpStar || re.Op == syntax.OpQuest }

// matchesEmpty reports whether a simplified expression without anchors matches the empty text.
func matchesEmpty(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpEmptyMatch, syntax.OpStar, syntax.OpQuest:
		return true
	case syntax.OpCapture, syntax.OpPlus:
		return matchesEmpty(re.Sub[0])
	case syntax.OpConcat:
		return !slices.ContainsFunc(re.Sub, func(sub *syntax.Regexp) bool { return !matchesEmpty(sub) })
	case syntax.OpAlternate:
		return slices.ContainsFunc(re.Sub, matchesEmpty)
	}
	return false
}

// portable reports whether Go and Rust read an expression alike, apart from the differences that [loose] covers. It
// accepts only syntax that is known to be the same.
func portable(expr string) bool {
	for i, class := 0, false; i < len(expr); i++ {
		rest := expr[i+1:]
		switch c := expr[i]; {
		case c == '\\':
			if rest == "" {
				return false
			}
			i++
			switch e := rest[0]; {
			case strings.IndexByte("dwsntrfv", e) >= 0:
			case !class && (e == 'D' || e == 'W' || e == 'S' || e == 'A' || e == 'z'):
			case !class && (e == 'b' || e == 'B') && !strings.HasPrefix(rest[1:], "{"):
			case strings.IndexByte(`.*+?()[]{}|^$\-/"'=:;,!@%&~#`, e) >= 0:
			default:
				return false
			}
		case class && c == ']':
			class = false
		case class:
			if c == '[' || setSign.MatchString(expr[i:]) {
				return false
			}
		case c == '[':
			class = true
			if strings.HasPrefix(rest, "^") {
				i, rest = i+1, rest[1:]
			}
			if strings.HasPrefix(rest, "]") {
				return false
			}
		case c == '(' && strings.HasPrefix(rest, "?") && !groupFlags.MatchString(rest):
			return false
		case c == '{' && !repetition.MatchString(rest):
			return false
		}
	}
	return true
}

var (
	groupFlags = lazyre.New(`^\?[ism]*[:)]`)
	repetition = lazyre.New(`^\d+(,\d*)?\}`)
	setSign    = lazyre.New(`^(&&|--|~~)`) // of Rust, between sets of characters
)
