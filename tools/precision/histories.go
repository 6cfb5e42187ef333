package main

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// history is a repository that commits are drawn from.
type history struct{ name, source string }

// histories lists the bundles and repositories in folders. A folder that is itself a repository counts too.
func histories(folders []string, only string) ([]history, error) {
	var out []history
	add := func(name, source string) {
		name = strings.TrimSuffix(name, ".bundle")
		name = strings.NewReplacer("__", "/", "+", "/").Replace(name)
		if strings.Contains(name, only) && !slices.ContainsFunc(out, func(h history) bool { return h.name == name }) {
			out = append(out, history{name, source})
		}
	}
	for _, folder := range folders {
		folder, err := filepath.Abs(folder)
		if err != nil {
			return nil, err
		}
		if isRepository(folder) {
			add(filepath.Base(folder), folder)
			continue
		}
		entries, err := os.ReadDir(folder)
		if err != nil {
			return nil, fmt.Errorf("read the folder of histories: %w", err)
		}
		for _, e := range entries {
			at := filepath.Join(folder, e.Name())
			switch {
			case strings.HasSuffix(e.Name(), ".bundle"), isRepository(at):
				add(e.Name(), at)
			case isRepository(filepath.Join(at, "repo")):
				add(e.Name(), filepath.Join(at, "repo"))
			}
		}
	}
	if len(out) == 0 {
		return nil, errors.New("no git bundle and no repository in the folders of histories")
	}
	slices.SortFunc(out, func(a, b history) int { return cmp.Compare(a.name, b.name) })
	return out, nil
}

func isRepository(dir string) bool {
	for _, mark := range []string{".git", "HEAD"} {
		if _, err := os.Stat(filepath.Join(dir, mark)); err == nil {
			return true
		}
	}
	return false
}

// git runs git in dir and returns what it prints.
func git(dir string, args ...string) (string, error) {
	cmd := exec.Command("git",
		append([]string{"-c", "advice.detachedHead=false", "-c", "gc.auto=0", "-c", "core.hooksPath=/dev/null"}, args...)...)
	cmd.Dir = dir
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(said.String()))
	}
	return string(out), nil
}

// clone clones h below dir, or reuses an existing clone.
func (h history) clone(dir string) (string, error) {
	to := filepath.Join(dir, strings.NewReplacer("/", "__").Replace(h.name))
	if _, err := os.Stat(filepath.Join(to, ".git")); err == nil {
		return to, nil
	}
	if err := os.RemoveAll(to); err != nil {
		return "", err
	}
	if _, err := git(dir, "clone", "-q", "--no-checkout", "--", h.source, to); err != nil {
		return "", err
	}
	_, err := git(to, "update-ref", tip, "HEAD") // HEAD moves with each commit that is checked
	return to, err
}

// tip is the end of the history in a clone.
const tip = "refs/precision/tip"

// code lists the endings of source files. A commit without such files says nothing about rules for code.
var code = []string{
	".go", ".py", ".pyi", ".js", ".cjs", ".mjs", ".jsx", ".ts", ".cts", ".mts", ".tsx", ".sh", ".bash", ".bats", ".rs",
	".rb", ".java", ".kt", ".c", ".h",
	".cc", ".cpp", ".cs", ".php", ".swift", ".vue", ".svelte",
}

// draw lists, in an order that seed decides, the commits that have one parent and change source code.
func draw(dir string, seed uint64) ([]string, error) {
	out, err := git(dir, "log", "--no-merges", "--min-parents=1", "--format=%x00%H", "--name-only", "--no-renames", tip)
	if err != nil {
		return nil, err
	}
	var all []string
	for entry := range strings.SplitSeq(out, "\x00") {
		commit, files, _ := strings.Cut(entry, "\n")
		if slices.ContainsFunc(strings.Fields(files), func(f string) bool { return slices.Contains(code, filepath.Ext(f)) }) {
			all = append(all, commit)
		}
	}
	slices.Sort(all) // so that new commits do not change the order of the others
	r := rand.New(rand.NewPCG(seed, 1))
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all, nil
}
