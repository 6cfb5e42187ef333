package cache

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/checksum"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/glob"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/internal/seal"
)

// programs lists the programs that gates run. Their files identify their versions.
var programs = []string{
	"go", "gofmt", "golangci-lint", "staticcheck", "python3", "python", "pytest", "ruff", "flake8", "mypy", "pyright",
	"node", "npm", "npx",
	"pnpm", "yarn", "bun", "eslint", "tsc", "shellcheck", "bash", "sh", "bats", "make", "cargo", "rustc", "java", "mvn",
	"gradle",
	"ast-grep", "git",
}

// Place describes the inputs of gates that are not in a commit.
type Place struct {
	Root     string   // of the checkout
	Roots    []string // of the projects in it, relative to Root
	Ignored  []string // what git ignores, relative to Root: files, and folders with a slash at the end
	Self     string   // this program
	Programs []string // further programs that gates run, by name or path
	Env      []string
	More     []string // other inputs, such as the configuration
}

// Surroundings returns a digest of the place: runplan and the other programs, installed dependencies, settings
// outside of git, and the environment.
func Surroundings(p Place) string {
	var b strings.Builder
	stat := func(file string) {
		if info, err := os.Stat(file); err == nil {
			fmt.Fprintf(&b, "%q %d %d\n", file, info.Size(), info.ModTime().UnixNano())
		}
	}
	env := p.Env
	stat(p.Self)
	for _, name := range slices.Concat(programs, p.Programs) {
		if file, err := proc.LookPath(name, env); err == nil {
			stat(file)
		}
	}
	if home := proc.Getenv(env, "HOME"); home != "" {
		stat(filepath.Join(home, ".pyenv", "version"))
		stat(filepath.Join(home, ".config", "go", "env"))
	}
	roots := append([]string{"."}, p.Roots...)
	for _, root := range lists.Unique(roots) {
		at := filepath.Join(p.Root, filepath.FromSlash(root))
		for _, name := range []string{"node_modules/.package-lock.json", "node_modules/.modules.yaml",
			"node_modules/.yarn-integrity", "node_modules"} {
			stat(filepath.Join(at, filepath.FromSlash(name)))
		}
		for _, venv := range []string{".venv", "venv"} {
			stat(filepath.Join(at, venv, "pyvenv.cfg"))
			for _, s := range glob.Below(at, venv+"/lib/*/site-packages") {
				stat(s)
			}
		}
	}
	for _, name := range slices.Sorted(slices.Values(p.Ignored)) {
		if setting(name) {
			stat(filepath.Join(p.Root, filepath.FromSlash(name)))
		}
	}
	for _, kv := range slices.Sorted(slices.Values(env)) {
		if name, _, _ := strings.Cut(kv, "="); !volatile(name) {
			fmt.Fprintf(&b, "%q\n", kv)
		}
	}
	for _, m := range p.More {
		fmt.Fprintf(&b, "%q\n", m)
	}
	return checksum.SHA256(b.String())
}

// Complete reports whether a tree contains everything that gates read. A tree with a submodule is not complete, because
// the submodule's files are elsewhere. A tree that contains a cache is not complete either, because an unknown program
// may have written it. The result for a complete tree is stored, because a tree never changes.
func (s Store) Complete(ctx context.Context, repo *git.Repo, tree string) (bool, error) {
	note := filepath.Join(s.Dir, "complete-"+tree)
	if info, err := os.Lstat(note); s.Dir != "" && err == nil && info.Mode().IsRegular() {
		if text, err := os.ReadFile(note); err == nil &&
			(s.Seal == nil || s.Seal.Check(string(text), seal.Cache, "complete", tree)) {
			return true, nil
		}
	}
	listing, err := repo.Run(ctx, "ls-tree", "-r", "-z", tree)
	if err != nil {
		return false, fmt.Errorf("list the tree: %w", err)
	}
	for entry := range strings.SplitSeq(listing, "\x00") {
		_, name, _ := strings.Cut(entry, "\t")
		if strings.HasPrefix(entry, "160000 ") || strings.HasPrefix(name, ".runplan/cache/") {
			return false, nil
		}
	}
	if s.Dir != "" && os.MkdirAll(s.Dir, 0o755) == nil {
		_ = os.WriteFile(note, []byte(s.Seal.Sum(seal.Cache, "complete", tree)), 0o644) // without the stored result, git is queried again
	}
	return true, nil
}

// setting reports whether programs read the file although git ignores it.
func setting(name string) bool {
	if name == "" || strings.HasSuffix(name, "/") || strings.HasPrefix(name, ".runplan/") {
		return false
	}
	return strings.HasPrefix(path.Base(name), ".env") || slices.Contains(
		[]string{".toml", ".json", ".yml", ".yaml", ".ini", ".cfg", ".conf", ".properties", ".local"}, path.Ext(name))
}

// volatile reports whether a variable differs between shells or jobs without an effect on programs.
func volatile(name string) bool {
	switch name {
	case "PWD", "OLDPWD", "SHLVL", "_", "TERM", "COLUMNS", "LINES", "WINDOWID", "TMPDIR", "RUNPLAN_RUN", "RUNPLAN_WORKER",
		"RUNPLAN_TRUST", "GIT_CEILING_DIRECTORIES":
		return true
	}
	return slices.ContainsFunc([]string{"SSH_", "XDG_SESSION", "GITHUB_", "RUNNER_", "TERM_", "TMUX", "VSCODE_",
		"RUNPLAN_TAG"}, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}
