package edit

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func block(search, replace string) Edit {
	return Edit{Path: "f", Search: search, Replace: replace, Lines: true}
}

func TestApply(t *testing.T) {
	all := func(e Edit) Edit { e.All = true; return e }
	tests := map[string]struct {
		src  string
		edit Edit
		want string
		err  error
	}{
		"one line":                       {src: "a\nb\nc\n", edit: block("b\n", "x\ny\n"), want: "a\nx\ny\nc\n"},
		"lines go":                       {src: "a\nb\nc\n", edit: block("b\n", ""), want: "a\nc\n"},
		"twice is an error":              {src: "b\nb\n", edit: block("b\n", "x\n"), err: ErrAmbiguous},
		"twice on purpose":               {src: "b\na\nb\n", edit: all(block("b\n", "x\n")), want: "x\na\nx\n"},
		"none is an error":               {src: "a\n", edit: block("b\n", "x\n"), err: ErrNotFound},
		"none is an error with all, too": {src: "a\n", edit: all(block("b\n", "x\n")), err: ErrNotFound},
		"white space counts":             {src: "\tb\n", edit: block("  b\n", "x\n"), err: ErrNotFound},
		"whole lines come before parts":  {src: "foobar\nfoo\n", edit: block("foo\n", "x\n"), want: "foobar\nx\n"},
		"part of a line": {src: "say hello there\n", edit: block("hello\n", "bye\n"),
			want: "say bye there\n"},
		"part of two lines":                {src: "hello hello\n", edit: block("hello\n", "bye\n"), err: ErrAmbiguous},
		"without lines, any text":          {src: "aXbX", edit: Edit{Search: "Xb", Replace: "-"}, want: "a-X"},
		"without lines, on purpose":        {src: "aXbX", edit: Edit{Search: "X", Replace: "-", All: true}, want: "a-b-"},
		"LF of one line stays":             {src: "a\n", edit: block("a\r\n", "x\r\n"), want: "x\n"},
		"a file without any line end":      {src: "a", edit: block("a\n", "x\ny\n"), want: "x\ny"},
		"without lines, once":              {src: "aXbX", edit: Edit{Search: "X", Replace: "-"}, err: ErrAmbiguous},
		"places that share a line":         {src: "b\nb\nb\n", edit: block("b\nb\n", "x\n"), err: ErrAmbiguous},
		"the same on purpose":              {src: "b\nb\nb\n", edit: all(block("b\nb\n", "x\n")), want: "x\nb\n"},
		"places that share letters":        {src: "aaa", edit: Edit{Search: "aa", Replace: "x"}, err: ErrAmbiguous},
		"CRLF stays":                       {src: "a\r\nb\r\n", edit: block("a\nb\n", "x\ny\n"), want: "x\r\ny\r\n"},
		"LF stays":                         {src: "a\nb\n", edit: block("a\r\n", "x\r\n"), want: "x\nb\n"},
		"mixed ends are matched as is":     {src: "a\r\nb\n", edit: block("b\n", "x\n"), want: "a\r\nx\n"},
		"no final newline stays none":      {src: "a\nb", edit: block("b\n", "x\n"), want: "a\nx"},
		"no final newline, CRLF":           {src: "a\r\nb", edit: block("b\n", "x\ny\n"), want: "a\r\nx\r\ny"},
		"last line goes, no final newline": {src: "a\nb", edit: block("b\n", ""), want: "a"},
		"final newline stays":              {src: "a\nb\n", edit: block("b\n", "x\n"), want: "a\nx\n"},
		"new file":                         {src: "", edit: block("", "x\n"), want: "x\n"},
		"new file over an old one":         {src: "a\n", edit: block("", "x\n"), err: ErrExists},
		"nothing would change":             {src: "a\n", edit: block("a\n", "a\n"), err: ErrSame},
		"only other line ends":             {src: "a\n", edit: block("a\r\n", "a\n"), err: ErrSame},
		"two blank lines":                  {src: "a\n\n\nb\n", edit: block("\n", "x\n"), err: ErrAmbiguous},
		"no blank line":                    {src: "a\nb\n", edit: block("\n", "x\n"), err: ErrNotFound},
		"only the line ends differ":        {src: "a\r\nb\nc\r\n", edit: block("a\nb\n", "x\n"), err: ErrNotFound},
		"blank line as search":             {src: "a\n\nb\n", edit: block("\n", "x\n"), want: "a\nx\nb\n"},
		"dollar signs mean themselves":     {src: "a\n", edit: block("a\n", "$1${x}\n"), want: "$1${x}\n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Apply(tt.src, tt.edit)
			if !errors.Is(err, tt.err) {
				t.Fatalf("error %v, want %v", err, tt.err)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestMatchErrorQuotesNearestLine(t *testing.T) {
	src := "package a\n\nfunc Hello(name string) string {\n\treturn \"hello\"\n}\n"
	_, err := Apply(src, Edit{Path: "a.go", Search: "func Hello(name int) string {\n", Replace: "x\n", Lines: true})
	want := "edit a.go: the search text was not found; it must match exactly, including spaces:\n" +
		"  | func Hello(name int) string {\n" +
		"nearest is line 3:\n" +
		"  | func Hello(name string) string {"
	if d := cmp.Diff(want, err.Error()); d != "" {
		t.Error(d)
	}
	_, err = Apply("x\nx\nxyz\n", block("x\n", "y\n"))
	if want := "occurs 2 times"; !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "| x") {
		t.Errorf("%v lacks %q or the block", err, want)
	}
}

func TestParse(t *testing.T) {
	const body = "<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>> REPLACE\n"
	one := func(path string, line int) []Edit {
		return []Edit{{Path: path, Search: "old\n", Replace: "new\n", Lines: true, Line: line}}
	}
	tests := map[string]struct {
		text, path string
		want       []Edit
	}{
		"path given":             {body, "a.go", one("a.go", 1)},
		"path before":            {"b.go\n" + body, "a.go", one("b.go", 2)},
		"path in backticks":      {"`dir/b.go`\n" + body, "", one("dir/b.go", 2)},
		"path in bold, colon":    {"**b.go:**\n" + body, "", one("b.go", 2)},
		"path in a heading":      {"### File: `b.go`\n" + body, "", one("b.go", 2)},
		"path before a fence":    {"b.go\n```go\n" + body + "```\n", "", one("b.go", 3)},
		"path before two fences": {"b.go\n```\n```go\n" + body, "a.go", one("a.go", 4)},
		"five marks are enough": {strings.NewReplacer("<<<<<<<", "<<<<<", "=======", "=====", ">>>>>>>",
			">>>>>").Replace(body),
			"a", one("a", 1)},
		"a word is not a path":     {"Changes\n" + body, "a.go", one("a.go", 2)},
		"a usual name is a path":   {"Makefile\n" + body, "a.go", one("Makefile", 2)},
		"a sentence is not a path": {"Now we change it.\n" + body, "a.go", one("a.go", 2)},
		"CRLF in the block": {strings.ReplaceAll(body, "\n", "\r\n"), "a",
			[]Edit{{Path: "a", Search: "old\r\n", Replace: "new\r\n", Lines: true, Line: 1}}},
		"no newline at the end": {strings.TrimSuffix(body, "\n"), "a", one("a", 1)},
		"all": {"<<<<<<< SEARCH\no\n=======\n>>>>>>> REPLACE ALL\n", "a",
			[]Edit{{Path: "a", Search: "o\n", All: true, Lines: true, Line: 1}}},
		"new file": {"<<<<<<< SEARCH\n=======\nnew\n>>>>>>> REPLACE\n", "a",
			[]Edit{{Path: "a", Replace: "new\n", Lines: true, Line: 1}}},
		"a wider block holds one": {"<<<<<<<< SEARCH\n=======\n========\n>>>>>>> REPLACE\n>>>>>>>> REPLACE\n", "a",
			[]Edit{{Path: "a", Search: "=======\n", Replace: ">>>>>>> REPLACE\n", Lines: true, Line: 1}}},
		"a rule in the new text": {"<<<<<<< SEARCH\nT\n=======\nT\n=======\n>>>>>>> REPLACE\n", "a",
			[]Edit{{Path: "a", Search: "T\n", Replace: "T\n=======\n", Lines: true, Line: 1}}},
		"a delete block at the end": {"b.go\n<<<<<<< DELETE\n>>>>>>> DELETE", "",
			[]Edit{{Path: "b.go", Delete: true, Line: 2}}},
		"the path stays for the next": {"b.go\n" + body + "\n" + body, "", []Edit{
			{Path: "b.go", Search: "old\n", Replace: "new\n", Lines: true, Line: 2},
			{Path: "b.go", Search: "old\n", Replace: "new\n", Lines: true, Line: 8},
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Parse(tt.text, tt.path)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestParseErrorsNameLine(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"no block":   {"hello\n", "no edit block"},
		"four marks": {"a.go\n<<<< SEARCH\na\n====\nb\n>>>> REPLACE\n", "no edit block"},
		"no path":    {"<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n", "line 1: an edit block without a file"},
		"no end":     {"a.go\n<<<<<<< SEARCH\na\n=======\nb\n", "line 2: the edit block has no end"},
		"no divider": {"a.go\n<<<<<<< SEARCH\na\n>>>>>>> REPLACE\n",
			"line 4: the edit block of line 2 has no line ======="},
		"block in block": {"a.go\n<<<<<<< SEARCH\na\n<<<<<<< SEARCH\n", "line 4: an edit block begins inside"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := Parse(tt.text, ""); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestFilesWritesAllOrNone(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "run.sh"), "a\nb\n", 0o755)
	edits := []Edit{block("a\n", "x\n"), block("b\n", "y\n"), block("", "new\n")}
	edits[0].Path, edits[1].Path, edits[2].Path = "run.sh", "./run.sh", "dir/new.txt"
	bad := append(edits[:2:2], Edit{Path: "gone", Search: "x"})
	if _, err := Files(root, bad); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("got %v", err)
	}
	if got := read(t, filepath.Join(root, "run.sh")); got != "a\nb\n" {
		t.Errorf("one edit failed, yet the file is %q", got)
	}
	paths, err := Files(root, edits)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"run.sh", "dir/new.txt"}, paths); d != "" {
		t.Error(d)
	}
	if got := read(t, filepath.Join(root, "run.sh")) + read(t, filepath.Join(root, "dir/new.txt")); got != "x\ny\nnew\n" {
		t.Errorf("got %q", got)
	}
	if fi, _ := os.Stat(filepath.Join(root, "run.sh")); fi.Mode().Perm() != 0o755 {
		t.Errorf("mode %v", fi.Mode())
	}
	if _, err := Files(root, nil); !errors.Is(err, ErrNone) {
		t.Errorf("an empty list: %v", err)
	}
}

func TestSafePath(t *testing.T) {
	outside := t.TempDir()
	root := filepath.Join(t.TempDir(), "link-to-root")
	realRoot := t.TempDir()
	link(t, realRoot, root)
	for _, d := range []string{"dir", ".git/hooks"} {
		if err := os.MkdirAll(filepath.Join(realRoot, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(realRoot, "file"), "", 0o644)
	link(t, outside, filepath.Join(realRoot, "out"))
	link(t, "dir", filepath.Join(realRoot, "in"))
	link(t, ".git/hooks", filepath.Join(realRoot, "hooks"))
	link(t, filepath.Join(outside, "none"), filepath.Join(realRoot, "dangling"))
	for _, p := range []string{"a", "dir/a", "./dir//a", "new/dir/a", "in/a", ".gitignore", ".github/x", "..a", "a..",
		"dir/.runplan/a", "~/a"} {
		if got, err := SafePath(root, p); err != nil || !strings.HasPrefix(got, root+"/") {
			t.Errorf("%q: %q, %v", p, got, err)
		}
	}
	for _, p := range []string{
		"", ".", "/", "/etc/passwd", "../a", "a/../../b", "dir/..", `a\b`, `..\a`, "C:/a", "c:a", "a\x00b", "a\nb",
		".git", ".git/config", ".GIT/config", "sub/.git/hooks/x", ".git./x", ".g\u200cit/x", ".gi\U000e0061t/x", "git~1/x",
		".git:x",
		".runplan/config.toml", ".Runplan/x", "out/a", "out", "hooks/pre-commit", "dangling", "dangling/a", "file/a",
	} {
		if got, err := SafePath(root, p); !errors.Is(err, ErrUnsafePath) {
			t.Errorf("%q: %q, %v", p, got, err)
		}
	}
}

func write(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func link(t *testing.T, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("a.go\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n", "")
	f.Add("<<<<< SEARCH\n=====\n>>>>> REPLACE ALL", "x")
	f.Fuzz(func(t *testing.T, text, path string) {
		edits, err := Parse(text, path)
		if (err == nil) != (len(edits) > 0) {
			t.Fatalf("%d edits, %v", len(edits), err)
		}
		for _, e := range edits {
			if e.Path == "" || e.Line == 0 || !e.Lines || e.Search != "" && !strings.HasSuffix(e.Search, "\n") {
				t.Fatalf("%+v", e)
			}
		}
	})
}

func FuzzApply(f *testing.F) {
	f.Add("a\nb\n", "b\n", "c\n", true, false)
	f.Add("a\r\nb", "b\n", "", true, true)
	f.Fuzz(func(t *testing.T, src, search, replace string, lines, all bool) {
		got, err := Apply(src, Edit{Path: "f", Search: search, Replace: replace, Lines: lines, All: all})
		if err != nil {
			if got != "" || len(err.Error()) > 2*maxQuoteLines*(maxQuoteLine+20)+1000 {
				t.Fatalf("%q, and an error of %d bytes", got, len(err.Error()))
			}
			return
		}
		if !all && search != "" && len(got) > len(src)+2*len(replace) {
			t.Fatalf("%q became %q", src, got)
		}
		if crlf := strings.Count(src, "\r\n"); crlf > 0 && crlf == strings.Count(src, "\n") && !all && lines {
			if strings.Count(got, "\n") != strings.Count(got, "\r\n") {
				t.Fatalf("line ends of %q were lost: %q", src, got)
			}
		}
	})
}
