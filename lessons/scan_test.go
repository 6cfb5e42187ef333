package lessons

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// one returns a scanner with a single invented lesson.
func one(t *testing.T, changes ...string) *Scanner {
	t.Helper()
	l, err := Parse("0060-x.md", []byte(page("0060", changes...)))
	if err != nil {
		t.Fatal(err)
	}
	return scanner(t, []*Lesson{l}, Options{})
}

func TestPosition(t *testing.T) {
	s := one(t)
	for text, want := range map[string]string{
		"time.sleep(1)":                   "1:1",
		"\ufefftime.sleep(1)":             "1:1",
		"a\r\n\r\n  time.sleep(1)\r\nb":   "3:3",
		"x\n\ttime.sleep(1)\ntime.sleep(": "2:2 3:1",
	} {
		var got []string
		for _, h := range s.Source("a.py", []byte(text)).Hits {
			got = append(got, fmt.Sprintf("%d:%d", h.Line, h.Col))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %v, want %s", text, got, want)
		}
	}
	s = one(t, `^\s*time\.sleep\(`, `sleep\(`)
	if r := s.Source("a.py", []byte("é漢.sleep(1); sleep(2)")); len(r.Hits) != 1 || r.Hits[0].Col != 4 {
		t.Errorf("%+v", r.Hits)
	}
}

// A pattern matches within one line, unless it mentions line feeds.
func TestPatternMatchesWithinLine(t *testing.T) {
	oneLine := one(t, `^\s*time\.sleep\(`, `wait\s*for[^;]*ever`)
	if r := oneLine.Source("a.py", []byte("wait\nfor\never\nwait for ever")); len(r.Hits) != 1 || r.Hits[0].Line != 4 {
		t.Errorf("%+v", r.Hits)
	}
	several := one(t, `^\s*time\.sleep\(`, `^wait:\n\s+forever$`)
	if r := several.Source("a.py", []byte("x\r\nwait:\r\n    forever\r\nwait:\n forever")); len(r.Hits) != 2 ||
		r.Hits[0].Line != 2 || r.Hits[1].Line != 4 {
		t.Errorf("%+v", r.Hits)
	}
	whole := one(t, `^\s*time\.sleep\(`, `(?s)begin\b.*\n\bsleeping`)
	if r := whole.Source("a.py", []byte("begin\n"+strings.Repeat("x\n", 9000)+"sleeping")); len(r.Hits) != 1 ||
		r.Hits[0].Line != 1 {
		t.Errorf("%+v", r.Hits)
	}
	bare := one(t, `^\s*time\.sleep\(`, `\d\d`) // has no literal to look for
	if r := bare.Source("a.py", []byte("1\n12\n\n3 45 67")); len(r.Hits) != 2 || r.Hits[1].Line != 4 {
		t.Errorf("%+v", r.Hits)
	}
}

// marked inserts the suppression mark, which must not occur literally in this file.
func marked(text string) string { return strings.ReplaceAll(text, "IGNORE", suppressionMark) }

func TestSuppression(t *testing.T) {
	s := one(t)
	for name, c := range map[string]struct {
		text             string
		hits, suppressed int
		problem          string
	}{
		"none":                    {"time.sleep(1)\n", 1, 0, ""},
		"on the line":             {"time.sleep(1)  # IGNORE 0060 the device needs it\n", 0, 1, ""},
		"above":                   {"# IGNORE 0060 the device needs it\ntime.sleep(1)\n", 0, 1, ""},
		"two above":               {"# IGNORE 0060 no\n\ntime.sleep(1)\n", 1, 0, ""},
		"behind code above":       {"x = 1  # IGNORE 0060 about x\ntime.sleep(1)\n", 1, 0, ""},
		"below":                   {"time.sleep(1)\n# IGNORE 0060 late\n", 1, 0, ""},
		"other lesson":            {"time.sleep(1)  # IGNORE 0061 for that\n", 1, 0, "names lesson 0061, which does not exist"},
		"several":                 {"time.sleep(1)  # IGNORE 0001, 0060: the device needs it\n", 0, 1, "names lesson 0001"},
		"no reason":               {"time.sleep(1)  # IGNORE 0060\n", 1, 0, "has no reason"},
		"no reason but dashes":    {"time.sleep(1)  # IGNORE 0060 --\n", 1, 0, "has no reason"},
		"no lesson":               {"time.sleep(1)  # IGNORE\n", 1, 0, "names no lesson"},
		"for another check":       {"time.sleep(1)  # IGNORE no-sleep it is slow\n", 1, 0, ""},
		"in text":                 {"print('IGNORE 0060')\n", 0, 0, ""},
		"in a comment in C":       {"time.sleep(1) /* IGNORE 0060 slow */\n", 0, 1, ""},
		"no reason in such a one": {"time.sleep(1) /* IGNORE 0060 */\n", 1, 0, "has no reason"},
		"line ends":               {"# IGNORE 0060 slow\r\ntime.sleep(1)\r\n", 0, 1, ""},
		"a longer word":           {"time.sleep(1)  # IGNOREd 0060 slow\n", 1, 0, ""},
	} {
		r := s.Source("a.py", []byte(marked(c.text)))
		said := ""
		for _, p := range r.Problems {
			said += p.Message
		}
		if len(r.Hits) != c.hits || len(r.Suppressed) != c.suppressed || (said == "") != (c.problem == "") ||
			!strings.Contains(said, c.problem) {
			t.Errorf("%s: %d hits, %d suppressed, problems %q", name, len(r.Hits), len(r.Suppressed), said)
		}
	}
	if r := s.Source("a.py",
		[]byte(marked("time.sleep(1)  # IGNORE 0060 slow door"))); r.Suppressed[0].Reason != "slow door" {
		t.Errorf("reason %q", r.Suppressed[0].Reason)
	}
}

func FuzzSuppression(f *testing.F) {
	f.Add(marked("x # IGNORE 0029,0028: why"))
	f.Add(marked("/* IGNORE 0029 */"))
	f.Fuzz(func(t *testing.T, line string) {
		s, ok := parseSuppression(line)
		if !ok {
			return
		}
		for _, id := range s.ids {
			if !isID(id) || !strings.Contains(line, id) {
				t.Fatalf("%q in %q", id, line)
			}
		}
		if !strings.Contains(line, s.reason) {
			t.Fatalf("%q in %q", s.reason, line)
		}
	})
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// below returns all files below a folder.
func below(t testing.TB, dir string) []string {
	t.Helper()
	var files []string
	if err := fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			files = append(files, name)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return files
}

// A scan reports each file that it does not check, with the reason.
func TestScanReportsSkippedFiles(t *testing.T) {
	dir := t.TempDir()
	const bad = "time.sleep(1)\n"
	for name, text := range map[string]string{
		"a.py": bad, "src/b.py": bad, "tool": "#!/usr/bin/env -S python3 -u\n" + bad, "c.sh": bad,
		"node_modules/x/d.py": bad, "src/vendor/e.py": bad, ".git/f.py": bad, "__pycache__/g.py": bad,
		"bin.py": "\x00" + bad, "wide.py": "\xff\xfet\x00", "wide_generated.py": bad, "gen.py": "# Code generated by protoc. DO NOT EDIT.\n" + bad,
		"venv/h.py": bad, "big.py": bad + strings.Repeat("#", 5000),
	} {
		write(t, dir, name, text)
	}
	if err := os.Symlink("a.py", filepath.Join(dir, "link.py")); err != nil {
		t.Skip("no symbolic links here")
	}
	l, err := Parse("0060-x.md", []byte(page("0060")))
	if err != nil {
		t.Fatal(err)
	}
	s := scanner(t, []*Lesson{l}, Options{})
	s.maxSize = 4000
	tree, err := s.Scan(t.Context(), dir, below(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, h := range tree.Hits {
		got = append(got, h.Path)
	}
	if want := []string{"a.py", "src/b.py", "tool"}; !slices.Equal(got, want) {
		t.Errorf("hits in %v, want %v", got, want)
	}
	skipped := map[string]string{}
	for _, x := range tree.Skipped {
		skipped[x.Path] = x.Reason
	}
	for path, want := range map[string]string{
		"node_modules": "dependencies, 1 file(s)", "src/vendor": "dependencies, 1 file(s)",
		".git": "version control, 1 file(s)", "__pycache__": "cache, 1 file(s)", "venv": "dependencies, 1 file(s)",
		"bin.py": "binary", "wide.py": "UTF-16 text, which is not read",
		"gen.py":            "generated, with 1 place(s) that were not judged",
		"wide_generated.py": "generated, with 1 place(s) that were not judged",
		"big.py":            "0 MiB, more than the 0 that are checked", "link.py": "symbolic link",
	} {
		if skipped[path] != want {
			t.Errorf("%s: %q, want %q", path, skipped[path], want)
		}
	}
	if len(skipped) != 11 {
		t.Errorf("skipped %v", skipped)
	}

	// the same holds for a list of files
	some, err := s.Scan(t.Context(), dir, []string{"a.py", "node_modules/x/d.py", "node_modules/x/d2.py", "gone.py"})
	if err != nil || len(some.Hits) != 1 || some.Files != 1 ||
		fmt.Sprint(some.Skipped) != "[{gone.py does not exist} {node_modules dependencies, 2 file(s)}]" {
		t.Errorf("%+v, %v", some, err)
	}
}

// An unreadable file is an error and never counts as clean.
func TestUnreadableFileIsError(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.py", "")
	if err := os.Chmod(filepath.Join(dir, "a.py"), 0); err != nil || os.Geteuid() == 0 {
		t.Skip("everything can be read here")
	}
	if _, err := one(t).Scan(t.Context(), dir, []string{"a.py"}); err == nil {
		t.Error("no error")
	}
}

func TestScanStopsOnCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := one(t).Scan(ctx, ".", []string{"scan_test.go"}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// The result of a scan does not depend on the number of workers, and very long lines and many files are scanned
// completely.
func TestScanResultIgnoresWorkerCount(t *testing.T) {
	s := one(t, `^\s*time\.sleep\(`, `time\.sleep\(`)
	long := bytes.Repeat([]byte("x = 1; "), 1<<20)
	copy(long[5<<20:], "time.sleep(1)")
	if r := s.Source("a.py", long); len(r.Hits) != 1 || len(r.Hits[0].Text) > 4*maxExcerpt {
		t.Errorf("%d hits", len(r.Hits))
	}
	dir := t.TempDir()
	for i := range 300 {
		write(t, dir, fmt.Sprintf("d%d/f%d.py", i%7, i), strings.Repeat("pass\n", i)+"time.sleep(1)\n")
	}
	first, err := s.Scan(t.Context(), dir, below(t, dir))
	if err != nil || len(first.Hits) != 300 {
		t.Fatalf("%d hits, %v", len(first.Hits), err)
	}
	s.workers = 9
	again, err := s.Scan(t.Context(), dir, below(t, dir))
	if err != nil || fmt.Sprint(again.Hits) != fmt.Sprint(first.Hits) && len(again.Hits) != 300 {
		t.Error("the second time it was different")
	}
	for i := range first.Hits {
		if first.Hits[i].Path != again.Hits[i].Path || first.Hits[i].Line != again.Hits[i].Line {
			t.Fatalf("%v and %v", first.Hits[i], again.Hits[i])
		}
	}
}

// The excerpt of a hit does not contain the secret that was found.
func TestExcerptHidesSecrets(t *testing.T) {
	s := scanner(t, builtInLibrary(t).Lessons, Options{})
	for _, line := range []string{"db_password" + " = \"correct-horse-7-battery\"", "api_key" + ": 'abcdefgh1234567'"} {
		r := s.Source("a.py", []byte(line))
		if len(r.Hits) != 1 {
			t.Fatalf("%q: %d hits", line, len(r.Hits))
		}
		if text := r.Hits[0].Text; strings.Contains(text, "battery") || strings.Contains(text, "1234567") {
			t.Errorf("the hit shows %q", text)
		}
	}
}

// A lesson of severity lesson-learned has no findings, and a lesson can exclude paths.
func TestLessonsWithoutFindings(t *testing.T) {
	if r := one(t, "should-fix", "lesson-learned").Source("a.py", []byte("time.sleep(1)")); len(r.Hits) != 0 {
		t.Errorf("%+v", r.Hits)
	}
	s := one(t, "fix:", "exclude: ['**/slow/**', '*_slow.py']\nfix:")
	for path, want := range map[string]int{"a.py": 1, "x/slow/a.py": 0, "slow/a.py": 0, "x/a_slow.py": 0} {
		if r := s.Source(path, []byte("time.sleep(1)")); len(r.Hits) != want {
			t.Errorf("%s: %d hits, want %d", path, len(r.Hits), want)
		}
	}
}

func TestLanguageOf(t *testing.T) {
	d := newDetector()
	for path, want := range map[string]string{
		"a.jsx": "javascript", "a.TSX": "typescript", "x/b.mjs": "javascript", "c.cjs": "javascript", "a.bash": "shell",
		".bashrc": "shell", ".envrc": "shell",
		"app.service": "systemd", ".env": "env", ".env.local": "env", "prod.env": "env", "Dockerfile": "dockerfile",
		"Makefile": "make", "README": "", "a.xyz": "", "a.h": "c",
	} {
		if got := d.byName(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	for line, want := range map[string]string{
		"#!/bin/sh\n": "shell", "#!/usr/bin/env python3.12\n": "python", "#! /usr/bin/env -S node --x\n": "javascript",
		"#!/opt/x\n": "", "#!": "", "sh\n": "",
		"#!/usr/bin/env A=1 bash\n": "shell",
	} {
		if got := d.byShebang([]byte(line)); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

// The literal search before an expression skips no match: the scan finds the same lines as the expression alone.
func FuzzScan(f *testing.F) {
	f.Add(`a(b|cd)+x[yz]ab`, "acdx\nabxyab\r\nabcdxzab")
	f.Add(`^\s*local `, "local x\n  local y")
	f.Fuzz(func(t *testing.T, expr, text string) {
		re, err := regexp.Compile(expr)
		odd := func(r rune) bool { return r > 127 || r == 0 }
		if err != nil || len(expr) > 100 || re.MatchString("") || namesLineFeed(expr) ||
			strings.ContainsFunc(expr+text, odd) ||
			strings.Contains(text, suppressionMark) || strings.Contains(text, "enerated") {
			return
		}
		l := &Lesson{ID: "0060", Languages: []string{All}, Severity: Blocker, Pattern: Pattern{Type: Syntactic, Regex: expr}}
		var got, want []int
		for _, h := range scanner(t, []*Lesson{l}, Options{}).Source("a", []byte(text)).Hits {
			got = append(got, h.Line)
		}
		for i, line := range strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
			if re.MatchString(line) {
				want = append(want, i+1)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%q in %q: lines %v, want %v", expr, text, got, want)
		}
	})
}
