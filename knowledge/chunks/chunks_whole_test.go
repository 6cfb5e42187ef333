package chunks

import (
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/internal/language"
)

// A string over several lines does not end the block around it, whatever its lines look like. Nor does a heredoc or a
// block comment.
func TestChunksKeepStringsWhole(t *testing.T) {
	body := func(open, end string) string {
		return open + "\nalone\n\n  deeper\n}\nalone again\n\n" + end + "\n"
	}
	fill := func(line string) string { return strings.Repeat(line+"\n", 9) }
	for file, text := range map[string]string{
		"a.go":    "func a() {\n" + fill("\tx()") + body("\ts := `", "`") + fill("\ty(s)") + "}\n",
		"b.go":    "func a() {\n" + body("\ts := strings.Split(`\\`+`", "`, x)") + fill("\ty(s)") + "}\n",
		"a.ts":    "it('a', async () => {\n" + fill("  x();") + body("  const s = `", "`;") + fill("  y(s);") + "});\n",
		"b.js":    "it('a', () => {\n" + body("  const s = String.raw`", "`;") + fill("  y(/`/, s);") + "});\n",
		"a.py":    "def a():\n" + fill("    x()") + body("    s = \"\"\"", "\"\"\"") + fill("    y(s)"),
		"b.py":    "def a():\n" + body("    '''Doc's.", "'''") + fill("    y(s)"),
		"a.php":   "<?php\nfunction a() {\n" + body("    $s = <<<SQL", "SQL;") + fill("    y($s);") + "}\n",
		"b.php":   "<?php\nfunction a() {\n" + body("    $s = 'a", "';") + fill("    y($s);") + "}\n",
		"a.rb":    "def a\n" + body("  s = <<~EOS", "EOS") + fill("  y(s)") + "end\n",
		"b.rb":    "def a\n" + body("  z(<<~ONE, <<~'TWO')", "ONE\nother\n\nTWO") + fill("  y(s)") + "end\n",
		"a.sh":    "a() {\n" + body("\tcat <<-'EOF' # it's", "EOF") + fill("\ty") + "}\n",
		"b.sh":    "a() {\n" + body("  awk '", "' # it's") + fill("  y \"$#\"") + "}\n",
		"a.bats":  "@test \"a\" {\n" + body("  cat << EOF", "EOF") + fill("  y") + "}\n",
		"a.cs":    "class A {\n" + body("    string s = @\"", "\";") + fill("    int y;") + "}\n",
		"a.java":  "class A {\n" + body("    String s = \"\"\"", "\"\"\";") + fill("    int y;") + "}\n",
		"a.rs":    "fn a<'a>() {\n" + body("    let s = r#\"\"", "\"#;") + fill("    y(s, '\"');") + "}\n",
		"a.lua":   "function a()\n" + body("  local s = [[", "]]") + fill("  y(s)") + "end\n",
		"a.tf":    "resource \"a\" {\n" + body("  s = <<EOT", "EOT") + fill("  y = 1") + "}\n",
		"a.c":     "int a() {\n" + body("  /*", "*/") + fill("  y();") + "}\n",
		"long.go": "func a() {\n" + body("\ts := `"+strings.Repeat("alone\n\n", 5), "`") + fill("\ty(s)") + "}\n",
	} {
		lines := strings.Split("first\n\n"+text+"\nlast\n", "\n")
		n := len(lines)
		if d := cmp.Diff([]Span{{1, 1}, {3, n - 3}, {n - 1, n - 1}}, Chunks(file, lines)); d != "" {
			t.Errorf("%s: %s", file, d)
		}
	}
}

// A string that is longer than a chunk is split, but its last line stays with the lines before it.
func TestChunksSplitLongStrings(t *testing.T) {
	text := "package a\n\nconst a = `\n" + strings.Repeat("one\ntwo\n\n", 40) + "three\n`\n\nvar b = 1\n"
	for _, s := range Chunks("a.go", strings.Split(text, "\n")) {
		if s.Start == 125 || s.End-s.Start >= chunkLines {
			t.Errorf("%v", s)
		}
	}
}

// A decorator, attribute or annotation belongs to what is below it, also over several lines. So does a comment. A word
// that ends a block begins nothing.
func TestChunksKeepDecorators(t *testing.T) {
	fill := func(line string) string { return strings.Repeat(line+"\n", 12) }
	for file, text := range map[string]string{
		"a.py":   "@dataclass(\n    frozen=True,\n)\nclass A:\n" + fill("    x: int"),
		"b.py":   "@a\n@mark(\"x\", [\n    (1, ')'),\n])\n# why\ndef a():\n" + fill("    x()"),
		"c.py":   "@mark(\"x\", [1,\n           2])\ndef a():\n" + fill("    x()"),
		"a.ts":   "@Component({\n  selector: 'a',\n})\nexport class A {\n" + fill("  x = 1;") + "}\n",
		"b.ts":   "/**\n * Adds.\n */\nexport function a() {\n" + fill("  x();") + "}\n",
		"A.java": "@RequestMapping(\n    value = \"/a)\"\n)\npublic class A {\n" + fill("    int x;") + "}\n",
		"a.rs":   "/* why */\n#[derive(\n    Debug,\n    Clone,\n)]\npub struct A {\n" + fill("    x: u8,") + "}\n",
		"a.php":  "#[Route(\n    '/a',\n)]\nfunction a() {\n" + fill("    x();") + "}\n",
		"a.cs":   "[Route(\n    \"/a\"\n)]\nclass A {\n" + fill("    int x;") + "}\n",
		"a.sh":   "case $a in\n" + fill("  x) y ;;") + "esac\n",
		"b.sh":   "for a in b; do\n" + fill("  x") + "done <c\n",
		"a.js":   "it('a', (done) => {\n" + fill("  x();") + "  y(() => {\n    z();\n  });\n  done();\n});\n",
		"a.rb":   "A = B.map do |c|\n" + fill("  x") + "end.join(c)\n",
		"c.sh":   "if a; then\n" + fill("  x") + "fi\n",
	} {
		lines := strings.Split("first\n\n"+text+"\nlast\n", "\n")
		n := len(lines)
		if d := cmp.Diff([]Span{{1, 1}, {3, n - 3}, {n - 1, n - 1}}, Chunks(file, lines)); d != "" {
			t.Errorf("%s: %s", file, d)
		}
		for i, l := range lines {
			if slices.Contains([]string{".py", ".ts", ".tsx", ".js", ".go"}, path.Ext(file)) && language.Begins(l, "def ", "class ", "export ") && Above(lines, i+1) != 3 {
				t.Errorf("%s: what is above line %d begins on line %d", file, i+1, Above(lines, i+1))
			}
		}
	}
	// A field with a value over several lines is not a decorator of the next one.
	if n := Above([]string{"class A {", "  @Input() a = {", "    x: 1,", "  }", "  b = 2", "}"}, 5); n != 5 {
		t.Errorf("it begins on line %d", n)
	}
}

// A span grows to the end of the block that its last line opens.
func TestWhole(t *testing.T) {
	for text, want := range map[string]Span{
		"const (\n\tA = 1\n\n\tB = 2\n)\nx\n":                      {1, 5},
		"if True:\n    a = 1\nelse:\n    a = 2\nx\n":               {1, 4},
		"namespace A {\n  b();\n}\n\nx\n":                          {1, 3},
		"const a = 1,\n  b = 2;\nx\n":                              {1, 2},
		"a = 1\nb = 2\n":                                           {1, 1},
		"const (\n" + strings.Repeat("\tA = 1\n", 40) + ")\nx\n":   {1, 1},
		"{\n  a,\n\n  b\n}\n":                                      {1, 5},
		"a(\n  b,\n  {\n    c,\n  },\n)\n\nfunc d() {\n\te()\n}\n": {1, 6},
	} {
		if got, _ := LayOut("", strings.Split(text, "\n")).Whole(Span{1, 1}); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
