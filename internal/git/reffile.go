package git

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"
)

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
		return appendTo(log, logLine(was, commit, message))
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

// appendTo appends text to an existing file.
func appendTo(path, text string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	err = errors.Join(err, f.Close())
	return err
}

// token returns a random part of a unique name.
func token() string { return rand.Text()[:12] }
