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

func TestDeleteBlocks(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "old.go"), "a\n", 0o644)
	write(t, filepath.Join(root, "keep.go"), "a\n", 0o644)
	edits, err := Parse(
		"Gone with it:\n\n`old.go`\n<<<<<<< DELETE\n>>>>>>> DELETE\n\nkeep.go\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> "+
			"REPLACE\n", "")
	if err != nil {
		t.Fatal(err)
	}
	want := []Edit{{Path: "old.go", Delete: true, Line: 4},
		{Path: "keep.go", Search: "a\n", Replace: "b\n", Lines: true, Line: 8}}
	if d := cmp.Diff(want, edits); d != "" {
		t.Fatal(d)
	}
	paths, err := Files(root, edits)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"old.go", "keep.go"}, paths); d != "" {
		t.Error(d)
	}
	if _, err := os.Stat(filepath.Join(root, "old.go")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
	for text, why := range map[string]string{
		"<<<<<<< DELETE\n>>>>>>> DELETE\n":          "without a file",
		"a.go\n<<<<<<< DELETE\nx\n>>>>>>> DELETE\n": "must end on the next line",
		"a.go\n<<<<<<< DELETE\n":                    "must end on the next line",
		"a.go\n<<<<<<< DELETE":                      "must end on the next line",
		// a block never uses the file of the block before it
		"a.go\n<<<<<<< SEARCH\nx\n=======\n>>>>>>> REPLACE\n<<<<<<< DELETE\n>>>>>>> DELETE": "without a file",
	} {
		if _, err := Parse(text, "given.go"); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v, want %q", text, err, why)
		}
	}
}

func TestDeleteAndCreate(t *testing.T) {
	del := func(p string) Edit { return Edit{Path: p, Delete: true} }
	make := func(p string) Edit { return Edit{Path: p, Replace: "new\n", Lines: true} }
	change := Edit{Path: "a", Search: "a\n", Replace: "b\n", Lines: true}
	tests := map[string]struct {
		edits []Edit
		want  string // of file a; "-" is none
		err   error
	}{
		"made again":            {[]Edit{del("a"), make("a")}, "new\n", nil},
		"made and deleted":      {[]Edit{make("b"), del("b")}, "a\n", nil},
		"changed after it went": {[]Edit{del("a"), change}, "a\n", fs.ErrNotExist},
		"changed, then deleted": {[]Edit{change, del("a")}, "-", nil},
		"nothing to delete":     {[]Edit{change, del("none")}, "a\n", fs.ErrNotExist},
		"outside":               {[]Edit{change, del("../x")}, "a\n", ErrUnsafePath},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			write(t, filepath.Join(root, "a"), "a\n", 0o644)
			if _, err := Files(root, tt.edits); !errors.Is(err, tt.err) {
				t.Fatalf("error %v, want %v", err, tt.err)
			}
			got := "-"
			if b, err := os.ReadFile(filepath.Join(root, "a")); err == nil {
				got = string(b)
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// A file that cannot be edited is an error with advice that fits.
func TestFilesThatCannotBeEdited(t *testing.T) {
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	for want, e := range map[string]Edit{
		"edit gone: file does not exist; leave the search text empty to create it": {Path: "gone", Search: "a"},
		"edit gone: file does not exist; remove the edit that deletes it":          {Path: "gone", Delete: true},
		"is a directory": {Path: "folder", Search: "a"},
	} {
		if _, err := Files(root, []Edit{e}); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// If the disk refuses an edit, the edits that were already written are undone.
func TestFailedEditsAreUndone(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "changed"), "a\n", 0o755)
	write(t, filepath.Join(root, "deleted"), "d\n", 0o600)
	_, err := Files(root, []Edit{
		{Path: "changed", Search: "a\n", Replace: "b\n", Lines: true},
		{Path: "deleted", Delete: true},
		{Path: "new/dir/x", Replace: "x\n"},
		{Path: "y", Replace: "a file\n"},
		{Path: "y/z", Replace: "a file below a file\n"},
	})
	if err == nil {
		t.Fatal("a file and a folder of one name")
	}
	if got := read(t, filepath.Join(root, "changed")) + read(t, filepath.Join(root, "deleted")); got != "a\nd\n" {
		t.Errorf("got %q", got)
	}
	if fi, err := os.Stat(filepath.Join(root, "deleted")); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", fi, err)
	}
	left, err := os.ReadDir(root)
	if err != nil || len(left) != 2 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestMatchErrorShowsDifference(t *testing.T) {
	src := "func f() {\n\tx := 1\n\treturn x\n}\n"
	tests := map[string]struct{ search, want string }{
		"tabs and spaces": {
			"        x := 1\n",
			"nearest is line 2:\n  | \tx := 1\nthe two differ in white space only: the file has \"\\tx := 1\", the block has " +
				"\"        x := 1\"",
		},
		"the first line": {"func  f() {\n", "nearest is line 1:\n  | func f() {\nthe two differ in white space only: the file " +
			"has \"func f() {\", the block has \"func  f() {\""},
		"a later line": {
			"func f() {\n\tx := 1\n    return x\n}\n",
			"its first 2 lines are found, but line 3 is:\n  | \treturn x\nwhere the block has:\n  |     return x\nthe two " +
				"differ in white space only: the file has \"\\treturn x\", the block has \"    return x\"",
		},
		"white space at the end": {
			"\treturn x \n",
			"the two differ in white space only: the file has \"\\treturn x\", the block has \"\\treturn x \"",
		},
		"another word": {"func f() {\n\ty := 2\n",
			"its first line is found, but line 2 is:\n  | \tx := 1\nwhere the block has:\n  | \ty := 2"},
		"beyond the end": {"}\nfunc g() {\n",
			"its first line is found, but line 5 is empty, or the file ends there, where the block has:\n  | func g() {"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Apply(src, Edit{Path: "f.go", Search: tt.search, Replace: "z\n", Lines: true})
			if err == nil || !strings.HasSuffix(err.Error(), tt.want) {
				t.Errorf("got\n%v\nwant\n%s", err, tt.want)
			}
		})
	}
}
