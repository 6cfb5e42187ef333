package names

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates/testout"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
)

// answer returns why a lost test is explained; "" if nothing explains it.
func (j *judge) answer(g Lost, old test, known bool) string {
	switch {
	case j.Removal != nil && j.Removal(g.Case.Name, cmp.Or(old.path, g.Case.Path)):
		return "the plan asks for it"
	case g.Skipped:
		return ""
	case !known && g.Case.Status == testout.Failed && j.shorter(g.Case) != "":
		return "passes as " + j.shorter(g.Case)
	case !known && j.commanded(g.Case):
		return "its command names its tests now"
	case !known && j.reprinted(g.Case):
		return "its script prints its checks under other names"
	case !known && j.kept(g.Case):
		return "its lines are kept under other names"
	case !known:
		return j.row(g.Case)
	}
	if now, ok := j.after.same(old); ok && now.unit.Text == old.unit.Text && j.ran(now) {
		if Trunk(g.Case.Name) == g.Case.Name && now.cases(j.now) >= old.cases(j.base) {
			return "another runner reports it under another name"
		}
		return j.row(g.Case)
	}
	if old.unit.Hollow {
		return "it checked nothing"
	}
	need := j.before.evidence(old)
	red := g.Case.Status == testout.Failed
	held, ran := j.held[key(g.Case)]
	switch {
	case ran && held.Status == testout.Passed:
		if how := j.covered(old, need, false); how != "" {
			return how
		}
		if how := j.loosely(need); how != "" {
			return how
		}
		if how := j.fromData(g.Case, old, need); how != "" {
			return how
		}
	case ran && red:
		return "" // the code still does not pass it
	default:
		if how := cmp.Or(j.abandoned(old, red), j.covered(old, need, red)); how != "" {
			return how
		}
	}
	return j.subject(need, red)
}

// shorter finds a case that passes now and whose name is the beginning of c's failed name: scripts append the cause of
// a failure to the name. It does not apply to a changed script. If a Makefile changed, the run with the base's Makefile
// counts.
func (j *judge) shorter(c testout.Case) string {
	run := j.now
	for _, f := range j.Files {
		if strings.Contains(f.Before, "not ok") {
			return ""
		}
		if f.Path != c.Group && f.Path != c.Path {
			continue
		}
		if j.held == nil || !slices.Contains([]string{"Makefile", "makefile", "GNUmakefile"}, path.Base(f.Path)) {
			return ""
		}
		run = slices.Collect(maps.Values(j.held))
	}
	for _, n := range run {
		rest, is := strings.CutPrefix(c.Name, n.Name)
		if is && n.Status == testout.Passed && n.Group == c.Group && len(n.Name) > 2 && rest != "" &&
			strings.ContainsAny(rest[:1], " :,;(-") {
			return n.Name
		}
	}
	return ""
}

// commanded explains a missing command of package.json, which was the only known test of its suite. The base's command
// passes on the candidate's code, and the new one reports tests by name.
func (j *judge) commanded(c testout.Case) bool {
	return c.Name == c.Group && path.Base(c.Name) == "package.json" && j.held[key(c)].Status == testout.Passed &&
		len(j.passed) > 0
}

// reprinted explains a missing line of output of a shell script that was changed, renamed or merged. The base's script
// passes on the candidate's code, and the new script prints at least as many passed checks.
func (j *judge) reprinted(c testout.Case) bool {
	if language.OfTest(c.Group) != language.Shell || j.held[key(c)].Status != testout.Passed {
		return false
	}
	passes := func(ran map[string]testout.Case, script string) (n int) {
		for _, r := range ran {
			if r.Group == script && r.Status == testout.Passed {
				n++
			}
		}
		return n
	}
	now := lists.By(j.now, key)
	return passes(now, j.successor(c.Group)) >= passes(j.held, c.Group)
}

// kept explains a missing test of a language whose tests are not read one by one, such as a test of Ruby that moved or
// was renamed. The base's test passes on the candidate's code, no fewer tests pass than before, and the lines of such
// test files are still in one of them, except for titles.
func (j *judge) kept(c testout.Case) bool {
	passed := lists.Count(j.base, func(b testout.Case) bool { return b.Status == testout.Passed })
	if language.OfTest(c.Path) != language.Other || j.held[key(c)].Status != testout.Passed || len(j.passed) < passed {
		return false
	}
	var was, is []string
	for _, f := range j.Files {
		if language.OfTest(f.Path) == language.Other {
			was, is = append(was, checks(f.Before)...), append(is, checks(f.After)...)
		}
	}
	return within(was, is)
}

// around matches a line that names a test or a group or ends one, loads code or is a comment. It checks nothing.
var around = lazyre.New(`^(?:(?:it|specify|test|should|scenario|describe|context|feature|RSpec\.\w+)\b.*(?:\bdo|[{(])|` +
	`(?:class|module|def|func|function|public|private)\b[^=;]*|(?:end|[)}\];]+)|(?:require\w*|use|using|import|#|//).*)$`)

// checks returns the lines of a test file without those around its tests, and without space around them.
func checks(text string) (out []string) {
	for l := range strings.Lines(text) {
		if l = strings.TrimSpace(l); l != "" && !around.MatchString(l) {
			out = append(out, l)
		}
	}
	return out
}

// successor returns the script that has the lines of a script of the base; the script itself if there is none.
func (j *judge) successor(script string) string {
	old, known := j.before.of(testout.Case{Name: script, Group: script, Path: script})
	if known {
		for _, c := range j.fresh {
			if c.lang == language.Shell && within(old.unit.Lines, c.unit.Lines) {
				return c.path
			}
		}
	}
	return script
}

// row explains a missing case of an unchanged test whose cases come from data. Either as many cases pass as before, or
// the data of this case was removed.
func (j *judge) row(c testout.Case) string {
	whole := Trunk(c.Name)
	n := j.rows[c.Group+"\x00"+whole]
	if whole == c.Name || n[1] == 0 {
		return ""
	}
	if n[1] >= n[0] {
		return "the cases of " + whole + " have other names"
	}
	if c.Status == testout.Failed {
		return ""
	}
	name := strings.Trim(c.Name[len(whole):], "/[]")
	name = strings.ReplaceAll(name[strings.LastIndexByte(name, '/')+1:], "_", " ")
	if !j.gone(name) {
		return ""
	}
	return "the product no longer has " + name
}

// gone reports whether changed product files had a word, and none of them has it now.
func (j *judge) gone(name string) bool {
	has := func(text string) bool {
		return len(name) > 2 && strings.Contains(strings.ReplaceAll(text, "_", " "), name)
	}
	was := false
	for _, f := range j.Files {
		if language.OfTest(f.Path) != "" {
			continue
		}
		if has(f.After) {
			return false
		}
		was = was || has(f.Before)
	}
	return was
}

// covered looks for one or several tests that together check everything that a test of the base checked.
func (j *judge) covered(old test, need evidence, exact bool) string {
	for _, c := range j.stayed { // a copy of it existed already
		if c.lang == old.lang && c.unit.Asserts >= old.unit.Asserts && within(old.unit.Lines, c.unit.Lines) &&
			c.evidence.has(need.literals) { // lines of Python are without their strings
			return "the same as " + c.unit.Name
		}
	}
	together := newEvidence()
	var names []string
	for _, c := range j.fresh {
		if c.lang != old.lang || (need.asserts > 0 || old.unit.Asserts > 0) && c.evidence.asserts+c.unit.Asserts == 0 {
			continue
		}
		if j.covers(c.evidence, need, exact) {
			return became(old, c.test)
		}
		if c.evidence.mentions(need.calls) {
			together.add(c.evidence)
			names = append(names, c.unit.Name)
		}
	}
	if len(names) > 1 && j.covers(together, need, exact) {
		return "split into " + strings.Join(names[:min(len(names), 5)], ", ")
	}
	return ""
}

// became describes the replacement of a test.
func became(old, now test) string {
	switch {
	case old.unit.Name == now.unit.Name && old.path != now.path:
		return "moved to " + now.path
	case now.unit.Loops > old.unit.Loops:
		return "a case of " + now.unit.Name
	case old.unit.Bare() == now.unit.Bare():
		return "regrouped as " + now.unit.Name
	case now.unit.Asserts > old.unit.Asserts:
		return "a part of " + now.unit.Name
	}
	return "renamed to " + now.unit.Name
}

// covers reports whether have calls and compares everything that need does. With exact, the comparisons must be the
// same, under no more conditions.
func (j *judge) covers(have, need evidence, exact bool) bool {
	if len(need.calls) == 0 && len(need.literals) == 0 {
		return false // it has no calls or values to match
	}
	renamed := false
	for name := range need.calls {
		if have.calls[name] || have.idents[name] { // a table may hold functions
			continue
		}
		if !j.removed[name] {
			return false
		}
		renamed = true // the called function has another name now
	}
	if renamed && !have.mentions(j.added) {
		return false
	}
	for value, n := range need.literals {
		if have.literals[value] >= min(n, 1) && (have.literals[value] >= n || !number(value)) {
			continue
		}
		if have.literals[value] > 0 && !exact {
			continue // a repeated value may be a named constant now
		}
		if !j.titled(value) && (exact || value != "true" && value != "false" && value != "nil") {
			return false
		}
	}
	if exact {
		if have.loose > need.loose {
			return false
		}
		for sign, n := range need.signs {
			if have.signs[sign] < min(n, 1) {
				return false
			}
		}
	}
	return true
}

func number(value string) bool { return value[0] == '-' || isDigit(value[0]) || value[0] == '.' }

// titled reports whether a text is the name of a case that passes now: the rows of a table became tests, or tests
// became rows.
func (j *judge) titled(value string) bool {
	text, is := strings.CutPrefix(value, `"`)
	if !is || len(text) < 3 {
		return false
	}
	plain := func(s string) string { return strings.ReplaceAll(strings.ToLower(s), " ", "_") }
	return slices.ContainsFunc(j.now, func(c testout.Case) bool {
		return c.Status == testout.Passed && strings.Contains(plain(c.Name), plain(text))
	})
}

// loosely looks for new or changed tests that call the same functions as a lost test, even with other values. Use it
// only if the lost test itself passes on the candidate's code.
func (j *judge) loosely(need evidence) string {
	if len(need.calls) == 0 {
		return ""
	}
	calls, values := map[string]bool{}, map[string]bool{}
	var names []string
	for _, c := range j.fresh {
		if c.evidence.asserts+c.unit.Asserts > 0 && c.evidence.mentions(need.calls) {
			whole := gather(c.lang, j.after.texts[c.path]) // setup code may be outside of the test
			maps.Copy(calls, whole.calls)
			maps.Copy(calls, whole.idents)
			for value := range c.evidence.literals {
				values[value] = true
			}
			names = append(names, c.unit.Name)
		}
	}
	for name := range need.calls {
		if !calls[name] && !j.removed[name] {
			return ""
		}
	}
	if len(names) == 0 || len(values) < len(need.literals) { // a test that checks less does not replace it
		return ""
	}
	return "rewritten as " + strings.Join(names[:min(len(names), 5)], ", ")
}

// fromData explains a missing case of a test that now reads its cases from a data file. The test keeps its name, still
// calls the same functions, and its values are in a changed file.
func (j *judge) fromData(c testout.Case, old test, need evidence) string {
	now, is := j.after.same(old)
	if !is || j.rows[c.Group+"\x00"+Trunk(c.Name)][1] < 1 {
		return ""
	}
	have := j.after.evidence(now)
	for name := range need.calls {
		if !have.calls[name] && !have.idents[name] {
			return ""
		}
	}
	for value := range need.literals {
		if have.literals[value] == 0 && !slices.ContainsFunc(j.Files, func(f File) bool {
			return !source(f.Path) && strings.Contains(f.After, strings.TrimPrefix(value, `"`))
		}) {
			return ""
		}
	}
	return "takes its values from a file now"
}

const subjectGone = ", which it tested, is gone"

// subject explains a test whose subject was removed from the product. It does not excuse a failed test, unless the plan
// asks for the removal.
func (j *judge) subject(need evidence, red bool) string {
	for _, name := range slices.Sorted(maps.Keys(need.calls)) {
		if j.removed[name] && (!red || j.Plan.RemovalOf(name)) {
			return name + subjectGone
		}
	}
	return ""
}

// testMark matches the beginning of a test's name that marks it as a test.
var testMark = lazyre.New(`^[Tt]est_?`)

// abandoned explains a test of behaviour that the plan asks to remove: it is named after it, or has most of its words.
func (j *judge) abandoned(old test, red bool) string {
	var left strings.Builder
	for _, t := range j.after.tests {
		if t.path == old.path {
			left.WriteString(t.unit.Name + "\n" + t.unit.Text)
		}
	}
	name := testMark.ReplaceAllString(bare(old.unit.Name), "")
	for _, name := range []string{name, strings.ToLower(name)} {
		if !red && j.Plan.RemovalOf(name) && j.gone(name) {
			return name + subjectGone
		}
	}
	if red || !j.Plan.Abandons(old.unit.Name+"\n"+old.unit.Text, left.String()) {
		return ""
	}
	return "what the plan removes" + subjectGone
}

// within reports whether b contains all lines of a.
func within(a, b []string) bool {
	have := lists.Counts(b, func(l string) string { return l })
	for _, l := range a {
		if have[l]--; have[l] < 0 {
			return false
		}
	}
	return len(a) > 0
}

// productNames returns the names that changed product files no longer declare, and the names that they newly declare.
func productNames(files []File) (removed, added map[string]bool) {
	was, is := map[string]bool{}, map[string]bool{}
	for _, f := range files {
		if language.OfTest(f.Path) != "" || !source(f.Path) {
			continue
		}
		for l := range strings.Lines(f.Before) {
			if name, _ := declaration(strings.TrimRight(l, "\r\n")); name != "" {
				was[name] = true
			}
		}
		for l := range strings.Lines(f.After) {
			if name, _ := declaration(strings.TrimRight(l, "\r\n")); name != "" {
				is[name] = true
			}
		}
	}
	removed, added = maps.Clone(was), maps.Clone(is)
	maps.DeleteFunc(removed, func(name string, _ bool) bool { return is[name] })
	maps.DeleteFunc(added, func(name string, _ bool) bool { return was[name] })
	return removed, added
}

func source(p string) bool {
	return slices.Contains([]string{".go", ".py", ".js", ".ts", ".jsx", ".tsx", ".mjs", ".cjs", ".mts", ".cts", ".rs",
		".java", ".kt", ".sh", ".bash", ".rb"}, path.Ext(p))
}
