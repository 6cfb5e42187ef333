package git

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Refs returns all local branches with their commits, read from the ref files if git uses files.
func (r *Repo) Refs(ctx context.Context) (map[string]string, error) {
	return r.refs(ctx, "refs/heads/")
}

// AllRefs returns every ref with its target, without "refs/".
func (r *Repo) AllRefs(ctx context.Context) (map[string]string, error) {
	return r.refs(ctx, "refs/")
}

// Replaced returns the refs under refs/replace/: for each replaced object, the object that git shows instead.
func (r *Repo) Replaced() (map[string]string, error) {
	return r.refs(context.Background(), "refs/replace/")
}

func (r *Repo) refs(ctx context.Context, under string) (map[string]string, error) {
	if r.reftable() {
		return r.under(ctx, under, "")
	}
	refs := map[string]string{}
	heads := filepath.Join(r.Common, filepath.FromSlash(under))
	err := filepath.WalkDir(heads, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, ".lock") {
			return nil // a ref removed meanwhile counts as missing
		}
		data, err := os.ReadFile(path)
		if hash := strings.TrimSpace(string(data)); err == nil && len(hash) >= 40 && !strings.HasPrefix(hash, "ref:") {
			name, _ := filepath.Rel(heads, path)
			refs[filepath.ToSlash(name)] = hash
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	// Read packed-refs last: a ref that git packs meanwhile is found in one of the two places, in this order.
	packed, err := r.packed(under)
	for name, hash := range packed {
		if _, loose := refs[name]; !loose {
			refs[name] = hash
		}
	}
	return refs, err
}

// reftable reports whether the refs are in git's binary form, which only git reads.
func (r *Repo) reftable() bool { return exists(filepath.Join(r.Common, "reftable")) }

// packed returns the refs under a prefix in packed-refs. A loose file of the same name overrides them.
func (r *Repo) packed(under string) (map[string]string, error) {
	refs := map[string]string{}
	f, err := os.Open(filepath.Join(r.Common, "packed-refs"))
	if errors.Is(err, fs.ErrNotExist) {
		return refs, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the refs of %s: %w", r.Root, err)
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	for s.Scan() {
		hash, ref, ok := strings.Cut(s.Text(), " ")
		if name, in := strings.CutPrefix(ref, under); ok && in {
			refs[name] = hash
		}
	}
	return refs, s.Err()
}

// branch returns the commit of a branch, or "" when there is none.
func (r *Repo) branch(name string) (string, error) {
	data, err := os.ReadFile(filepath.Join(r.Common, "refs", "heads", filepath.FromSlash(name)))
	if err == nil {
		return strings.TrimSpace(string(data)), nil
	}
	refs, err := r.packed("refs/heads/")
	return refs[name], err
}

// MayExist reports whether a ref exists, or one whose name continues that of ref. It may be wrong if there is none.
func (r *Repo) MayExist(ref string) bool {
	if r.reftable() || exists(filepath.Join(r.Common, filepath.FromSlash(ref))) {
		return true
	}
	refs, err := r.packed(ref)
	return err != nil || len(refs) > 0
}

// unfinished lists the files that exist during a merge, rebase or similar operation.
func unfinished() []string {
	return []string{"MERGE_HEAD", "MERGE_MODE", "MERGE_MSG", "CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD",
		"SQUASH_MSG", "rebase-merge", "rebase-apply", "sequencer",
		"BISECT_LOG", "BISECT_START", "BISECT_NAMES", "BISECT_TERMS", "BISECT_EXPECTED_REV"}
}

// HeadLog returns the size in bytes of the reflog of the workspace's HEAD: later entries begin there.
func (w *Workspace) HeadLog() int64 {
	fi, err := os.Stat(w.headLog())
	if err != nil {
		return 0
	}
	return fi.Size()
}

func (w *Workspace) headLog() string { return filepath.Join(w.GitDir, "logs", "HEAD") }

// Visited lists the branches and commits that the workspace's HEAD pointed to since its reflog had size bytes. It may
// include the present one. If a process is killed between restoring HEAD and removing a branch, this log is the only
// trace.
func (w *Workspace) Visited(since int64) ([]string, error) {
	data, err := os.ReadFile(w.headLog())
	if err != nil {
		return nil, err
	}
	if since <= int64(len(data)) { // otherwise the log was rewritten
		data = data[since:]
	}
	var names []string
	for line := range strings.Lines(string(data)) {
		_, move, _ := strings.Cut(strings.TrimRight(line, "\n"), "\tcheckout: moving from ")
		from, to, ok := strings.Cut(move, " to ")
		for _, name := range []string{from, to} {
			if ok && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names, nil
}

// HalfMade reports whether an interrupted checkout made the branch: its own log has a checkout as its only entry, but
// no HEAD log has one.
func (r *Repo) HalfMade(branch string) bool {
	log, err := os.ReadFile(filepath.Join(r.Common, "logs", "refs", "heads", filepath.FromSlash(branch)))
	if err != nil || strings.Count(string(log), "\n") != 1 ||
		!strings.HasSuffix(string(log), "\tbranch: Created from HEAD\n") {
		return false
	}
	heads, _ := fs.Glob(os.DirFS(r.Common), "worktrees/*/logs/HEAD")
	for _, name := range append(heads, "logs/HEAD") {
		data, err := os.ReadFile(filepath.Join(r.Common, filepath.FromSlash(name)))
		if err != nil && !errors.Is(err, fs.ErrNotExist) || strings.Contains(string(data), " to "+branch+"\n") {
			return false
		}
	}
	return true
}

// Conflicts lists the unresolved files of an unfinished merge or rebase.
func (w *Workspace) Conflicts(ctx context.Context) ([]string, error) {
	if !slices.ContainsFunc(unfinished(), func(name string) bool { return exists(filepath.Join(w.GitDir, name)) }) {
		return nil, nil
	}
	out, err := w.Run(ctx, "diff", "--name-only", "--diff-filter=U", "-z")
	return strings.FieldsFunc(out, func(r rune) bool { return r == 0 }), failed(err, "check %s for conflicts", w.Dir)
}

// DropUnfinished abandons an unfinished merge or rebase; the files do not change.
func (w *Workspace) DropUnfinished() error {
	for _, name := range unfinished() {
		if path := filepath.Join(w.GitDir, name); exists(path) {
			if err := os.RemoveAll(path); err != nil {
				return err
			}
		}
	}
	return nil
}

// readHead reads HEAD and its branch from their files, if git stores them in files.
func (r *Repo) readHead() (commit, branch string, ok bool) {
	path := filepath.Join(r.GitDir, "HEAD")
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() || r.reftable() {
		return "", "", false
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", "", false
	}
	head := strings.TrimSpace(string(data))
	if isHash(head) {
		return head, "", true
	}
	branch, ok = strings.CutPrefix(head, "ref: refs/heads/")
	if !ok {
		return "", "", false
	}
	commit, err = r.branch(branch)
	return commit, branch, err == nil && isHash(commit)
}

// moveFile moves a branch to commit and adds an entry to its reflog. Only the caller moves this branch. If branch and
// log are plain files, it changes them as git does: under the lock of the branch, and atomically. In all other cases it
// returns false.
func (r *Repo) moveFile(ctx context.Context, branch, commit, message string) (moved bool) {
	ref := "refs/heads/" + branch
	path := filepath.Join(r.Common, filepath.FromSlash(ref))
	log := filepath.Join(r.Common, "logs", filepath.FromSlash(ref))
	if !isHash(commit) || !r.plainFiles(ctx) || r.reftable() || !exists(path) || !exists(log) {
		return false
	}
	return underLock(path, commit, func() error {
		// Check only now, under the lock: another process may have packed the ref, so that the file is missing.
		info, lerr := os.Lstat(path)
		data, rerr := os.ReadFile(path)
		was := strings.TrimSpace(string(data))
		if lerr != nil || rerr != nil || !info.Mode().IsRegular() || len(was) != len(commit) || !isHash(was) {
			return os.ErrInvalid
		}
		return appendTo(log, 0, logLine(was, commit, message))
	})
}

// LogBranch moves a branch to commit and keeps the old position in its reflog, whatever the configuration of git. Only
// the caller moves this branch.
func (r *Repo) LogBranch(ctx context.Context, branch, commit string) error {
	if r.moveFile(ctx, branch, commit, "runplan") {
		return nil
	}
	_, err := r.Run(ctx, "-c", "core.logAllRefUpdates=true", "update-ref", "-m", "runplan", "refs/heads/"+branch, commit)
	return err
}

// appendTo appends text to a file. With flag [os.O_CREATE] it makes a missing file.
func appendTo(path string, flag int, text string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY|flag, 0o666)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// Short shortens the hash of a commit for people.
func Short(hash string) string { return hash[:min(len(hash), 10)] }

// token returns a random part of a unique name.
func token() string { return rand.Text()[:12] }

// RefLocks lists the present lock files of refs, as slash-separated paths in the git folder. A running git holds them
// for milliseconds. A killed one leaves them behind, and then the ref can neither be moved nor removed.
func (r *Repo) RefLocks() ([]string, error) {
	var locks []string
	err := filepath.WalkDir(filepath.Join(r.Common, "refs"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".lock") {
			return nil // a file removed meanwhile counts as missing
		}
		name, err := filepath.Rel(r.Common, path)
		locks = append(locks, filepath.ToSlash(name))
		return err
	})
	if exists(filepath.Join(r.Common, packedLock)) {
		locks = append(locks, packedLock)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return locks, err
}

const packedLock = "packed-refs.lock"

// RemoveLock removes a lock of [Repo.RefLocks] that still exists after a second, because its owner was killed.
func (r *Repo) RemoveLock(name string) error {
	return removeLocks([]string{filepath.Join(r.Common, filepath.FromSlash(name))})
}
