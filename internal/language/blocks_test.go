package language

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBlocks(t *testing.T) {
	const text = "a\n\n1. b\n\n   ```python title=x\n   def f():\n       return 1\n   ```\n\n```\nplain\n```\n\n```go\nopen\n"
	var got []Block
	for _, b := range Blocks(text) {
		if raw := text[b.Start:b.End]; len(raw) < len(b.Text) {
			t.Errorf("%q is not in %q", b.Text, raw)
		}
		got = append(got, Block{Word: b.Word, Text: b.Text})
	}
	if d := cmp.Diff([]Block{{Word: "python", Text: "def f():\n    return 1\n"}, {Text: "plain\n"}}, got); d != "" {
		t.Errorf("Blocks (-want +got):\n%s", d)
	}
	for word, path := range map[string]string{"py": "a.py", "golang": "a.go", "ruby": "a.rb", "tsx": "a.tsx", "text": "a.txt"} {
		if got, want := OfWord(word), OfSource(path); got != want {
			t.Errorf("OfWord(%s) = %q, want %q as for %s", word, got, want, path)
		}
	}
}
