package lessons

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Import rejects each invalid file with its line and imports the valid files of the same folder.
func TestImportRejectsInvalidFiles(t *testing.T) {
	files, want := map[string]string{}, map[string]string{}
	n := 100
	for name, c := range broken() {
		if strings.HasSuffix(name, "*") {
			continue
		}
		n++
		id := fmt.Sprintf("%04d", n)
		files[id+".md"] = strings.Replace(c[0], `"0001"`, `"`+id+`"`, 1)
		want[id+".md"] = "theirs/" + id + ".md:" + c[1] + ": "
	}
	if len(want) < 20 {
		t.Fatalf("only %d broken files", len(want))
	}
	files["0300.md"], files["0301.md"] = page("0300"), page("0301", "Sleeping", "Napping")
	into := t.TempDir()
	r, err := Import(layer("theirs", files), into, builtInLibrary(t), ImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Imported) != 2 || len(r.Rejected) != len(want) {
		t.Errorf("imported %d, rejected %d of %d", len(r.Imported), len(r.Rejected), len(want))
	}
	for _, e := range r.Rejected {
		name := filepath.Base(e.Path)
		if !strings.HasPrefix(e.Error(), want[name]) {
			t.Errorf("%v, want %s", e, want[name])
		}
		delete(want, name)
	}
	for name := range want {
		t.Errorf("%s was not rejected", name)
	}
	if lib, err := Load(DirLayer("project", into)); err != nil || len(lib.Lessons) != 2 {
		t.Errorf("%v, %v", lib, err)
	}
}

// nextIDs returns the first n ids after those of a library.
func nextIDs(t *testing.T, lib *Library, n int) []string {
	t.Helper()
	first, err := NextID(lib)
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.Atoi(first)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("%04d", number+i))
	}
	return out
}

// Import repairs errors in lesson files if that does not change their meaning, and reports each repair.
func TestImportRepairsFiles(t *testing.T) {
	lib := builtInLibrary(t)
	next := nextIDs(t, lib, 4) // ids that imported lessons get
	files := map[string]string{
		"0022-a.md": page("0022", "|-\n    ^\\s*time\\.sleep\\(", `"\btime\\.sleep\("`, "[python]", "[py, bash, js]"),
		"0038-b.md": page("0038", `"0038"`, "0038", "Sleeping", "Napping", "fix:", "positive_alternative: Wait.\nfix:"),
		"0043-c.md": page("0043", `"0043"`, "0043", "Sleeping", "Resting", "[python]", "python, all", "test-anti-patterns",
			"planning"),
		"9999-d.md": page(next[1], "Sleeping", "Dozing", "python", "go", "time.sleep(3)", "time.Sleep(3)"),
	}
	into := t.TempDir()
	r, err := Import(layer("theirs", files), into, lib,
		ImportOptions{Categories: map[string]string{"planning": "integration-boundaries"}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, i := range r.Imported {
		got = append(got, i.From+" → "+filepath.Base(i.To))
		got = append(got, i.Notes...)
	}
	for _, e := range r.Rejected {
		t.Error(e)
	}
	want := []string{
		"theirs/0022-a.md → " + next[0] + "-sleeping-instead-of-waiting.md",
		"line 9: read as a regular expression, because YAML has no such escapes",
		`id 0022 is used by "Build tool JSX factory shadowed by arrow params", so it got ` + next[0],
		"theirs/0038-b.md → " + next[1] + "-napping-instead-of-waiting.md",
		"field positive_alternative is ignored",
		`id 0038 is used by "Subscribe without stored ref = cannot unsubscribe", so it got ` + next[1],
		"theirs/0043-c.md → " + next[2] + "-resting-instead-of-waiting.md",
		"category planning became integration-boundaries",
		`id 0043 is used by "Exact count assertions on extensible collections break on addition", so it got ` + next[2],
		"theirs/9999-d.md → " + next[3] + "-dozing-instead-of-waiting.md",
		"its regex does not match its own bad example",
		"id " + next[1] + ` is used by "Napping instead of waiting", so it got ` + next[3],
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	all, err := Load(BuiltIn(), DirLayer("project", into))
	if err != nil {
		t.Fatal(err)
	}
	if l, _ := all.Get(next[0]); l.Pattern.Regex != `\btime\.sleep\(` ||
		strings.Join(l.Languages, " ") != "python shell javascript" {
		t.Errorf("%+v", l)
	}
	// a second import copies no lesson again
	r, err = Import(layer("theirs", files), into, all,
		ImportOptions{Categories: map[string]string{"planning": "integration-boundaries"}})
	if err != nil || len(r.Imported) != 0 || len(r.Known) != 4 {
		t.Errorf("%+v %v", r, err)
	}
}

func TestImportKeepsIDs(t *testing.T) {
	into := t.TempDir()
	r, err := Import(layer("theirs", map[string]string{"0022-a.md": page("0022")}), into, builtInLibrary(t),
		ImportOptions{KeepIDs: true})
	if err != nil || len(r.Imported) != 1 || r.Imported[0].ID != "0022" {
		t.Fatalf("%+v %v", r, err)
	}
	// two files of the imported library have the same id
	r, err = Import(layer("theirs", map[string]string{"a.md": page("7080"), "b.md": page("7080", "Sleeping", "Dozing")}),
		into, builtInLibrary(t), ImportOptions{})
	if err != nil || len(r.Imported) != 1 || len(r.Rejected) != 1 ||
		r.Rejected[0].Error() != "theirs/b.md:2: lesson 7080 is already in a.md; give one of the two another id" {
		t.Errorf("%+v %v", r, err)
	}
}
