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
	for name, tt := range map[string]struct {
		task, before, after string
		entries             int
		want                string
	}{
		"says what and where": {"Retry returns two after an error", before, after, 1, ""},
		"about workflows":     {"Add Windows to the CI workflows", before, after, 2, "not code"},
		"a formatter":         {"Run gofmt over retry", before, after, 1, "a program"},
		"a direction":         {"Improve the retry behaviour somewhat", before, after, 1, "does not describe the result"},
		"a direction, explained": {"Improve the retry behaviour\n\nIt has to return two, because one is taken by the " +
			"first of all attempts.", before, after, 1, ""},
		"comments code out":       {"Retry only once after an error", code, out, 1, "comments code out"},
		"a change of other words": {"Load the configuration from a folder", before, after, 1, "no word of the task"},
	} {
		t.Run(name, func(t *testing.T) {
			c := &change{path: "a.go", before: cutUp("a.go", tt.before), after: cutUp("a.go", tt.after)}
			c.hunks, _, _ = linediff.Compare(linediff.Lines(tt.before), linediff.Lines(tt.after), 100)
			w := &work{task: tt.task, changes: []*change{c}, Past: git.Past{Entries: make([]git.Entry, tt.entries)}}
			if got := w.untaught(query{text: tt.task}); tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func cutUp(path, text string) *source {
	s := newSource(path, "x", text)
	s.split()
	return s
}

// Numbers and prose that the prompt does not contain are known only to the author, so their commit is refused. Tests
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
		"prose": {"a.go",
			"// Passphrases protect against somebody who steals an identity file, while scrypt slows down every single guess " +
				"considerably; consider longer sentences instead.\n", true},
	} {
		c := &change{path: tt.path, after: cutUp(tt.path, tt.text),
			hunks: []linediff.Hunk{{NewTo: strings.Count(tt.text, "\n")}}}
		if got := (&work{changes: []*change{c}}).invented(known, ""); (got != "") != tt.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
