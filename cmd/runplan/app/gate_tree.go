package app

import (
	"cmp"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/ui"
)

// written is the working tree as a tree, and what it is compared with, or why that is not known.
type written struct {
	hash      string
	ignored   []string // what git ignores: files, and folders with a slash at the end
	hidden    bool     // git was told not to look at files that are there, so that the hash does not say all
	err       error
	from      comparison
	unrelated error
}

// comparison says what the working tree is compared with.
type comparison struct {
	Commit string // "" before the first commit
	Tree   string // the empty tree where there is no commit
	Why    string // for people
}

// writtenAt asks git for all that a look follows from. Most looks are at a checkout in which nothing changed, and what
// they cost is the programs that they start: so one question tells what changed and what is ignored, and one names the
// commits, and only what these leave open is asked for.
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
	settled := head != "" && head == now.head // not so where somebody commits while we look
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

// checkout is what git says of the working tree.
type checkout struct {
	head    string   // the commit; "" before the first
	level   bool     // the branch follows none, or one at the same commit
	clean   bool     // index and working tree are as committed, with nothing that git does not know
	ignored []string // files, and folders with a slash at the end
}

// checkedOut asks git how the working tree stands. The user's own settings of git status do not count.
func checkedOut(ctx context.Context, repo *git.Repo) (checkout, error) {
	out, err := repo.Status(ctx, "--porcelain=v2", "--branch", "--no-ahead-behind", "--no-renames", "--untracked-files=all", "--ignored=matching")
	if err != nil {
		return checkout{}, fmt.Errorf("look at the working tree: %w", err)
	}
	return parseStatus(out), nil
}

// parseStatus reads what git status prints. Whatever it does not know is a change.
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
			c.level = false // until the next line says so
		case "branch.ab":
			c.level = value == "+0 -0"
		}
	}
	return c
}

// hidesFiles tells whether git was told to believe, and not to look, that files did not change: those that are assumed
// unchanged, and those left out of a sparse checkout that are there all the same.
func hidesFiles(ctx context.Context, repo *git.Repo) (bool, error) {
	out, err := repo.Run(ctx, "ls-files", "-v", "-z")
	if err != nil {
		return false, fmt.Errorf("list what git knows: %w", err)
	}
	for entry := range strings.SplitSeq(out, "\x00") {
		tag, name, ok := strings.Cut(entry, " ")
		switch {
		case !ok || tag == "H":
		case strings.ToLower(tag) == tag:
			return true, nil
		case tag == "S":
			if _, err := os.Lstat(filepath.Join(repo.Root, filepath.FromSlash(name))); err == nil {
				return true, nil
			}
		}
	}
	return false, nil
}

// trunks are the refs that everybody's work may go to.
var trunks = []string{"refs/remotes/origin/HEAD", "refs/remotes/origin/main", "refs/remotes/origin/master", "refs/heads/main", "refs/heads/master"}

// resolved names HEAD, its tree and the trunks in one question. Where git cannot answer, nothing is known.
func resolved(ctx context.Context, repo *git.Repo) map[string]string {
	names := []string{"HEAD^{commit}", "HEAD^{tree}"}
	for _, t := range trunks {
		names = append(names, t+"^{commit}")
	}
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

// level says that each trunk there is stands where the checkout does: whichever work is compared with, it is the last
// commit.
func level(named map[string]string, head string) bool {
	for _, t := range trunks {
		if at, ok := named[t+"^{commit}"]; ok && at != head {
			return false
		}
	}
	return true
}

// compareWith finds the commit that the working tree is compared with.
func compareWith(ctx context.Context, repo *git.Repo, given string) (comparison, error) {
	head, branch, err := repo.Head(ctx)
	if err != nil && !errors.Is(err, git.ErrNoCommits) {
		return comparison{}, fail(exitCannotRun, err, "")
	}
	if head == "" && given == "" {
		empty, err := repo.EmptyTree(ctx)
		if err != nil {
			return comparison{}, fail(exitCannotRun, err, "")
		}
		return comparison{Tree: empty, Why: "nothing, since there is no commit yet"}, nil
	}
	name, commit := given, ""
	if given != "" {
		if strings.HasPrefix(given, "-") {
			return comparison{}, usage(fmt.Errorf("%q is no commit", ui.Sanitize(given)), "")
		}
		commit, err = repo.Resolve(ctx, given)
		if err != nil || commit == "" {
			return comparison{}, usage(fmt.Errorf("there is no commit or branch %q to compare with", ui.Sanitize(given)),
				"a branch of a remote has to be fetched first; in CI, a shallow clone may lack it")
		}
	} else if name, commit, err = repo.Upstream(ctx, branch); err != nil {
		return comparison{}, fail(exitCannotRun, err, "")
	}
	c := comparison{Commit: head, Why: "the last commit"}
	if commit != "" && head != "" {
		common, err := repo.MergeBase(ctx, commit, head)
		switch {
		case err != nil:
			return comparison{}, fail(exitCannotRun, err, "")
		case common == "" && given != "":
			c = comparison{Commit: commit, Why: name + ", which has no history in common with the checkout"}
		case common != "" && common != head:
			c = comparison{Commit: common, Why: "where it left " + name}
		case given != "":
			c.Why = name
		}
	} else if commit != "" {
		c = comparison{Commit: commit, Why: name}
	}
	if c.Tree, err = repo.TreeOf(ctx, c.Commit); err != nil {
		return comparison{}, fail(exitCannotRun, err, "")
	}
	return c, nil
}

// emptyTree is the tree with nothing in it, as a repository names it that names a tree like this one. Git knows it
// without having it.
func emptyTree(like string) string {
	const header = "tree 0\x00"
	if len(like) == sha256.Size*2 {
		sum := sha256.Sum256([]byte(header))
		return hex.EncodeToString(sum[:])
	}
	sum := sha1.Sum([]byte(header)) // git's name for it, not a matter of secrecy
	return hex.EncodeToString(sum[:])
}
