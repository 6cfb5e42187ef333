package git

import (
	"context"
	"strconv"
	"strings"
)

// maxTree limits the bytes of a tree object that is read without git.
const maxTree = 4 << 20

// These modes are not files of the repository itself.
const (
	modeTree    = "040000"
	modeGitlink = "160000"
	modeNone    = "000000"
)

type treeEntry struct{ mode, hash string }

// compare lists the differences between tree and commit base, if that needs no process.
func (r *Repo) compare(ctx context.Context, base, tree string) ([]Entry, bool) {
	if !isHash(base) || !isHash(tree) {
		return nil, false
	}
	below, err := r.TreeOf(ctx, base)
	if err != nil {
		return nil, false
	}
	return r.diffTrees(below, tree)
}

// diffTrees compares two trees like diff-index, as far as it can without git: it reads loose trees and skips unchanged
// ones. It returns false if that is not enough, and git has to be asked. That includes changed submodules, because a
// setting decides how they count.
func (r *Repo) diffTrees(base, target string) ([]Entry, bool) {
	var list []Entry
	none := strings.Repeat("0", len(target))
	var walk func(dir, a, b string) bool
	add := func(path string, a, b treeEntry) bool {
		e := Entry{Path: path, Status: 'M', OldMode: a.mode, NewMode: b.mode, oldBlob: a.hash, newBlob: b.hash}
		switch {
		case a.mode == modeGitlink || b.mode == modeGitlink:
			return false
		case a.mode == "":
			e.Status, e.OldMode, e.oldBlob = 'A', modeNone, none
		case b.mode == "":
			e.Status, e.NewMode, e.newBlob = 'D', modeNone, none
		case a.mode[:2] != b.mode[:2]:
			e.Status = 'T'
		}
		list = append(list, e)
		return true
	}
	side := func(path string, a, b treeEntry) bool { // at most one of them is a tree
		if a.mode == modeTree || b.mode == modeTree {
			return walk(path+"/", treeHash(a), treeHash(b))
		}
		return add(path, a, b)
	}
	walk = func(dir, a, b string) bool {
		if a == b {
			return true
		}
		olds, ok := r.readTree(a)
		if !ok {
			return false
		}
		news, ok := r.readTree(b)
		if !ok {
			return false
		}
		for name, is := range news {
			was := olds[name]
			path := dir + name
			switch {
			case was == is:
			case (was.mode == modeTree) == (is.mode == modeTree) || was.mode == "":
				ok = side(path, was, is)
			default:
				ok = side(path, was, treeEntry{}) && side(path, treeEntry{}, is)
			}
			if !ok {
				return false
			}
		}
		for name, was := range olds {
			if _, still := news[name]; !still && !side(dir+name, was, treeEntry{}) {
				return false
			}
		}
		return true
	}
	ok := walk("", base, target)
	return list, ok
}

// treeHash returns "" for entries that are not trees.
func treeHash(e treeEntry) string {
	if e.mode == modeTree {
		return e.hash
	}
	return ""
}

// readTree reads a loose tree; hash "" is an empty tree.
func (r *Repo) readTree(hash string) (map[string]treeEntry, bool) {
	if hash == "" {
		return nil, true
	}
	data, _, err := r.loose(hash, "tree", maxTree)
	if err != nil || data == nil {
		return nil, false
	}
	list, err := ParseTree(data, hash)
	entries := make(map[string]treeEntry, len(list))
	for _, e := range list {
		mode := e.Mode
		switch {
		case len(mode) < 5:
			return nil, false
		case len(mode) == 5: // git omits the leading zero of a tree's mode
			mode = "0" + mode
		case strings.HasPrefix(mode, "100") && mode[3]&1 != 0: // old trees have permission bits that git ignores
			mode = "100755"
		case strings.HasPrefix(mode, "100"):
			mode = "100644"
		}
		entries[e.Name] = treeEntry{mode, e.Hash}
	}
	return entries, err == nil
}

// LineCount says how many lines a change adds to a file and removes from it.
type LineCount struct {
	Path           string
	Added, Removed int
	Binary         bool // git counts no lines
}

// LineCounts compares two trees or commits file by file. A renamed file counts as removed and added.
func (r *Repo) LineCounts(ctx context.Context, base, target string) ([]LineCount, error) {
	out, err := r.Run(ctx, "diff-tree", "-r", "-z", "--numstat", "--no-renames", "--no-ext-diff", "--no-textconv",
		base, target, "--")
	return ParseNumstat(out), err
}

// ParseNumstat parses the output of git with --numstat -z: "added TAB removed TAB path NUL".
func ParseNumstat(text string) []LineCount {
	var list []LineCount
	for row := range strings.SplitSeq(text, "\x00") {
		f := strings.SplitN(row, "\t", 3)
		if len(f) != 3 || f[2] == "" {
			continue
		}
		added, err := strconv.Atoi(strings.TrimSpace(f[0]))
		removed, _ := strconv.Atoi(f[1])
		list = append(list, LineCount{f[2], added, removed, err != nil})
	}
	return list
}
