// Package testscripts is the acceptance suite: each script under testdata/script is what a user types, with
// the real runplan program, real git and agents whose every move is written in the script.
//
// One behaviour a file, named category first (bad_, agent_, …); lines that begin with # are its parts. The
// commands beyond testscript's own are in [Commands] and [allCommands]. A script gets:
//
//	$WORK            a folder of its own, where the files of its archive are
//	$HOME            empty, as are $RUNPLAN_HOME and git's settings but for a name and branch main
//	agent/B/A        bash text for the agent "fake": what it does as attempt A at batch B. agent/B/any is
//	                 for attempts that have no text of their own, agent/any for batches that have none.
//	                 Having one of these configures the agent, for --agent fake.
//	seen/B/A/        what that agent was given: brief.md, file.md (from $RUNPLAN_BRIEF), env, pwd, args; A-VARIANT in a tournament
//
// RUNPLAN_BIN names a program to test instead of building one.
package testscripts

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "write what was printed into the scripts that compare it")

// program is the folder that holds the program under test.
var program string

func TestMain(m *testing.M) {
	os.Exit(withProgram(m))
}

func withProgram(m *testing.M) int {
	dir, err := os.MkdirTemp("", "rp")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	program = dir
	runOneMore()
	bin := filepath.Join(dir, "runplan"+exe())
	if given := os.Getenv("RUNPLAN_BIN"); given != "" {
		if given, err = filepath.Abs(given); err == nil {
			err = os.Symlink(given, bin)
		}
	} else {
		var out []byte
		if out, err = exec.Command("go", "build", "-ldflags=-w", "-o", bin, "../cmd/runplan").CombinedOutput(); err != nil {
			err = fmt.Errorf("build runplan: %w\n%s", err, out)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// runOneMore has one script more than there are processors run at a time, unless -parallel says otherwise: scripts also
// wait, for limits, agents and files.
func runOneMore() {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", strconv.Itoa(runtime.GOMAXPROCS(0)+1)) // a number is valid
	}
}

func exe() string {
	if runtime.GOOS == "windows" {
		return ".exe"
	}
	return ""
}

// lookAtSources reads the status of the files from which the program is built, so that go test does not reuse a
// cached result for a changed program: go test tracks the files that a test opens, but not those that go build reads.
func lookAtSources(t *testing.T) {
	t.Helper()
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != ".." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "bin"):
			return filepath.SkipDir
		case d.IsDir() || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		_, err = os.Stat(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// shortScripts run with -short: one for each of the largest parts of the program.
var shortScripts = []string{"cli_usage", "gate_go", "land_ff", "parse_near", "resume_killed", "route_text", "run_blocks",
	"sample_one_passes", "team_chain", "undo_run"}

func TestScripts(t *testing.T) {
	lookAtSources(t)
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("the scripts' agents are written for bash")
	}
	dir, files := "testdata/script", []string(nil)
	if testing.Short() {
		dir = ""
		for _, name := range shortScripts {
			files = append(files, filepath.Join("testdata/script", name+".txtar"))
		}
	}
	testscript.RunT(record(t), testscript.Params{
		Dir:                dir,
		Files:              files,
		Setup:              setup,
		Condition:          condition,
		Cmds:               allCommands(),
		UpdateScripts:      *update,
		RequireUniqueNames: true,
		Deadline:           deadline(t),
	})
}

// deadline returns the time at which a hanging script is stopped and its programs are asked for their stacks: well
// before go test would stop all tests.
func deadline(t *testing.T) time.Time {
	d, ok := t.Deadline()
	if !ok {
		return time.Time{}
	}
	return d.Add(-time.Until(d) / 5)
}

// setup isolates a script from this machine, and gives it the program under test and the tools of the suite.
func setup(env *testscript.Env) error {
	if err := isolate(env); err != nil {
		return err
	}
	bin, err := filepath.Abs(filepath.Join("testdata", "bin"))
	if err != nil {
		return err
	}
	path := os.Getenv("PATH")
	if name := filepath.Base(env.WorkDir); strings.HasPrefix(name, "script-patterns_") ||
		strings.HasPrefix(name, "script-index_") {
		tools, err := toolsDir()
		if err != nil {
			return err
		}
		path += string(os.PathListSeparator) + tools
	}
	source, err := filepath.Abs("..")
	if err != nil {
		return err
	}
	env.Vars = append(env.Vars,
		"SOURCE="+source, // of this project
		"USER_GOPROXY="+userProxy(),
		// the folder of the program under test, for scripts that put another folder first in PATH, which may contain
		// an installed runplan
		"PROGRAM="+program,
		"PATH="+strings.Join(append(append([]string{program, bin}, behindShims()...), path),
			string(os.PathListSeparator)),
		// scripts about tournaments turn it on; scripts about consecutive attempts need it off
		"RUNPLAN_SAMPLING_SAMPLE_ON_RETRY=false",
		"GOGC=400", // the go commands, linkers and programs of scripts are short
		// With it Go finds what it compiled although each script has a folder of its own: a fifth of their CPU time.
		"GOFLAGS=-trimpath",
		// As in the Makefile: otherwise Go compiles a second standard library, and starts the C compiler each time.
		"CGO_ENABLED=0",
	)
	return nil
}

// userProxy returns the user's GOPROXY, for scripts that build a module other than the main one: it may not be in the
// cache yet.
var userProxy = sync.OnceValue(func() string {
	out, _ := exec.Command("go", "env", "GOPROXY").Output() // "" means Go's default
	return strings.TrimSpace(string(out))
})

// behindShims returns the folder of the interpreter that a shim of pyenv starts, if python3 is one: a shim starts forty
// shells each time.
var behindShims = sync.OnceValue(func() []string {
	shim, err := exec.LookPath("python3")
	if err != nil || filepath.Base(filepath.Dir(shim)) != "shims" {
		return nil
	}
	out, err := exec.Command(shim, "-c", "import sys; print(sys.executable)").Output()
	if at := strings.TrimSpace(string(out)); err == nil && filepath.IsAbs(at) {
		return []string{filepath.Dir(at)}
	}
	return nil
})

// toolsDir returns the folder into which patterns/install-ast-grep.sh installs the project's tools. Scripts named
// patterns_ and index_ have it in their PATH.
func toolsDir() (string, error) { return filepath.Abs(filepath.Join("..", "bin", "tools")) }

// condition adds conditions to testscript's own: [root]; [mounts] if a script can mount its own file systems under
// "unshare -rm"; [ast-grep] if scripts named patterns_ and index_ find it. (testscript evaluates [exec:ast-grep] only
// once, with the PATH of the first script.)
func condition(name string) (bool, error) {
	switch name {
	case "ast-grep":
		tools, err := toolsDir()
		if err != nil {
			return false, err
		}
		if _, err = os.Stat(filepath.Join(tools, "ast-grep")); err != nil {
			_, err = exec.LookPath("ast-grep")
		}
		if err != nil && os.Getenv("RUNPLAN_TEST_ALL") == "1" {
			return false, errors.New("RUNPLAN_TEST_ALL=1, and there is no ast-grep; run: make tools")
		}
		return err == nil, nil
	case "root":
		return os.Geteuid() == 0, nil
	case "mounts":
		return mounts(), nil
	}
	return false, fmt.Errorf("unknown condition %q", name)
}

var mounts = sync.OnceValue(func() bool {
	return exec.Command("unshare", "-rm", "sh", "-c", "mount -t tmpfs -o size=1m tmpfs /mnt").Run() == nil
})
