package scripttest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// isolate separates a script from this machine: it gives the script its own home, settings and git configuration. An
// archive with a folder agent gets the agent "fake".
func isolate(env *testscript.Env) error {
	work := env.WorkDir
	home, settings, tmp := filepath.Join(work, "home"), filepath.Join(work, "home", "runplan"), filepath.Join(work, "t")
	telemetry := filepath.Join(home, ".config", "go", "telemetry")
	for _, dir := range []string{settings, tmp, telemetry} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	// Go would start a second process at each call, which counts.
	if err := os.WriteFile(filepath.Join(telemetry, "mode"), []byte("off"), 0o644); err != nil {
		return err
	}
	gitconfig := filepath.Join(home, ".gitconfig")
	// Without maintenance a commit starts one process, not two.
	settled := "[user]\n\tname = Ada Tester\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n" +
		"[maintenance]\n\tauto = false\n"
	if err := os.WriteFile(gitconfig, []byte(settled), 0o644); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(work, "agent")); err == nil {
		fake := "[agents.fake]\ncommand = [\"fake-agent\"]\n"
		if err := os.WriteFile(filepath.Join(settings, "config.toml"), []byte(fake), 0o644); err != nil {
			return err
		}
	}
	env.Vars = append(env.Vars,
		"HOME="+home, "USERPROFILE="+home, "RUNPLAN_HOME="+settings, "TMPDIR="+tmp,
		"GIT_CONFIG_GLOBAL="+gitconfig, "GIT_CONFIG_NOSYSTEM=1",
		"TZ=UTC", "LANG=C.UTF-8", "LC_ALL=C.UTF-8", "NO_COLOR=1", "TERM=dumb",
		"RUNPLAN_TRUST=all", // scripts about trust take it away
		"GOFLAGS=", "GOPROXY=off", "GOTOOLCHAIN=local", "GOTELEMETRY=off",
	)
	caches, err := goCaches()
	env.Vars = append(env.Vars, caches...)
	return err
}

// goCaches returns variables with which a go test inside a script uses the caches of this one.
var goCaches = sync.OnceValues(func() ([]string, error) {
	out, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE", "GOPATH").Output()
	if err != nil {
		return nil, fmt.Errorf("ask go env for the caches of Go: %w", err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return []string{"RUNPLAN_GATE_GOCACHE=" + lines[0], "GOCACHE=" + lines[0], "GOMODCACHE=" + lines[1], "GOPATH=" +
		lines[2]}, nil
})
