package sandbox

import (
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/runplan/runplan/internal/atomicfile"
	"github.com/runplan/runplan/internal/proc"
)

// Git holds the locations of a worktree's git files. It is zero for a folder that is not a worktree: a separate
// repository has its files inside and needs nothing.
type Git struct {
	Common  string // what all worktrees share
	Private string // folder of this worktree
	Branch  string // full name of the checked-out branch, "" if HEAD is detached
}

// GitOf reads the .git file of a worktree.
func GitOf(dir string) (Git, error) {
	text, err := os.ReadFile(filepath.Join(dir, ".git"))
	if err != nil {
		if info, serr := os.Stat(filepath.Join(dir, ".git")); errors.Is(err, fs.ErrNotExist) || serr == nil && info.IsDir() {
			return Git{}, nil
		}
		return Git{}, fmt.Errorf("find the repository of %s: %w", dir, err)
	}
	rel := func(base, path string) (string, error) {
		if path = strings.TrimSpace(path); !filepath.IsAbs(path) {
			path = filepath.Join(base, path)
		}
		return filepath.EvalSymlinks(path)
	}
	line, ok := strings.CutPrefix(string(text), "gitdir: ")
	if !ok {
		return Git{}, fmt.Errorf("find the repository of %s: its .git was not made by git", dir)
	}
	var g Git
	if g.Private, err = rel(dir, line); err != nil {
		return Git{}, fmt.Errorf("find the repository of %s: %w", dir, err)
	}
	common, err := os.ReadFile(filepath.Join(g.Private, "commondir"))
	if err == nil {
		g.Common, err = rel(g.Private, string(common))
	}
	if err != nil {
		return Git{}, fmt.Errorf("find the repository of %s: %w", dir, err)
	}
	head, err := os.ReadFile(filepath.Join(g.Private, "HEAD"))
	if err != nil {
		return Git{}, fmt.Errorf("find the branch of %s: %w", dir, err)
	}
	g.Branch, _ = strings.CutPrefix(strings.TrimSpace(string(head)), "ref: ")
	if !strings.HasPrefix(g.Branch, "refs/heads/") {
		g.Branch = ""
	}
	return g, nil
}

// ours is the prefix of the run's branches. An agent may write only branches with this prefix.
const ours = "refs/heads/runplan/"

// prepare makes the folders that are mounted.
func (g Git) prepare(objects string) error {
	if err := os.RemoveAll(objects); err != nil {
		return fmt.Errorf("create a folder for new objects: %w", err)
	}
	for _, dir := range append([]string{objects}, g.branches()...) {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("create a folder for new objects: %w", err)
		}
	}
	return nil
}

// branches are the folders with the worktree's branch and its log.
func (g Git) branches() []string {
	if !strings.HasPrefix(g.Branch, ours) || strings.Contains(g.Branch, "..") {
		return nil
	}
	dir := filepath.Dir(filepath.FromSlash(g.Branch))
	return []string{filepath.Join(g.Common, dir), filepath.Join(g.Common, "logs", dir)}
}

func (g Git) writable() []string {
	if g.Common == "" {
		return nil
	}
	return append([]string{g.Private}, g.branches()...)
}

// collect moves new objects into the repository. It refuses an object whose content does not match its name: git
// would never replace it with the correct one.
func (g Git) collect(ctx context.Context, from string, env []string) error {
	var errs []error
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		dir, name := filepath.Split(rel)
		id := strings.TrimSuffix(dir, string(filepath.Separator)) + name
		switch {
		case filepath.Ext(name) == ".pack":
			err = g.unpack(ctx, path, env)
		case isHex(id) && len(dir) == 3 && (len(id) == sha1.Size*2 || len(id) == sha256.Size*2):
			err = g.take(path, id)
		}
		if err != nil {
			errs = append(errs, err)
		}
		return nil
	})
	return errors.Join(append(errs, err)...)
}

func isHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }

const maxObject = 4 << 30

// take copies one loose object, once it was read in full.
func (g Git) take(path, id string) error {
	to := filepath.Join(g.Common, "objects", id[:2], id[2:])
	if _, err := os.Lstat(to); err == nil {
		return nil
	}
	if err := verify(path, id); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	return atomicfile.Copy(to, "tmp_obj_", in, 0o444) // git recognizes leftover files by this name
}

// verify reads an object and compares its hash with its name.
func verify(path, id string) error {
	wrong := func(err error) error { return fmt.Errorf("object %s is damaged: %w", id, err) }
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := zlib.NewReader(f)
	if err != nil {
		return wrong(err)
	}
	var sum hash.Hash = sha1.New()
	if len(id) == sha256.Size*2 {
		sum = sha256.New()
	}
	n, err := io.Copy(sum, io.LimitReader(z, maxObject))
	switch {
	case err != nil:
		return wrong(err)
	case n == maxObject:
		return wrong(errors.New("it is too large"))
	case hex.EncodeToString(sum.Sum(nil)) != id:
		return wrong(errors.New("its content does not match its hash"))
	}
	return nil
}

// unpack lets git read a pack, which checks each object of it.
func (g Git) unpack(ctx context.Context, path string, env []string) error {
	pack, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	_, err = proc.Output(ctx, proc.Cmd{
		Args: []string{"git", "--git-dir", g.Common, "index-pack", "--stdin", "--fix-thin"}, Dir: g.Common, Env: env,
		Stdin: bytes.NewReader(pack),
	})
	if err != nil {
		return fmt.Errorf("read the pack %s: %w", filepath.Base(path), err)
	}
	return nil
}
