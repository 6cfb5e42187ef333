// Package scratch makes temporary repositories for programs that test the whole of runplan from outside: a folder, a
// separate home, and an environment without the user's settings.
package scratch

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Place is a folder for repositories, with a separate home and a runplan binary.
type Place struct {
	Dir     string
	Runplan string // the program
	Env     []string
}

// New makes a place in a temporary folder and builds runplan into it. The current folder is the module's.
func New(name string) (*Place, error) {
	dir, err := os.MkdirTemp("", "runplan-"+name+"-")
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	p := At(dir, filepath.Join(dir, "runplan"))
	home := filepath.Join(dir, "home")
	if err := os.MkdirAll(home, 0o755); err != nil {
		return nil, err
	}
	p.Env = append(p.Env,
		"RUNPLAN_HOME="+home, "CI=true",
		"RUNPLAN_TRUST=all", // the configurations in here are this program's own
	)
	if err := Build(p.Runplan); err != nil {
		p.Remove()
		return nil, err
	}
	return p, nil
}

// At returns the place in an existing folder, for an existing runplan binary. Its environment has a HOME in the folder,
// which At does not create, and names an author for commits.
func At(dir, runplan string) *Place {
	return &Place{Dir: dir, Runplan: runplan, Env: []string{
		"HOME=" + filepath.Join(dir, "home"), "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir(), "TZ=UTC", "LC_ALL=C",
		"NO_COLOR=1",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.org", "GIT_COMMITTER_NAME=Ada",
		"GIT_COMMITTER_EMAIL=ada@example.org",
	}}
}

// Build builds runplan as the file to. The current folder is the module's.
func Build(to string) error {
	build := exec.Command("go", "build", "-trimpath", "-o", to, "./cmd/runplan")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build runplan: %w\n%s", err, out)
	}
	return nil
}

// Remove deletes the place.
func (p *Place) Remove() { os.RemoveAll(p.Dir) }

// Repo makes a repository with one commit of the given files. Scripts (*.sh) are made executable.
func (p *Place) Repo(name string, files map[string]string) (string, error) {
	dir := filepath.Join(p.Dir, name)
	for path, text := range files {
		full := filepath.Join(dir, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			return "", err
		}
		mode := os.FileMode(0o644)
		if strings.HasSuffix(path, ".sh") {
			mode = 0o755
		}
		if err := os.WriteFile(full, []byte(text), mode); err != nil {
			return "", err
		}
	}
	for _, args := range [][]string{{"init", "--quiet", "--initial-branch=trunk"}, {"add", "--all"},
		{"commit", "--quiet", "--message=start"}} {
		if _, err := p.Git(dir, args...); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// Git runs git in dir and returns its output, without the last line feed.
func (p *Place) Git(dir string, args ...string) (string, error) {
	cmd := p.Command(dir, "git", args...)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, errOut.String())
	}
	return strings.TrimRight(out.String(), "\n"), nil
}

// Command prepares a program to be run in dir with the environment of the place.
func (p *Place) Command(dir, program string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = dir, p.Env
	return cmd
}
