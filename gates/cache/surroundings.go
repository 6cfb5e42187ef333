package cache

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/git"
)

// programs are those that gates run. What one of them is, is told by its file.
func programs() []string {
	return []string{
		"go", "gofmt", "golangci-lint", "staticcheck", "python3", "python", "pytest", "ruff", "flake8", "mypy", "pyright", "node", "npm", "npx",
		"pnpm", "yarn", "bun", "eslint", "tsc", "shellcheck", "bash", "sh", "bats", "make", "cargo", "rustc", "java", "mvn", "gradle",
		"ast-grep", "git",
	}
}

// Surroundings is a digest of what decides about the answers of gates besides the tree: this program and the others, the
// dependencies that are installed, settings that git does not know, and the environment. more is what the caller knows,
// such as the configuration. It is "" where the tree does not say all, and so nothing may be kept.
func Surroundings(ctx context.Context, repo *git.Repo, tree, self string, env, more []string) (string, error) {
	var ignored string
	var failed error
	var group sync.WaitGroup
	group.Go(func() {
		ignored, failed = repo.Run(ctx, "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
	})
	defer group.Wait()
	listing, err := repo.Run(ctx, "ls-tree", "-r", "-z", tree)
	if err != nil {
		return "", fmt.Errorf("list the tree: %w", err)
	}
	for entry := range strings.SplitSeq(listing, "\x00") {
		_, name, _ := strings.Cut(entry, "\t")
		// A submodule's files are not in the tree, and a store that was committed is somebody else's.
		if strings.HasPrefix(entry, "160000 ") || strings.HasPrefix(name, ".runplan/cache/") {
			return "", nil
		}
	}
	var b strings.Builder
	stat := func(file string) {
		if info, err := os.Stat(file); err == nil {
			fmt.Fprintf(&b, "%s %d %d\n", file, info.Size(), info.ModTime().UnixNano())
		}
	}
	stat(self)
	for _, p := range programs() {
		stat(which(p, env))
	}
	if home := value(env, "HOME"); home != "" {
		stat(filepath.Join(home, ".pyenv", "version"))
		stat(filepath.Join(home, ".config", "go", "env"))
	}
	roots := []string{"."}
	for _, p := range gates.Detect(repo.Root) {
		roots = append(roots, p.Root)
	}
	slices.Sort(roots)
	for _, root := range slices.Compact(roots) {
		at := filepath.Join(repo.Root, filepath.FromSlash(root))
		for _, name := range []string{"node_modules/.package-lock.json", "node_modules/.modules.yaml", "node_modules/.yarn-integrity", "node_modules"} {
			stat(filepath.Join(at, filepath.FromSlash(name)))
		}
		for _, venv := range []string{".venv", "venv"} {
			stat(filepath.Join(at, venv, "pyvenv.cfg"))
			sites, err := filepath.Glob(filepath.Join(at, venv, "lib", "*", "site-packages"))
			if err == nil {
				for _, s := range sites {
					stat(s)
				}
			}
		}
	}
	if group.Wait(); failed != nil {
		return "", fmt.Errorf("list what git ignores: %w", failed)
	}
	for name := range strings.SplitSeq(ignored, "\x00") {
		if setting(name) {
			stat(filepath.Join(repo.Root, filepath.FromSlash(name)))
		}
	}
	for _, kv := range slices.Sorted(slices.Values(env)) {
		if name, _, _ := strings.Cut(kv, "="); !volatile(name) {
			b.WriteString(kv + "\n")
		}
	}
	for _, m := range more {
		fmt.Fprintf(&b, "%q\n", m)
	}
	return digest([]byte(b.String())), nil
}

// setting tells files that git ignores and programs read all the same.
func setting(name string) bool {
	if name == "" || strings.HasSuffix(name, "/") || strings.HasPrefix(name, ".runplan/") {
		return false
	}
	base := path.Base(name)
	if strings.HasPrefix(base, ".env") {
		return true
	}
	return slices.Contains([]string{".toml", ".json", ".yml", ".yaml", ".ini", ".cfg", ".conf", ".properties", ".local"}, path.Ext(base))
}

// volatile tells variables that differ from one shell, or one job, to the next and mean nothing to programs.
func volatile(name string) bool {
	switch name {
	case "PWD", "OLDPWD", "SHLVL", "_", "TERM", "COLUMNS", "LINES", "WINDOWID", "TMPDIR", "RUNPLAN_RUN", "RUNPLAN_TRUST", "GIT_CEILING_DIRECTORIES":
		return true
	}
	for _, prefix := range []string{"SSH_", "XDG_SESSION", "GITHUB_", "RUNNER_", "TERM_", "TMUX", "VSCODE_", "RUNPLAN_TAG"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

func value(env []string, name string) string {
	for _, kv := range slices.Backward(env) {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}

// which finds a program in PATH.
func which(name string, env []string) string {
	for _, dir := range filepath.SplitList(value(env, "PATH")) {
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
			return file
		}
	}
	return ""
}
