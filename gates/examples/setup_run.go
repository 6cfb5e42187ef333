package examples

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
)

// leads returns examples whose call leads to the file that defines the code: the example itself, or the calls of its
// set-up and its expression.
func (e Example) leads() (out []Example) {
	if e.Setup == "" {
		return []Example{e}
	}
	var vars []string
	for line := range strings.Lines(e.Setup) {
		if m := assigned.FindStringSubmatch(line); m != nil {
			vars = append(vars, identifier.FindAllString(m[1], -1)...)
		}
	}
	code := quotedText.ReplaceAllString(e.Setup+"\n"+e.Call, `""`)
	for _, at := range constructs.FindAllStringIndex(code, -1) {
		c := Example{Call: strings.TrimSuffix(code[at[0]:at[1]], "(") + "("}
		part := at[0] > 0 && strings.ContainsAny(code[at[0]-1:at[0]], ".@$")
		if part || !rootOf.MatchString(c.Call) || outside.MatchString(c.Call) || slices.Contains(vars, c.root()) {
			continue
		}
		out = append(out, c)
	}
	return out
}

// local matches times that depend on the time zone, and other values that depend on the machine.
var local = lazyre.New(`\bprocess\.|\bENV\b|\bTime\.(?:\w+)\(|\bnew Date\(|\b(?:Local|fromtimestamp|localtime|mktime)\b|\d:\d\d [-+]\d\d:?\d\d\b`)

// judged returns the result of an example as it counts. An example with set-up differs only if what the plan shows and
// what the code returns are of the same kind: two values, or two texts that begin with the same pattern of digits.
func (e Example) judged(r result) result {
	switch {
	case r.State != differs:
		return r
	case local.MatchString(e.Setup + e.Call + " " + e.Want):
		return result{State: unknown, What: r.What + ", and this may depend on the machine or its time zone"}
	case e.Setup == "":
		return r
	case r.Shown == "" && (e.Raises != "" || strings.Contains(e.Want, "Error")):
		return result{State: unknown, What: r.What + ", and the plan shows another error"}
	case r.Shown == "" || e.Raises != "":
		return r
	}
	want, got := valueKind(e.Want), valueKind(r.Shown)
	alike := want != "" && want == got || e.Signed && got == "nothing" && (want != "list" && want != "" || e.Firm) ||
		e.Signed && want == "nothing" && got != ""
	switch {
	case r.Shown == e.Want, want == "" && strings.HasPrefix(r.Text+" ", e.Want+" "):
		return result{State: holds}
	case alike && !strings.HasPrefix(r.Shown, e.Want) && sorted(e.Want) != sorted(r.Shown):
		return r
	case want == "" && len(r.Text) >= len(e.Want) && digit.MatchString(e.Want[:1]) &&
		digit.ReplaceAllString(r.Text[:len(e.Want)], "0") == digit.ReplaceAllString(e.Want, "0"):
		return result{State: differs, What: "it returns " + r.Text}
	}
	return result{State: unknown, What: r.What + ", which cannot be compared with what the plan shows"}
}

// extent matches a range of Ruby: 3..7, 3...7 and 3..
var extent = lazyre.New(`^-?\d+\.{2,3}(?:-?\d+)?$`)

// valueKind returns the kind of a value as code; "" if the text is no value.
func valueKind(text string) string {
	switch _, n := valueOf(text); {
	case extent.MatchString(text):
		return "range"
	case n == 0 || n < len(text):
		return ""
	case quoted(text) > 0:
		return "text"
	case numeral.MatchString(text):
		return "number"
	case strings.EqualFold(text, "true") || strings.EqualFold(text, "false"):
		return "truth"
	case keyword.MatchString(text):
		return "nothing"
	}
	return "list"
}

// sorted returns the words of a text in the order of the alphabet: a set has no order.
func sorted(text string) string {
	words := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(`[](){},"' `, r) })
	slices.Sort(words)
	return strings.Join(words, " ")
}

// digit matches a digit, so that all dates of one form can be made equal.
var digit = lazyre.New(`\d`)

// isOf reports whether a file has the language of the example, if it is known.
func (f file) isOf(lang string) bool {
	return lang == "" || path.Ext(f.path) == ".json" && lang == language.Node || language.OfSource(f.path) == lang
}

// goDeclared matches declarations of Go in a set-up.
var goDeclared = lazyre.New(`(?m)^(?:var ([\w, ]+?)(?:\s+[\w.*\[\]]+)?\s*(?:=|$)|([\w, ]+?)\s*:=)`)

// goSetup returns a set-up as statements of a function that may leave variables unused.
func goSetup(setup, pkg string) string {
	if setup == "" {
		return ""
	}
	var names []string
	for _, m := range goDeclared.FindAllStringSubmatch(setup, -1) {
		for _, n := range identifier.FindAllString(m[1]+","+m[2], -1) {
			names = lists.Add(names, n)
		}
	}
	code := inPackage(goText(setup), pkg) + "\n"
	for _, n := range names {
		if n != "_" {
			code += "_ = " + n + "\n"
		}
	}
	return code
}

// inPackage returns code without the name of the package that it is in.
func inPackage(code, pkg string) string {
	return regexp.MustCompile(`("(?:[^"\\\n]|\\.)*")|(^|[^.\w])`+pkg+`\.`).ReplaceAllString(code, "$1$2")
}

// goImports returns the imports of the packages of the standard library that set-ups use most.
func goImports(code string) (out string) {
	for _, p := range strings.Fields("bytes context log maps math math/big net/url slices sort strconv time unicode") {
		if regexp.MustCompile(`\b` + path.Base(p) + `\.[A-Z]`).MatchString(code) {
			out += "\t" + strconv.Quote(p) + "\n"
		}
	}
	return out
}
