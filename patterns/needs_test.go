package patterns

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"golang.org/x/tools/txtar"

	"github.com/runplan/runplan/tools/tooltest"
)

func (n need) String() string {
	join := func(list []need, with string) string {
		var parts []string
		for _, n := range list {
			parts = append(parts, n.String())
		}
		return "(" + strings.Join(parts, with) + ")"
	}
	switch {
	case n.none():
		return "*"
	case n.text != "":
		return n.text
	case n.word != "":
		return "<" + n.word + ">"
	case n.expr != nil:
		return "/" + n.expr().String() + "/"
	case len(n.any) > 0:
		return join(n.any, " | ")
	}
	return join(n.all, " & ")
}

func TestNeedOfRule(t *testing.T) {
	for text, want := range map[string]string{
		// atoms
		`{pattern: asyncio.create_task($$$A)}`:                  `(asyncio & create_task)`,
		`{pattern: $F.close($X)}`:                               `close`,
		`{pattern: f$X.of($x)}`:                                 `*`, // nothing is long enough
		`{pattern: 'log("lost in here", $X, key)'}`:             `(log & key)`,
		`{pattern: 'log("open, $X)'}`:                           `log`,
		`{pattern: 'left // right'}`:                            `*`, // it may be a comment
		`{pattern: {context: 'class A { $F() }', selector: x}}`: `*`,
		`{regex: '^(os|io)\.Copy$'}`:                            `/(os|io)\.Copy/`,
		`{kind: try_statement}`:                                 `<try>`,
		`{kind: identifier}`:                                    `*`,
		`{kind: 'try_statement > block'}`:                       `*`,
		`{nthChild: 2}`:                                         `*`,
		// combinators
		`{kind: try_statement, regex: retry}`:                              `(<try> & /retry/)`,
		`{all: [{regex: one}, {regex: two}]}`:                              `(/one/ & /two/)`,
		`{any: [{regex: one}, {regex: two}]}`:                              `(/one/ | /two/)`,
		`{any: [{regex: one}, {kind: block}]}`:                             `*`,
		`{any: [], regex: one}`:                                            `/one/`,
		`{kind: block, not: {regex: one}}`:                                 `*`,
		`{any: [{regex: one}, {not: {regex: two}}]}`:                       `*`,
		`{inside: {regex: one, stopBy: {regex: two}}}`:                     `/one/`,
		`{has: {field: body, has: {regex: one, stopBy: end}}}`:             `/one/`,
		`{follows: {regex: one}, precedes: {regex: two}}`:                  `(/one/ & /two/)`,
		`{nthChild: {position: 1, ofRule: {regex: one}}, regex: two}`:      `/two/`,
		`{matches: helper}`:                                                `/helped/`,
		`{matches: unknown, regex: one}`:                                   `/one/`,
		`{matches: circle}`:                                                `/round/`,
		`{not: {matches: helper}}`:                                         `*`,
		`{regex: one, newKey: true}`:                                       `*`,
		`{all: [{regex: one}, {regex: two, newKey: true}]}`:                `/one/`,
		`[{regex: one}]`:                                                   `*`,
		`regex`:                                                            `*`,
		`{regex: 7}`:                                                       `*`,
		`{all: {regex: one}}`:                                              `*`,
		`{any: [{all: [{regex: one}, {kind: block}]}, {pattern: f(xyz)}]}`: `(/one/ | xyz)`,
	} {
		doc := "id: x\nlanguage: python\nmessage: m\nutils: {helper: {regex: helped}, circle: {all: [{regex: round}, " +
			"{matches: circle}]}}\nrule: " + text + "\n"
		if got := needOf(doc, "python").String(); got != want {
			t.Errorf("%s:\n got %s\nwant %s", text, got, want)
		}
	}
	if n := needOf("id: x\nlanguage: python\nmessage: m\nrule: {regex: one}\nignoreCase: true\n", "python"); !n.none() {
		t.Errorf("a key that is not known: %s", n)
	}
	if n := needOf("id: x\nlanguage: bash\nmessage: m\nrule: {pattern: echo hello}\n", "bash"); !n.none() {
		t.Errorf("patterns of a language without a known grammar: %s", n)
	}
}

func TestNeedOfExpression(t *testing.T) {
	for expr, texts := range map[string][2]string{ // in which it can and cannot match, as Rust reads it
		`^async$`:                 {"an async def", "asynx"},
		`^\w*[eE]rr\w* != nil$`:   {"if éerr2 != nil {", "if err == nil {"},
		`err\s+!=`:                {"err\u00a0!=", "err!="},
		`[\s,]+end`:               {"\u2003end", "the.end"},
		`x\d\d`:                   {"x1\u0663", "xy"},
		`(?i)kelvin`:              {"\u212aELVIN", "elvin"},
		`(?i)maſk`:                {"MASK", "mark"},
		`\bword\b`:                {"swords", "wort"},
		`(?:ab*)c`:                {"abbbc", "ab"},
		`x*needle(y|z)?`:          {"needle", "nedle"},
		`^a(b|)c$`:                {"ac", "abbc"},
		`(?m)^\s*local\s`:         {"local\tx", "locals"},
		`^(\*http\.Request|ctx)$`: {"r *http.Request", "http.Request"},
		`[-a-c\]]{3,}z`:           {"]-bz", "abz"},
	} {
		n := regexNeed(expr)
		if n.none() {
			t.Errorf("%s: no required text was found", expr)
		}
		if !n.in(texts[0]) || n.in(texts[1]) {
			t.Errorf("%s: %s holds for %q: %v, for %q: %v", expr, n, texts[0], n.in(texts[0]), texts[1], n.in(texts[1]))
		}
	}
	for _, expr := range []string{
		``, `a*`, `^$`, `a*b?`, `(a|b*)`, `(a?)+`, `(|x)(y|)`, `(`, `\<word\>`, `\b{start}word`, `(?x)w o r d`,
		`[a-z&&[^b]]word`, `[[:alpha:]]word`, `\p{Lu}word`,
		`wo{,3}rd`, `{word}`,
		`(?P<name>word)`, `[^\S]word`, `\u0041word`, `wo\x72d`, `[]a]word`, `(?-u)word`, `word\`, `(?R)word`, `\1word`,
		`\Qword\E`,
	} {
		if n := regexNeed(expr); !n.none() {
			t.Errorf("%s: %s, although it may mean something else to the program", expr, n)
		}
	}
}

// Go refuses the simplified form of an expression that it accepts. Such a need holds for every text.
func TestNeedOfExpressionThatCannotBeCompiledIsMet(t *testing.T) {
	if n := regexNeed(`ax{0,1000}b`); n.none() || !n.in("ab") {
		t.Errorf("%v does not hold", n.none())
	}
}

func TestHasWordMatchesWholeWords(t *testing.T) {
	for text, want := range map[string]bool{
		"for": true, "\tfor{": true, "1for x": true, "before": false, "for_": false, "format for": true, "for1": false,
		"éfor": true, "fo": false, "": false, "(for)": true,
	} {
		if hasWord(text, "for") != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}

// proof runs all rules on all files, without using needs, and reports each match in a file that does not meet the
// need of its rule.
type proof struct {
	t      *testing.T
	p      Program
	rules  []Rule
	found  map[string]int // by rule
	lost   int
	idle   int // files in which no rule can match
	looked int
}

func (c *proof) check(dir string, files []string) {
	c.t.Helper()
	v := newSieve(c.rules)
	texts := map[string]string{}
	look, _, _, err := sources(dir, files, func(string) bool { return true }, func(s *source, text []byte) {
		texts[s.path] = string(text)
		if one := newSieve(c.rules); s.language != "html" {
			if one.sift(s, text); s.idle {
				c.idle++
			}
		}
	})
	if err != nil {
		c.t.Fatal(err)
	}
	c.looked += len(look)
	saw, err := c.p.run(c.t.Context(), dir, look, textOf(v.docs))
	if err != nil {
		c.t.Fatal(err)
	}
	language := map[string]string{}
	for _, s := range look {
		language[s.path] = s.language
	}
	for _, r := range saw.records {
		c.found[r.Rule]++
		i := slices.IndexFunc(c.rules, func(rule Rule) bool { return rule.ID == r.Rule })
		if !slices.ContainsFunc(c.rules[i].docs, func(d document) bool {
			return (d.language == language[r.File] || c.rules[i].Layer != BuiltIn) && d.need().in(texts[r.File])
		}) {
			c.lost++
			c.t.Errorf("%s finds %s:%d, although the file does not hold what it needs:\n%.300s", r.Rule, r.File,
				r.Range.Start.Line+1, r.Text)
		}
		if c.lost > 20 {
			c.t.Fatal("more than 20 errors: stopped")
		}
	}
}

// brokenExamples calls each with the examples of all rules, first unchanged and then with random damage.
func brokenExamples(t *testing.T, each func(dir string, files []string)) {
	rnd := rand.New(rand.NewPCG(1, 2))
	archives, err := fs.Glob(os.DirFS("testdata/rules"), "*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatal(err)
	}
	for round := range 6 {
		dir, all := t.TempDir(), []string(nil)
		for _, a := range archives {
			for _, f := range txtar.Parse(examples(t, strings.TrimSuffix(a, ".txtar"))).Files {
				name, text := a+"/"+f.Name, string(f.Data)
				if round > 0 {
					text = broken(rnd, text)
				}
				write(t, dir, name, text)
				all = append(all, name)
			}
		}
		each(dir, all)
	}
}

// sourceTrees calls each with a part of the Go source tree or, if $RUNPLAN_PATTERN_TREES is set, with all of it and
// the trees named there.
func sourceTrees(t *testing.T, each func(dir string, files []string)) {
	trees := filepath.SplitList(os.Getenv("RUNPLAN_PATTERN_TREES"))
	if out, err := exec.Command("go", "env", "GOROOT").Output(); err == nil {
		under := "src/net"
		if len(trees) > 0 {
			under = "src"
		}
		trees = append(trees, filepath.Join(strings.TrimSpace(string(out)), filepath.FromSlash(under)))
	}
	for _, dir := range trees {
		var all []string
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() && languageOf(path) != "" && !strings.Contains(path, "/.git/") {
				all = append(all, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		each(dir, all)
	}
}

// broken deletes or moves some random words and characters of a text.
func broken(rnd *rand.Rand, text string) string {
	parts := regexp.MustCompile(`\w+|\s+|.`).FindAllString(text, -1)
	for range 1 + rnd.IntN(4) {
		if len(parts) == 0 {
			break
		}
		i, k := rnd.IntN(len(parts)), rnd.IntN(len(parts))
		switch rnd.IntN(3) {
		case 0:
			parts = slices.Delete(parts, i, i+1)
		case 1:
			parts[i], parts[k] = parts[k], parts[i]
		default:
			parts = slices.Insert(parts, i, parts[k])
		}
	}
	return strings.Join(parts, "")
}

// No built-in rule loses a finding because a file that it matches was considered not to meet its need.
func TestNeedsKeepAllFindings(t *testing.T) {
	tooltest.Slow(t)
	c := proof{t: t, p: program(t), rules: builtin(t), found: map[string]int{}}
	brokenExamples(t, c.check)
	sourceTrees(t, c.check)
	for _, r := range c.rules {
		if c.found[r.ID] == 0 {
			t.Errorf("%s found nothing at all, so nothing is proven of it", r.ID)
		}
	}
	total := 0
	for _, n := range c.found {
		total += n
	}
	t.Logf("%d findings in %d files, all where they are needed; in %d files no rule can match", total, c.looked, c.idle)
}

// The same holds for rules that are randomly combined from all rule elements.
func TestNeedsOfRandomRulesKeepFindings(t *testing.T) {
	tooltest.Slow(t)
	rnd := rand.New(rand.NewPCG(3, 4))
	atoms := map[string][]string{
		"go": {
			"kind: for_statement", "kind: defer_statement", "kind: func_literal", "kind: identifier", "kind: go_statement",
			"kind: if_statement", "kind: call_expression",
			"pattern: $X.Close()", "pattern: 'if err != nil { $$$ }'", "pattern: 'defer $F($$$)'", "pattern: errors.New($X)",
			"pattern: $A == nil", "pattern: '\"tcp\"'",
			"regex: '^[a-z]\\w*\\.(Lock|Unlock)$'", "regex: (?i)timeout", "regex: 'return\\s+nil'", "regex: '\\btest'",
			"regex: '^\\d+$'", "regex: .", "nthChild: 1",
		},
		"python": {
			"kind: try_statement", "kind: except_clause", "kind: for_statement", "kind: function_definition",
			"kind: with_statement", "kind: identifier",
			"pattern: $X.append($Y)", "pattern: 'len($X) == $N'", "pattern: self.$F($$$)", "pattern: 'return None'",
			"regex: ^async$", "regex: (?i)except", "regex: '^(self|cls)$'",
		},
		"typescript": {
			"kind: catch_clause", "kind: for_in_statement", "kind: while_statement", "kind: call_expression", "kind: identifier",
			"kind: arrow_function",
			"pattern: await $X", "pattern: $X.then($$$)", "pattern: new Error($$$)", "pattern: 'const $X = $Y'",
			"regex: '^(it|test)$'", "regex: (?i)ERR", "regex: 'return\\s'",
		},
	}
	var make func(list []string, depth int) map[string]any
	make = func(list []string, depth int) map[string]any {
		var out map[string]any
		if err := yaml.Unmarshal([]byte(list[rnd.IntN(len(list))]), &out); err != nil {
			t.Fatal(err)
		}
		if depth == 0 {
			return out
		}
		for range 1 + rnd.IntN(2) {
			sub := make(list, depth-1)
			switch key := []string{"has", "inside", "all", "any", "not", "follows", "precedes", "matches"}[rnd.IntN(8)]; key {
			case "all", "any":
				out[key] = []any{sub, make(list, depth-1)}
			case "has", "inside", "follows", "precedes":
				sub["stopBy"] = []any{"end", "neighbor", make(list, 0)}[rnd.IntN(3)]
				out[key] = sub
			case "matches":
				out[key] = []string{"one", "two"}[rnd.IntN(2)]
			case "not":
				out[key] = sub
			}
		}
		return out
	}
	var docs strings.Builder
	known := 0
	for i := range 240 {
		language := []string{"go", "python", "typescript"}[i%3]
		rule := make(atoms[language], []int{0, 0, 1, 1, 2}[rnd.IntN(5)])
		if rule["kind"] == nil && rule["pattern"] == nil && rule["any"] == nil && rule["all"] == nil {
			rule["kind"] = "identifier" // the program wants to know for which nodes a rule is
		}
		doc := map[string]any{
			"id": fmt.Sprintf("random-%d", i), "message": "m", "rule": rule,
			"utils": map[string]any{"one": make(atoms[language][:4], 0),
				"two": map[string]any{"any": []any{make(atoms[language][:4], 0), make(atoms[language][:4], 0)}}},
		}
		if strings.Contains(fmt.Sprint(rule["pattern"]), "$X") {
			doc["constraints"] = map[string]any{"X": map[string]any{"regex": "e"}}
		}
		text, err := yaml.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&docs, "---\nlanguage: %s\n%s", language, text)
	}
	rules, err := ParseRules("random.yml", []byte(docs.String()))
	if err != nil {
		t.Fatal(err)
	}
	p := program(t)
	rules = slices.DeleteFunc(rules, func(r Rule) bool { return Check(t.Context(), p, []Rule{r}) != nil })
	for i := range rules {
		rules[i].Layer = Project
		if !rules[i].docs[0].need().none() {
			known++
		}
	}
	c := proof{t: t, p: p, rules: rules, found: map[string]int{}}
	brokenExamples(t, c.check)
	useful := 0
	for _, r := range rules {
		if c.found[r.ID] > 0 && !r.docs[0].need().none() {
			useful++
		}
	}
	t.Logf("%d rules are accepted, of %d something is needed, and %d of these found something", len(rules), known, useful)
	if useful < 30 {
		t.Errorf("only %d rules of which something is needed found anything", useful)
	}
}

// A scan does not start ast-grep if no file meets the need of a rule; files with suppressions are always checked.
func TestScanSkipsUnneededAstGrep(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.go", "package a\n\nconst A = 1\n")
	write(t, dir, "b.py", "x = 1\n")
	bare := slices.DeleteFunc(builtin(t), func(r Rule) bool { return r.ID != "bare-except" && r.ID != "defer-in-loop" })
	dead := fake(t, "exit 7")
	res, err := Scan(t.Context(), dead, dir, []string{"a.go", "b.py"}, bare)
	if err != nil || res.Scanned != 2 || len(res.Hits)+len(res.Skipped)+len(res.Other) > 0 {
		t.Errorf("%+v, error %v", res, err)
	}
	write(t, dir, "b.py", badPython)
	if _, err := Scan(t.Context(), dead, dir, []string{"a.go", "b.py"}, bare); err == nil {
		t.Error("a file that holds what a rule needs was not checked")
	}
	write(t, dir, "b.py", "x = 1  # runplan:ignore bare-except not any more\n")
	if _, err := Scan(t.Context(), dead, dir, []string{"b.py"}, bare); err == nil {
		t.Error("a file with a suppression was not checked")
	}
	if res, err := Scan(t.Context(), program(t), dir, []string{"a.go", "b.py"}, bare); err != nil || res.Scanned != 2 ||
		len(res.Hits) != 1 || res.Hits[0].Rule != ruleNoUse {
		t.Errorf("%+v, error %v", res, err)
	}
	// Custom rules are checked by ast-grep once, even if no file needs them, and again after they change.
	own := func(text string) []Rule {
		rules := rule(t, text)
		rules[0].Layer = Project
		return rules
	}
	p := program(t)
	good := own("id: mine\nlanguage: python\nmessage: m\nrule: {pattern: never_there($X)}\n")
	if _, err := Scan(t.Context(), dead, dir, []string{"a.go", "b.py"}, good); err == nil {
		t.Error("own rules were used without a check")
	}
	if _, err := Scan(t.Context(), p, dir, []string{"b.py"}, good); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "b.py", "x = 1\n")
	p.Path = dead.Path
	if _, err := Scan(t.Context(), p, dir, []string{"b.py"}, good); err != nil {
		t.Errorf("the program was called again: %v", err)
	}
	if _, err := Scan(t.Context(), p, dir, []string{"b.py"},
		own("id: mine\nlanguage: python\nmessage: m\nrule: {pattern: other($X)}\n")); err == nil {
		t.Error("changed rules were used without a check")
	}
}

// A file in a language that only ast-grep recognizes, or in several languages, is scanned with all rules.
func TestOtherLanguagesGetAllRules(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.html", "<script>\ntry { work() } catch (e) {}\n</script>\n")
	write(t, dir, "b.go", "package b\n")
	write(t, dir, "c.html", "<p>x</p>\n")
	mine := rule(t, "id: mine\nlanguage: html\nmessage: m\nrule: {kind: element, regex: never-there}\n")
	mine[0].Layer = Project
	all := append(builtin(t), mine...)
	res, err := Scan(t.Context(), program(t), dir, []string{"a.html", "b.go", "c.html"}, all)
	if err != nil || !slices.ContainsFunc(res.Hits,
		func(h Hit) bool { return h.Rule == "empty-catch" && h.Path == "a.html" }) {
		t.Errorf("%+v, error %v", res, err)
	}
}

// Computing a need never panics, and a need that holds for a text also holds for a longer text that contains it.
func FuzzNeed(f *testing.F) {
	f.Add("{all: [{regex: 'a+b'}, {any: [{pattern: foo($X)}, {kind: try_statement}]}]}", "try: foo(aab)")
	f.Add("{matches: x, has: {regex: '(?i)abc'}}", "ABC")
	f.Fuzz(func(t *testing.T, rule, text string) {
		n := needOf("id: x\nutils: {x: "+strings.ReplaceAll(rule, "\n", " ")+"}\nrule: "+strings.ReplaceAll(rule, "\n", " ")+
			"\n", "python")
		if n.in(text) && !n.in(" "+text+" more") {
			t.Errorf("%s: %s holds for %q, and not for a longer text", rule, n, text)
		}
	})
}

// If an expression matches a part of a text, its need holds for the whole text.
func FuzzNeedOfExpression(f *testing.F) {
	for _, expr := range []string{`^\w*[eE]rr\w* != nil$`, `(?i)(sleep|back_?off)`, `a*(b|c)d?`, `^(x|)y\b`, `[\s;]+end`} {
		f.Add(expr, "if myErr != nil { Sleep() }", 3, 15)
	}
	f.Fuzz(func(t *testing.T, expr, text string, from, to int) {
		re, err := regexp.Compile(expr)
		if err != nil || len(expr) > 200 || from < 0 || to < from || to > len(text) {
			return
		}
		if n := regexNeed(expr); re.MatchString(text[from:to]) && !n.in(text) {
			t.Errorf("%s matches in %q, but %s does not hold for %q", expr, text[from:to], n, text)
		}
	})
}
