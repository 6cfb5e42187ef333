package promise

import (
	"path"
	"regexp"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
)

var (
	// memberNamed matches a type of code with one of its functions: Parser.sub, Parser.sub(text), Cart#total.
	memberNamed = lazyre.New("`([A-Z]\\w*)[.#](\\w{3,})[?!]?(\\([^`\\n]*)?`")
	// ofOthers matches a sentence about other batches.
	ofOthers = lazyre.New(`(?i)\b(?:later|next|will|upcoming|future|another|follow\w*|already|renam\w*|(?:batch|task|phase|step) \d+)\b`)
	// dynamic matches code that adds functions to a type without declaring them in its body.
	dynamic = lazyre.New(`\b(?:include|extend|prepend|delegate\w*|def_delegators?|method_missing|define_method|\w+_eval|` +
		`__getattr\w*|setattr|metaclass|mixin\w*|Proxy|Struct)\b|Object\.(?:assign|defineProp\w*)`)
	// baseList matches the base types in a declaration, and embedded a type that is embedded in a Go struct.
	baseList = lazyre.New(`^\s*(?:\(([^)]*)\)\s*:|<\s*([\w:]+)|(?:<[^{]*>)?\s*extends\s+([\w.]+))`)
	embedded = lazyre.New(`(?m)^\s*\*?[\w.]+\s*$`)
)

// members finds functions that the batch adds to a type by name, but that this type lacks. A function of the same name
// in another place does not count.
func (w wording) members() {
	for _, text := range w.titled() {
		if described.MatchString(text) || goesAway.MatchString(text) || ofOthers.MatchString(text) {
			continue
		}
		for _, at := range memberNamed.FindAllStringSubmatchIndex(text, -1) {
			of, name, called := text[at[2]:at[3]], text[at[4]:at[5]], at[6] >= 0
			asked := adds.MatchString(text) && !avoids.MatchString(text[:at[0]]) || called && w.changesType(of)
			if !asked || unmeant(text, at[0]) || refused.MatchString(text[:at[0]]) || language.IsCode("a."+name) ||
				prose.MatchString("a."+name) || !w.lacks(of, name, 0) {
				continue
			}
			w.broken(RuleNoFunction, "", "the batch adds "+of+"."+name+", but "+of+" has no function of that name",
				"write it in "+of)
			return
		}
	}
}

// changesType reports whether a file of the change declares a type.
func (w wording) changesType(of string) bool {
	for _, f := range w.files {
		if product(f) && f.Status != gates.Deleted && typeHead(f.Path, of).MatchString(w.code[f.Path]) {
			return true
		}
	}
	return false
}

// typeHead matches the line that declares a type, up to its name.
func typeHead(file, of string) *regexp.Regexp {
	if path.Ext(file) == ".go" {
		return regexp.MustCompile(`(?m)^(?:type\s+|\t)` + of + `(?:\[[^\]\n]*\])?\s+(?:struct|interface)\b`)
	}
	return regexp.MustCompile(`(?m)^[ \t]*(?:(?:export|default|abstract|declare)\s+)*(?:class|interface|module|enum|namespace)\s+` + of + `\b`)
}

// mostBases limits the length of a chain of base types.
const mostBases = 8

// lacks reports whether the tree declares a type, and neither this type nor any of its base types has a member. If that
// is uncertain, it returns false.
func (w wording) lacks(of, name string, depth int) bool {
	is := memberOf(name)
	outside := regexp.MustCompile(`\b` + of + `\.(?:prototype\b|` + name + `\s*=|(?:class|instance|module)_\w+|send\b|include\b|extend\b|prepend\b)|` +
		`\b(?:setattr|assign|defineProperty|defineProperties)\(\s*` + of + `\b|func \((?:\w+ )?\*?` + of + `(?:\[[^\]\n]*\])?\) ` + name +
		`\(|\bdef ` + of + `\.` + name + `\b`)
	declaredHere := false
	for file, code := range w.code {
		if !strings.Contains(code, of) {
			continue
		}
		if outside.MatchString(code) {
			return false
		}
		layout := []byte(code) // without texts
		for _, p := range language.Parts(code, language.OfSource(file)) {
			language.Blank(layout, p.Start, p.End)
		}
		for _, at := range typeHead(file, of).FindAllStringIndex(string(layout), -1) {
			body := bodyOf(string(layout[at[1]:]), language.Depth(string(layout[at[0]:at[1]])))
			end := at[1] + len(body)
			head, _, _ := strings.Cut(body, "\n")
			if !whole(file, head, string(layout[end:])) || is.MatchString(code[at[1]:end]) || dynamic.MatchString(body) ||
				decorated(code[:at[0]]) || path.Ext(file) == ".go" && embedded.MatchString(body) {
				return false
			}
			m := baseList.FindStringSubmatch(head)
			if m == nil {
				m = make([]string, 4)
			}
			for _, base := range strings.FieldsFunc(m[1]+m[2]+m[3], func(r rune) bool { return r == ',' || r == ' ' }) {
				if base != "object" && (depth == mostBases || base == of || !w.lacks(base, name, depth+1)) {
					return false
				}
			}
			declaredHere = true
		}
	}
	return declaredHere
}

// whole reports whether the body of a type ends where the indentation decreases.
func whole(file, head, after string) bool {
	after = strings.TrimSpace(after)
	switch codeExt(file) {
	case ".py":
		return true
	case ".rb":
		return strings.HasPrefix(after, "end") || strings.HasSuffix(strings.TrimSpace(head), "end")
	}
	return strings.HasPrefix(after, "}") || strings.HasSuffix(strings.TrimSpace(head), "}")
}

// decorated reports whether the line above a type may give it more functions.
func decorated(before string) bool {
	before = strings.TrimSpace(before)
	above := strings.TrimSpace(before[strings.LastIndexByte(before, '\n')+1:])
	return strings.HasPrefix(above, "@") && !strings.HasPrefix(above, "@dataclass")
}

// memberOf matches the declaration of a member in the body of a type: a function, a field, or a string literal or
// symbol with this name, because code may create a function from it.
func memberOf(name string) *regexp.Regexp {
	return regexp.MustCompile(`(?m)\b(?:def|func|function|alias|alias_method)\s+(?:self\.)?:?` + name + `\b|` +
		`^\s*(?:(?:async|static|get|set|public|private|protected|readonly|abstract|override|declare)\s+)*[*#]?` + name +
		`\s*(?:[:=(<?!,]|$|[\w*\[])|(?:\bself\.|\bthis\.|\bcls\.|@)` + name + `\s*(?::[^:]|=[^=])|:` + name + `\b|["']` + name + `["']`)
}
