package history

import (
	"fmt"
	"strings"
	"testing"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/linediff"
	"github.com/runplan/runplan/training"
)

// A commit whose task tells too little of it, or is about what the example does not show, is refused with the reason.
func TestUntaughtCommitIsRefused(t *testing.T) {
	before, after := "package a\n\nfunc Retry() int {\n\treturn 1\n}\n", "package a\n\nfunc Retry() int {\n\treturn 2\n}\n"
	empty, comment := strings.Replace(before, "func", "//\n\nfunc", 1),
		strings.Replace(before, "func", "// Retry is 1.\nfunc", 1)
	large := strings.Replace(before, "\treturn 1\n", "\tclient, budget := dial(address), newBudget(seconds)\n\t"+
		"for budget.left() && !client.ready() {\n\t\tclient.backoff(jitter, "+
		"ceiling)\n\t\tmetrics.count(\"attempts\")\n\t}\n\t"+
		"return client.outcome()\n", 1)
	calls := func(words string) string {
		return strings.Replace(before, "\treturn 1\n", "\tclient.backoff("+words+")\n\treturn 1\n", 1)
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
		"a document in code":      {"a.go", "Return two from the docs", before, after, "", ""},
		"a change of other words": {"a.go", "Load the configuration from a folder", before, after, "", "tells too little"},
		"words of a link":         {"a.go", "Load it\n\nhttps://example.org/return", before, after, "", "tells too little"},
		"an empty comment":        {"a.go", "Document the result of retry", before, empty, "", "tells too little"},
		"a comment":               {"a.go", "Document the result of retry", before, comment, "", ""},
		"one of five words": {"a.go", "No jitter then", calls("jitter, ceiling, limit"), before, "",
			"tells too little"},
		"one of four words": {"a.go", "No jitter then", calls("jitter, ceiling"), before, "", ""},
		"one new word":      {"a.go", "Add client jitter then", before, calls("jitter"), "", ""},
		"two new words":     {"a.go", "Add client jitter then", before, calls("jitter, ceiling"), "", "new words"},
		"one was there": {"a.go", "Add a ceiling of jitter then", calls("jitter"), calls("jitter, ceiling, limit"),
			"", ""},
		"common words":        {"a.go", "Add client jitter then", before, calls("jitter, will, should, add"), "", ""},
		"words of the folder": {"a.go", "Return it then", before, large, "", "tells too little"},
		"tells enough": {"a.go",
			"Return the outcome of the client\n\nIt dials the address, and its backoff has jitter up to a " +
				"ceiling while the new budget of seconds is not empty (ready, left, metrics, count, attempts).", before, large, "",
			""},
		"only a test": {"a_test.go", "Retry returns two after an error", before, after, "", "only tests"},
	} {
		t.Run(name, func(t *testing.T) {
			w := changing(tt.path, tt.task, tt.before, tt.after)
			for _, path := range strings.Fields(tt.path + " " + tt.also) {
				w.Entries = append(w.Entries, git.Entry{Path: path})
			}
			if got := w.untaught(query{text: tt.task}); tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// What a task does not say of tests does not count.
func TestSaidWordsAreThoseOfTheCode(t *testing.T) {
	w := changing("a.go", "Retry with jitter", "package a\n", "package a\n\nvar jitter, ceiling = 1, 2\n")
	test := changing("a_test.go", "", "package a\n", "package a\n\nvar retry, budget, client = 1, 2, 3\n").changes
	w.changes = append(w.changes, test...)
	if said, all, fresh := w.said(); said != 1 || all != 3 || fresh != 2 { // of "var", "jitter" and "ceiling"
		t.Errorf("%d of %d words, %d new", said, all, fresh)
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
			r.commit("Raise the tax to twelve of the price", file(12, 1))
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

// A third of the new lines may go. Brackets do not count, and neither do tests.
func TestThirdOfLinesMayGo(t *testing.T) {
	lines := func(n int) string {
		return "package a\n" + strings.Repeat("}\n", 9) + strings.Repeat("// a line\n", 6-n) +
			strings.Repeat("// a gone line\n", n)
	}
	for name, tt := range map[string]struct {
		path string
		gone int
		want bool
	}{
		"a third":         {"a.go", 2, false},
		"more":            {"a.go", 3, true},
		"more, of a test": {"a_test.go", 3, false},
	} {
		w := changing(tt.path, "", "package a\n", lines(tt.gone))
		w.changes[0].later = cutUp(tt.path, lines(0))
		if got := w.redone(); got != tt.want {
			t.Errorf("%s: %v", name, got)
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
		if got := tt.q.vague(); (got != "") != tt.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func cutUp(path, text string) *source {
	s := newSource(path, "x", text)
	s.split()
	return s
}

// Numbers and links that the prompt does not contain are known only to the author, so their commit is refused. Tests
// may choose their own.
func TestInventedContentIsRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		path, text string
		want       bool
	}{
		"a figure":           {"a.go", "const Height = 157\n", true},
		"a figure of a test": {"a_test.go", "const Height = 157\n", false},
		"a round figure":     {"a.go", "const Height = 1000\n", false},
		"a link":             {"a.go", "const Help = \"https://example.org/help/retry\"\n", true},
		"a known link":       {"a.go", "const Help = \"https://example.org/old.\"\n", false},
	} {
		c := &change{path: tt.path, after: cutUp(tt.path, tt.text),
			hunks: []linediff.Hunk{{NewTo: strings.Count(tt.text, "\n")}}}
		if got := (&work{changes: []*change{c}}).invented("See https://example.org/old"); (got != "") != tt.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
