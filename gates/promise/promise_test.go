package promise

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/runplan/runplan/gates/gatetest"
	"github.com/runplan/runplan/planparse"
)

type tree []string

func (t tree) Files() []string { return t }

func (t tree) Ignored(context.Context, []string) (map[string]bool, error) { return nil, nil }

func TestHollowFiles(t *testing.T) {
	for _, c := range []struct {
		file, text, plan string
		want             bool
	}{
		{"docs/usage.md", "\n", "", true},
		{"docs/usage.md", "# Usage\n\nTODO: write it.\n", "", true},
		{"docs/usage.md", "# Usage\n\nRun calc 2 3.\n", "", false},
		{"docs/usage.md", "", "Create an empty file.", false},
		{"cli.py", "\"\"\"Prints sums.\"\"\"\n# TODO: print\npass\n", "", true},
		{"cli.py", "def main():\n    \"\"\"Print.\"\"\"\n    raise NotImplementedError\n", "", true},
		{"base.py", "class Base:\n    def run(self):\n        raise NotImplementedError\n", "", false},
		{"more/__init__.py", "", "", false},
		{"calc.go", "package calc\n", "", true},
		{"calc.go", "package calc\n", "```go\npackage calc\n```", false},
		{"calc.h", "#define SIZE 3\n", "", false},
		{"cli.go", "package calc\n\nfunc Run() { panic(\"not implemented\") }\n", "", true},
		{"cli.go", "package calc\n\nfunc Run() { panic(\"not implemented\") }\n", "A skeleton follows.", false},
	} {
		s := gatetest.Change(t, nil, map[string]string{c.file: c.text})
		s.Dir, s.Batch = t.TempDir(), planparse.Batch{Text: c.plan}
		file := filepath.Join(s.Dir, c.file)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := (Options{Tree: tree{c.file}}).hollow(s, c.file); got != c.want {
			t.Errorf("%s %q: %v", c.file, c.text, got)
		}
	}
}

func TestBlankChanges(t *testing.T) {
	for _, c := range []struct {
		before, after, plan string
		want                bool
	}{
		{"a b\n", "a b\n\n", "Describe add.", true},
		{"a b\n", "a b\n\n", "Format the guide.", false},
		{"a b\n", "a b c\n", "Describe add.", false},
		{"a b\n", "a b  \r\n", "Describe add.", true},
		{"if a:\n    b\n    c\n", "if a:\n    b\nc\n", "Describe add.", false},
		{"", "\n", "Describe add.", false},
	} {
		s := gatetest.Change(t, map[string]string{"usage.md": c.before}, map[string]string{"usage.md": c.after})
		s.Batch.Text = c.plan
		got, err := Options{}.blank(t.Context(), s, "usage.md")
		if err != nil || got != c.want {
			t.Errorf("%q, %q: %v, %v", c.before, c.after, got, err)
		}
	}
}

// The batch may not change a check that only its commands mention.
func TestMentionedChecks(t *testing.T) {
	b := planparse.Batch{Text: "Correct add.\n\nRun: `sh verify.sh`\n"}
	b.Commands = []planparse.Command{{Run: "sh verify.sh"}}
	if mentioned(b, "verify.sh") {
		t.Error("a command is no mention")
	}
	if b.Text += "Extend verify.sh.\n"; !mentioned(b, "verify.sh") {
		t.Error("the text mentions it")
	}
}
