package git

import (
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// stamp is the checksum of an index and its tree.
type stamp struct {
	tree string
	sum  [sha256.Size]byte
}

// knowIndex records the tree of the index. Only the caller changes the index meanwhile.
func (w *Workspace) knowIndex(tree string) {
	w.index = stamp{}
	if sum, ok := w.indexSum(); ok {
		w.index = stamp{tree, sum}
	}
}

// indexIs reports whether the index has not changed, byte for byte, since it was known to have tree. If it returns
// false, the index may still have this tree.
func (w *Workspace) indexIs(tree string) bool {
	if w.index.tree != tree || tree == "" {
		return false
	}
	sum, ok := w.indexSum()
	return ok && sum == w.index.sum
}

// indexSum returns a checksum of the index.
func (w *Workspace) indexSum() (sum [sha256.Size]byte, ok bool) {
	if shared, _ := fs.Glob(os.DirFS(w.GitDir), "sharedindex.*"); len(shared) > 0 {
		return sum, false // a part of it is in another file
	}
	data, err := os.ReadFile(filepath.Join(w.GitDir, "index"))
	return sha256.Sum256(data), err == nil
}

// Unhide removes the marks of [Repo.Hidden] and returns the files that had one. It leaves skip-worktree alone in a
// sparse checkout, which needs it.
func (w *Workspace) Unhide(ctx context.Context) ([]string, error) {
	assumed, skipped, err := hidden(ctx, w.GitDir, w.Run)
	if err != nil {
		return nil, err
	}
	if len(skipped) > 0 {
		if v, err := w.Run(ctx, "config", "--type=bool", "--get", "core.sparseCheckout"); err == nil && v == "true" {
			skipped = nil
		}
	}
	for flag, paths := range map[string][]string{"--no-assume-unchanged": assumed, "--no-skip-worktree": skipped} {
		for part := range slices.Chunk(paths, 200) {
			if _, err := w.Run(ctx, append([]string{"update-index", flag, "--"}, part...)...); err != nil {
				return nil, fmt.Errorf("stop hiding files from git: %w", err)
			}
		}
	}
	return slices.Concat(assumed, skipped), nil
}

// Hidden lists the files of the checkout that git was told to ignore: those marked assume-unchanged, and those marked
// skip-worktree.
func (r *Repo) Hidden(ctx context.Context) (assumed, skipped []string, err error) {
	return hidden(ctx, r.GitDir, r.Run)
}

func hidden(ctx context.Context, gitDir string, run func(context.Context, ...string) (string, error)) (assumed,
	skipped []string, err error) {
	data, err := os.ReadFile(filepath.Join(gitDir, "index"))
	if errors.Is(err, fs.ErrNotExist) || err == nil && unmarked(data) {
		return nil, nil, nil
	}
	out, err := run(ctx, "ls-files", "-v", "-z")
	if err != nil {
		return nil, nil, fmt.Errorf("list the files that are hidden from git: %w", err)
	}
	for entry := range strings.SplitSeq(out, "\x00") {
		if len(entry) < 3 {
			continue
		}
		switch tag, path := entry[0], entry[2:]; {
		case tag == 'S':
			skipped = append(skipped, path)
		case tag == 's':
			skipped = append(skipped, path)
			assumed = append(assumed, path)
		case tag >= 'a' && tag <= 'z':
			assumed = append(assumed, path)
		}
	}
	return assumed, skipped, nil
}

// unmarked reports whether it is certain that an index hides no file.
func unmarked(data []byte) bool {
	ix, err := parseIndex(data, 0)
	return err == nil && !slices.ContainsFunc(ix.entries,
		func(e indexLine) bool { return e.flags&(flagAssumed|flagExtended) != 0 })
}

// IndexEntry is one file of an index.
type IndexEntry struct {
	Path string // slashes
	Mode uint32 // as in a tree: 0100644, 0100755, 0120000, 0160000
	Size uint32 // size modulo 2^32 in the file system when git wrote the file
}

// ErrIndexFormat reports that [Workspace.Index] does not support the format of an index.
var ErrIndexFormat = errors.New("unknown index format")

// Index lists the files of the workspace's index in its order. It reads versions 2 and 3 without a split index, as
// [Workspace.Fill] writes them.
func (w *Workspace) Index() ([]IndexEntry, error) {
	ix, err := w.readIndex(len(w.index.tree) / 2)
	if err != nil {
		return nil, fmt.Errorf("read the index of %s: %w", w.Dir, err)
	}
	out := make([]IndexEntry, len(ix.entries))
	for i, e := range ix.entries {
		out[i] = IndexEntry{Path: e.path, Mode: e.stat.mode, Size: e.stat.size}
	}
	return out, nil
}

// Fill brings the tracked files and the index to tree, and HEAD to commit base, off any branch. Untracked files stay.
func (w *Workspace) Fill(ctx context.Context, base, tree string) error {
	if err := w.force(ctx, "-c", "index.version=2", "-c", "core.splitIndex=false", "-c", "core.untrackedCache=false", "-c",
		"core.fsmonitor=false", "-c", "core.trustctime=true", "-c", noHooks, "read-tree", "--reset", "-u", tree); err != nil {
		return fmt.Errorf("check out tree %s: %w", tree, err)
	}
	if err := w.fillSparse(ctx, base, tree); err != nil {
		return err
	}
	w.knowIndex(tree)
	return w.headTo(ctx, base)
}

// fillSparse writes the changed files outside of a sparse checkout, so that they are checked too.
func (w *Workspace) fillSparse(ctx context.Context, base, tree string) error {
	if !exists(filepath.Join(w.GitDir, sparseFile)) {
		return nil
	}
	entries, err := w.repo.Compare(base, tree).Entries(ctx)
	if err != nil {
		return err
	}
	var names strings.Builder
	for _, e := range entries {
		if e.Status != 'D' && e.NewMode != modeGitlink {
			names.WriteString(e.Path + "\x00")
		}
	}
	for _, args := range [][]string{{"update-index", "--no-skip-worktree"}, {"checkout-index", "--force", "--index"}} {
		if _, err := call(ctx, w.Dir, w.env, strings.NewReader(names.String()), append(args, "-z", "--stdin")...); err != nil {
			return fmt.Errorf("write the changes of tree %s: %w", tree, err)
		}
	}
	return nil
}

// Filled reports whether the index is as [Workspace.Fill] left it with tree. Then it also brings HEAD back to base.
func (w *Workspace) Filled(ctx context.Context, base, tree string) bool {
	return w.indexIs(tree) && w.headTo(ctx, base) == nil
}

// Ignored returns those of paths that git ignores in the workspace. It never includes paths in the index; it does
// include paths below a symbolic link.
func (w *Workspace) Ignored(ctx context.Context, paths []string) (map[string]bool, error) {
	ignored := map[string]bool{}
	var ask []string
	for _, p := range paths {
		if w.Blocked(p) != "" {
			ignored[p] = true // git refuses to look there
		} else {
			ask = append(ask, p)
		}
	}
	more, err := checkIgnore(ctx, w.Dir, w.env, ask)
	for _, p := range more {
		ignored[p] = true
	}
	return ignored, err
}

// Ignored returns those of paths that git ignores in the user's checkout.
func (r *Repo) Ignored(ctx context.Context, paths []string) ([]string, error) {
	return checkIgnore(ctx, r.Root, r.env, paths)
}

func checkIgnore(ctx context.Context, dir string, env, paths []string) ([]string, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	stdin := strings.NewReader(strings.Join(paths, "\x00") + "\x00")
	out, err := call(ctx, dir, env, stdin, "check-ignore", "-z", "--stdin")
	if exitStatus(err) == 1 {
		return nil, nil // none of them
	}
	return strings.FieldsFunc(string(out), func(c rune) bool { return c == 0 }), err
}

// Blocked returns the first folder on the way to path that is not a folder, usually a link, or "".
func (w *Workspace) Blocked(path string) string {
	for i, c := range path {
		if c != '/' {
			continue
		}
		info, err := os.Lstat(filepath.Join(w.Dir, filepath.FromSlash(path[:i])))
		if err != nil {
			return "" // the path does not exist, so nothing blocks it
		}
		if !info.IsDir() {
			return path[:i]
		}
	}
	return ""
}

// dropEmbedded turns repositories inside the workspace, as scaffolding tools create them, into plain folders. Otherwise
// git would record only a gitlink, or refuse to commit. Submodules, whose .git is a file, and ignored folders stay. It
// reports whether there was one.
func (w *Workspace) dropEmbedded(ctx context.Context) (bool, error) {
	found := false
	err := filepath.WalkDir(w.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() || path == w.Dir {
			return err
		}
		git := filepath.Join(path, ".git")
		if info, err := os.Lstat(git); err != nil || !info.IsDir() {
			return nil
		}
		if _, err := w.Run(ctx, "check-ignore", "--quiet", "--", path); err == nil {
			return filepath.SkipDir
		}
		found = true
		if err := os.RemoveAll(git); err != nil {
			return err
		}
		// If the index has it already, it has a gitlink; the files replace that.
		_, err = w.Run(ctx, "rm", "--quiet", "--cached", "--force", "--ignore-unmatch", "--", path)
		return err
	})
	return found, err
}

// The parts of an index, by git's own description of the format.
const (
	indexHead    = 12     // "DIRC", version, number of entries
	entryStat    = 40     // the recorded stat data of a file
	flagAssumed  = 0x8000 // assumed not to change
	flagExtended = 0x4000 // two more bytes of flags follow; files that count as not checked out have them
	flagStage    = 0x3000 // one side of a conflict
)

// indexFile is an index that is in one file and has version 2 or 3.
type indexFile struct {
	entries []indexLine
	root    *cachedTree // nil if the index has none
}

type indexLine struct {
	stat  fileStat
	hash  string
	flags uint16
	path  string
}

// fileStat is the stat data of a file that an index records.
type fileStat struct {
	changeSec, changeNano, sec, nano, dev, inode, mode, uid, gid, size uint32
}

// cachedTree is an entry of the index's tree cache, for one folder.
type cachedTree struct {
	hash  string // "" if invalid
	count int    // entries of the index in and below the folder; -1 if invalid
	below map[string]*cachedTree
}

// parseIndex parses an index. size is the length in bytes of an object's name; with 0 the checksum at the end decides
// and is verified. It returns [ErrIndexFormat] for other formats: split indexes, and those with required extensions.
func parseIndex(data []byte, size int) (*indexFile, error) {
	if len(data) < indexHead || string(data[:4]) != "DIRC" {
		return nil, ErrIndexFormat
	}
	if size == 0 {
		size = checksum(data)
	}
	version, count := binary.BigEndian.Uint32(data[4:]), binary.BigEndian.Uint32(data[8:])
	if version != 2 && version != 3 {
		return nil, fmt.Errorf("version %d: %w", version, ErrIndexFormat)
	}
	if size == 0 || len(data) < indexHead+size {
		return nil, fmt.Errorf("it ends early: %w", ErrIndexFormat)
	}
	data = data[:len(data)-size]
	ix := &indexFile{entries: make([]indexLine, 0, min(count, uint32(len(data)/entryStat)))}
	text := string(data) // all paths are substrings of it
	at := indexHead
	for range count {
		path := at + entryStat + size + 2
		if path+2 > len(data) {
			return nil, fmt.Errorf("it ends early: %w", ErrIndexFormat)
		}
		field := func(n int) uint32 { return binary.BigEndian.Uint32(data[at+4*n:]) }
		e := indexLine{
			stat:  fileStat{field(0), field(1), field(2), field(3), field(4), field(5), field(6), field(7), field(8), field(9)},
			hash:  hex.EncodeToString(data[at+entryStat : at+entryStat+size]),
			flags: binary.BigEndian.Uint16(data[path-2:]),
		}
		if e.flags&flagExtended != 0 {
			path += 2
		}
		length := bytes.IndexByte(data[path:], 0)
		if length < 0 {
			return nil, fmt.Errorf("it ends early: %w", ErrIndexFormat)
		}
		e.path = text[path : path+length]
		ix.entries = append(ix.entries, e)
		at += (path + length - at + 8) &^ 7 // one to eight bytes of zero
	}
	for at+8 <= len(data) {
		name, length := text[at:at+4], int(binary.BigEndian.Uint32(data[at+4:]))
		at += 8
		switch {
		case length < 0 || length > len(data)-at:
			return nil, fmt.Errorf("it ends early: %w", ErrIndexFormat)
		case name[0] < 'A' || name[0] > 'Z': // a part of it in another file, folders instead of files, or something new
			return nil, fmt.Errorf("it has the unsupported part %q: %w", name, ErrIndexFormat)
		case name == "TREE":
			ix.root, _ = cachedTrees(data[at:at+length], size)
		}
		at += length
	}
	if at != len(data) {
		return nil, fmt.Errorf("it ends at the wrong place: %w", ErrIndexFormat)
	}
	return ix, nil
}

// readIndex parses the index of the workspace.
func (w *Workspace) readIndex(size int) (*indexFile, error) {
	data, err := os.ReadFile(filepath.Join(w.GitDir, "index"))
	if err != nil {
		return nil, err
	}
	return parseIndex(data, size)
}

// checksum returns the length of the valid checksum at the end of data, 0 if there is none.
func checksum(data []byte) int {
	for _, h := range []hash.Hash{sha1.New(), sha256.New()} {
		if end := len(data) - h.Size(); end >= indexHead {
			h.Write(data[:end])
			if bytes.Equal(h.Sum(nil), data[end:]) {
				return h.Size()
			}
		}
	}
	return 0
}

// cachedTrees parses an entry of the index's tree cache. Each entry is a name, a zero, the number of index entries, a
// space, the number of subtrees and a line feed. Then follow the object's name, unless the number of entries is
// negative, and the subtrees. It returns the remaining data, and no tree if data is invalid.
func cachedTrees(data []byte, size int) (*cachedTree, []byte) {
	_, data, named := bytes.Cut(data, []byte{0})
	line, data, ended := bytes.Cut(data, []byte{'\n'})
	first, second, two := bytes.Cut(line, []byte{' '})
	count, err := strconv.Atoi(string(first))
	folders, serr := strconv.Atoi(string(second))
	if !named || !ended || !two || err != nil || serr != nil || folders < 0 {
		return nil, nil
	}
	t := &cachedTree{count: count}
	if count >= 0 {
		if len(data) < size {
			return nil, nil
		}
		t.hash, data = hex.EncodeToString(data[:size]), data[size:]
	}
	for range folders {
		end := bytes.IndexByte(data, 0)
		if end < 0 {
			return nil, nil
		}
		name := string(data[:end])
		var sub *cachedTree
		if sub, data = cachedTrees(data, size); sub == nil {
			return nil, nil
		}
		if t.below == nil {
			t.below = map[string]*cachedTree{}
		}
		t.below[name] = sub
	}
	return t, data
}
