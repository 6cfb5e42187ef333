package lessons

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// page returns a valid lesson file with the given changes.
func page(id string, changes ...string) string {
	text := `---
id: "` + id + `"
title: Sleeping instead of waiting
severity: should-fix
languages: [python]
category: test-anti-patterns
pattern:
  type: syntactic
  regex: |-
    ^\s*time\.sleep\(
  description: A test sleeps.
fix: Wait for the condition.
example:
  bad: |
    time.sleep(3)
  good: |
    wait_for(ready)
---

## Observation

It fails now and then.
`
	for i := 0; i+1 < len(changes); i += 2 {
		if !strings.Contains(text, changes[i]) {
			panic("nothing to change: " + changes[i])
		}
		text = strings.Replace(text, changes[i], changes[i+1], 1)
	}
	return text
}

// broken returns twenty-four invalid lesson files, each with the line and the text of its error. The mark * denotes
// files that an import can repair.
func broken() map[string][3]string {
	return map[string][3]string{
		"no front matter":    {"# A title\n", "1", "begins with front matter"},
		"no end":             {"---\nid: \"0001\"\n", "1", "no end"},
		"empty front matter": {"---\n---\n", "1", "is empty"},
		"a list":             {"---\n- a\n- b\n---\n", "2", "not a list of keys"},
		"broken YAML":        {page("0001", "[python]", "[python"), "6", "must be specified"},
		"key twice":          {page("0001", "fix:", "title:"), "12", "already defined"},
		"no title": {page("0001", "title: Sleeping instead of waiting\n", ""), "1",
			"title is missing"},
		"wrong severity": {page("0001", "should-fix", "critical"), "4",
			`severity is "critical"; use one of blocker`},
		"wrong category": {page("0001", "test-anti-patterns", "style"), "6",
			`category is "style"; use one of`},
		"wrong language": {page("0001", "[python]", "[pyhton]"), "5", `unknown language "pyhton"; languages are all, c, `},
		"no languages":   {page("0001", "languages: [python]\n", ""), "1", "languages is missing"},
		"wrong type":     {page("0001", "syntactic", "regexp"), "8", `pattern.type is "regexp"`},
		"unless is not a regex": {page("0001", "pattern:\n  type: syntactic",
			"pattern:\n  unless: (a\n  type: syntactic"), "8", "pattern.unless: missing closing )"},
		"unless that matches the empty text": {page("0001", "pattern:\n  type: syntactic",
			"pattern:\n  unless: a*\n  type: syntactic"), "8", "pattern.unless matches the empty text"},
		"unless without a regex": {page("0001", "type: syntactic\n  regex: |-\n    ^\\s*time\\.sleep\\(\n",
			"type: semantic\n  unless: a\n"), "9", "a semantic lesson has no regex that pattern.unless"},
		"no regex": {page("0001", "  regex: |-\n    ^\\s*time\\.sleep\\(\n", ""), "7",
			"pattern.regex is missing"},
		"look-around": {page("0001", `^\s*time\.sleep\(`, `time(?!out)`), "9",
			"invalid or unsupported Perl syntax: `(?!` at character 5; RE2 supports neither look-around"},
		"open parenthesis": {page("0001", `time\.sleep\(`, `(a)(time\.sleep\(`), "9",
			"missing closing ): `^\\s*(a)(time\\.sleep\\(` at character 8"},
		"bad class": {page("0001", `time\.sleep\(`, `[z-a]`), "9",
			"invalid character class range: `z-a` at character 6"},
		"matches everything":  {page("0001", `^\s*time\.sleep\(`, `\s*`), "9", "matches the empty text"},
		"semantic with regex": {page("0001", "syntactic", "semantic"), "9", "a semantic lesson has no regex"},
		"no description": {page("0001", "  description: A test sleeps.\n", ""), "7",
			"pattern.description is missing"},
		"wrong id":  {page("0001", `"0001"`, `"one"`), "2", `id is "one"`},
		"not UTF-8": {page("0001", "now and then", "now \xff then"), "22", "not UTF-8 text"},
		"unknown field *": {page("0001", "fix:", "severety: blocker\nfix:"), "12",
			`unknown field "severety"; the fields are`},
		"id without quotes *": {page("0001", `"0001"`, `0001`), "2", `write id: "0001"`},
		"YAML's backslashes *": {page("0001", "|-\n    ^\\s*time\\.sleep\\(", `"time\.sleep\("`), "9",
			"put regular expressions in single quotes"},
		"wrong file name *": {page("0001", `"0001"`, `"0002"`), "2", "its name begins with the id"},
	}
}

func TestParseErrorsNameLine(t *testing.T) {
	for name, c := range broken() {
		_, err := Parse("lib/0001-x.md", []byte(c[0]))
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		if want := "lib/0001-x.md:" + c[1] + ": "; !strings.HasPrefix(err.Error(), want) ||
			!strings.Contains(err.Error(), c[2]) {
			t.Errorf("%s:\n%v\nwant %s…%s", name, err, want, c[2])
		}
	}
}

// Parse reports all errors of a file at once.
func TestParseReportsAllErrors(t *testing.T) {
	_, err := Parse("0001-x.md",
		[]byte(page("0001", "should-fix", "bad", "[python]", "[x]", "fix: Wait for the condition.\n", "")))
	var all FileErrors
	if !errors.As(err, &all) || len(all) != 3 {
		t.Errorf("%v", err)
	}
}

// Windows line endings and a byte order mark change nothing.
func TestParseCRLF(t *testing.T) {
	want, err := Parse("0001-x.md", []byte(page("0001")))
	if err != nil {
		t.Fatal(err)
	}
	got, err := Parse("0001-x.md", []byte("\ufeff"+strings.ReplaceAll(page("0001"), "\n", "\r\n")))
	if err != nil {
		t.Fatal(err)
	}
	if got.Pattern != want.Pattern || got.Body != want.Body || got.Example != want.Example {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func layer(name string, files map[string]string) Layer {
	fsys := fstest.MapFS{}
	for f, text := range files {
		fsys[f] = &fstest.MapFile{Data: []byte(text)}
	}
	return Layer{Name: name, Dir: name, FS: fsys}
}

// A lesson of a later layer replaces the one with the same id in an earlier layer, and the library notes it.
func TestLaterLayerReplacesLesson(t *testing.T) {
	user := layer("user", map[string]string{"7060-a.md": page("7060"), "0029-b.md": page("0029", "Sleeping", "Dreaming"),
		"README.md": "hello"})
	project := layer("project", map[string]string{"7060-c.md": page("7060", "should-fix", "blocker")})
	lib, err := Load(BuiltIn(), user, project, DirLayer("nothing", t.TempDir()+"/none"))
	if err != nil {
		t.Fatal(err)
	}
	if len(lib.Lessons) != len(builtInLibrary(t).Lessons)+1 || len(lib.Notes) != 2 {
		t.Errorf("%d lessons, notes %q", len(lib.Lessons), lib.Notes)
	}
	if l, _ := lib.Get("7060"); l.Layer != "project" || l.Severity != Blocker || l.Replaces != "user" {
		t.Errorf("7060 is %+v", l)
	}
	if l, _ := lib.Get("0029"); l.Layer != "user" || l.Replaces != "built-in" {
		t.Errorf("0029 is %+v", l)
	}
	if want := "user/0029-b.md: lesson 0029 of the user library replaces the built-in one (Never write secret " +
		"values into committed files)"; !slices.Contains(lib.Notes, want) {
		t.Errorf("notes: %q", lib.Notes)
	}
}

func TestLoadRefusesDuplicateInLayer(t *testing.T) {
	_, err := Load(layer("user", map[string]string{"0060-a.md": page("0060"), "0060-b.md": page("0060")}))
	if err == nil || !strings.HasPrefix(err.Error(), "user/0060-b.md:2: lesson 0060 is in 0060-a.md already") {
		t.Errorf("%v", err)
	}
}

func TestLevel(t *testing.T) {
	for s, want := range map[Severity]Level{Blocker: Error, ShouldFix: Warning, NiceToHave: Remark, LessonLearned: None} {
		if got := s.Level(); got != want {
			t.Errorf("%s: %s, want %s", s, got, want)
		}
	}
}

// Parse reads the output of Format.
func TestFormat(t *testing.T) {
	for _, l := range builtInLibrary(t).Lessons {
		out, err := Format(l)
		if err != nil {
			t.Fatal(err)
		}
		back, err := Parse(FileName(l), out)
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(back.Pattern, back.Example, back.Languages, back.Exclude, back.Body) != fmt.Sprint(l.Pattern, l.Example,
			l.Languages, l.Exclude, l.Body) {
			t.Errorf("%s came back as\n%s", l.ID, out)
		}
	}
	odd := Draft("0050", "it's: #1 \"x\" \\ \t ü 漢 - @")
	odd.Fix, odd.Example = "  leading\n\n trailing \n", Example{"\tif x:\n---\n", "a\x07\n"}
	if _, err := Format(odd); err != nil {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(page("0001")))
	for _, c := range broken() {
		f.Add([]byte(c[0]))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		l, err := Parse("0001-x.md", src)
		if (l == nil) == (err == nil) {
			t.Fatalf("lesson %v, error %v", l, err)
		}
		p := &foreignParser{fileParser: fileParser{path: "x.md"}}
		if l := p.lesson(src); l == nil && len(p.errs) == 0 {
			t.Fatal("an import without a lesson and without an error")
		}
		if err != nil {
			var all FileErrors
			lines := strings.Count(string(src), "\n") + 2
			if !errors.As(err, &all) {
				t.Fatalf("%T", err)
			}
			for _, e := range all {
				if e.Line > lines || e.Message == "" {
					t.Fatalf("%+v in %d lines", e, lines)
				}
			}
			return
		}
		if _, err := NewScanner([]*Lesson{l}, Options{}); err != nil {
			t.Fatal(err)
		}
	})
}
