package yamldoc

import (
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

func TestErrorsHaveTheirLine(t *testing.T) {
	var to struct {
		A int `yaml:"a"`
	}
	for text, want := range map[string]struct {
		line    int
		message string
	}{
		"a: 1\nb: 2\n": {2, `unknown field "b"`},
		"a: 1\na: 2\n": {2, "already defined"},
		"\n\na: x\n":   {3, "cannot unmarshal"},
		"a: [1\n":      {1, "']' not found"},
	} {
		file, err := Parse(text)
		if err == nil {
			err = Decode(file.Docs[0].Body, &to, yaml.Strict())
		}
		if err == nil {
			t.Errorf("%q: no error", text)
			continue
		}
		if line, message := Place(err); line != want.line || !strings.Contains(message, want.message) ||
			strings.Contains(message, "\n") {
			t.Errorf("%q: line %d: %s", text, line, message)
		}
	}
}

func FuzzUnmarshal(f *testing.F) {
	f.Add("a: &b [*b, {<<: *b}]\n? - x\n: |2\n")
	f.Fuzz(func(_ *testing.T, text string) {
		var to any
		_ = Unmarshal([]byte(text), &to) // without a panic
	})
}
