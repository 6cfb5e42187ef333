package gates

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/planparse"
)

// Diff is the change that gates check, file by file: the content before and the content now.
//
// The consumer defines this interface; package internal/git implements it over two trees. Both sides come from git
// objects. So gates see exactly what will be committed, whatever the folder contains, and no link leads out of the
// tree.
type Diff interface {
	// Changes lists the files that differ, sorted by path. A move is a deleted file and an added one.
	Changes(ctx context.Context) ([]Change, error)
	// Before returns the old content of a changed file, After the new content. Both are empty for a file that does not
	// exist on that side, and for a submodule. The content of a link is its target path. The error is [ErrTooLarge] if the
	// file is too large to be written by hand.
	Before(ctx context.Context, path string) ([]byte, error)
	After(ctx context.Context, path string) ([]byte, error)
}

// ErrTooLarge says that a file is too large to read.
var ErrTooLarge = git.ErrBlobTooLarge

// Change is a file that differs.
type Change struct {
	Path   string
	Status ChangeStatus
	Link   bool // it is, or became, a symbolic link
}

// ChangeStatus says how a file changed.
type ChangeStatus string

// The ways in which a file changes.
const (
	Added    ChangeStatus = "added"
	Modified ChangeStatus = "modified"
	Deleted  ChangeStatus = "deleted"
)

// File is a changed file with both of its texts.
type File struct {
	Change
	Before, After string
	From          string // of a new file: the deleted file that it was moved from; "" for none
	moved         string // the text of From
}

// Line is a line of a file, counted from 1.
type Line struct {
	Number int
	Text   string
}

// Files reads the changed text files that want accepts. It returns those too large to read separately.
func Files(ctx context.Context, d Diff, want func(Change) bool) (files []File, tooLarge []string, err error) {
	changes, err := d.Changes(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, c := range changes {
		if want != nil && !want(c) {
			continue
		}
		before, errBefore := textOf(d.Before(ctx, c.Path))
		after, errAfter := textOf(d.After(ctx, c.Path))
		switch err := cmp.Or(errBefore, errAfter); {
		case errors.Is(err, ErrTooLarge):
			tooLarge = append(tooLarge, c.Path)
		case err != nil:
			return nil, nil, fmt.Errorf("read %s: %w", c.Path, err)
		default:
			files = append(files, File{Change: c, Before: before, After: after})
		}
	}
	return files, tooLarge, origins(ctx, d, changes, files)
}

// origins finds the deleted file that each new one was made from: it has at least half of the new file's lines. Git
// calls it a rename.
func origins(ctx context.Context, d Diff, changes []Change, files []File) error {
	const most = 10_000 // pairs whose lines are compared; beyond that, files that share a name
	type gone struct {
		path, text string
		lines      map[string]int
		count      int
	}
	var all []gone
	added := lists.Count(files, func(f File) bool { return f.Status == Added && !f.Link })
	for _, c := range changes {
		if added == 0 || c.Status != Deleted || c.Link {
			continue
		}
		text, err := textOf(d.Before(ctx, c.Path))
		if errors.Is(err, ErrTooLarge) {
			continue
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", c.Path, err)
		}
		lines, count := lineCounts(text)
		all = append(all, gone{c.Path, text, lines, count})
	}
	for i, f := range files {
		if f.Status != Added || f.Link || len(all) == 0 {
			continue
		}
		lines, count := lineCounts(f.After)
		best := 0
		for _, g := range all {
			if path.Ext(g.path) != path.Ext(f.Path) || added*len(all) > most && path.Base(g.path) != path.Base(f.Path) {
				continue
			}
			same := 0
			for l, n := range lines {
				same += min(n, g.lines[l])
			}
			if same > best && same*2 >= max(count, g.count) {
				best, files[i].From, files[i].moved = same, g.path, g.text
			}
		}
	}
	return nil
}

// lineCounts counts the lines of a text that are not blank.
func lineCounts(text string) (lines map[string]int, count int) {
	lines = map[string]int{}
	for l := range strings.Lines(text) {
		if l = strings.TrimSpace(l); l != "" {
			lines[l]++
			count++
		}
	}
	return lines, count
}

// textOf returns the text of a file; "" for a binary one.
func textOf(data []byte, err error) (string, error) {
	if err != nil || isBinary(data) {
		return "", err
	}
	return decode(data), nil
}

// decode converts UTF-16, which some editors write, to UTF-8.
func decode(data []byte) string {
	var order binary.ByteOrder = binary.LittleEndian
	switch {
	case bytes.HasPrefix(data, []byte("\xff\xfe")):
	case bytes.HasPrefix(data, []byte("\xfe\xff")):
		order = binary.BigEndian
	default:
		return string(data)
	}
	units := make([]uint16, 0, len(data)/2)
	for i := 2; i+1 < len(data); i += 2 {
		units = append(units, order.Uint16(data[i:]))
	}
	return string(utf16.Decode(units))
}

// isBinary is git's own test, except for UTF-16, which counts as text.
func isBinary(data []byte) bool {
	wide := bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff"))
	return !wide && git.Binary(data)
}

// AddedLines returns the lines of a file that were not in it before. It omits lines that only moved, within the file or
// together with it.
func (f File) AddedLines() []Line {
	have := map[string]int{}
	for l := range strings.Lines(f.Before + f.moved) {
		have[strings.TrimRight(l, "\r\n")]++
	}
	var out []Line
	n := 0
	for l := range strings.Lines(f.After) {
		n++
		l = strings.TrimRight(l, "\r\n")
		if have[l] > 0 {
			have[l]--
			continue
		}
		out = append(out, Line{n, l})
	}
	return out
}

// FreshLines returns the numbers of the added lines.
func (f File) FreshLines() map[int]bool {
	return lists.SetBy(f.AddedLines(), func(l Line) int { return l.Number })
}

// Names reports whether the batch names a file: in its Files section, as a file, a folder or a glob, or as the file of
// a literal block. A file name in a text does not count, because the text may forbid a change of the file.
func (s Subject) Names(path string) bool {
	f := s.Batch.Files
	return slices.ContainsFunc(slices.Concat(f.Create, f.Modify, f.Test, f.Delete),
		func(entry string) bool { return matches(entry, path) }) || s.spellsOut(path)
}

// Contains reports whether the text of the batch has this line of code, unchanged or as an added line of a diff. Spaces
// around it are ignored. For an empty line it returns false.
func (s Subject) Contains(line string) bool {
	line = strings.TrimSpace(line)
	if line == "" || !strings.Contains(s.Batch.Text, line) {
		return false
	}
	for l := range strings.Lines(s.Batch.Text) {
		if l = strings.TrimSpace(l); l == line || strings.TrimSpace(strings.TrimPrefix(l, "+")) == line {
			return true
		}
	}
	return false
}

// NamesForDeletion reports whether the batch asks to delete the file: in its Files section, by a literal block, or in a
// sentence such as "Delete `old.py`", which the gate plan:files takes as a promise.
func (s Subject) NamesForDeletion(path string) bool {
	return slices.ContainsFunc(s.Batch.Files.Delete, func(entry string) bool { return matches(entry, path) }) ||
		slices.ContainsFunc(s.Batch.Named, func(n planparse.Named) bool { return n.Verb == "delete" && n.Path == path }) ||
		s.spellsOut(path)
}

func (s Subject) spellsOut(path string) bool {
	for _, b := range s.Batch.Blocks {
		if b.Path != "" && matches(b.Path, path) {
			return true
		}
		if strings.Contains(b.Text, "\n+++ b/"+path+"\n") || strings.Contains(b.Text, "\n--- a/"+path+"\n") {
			return true
		}
	}
	return false
}
