package testscripts

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
)

// commands returns the commands that scripts have in addition to testscript's own. A command that takes a folder uses
// the current one by default. FILE of snapshot and unchanged is relative to $WORK, so that it is outside the
// repository that it describes.
func commands() map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){
		// repo DIR: make DIR a git repository and commit all files in it.
		"repo": cmdRepo,
		// snapshot FILE: record everything that a run must not change: checkout, index, refs, stash, hooks, config.
		"snapshot": cmdSnapshot,
		// unchanged FILE [PATH...]: check that all of it is still as snapshot FILE recorded it, except files whose
		// path contains one of PATH.
		"unchanged": cmdUnchanged,
		// notrace [DIR]: check that the repository has no worktree and no branch of runplan.
		"notrace": cmdNoTrace,
		// noprocs [TEXT]: check that no process of the script is left, and none with TEXT in its command line.
		"noprocs": cmdNoProcs,
		// jsonlines FILE|stdout: check that every line is a JSON object, without control codes.
		"jsonlines": cmdJSONLines,
		// clean FILE|stdout|stderr: check that it contains no control codes except line feeds and tabs.
		"clean": cmdClean,
		// exits N PROGRAM ARG...: like exec, but the exit status must be N.
		"exits": cmdExits,
		// waitfor FILE [TEXT]: wait until FILE exists and contains TEXT.
		"waitfor": cmdWaitFor,
		// expand FILE...: replace $WORK and other variables in files of the archive.
		"expand": cmdExpand,
		// bytes FILE SIZE [KIND]: create a large file with content of KIND: zero, text (lines) or binary.
		"bytes": cmdBytes,
		// blocks DOCUMENT NAME: write the blocks of a document that name this script to block1.sh and so on.
		"blocks": cmdBlocks,
	}
}

func cmdRepo(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: repo DIR")
	}
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(dir, 0o755))
	for _, git := range [][]string{{"init", "--quiet"}, {"add", "--all"},
		{"commit", "--quiet", "--allow-empty", "--message=start"}} {
		ts.Check(ts.Exec("git", append([]string{"-C", dir}, git...)...))
	}
}

func cmdSnapshot(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: snapshot FILE")
	}
	text, err := snapshot(ts.MkAbs("."))
	ts.Check(err)
	ts.Check(os.WriteFile(inWork(ts, args[0]), []byte(text), 0o644))
}

func cmdUnchanged(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) == 0 {
		ts.Fatalf("usage: unchanged FILE [PATH...]")
	}
	before, err := os.ReadFile(inWork(ts, args[0]))
	ts.Check(err)
	after, err := snapshot(ts.MkAbs("."))
	ts.Check(err)
	lines := func(text string) []string {
		return slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool {
			return slices.ContainsFunc(args[1:], func(path string) bool { return strings.Contains(line, path) })
		})
	}
	switch diff := cmp.Diff(lines(string(before)), lines(after)); {
	case diff == "" && neg:
		ts.Fatalf("nothing was touched")
	case diff != "" && !neg:
		ts.Fatalf("touched (-before +after):\n%s", diff)
	}
}

func inWork(ts *testscript.TestScript, file string) string {
	if filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(ts.Getenv("WORK"), file)
}

// snapshot lists each file of the checkout around dir and of its .git folder with its mode, time and hash, except
// runplan's own files and git's objects, to which a run only adds.
func snapshot(dir string) (string, error) {
	root := dir
	for {
		if _, err := os.Stat(filepath.Join(root, ".git")); err == nil {
			break
		}
		if root == filepath.Dir(root) {
			root = dir // not a repository: the folder itself
			break
		}
		root = filepath.Dir(root)
	}
	var out strings.Builder
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		rel = filepath.ToSlash(rel)
		if ofRunplan(rel) {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		if d.IsDir() {
			return nil
		}
		line, err := fileLine(path, rel)
		out.WriteString(line)
		return err
	})
	return out.String(), err
}

func ofRunplan(rel string) bool {
	switch rel {
	case ".git/objects", ".git/worktrees", ".git/refs/heads/runplan", ".git/logs/refs/heads/runplan":
		return true
	}
	// In .runplan, the files that can be committed belong to the user.
	if rest, ok := strings.CutPrefix(rel, ".runplan/"); ok {
		switch top, _, _ := strings.Cut(rest, "/"); top {
		case "config.toml", "lessons", "patterns", "prompts":
		default:
			return true
		}
	}
	return false
}

func fileLine(path, rel string) (string, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return "", err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		to, err := os.Readlink(path)
		return fmt.Sprintf("%s %s -> %s\n", info.Mode(), rel, to), err
	}
	if !info.Mode().IsRegular() {
		return fmt.Sprintf("%s %s\n", info.Mode(), rel), nil
	}
	data, err := os.ReadFile(path)
	if rel == ".git/packed-refs" {
		var kept []string
		for line := range strings.Lines(string(data)) {
			if !strings.Contains(line, " refs/heads/runplan/") && !strings.HasPrefix(line, "#") {
				kept = append(kept, line)
			}
		}
		if len(kept) == 0 {
			return "", err
		}
		data = []byte(strings.Join(kept, ""))
	}
	// For git's own files only the content counts; a file of the checkout must also not have been written again.
	when := info.ModTime().UTC().Format(time.RFC3339Nano)
	if strings.HasPrefix(rel, ".git/") {
		when = "-"
	}
	return fmt.Sprintf("%s %s %s %d %x\n", info.Mode(), rel, when, len(data), sha256.Sum256(data)), err
}

func cmdNoTrace(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 1 {
		ts.Fatalf("usage: notrace [DIR]")
	}
	dir := ts.MkAbs(strings.Join(args, ""))
	git := func(args ...string) string {
		out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).Output()
		ts.Check(err)
		return strings.TrimSpace(string(out))
	}
	if refs := git("for-each-ref", "--format=%(refname)", "refs/heads/runplan/"); refs != "" {
		ts.Fatalf("branches are left:\n%s", refs)
	}
	if trees := git("worktree", "list"); strings.Count(trees, "\n") > 0 {
		ts.Fatalf("worktrees are left:\n%s", trees)
	}
	left, _ := filepath.Glob(filepath.Join(git("rev-parse", "--show-toplevel"), ".runplan", "worktrees", "*"))
	if len(left) > 0 {
		ts.Fatalf("worktrees are left:\n%s", strings.Join(left, "\n"))
	}
}

func cmdNoProcs(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 1 {
		ts.Fatalf("usage: noprocs [TEXT]")
	}
	var left []string
	for end := time.Now().Add(3 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		left = processes(ts.Getenv("WORK"), strings.Join(args, ""))
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			ts.Fatalf("processes are left:\n%s", strings.Join(left, "\n"))
		}
	}
}

// processes lists the processes whose folder is in work, those that a run in it started, and those with text in their
// command line.
func processes(work, text string) []string {
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		return psProcesses(work, text)
	}
	var left []string
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		if dir == "/proc/"+strconv.Itoa(os.Getpid()) {
			continue
		}
		cmdline, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		cmdline = bytes.ReplaceAll(cmdline, []byte{0}, []byte{' '})
		environ, _ := os.ReadFile(filepath.Join(dir, "environ"))
		cwd, _ := os.Readlink(filepath.Join(dir, "cwd"))
		ran := bytes.Contains(environ, []byte("RUNPLAN_RUN=")) && bytes.Contains(environ, []byte(work))
		if ran || cwd == work || strings.HasPrefix(cwd, work+"/") || text != "" && bytes.Contains(cmdline, []byte(text)) {
			left = append(left, fmt.Sprintf("%s %q in %s", filepath.Base(dir), cmdline, cwd))
		}
	}
	return left
}

// psProcesses replaces processes on systems without /proc; ps shows the environment of the user's own processes.
func psProcesses(work, text string) []string {
	out, _ := exec.Command("ps", "axeww", "-o", "pid=,command=").Output()
	var left []string
	for line := range strings.Lines(string(out)) {
		ran := strings.Contains(line, "RUNPLAN_RUN=") && strings.Contains(line, work)
		if ran || text != "" && strings.Contains(line, text) && !strings.Contains(line, "testscripts.test") {
			left = append(left, strings.TrimSpace(line))
		}
	}
	return left
}

func cmdJSONLines(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: jsonlines FILE")
	}
	text := ts.ReadFile(args[0])
	if text == "" || !strings.HasSuffix(text, "\n") {
		ts.Fatalf("%s is empty, or its last line is cut off", args[0])
	}
	n := 0
	for line := range strings.Lines(text) {
		n++
		var object map[string]any
		if err := json.Unmarshal([]byte(line), &object); err != nil {
			ts.Fatalf("%s:%d: %v: %.200q", args[0], n, err, line)
		}
		if at := control(strings.TrimSuffix(line, "\n")); at >= 0 {
			ts.Fatalf("%s:%d: control code at byte %d: %q", args[0], n, at, line)
		}
		eachString(object, func(s string) {
			if at := control(s); at >= 0 {
				ts.Fatalf("%s:%d: control code inside of a string: %q", args[0], n, s)
			}
		})
	}
}

func eachString(v any, do func(string)) {
	switch v := v.(type) {
	case string:
		do(v)
	case []any:
		for _, e := range v {
			eachString(e, do)
		}
	case map[string]any:
		for k, e := range v {
			do(k)
			eachString(e, do)
		}
	}
}

func cmdClean(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: clean FILE")
	}
	text := ts.ReadFile(args[0])
	if at := control(text); at >= 0 {
		ts.Fatalf("%s: control code at byte %d: %q", args[0], at, text[max(0, at-40):min(len(text), at+40)])
	}
}

// control returns the position of the first control code other than a line feed or tab, or -1. Bidirectional control
// characters and invalid UTF-8 count too.
func control(text string) int {
	for i, r := range text {
		_, width := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == '\n' || r == '\t':
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == utf8.RuneError && width == 1:
			return i
		}
	}
	return -1
}

func cmdExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits N PROGRAM ARG...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	switch err := ts.Exec(args[1], args[2:]...); {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%s: %v", args[1], err)
	}
	if got != want {
		ts.Fatalf("%s: exit code %d, want %d", strings.Join(args[1:], " "), got, want)
	}
}

func cmdWaitFor(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: waitfor FILE [TEXT]")
	}
	path := ts.MkAbs(args[0])
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		data, err := os.ReadFile(path)
		if err == nil && (len(args) == 1 || strings.Contains(string(data), args[1])) {
			return
		}
		if time.Now().After(end) {
			ts.Fatalf("waited %s for %s: %v\n%s", patience, strings.Join(args, " with "), err, data)
		}
	}
}

func cmdExpand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: expand FILE...")
	}
	for _, file := range args {
		text := os.Expand(ts.ReadFile(file), ts.Getenv)
		ts.Check(os.WriteFile(ts.MkAbs(file), []byte(text), 0o644))
	}
}

func cmdBytes(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: bytes FILE SIZE [zero|text|binary]")
	}
	size, err := strconv.Atoi(args[1])
	ts.Check(err)
	unit := "\x00"
	switch strings.Join(args[2:], "") {
	case "text":
		unit = "a line of text that is forty bytes long\n"
	case "binary":
		unit = "\x7fELF\x00\x01\xfe\xff\r\n\x80"
	}
	data := bytes.Repeat([]byte(unit), size/len(unit)+1)[:size]
	path := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(filepath.Dir(path), 0o755))
	ts.Check(os.WriteFile(path, data, 0o644))
}
