package patterns

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/tools/tooltest"
)

const badPython = "try:\n    work()\nexcept:\n    pass\n"

// scan runs the built-in rules over files of dir.
func scan(t *testing.T, dir string, files ...string) Result {
	t.Helper()
	res, err := Scan(t.Context(), program(t), dir, files, builtin(t))
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func reasons(skipped []Skip) map[string]string {
	m := map[string]string{}
	for _, s := range skipped {
		m[s.Path] = s.Reason
	}
	return m
}

// Blind spot 1: ast-grep does not report a missing path by its exit status.
func TestScanReportsMissingPath(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.py", badPython)
	res := scan(t, dir, "a.py", "gone.py")
	if len(res.Hits) != 1 || res.Scanned != 1 {
		t.Errorf("hits %v of %d files", res.Hits, res.Scanned)
	}
	if diff := cmp.Diff([]Skip{{"gone.py", "the file does not exist"}}, res.Skipped); diff != "" {
		t.Error(diff)
	}
	// A file that disappears while ast-grep starts is an error.
	p := program(t)
	_, err := p.run(t.Context(), dir, []source{{path: "gone.py"}}, text(builtin(t)))
	if err == nil || !strings.Contains(err.Error(), "could not run") || !strings.Contains(err.Error(), "gone.py") {
		t.Errorf("error %v", err)
	}
}

// Blind spot 2: ast-grep silently ignores files that it does not open or cannot read.
func TestScanReportsUnreadableFiles(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "latin.py", "# caf\xe9\n"+badPython)
	write(t, dir, "huge.py", strings.Repeat("x = 1\n", maxFile/6)+badPython)
	write(t, dir, "wide.py", "x = '"+strings.Repeat("y", maxLine)+"'\n"+badPython)
	write(t, dir, "nul.py", "x = '\x00'\n"+badPython)
	write(t, dir, "ok.py", badPython)
	write(t, dir, "empty.py", "")
	write(t, dir, "notes.md", "# notes\n")
	write(t, dir, "data.unknown", "x\n")
	write(t, dir, "sub/x.py", "x = 1\n")
	files := []string{"latin.py", "huge.py", "wide.py", "nul.py", "ok.py", "empty.py", "notes.md", "data.unknown", "sub"}
	if runtime.GOOS != "windows" {
		if err := os.Symlink("ok.py", filepath.Join(dir, "link.py")); err != nil {
			t.Fatal(err)
		}
		write(t, dir, "two\nlines.py", badPython)
		files = append(files, "link.py", "two\nlines.py")
	}
	res := scan(t, dir, files...)
	if len(res.Hits) != 1 || res.Hits[0].Path != "ok.py" || res.Scanned != 2 {
		t.Errorf("%d scanned, hits:\n%s", res.Scanned, places(res.Hits))
	}
	got := reasons(res.Skipped)
	for file, reason := range map[string]string{
		"latin.py": "UTF-8", "huge.py": "too large", "wide.py": "it has a line of", "nul.py": "binary", "sub": "folder",
		"link.py": "symbolic link", "two\nlines.py": "control characters",
	} {
		if slices.Contains(files, file) && !strings.Contains(got[file], reason) {
			t.Errorf("%q is skipped because %q, which does not say %q", file, got[file], reason)
		}
		delete(got, file)
	}
	if len(got) > 0 {
		t.Errorf("also skipped: %v", got)
	}
	if diff := cmp.Diff([]string{"data.unknown", "notes.md"}, res.Other); diff != "" {
		t.Error(diff)
	}
	// If ast-grep itself skips a file for a reason that runplan does not check, the skip is reported as well.
	p := program(t)
	saw, err := p.run(t.Context(), dir, []source{{path: "latin.py"}}, text(builtin(t)))
	if err != nil || !strings.Contains(saw.files["latin.py"], "invalidUtf8") {
		t.Errorf("saw %v, error %v", saw.files, err)
	}
}

// Scripts without a file name extension are checked by their first line.
func TestScriptsWithoutExtension(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "bin/deploy", "#!/usr/bin/env bash\nlocal x=1\n")
	write(t, dir, "bin/tool", "#!/usr/bin/python3\n"+badPython)
	write(t, dir, "other/tool", "#!/bin/sh\nlocal x=1\n")
	write(t, dir, "LICENSE", "local x=1\n")
	res := scan(t, dir, "bin/deploy", "bin/tool", "other/tool", "LICENSE")
	want := "bin/deploy:2:1: error: local works in a function only [local-outside-function]\n" +
		"bin/tool:4:1: error: this except catches everything, even the request to stop [bare-except]\n"
	if diff := cmp.Diff(want, places(res.Hits)); diff != "" {
		t.Error(diff)
	}
	if why := reasons(res.Skipped)["other/tool"]; !strings.Contains(why, "another script with the name tool") {
		t.Errorf("other/tool: %q", why)
	}
	if diff := cmp.Diff([]string{"LICENSE"}, res.Other); diff != "" {
		t.Error(diff)
	}
}

// Blind spot 3: without paths, ast-grep scans the whole working directory.
func TestScanWithoutPathsScansNothing(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.py", badPython)
	if res := scan(t, dir); len(res.Hits) != 0 || res.Scanned != 0 {
		t.Errorf("%+v", res)
	}
	if res := scan(t, dir, "gone.py"); len(res.Hits) != 0 || res.Scanned != 0 || len(res.Skipped) != 1 {
		t.Errorf("%+v", res)
	}
}

// Blind spot 4: the configuration of the scanned repository can declare Python files as JavaScript, or make the scan
// fail.
func TestScanIgnoresRepositoryConfiguration(t *testing.T) {
	for name, config := range map[string]string{
		"blinding": "ruleDirs: []\nlanguageGlobs:\n  javascript: ['*.py']\n",
		"broken":   "ruleDirs: {]\n",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "sgconfig.yml", config)
			write(t, dir, "a.py", badPython)
			if res := scan(t, dir, "a.py"); len(res.Hits) != 1 {
				t.Errorf("%+v", res)
			}
		})
	}
}

// Blind spot 5: a suppression comment of ast-grep has no effect; that of runplan works if it names a rule and a
// reason.
func TestSuppression(t *testing.T) {
	dir, files := tree(t, []byte(`
-- all.py --
# ast-grep-ignore

try:
    work()
except:
    pass
-- line.py --
try:
    work()
# ast-grep-ignore: bare-except
except:
    pass
-- reason.py --
try:
    work()
except:  # runplan:ignore bare-except the worker is restarted anyway
    pass
try:
    work()
# runplan:ignore bare-except,empty-catch: the same again
except:
    pass
-- noreason.py --
try:
    work()
except:  # runplan:ignore bare-except
    pass
-- unused.py --
x = 1  # runplan:ignore bare-except not any more
-- others.py --
x = 1  # runplan:ignore 0029 a lesson
# ast-grep-ignore: somebody-elses-rule
x = 2
# we do not use ast-grep-ignore here
-- text.js --
const s = "ast-grep-ignore"; /* runplan:ignore async-no-await kept for the callers */ async function f() { return s; }
`))
	res := scan(t, dir, files...)
	want := `all.py:1:1: warning: ast-grep-ignore has no effect here [suppression-without-effect]
all.py:5:1: error: this except catches everything, even the request to stop [bare-except]
line.py:3:1: warning: ast-grep-ignore has no effect here [suppression-without-effect]
line.py:4:1: error: this except catches everything, even the request to stop [bare-except]
noreason.py:3:1: error: this except catches everything, even the request to stop [bare-except]
noreason.py:3:1: warning: this comment has no effect, because it gives no reason [suppression-without-reason]
unused.py:1:1: hint: this comment has no effect: bare-except finds nothing in line 1 [suppression-without-use]
`
	if diff := cmp.Diff(want, places(res.Hits)); diff != "" {
		t.Error(diff)
	}
	var silent []string
	for _, s := range res.Suppressed {
		silent = append(silent, fmt.Sprintf("%s:%d %s: %s", s.Path, s.Line, s.Rule, s.Reason))
	}
	if diff := cmp.Diff([]string{
		"reason.py:3 bare-except: the worker is restarted anyway",
		"reason.py:8 bare-except: the same again",
		"text.js:1 async-no-await: kept for the callers",
	}, silent); diff != "" {
		t.Error(diff)
	}
}

// A string that looks like a suppression comment is not a suppression.
func TestSuppressionIgnoresStrings(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.py", "text = "+"\"\"\""+"\n# ast-grep-ignore\n# runplan:ignore bare-except\n"+"\"\"\""+"\n")
	write(t, dir, "a.java",
		"class A {\n  // ast-grep-ignore\n  void a() { try { b(); } catch (E e) {} } // runplan:ignore empty-catch the b "+
			"is optional\n}\n")
	res := scan(t, dir, "a.py", "a.java")
	if diff := cmp.Diff("a.java:2:1: warning: ast-grep-ignore has no effect here [suppression-without-effect]\n",
		places(res.Hits)); diff != "" || len(res.Suppressed) != 1 {
		t.Errorf("%s, suppressed %v", diff, res.Suppressed)
	}
}

// A rule can suggest a fix, and can apply to a language without built-in rules.
func TestRulesSupportFixesAndOtherLanguages(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.rs", "fn main() { x.unwrap(); }\n")
	write(t, dir, "b.rs", "// runplan:ignore no-unwrap it was checked above\nfn main() { x.unwrap(); }\n")
	write(t, dir, "c.py", badPython)
	mine := rule(t, "id: no-unwrap\nlanguage: Rust\nmessage: no unwrap of $A\nrule: {pattern: $A.unwrap()}\nfix: $A?\n")
	res, err := Scan(t.Context(), program(t), dir, []string{"a.rs", "b.rs", "c.py"}, mine)
	if err != nil || len(res.Hits) != 1 || res.Hits[0].Fix != "x?" || res.Hits[0].Severity != Hint ||
		len(res.Suppressed) != 1 || len(res.Other) != 1 {
		t.Errorf("%+v, error %v", res, err)
	}
}

// Blind spot 6: ast-grep reports a path twice if it is given twice.
func TestScanReportsRepeatedPathOnce(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.py", badPython)
	res := scan(t, dir, "a.py", "./a.py", "x/../a.py", filepath.Join(dir, "a.py"))
	if len(res.Hits) != 1 || res.Scanned != 1 {
		t.Errorf("%d scanned, hits:\n%s", res.Scanned, places(res.Hits))
	}
}

// Blind spot 7: rules find nothing in code that ast-grep cannot parse.
func TestScanReportsUnparsedCode(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.py", "def (:\n  x = = 1\n")
	write(t, dir, "b.py", "x = 1\n")
	if diff := cmp.Diff([]string{"a.py"}, scan(t, dir, "a.py", "b.py").Partial); diff != "" {
		t.Error(diff)
	}
}

func TestScanRefusesOutsidePaths(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{"../a.py", "/etc/passwd", "."} {
		if _, err := Scan(t.Context(), Program{Path: "x"}, dir, []string{path}, nil); err == nil {
			t.Errorf("%s is scanned", path)
		}
	}
}

func TestScanAcceptsUnusualFileNames(t *testing.T) {
	dir := t.TempDir()
	names := []string{"-rf.py", "sp ace.py", "ümlaut.py", "a: b.py", "--rule.py", "[x].py", "$(x).py", ".hidden/a.py"}
	for _, n := range names {
		write(t, dir, n, badPython)
	}
	write(t, dir, ".gitignore", "*.py\n")
	res := scan(t, dir, names...)
	if len(res.Hits) != len(names) || len(res.Skipped) != 0 {
		t.Errorf("skipped %v, hits:\n%s", res.Skipped, places(res.Hits))
	}
}

// Columns count characters, starting at 1.
func TestPositions(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.ts", "// line\n  const ü = 'äö'; try { work() } catch {}\n")
	res := scan(t, dir, "a.ts")
	if diff := cmp.Diff("a.ts:2:34: hint: this catch drops the error without a trace [empty-catch]\n",
		places(res.Hits)); diff != "" {
		t.Error(diff)
	}
}

// More files than fit on one command line are scanned, with the same result each time.
func TestManyFilesInChunks(t *testing.T) {
	tooltest.Slow(t)
	dir := t.TempDir()
	var files []string
	for i := range maxChunk + 500 {
		name := fmt.Sprintf("%s/f%04d.py", strings.Repeat("d", 60), i)
		write(t, dir, name, badPython)
		files = append(files, name)
	}
	res := scan(t, dir, files...)
	if len(res.Hits) != len(files) || res.Scanned != len(files) {
		t.Errorf("%d hits in %d files, want %d", len(res.Hits), res.Scanned, len(files))
	}
	if !slices.IsSortedFunc(res.Hits, func(a, b Hit) int { return strings.Compare(a.Path, b.Path) }) {
		t.Error("not sorted")
	}
	var all []source
	for _, f := range files {
		all = append(all, source{path: f})
	}
	n := 0
	for _, c := range chunks(all, argvLimit()) {
		size := 0
		for _, f := range c {
			size += len(f.path) + 3
		}
		if n += len(c); size > argvLimit() || len(c) > maxChunk {
			t.Errorf("a chunk of %d files and %d bytes", len(c), size)
		}
	}
	if n != len(files) {
		t.Errorf("%d of %d files are in chunks", n, len(files))
	}
}

// The globs of a rule are relative to the scanned folder, also for temporary copies of files.
func TestRuleGlobsAreRelativeToFolder(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"src/a.py", "src/deep/b.py", "lib/c.py"} {
		write(t, dir, name, "evil()\n")
		write(t, dir, strings.TrimSuffix(name, ".py")+"2.py", "# ast-grep-ignore: somebody-elses\nevil()\n")
	}
	mine := rule(t,
		"id: evil\nlanguage: python\nmessage: m\nfiles: ['src/*.py', 'src/**/*.py']\nignores: ['src/deep/**']\nrule: "+
			"{pattern: evil()}\n")
	res, err := Scan(t.Context(), program(t), dir,
		[]string{"src/a.py", "src/a2.py", "src/deep/b.py", "src/deep/b2.py", "lib/c.py", "lib/c2.py"}, mine)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("src/a.py:1:1: hint: m [evil]\nsrc/a2.py:2:1: hint: m [evil]\n", places(res.Hits)); diff != "" {
		t.Error(diff)
	}
}

// Files that an earlier scan left for ast-grep are used only if they have the content that this scan needs.
func TestScanRewritesChangedScratch(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.py", badPython)
	p := program(t)
	p.Scratch = filepath.Join(t.TempDir(), "scratch")
	look := func() string {
		t.Helper()
		res, err := Scan(t.Context(), p, dir, []string{"a.py"}, builtin(t))
		if err != nil {
			t.Fatal(err)
		}
		return places(res.Hits)
	}
	first := look()
	if first == "" {
		t.Fatal("no hits")
	}
	kept, err := filepath.Glob(filepath.Join(p.Scratch, "*", "*.yml"))
	if err != nil || len(kept) != 2 {
		t.Fatalf("kept %v (%v)", kept, err)
	}
	for _, path := range kept {
		for name, change := range map[string]func() error{
			"emptied": func() error { return os.Truncate(path, 0) },
			"removed": func() error { return os.Remove(path) },
			"harmless rule of the same size": func() error {
				text, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				return os.WriteFile(path, []byte(strings.ReplaceAll(string(text), "except", "excepx")), 0o600)
			},
			"link": func() error {
				if err := os.Rename(path, path+".old"); err != nil {
					return err
				}
				return os.Symlink(path+".old", path)
			},
		} {
			if err := change(); err != nil {
				t.Fatal(err)
			}
			if got := look(); got != first {
				t.Errorf("%s %s: found %q, not %q", filepath.Base(path), name, got, first)
			}
			if fi, err := os.Lstat(path); err != nil || !fi.Mode().IsRegular() {
				t.Errorf("%s %s: it is not a regular file afterwards (%v)", filepath.Base(path), name, err)
			}
		}
	}
}
