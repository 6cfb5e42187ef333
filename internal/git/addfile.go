package git

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// plainName reports whether git uses the name of a worktree's folder unchanged for its data.
func plainName(name string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	return strings.Trim(name, letters+"-_") == "" && strings.IndexAny(name, letters) == 0
}

// addFile is [Repo.AddEmpty] without a process, with the files that git would write. Git's data of the worktree appears
// complete or not at all, so a kill leaves at most a folder at dir, and data that names it. It reports whether it
// could; otherwise it leaves nothing behind.
func (r *Repo) addFile(ctx context.Context, dir, commit string) (added bool) {
	if runtime.GOOS == "windows" || !isHash(commit) || !plainName(filepath.Base(dir)) || r.reftable() ||
		!r.plainFiles(ctx) || r.objects.unlogged {
		return false
	}
	for _, copied := range []string{"config.worktree", "info/sparse-checkout"} { // git copies them into a new worktree
		if exists(filepath.Join(r.GitDir, copied)) {
			return false
		}
	}
	if tree, err := r.TreeOf(ctx, commit); err != nil || tree == commit {
		return false
	}
	all := filepath.Join(r.Common, "worktrees")
	if os.MkdirAll(filepath.Dir(dir), 0o777) != nil || os.MkdirAll(all, 0o777) != nil {
		return false
	}
	parent, err := filepath.EvalSymlinks(filepath.Dir(dir))
	if real, rerr := filepath.EvalSymlinks(all); err != nil || rerr != nil || real != all {
		return false
	}
	if os.Mkdir(dir, 0o777) != nil {
		return false
	}
	defer func() {
		if !added {
			os.RemoveAll(dir)
		}
	}()
	data := filepath.Join(dir, "data") // on another file system it cannot be moved
	born := logLine(strings.Repeat("0", len(commit)), commit, "")
	for name, text := range map[string]string{
		"gitdir": filepath.Join(parent, filepath.Base(dir), ".git"), "commondir": "../..", "HEAD": commit,
		"logs/HEAD": strings.TrimSpace(born),
	} {
		path := filepath.Join(data, name)
		if os.MkdirAll(filepath.Dir(path), 0o777) != nil || os.WriteFile(path, []byte(text+"\n"), 0o666) != nil {
			return false
		}
	}
	for n := range 100 {
		to := filepath.Join(all, filepath.Base(dir))
		if n > 0 { // git counts in the same way
			to += strconv.Itoa(n)
		}
		if exists(to) {
			continue
		}
		// This file comes first: git forgets data whose worktree does not exist.
		return os.WriteFile(filepath.Join(dir, ".git"), []byte("gitdir: "+to+"\n"), 0o666) == nil && os.Rename(data, to) == nil
	}
	return false
}
