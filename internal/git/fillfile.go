package git

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/proc"
)

// Limits of what [Workspace.Refill] writes itself. git is faster with more.
const (
	maxRefill     = 300     // files
	maxRefillFile = 4 << 20 // bytes of one file
)

// Refill is [Workspace.Fill] for a workspace that holds tree from since the last Fill or Refill. The caller has
// checked that no file changed since. It writes the files in which the two trees differ, and the index, and returns
// their paths.
//
// done is false if git would do more than copy bytes, or if a path is blocked. Then call Fill: it works even if some
// files are already written.
func (w *Workspace) Refill(ctx context.Context, base, from, to string) (changed []string, done bool) {
	if !isHash(base) || w.repo.reftable() || w.index.tree != from {
		return nil, false
	}
	list, ok := w.repo.diffTrees(from, to)
	if !ok || len(list) > maxRefill {
		return nil, false
	}
	ix, err := w.readIndex(len(to) / 2)
	if err != nil || !w.copiesBytes(ctx, ix, list) {
		return nil, false
	}
	root, err := os.OpenRoot(w.Dir) // a link in the way leads nowhere
	if err != nil {
		return nil, false
	}
	defer root.Close()
	if len(list) > 0 {
		if err := w.rewrite(root, ix, list, len(to)/2); err != nil {
			return nil, false
		}
	}
	w.index = stamp{tree: to}
	for _, e := range list {
		changed = append(changed, e.Path)
	}
	return changed, w.headTo(ctx, base) == nil
}

// copiesBytes reports whether git would write the files of a change exactly as they are stored. Attributes and settings
// can change that. Links, submodules and entries with flags are left to git.
func (w *Workspace) copiesBytes(ctx context.Context, ix *indexFile, list []Entry) bool {
	for _, e := range ix.entries {
		if e.flags&(flagAssumed|flagExtended|flagStage) != 0 || path.Base(e.path) == ".gitattributes" {
			return false
		}
	}
	for _, e := range list {
		plain := func(mode string) bool { return mode == modeNone || mode == "100644" || mode == "100755" }
		if !plain(e.OldMode) || !plain(e.NewMode) || path.Base(e.Path) == ".gitattributes" || !harmless(e.Path) {
			return false
		}
	}
	return !exists(filepath.Join(w.repo.Common, "info", "attributes")) && w.repo.plainCheckout(ctx)
}

// harmless reports whether a path may be written. git refuses the others as well.
func harmless(name string) bool {
	if !filepath.IsLocal(filepath.FromSlash(name)) || strings.ContainsAny(name, "\\:") {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		odd := part == "" || part == "." || strings.Contains(strings.ToLower(part), ".git") || strings.Contains(part, "~")
		if odd && !slices.Contains([]string{".gitignore", ".github", ".gitkeep", ".gitlab-ci.yml"}, part) {
			return false
		}
	}
	return true
}

// plainCheckout reports whether the settings and attributes of user and system leave files as they are stored. It
// checks them once.
func (r *Repo) plainCheckout(ctx context.Context) bool {
	r.objects.checkoutOnce.Do(func() {
		if runtime.GOOS != "linux" { // on other systems the place of the system's attributes is unknown
			return
		}
		_, err := r.Run(ctx, "config", "--get-regexp",
			`^core\.(autocrlf|eol|attributesfile|symlinks|ignorecase|precomposeunicode|sparsecheckout|sparsecheckoutcone|sharedrepository|checkstat|trustctime)$`)
		if exitStatus(err) != 1 {
			return // one of them is set
		}
		files := []string{"/etc/gitattributes"}
		if dir := proc.Getenv(r.env, "XDG_CONFIG_HOME"); dir != "" {
			files = append(files, filepath.Join(dir, "git", "attributes"))
		}
		if home := proc.Getenv(r.env, "HOME"); home != "" {
			files = append(files, filepath.Join(home, ".config", "git", "attributes"))
		}
		if proc.Getenv(r.env, "GIT_ATTR_SOURCE") != "" || proc.Getenv(r.env, "GIT_ATTR_SYSTEM") != "" ||
			proc.Getenv(r.env, "GIT_ATTR_GLOBAL") != "" {
			return
		}
		r.objects.checkout = !slices.ContainsFunc(files, exists)
	})
	return r.objects.checkout
}

// errInTheWay reports that the workspace is not in the state that Refill needs.
var errInTheWay = errors.New("a file or folder is in its place")

// rewrite writes the files of a change and then the index, whose entries for them get the state of what was written.
func (w *Workspace) rewrite(root *os.Root, ix *indexFile, list []Entry, size int) error {
	lock := filepath.Join(w.GitDir, "index.lock")
	f, err := os.OpenFile(lock, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	became := false
	defer func() {
		f.Close()
		if !became {
			os.Remove(lock)
		}
	}()
	at := lists.Index(ix.entries, func(e indexLine) string { return e.path })
	gone := map[int]bool{}
	var added []indexLine
	for _, e := range list {
		i, there := at[e.Path]
		if there != (e.OldMode != modeNone) {
			return errInTheWay
		}
		if there {
			if err := root.Remove(filepath.FromSlash(e.Path)); err != nil {
				return err
			}
			gone[i] = true
		}
	}
	for _, e := range list {
		if e.NewMode == modeNone {
			for dir := path.Dir(e.Path); dir != "." && root.Remove(filepath.FromSlash(dir)) == nil; dir = path.Dir(dir) {
			}
			continue
		}
		line, err := w.put(root, e)
		if err != nil {
			return err
		}
		added = append(added, line)
	}
	entries := make([]indexLine, 0, len(ix.entries)+len(added))
	for i, e := range ix.entries {
		if !gone[i] {
			entries = append(entries, e)
		}
	}
	entries = append(entries, added...)
	slices.SortFunc(entries, func(a, b indexLine) int { return strings.Compare(a.path, b.path) })
	data, err := writeIndex(entries, hashTrees(entries, "", size), size)
	if err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	err = os.Rename(lock, filepath.Join(w.GitDir, "index"))
	became = err == nil
	return err
}

// put writes one file of a change to a free path.
func (w *Workspace) put(root *os.Root, e Entry) (indexLine, error) {
	data, _, err := w.repo.loose(e.newBlob, "blob", maxRefillFile)
	if err != nil {
		return indexLine{}, err
	}
	if data == nil {
		return indexLine{}, errInTheWay
	}
	name := filepath.FromSlash(e.Path)
	if dir := filepath.Dir(name); dir != "." {
		if err := root.MkdirAll(dir, 0o777); err != nil {
			return indexLine{}, err
		}
	}
	mode := fs.FileMode(0o666)
	if e.NewMode == "100755" {
		mode = 0o777
	}
	f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return indexLine{}, err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Close())
	if err != nil {
		return indexLine{}, err
	}
	is, ok := statFile(filepath.Join(w.Dir, name))
	if !ok || is.size != uint32(len(data)) || fmt.Sprintf("%06o", is.mode) != e.NewMode {
		return indexLine{}, errInTheWay
	}
	return indexLine{stat: is, hash: e.newBlob, flags: uint16(min(len(e.Path), 0xfff)), path: e.Path}, nil
}

// writeIndex returns an index of version 2 with a tree cache, nil for none. size is the length of an object's name in
// bytes.
func writeIndex(entries []indexLine, cache *cachedTree, size int) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(len(entries)*(entryStat+size+40) + indexHead + size)
	b.WriteString("DIRC")
	word := func(values ...uint32) {
		for _, v := range values {
			b.Write(binary.BigEndian.AppendUint32(b.AvailableBuffer(), v))
		}
	}
	word(2, uint32(len(entries)))
	for _, e := range entries {
		start := b.Len()
		s := e.stat
		word(s.changeSec, s.changeNano, s.sec, s.nano, s.dev, s.inode, s.mode, s.uid, s.gid, s.size)
		name, err := hex.DecodeString(e.hash)
		if err != nil || len(name) != size {
			return nil, ErrIndexFormat
		}
		b.Write(name)
		b.Write(binary.BigEndian.AppendUint16(b.AvailableBuffer(), e.flags))
		b.WriteString(e.path)
		b.Write(make([]byte, 8-(b.Len()-start)%8))
	}
	if cache != nil {
		body := cache.append(nil, "")
		b.WriteString("TREE")
		word(uint32(len(body)))
		b.Write(body)
	}
	sum := hashOfSize(size)
	if sum == nil {
		return nil, ErrIndexFormat
	}
	sum.Write(b.Bytes())
	return sum.Sum(b.Bytes()), nil
}

// headTo brings HEAD to commit base, off any branch.
func (w *Workspace) headTo(ctx context.Context, base string) error {
	if head, err := w.HeadRef(); err == nil && head == base {
		return nil
	}
	if w.repo.reftable() || !isHash(base) {
		return w.Detach(ctx, base)
	}
	head := filepath.Join(w.GitDir, "HEAD") // only the caller writes to it
	if err := os.WriteFile(head+".new", []byte(base+"\n"), 0o644); err != nil {
		return fmt.Errorf("move HEAD of %s: %w", w.Dir, err)
	}
	return failed(os.Rename(head+".new", head), "move HEAD of %s", w.Dir)
}
