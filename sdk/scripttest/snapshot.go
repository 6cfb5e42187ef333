package scripttest

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/rogpeppe/go-internal/testscript"
)

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
	lines := func(text string) []byte {
		return []byte(strings.Join(slices.DeleteFunc(strings.SplitAfter(text, "\n"), func(line string) bool {
			return slices.ContainsFunc(args[1:], func(path string) bool { return strings.Contains(line, path) })
		}), ""))
	}
	switch touched := diff.Diff("before", lines(string(before)), "after", lines(after)); {
	case touched == nil && neg:
		ts.Fatalf("nothing was touched")
	case touched != nil && !neg:
		ts.Fatalf("touched:\n%s", touched)
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
