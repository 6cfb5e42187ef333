package page

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/runner/journal"
)

type diff struct {
	Files      []diffFile
	Added, Del int
	Note       string // why the diff is missing or incomplete
}

type diffFile struct {
	Name       string
	Lines      []diffLine
	Added, Del int
	Note       string
}

type diffLine struct{ Class, Text string }

// The limits of a displayed change. A line can be a whole file.
const (
	maxDiffLines = 4000
	maxDiffLine  = 2000
	maxDiffText  = 400 << 10
)

// diffOf returns the diff of an attempt: from git, or the one stored at its end.
func (s *site) diffOf(ctx context.Context, t *try) diff {
	if t.Commit != "" && t.Base != "" {
		if d, err := s.between(ctx, t.Base, t.Commit); err == nil {
			return d
		}
	}
	if t.Log == "" && t.Commit != "" {
		return diff{Note: "The change cannot be read: git does not have it."}
	}
	if t.Log == "" {
		return diff{Note: "There is no change yet."}
	}
	text, cut, err := s.hub.readAll(path.Dir(t.Log)+"/"+journal.PatchFile, maxPatch)
	switch {
	case err != nil:
		return diff{Note: "The change cannot be read: " + err.Error()}
	case text == "" && t.Tone == "busy":
		return diff{Note: "There is no change yet."}
	case text == "":
		return diff{Note: "The change was not stored."}
	}
	d := parseDiff(text)
	if cut {
		d.Note = "The rest is in .runplan/" + path.Dir(t.Log) + "/" + journal.PatchFile
	}
	return d
}

func parseDiff(text string) diff {
	var d diff
	var f *diffFile
	inHunk := false
	shown, size := 0, 0
	for l := range strings.Lines(text) {
		l = strings.TrimSuffix(l, "\n")
		if strings.HasPrefix(l, "diff --git ") {
			d.Files = append(d.Files, diffFile{Name: diffName(l)})
			f, inHunk = &d.Files[len(d.Files)-1], false
			continue
		}
		if f == nil {
			continue
		}
		class := ""
		switch {
		case strings.HasPrefix(l, "@@"):
			class, inHunk = "hunk", true
		case !inHunk:
			f.head(l)
			continue
		case strings.HasPrefix(l, "+"):
			class = "add"
			f.Added++
		case strings.HasPrefix(l, "-"):
			class = "del"
			f.Del++
		}
		if shown++; shown > maxDiffLines || size > maxDiffText {
			d.Note = "The change is long: only the beginning of it is shown."
			continue
		}
		if len(l) > maxDiffLine {
			l = strings.ToValidUTF8(l[:maxDiffLine], "") + "… (" + strconv.Itoa(len(l)) + " bytes)"
		}
		size += len(l)
		f.Lines = append(f.Lines, diffLine{class, l})
	}
	for _, f := range d.Files {
		d.Added, d.Del = d.Added+f.Added, d.Del+f.Del
	}
	return d
}

// head parses a line before the first change of a file.
func (f *diffFile) head(l string) {
	switch {
	case strings.HasPrefix(l, "+++ "):
		if name := unquoted(strings.TrimPrefix(l, "+++ ")); name != "/dev/null" {
			f.Name = strings.TrimPrefix(name, "b/")
		}
	case strings.HasPrefix(l, "--- "):
		if name := unquoted(strings.TrimPrefix(l, "--- ")); name != "/dev/null" {
			f.Name = strings.TrimPrefix(name, "a/")
		}
	case strings.HasPrefix(l, "new file"):
		f.Note = "new"
	case strings.HasPrefix(l, "deleted file"):
		f.Note = "deleted"
	case strings.HasPrefix(l, "Binary files"), strings.HasPrefix(l, "GIT binary patch"):
		f.Note = strings.TrimSpace(f.Note + " binary")
	case strings.HasPrefix(l, "old mode"), strings.HasPrefix(l, "new mode"):
		f.Note = strings.TrimSpace(f.Note + " " + l)
	}
}

// diffName is the name in the first line of a file's change, which is the same on both sides.
func diffName(l string) string {
	names := strings.TrimPrefix(l, "diff --git ")
	if strings.HasPrefix(names, `"`) {
		if name, err := strconv.QuotedPrefix(names); err == nil {
			return strings.TrimPrefix(unquoted(name), "a/")
		}
	}
	if n := len(names); n > 5 {
		return strings.TrimPrefix(names[:n/2], "a/")
	}
	return names
}

// unquoted reads a name as git writes it: in quotes if it has special characters.
func unquoted(name string) string {
	name = strings.TrimSuffix(name, "\t")
	if strings.HasPrefix(name, `"`) {
		if s, err := strconv.Unquote(name); err == nil {
			return s
		}
	}
	return name
}

// The limits for reading a change, so that a large committed data set does not block the page.
const (
	maxDiff   = 2 << 20
	diffTime  = 15 * time.Second
	keptDiffs = 4 // the cache holds up to twice as many
)

// between returns the diff of two commits or trees, limited to the size that a page shows.
func (s *site) between(ctx context.Context, base, commit string) (diff, error) {
	if d, ok := s.diffs.Get([2]string{base, commit}); ok {
		return d, nil
	}
	ctx, stop := context.WithTimeout(ctx, diffTime)
	defer stop()
	out := &head{most: maxDiff, full: stop}
	res, err := proc.Run(ctx, proc.Cmd{
		Args: []string{"git", "diff", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--end-of-options",
			base, commit, "--"},
		Dir: s.Repo.Root, Env: s.Repo.Env(), Stdout: out, Keep: 4 << 10,
	})
	if err != nil {
		return diff{}, err
	}
	if !res.OK() && !out.cut {
		return diff{}, fmt.Errorf("git diff ended with exit status %d", res.Exit)
	}
	d := parseDiff(out.text())
	switch {
	case out.cut:
		d.Note = fmt.Sprintf("The change is larger than %d MB, and the rest is omitted. The whole change: git diff %s %s",
			maxDiff>>20, git.Short(base), git.Short(commit))
	case len(d.Files) == 0:
		d.Note = "Nothing was changed."
	}
	s.diffs.Put([2]string{base, commit}, d)
	return d, nil
}

// head keeps the beginning of the written data, and reports when it is full.
type head struct {
	most int
	full func()
	buf  bytes.Buffer
	cut  bool
}

func (h *head) Write(p []byte) (int, error) {
	if room := h.most - h.buf.Len(); len(p) > room {
		h.buf.Write(p[:room])
		if !h.cut {
			h.cut = true
			h.full()
		}
		return len(p), nil
	}
	return h.buf.Write(p)
}

// text returns the stored text, in complete lines.
func (h *head) text() string {
	b := h.buf.Bytes()
	if h.cut {
		b = b[:bytes.LastIndexByte(b, '\n')+1]
	}
	return string(b)
}
