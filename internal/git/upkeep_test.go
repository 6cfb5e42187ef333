package git

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// NoUpkeep turns off the maintenance of git, after all other settings in the environment.
func TestNoUpkeep(t *testing.T) {
	ours := []string{
		"GIT_CONFIG_KEY_0=maintenance.auto", "GIT_CONFIG_VALUE_0=false", "GIT_CONFIG_KEY_1=gc.auto", "GIT_CONFIG_VALUE_1=0",
		"GIT_CONFIG_KEY_2=gc.autoDetach", "GIT_CONFIG_VALUE_2=false", "GIT_CONFIG_KEY_3=maintenance.autoDetach",
		"GIT_CONFIG_VALUE_3=false",
		"GIT_CONFIG_COUNT=4",
	}
	if d := cmp.Diff(append([]string{"A=1"}, ours...), NoUpkeep([]string{"A=1"})); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(ours, NoUpkeep(ours)); d != "" {
		t.Error("a second call changes the result:", d)
	}
	if got := NoUpkeep([]string{"GIT_CONFIG_COUNT=none"}); len(got) != 1 {
		t.Error(got)
	}
	theirs := []string{"GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=gc.auto", "GIT_CONFIG_VALUE_0=5",
		"GIT_CONFIG_KEY_1=user.name", "GIT_CONFIG_VALUE_1=Grace", "PATH=" + os.Getenv("PATH")}
	env := NoUpkeep(theirs)
	for key, want := range map[string]string{"gc.auto": "0", "user.name": "Grace", "maintenance.auto": "false",
		"gc.autoDetach": "false"} {
		cmd := exec.Command("git", "config", "--get", key)
		cmd.Env, cmd.Dir = append(slices.Clone(env), "HOME="+t.TempDir()), t.TempDir()
		if out, err := cmd.CombinedOutput(); strings.TrimSpace(string(out)) != want || err != nil {
			t.Errorf("%s is %q, %v, want %s", key, out, err, want)
		}
	}
}

// A commit in a repository that is due for maintenance does not start it.
func TestCommitSkipsMaintenance(t *testing.T) {
	dir := made(t, map[string]string{"a": "1"})
	run(t, dir, "config", "gc.auto", "1") // almost always
	trace := filepath.Join(t.TempDir(), "trace")
	commit := func(env []string) string {
		t.Helper()
		cmd := exec.Command("git", "commit", "--quiet", "--allow-empty", "--message=x")
		cmd.Dir, cmd.Env = dir, append(slices.Clone(env), "GIT_TRACE="+trace)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		data, err := os.ReadFile(trace)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	if said := commit(NoUpkeep(environ())); strings.Contains(said, "gc --auto") ||
		strings.Contains(said, "maintenance run") {
		t.Error(said)
	}
	if said := commit(environ("GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=gc.autoDetach",
		"GIT_CONFIG_VALUE_0=false")); !strings.Contains(said, "maintenance run") {
		t.Error("without the settings git should run maintenance: " + said)
	}
}
