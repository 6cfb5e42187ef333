package promise

import (
	"regexp"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
)

// declaration is one function in bare code, with the contents of its string literals removed.
type declaration struct {
	name, params, body string
	method, partial    bool // it belongs to a type; its decorator says that others complete it
}

// completed matches the decorators of functions without work of their own.
var completed = lazyre.New(`^\s*@.*(?:abstract|overload)`)

// declarationsOf returns the functions of bare code whose parameters are in parentheses.
func declarationsOf(file, code string) (out []declaration) {
	code = withoutTexts(file, code)
	lines, at, last := strings.SplitAfter(code, "\n"), 0, ""
	for _, line := range lines {
		rest, above := code[at:], last
		at, last = at+len(line), line
		name := language.Declared(strings.TrimRight(line, "\n"))
		if name == "" {
			continue
		}
		open := regexp.MustCompile(`\b` + name + `(?:\[[^()\n]*\]|<[^()\n]*>)?[?!]?\s*\(|\b` + name +
			`\b[^=\n]*=\s*(?:async\s+)?(?:function\b\s*\w*\s*)?(?:<[^()\n]*>)?\(`).FindStringIndex(line)
		if open == nil {
			continue
		}
		end := closing(rest, open[1])
		if end < 0 {
			continue
		}
		out = append(out, declaration{name, rest[open[1]:end], bodyOf(rest[end+1:], language.Depth(line)),
			language.Depth(line) > 0 || receiver.MatchString(line), completed.MatchString(above)})
	}
	return out
}

// closing returns where the parenthesis that was opened before a place is closed; -1 if it is not.
func closing(text string, from int) int {
	depth := 1
	for i := from; i < len(text); i++ {
		switch text[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// bodyOf returns the rest of a line and the deeper lines below it.
func bodyOf(text string, depth int) string {
	out := ""
	for line := range strings.Lines(text) {
		if out != "" && strings.TrimSpace(line) != "" && language.Depth(line) <= depth {
			break
		}
		out += line
	}
	return out
}

// withoutTexts blanks the string literals of a source, except those that may contain code, such as "{name}".
func withoutTexts(file, code string) string {
	out := []byte(code)
	for _, p := range language.Parts(code, language.OfSource(file)) {
		if !strings.Contains(code[p.Start:p.End], "{") {
			language.Blank(out, p.From, p.To)
		}
	}
	return string(out)
}

var (
	// allArguments matches code that can read parameters without naming them.
	allArguments = lazyre.New(`\barguments\b|\b(?:locals|vars|eval|exec)\(|\bbinding\b|\bsuper\s*(?:$|[^\s(.])|\bsuper$`)
	// signatureOf matches a name and the parentheses after it.
	signatureOf = lazyre.New(`\b(\w+)\(((?:[^()]|\([^()]*\))*)\)`)
	parameter   = lazyre.New(`^[*&\s]*(\w{2,})\b`)
	inner       = lazyre.New(`\([^()]*\)`) // such as the parameters of a parameter
	// touched matches statements that only say that a parameter is not used.
	touched = lazyre.New(`(?m)^\s*(?:_ = \w+|void \w+;?|del \w+)\s*$`)
	// handed matches names of parameters that a framework passes to every handler.
	handed = lazyre.New(`^(?:req|request|res|resp|response|next|event|evt|env|argv|args|kwargs|self|cls|this|props|cmd|done)$`)
	// gaveUp matches a body that ends by raising an error, and idleBody a body without statements.
	gaveUp   = lazyre.New(`(?:^|\n)\s*(?:raise|throw|panic)\b[^\n]*[\s};]*(?:end\s*)*$`)
	idleBody = lazyre.New(`^(?:\s*(?:->|:)[^:{\n]*)?[\s{}():;=>]*(?:\.\.\.|pass)?[\s{};]*(?:end)?\s*$`)
)

// works reports whether a function does more than raise an error.
func (d declaration) works() bool {
	return !d.partial && !idleBody.MatchString(d.body) && !strings.Contains(d.params, "...") &&
		(strings.Contains(d.body, "return ") || !gaveUp.MatchString(d.body)) && !allArguments.MatchString(d.body)
}

// has reports whether a function has a parameter; uses reports whether its body or another parameter reads it.
func (d declaration) has(param string) bool {
	return regexp.MustCompile(`(?:^|[(,])\s*[*&]*` + param + `\b`).MatchString(d.params)
}

func (d declaration) uses(param string) bool {
	_, others, _ := strings.Cut(d.params, param)
	return names(touched.ReplaceAllString(d.body, ""), param) || names(others, param)
}

// parameters finds new parameters that the batch names, in a signature or as an option, and that the function does not
// use. It adds them to found.
func (w wording) parameters(found map[string]bool) {
	b := w.l.Subject().Batch
	signatures := map[string][]string{}
	for _, text := range []string{w.text, b.Text} {
		for _, m := range signatureOf.FindAllStringSubmatch(text, -1) {
			for _, p := range strings.Split(inner.ReplaceAllString(m[2], ""), ",") {
				if p := parameter.FindStringSubmatch(p); p != nil {
					signatures[m[1]] = append(signatures[m[1]], p[1])
				}
			}
		}
	}
	var said []string
	for _, text := range w.sentences {
		if at := optionNamed.FindStringSubmatchIndex(text); at != nil && at[2] >= 0 && !unmeant(text, at[0]) {
			said = append(said, text[at[2]:at[3]])
		}
	}
	for _, f := range w.files {
		if !product(f) || f.Status == gates.Deleted || codeExt(f.Path) == ".sh" {
			continue
		}
		old := declarationsOf(f.Path, bare(f.Path, f.Before))
		for _, d := range declarationsOf(f.Path, w.code[f.Path]) {
			if !d.works() || slices.ContainsFunc(old, func(o declaration) bool { return o.name == d.name && o.params == d.params }) {
				continue
			}
			list := signatures[d.name]
			if names(b.Title+"\n"+b.Text, d.name) {
				list = append(slices.Clone(list), said...)
			}
			for _, p := range list {
				if d.has(p) && !d.uses(p) && !handed.MatchString(p) && !w.given(d) && !w.shared(d, p) {
					w.broken(RuleOptionUnused, f.Path, d.name+" does not use its parameter "+p+", which the batch names",
						"use it where the batch says so")
					found[p] = true
					break
				}
			}
		}
	}
}

// given reports whether the batch itself contains each line of the body.
func (w wording) given(d declaration) bool {
	for line := range strings.Lines(d.body) {
		if strings.Trim(line, " \t\n{};:") != "" && line != "end\n" && !w.l.Subject().Contains(line) {
			return false
		}
	}
	return true
}

// shared reports whether methods of the same name in other types have the parameter too: then the type may need it only
// to have the same interface.
func (w wording) shared(d declaration, param string) bool {
	return d.method && w.anywhere(func(file, code string) bool {
		return names(code, param) && slices.ContainsFunc(declarationsOf(file, code), func(o declaration) bool {
			return o.method && o.name == d.name && o != d && o.has(param)
		})
	})
}
