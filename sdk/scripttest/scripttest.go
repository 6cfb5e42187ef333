// Package scripttest runs acceptance scripts against runplan: what a user types, and what must come of it. With it you
// can test your own plans, lessons and gates. The scripts are in the format of
// [github.com/rogpeppe/go-internal/testscript], with the commands of [Commands]. A test of your repository runs a
// folder of them:
//
//	func TestPlans(t *testing.T) {
//		scripttest.Run(t, "testdata/script")
//	}
//
// And testdata/script/greeter.txtar is one of them:
//
//	# the plan runs from start to end, and touches nothing but its own branch
//	exec git clone --quiet $SOURCE repo
//	cd repo
//	snapshot before
//	exits 0 runplan check plans/greeter.md
//	exits 0 runplan run plans/greeter.md --agent script
//	exec git show runplan/greeter/main:greet.sh
//	stdout hello
//	unchanged before
//	noprocs
//
// Run them with "go test -count=1": Go does not notice a changed plan, and would repeat an old result.
//
// Each script runs in its own temporary folder $WORK, where the files of its archive are, separated from this machine:
//
//   - $HOME is empty but for git's settings: a name and the branch main. $RUNPLAN_HOME is empty too.
//   - The time zone is UTC, the locale C.UTF-8; there are no colors, and Go uses no network.
//   - RUNPLAN_TRUST=all: what the script configures may run. No other variable of runplan is set.
//   - $SOURCE is the repository that contains the test, for "git clone $SOURCE repo", which gets what is committed, or
//     "cp $SOURCE/plan.md repo".
//   - Where a gate or an agent of a script starts the suite itself, because $SOURCE contains it, all scripts are
//     skipped.
//   - If the archive has a folder agent, the agent fake exists. It executes the bash text agent/BATCH/ATTEMPT,
//     agent/BATCH/any or agent/any in its workspace, and records under $WORK/seen/BATCH/ATTEMPT what it was given.
//
// The guide, docs/testscripts.md of the repository, has a complete example and a table of the commands.
package scripttest

import (
	"cmp"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// programs is the name of the folder in a script's home that is first in its PATH. No other PATH has such a folder.
const programs = "scripttest-programs"

//go:embed fake-agent
var fakeAgent []byte

// Options says how scripts are run. The zero value runs the runplan in PATH.
type Options struct {
	// Program is the program that scripts call runplan: a path, relative to the folder of the test, or a name in PATH.
	// It is "runplan" by default.
	Program string
}

// Run runs each script *.txtar of the folder dir as a parallel subtest, against the runplan in PATH. The path of dir is
// relative to the folder of the test. Without runplan, or without a script, the test fails.
func Run(t *testing.T, dir string) {
	t.Helper()
	Options{}.Run(t, dir)
}

// Run is like the function [Run], with these options.
func (o Options) Run(t *testing.T, dir string) {
	t.Helper()
	if _, err := o.path(); err != nil {
		t.Fatal(err) // once, instead of in each script
	}
	testscript.Run(t, testscript.Params{Dir: dir, Setup: o.Setup, Cmds: Commands(), RequireUniqueNames: true})
}

// Setup isolates a script and gives it the runplan in PATH, as the package comment describes. It is for suites that
// call testscript.Run themselves, as Setup of its Params. It returns an error if there is no runplan, or if a file of
// the script's home cannot be written.
func Setup(env *testscript.Env) error { return Options{}.Setup(env) }

// Setup is like the function [Setup], with these options.
func (o Options) Setup(env *testscript.Env) error {
	inside := func(dir string) bool { return filepath.Base(dir) == programs }
	if slices.ContainsFunc(filepath.SplitList(os.Getenv("PATH")), inside) {
		env.T().Skip("a gate or an agent of a script started the suite that this script belongs to; it would never end")
	}
	program, err := o.path()
	if err != nil {
		return err
	}
	source, err := source()
	if err != nil {
		return err
	}
	if err := isolate(env); err != nil {
		return err
	}
	bin := filepath.Join(env.Getenv("HOME"), programs)
	if err := os.Mkdir(bin, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(bin, "fake-agent"), fakeAgent, 0o755); err != nil {
		return err
	}
	name := "runplan"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	env.Setenv("SOURCE", source)
	env.Setenv("PATH", bin+string(os.PathListSeparator)+env.Getenv("PATH"))
	return os.Symlink(program, filepath.Join(bin, name))
}

// path returns the absolute path of the program.
func (o Options) path() (string, error) {
	path, err := exec.LookPath(cmp.Or(o.Program, "runplan"))
	if err != nil {
		return "", fmt.Errorf("find the program that the scripts test: %w; install it with: go install "+
			"github.com/runplan/runplan/cmd/runplan@latest, or name it in scripttest.Options.Program", err)
	}
	return filepath.Abs(path)
}

// source returns the root of the repository around the current folder, or this folder if there is none.
func source() (string, error) {
	here, err := filepath.Abs(".")
	for dir := here; err == nil; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	return here, err
}
