package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/runplan/runplan/internal/atomicfile"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/glob"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/runner/journal"
	"github.com/runplan/runplan/sampling"
)

// Leftover is something that a run left behind.
type Leftover struct {
	Kind   string `json:"kind"` // worktree, branch, room or temp
	Name   string `json:"name"` // path relative to .runplan, branch, or path of a folder of rooms
	Bytes  int64  `json:"bytes"`
	Remove bool   `json:"remove"`
	Why    string `json:"why"` // why it can be removed, or why it stays
	Slug   string `json:"-"`   // of a worktree or a branch: of the runs that it belongs to
}

// Leftovers lists worktrees and branches that runs left in a repository. It considers only worktrees with runplan's
// marker and branches under runplan/, and never proposes to remove unmerged work. active lists the slugs of locked or
// unfinished runs.
func Leftovers(ctx context.Context, repo *git.Repo, l journal.Layout, active map[string]bool) ([]Leftover, error) {
	var out []Leftover
	head, _, err := repo.Head(ctx)
	if err != nil {
		return nil, err
	}
	for _, path := range l.Glob(filepath.Join(l.Worktrees(), "*.json")) {
		dir := strings.TrimSuffix(path, ".json")
		var m marker
		if err := atomicfile.ReadJSON(path, &m); err != nil {
			return nil, err
		}
		x := Leftover{Kind: "worktree", Name: l.Rel(dir), Bytes: Size(dir), Slug: m.Slug}
		x.Remove, x.Why = removable(ctx, repo, dir, m.Slug, head, active)
		out = append(out, x)
	}
	branches, err := repo.Branches(ctx, "runplan/")
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(branches)) {
		hash := branches[name]
		slug, _, _ := strings.Cut(strings.TrimPrefix(name, "runplan/"), "/")
		x := Leftover{Kind: "branch", Name: name, Slug: slug}
		in, err := repo.IsAncestor(ctx, hash, head)
		switch {
		case err != nil:
			return nil, err
		case active[slug]:
			x.Why = "its run is not finished"
		case in:
			x.Remove, x.Why = true, "merged into the checkout"
		default:
			x.Why = "not merged into the checkout"
		}
		out = append(out, x)
	}
	return out, nil
}

func removable(ctx context.Context, repo *git.Repo, dir, slug, head string, active map[string]bool) (bool, string) {
	if active[slug] {
		return false, "its run is not finished"
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return true, "its folder does not exist"
	}
	ws, err := repo.OpenWorkspace(dir)
	if err != nil {
		return false, "it no longer belongs to this repository; check it and remove it yourself"
	}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) == 1 && ws.Unfilled() {
		return true, "nothing was ever checked out in it"
	}
	out, err := ws.Run(ctx, "status", "--porcelain", "--untracked-files=normal")
	if err != nil || out != "" {
		return false, "it has uncommitted changes"
	}
	at, err := ws.Head(ctx)
	if err != nil {
		return false, "its commit cannot be read"
	}
	if in, err := repo.IsAncestor(ctx, at, head); err != nil || !in {
		runTip, _ := repo.Resolve(ctx, "refs/heads/"+journal.RunBranch(slug))
		if in, err := repo.IsAncestor(ctx, at, runTip); runTip == "" || err != nil || !in {
			return false, "it has a commit that exists nowhere else"
		}
	}
	return true, "nothing in it is unique"
}

// RemoveLeftover removes one thing that [Leftovers] listed for removal.
func RemoveLeftover(ctx context.Context, repo *git.Repo, l journal.Layout, x Leftover) error {
	if !x.Remove {
		return fmt.Errorf("%s %s: %s", x.Kind, x.Name, x.Why)
	}
	if x.Kind == "room" {
		return RemoveRooms(ctx, repo, l, x.Name)
	}
	if x.Kind == "branch" {
		tip, err := repo.Resolve(ctx, "refs/heads/"+x.Name)
		if err != nil || tip == "" {
			return err
		}
		return repo.UpdateRefs(ctx, git.RefUpdate{Ref: "refs/heads/" + x.Name, Old: tip})
	}
	dir := filepath.Join(l.Root, filepath.FromSlash(x.Name))
	return with(l.GitLock(), func() error {
		if err := repo.RemoveWorkspace(ctx, dir); err != nil {
			return err
		}
		return os.Remove(markerOf(dir))
	})
}

// Size returns the total size of the files below dir, in bytes.
func Size(dir string) int64 {
	var n int64
	filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				n += info.Size()
			}
		}
		return nil
	})
	return n
}

// RoomLeftovers lists the folders with gate rooms of a repository, below home. It keeps those of running processes.
func RoomLeftovers(home string, repo *git.Repo, l journal.Layout) []Leftover {
	var out []Leftover
	for _, dir := range roomFolders(home, repo, l) {
		x := Leftover{Kind: "room", Name: dir, Bytes: Size(dir), Remove: true, Why: "a gate that was killed left it"}
		lock, err := takeRemovable(dir + ".lock")
		if err != nil {
			x.Remove, x.Why = false, "a gate is running in it"
		} else {
			lock.remove()
		}
		out = append(out, x)
	}
	return out
}

// roomFolders lists the folders of rooms of all processes, including those with only a lock left. Their names are
// numbers. The build cache of Go next to them stays: without it each run would compile the standard library again.
func roomFolders(home string, repo *git.Repo, l journal.Layout) []string {
	ofRepo := roomsOf(home, repo, l)
	entries, err := os.ReadDir(ofRepo)
	if err != nil {
		return nil // no rooms exist yet
	}
	var out []string
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), ".lock")
		if _, err := strconv.Atoi(name); err == nil {
			out = lists.Add(out, filepath.Join(ofRepo, name))
		}
	}
	return out
}

// RemoveRooms removes a folder of rooms that no process uses.
func RemoveRooms(ctx context.Context, repo *git.Repo, l journal.Layout, dir string) error {
	lock, err := takeRemovable(dir + ".lock")
	if err != nil {
		return nil // in use
	}
	defer lock.remove()
	return clearRooms(ctx, repo, l, dir)
}

// clearRooms removes a folder of rooms, if it exists.
func clearRooms(ctx context.Context, repo *git.Repo, l journal.Layout, dir string) error {
	left := glob.Below(dir, "*/room")
	if len(left) == 0 {
		return git.RemoveAll(dir)
	}
	err := tie(l, func() error {
		for _, room := range left {
			if err := repo.RemoveWorkspace(ctx, room); err != nil {
				return err
			}
		}
		return repo.ForgetWorkspaces(dir)
	})
	return errors.Join(err, git.RemoveAll(dir))
}

// sweepRooms removes the rooms of processes that were killed.
func sweepRooms(ctx context.Context, home string, repo *git.Repo, l journal.Layout) error {
	errs := lists.Map(roomFolders(home, repo, l), func(dir string) error { return RemoveRooms(ctx, repo, l, dir) })
	ofRepo := roomsOf(home, repo, l)
	return errors.Join(append(errs, forgetRooms(repo, l, ofRepo))...)
}

// forgetRooms removes git's records of rooms below dir that do not exist. If runplan is killed, its git may run for a
// moment longer and write such a record after the rooms were removed.
func forgetRooms(repo *git.Repo, l journal.Layout, dir string) error {
	return tie(l, func() error { return repo.ForgetMissing(dir) })
}

// tie runs do with a lock on the list of worktrees, if runplan has a folder in the repository.
func tie(l journal.Layout, do func() error) error {
	if _, err := os.Stat(l.Root); err != nil {
		return do()
	}
	return with(l.GitLock(), do)
}

// sweep removes temporary files that killed processes left while they replaced a file: files of this run, files that
// all runs share, and files in the git folder. A concurrent writer creates its file again.
func (w *work) sweep() {
	l, common := w.Layout, w.Repo.Common
	err := errors.Join(
		w.failures.Sweep(), sampling.Store{Path: l.SamplingOutcomes()}.Sweep(), atomicfile.SweepFolder(l.Root),
		atomicfile.SweepFolder(l.Worktrees()), atomicfile.SweepTree(l.GateCache()), atomicfile.SweepTree(l.Logs(w.run)),
		atomicfile.SweepTree(l.Report(w.run)), atomicfile.SweepFolder(common),
		atomicfile.SweepFolder(filepath.Join(common, "info")), atomicfile.SweepTree(filepath.Join(common, "hooks")),
	)
	if err != nil {
		w.Note("the leftovers of killed processes could not be removed: " + err.Error())
	}
}
