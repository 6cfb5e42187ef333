package language_test

import (
	"strings"
	"testing"

	"github.com/runplan/runplan/internal/language"
)

// The strings and comments of each language end where they end. In the wanted text strings are s, comments are c.
func TestParts(t *testing.T) {
	for _, c := range []struct{ file, text, want string }{
		{"a.go", "x := `\\` + 'a' // `", "x := s + s c"},
		{"a.go", "x := `a\n//` /* \" */ + \"\\\"\"", "x := s c + s"},
		{"a.ts", "a = /'`/.test(b) / c; d = `\n\\`` // e\nf", "a = s.test(b) / c; d = s c\nf"},
		{"a.py", "a = '''x\n\"\"\" ''' # b\nc = \"'\" + 'd", "a = s c\nc = s + s"},
		{"a.rs", "fn a<'a>(b: char) { b == '\\'' || c(r#\"\"//\"#, \"x\ny\") }", "fn a<'a>(b: char) { b == s || c(s, s) }"},
		{"A.java", "s = \"\"\"\n \"a\" // b\n\"\"\"; c = '\"';", "s = s; c = s;"},
		{"a.cs", "s = @\"a\\\"; t = \"b\"; // c", "s = s; t = s; c"},
		{"a.sh", "a $# ${b#c} \\' 'x\n# y' # z\ncat <<-'E' | d\n it's\n\tE\nf <<<\"$g\"", "a $# ${b#c} \\' s c\ncat <<-'E' | ds\tE\nf <<<s"},
		{"a.sh", "a=$((1 << 2)) b << missing\nc 'd'", "a=$((1 << 2)) b << missing\nc s"},
		{"a.rb", "a(<<~B, <<'C')\n b\nB\n c'\nC\nd << e\n=begin\n'\n=end\nf", "a(<<~B, <<'C')sBsC\nd << ec\nf"},
		{"a.php", "#[A]\n$a = <<<\"B\"\n c'\n  B;\n$d = 'e\n\\'f'; # g", "#[A]\n$a = <<<\"B\"s  B;\n$d = s; c"},
		{"b.php", "<p>it's</p>\n<?php $a = 'b'; ?>\n<p>it's</p>", "<p>its\n<?php $a = s; ?>\n<p>its"},
		{"a.lua", "a = [[\n'\n]] --[[ b\n]] c -- d", "a = s c c c"},
		{"a.sql", "AS $$\n'\n$$; SELECT 'it''s' -- x", "AS s; SELECT ss c"},
		{"a.tf", "a = <<-E\n\"\n  E\nb = \"c\" # d", "a = <<-Es  E\nb = s c"},
		{"a.ps1", "$a = @\"\n\"b\"\n\"@; 'c' <# d\n#>", "$a = s; s c"},
		{"a.txt", "it's // a", "its"},
	} {
		var b strings.Builder
		at := 0
		for _, p := range language.Parts(c.text, language.OfSource(c.file)) {
			b.WriteString(c.text[at:p.Start])
			if at = p.End; p.Comment {
				b.WriteByte('c')
			} else {
				b.WriteByte('s')
			}
			if !p.Open() && strings.HasPrefix(c.text[p.Start:], "\n") && !p.Comment {
				at = p.To // the word of a heredoc
			}
		}
		if b.WriteString(c.text[at:]); b.String() != c.want {
			t.Errorf("%s: %q is %q, want %q", c.file, c.text, b.String(), c.want)
		}
	}
}

// Any text is read to its end, and its parts follow each other.
func FuzzParts(f *testing.F) {
	for _, name := range []string{"a.go", "a.ts", "a.py", "a.rs", "a.sh", "a.php", "a.rb", "a.ps1", "a"} {
		f.Add(name, "<<A '\\\n=begin\nA\"\"\"`/*")
	}
	f.Fuzz(func(t *testing.T, name, text string) {
		at := 0
		for _, p := range language.Parts(text, language.OfSource(name)) {
			if p.Start < at || p.Start >= p.From || p.From > max(p.To, p.From) || p.To > p.End || p.End > len(text) {
				t.Fatalf("%q: %+v after %d", text, p, at)
			}
			at = p.End
		}
	})
}
