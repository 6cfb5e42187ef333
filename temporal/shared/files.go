package shared

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/runplan/runplan/internal/atomicfile"
	"github.com/runplan/runplan/internal/git"
)

// tree writes files and returns their tree.
func (d *SharedRepo) tree(ctx context.Context, files map[string][]byte) (string, error) {
	blobs := map[string]string{}
	for name, data := range files {
		blob, err := d.Repo.WriteBlob(ctx, data)
		if err != nil {
			return "", err
		}
		blobs[name] = blob
	}
	return d.Repo.WriteTree(ctx, blobs)
}

// pack makes a tree of files and folders under .runplan.
func (d *SharedRepo) pack(ctx context.Context, files []string) (string, error) {
	blobs := map[string]string{}
	for _, f := range files {
		err := filepath.WalkDir(filepath.Join(d.Layout.Root, f), func(path string, e os.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return err
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			blobs[d.Layout.Rel(path)], err = d.Repo.WriteBlob(ctx, data)
			return err
		})
		if err != nil {
			return "", fmt.Errorf("keep the logs of a command: %w", err)
		}
	}
	return d.Repo.WriteTree(ctx, blobs)
}

// unpack writes the files of what others came to, once each, in the order of their events.
func (d *SharedRepo) unpack(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	out, err := d.Repo.Run(ctx, "for-each-ref", "--format=%(refname) %(objectname)", d.prefix()+"done/")
	if err != nil {
		return err
	}
	var fresh []kept
	for line := range strings.Lines(out) {
		ref, commit, _ := strings.Cut(strings.TrimSpace(line), " ")
		seq, err := strconv.Atoi(path.Base(ref))
		if err != nil {
			continue
		}
		d.reached(kept{seq, commit})
		if _, known := d.unpacked.Load(commit); !known {
			fresh = append(fresh, kept{seq, commit})
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	slices.SortFunc(fresh, func(a, b kept) int { return a.seq - b.seq })
	objects := d.Repo.Objects(ctx)
	defer objects.Close()
	for _, e := range fresh {
		for _, dir := range []string{"logs/" + d.Run, "reports/" + d.Run} { // what is not of this run's is not written
			if err := d.unpackDir(objects, e.commit+":"+dir, dir); err != nil {
				return fmt.Errorf("read the logs of event %d: %w", e.seq, err)
			}
		}
		d.unpacked.Store(e.commit, true)
	}
	return nil
}

// unpackDir writes the plain files of a tree, which need not be there, below a folder of .runplan.
func (d *SharedRepo) unpackDir(objects *git.Objects, tree, dir string) error {
	got, err := objects.Read([]string{tree})
	if err != nil || got[0].Kind != "tree" {
		return err
	}
	entries, err := git.ParseTree(got[0].Data, got[0].Hash)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := dir + "/" + e.Name
		if !filepath.IsLocal(filepath.FromSlash(e.Name)) {
			continue
		}
		if e.Folder() {
			if err := d.unpackDir(objects, e.Hash, name); err != nil {
				return err
			}
		}
		if !e.File() {
			continue
		}
		got, err := objects.Read([]string{e.Hash})
		if err != nil {
			return err
		}
		if got[0].Data == nil && got[0].Size > 0 {
			continue // too large to be read whole: it stays in git
		}
		to := filepath.Join(d.Layout.Root, filepath.FromSlash(name))
		err = os.MkdirAll(filepath.Dir(to), 0o755)
		if err == nil {
			err = atomicfile.WriteLoose(to, got[0].Data, 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
