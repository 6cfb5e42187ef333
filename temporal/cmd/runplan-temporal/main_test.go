package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/serviceerror"

	"github.com/runplan/runplan/cmd/runplan/app"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/temporal/clones"
	"github.com/runplan/runplan/temporal/teamtest"
)

// TestMain lets the test binary act as the helper processes that runplan starts from its own executable.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && strings.HasPrefix(os.Args[1], "__") {
		os.Exit(app.Main(cli.App{Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
			Environ: os.Environ()}))
	}
	os.Exit(m.Run())
}

// call runs one command line in the current folder.
func call(env []string, args ...string) (out string, code int) {
	var both bytes.Buffer
	code = app.Main(cli.App{Args: args, Stdin: strings.NewReader(""), Stdout: &both, Stderr: &both, Environ: env,
		Engines: []cli.RemoteHost{new(service).remoteHost()}})
	return both.String(), code
}

// An error of the service becomes a message and a documented exit status.
func TestServiceErrorExitCodes(t *testing.T) {
	var (
		missing  = serviceerror.NewNotFound("no such workflow")
		denied   = serviceerror.NewPermissionDenied("not yours", "")
		late     = serviceerror.NewDeadlineExceeded("too late")
		noSpace  = serviceerror.NewNamespaceNotFound("default")
		run      = []string{"run", "plan.md", "--plain"}
		worker   = []string{"worker", "--dir", "WORK"}
		nothing  = []string{"status"}
		leftover = []string{"gc"}
	)
	for name, tt := range map[string]struct {
		args []string
		says *teamtest.Service
		code int
		want string
	}{
		"a run in a missing namespace": {run, &teamtest.Service{Namespace: noSpace}, 2,
			`has no namespace "default"`},
		"a run in a namespace of others":    {run, &teamtest.Service{Namespace: denied}, 5, "denies access"},
		"a run that may not be asked about": {run, &teamtest.Service{Describe: denied}, 5, "not yours"},
		"a run that may not be started": {run, &teamtest.Service{Describe: missing, Start: denied}, 5,
			"on Temporal: not yours"},
		"a run whose start takes too long": {run, &teamtest.Service{Describe: missing, Start: late}, 5,
			"on Temporal: too late"},
		"a worker in a missing namespace": {worker, &teamtest.Service{Namespace: noSpace}, 2,
			`has no namespace "default"`},
		"a worker in a namespace of others": {worker, &teamtest.Service{Namespace: denied}, 5, "denies access"},
		"status where there are no runs":    {nothing, &teamtest.Service{Namespace: denied}, 0, "no runs"},
		"gc in a namespace of others": {leftover, &teamtest.Service{Namespace: denied}, 5,
			"denies access"},
		"gc of a repository without runs": {leftover, &teamtest.Service{}, 0, "nothing to remove"},
	} {
		t.Run(name, func(t *testing.T) {
			team := teamtest.New(t)
			team.Clone(t, "here")
			t.Chdir(filepath.Join(filepath.Dir(team.URL), "here"))
			if err := os.WriteFile("plan.md", []byte(teamtest.Plan), 0o644); err != nil {
				t.Fatal(err)
			}
			team.Git(t, "-C", "here", "add", "plan.md")
			team.Git(t, "-C", "here", "commit", "-q", "-m", "plan")
			args := append([]string{}, tt.args...)
			for i, a := range args {
				if a == "WORK" {
					args[i] = t.TempDir()
				}
			}
			args = append(args, "--address", tt.says.Serve(t))
			if args[0] != "worker" {
				args = append(args, "--engine", "temporal")
			}
			out, code := call(append(team.Env, "NO_COLOR=1", "RUNPLAN_TRUST=all"), args...)
			if code != tt.code || !strings.Contains(out, tt.want) {
				t.Errorf("exit status %d, not %d; %q is to be said:\n%s", code, tt.code, tt.want, out)
			}
		})
	}
}

// A second worker and worker gc refuse a folder that a worker holds; worker gc --list still lists its clones.
func TestHeldFolderExitCodes(t *testing.T) {
	dir := t.TempDir()
	f, _, err := clones.Take(dir, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	if _, err := f.Begin("r"); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{"a worker": {"worker", "--dir", dir, "--address",
		new(teamtest.Service).Serve(t)}, "gc": {"worker", "gc", "--dir", dir}} {
		if out, code := call(nil, args...); code != 6 || !strings.Contains(out, "another runplan is running") {
			t.Errorf("%s: exit status %d\n%s", name, code, out)
		}
	}
	if out, code := call(nil, "worker", "gc", "--dir", dir, "--list"); code != 0 ||
		!strings.Contains(out, "a worker works in it for run r") {
		t.Errorf("list: exit status %d\n%s", code, out)
	}
}

// worker gc removes old clones from a folder that no worker holds; --list prints them without removing them.
func TestGCRemovesOldClones(t *testing.T) {
	dir := t.TempDir()
	f, _, err := clones.Take(dir, func() time.Time { return time.Now().AddDate(0, 0, -8) })
	if err != nil {
		t.Fatal(err)
	}
	team := teamtest.New(t)
	c, err := f.Begin("r")
	if err == nil {
		_, err = f.Fill(t.Context(), c, team.URL, team.Env)
	}
	if err == nil {
		err = f.End(c)
	}
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	for _, step := range []struct {
		args []string
		want string
		left bool
	}{
		{[]string{"--list"}, "can go", true},
		{[]string{"--keep-clones", "240h"}, "kept", true},
		{[]string{"--json"}, `"remove": true`, false},
		{nil, "nothing to remove", false},
	} {
		out, code := call(nil, append([]string{"worker", "gc", "--dir", dir}, step.args...)...)
		_, err := os.Stat(c.Dir)
		if code != 0 || !strings.Contains(out, step.want) || (err == nil) != step.left {
			t.Errorf("%v: exit status %d, the clone is there: %v\n%s", step.args, code, err == nil, out)
		}
	}
}
