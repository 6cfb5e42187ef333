package logged

import (
	"bytes"
	"context"
	"crypto/sha1" // git's object hash
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
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
func (b *build) between(ctx context.Context, base, tree string) (change, *refusal, error) {
	c := b.Repo.Compare(base, tree)
	list, err := c.Entries(ctx)
	if err != nil {
		return change{}, nil, err
	}
	var out change
	var parts []string
	for _, e := range list {
		if e.Link() || e.OldMode == "120000" || e.OldMode == "160000" || e.NewMode == "160000" {
			return out, &notEdits, nil
		}
		before, err := c.Before(ctx, e.Path)
		if err == nil {
			var after []byte
			if after, err = c.After(ctx, e.Path); err == nil {
				err = out.add(&parts, e.Path, before, after)
			}
		}
		switch {
		case errors.Is(err, edits.ErrNone), errors.Is(err, git.ErrBlobTooLarge):
			return out, &notEdits, nil
		case err != nil:
			return out, nil, err
		}
		old, now := e.Blobs()
		out.versions(e.Path, old, now)
	}
	return out.done(parts)
}

// add writes the edits of one file. It ignores a change of the mode alone.
func (c *change) add(parts *[]string, path string, before, after []byte) error {
	if before != nil && after != nil && bytes.Equal(before, after) {
		return nil
	}
	a, err := edits.Of(path, before, after)
	if err == nil {
		*parts = append(*parts, a.Text)
	}
	return err
}

func (c *change) versions(path string, blobs ...string) {
	for _, blob := range blobs {
		if f := (training.File{Path: path, Blob: blob}); blob != "" && !slices.Contains(c.files, f) {
			c.files = append(c.files, f)
		}
	}
}

func (c *change) done(parts []string) (change, *refusal, error) {
	if len(parts) == 0 {
		return *c, &noChange, nil
	}
	c.edits = strings.Join(parts, "\n")
	return *c, nil, nil
}

// made finds the change of an attempt: its tree if git still has it, else the stored patch. Git eventually removes
// unmerged objects.
func (b *build) made(ctx context.Context, ev runner.Event) (change, *refusal, error) {
	if ev.Tree != "" && ev.Base != "" {
		found, err := b.objects.Read([]string{ev.Tree + "^{tree}", ev.Base + "^{commit}"})
		if err != nil {
			return change{}, nil, err
		}
		if found[0].Hash != "" && found[1].Hash != "" {
			return b.between(ctx, ev.Base, ev.Tree)
		}
	}
	patch, err := b.Journal.Attached(ev, journal.PatchFile, math.MaxInt)
	if errors.Is(err, fs.ErrNotExist) {
		if ev.Files == 0 {
			return change{}, &noChange, nil
		}
		return change{}, &changeGone, nil
	}
	if err != nil {
		return change{}, nil, err
	}
	return b.patched(ev.Base, patch)
}

// patched converts a stored patch into edits. A patch with redacted secrets does not apply any more.
func (b *build) patched(base string, patch []byte) (change, *refusal, error) {
	files, err := parsePatch(patch)
	if err != nil {
		return change{}, &changeGone, nil
	}
	var out change
	var parts []string
	for _, f := range files {
		path := f.NewName
		if f.IsDelete {
			path = f.OldName
		}
		var before []byte
		blob := ""
		if !f.IsNew {
			if strings.ContainsAny(f.OldName, "\n") {
				return change{}, &changeGone, nil
			}
			found, err := b.objects.Read([]string{base + ":" + f.OldName})
			if err != nil {
				return change{}, nil, err
			}
			if before, blob = found[0].Data, found[0].Hash; found[0].Kind != "blob" || before == nil {
				return change{}, &changeGone, nil
			}
		}
		after, err := applied(f, before)
		if err != nil {
			return change{}, &changeGone, nil
		}
		if err := out.add(&parts, path, before, after); err != nil {
			return change{}, &notEdits, nil
		}
		out.versions(path, blob, blobID(after, len(base)))
	}
	return out.done(parts)
}

// blobID returns git's object id of data, in the hash format of the given length, or "" for nil.
func blobID(data []byte, length int) string {
	if data == nil {
		return ""
	}
	h := sha1.New()
	if length == hex.EncodedLen(sha256.Size) {
		h = sha256.New()
	}
	fmt.Fprintf(h, "blob %d\x00", len(data))
	h.Write(data)
	return hex.EncodeToString(h.Sum(nil))
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
