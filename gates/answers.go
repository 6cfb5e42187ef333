package gates

import (
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/runplan/runplan/gates/testcode"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/wordset"
	"github.com/runplan/runplan/planparse"
)

// Answers reports whether the batch is responsible for a finding that existed before it. It is responsible if the plan
// names the test, the file or the gate's command. Other words of the plan do not count.
//
//   - A test is named by its own name, or by its file in the title or in the text. The list of files does not count:
//     "Modify: cart_test.go" is the place for the batch's own tests, and says nothing about a test that already
//     failed there. For other findings the list counts if such findings are the purpose of the batch.
//     It is also named by what it tests: its name without "test", or a function that it calls ("make add right" for
//     TestAdd). In the title any such name counts, in the text only one that is marked as code or is not a plain word.
//   - A file is named by its path or by its name in the title or in the text. An entry of a ChangeLog ("* cart_test.go:
//     Import tests.") counts only if it is about a failure.
//   - A command counts in the title, or in the text above the first step. Plans end most batches with a step that runs
//     all tests: it checks the work, and is not the purpose of the batch.
func (s Subject) Answers(g Info, f Finding) bool {
	text := fileEntry.ReplaceAllString(s.Batch.Title+"\n"+s.Batch.Text, "")
	text = logEntry.ReplaceAllStringFunc(text, func(entry string) string {
		if toPass.MatchString(entry) {
			return entry
		}
		return ""
	})
	listed := f.Test == "" && s.Names(f.Path) && aboutFindings.MatchString(aim(s.Batch))
	switch {
	case f.Path != "" && (listed || hasFile(text, f.Path)):
		return true
	case f.Test != "" && (namesTest(text, f.Test) || s.namesTested(f)):
		return true
	}
	for _, r := range s.Batch.Regression {
		file, test, _ := strings.Cut(r, "::")
		if file == f.Path && (test == "" || f.Test == "" || namesTest(test, f.Test)) {
			return true
		}
	}
	return g.Command != "" && has(aim(s.Batch), g.Command)
}

// Mentions reports whether the title or the text of the batch contains the path or the name of a file. A mention does
// not ask for a change: see [Subject.Names].
func (s Subject) Mentions(file string) bool { return hasFile(s.Batch.Title+"\n"+s.Batch.Text, file) }

func hasFile(text, file string) bool {
	name := path.Base(file)
	return has(text, file) || strings.Contains(name, ".") && has(text, name)
}

// fileEntry matches an entry of a list of files: "- Modify: `cart_test.go`".
var fileEntry = lazyre.New(
	"(?im)^[ \\t]*[-*][ \\t]*\\**(?:create|modify|modified|change|edit|update|tests?|add|new)\\**:\\**[ \\t].*$")

// logEntry matches an entry of a ChangeLog: "* test/test_set.rb (TC_Set): Import tests.". Its file is only the place of
// a change, unless the entry is about a failure.
var (
	logEntry = lazyre.New(`(?m)^[ \t]*\*[ \t]+[\w./-]+\.\w+(?:,[ \t]*[\w./-]+)*(?:[ \t]*\([^)\n]*\))?:[ \t].*$`)
	toPass   = lazyre.New(`(?i)\b(?:pass|fail|fix|correct|repair|broken|green|red)`)
)

// aboutFindings matches a purpose that is about the findings of linters and type checkers.
var aboutFindings = lazyre.New(
	`(?i)\b(?:lint\w*|vet|warnings?|findings?|type errors?|typing|ruff|flake8|mypy|pyright|eslint|xo|tsc|clippy|rubocop)\b`)

// namesTest reports whether a text names a test: in full, or by the last part of its name if that part is unmistakable.
func namesTest(text, test string) bool {
	if has(text, test) {
		return true
	}
	for _, sep := range []string{"::", testcode.GroupMark, " > ", "#", "."} {
		if i := strings.LastIndex(test, sep); i >= 0 {
			test = test[i+len(sep):]
		}
	}
	for name := test; ; { // a subtest, then each test that contains it
		if unmistakable(name) && has(text, name) {
			return true
		}
		i := strings.LastIndex(name, "/")
		if i < 0 {
			return false
		}
		name = name[:i]
	}
}

// namesTested reports whether the batch names what a test tests.
func (s Subject) namesTested(f Finding) bool {
	title := lists.Set(strings.FieldsFunc(strings.ToLower(s.Batch.Title),
		func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }))
	for _, name := range append(calledIn(filepath.Join(s.Dir, filepath.FromSlash(f.Path)), f), tested(f.Test)) {
		lower := strings.ToLower(name)
		if len(name) < 2 || plain.Has(lower) {
			continue
		}
		if title[lower] || has(s.Batch.Text, "`"+name+"`") || has(s.Batch.Text, "`"+name+"()`") || unmistakable(name) &&
			has(s.Batch.Text, name) {
			return true
		}
	}
	return false
}

// tested returns the last part of a test's name without the part that marks it as a test: Add for TestAdd, add for
// test_add.
func tested(test string) string {
	test = lastPart(test)
	for _, prefix := range []string{"Test_", "test_", "Test", "test"} {
		if rest, ok := strings.CutPrefix(test, prefix); ok {
			return rest
		}
	}
	return ""
}

// lastPart returns the name of a test without its file, class and subtest: test_add for
// tests/test_calc.py::Calc::test_add.
func lastPart(test string) string {
	if i := strings.LastIndex(test, "::"); i >= 0 {
		test = test[i+2:]
	}
	if i := strings.LastIndex(test, testcode.GroupMark); i >= 0 {
		return test[i+len(testcode.GroupMark):]
	}
	test, _, _ = strings.Cut(test, "/")
	if i := strings.LastIndexAny(test, ".>"); i >= 0 && !strings.HasSuffix(test, ".") {
		test = strings.TrimSpace(test[i+1:])
	}
	return test
}

var call = lazyre.New(`([A-Za-z_]\w*)\s*\(`)

// calledIn lists the functions that a test calls by its text; nil if the file or the test does not exist.
func calledIn(file string, f Finding) []string {
	if f.Path == "" {
		return nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	name := lastPart(f.Test)
	var names []string
	for _, u := range testcode.Read(f.Path, string(data)).Units {
		title := strings.ReplaceAll(u.Name, testcode.GroupMark, " ") // as mocha and RSpec print it
		if bare := u.Bare(); bare == name || bare == f.Test || title == f.Test ||
			strings.Contains(bare, " ") && strings.HasSuffix(f.Test, " "+bare) {
			for _, m := range call.FindAllStringSubmatch(u.Text, -1) {
				names = append(names, m[1])
			}
		}
	}
	return names
}

// plain holds names of functions that tests of any subject call.
var plain = wordset.New(
	"error errorf fatal fatalf run log logf helper new print println printf sprintf test tests it describe expect " +
		"assert equal equals true false not fail skip main len range make append string int str list dict set open close " +
		"read write get put join split format map filter type call func function if for while switch return with is in of " +
		"to be")

// unmistakable reports whether a name cannot be an ordinary word, because it contains an underscore, a slash, a space
// or an inner capital.
func unmistakable(name string) bool {
	if strings.ContainsAny(name, "_/ ") {
		return true
	}
	return strings.IndexFunc(name, unicode.IsUpper) >= 0 && strings.LastIndexFunc(name, unicode.IsUpper) > 0
}

// has reports whether a text contains a name as a whole word, not as a part of a longer name.
func has(text, name string) bool {
	inside := func(r byte) bool {
		return r == '_' || r == '/' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= 0x80
	}
	for from := 0; ; {
		i := strings.Index(text[from:], name)
		if i < 0 || name == "" {
			return false
		}
		start, end := from+i, from+i+len(name)
		before := start > 0 && (inside(text[start-1]) || text[start-1] == '-' || text[start-1] == '.' && start > 1 &&
			inside(text[start-2]))
		after := end < len(text) &&
			(inside(text[end]) || text[end] == '-' || text[end] == '.' && end+1 < len(text) && inside(text[end+1]))
		if !before && !after {
			return true
		}
		from = start + 1
	}
}

// aim returns the purpose of a batch: its title, and its text up to the first step or section.
func aim(b planparse.Batch) string {
	var out strings.Builder
	out.WriteString(b.Title + "\n")
	for line := range strings.Lines(b.Text) {
		t := strings.TrimSpace(line)
		if strings.HasPrefix(t, "#") || strings.HasPrefix(t, "- ") || strings.HasPrefix(t, "* ") ||
			strings.HasPrefix(t, "+ ") ||
			t != "" && t[0] >= '0' && t[0] <= '9' && strings.ContainsAny(t[:min(len(t), 4)], ".)") {
			break
		}
		out.WriteString(line)
	}
	return out.String()
}
