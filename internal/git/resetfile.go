package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// resetFile is [Workspace.Reset] without a process; see [Workspace.moveTo] for its limits. done reports whether it
// did the reset, untracked whether untracked files may remain.
func (w *Workspace) resetFile(ctx context.Context, branch, base string) (done, untracked bool) {
	if !isHash(base) || w.repo.reftable() || !w.repo.plainFiles(ctx) || w.repo.objects.unlogged {
		return false, false
	}
	head, err := w.HeadRef()
	if err != nil {
		return false, false
	}
	tree, err := w.repo.TreeOf(ctx, base)
	if err != nil {
		return false, false
	}
	moved, untracked := w.moveTo(ctx, tree)
	if !moved {
		return false, false
	}
	was := head
	if !isHash(was) {
		if was, err = w.Head(ctx); err != nil || !isHash(was) {
			return false, false
		}
	}
	if !w.repo.moveFile(ctx, branch, base, "branch: Reset to "+base) &&
		!w.repo.createFile(branch, base, "branch: Created from "+base) {
		return false, false
	}
	return w.switchFile(head, was, branch, base), untracked
}

// moveTo brings files and index to tree without a process. It does so only if each file is as the index records it,
// and if git would only copy bytes. done reports whether files and index are those of tree, untracked whether the
// workspace contains anything else.
func (w *Workspace) moveTo(ctx context.Context, tree string) (done, untracked bool) {
	ix, untracked := w.asIndexed()
	if ix == nil || len(ix.entries) == 0 {
		return false, false
	}
	size := len(tree) / 2
	now := hashTrees(ix.entries, "", size)
	if now == nil {
		return false, false
	}
	if now.hash == tree && ix.root != nil && bytes.Equal(ix.root.append(nil, ""), now.append(nil, "")) {
		return true, untracked
	}
	list, ok := w.repo.diffTrees(now.hash, tree) // empty if only the tree cache is wrong
	if !ok || len(list) > maxRefill || !w.copiesBytes(ctx, ix, list) {
		return false, false
	}
	root, err := os.OpenRoot(w.Dir) // a dangling link is in the way
	if err != nil {
		return false, false
	}
	defer root.Close()
	return w.rewrite(root, ix, list, size) == nil, untracked
}

// asIndexed returns the index if it is certain that no file changed since git recorded it, else nil. It also reports
// whether the workspace contains anything else.
func (w *Workspace) asIndexed() (_ *indexFile, untracked bool) {
	info, err := os.Stat(filepath.Join(w.GitDir, "index"))
	if err != nil {
		return nil, false
	}
	ix, err := w.readIndex(0)
	if err != nil {
		return nil, false
	}
	// Files that are as new as the index may have changed since without a different stat, so they are read.
	young, read := info.ModTime(), 0
	folder := make(map[string]bool, len(ix.entries)) // for each path, whether it is a folder
	for _, e := range ix.entries {
		is, ok := statFile(filepath.Join(w.Dir, filepath.FromSlash(e.path)))
		if !ok || e.flags&(flagAssumed|flagExtended|flagStage) != 0 || is != e.stat {
			return nil, false
		}
		if !time.Unix(int64(is.sec), int64(is.nano)).Before(young) ||
			!time.Unix(int64(is.changeSec), int64(is.changeNano)).Before(young) {
			if read++; read > maxRefill || !w.holdsBlob(e) {
				return nil, false
			}
		}
		folder[e.path] = false
		for dir := path.Dir(e.path); dir != "." && !folder[dir]; dir = path.Dir(dir) {
			folder[dir] = true
		}
	}
	same, untracked := w.holds("", folder)
	if !same {
		return nil, false
	}
	return ix, untracked
}

// holdsBlob reports whether a plain file holds exactly the bytes of its entry.
func (w *Workspace) holdsBlob(e indexLine) bool {
	if e.hash == "" || e.stat.mode&0o170000 != 0o100000 || e.stat.size > maxRefillFile {
		return false
	}
	data, err := os.ReadFile(filepath.Join(w.Dir, filepath.FromSlash(e.path)))
	return err == nil && BlobName(data, len(e.hash)) == e.hash
}

// holds reports whether the folders of the index are real folders in the workspace, and whether these contain unknown
// files. A link instead of a folder may lead to the same files.
func (w *Workspace) holds(dir string, folder map[string]bool) (same, more bool) {
	entries, err := os.ReadDir(filepath.Join(w.Dir, filepath.FromSlash(dir)))
	if err != nil {
		return false, false
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		if name == ".git" {
			continue
		}
		is, known := folder[name]
		switch {
		case !known:
			more = true
		case is != e.IsDir():
			return false, false
		case is:
			same, below := w.holds(name, folder)
			if !same {
				return false, false
			}
			more = more || below
		}
	}
	return true, more
}

// createFile makes a branch as git does: under the lock of the branch, with a reflog. It returns false if git has to do
// it: the branch, or one with a conflicting name, exists.
func (r *Repo) createFile(branch, commit, message string) bool {
	ref := "refs/heads/" + branch
	file := filepath.Join(r.Common, filepath.FromSlash(ref))
	packed, err := r.packed("refs/heads/")
	if err != nil || exists(file) {
		return false
	}
	for name := range packed {
		if name == branch || strings.HasPrefix(name, branch+"/") || strings.HasPrefix(branch, name+"/") {
			return false
		}
	}
	log := filepath.Join(r.Common, "logs", filepath.FromSlash(ref))
	for _, dir := range []string{filepath.Dir(file), filepath.Dir(log)} {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return false
		}
	}
	return underLock(file, commit, func() error {
		if exists(file) {
			return fs.ErrExist
		}
		return appendTo(log, os.O_CREATE, logLine(strings.Repeat("0", len(commit)), commit, message))
	})
}

// switchFile moves HEAD to a branch at commit. head is the present target of HEAD, and was the present commit.
func (w *Workspace) switchFile(head, was, branch, commit string) bool {
	from := strings.TrimPrefix(head, "refs/heads/")
	file := filepath.Join(w.GitDir, "HEAD")
	return underLock(file, "ref: refs/heads/"+branch, func() error {
		moved := fmt.Sprintf("checkout: moving from %s to %s", from, branch)
		return appendTo(w.headLog(), os.O_CREATE, logLine(was, commit, moved))
	})
}

// underLock replaces a file with a line of text, under git's lock for it, after do has succeeded. It reports whether it
// did; otherwise the file is unchanged.
func underLock(file, text string, do func() error) bool {
	lock, err := os.OpenFile(file+".lock", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return false // git waits for another process's lock
	}
	_, err = lock.WriteString(text + "\n")
	err = errors.Join(err, lock.Close())
	if err == nil {
		err = do()
	}
	if err == nil {
		err = os.Rename(file+".lock", file)
	}
	if err != nil {
		os.Remove(file + ".lock")
		return false
	}
	return true
}

func logLine(was, is, message string) string {
	return fmt.Sprintf("%s %s %s <%s> %d +0000\t%s\n", was, is, ourName, ourEmail, time.Now().Unix(), message)
}

// indexTree stores the tree of the index as git write-tree does, if that needs no process. It trusts that these objects
// are stored: the trees in the index's cache, and all that commit base contains. All other objects must be loose;
// otherwise it returns false and git has to do it.
func (w *Workspace) indexTree(ctx context.Context, base string) (string, bool) {
	ix, err := w.readIndex(0)
	if err != nil || ix.root == nil || !isHash(base) || !w.repo.plainFiles(ctx) {
		return "", false
	}
	for _, e := range ix.entries {
		if e.flags&(flagExtended|flagStage) != 0 {
			return "", false
		}
	}
	below, err := w.repo.TreeOf(ctx, base)
	if err != nil {
		return "", false
	}
	return w.repo.treeOf(ctx, ix.entries, "", ix.root, below)
}

// treeOf stores the tree of the folder of entries, whose paths all begin with prefix. was is the tree of that folder in
// a complete commit, "" for none.
func (r *Repo) treeOf(ctx context.Context, entries []indexLine, prefix string, cached *cachedTree, was string) (string,
	bool) {
	if cached != nil && cached.count == len(entries) && cached.hash != "" {
		return cached.hash, true
	}
	stored, ok := r.readTree(was)
	if !ok {
		stored = nil // packed: check each object
	}
	var lines []treeLine
	for name, part := range children(entries, prefix) {
		if part[0].path == prefix+name {
			line := part[0].line(name)
			if line.mode != "100644" && line.mode != "100755" && line.mode != "120000" || stored[name].hash != line.hash &&
				!r.isLoose(line.hash) {
				return "", false
			}
			lines = append(lines, line)
			continue
		}
		var sub *cachedTree
		if cached != nil {
			sub = cached.below[name]
		}
		hash, ok := r.treeOf(ctx, part, prefix+name+"/", sub, treeHash(stored[name]))
		if !ok {
			return "", false
		}
		lines = append(lines, treeLine{treeEntry{modeTree, hash}, name})
	}
	tree, err := r.writeTree(ctx, lines)
	return tree, err == nil
}

func (r *Repo) isLoose(hash string) bool {
	info, err := os.Lstat(filepath.Join(r.Common, "objects", hash[:2], hash[2:]))
	return err == nil && info.Mode().IsRegular() && info.Size() > 0
}

// unlinkFolders removes symbolic links in place of folders of the index. git follows such a link and treats the files
// behind it as tracked.
func (w *Workspace) unlinkFolders() error {
	ix, err := w.readIndex(0)
	if err != nil {
		return nil // a new workspace has none, and git reads more than this does
	}
	looked := map[string]bool{".": true}
	for _, e := range ix.entries {
		for dir := path.Dir(e.path); !looked[dir]; dir = path.Dir(dir) {
			looked[dir] = true
			at := filepath.Join(w.Dir, filepath.FromSlash(dir))
			if info, err := os.Lstat(at); err != nil || info.Mode()&fs.ModeSymlink == 0 {
				continue
			}
			if way := w.Blocked(dir); way != "" {
				continue // it is below another link, which is removed
			}
			if err := os.Remove(at); err != nil {
				return err
			}
		}
	}
	return nil
}
