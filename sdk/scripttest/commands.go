package scripttest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// patience limits how long a command waits for an expected event.
const patience = 20 * time.Second

// Commands returns the commands that scripts have in addition to testscript's own, for Cmds of testscript.Params. The
// comment of each says what it does; the guide has the same table. A script fails where a check fails, and where a
// command is called with the wrong arguments. A command that takes a folder uses the current one by default.
func Commands() map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){
		// repo DIR: make DIR a git repository and commit all files in it.
		"repo": cmdRepo,
		// exits N PROGRAM ARG...: like exec, but the exit status must be N.
		"exits": cmdExits,
		// snapshot FILE: record everything that a run must not change: checkout, index, refs, stash, hooks, config.
		// FILE is relative to $WORK, so that it is outside of the repository that it describes.
		"snapshot": cmdSnapshot,
		// unchanged FILE [PATH...]: check that all of it is still as snapshot FILE recorded it, except files whose
		// path contains one of PATH. With ! in front, check that something was touched.
		"unchanged": cmdUnchanged,
		// notrace [DIR]: check that the repository has no worktree and no branch of runplan.
		"notrace": cmdNoTrace,
		// noprocs [TEXT]: check that no process of the script is left, and none with TEXT in its command line. It waits
		// up to 3 seconds for their end.
		"noprocs": cmdNoProcs,
		// waitfor FILE [TEXT]: wait until FILE exists and contains TEXT, at most 20 seconds.
		"waitfor": cmdWaitFor,
		// json FILE|stdout: check that it is one JSON value, without control codes.
		"json": cmdJSON,
		// jsonlines FILE|stdout: check that every line is a JSON object, without control codes.
		"jsonlines": cmdJSONLines,
		// value FILE|stdout PATH [WANT]: check that the value at PATH ("runs.0.batches", "gates.tests:go.status") is
		// WANT: a JSON value, or the name of a type: string, number, array, object. "array:3" also checks the length.
		// With ! in front and without WANT, check that there is no such value.
		"value": cmdValue,
		// clean FILE|stdout|stderr: check that it contains no control codes except line feeds and tabs.
		"clean": cmdClean,
		// expand FILE...: replace $WORK and other variables in files of the archive.
		"expand": cmdExpand,
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
