package local

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/glob"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/proc"
)

// deps holds the dependencies in the user's checkout that git ignores.
type deps struct {
	root  string   // of the checkout
	found []string // folders of dependencies, relative to the root
	nodes []string // folders with a package.json, relative to the root
}

// findDeps finds dependencies next to the projects of the checkout.
func findDeps(ctx context.Context, repo *git.Repo) (deps, error) {
	d := deps{root: repo.Root}
	roots := []string{"."}
	for _, p := range gates.Detect(repo.Root) {
		at := filepath.FromSlash(p.Root)
		roots = lists.Add(roots, at)
		if p.Language == gates.LangNode {
			d.nodes = append(d.nodes, at)
		}
	}
	var there []string
	for _, at := range roots {
		// These folders may be in a checkout, but are never committed; mirror can link each of them.
		for _, name := range []string{"node_modules", ".venv", "venv", "vendor"} {
			rel := filepath.Join(at, name)
			if info, err := os.Stat(filepath.Join(repo.Root, rel)); err == nil && info.IsDir() {
				there = append(there, rel)
			}
		}
	}
	if len(there) == 0 {
		return d, nil
	}
	out, err := repo.Run(ctx, append([]string{"ls-files", "-z", "--"}, there...)...)
	if err != nil {
		return d, fmt.Errorf("find dependencies in the checkout: %w", err)
	}
	for _, rel := range there {
		if at := filepath.ToSlash(rel) + "/"; !strings.HasPrefix(out, at) && !strings.Contains(out, "\x00"+at) {
			d.found = append(d.found, rel)
		}
	}
	return d, nil
}

func (d deps) none() bool { return len(d.found) == 0 && len(d.nodes) == 0 }

// userSites lists the folders below the user's home from which Python loads packages. Rooms of Python projects get
// links to these folders.
func userSites(root string, environ []string) []string {
	python := slices.ContainsFunc(gates.Detect(root), func(p gates.Project) bool { return p.Language == gates.LangPython })
	home := proc.Getenv(environ, "HOME")
	if !python || home == "" {
		return nil
	}
	return glob.Below(home, ".local/lib/python*/site-packages")
}

// stale lists the packages of the tree in dir whose dependencies differ from those of the checkout.
func (d deps) stale(dir string) []string {
	var out []string
	for _, at := range d.nodes {
		data, err := os.ReadFile(filepath.Join(dir, at, "package.json"))
		if err != nil || !bytes.Contains(data, []byte("ependencies\"")) {
			continue
		}
		lock, _ := lockOf(dir, at)
		has, fresh := slices.Contains(d.found, filepath.Join(at, "node_modules")), false
		switch {
		case !has:
			fresh = at != "." && lock == "" // a workspace uses the dependencies of the root
		case lock != "":
			fresh = same(filepath.Join(dir, lock), filepath.Join(d.root, lock))
		default:
			fresh = sameDependencies(data, filepath.Join(d.root, at, "package.json"))
		}
		if !fresh {
			out = append(out, at)
		}
	}
	return out
}

// installers returns the lock files of packages for node, with the command that installs from each.
func installers() [][2]string {
	return [][2]string{
		{"package-lock.json", "npm ci --no-audit --no-fund"}, {"npm-shrinkwrap.json", "npm ci --no-audit --no-fund"},
		{"yarn.lock", "yarn install --frozen-lockfile"}, {"pnpm-lock.yaml", "pnpm install --frozen-lockfile"},
		{"bun.lock", "bun install --frozen-lockfile"}, {"bun.lockb", "bun install --frozen-lockfile"},
	}
}

// lockOf returns the lock file of a package for node, "" without one, and the command that installs its dependencies.
func lockOf(dir, at string) (rel, install string) {
	for _, i := range installers() {
		rel := filepath.Join(at, i[0])
		if _, err := os.Stat(filepath.Join(dir, rel)); err == nil {
			return rel, i[1]
		}
	}
	return "", "npm install --no-audit --no-fund --no-package-lock"
}

// sameDependencies reports whether a package.json has the same dependencies as the one at path.
func sameDependencies(data []byte, path string) bool {
	type wants struct{ Dependencies, DevDependencies, OptionalDependencies, PeerDependencies map[string]string }
	var a, b wants
	other, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(data, &a) != nil || json.Unmarshal(other, &b) != nil {
		return false
	}
	return reflect.DeepEqual(a, b)
}

func same(a, b string) bool {
	x, err := os.ReadFile(a)
	y, other := os.ReadFile(b)
	return err == nil && other == nil && bytes.Equal(x, y)
}

// mirror links a folder of dependencies into the tree at dir: a virtual environment as one link, but a link for each
// package of node_modules. So links to the repository's own packages point into the room.
func (d deps) mirror(rel, dir string) error {
	from, to := filepath.Join(d.root, rel), filepath.Join(dir, rel)
	if _, err := os.Lstat(to); err == nil {
		return nil // the tree has its own dependencies
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if filepath.Base(rel) != "node_modules" {
		return os.Symlink(from, to)
	}
	return mirrorFolder(from, to, 1)
}

// mirrorFolder links the entries of a folder, and copies the links in it. It recurses into folders of scopes and of
// programs, to depth levels.
func mirrorFolder(from, to string, deep int) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	if err := os.Mkdir(to, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	for _, e := range entries {
		at, there := filepath.Join(from, e.Name()), filepath.Join(to, e.Name())
		target := at
		if e.Type()&fs.ModeSymlink != 0 {
			if target, err = os.Readlink(at); err != nil {
				return err
			}
		} else if e.IsDir() && deep > 0 && (strings.HasPrefix(e.Name(), "@") || e.Name() == ".bin") {
			if err := mirrorFolder(at, there, deep-1); err != nil {
				return err
			}
			continue
		} else if e.Name() == ".cache" || e.Name() == ".vite" {
			continue
		}
		if err := os.Symlink(target, there); err != nil {
			return err
		}
	}
	return nil
}
