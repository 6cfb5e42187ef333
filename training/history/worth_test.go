package history

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/runplan/runplan/internal/edit"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/linediff"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/training"
)

// A commit whose task tells too little of it, or is about what the example does not show, is refused with the reason.
func TestUntaughtCommitIsRefused(t *testing.T) {
	before, after := "package a\n\nfunc Retry() int {\n\treturn error(1)\n}\n",
		"package a\n\nfunc Retry() int {\n\treturn error(2)\n}\n"
	empty, comment := strings.Replace(before, "func", "//\n\nfunc", 1),
		strings.Replace(before, "func", "// Retry has a result.\nfunc", 1)
	large := strings.Replace(before, "\treturn error(1)\n", "\tclient, budget := dial(address), newBudget(seconds)\n\t"+
		"for budget.left() && !client.ready() {\n\t\tclient.backoff(jitter, "+
		"ceiling)\n\t\tmetrics.count(\"attempts\")\n\t}\n\t"+
		"return client.outcome()\n", 1)
	calls := func(words string) string {
		return strings.Replace(before, "\treturn error(1)\n", "\tclient.backoff("+words+")\n\treturn error(1)\n", 1)
	}
	for name, tt := range map[string]struct {
		path, task, before, after string
		also                      string // another file that the commit changes
		want                      string
	}{
		"says what and where":     {"a.go", "Retry returns two after an error", before, after, "", ""},
		"and a document":          {"a.go", "Retry returns two after an error", before, after, "docs/a.MD", ""},
		"and a list of changes":   {"a.go", "Retry returns two after an error", before, after, "CHANGES", ""},
		"and a setting":           {"a.go", "Retry returns two after an error", before, after, "ci.yml", "not shown"},
		"and a script":            {"a.go", "Retry returns two after an error", before, after, "build", "not shown"},
		"about a document":        {"a.go", "docs: return from the guide", before, after, "guide.md", "not code"},
		"a document in code":      {"a.go", "Return an error of two from the docs", before, after, "", ""},
		"a change of other words": {"a.go", "Load the configuration from a folder", before, after, "", "tells too little"},
		"words of a link": {"a.go", "Load it\n\nhttps://example.org/return/error", before, after, "",
			"tells too little"},
		"an empty comment": {"a.go", "Document the result of retry", before, empty, "", "tells too little"},
		"a comment":        {"a.go", "Document the result of retry", before, comment, "", ""},
		"two of ten words": {"a.go", "No client jitter then", calls("jitter, ceiling, limit, base, least, most, all, wait"),
			before, "", "tells too little"},
		"two of nine words": {"a.go", "No client jitter then", calls("jitter, ceiling, limit, base, least, most, all"),
			before, "", ""},
		"two of three words": {"a.go", "Return it twice then", before, strings.Replace(before, "1", "twice()", 1), "", ""},
		"one of two words": {"a.go", "Never return one then", before, strings.Replace(before, "return error(1)", "return", 1),
			"",
			"tells too little"},
		"one new word":             {"a.go", "Add client jitter then", before, calls("jitter"), "", ""},
		"two new words":            {"a.go", "Add client jitter then", before, calls("jitter, ceiling"), "", "new words"},
		"three new words, and why": {"a.go", "Add client jitter then" + why, before, calls("jitter, ceiling, base"), "", ""},
		"four":                     {"a.go", "Add client jitter then" + why, before, calls("jitter, ceiling, base, most"), "", "new words"},
		"the word is told":         {"a.go", "Add client backoff jitter then", before, calls("jitter"), "", ""},
		"it was there": {"a.go", "Add a ceiling of jitter then", calls("jitter"), calls("jitter, ceiling, client"), "",
			""},
		"common words":        {"a.go", "Add client backoff jitter then", before, calls("jitter, will, should, add"), "", ""},
		"words of the folder": {"a.go", "Return it then", before, large, "", "tells too little"},
		"tells enough": {"a.go",
			"Return the outcome of the client\n\nIt dials the address, and its backoff has jitter up to a " +
				"ceiling while the new budget of seconds is not empty (newBudget, ready, left, metrics, count, attempts).", before,
			large, "",
			""},
		"only a test": {"a_test.go", "Retry returns two after an error, says the test", before, after, "",
			"only tests"},
		"documents":          {"a.go", "Docs updates for Retry: its result", before, comment, "", "does not say how"},
		"documents and code": {"a.go", "Docs updates for Retry, and return another error", before, after, "", ""},
		"only blank lines":   {"a.go", "Retry returns after a blank line", before, before + "\n", "", "blank lines"},
		"and data of tests":  {"a.go", "Retry returns two after an error", before, after, "testdata/a.json", ""},
		"with data of tests": {"a.go", "Test that Retry returns two after an error", before, after, "testdata/a.json",
			"not shown"},
	} {
		t.Run(name, func(t *testing.T) {
			w := changing(tt.path, tt.task, tt.before, tt.after)
			for _, path := range strings.Fields(tt.path + " " + tt.also) {
				w.Entries = append(w.Entries, git.Entry{Path: path})
			}
			if got := w.answer().untaught(query{text: tt.task}); tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// Tests are in the answer only if the task speaks of them, and what changes only blank lines or the ends of lines never
// is. The same lines are counted and written.
func TestAnswerIsWhatTheTaskAsks(t *testing.T) {
	const before = "package a\n\nfunc A() {}\nfunc B() {}\n\nfunc C() {} \n"
	const after = "package a\n\nvar jitter, ceiling = 1, 2\n\nfunc A() {}\n\nfunc B() {}\n\nfunc C() {}\n"
	const written = "package a\n\nvar jitter, ceiling = 1, 2\n\nfunc A() {}\nfunc B() {}\n\nfunc C() {} \n"
	for name, tt := range map[string]struct {
		task, test       string
		said, all, fresh int
		answer           string // paths
	}{
		"of code":          {"Retry with jitter", "a_test.go", 1, 3, 2, "a.go"}, // "var", "jitter" and "ceiling"
		"and of tests":     {"Retry with jitter, and test it", "a_test.go", 2, 5, 3, "a.go a_test.go"},
		"and of a spec":    {"Retry: spec for jitter", "spec/a.js", 2, 5, 3, "a.go spec/a.js"},
		"data of tests":    {"Retry with jitter", "tests/data/a.go", 1, 3, 2, "a.go"},
		"a name with test": {"TestClient: retry with jitter", "a_test.go", 1, 3, 2, "a.go"},
	} {
		t.Run(name, func(t *testing.T) {
			w := changing("a.go", tt.task, before, after)
			w.changes = append(w.changes,
				changing(tt.test, "", "package a\n", "package a\n\nvar retry, budget = 1, 2\n").changes...)
			w.changes = append(w.changes, changing("b.go", "", "a\n\n\nb\n", "a\nb\t\n").changes...)
			a := w.answer()
			if said, all, fresh := a.said(); said != tt.said || all != tt.all || fresh != tt.fresh {
				t.Errorf("%d of %d words, %d new", said, all, fresh)
			}
			if got := strings.Join(lists.Map(a.changes, func(c *change) string { return c.path }), " "); got != tt.answer {
				t.Errorf("changes %q", got)
			}
			if n := len(a.changes) + len(a.beside); n != 3 {
				t.Errorf("%d files", n)
			}
			got, err := a.changes[0].edits()
			if err != nil {
				t.Fatal(err)
			}
			list, err := edit.Parse(got.Text, "")
			if err != nil || len(list) != 1 {
				t.Fatal(err, got.Text)
			}
			if now, err := edit.Apply(before, list[0]); err != nil || now != written {
				t.Errorf("%v\n%s", err, now)
			}
		})
	}
}

var funcName = regexp.MustCompile(`func (\w+)`)

// Tests of a name that the change removes or renames belong to the answer, although the task does not speak of them:
// they could not stay as they are.
func TestTestsOfRemovedNamesAreInAnswer(t *testing.T) {
	const before = "package a\n\nfunc Wait() {}\n\nfunc Retry() {}\n"
	uses := func(name string) string { return "package a\n\nvar _ = " + name + "\n" }
	for name, tt := range map[string]struct{ after, test, want string }{
		"renamed": {strings.Replace(before, "Wait", "Pause", 1), "Wait", "a.go a_test.go"},
		"removed": {strings.Replace(before, "func Wait() {}\n", "", 1), "Wait", "a.go a_test.go"},
		"another": {strings.Replace(before, "Wait", "Pause", 1), "Retry", "a.go"},
		"stays":   {before + "\nfunc Pause() {}\n", "Wait", "a.go"},
	} {
		w := changing("a.go", "Pause before each try", before, tt.after)
		for _, s := range []*source{w.changes[0].before, w.changes[0].after} {
			for _, name := range funcName.FindAllStringSubmatch(s.text, -1) {
				s.symbols = append(s.symbols, symbol{short: name[1]})
			}
		}
		w.changes = append(w.changes, changing("a_test.go", "", uses(tt.test), uses("Pause")).changes...)
		if got := strings.Join(lists.Map(w.answer().changes, func(c *change) string { return c.path }), " "); got != tt.want {
			t.Errorf("%s: the answer has %q, want %q", name, got, tt.want)
		}
	}
}

// A commit whose lines a later one changes within a year is refused, also if that has no example itself, and if another
// commit changes the file in between. After that time, in other lines, and back to what was before are no reasons.
func TestRedoneCommitIsRefused(t *testing.T) {
	file := func(tax, fee int) string {
		return fmt.Sprintf("-- price/tax.go --\npackage price\n\nconst tax = %d\n\nconst fee = %d\n", tax, fee)
	}
	for name, tt := range map[string]struct {
		days int // between the commits
		then []string
		want int
	}{
		"the same line":               {1, []string{file(13, 1)}, 1},
		"the same line, much later":   {366, []string{file(13, 1)}, 0},
		"the same line, late":         {365, []string{file(13, 1)}, 1},
		"another line":                {1, []string{file(12, 2)}, 0},
		"another line, then the same": {1, []string{file(12, 2), file(13, 2)}, 1},
		"there and back":              {1, []string{file(13, 1), file(12, 1)}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepo(t)
			r.commit("Begin the shop with carts and prices", shop+file(11, 1))
			r.commit("Raise the const tax to twelve of the price", file(12, 1))
			for _, archive := range tt.then {
				r.now = r.now.AddDate(0, 0, tt.days-7)
				r.commit("fix", archive)
			}
			m, err := Run(t.Context(), r.options(t.TempDir()))
			if err != nil {
				t.Fatal(err)
			}
			if got := m.Files[training.ExecuteCode].Not[redone]; got != tt.want {
				t.Errorf("%d refused: %v", got, m.Files[training.ExecuteCode].Not)
			}
		})
	}
}

// A third of the new lines may go. Brackets do not count.
func TestThirdOfLinesMayGo(t *testing.T) {
	lines := func(n int) string {
		return "package a\n" + strings.Repeat("}\n", 9) + strings.Repeat("// a line\n", 6-n) +
			strings.Repeat("// a gone line\n", n)
	}
	for gone, want := range map[int]bool{2: false, 3: true} {
		w := changing("a.go", "", "package a\n", lines(gone))
		w.futures[1] = map[string]*source{"a.go": cutUp("a.go", lines(0))}
		if got := w.redone(); got != want {
			t.Errorf("%d gone: %v", gone, got)
		}
	}
}

// Within two weeks no line may go.
func TestNoLineMayGoSoon(t *testing.T) {
	w := changing("a.go", "", "package a\n", "package a\n// a line\n// a line\n// a line\n// a wrong line\n")
	for i, want := range []bool{true, false} {
		w.futures = [len(lasting)]map[string]*source{}
		w.futures[i] = map[string]*source{"a.go": cutUp("a.go", "package a\n// a line\n\t// a wrong line\n")}
		if got := w.redone(); got != want {
			t.Errorf("after %v: %v", lasting[i].span, got)
		}
	}
	file := func(tax, others int) string {
		return fmt.Sprintf("-- price/tax.go --\npackage price\n\nconst tax = %d\nconst fee = %d\nconst toll = %[2]d\n"+
			"const duty = %[2]d\n", tax, others)
	}
	for days, want := range map[int]int{14: 1, 15: 0} {
		r := newRepo(t)
		r.commit("Begin the shop with carts and prices", shop+file(11, 11))
		r.commit("Raise the const tax, fee, toll and duty to twelve of the price", file(12, 12))
		r.now = r.now.AddDate(0, 0, days-7)
		r.commit("fix", file(13, 12))
		m, err := Run(t.Context(), r.options(t.TempDir()))
		if err != nil {
			t.Fatal(err)
		}
		if not := m.Files[training.ExecuteCode].Not; not[redone] != want {
			t.Errorf("one of four lines after %d days: %v", days, not)
		}
	}
}

// changing is a commit that changes one file.
func changing(path, task, before, after string) *work {
	c := &change{path: path, before: cutUp(path, before), after: cutUp(path, after)}
	c.hunks, _, _ = linediff.Compare(linediff.Lines(before), linediff.Lines(after), 100)
	return &work{task: task, changes: []*change{c}}
}

// A short task must name code. The name of a file is not enough.
func TestShortTaskNamesCode(t *testing.T) {
	for name, tt := range map[string]struct {
		q    query
		want bool
	}{
		"a file":          {query{text: "Update tree.go", files: []string{"tree.go"}}, true},
		"a function":      {query{text: "Export parseTree()", symbols: []string{"parseTree"}}, false},
		"a file, in full": {query{text: "Count the leaves in tree.go", files: []string{"tree.go"}}, false},
	} {
		if got := tt.q.vague(); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func cutUp(path, text string) *source {
	s := newSource(path, "x", text)
	s.split()
	return s
}

// Numbers and links that the prompt does not contain are known only to the author, so their commit is refused.
func TestInventedContentIsRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		want bool
	}{
		"a figure":       {"const Height = 157\n", true},
		"a round figure": {"const Height = 1000\n", false},
		"a link":         {"const Help = \"https://example.org/help/retry\"\n", true},
		"a known link":   {"const Help = \"https://example.org/old.\"\n", false},
	} {
		c := &change{path: "a.go", after: cutUp("a.go", tt.text),
			hunks: []linediff.Hunk{{NewTo: strings.Count(tt.text, "\n")}}}
		if got := (&work{changes: []*change{c}}).invented("See https://example.org/old"); (got != "") != tt.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
