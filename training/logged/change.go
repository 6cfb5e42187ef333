package logged

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"math"
	"slices"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/journal"
	"github.com/runplan/runplan/training"
	"github.com/runplan/runplan/training/edits"
)

// change is the change of an attempt, as edits.
type change struct {
	edits string
	files []training.File // both sides of each, sorted
}

// between converts the difference of two trees into edits.
func (b *build) between(ctx context.Context, base, tree string) (out change, err error) {
	c := b.Repo.Compare(base, tree)
	list, err := c.Entries(ctx)
	if err != nil {
		return out, err
	}
	for _, e := range list {
		if e.Link() || e.OldMode == "120000" || e.OldMode == "160000" || e.NewMode == "160000" {
			return out, notEdits
		}
		before, err := c.Before(ctx, e.Path)
		var after []byte
		if err == nil {
			after, err = c.After(ctx, e.Path)
		}
		old, now := e.Blobs()
		if err == nil {
			err = out.add(e.Path, before, after, old, now)
		}
		if errors.Is(err, git.ErrBlobTooLarge) {
			err = notEdits
		}
		if err != nil {
			return out, err
		}
	}
	return out, out.empty()
}

// add adds the edits of one file, and its versions. It writes no edits for a change of the mode alone.
func (c *change) add(path string, before, after []byte, blobs ...string) error {
	if before == nil || after == nil || !bytes.Equal(before, after) {
		a, err := edits.Of(path, before, after)
		if err != nil {
			return notEdits
		}
		if c.edits != "" {
			c.edits += "\n"
		}
		c.edits += a.Text
	}
	for _, blob := range blobs {
		if f := (training.File{Path: path, Blob: blob}); blob != "" && !slices.Contains(c.files, f) {
			c.files = append(c.files, f)
		}
	}
	return nil
}

func (c *change) empty() error {
	if c.edits == "" {
		return noChange
	}
	return nil
}

// made finds the change of an attempt: its tree if git still has it, else the stored patch. Git eventually removes
// unmerged objects.
func (b *build) made(ctx context.Context, ev runner.Event) (change, error) {
	if ev.Tree != "" && ev.Base != "" {
		found, err := b.objects.Read([]string{ev.Tree + "^{tree}", ev.Base + "^{commit}"})
		if err != nil {
			return change{}, err
		}
		if found[0].Hash != "" && found[1].Hash != "" {
			return b.between(ctx, ev.Base, ev.Tree)
		}
	}
	patch, err := b.Journal.Attached(ev, journal.PatchFile, math.MaxInt)
	switch {
	case err == nil:
		return b.patched(ev.Base, patch)
	case !errors.Is(err, fs.ErrNotExist):
		return change{}, err
	case ev.Files == 0:
		return change{}, noChange
	}
	return change{}, changeGone
}

// patched converts a stored patch into edits. A patch with redacted secrets does not apply any more.
func (b *build) patched(base string, patch []byte) (out change, err error) {
	files, err := parsePatch(patch)
	if err != nil {
		return out, changeGone
	}
	for _, f := range files {
		path := f.NewName
		if f.IsDelete {
			path = f.OldName
		}
		var before []byte
		blob := ""
		if !f.IsNew {
			if strings.ContainsAny(f.OldName, "\n") {
				return out, changeGone
			}
			found, err := b.objects.Read([]string{base + ":" + f.OldName})
			if err != nil {
				return out, err
			}
			if before, blob = found[0].Data, found[0].Hash; found[0].Kind != "blob" || before == nil {
				return out, changeGone
			}
		}
		after, err := applied(f, before)
		if err != nil {
			return out, changeGone
		}
		now := ""
		if after != nil {
			now = git.BlobName(after, len(base))
		}
		if err := out.add(path, before, after, blob, now); err != nil {
			return out, err
		}
	}
	return out, out.empty()
}

// parsePatch parses the output of git diff. It contains no renames, because runplan disables their detection.
func parsePatch(patch []byte) ([]*gitdiff.File, error) {
	files, _, err := gitdiff.Parse(bytes.NewReader(patch))
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if f.IsBinary || f.IsRename || f.IsCopy || f.NewName == "" && f.OldName == "" {
			return nil, edits.ErrNone
		}
	}
	slices.SortStableFunc(files, func(a, b *gitdiff.File) int {
		return strings.Compare(a.OldName+a.NewName, b.OldName+b.NewName)
	})
	return files, nil
}

// applied applies a part of a patch. It returns nil for a deleted file.
func applied(f *gitdiff.File, before []byte) ([]byte, error) {
	var out bytes.Buffer
	if err := gitdiff.Apply(&out, bytes.NewReader(before), f); err != nil {
		return nil, err
	}
	if f.IsDelete {
		return nil, nil
	}
	return append([]byte{}, out.Bytes()...), nil
}
