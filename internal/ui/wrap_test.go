package ui

import (
	"strings"
	"testing"
)

func TestWrapperBreaksBetweenWords(t *testing.T) {
	for text, want := range map[string]string{
		"short\n": "short\n",
		"one line that is longer than the terminal\n":     "one line that is longer\n  than the terminal\n",
		"  → to continue: runplan resume e686155b\n":      "  → to continue:\n    runplan resume e686155b\n",
		"run `go test -json ./...` before it merges\n":    "run `go test -json ./...`\n  before it merges\n",
		"a run of the branch runplan/plan/main\n":         "a run of the branch\n  runplan/plan/main\n",
		"https://example.org/a/very/long/address/here\n":  "https://example.org/a/very/long/address/here\n",
		"\x1b[31mred words that go on and on\x1b[0m\n":    "\x1b[31mred words that go on and\n  on\x1b[0m\n",
		`{"json": "stays as it is, whatever its length"}`: `{"json": "stays as it is, whatever its length"}`,
		"diff --git a/x b/x\n+a line of code that is longer than that\n": "diff --git a/x b/x\n+a line of code that is " +
			"longer than that\n",
	} {
		var out strings.Builder
		w := &Wrapper{To: &out, Width: func() int { return 26 }}
		if n, err := w.Write([]byte(text)); n != len(text) || err != nil {
			t.Errorf("wrote %d of %d: %v", n, len(text), err)
		}
		if got := out.String(); got != want {
			t.Errorf("%q became\n%s\nwant\n%s", text, got, want)
		}
	}
}

func TestWrapperContinuesPartialLines(t *testing.T) {
	var out strings.Builder
	w := &Wrapper{To: &out, Width: func() int { return 20 }}
	for _, part := range []string{"batch one: ", "green and ", "merged\n", "next\n"} {
		_, _ = w.Write([]byte(part))
	}
	if got, want := out.String(), "batch one: green and \n  merged\nnext\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWrapperKeepsFileLines(t *testing.T) {
	var out strings.Builder
	w := &Wrapper{To: &out, Width: func() int { return 0 }}
	text := strings.Repeat("word ", 100) + "\n"
	_, _ = w.Write([]byte(text))
	if out.String() != text {
		t.Error("a file got broken lines")
	}
}
