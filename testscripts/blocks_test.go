package testscripts

import (
	"encoding/json"
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/pelletier/go-toml/v2"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"

	"github.com/runplan/runplan/planparse"
)

// block is a fenced block of a document. A comment right above it says how it is tested:
//
//	<!-- run: NAME -->          script NAME runs it, with the command blocks
//	<!-- not run: REASON -->    nothing runs it, and why
//
// Plans, settings and data need no comment: the test reads them.
type block struct {
	doc        string
	line       int
	kind, text string
	run, why   string
}

var blockComment = regexp.MustCompile(`^<!-- (run|not run): (.*) -->\s*$`)

var scriptName = regexp.MustCompile(`[\w*]+\.txtar`)

// blocksOf returns the fenced blocks of a document.
func blocksOf(doc string) ([]block, error) {
	src, err := os.ReadFile(doc)
	if err != nil {
		return nil, err
	}
	var all []block
	err = ast.Walk(goldmark.DefaultParser().Parse(text.NewReader(src)), func(n ast.Node, in bool) (ast.WalkStatus, error) {
		f, ok := n.(*ast.FencedCodeBlock)
		if !ok || !in {
			return ast.WalkContinue, nil
		}
		b := block{doc: doc, kind: string(f.Language(src)), text: string(f.Lines().Value(src))}
		if f.Lines().Len() > 0 {
			b.line = 1 + strings.Count(string(src[:f.Lines().At(0).Start]), "\n")
		}
		if above, ok := n.PreviousSibling().(*ast.HTMLBlock); ok {
			if m := blockComment.FindStringSubmatch(string(above.Lines().Value(src))); m != nil && m[1] == "run" {
				b.run = m[2]
			} else if m != nil {
				b.why = m[2]
			}
		}
		all = append(all, b)
		return ast.WalkContinue, nil
	})
	return all, err
}

// cmdBlocks writes the blocks of a document that name a script to block1.sh and so on, in the current folder. From a
// console block it takes only the commands.
func cmdBlocks(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: blocks DOCUMENT NAME")
	}
	all, err := blocksOf(ts.MkAbs(args[0]))
	ts.Check(err)
	n := 0
	for _, b := range all {
		if b.run != args[1] {
			continue
		}
		n++
		if b.kind == "console" {
			commands := regexp.MustCompile(`(?m)^\$ (.*\n)`).FindAllStringSubmatch(b.text, -1)
			b.text = ""
			for _, m := range commands {
				b.text += m[1]
			}
		}
		ts.Check(os.WriteFile(ts.MkAbs(fmt.Sprintf("block%d.sh", n)), []byte("set -eu\n"+b.text), 0o644))
	}
	if n == 0 {
		ts.Fatalf("%s has no block with the comment run: %s", args[0], args[1])
	}
}

// Each block of the documents is run by a script, is parsed by this test, or states why it is not run (SITE-02).
func TestDocumentBlocksAreChecked(t *testing.T) {
	var docs []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/adr/*.md", "examples/*/README.md"} {
		files, err := filepath.Glob(filepath.Join("..", filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		docs = append(docs, files...)
	}
	count := map[string]int{}
	for _, doc := range docs {
		if filepath.Base(doc) == "cli.md" {
			continue // generated: a test compares it with what the commands print
		}
		all, err := blocksOf(doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range all {
			how, err := b.tested()
			if err != nil {
				t.Errorf("%s:%d: %v", doc, b.line, err)
			}
			count[how]++
		}
	}
	t.Logf("blocks of documents: %d run, %d read, %d not run with a reason", count["run"], count["read"], count["not run"])
}

// tested returns how a block is tested.
func (b block) tested() (string, error) {
	switch {
	case b.run != "":
		script, err := os.ReadFile(filepath.Join("testdata", "script", b.run+".txtar"))
		doc := strings.TrimPrefix(filepath.ToSlash(b.doc), "../")
		if err == nil && !strings.Contains(string(script), "blocks $SOURCE/"+doc+" "+b.run+"\n") {
			err = fmt.Errorf("script %s does not have the line: blocks $SOURCE/%s %[1]s", b.run, doc)
		}
		return "run", err
	case b.why != "":
		if len(strings.Fields(b.why)) < 3 {
			return "not run", fmt.Errorf("%q is not a reason", b.why)
		}
		for _, name := range scriptName.FindAllString(b.why, -1) {
			if found, err := filepath.Glob(filepath.Join("testdata", "script", name)); err != nil || len(found) == 0 {
				return "not run", fmt.Errorf("there is no script %s (%v)", name, err)
			}
		}
		return "not run", nil
	}
	var v any
	switch b.kind {
	case "toml":
		return "read", toml.Unmarshal([]byte(b.text), &v)
	case "yaml":
		return "read", yaml.Unmarshal([]byte(b.text), &v)
	case "json":
		return "read", json.Unmarshal([]byte(b.text), &v)
	case "go":
		_, err := format.Source([]byte(b.text))
		return "read", err
	case "markdown":
		plan, err := planparse.Parse(b.doc, []byte(b.text))
		if err == nil && len(plan.Errors()) > 0 {
			err = fmt.Errorf("the plan has errors: %v", plan.Errors())
		}
		return "read", err
	}
	return "", fmt.Errorf("a block of kind %q needs the comment <!-- run: SCRIPT --> or <!-- not run: REASON --> above it",
		b.kind)
}
