package local

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/git"
)

// RoomLeftovers lists the folders with gate rooms of a repository, below home. It keeps those of running processes.
func RoomLeftovers(home string, repo *git.Repo, l Layout) []Leftover {
	var out []Leftover
	for _, dir := range roomFolders(home, repo, l) {
		x := Leftover{Kind: "room", Name: dir, Bytes: Size(dir), Remove: true, Why: "a gate that was killed left it"}
		lock, err := TakeLock(dir+".lock", time.Now())
		if err != nil {
			x.Remove, x.Why = false, "a gate is running in it"
		} else {
			lock.Release()
		}
		out = append(out, x)
	}
	return out
}

// roomFolders lists the folders of rooms of all processes, including those with only a lock left.
func roomFolders(home string, repo *git.Repo, l Layout) []string {
	ofRepo, _ := roomsOf(home, repo, l)
	entries, err := os.ReadDir(ofRepo)
	if err != nil {
		return nil // no rooms exist yet
	}
	var out []string
	for _, e := range entries {
		if dir := filepath.Join(ofRepo, strings.TrimSuffix(e.Name(), ".lock")); len(out) == 0 || out[len(out)-1] != dir {
			out = append(out, dir)
		}
	}
	return out
}

// RemoveRooms removes a folder of rooms that no process uses.
func RemoveRooms(ctx context.Context, repo *git.Repo, l Layout, dir string) error {
	lock, err := TakeLock(dir+".lock", time.Now())
	if err != nil {
		return nil // in use
	}
	defer os.Remove(dir + ".lock")
	defer lock.Release()
	left, err := filepath.Glob(filepath.Join(dir, "*", "room"))
	if err != nil {
		return err
	}
	err = l.tie(func() error {
		for _, at := range left {
			if err := repo.RemoveWorkspace(ctx, at); err != nil {
				return err
			}
		}
		return repo.ForgetWorkspaces(dir)
	})
	return errors.Join(err, git.RemoveAll(dir))
}

// sweepRooms removes the rooms of processes that were killed.
func sweepRooms(ctx context.Context, home string, repo *git.Repo, l Layout) error {
	var errs []error
	for _, dir := range roomFolders(home, repo, l) {
		errs = append(errs, RemoveRooms(ctx, repo, l, dir))
	}
	ofRepo, _ := roomsOf(home, repo, l)
	return errors.Join(append(errs, forgetRooms(repo, l, ofRepo))...)
}

// forgetRooms removes git's records of rooms below dir that do not exist. A git that outlives its killed runplan for a
// moment writes such a record after the rooms of that runplan were removed.
func forgetRooms(repo *git.Repo, l Layout, dir string) error {
	return l.tie(func() error { return repo.ForgetMissing(dir) })
}

// tie runs do while it locks the list of worktrees, in a repository that runplan has a folder in.
func (l Layout) tie(do func() error) error {
	if _, err := os.Stat(l.Root); err != nil {
		return do()
	}
	return with(l.GitLock(), do)
}
