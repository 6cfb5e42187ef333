package gates

import (
	"context"
	"errors"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/planparse"
)

// fakeDiff is a change in memory: the text of each file before and now; "-" does not exist.
type fakeDiff struct {
	changes []Change
	texts   map[string][2]string
}

var errDisk = errors.New("disk")

func changeOf(files map[string][2]string) fakeDiff {
	d := fakeDiff{texts: files}
	for _, p := range sortedKeys(files) {
		c := Change{Path: p, Status: Modified}
		if files[p][0] == "-" {
			c.Status = Added
		} else if files[p][1] == "-" {
			c.Status = Deleted
		}
		d.changes = append(d.changes, c)
	}
	return d
}

func (d fakeDiff) Changes(context.Context) ([]Change, error)          { return d.changes, nil }
func (d fakeDiff) Before(_ context.Context, p string) ([]byte, error) { return content(d.texts[p][0]) }
func (d fakeDiff) After(_ context.Context, p string) ([]byte, error)  { return content(d.texts[p][1]) }

func content(text string) ([]byte, error) {
	switch text {
	case "-":
		return nil, nil
	case "LARGE":
		return nil, ErrTooLarge
	case "UNREADABLE":
		return nil, errDisk
	}
	return []byte(text), nil
}

// Files reads text, also in UTF-16, and lists what is too large. Binary files are empty.
func TestChangedFiles(t *testing.T) {
	wide := func(order func(unit uint16) []byte, mark string) string {
		out := mark
		for _, u := range utf16.Encode([]rune("aä\n")) {
			out += string(order(u))
		}
		return out
	}
	little := wide(func(u uint16) []byte { return []byte{byte(u), byte(u >> 8)} }, "\xff\xfe")
	big := wide(func(u uint16) []byte { return []byte{byte(u >> 8), byte(u)} }, "\xfe\xff")
	d := changeOf(map[string][2]string{"a": {"x", "y"}, "binary": {"b\x00", "c"}, "little": {"-", little},
		"big": {"-", big}, "late": {"-", strings.Repeat("x", 8000) + "\x00"}, "huge": {"LARGE", "x"}, "skip.md": {"x", "y"}})
	files, large, err := Files(t.Context(), d, func(c Change) bool { return c.Path != "skip.md" })
	got := map[string][2]string{}
	for _, f := range files {
		got[f.Path] = [2]string{f.Before, f.After}
	}
	want := map[string][2]string{"a": {"x", "y"}, "binary": {"", "c"}, "little": {"", "aä\n"}, "big": {"", "aä\n"},
		"late": {"", strings.Repeat("x", 8000) + "\x00"}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil || strings.Join(large, " ") != "huge" {
		t.Error(diff, large, err)
	}
	for _, bad := range [][2]string{{"UNREADABLE", "x"}, {"x", "UNREADABLE"}, {"UNREADABLE", "-"}} {
		if _, _, err := Files(t.Context(), changeOf(map[string][2]string{"a": bad, "b": {"-", "x"}}),
			nil); !errors.Is(err, errDisk) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if _, _, err := Files(t.Context(), changeOf(map[string][2]string{"b": {"-", "x"}, "gone": {"UNREADABLE", "-"}}),
		func(c Change) bool { return c.Path == "b" }); !errors.Is(err, errDisk) {
		t.Errorf("a deleted file that cannot be read: %v", err)
	}
}

// A new file that has at least half of its lines from a deleted one was moved, and only its other lines are new.
func TestMovedFiles(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string][2]string
		from  string
		added string // lines of new.go
	}{
		"unchanged": {map[string][2]string{"old.go": {"a\nb\n", "-"}, "new.go": {"-", "a\nb\n"}},
			"old.go", ""},
		"exactly half": {map[string][2]string{"old.go": {"a\nb\n", "-"}, "new.go": {"-",
			"a\nb\nc\nd\n"}}, "old.go", "c d"},
		"less than half": {map[string][2]string{"old.go": {"a\nb\n", "-"}, "new.go": {"-",
			"a\nb\nc\nd\ne\n"}}, "", "a b c d e"},
		"half of the old": {map[string][2]string{"old.go": {"a\nb\nc\nd\n", "-"}, "new.go": {"-",
			"a\nb\n"}}, "old.go", ""},
		"a part of the old": {map[string][2]string{"old.go": {"a\nb\nc\nd\ne\n", "-"}, "new.go": {"-",
			"a\nb\n"}}, "", "a b"},
		"another extension": {map[string][2]string{"old.py": {"a\nb\n", "-"}, "new.go": {"-", "a\nb\n"}},
			"", "a b"},
		"the most lines win": {map[string][2]string{"a.go": {"a\nx\n", "-"}, "b.go": {"a\nb\n", "-"},
			"c.go": {"a\ny\n", "-"}, "new.go": {"-", "a\nb\n"}}, "b.go", ""},
		"lines count as often as they occur": {map[string][2]string{"old.go": {"a\n", "-"}, "new.go": {"-",
			"a\na\na\nb\n"}}, "", "a a a b"},
		"blank lines do not count": {map[string][2]string{"old.go": {"a\n\n\n\n", "-"}, "new.go": {"-",
			"b\n\n\n\n"}}, "", "b   "},
		"the old one is too large": {map[string][2]string{"old.go": {"LARGE", "-"}, "new.go": {"-", "a\n"}}, "",
			"a"},
		"nothing was deleted": {map[string][2]string{"old.go": {"a\n", "b\n"}, "new.go": {"-", "a\n"}}, "",
			"a"},
	} {
		files, _, err := Files(t.Context(), changeOf(c.files), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			var added []string
			for _, l := range f.AddedLines() {
				added = append(added, l.Text)
			}
			if f.Path == "new.go" && (f.From != c.from || strings.Join(added, " ") != c.added) {
				t.Errorf("%s: from %q, added %q", name, f.From, added)
			}
			if f.Path != "new.go" && f.From != "" {
				t.Errorf("%s: %s is from %q", name, f.Path, f.From)
			}
		}
	}
	link := changeOf(map[string][2]string{"old": {"a\n", "-"}, "new": {"-", "a\n"}})
	for i := range link.changes {
		link.changes[i].Link = true
		if files, _, err := Files(t.Context(), link, nil); err != nil || files[0].From+files[1].From != "" {
			t.Errorf("a link was moved: %+v, %v", files, err)
		}
		link.changes[i].Link = false
	}
}

// In a change with very many files, only files that share a name are compared.
func TestMovedFilesOfLargeChange(t *testing.T) {
	texts := map[string][2]string{}
	for i := range 100 {
		folder := strings.Repeat("d", i+1)
		texts[folder+"/gone.go"] = [2]string{"a\n", "-"}
		texts[folder+"/other.go"] = [2]string{"-", "b\n"}
	}
	from := func() string {
		files, _, err := Files(t.Context(), changeOf(texts), func(c Change) bool { return c.Status == Added })
		if err != nil {
			t.Fatal(err)
		}
		return files[len(files)-1].From
	}
	delete(texts, "d/other.go")
	texts["z/moved.go"] = [2]string{"-", "a\n"}
	if got := from(); got != "d/gone.go" {
		t.Errorf("100 of 100 files: %q", got)
	}
	texts["d/other.go"] = [2]string{"-", "b\n"}
	if got := from(); got != "" {
		t.Errorf("101 of 100 files: %q", got)
	}
	texts["z/gone.go"] = [2]string{"-", "a\n"}
	delete(texts, "z/moved.go")
	if got := from(); got != "d/gone.go" {
		t.Errorf("the same name: %q", got)
	}
}

// A batch contains a line of code if its text has it as a whole line, also as an added line of a diff.
func TestBatchContainsLine(t *testing.T) {
	s := Subject{Batch: planparse.Batch{Text: "Write:\n  x := 1\n+ y := 2\n-z := 3\n"}}
	for line, want := range map[string]bool{"x := 1": true, "\tx := 1 ": true, "y := 2": true, "z := 3": false,
		"x :=": false,
		"":     false, "  ": false, "w := 4": false} {
		if got := s.Contains(line); got != want {
			t.Errorf("%q: %v", line, got)
		}
	}
}

// A block names a file by its path, or by the heads of a diff. Such a file may be deleted, too.
func TestBlocksNameFiles(t *testing.T) {
	s := Subject{Batch: planparse.Batch{Blocks: []planparse.Block{{Text: "diff\n--- a/old.go\n+++ b/new.go\n@@\n"},
		{Path: "dir/*.go"}, {Text: "\n+++ b/part.go.txt\n"}}}}
	for file, want := range map[string]bool{"old.go": true, "new.go": true, "dir/a.go": true, "dir/a.py": false,
		"part.go": false, "other.go": false} {
		if s.Names(file) != want || s.NamesForDeletion(file) != want {
			t.Errorf("%s: %v", file, !want)
		}
	}
	listed := Subject{Batch: planparse.Batch{Files: planparse.Files{Test: []string{"a_test.go"},
		Create: []string{"a.go"}}}}
	if !listed.Names("a_test.go") || !listed.Names("a.go") || listed.NamesForDeletion("a_test.go") {
		t.Error("a file to test is named, and must not be deleted")
	}
}

// A glob without a slash matches in any folder; one that ends in a slash matches all that is below.
func TestMatch(t *testing.T) {
	for _, c := range []struct {
		globs string
		file  string
		want  bool
	}{
		{"*.go", "a.go", true}, {"*.go", "x/a.go", true}, {"x/", "x/b.go", true}, {"x/", "x/y/b.go", true},
		{"x/", "xx/b.go", false}, {"x/*", "x/b.go", true}, {"x/*", "x/y/b.go", false}, {"x/**/b.go", "x/y/z/b.go", true},
		{"none *.go", "a.go", true}, {"none", "a.go", false}, {"", "a.go", false},
	} {
		if got := Match(strings.Fields(c.globs), c.file); got != c.want {
			t.Errorf("%q, %s: %v", c.globs, c.file, got)
		}
	}
}

// A configured command counts as a check if a file in it has the name of one.
func TestConfiguredChecks(t *testing.T) {
	for name, want := range map[string]bool{"verify.sh": true, "scripts/run-checks.py": true, "ci": true,
		"my_lint.sh": true,
		"test":       true, "build.sh": false, "latest.sh": false, "expectations.txt": true, "checkout.sh": false} {
		if IsCheck(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
	s := Settings{Commands: []CommandGate{{Command: []string{"bash", "./verify.sh", "test"}},
		{Shell: "(cd x; 'scripts/check.sh') && ./build.sh", Dir: "sub"}, {Command: []string{"python", "lint.py"}}}}
	if d := cmp.Diff([]string{"verify.sh", "sub/scripts/check.sh", "lint.py"}, s.Checks()); d != "" {
		t.Error(d)
	}
}

// Two findings are the same problem if only figures differ. A failing test is the same whatever it says.
func TestIdentity(t *testing.T) {
	f := Finding{Rule: "vet", Path: "a/b.go", Line: 3, Message: "took 3ms"}
	test := Finding{Rule: ruleTest, Path: "a/b_test.go", Message: "want 1", Test: "TestA"}
	for _, c := range []struct {
		name string
		f    Finding
		by   func(*Finding)
		same bool
	}{
		{"another line and figure", f, func(f *Finding) { f.Line, f.Message = 9, "took 4ms" }, true},
		{"another message", f, func(f *Finding) { f.Message = "other" }, false},
		{"another file", f, func(f *Finding) { f.Path = "a/c.go" }, false},
		{"another rule", f, func(f *Finding) { f.Rule = "x" }, false},
		{"a test in another file", test, func(f *Finding) { f.Path, f.Message = "a/c_test.go", "x" }, true},
		{"a test in another folder", test, func(f *Finding) { f.Path = "b/b_test.go" }, false},
		{"another test", test, func(f *Finding) { f.Test = "TestB" }, false},
		{"another rule about a test", test, func(f *Finding) { f.Rule = ruleExit }, false},
		{"a test without a name", test, func(f *Finding) { f.Test = "" }, false},
	} {
		changed := c.f
		c.by(&changed)
		if got := changed.Identity("g") == c.f.Identity("g"); got != c.same {
			t.Errorf("%s: the same is %v", c.name, got)
		}
	}
	if f.Identity("g") == f.Identity("h") {
		t.Error("two gates have the same problem")
	}
	if n := len(f.Identity("g")); n != 32 {
		t.Errorf("%d characters", n)
	}
}

func TestCostNames(t *testing.T) {
	for c, want := range map[Cost]string{Instant: "instant", Cheap: "cheap", Costly: "costly", Dear: "dear", Dear +
		1: "dear",
		Instant - 1: "instant"} {
		if c.String() != want {
			t.Errorf("%d: %s", c, c)
		}
	}
}
