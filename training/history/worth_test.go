package history

import (
	"strings"
	"testing"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/linediff"
)

// A commit that does not teach what its message asks for is refused, with the reason.
func TestUntaughtCommitIsRefused(t *testing.T) {
	before, after := "package a\n\nfunc Retry() int {\n\treturn 1\n}\n", "package a\n\nfunc Retry() int {\n\treturn 2\n}\n"
	out := strings.Replace(before, "\treturn 1\n", "\t// value := retryLater(1)\n\t// use(value, 2)\n\treturn 2\n", 1)
	code := strings.Replace(before, "\treturn 1\n", "\tvalue := retryLater(1)\n\tuse(value, 2)\n\treturn 1\n", 1)
	empty, comment := strings.Replace(before, "func", "//\n\nfunc", 1), strings.Replace(before, "func", "// Retry is 1.\nfunc", 1)
	large := strings.Replace(before, "\treturn 1\n", "\tclient, budget := dial(address), newBudget(seconds)\n\t"+
		"for budget.left() && !client.ready() {\n\t\tclient.backoff(jitter, ceiling)\n\t\tmetrics.count(\"attempts\")\n\t}\n\t"+
		"return client.outcome()\n", 1)
	for name, tt := range map[string]struct {
		task, before, after string
		entries             int
		want                string
	}{
		"says what and where": {"Retry returns two after an error", before, after, 1, ""},
		"about workflows":     {"Add Windows to the CI workflows", before, after, 2, "not code"},
		"about an action":     {"chore(action): fix the retry action", before, after, 2, "not code"},
		"an action in code":   {"Return two from the retry action", before, after, 1, ""},
		"a formatter":         {"Run gofmt over retry", before, after, 1, "a program"},
		"a direction":         {"Improve the retry behaviour somewhat", before, after, 1, "does not describe the result"},
		"a direction, explained": {"Improve the retry behaviour\n\nIt has to return two, because one is taken by the " +
			"first of all attempts.", before, after, 1, ""},
		"a direction, with a link": {"Improve the retry behaviour\n\nhttps://example.org/the/first/of/all/attempts/to/return/two",
			before, after, 1, "does not describe the result"},
		"a review": {"Retry returns two\n\nhttps://example.org/pull/7#discussion_r1234567", before, after, 1,
			"a review says"},
		"an issue":                {"Retry returns two\n\nhttps://example.org/issues/7#issue-1234567", before, after, 1, ""},
		"comments code out":       {"Retry only once after an error", code, out, 1, "comments code out"},
		"a change of other words": {"Load the configuration from a folder", before, after, 1, "no word of the task"},
		"an empty comment":        {"Document the result of retry", before, empty, 1, "only blank lines"},
		"a comment":               {"Document the result of retry", before, comment, 1, ""},
		"tells little":            {"Return it then", before, large, 1, "tells too little"},
		"tells enough": {"Return the outcome of the client\n\nIt dials the address, and backs off with jitter up to a ceiling " +
			"while the budget of seconds is not empty.", before, large, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := changing("a.go", tt.task, tt.before, tt.after)
			w.Entries = make([]git.Entry, tt.entries)
			if got := w.untaught(query{text: tt.task}); tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// changing is a commit that changes one file.
func changing(path, task, before, after string) *work {
	c := &change{path: path, before: cutUp(path, before), after: cutUp(path, after)}
	c.hunks, _, _ = linediff.Compare(linediff.Lines(before), linediff.Lines(after), 100)
	return &work{task: task, changes: []*change{c}}
}

// The name of code says where, and not what: it explains no direction. Which examples of the use to show is a choice.
func TestNameAndPathOfTask(t *testing.T) {
	for _, tt := range []struct{ path, task, want string }{
		{"a.go", "Correct what retry() returns", ""},
		{"a.go", "Improve what retry() returns", "does not describe the result"},
		{"exampleserver/a.go", "Retry returns two after an error", ""},
		{"_examples/server/a.go", "Retry returns two after an error", "only examples"},
	} {
		w := changing(tt.path, tt.task, "package a\n\nfunc retry() int { return 1 }\n", "package a\n\nfunc retry() int { return 2 }\n")
		got := w.untaught(query{text: tt.task, symbols: []string{"retry"}})
		if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%s of %s: %q, want %q", tt.task, tt.path, got, tt.want)
		}
	}
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

// Numbers, links and prose that the prompt does not contain are known only to the author, so their commit is refused. Tests
// may choose their own numbers.
func TestInventedContentIsRefused(t *testing.T) {
	known := map[string]bool{}
	for name, tt := range map[string]struct {
		path, text string
		want       bool
	}{
		"a figure":           {"a.go", "const Height = 157\n", true},
		"a figure of a test": {"a_test.go", "const Height = 157\n", false},
		"a round figure":     {"a.go", "const Height = 1000\n", false},
		"a link":             {"a.go", "const Help = \"https://example.org/help/retry\"\n", true},
		"a known link":       {"a.go", "const Help = \"https://example.org/old.\"\n", false},
		"prose": {"a.go",
			"// Passphrases protect against somebody who steals an identity file, while scrypt slows down every single guess " +
				"considerably; consider longer sentences instead.\n", true},
	} {
		c := &change{path: tt.path, after: cutUp(tt.path, tt.text),
			hunks: []linediff.Hunk{{NewTo: strings.Count(tt.text, "\n")}}}
		if got := (&work{changes: []*change{c}}).invented(known, "See https://example.org/old"); (got != "") != tt.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
