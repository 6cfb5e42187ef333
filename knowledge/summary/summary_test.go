package summary

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/knowledge/outline"
	"github.com/runplan/runplan/patterns"
)

var update = flag.Bool("update", false, "write the goldens again")

// program returns ast-grep if it is installed.
func program(t *testing.T) patterns.Program {
	t.Helper()
	tools, err := filepath.Abs("../../bin/tools")
	if err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "PATH="+tools+string(os.PathListSeparator)+os.Getenv("PATH"))
	p, err := patterns.Find(context.Background(), env, "")
	if err != nil {
		t.Logf("ast-grep: %v; only Go is checked. To install it: make tools", err)
		return patterns.Program{}
	}
	p.Env = env
	return p
}

// sources copies the files of dir to a new folder, each without the suffix ".txt", and returns the folder.
func sources(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	for _, e := range entries {
		raw, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, strings.TrimSuffix(e.Name(), ".txt")), raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func summarize(t *testing.T, dir string, o Options) []Summary {
	t.Helper()
	o.Root = dir
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, e := range entries {
		l := outline.LanguageOf(e.Name())
		if l == outline.Go || l != "" && o.Program.Found() {
			paths = append(paths, e.Name())
		}
	}
	files, skipped, err := Files(context.Background(), o, paths)
	if err != nil || len(skipped) > 0 {
		t.Fatalf("skipped %v, error %v", skipped, err)
	}
	return files
}

func compare(t *testing.T, golden, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got):\n%s", golden, d)
	}
}

// For three real files of 300 to 800 lines in each language, the summary has less than 15 % of the lines (BP-08) and
// contains all required content.
func TestRealFileSummariesAreShort(t *testing.T) {
	p := program(t)
	root := sources(t, "testdata/real")
	files := summarize(t, root, Options{Program: p})
	if want := map[bool]int{true: 9, false: 3}[p.Found()]; len(files) != want {
		t.Fatalf("%d summaries, want %d", len(files), want)
	}
	for _, f := range files {
		text := f.PromptText()
		lines := strings.Count(text, "\n")
		if f.Lines < 300 || f.Lines > 800 {
			t.Errorf("%s has %d lines; the test is about 300 to 800", f.Path, f.Lines)
		}
		share := float64(lines) / float64(f.Lines)
		raw, err := os.ReadFile(filepath.Join(root, f.Path))
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%-20s %4d lines → %3d (%4.1f %%), %2d %% of the characters", f.Path, f.Lines, lines, 100*share,
			100*len(text)/len(raw))
		if share >= 0.15 {
			t.Errorf("%s: %d of %d lines, %.1f %%", f.Path, lines, f.Lines, 100*share)
		}
		compare(t, filepath.Join("testdata/real", f.Path+".golden"), text)
		for _, c := range slices.Concat([]Class{{Methods: f.Functions}}, f.Classes) {
			for _, fn := range c.Methods {
				if !strings.Contains(text, fn.Signature) {
					t.Errorf("%s: the signature of %s is missing", f.Path, fn.Name)
				}
			}
		}
	}
}

// The golden files show the summary of a service in each language (BP-09, BP-11), as JSON and as text.
func TestServiceSummaries(t *testing.T) {
	p := program(t)
	for _, f := range summarize(t, sources(t, "testdata/service"),
		Options{Program: p, Own: []string{"orders", "shop_common", "example.org/shop", "@"},
			Clients: []string{"shop_common.ledger.Ledger"}}) {
		text, err := json.MarshalIndent(f, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		compare(t, filepath.Join("testdata/service", f.Path+".json"), string(text)+"\n")
		compare(t, filepath.Join("testdata/service", f.Path+".golden"), f.PromptText())
		for _, hidden := range []string{"SECRET-BODY", "secret comment", "local_variable", "localVariable"} {
			if strings.Contains(string(text), hidden) {
				t.Errorf("%s: %q is in the summary", f.Path, hidden)
			}
		}
	}
}

// A summary has all keys, even if their values are empty (BP-12).
func TestSummaryHasAllKeys(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.go"), []byte("package a\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	files, _, err := Files(context.Background(), Options{Root: dir}, []string{"a.go"})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(files[0])
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"module_docstring", "classes", "functions", "endpoints", "enums", "constants",
		"internal_imports", "error_handlers", "http_calls"} {
		if v, ok := got[key]; !ok || v == nil {
			t.Errorf("%s is %v in %s", key, v, text)
		}
	}
}

// A file that cannot be checked is skipped with a reason and never summarized as empty.
func TestUncheckableFileIsSkipped(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a.rb": "x", "b.py": "x = 1\n", "c.go": "package c\n", "e\x1b.go": "package c\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "d.go")); err != nil {
		t.Fatal(err)
	}
	files, skipped, err := Files(context.Background(), Options{Root: dir}, []string{"a.rb", "b.py", "c.go", "d.go", "e\x1b.go",
		"f\xff.py"})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 1 || files[0].Path != "c.go" {
		t.Errorf("files: %v", files)
	}
	want := []patterns.Skip{
		{Path: "a.rb", Reason: "its language is not read"}, {Path: "b.py", Reason: patterns.MissingNote},
		{Path: "d.go", Reason: "a symbolic link or a special file"},
		{Path: "e\x1b.go", Reason: "its name has control characters or is not UTF-8"},
		{Path: "f\xff.py", Reason: "its name has control characters or is not UTF-8"},
	}
	if d := cmp.Diff(want, skipped); d != "" {
		t.Error(d)
	}
	files, skipped, err = Files(context.Background(), Options{Root: filepath.Join(dir, "sub")}, nil)
	if err == nil {
		t.Errorf("a missing root: %v, %v", files, skipped)
	}
	if files, skipped, _ := Files(context.Background(), Options{Root: dir},
		[]string{"../" + filepath.Base(dir) + "/c.go"}); len(files) > 0 || len(skipped) != 1 {
		t.Errorf("a path out of the root: %v, %v", files, skipped)
	}
}

func TestNormalPath(t *testing.T) {
	for in, want := range map[string]string{
		"/orders/:id": "/orders/{id}", "/orders/{id}": "/orders/{id}", "/o/<int:id>/x": "/o/{id}/x",
		"/f/{path...}": "/f/{path}", "/f/{p:path}": "/f/{p}", "/a/": "/a", "/": "/",
	} {
		if got := NormalPath(in); got != want {
			t.Errorf("%s → %s, want %s", in, got, want)
		}
	}
}
