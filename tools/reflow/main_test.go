package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// reflow breaks long lines where Go allows it, and changes nothing else.
func TestReflow(t *testing.T) {
	word := strings.Repeat("word ", 30)
	name := filepath.Join(t.TempDir(), "a.go")
	src := "package a\n\n// f " + word + "\n// end.\nfunc f(a int) {\n" +
		"\tif aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa == 1 && " +
		"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb == 2 {\n\t}\n" +
		"\tprintln(a, \"" + word + "\")\n" +
		"\tx := 1 // " + word + "\n" +
		"\traw(`" + word + "`)\n}\n"
	if err := os.WriteFile(name, []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := reflow(name); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(string(got), "\n") {
		if len(line) > width && !strings.Contains(line, "`") {
			t.Errorf("line %d is too long: %s", i+1, line)
		}
	}
	if n := strings.Count(string(got), "word "); n < 4*30-6 {
		t.Errorf("%d words are left:\n%s", n, got)
	}
	for _, part := range []string{"== 1 &&\n\t\tbbb", "word \"+\n", "\n\tx := 1\n", "word end.\nfunc f", "\traw(`word"} {
		if !strings.Contains(string(got), part) {
			t.Errorf("no %q in\n%s", part, got)
		}
	}
	if err := reflow(name); err != nil {
		t.Fatal(err)
	}
	if again, _ := os.ReadFile(name); string(again) != string(got) {
		t.Errorf("a second pass changes:\n%s", again)
	}
}
