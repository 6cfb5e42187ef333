package judge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/ui"
)

// written is the working tree as a git tree and its comparison base, or the reason why they are unknown.
type written struct {
	hash      string
	ignored   []string // files that git ignores; folders end with a slash
	hidden    bool     // git was told to ignore changes of existing files, so the hash is incomplete
	err       error
	from      comparison
	unrelated error
}

// comparison names the commit that the working tree is compared with.
type comparison struct {
	Commit string // "" before the first commit
	Tree   string // the empty tree if there is no commit
	Why    string // reason, for people
}

// String describes the comparison for people.
func (c comparison) String() string {
	if c.Commit == "" {
		return ui.Sanitize(c.Why)
	}
	return ui.Sanitize(git.Short(c.Commit) + ", " + c.Why)
}

// writtenAt collects all git inputs of a check. In most checks nothing changed, and starting git takes most of the
// time. So one command lists changed and ignored files, and one resolves the commits. Others run only if needed.
func writtenAt(ctx context.Context, repo *git.Repo, base string) (w written) {
	var named map[string]string
	var now checkout
	var failed error
	var group sync.WaitGroup
	group.Go(func() { named = resolved(ctx, repo) })
	group.Go(func() { w.hidden, failed = hidesFiles(ctx, repo) })
	now, w.err = checkedOut(ctx, repo)
	group.Wait()
	if w.err = cmp.Or(w.err, failed); w.err != nil {
		return w
	}
	w.ignored = now.ignored
	head := named["HEAD^{commit}"]
	settled := head != "" && head == now.head // false if another process commits at the same time
	if base == "" && settled && now.level && level(named, head) {
		w.from = comparison{Commit: head, Tree: named["HEAD^{tree}"], Why: "the last commit"}
	} else {
		group.Go(func() { w.from, w.unrelated = compareWith(ctx, repo, base) })
	}
	if settled && now.clean {
		w.hash = named["HEAD^{tree}"]
	} else {
		w.hash, w.err = repo.WorkingTree(ctx)
	}
	group.Wait()
	return w
}

// checkout is the state of the working tree as git reports it.
type checkout struct {
	head    string   // the current commit; "" before the first
	level   bool     // the branch has no upstream, or one at the same commit
	clean   bool     // index and working tree equal the commit, without untracked files
	ignored []string // files; folders end with a slash
}

// checkedOut asks git for the state of the working tree. It overrides the user's settings for git status.
func checkedOut(ctx context.Context, repo *git.Repo) (checkout, error) {
	out, err := repo.Status(ctx, "--porcelain=v2", "--branch", "--no-ahead-behind", "--no-renames",
		"--untracked-files=all", "--ignored=matching")
	if err != nil {
		return checkout{}, fmt.Errorf("read the working tree: %w", err)
	}
	return parseStatus(out), nil
}

// parseStatus parses the output of git status. A line that it does not know counts as a change.
func parseStatus(out string) checkout {
	c := checkout{clean: true, level: true}
	for entry := range strings.SplitSeq(out, "\x00") {
		if entry == "" {
			continue
		}
		if name, ok := strings.CutPrefix(entry, "! "); ok {
			c.ignored = append(c.ignored, name)
			continue
		}
		header, ok := strings.CutPrefix(entry, "# ")
		if !ok {
			c.clean = false
			continue
		}
		switch key, value, _ := strings.Cut(header, " "); key {
		case "branch.oid":
			if value != "(initial)" {
				c.head = value
			}
		case "branch.upstream":
			c.level = false // until the next line sets it
		case "branch.ab":
			c.level = value == "+0 -0"
		}
	}
	return c
}

// hidesFiles reports whether git was told to assume files unchanged: files with the assume-unchanged flag, and
// existing files outside of a sparse checkout.
func hidesFiles(ctx context.Context, repo *git.Repo) (bool, error) {
	assumed, skipped, err := repo.Hidden(ctx)
	if err != nil {
		return false, err
	}
	return len(assumed) > 0 || slices.ContainsFunc(skipped, func(name string) bool {
		_, err := os.Lstat(filepath.Join(repo.Root, filepath.FromSlash(name)))
		return err == nil
	}), nil
}

// trunks lists the refs of the usual integration branches.
var trunks = []string{"refs/remotes/origin/HEAD", "refs/remotes/origin/main", "refs/remotes/origin/master",
	"refs/heads/main", "refs/heads/master"}

// resolved resolves HEAD, its tree and the trunks with one git command. If git fails it returns nothing.
func resolved(ctx context.Context, repo *git.Repo) map[string]string {
	names := append([]string{"HEAD^{commit}", "HEAD^{tree}"},
		lists.Map(trunks, func(t string) string { return t + "^{commit}" })...)
	out, err := repo.Input(ctx, strings.Join(names, "\n")+"\n", "cat-file", "--batch-check=%(objectname)")
	answers := strings.Split(out, "\n")
	if err != nil || len(answers) != len(names) {
		return nil
	}
	found := map[string]string{}
	for i, a := range answers {
		if !strings.Contains(a, " ") { // "NAME missing"
			found[names[i]] = a
		}
	}
	return found
}

// level reports whether each existing trunk points to the commit of the checkout. Then that commit is the base in any
// case.
func level(named map[string]string, head string) bool {
	return !slices.ContainsFunc(trunks, func(t string) bool {
		at, ok := named[t+"^{commit}"]
		return ok && at != head
	})
}

func compareWith(ctx context.Context, repo *git.Repo, given string) (comparison, error) {
	head, branch, err := repo.Head(ctx)
	if err != nil && !errors.Is(err, git.ErrNoCommits) {
		return comparison{}, err
	}
	if head == "" && given == "" {
		empty, err := repo.EmptyTree(ctx)
		return comparison{Tree: empty, Why: "nothing: there is no commit yet"}, err
	}
	name, commit := given, ""
	if given != "" {
		commit, err = cli.CommitNamed(ctx, repo, given, "fetch the branch first; in CI, the clone may be too shallow")
	} else {
		name, commit, err = repo.Upstream(ctx, branch)
	}
	if err != nil {
		return comparison{}, err
	}
	c := comparison{Commit: head, Why: "the last commit"}
	if commit != "" && head != "" {
		common, err := repo.MergeBase(ctx, commit, head)
		switch {
		case err != nil:
			return comparison{}, err
		case common == "" && given != "":
			c = comparison{Commit: commit, Why: name + ", which has no common history with the checkout"}
		case common != "" && common != head:
			c = comparison{Commit: common, Why: "from the merge base with " + name}
		case given != "":
			c.Why = name
		}
	} else if commit != "" {
		c = comparison{Commit: commit, Why: name}
	}
	c.Tree, err = repo.TreeOf(ctx, c.Commit)
	return c, err
}
