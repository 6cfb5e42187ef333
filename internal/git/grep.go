package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/runplan/runplan/internal/proc"
)

// ErrPartial reports that the repository is a partial clone: a search would fetch all missing files.
var ErrPartial = errors.New("a partial clone does not have all files")

// Hit is a line of a file with one of the searched texts.
type Hit struct {
	Path string
	Line int // from 1
	Text string
}

// grepLine limits the length of the lines that Grep reports. Longer ones are generated.
const grepLine = 1000

// Grep searches the text files of a commit for texts, ignoring case. It passes each matching line to each, in the order
// of paths and lines. It does not search submodules. It keeps nothing, so frequent matches cost time and no memory. If
// there are pathspecs, it only searches the files that they match.
func (r *Repo) Grep(ctx context.Context, commit string, texts []string, each func(Hit), in ...string) error {
	if r.Partial() {
		return ErrPartial
	}
	args := []string{"git", "grep", "-z", "-n", "-I", "-i", "-F", "--full-name", "--no-color", "--no-recurse-submodules"}
	for _, t := range texts {
		args = append(args, "-e", t)
	}
	l := &hitReader{prefix: commit + ":", each: each}
	res, err := proc.Run(ctx,
		proc.Cmd{Args: append(append(args, commit, "--"), in...), Dir: r.Root, Env: slices.Clip(r.env), Stdout: l, Keep: 4 << 10})
	switch {
	case err != nil:
		return err
	case res.Ended == proc.Cancelled:
		return res.Cause
	case res.Ended != proc.Exited || res.Exit > 1: // 1 means no match
		return fmt.Errorf("git grep ended with status %d", res.Exit)
	}
	return l.err
}

// Partial reports whether some objects are only in a remote: git marks the packs of a partial clone.
func (r *Repo) Partial() bool {
	packs, _ := os.ReadDir(filepath.Join(r.Common, "objects", "pack")) // without the folder there are none
	return slices.ContainsFunc(packs, func(e os.DirEntry) bool { return filepath.Ext(e.Name()) == ".promisor" })
}

// hitReader parses the output of git grep as it arrives: COMMIT:PATH, NUL, the number, NUL, the line.
type hitReader struct {
	prefix string
	each   func(Hit)
	head   []string // the incomplete path and number
	rest   []byte   // the incomplete last piece
	err    error
}

// Write takes a piece.
func (l *hitReader) Write(p []byte) (int, error) {
	for more := p; l.err == nil; {
		end := byte(0)
		if len(l.head) == 2 {
			end = '\n'
		}
		piece, next, ok := bytes.Cut(more, []byte{end})
		if room := max(0, grepLine+1-len(l.rest)); len(l.head) == 2 && len(piece) > room {
			piece = piece[:room]
		}
		l.rest = append(l.rest, piece...)
		if !ok {
			break
		}
		more = next
		l.take(string(l.rest))
		l.rest = l.rest[:0]
	}
	return len(p), nil
}

func (l *hitReader) take(piece string) {
	if len(l.head) < 2 {
		l.head = append(l.head, piece)
		return
	}
	path, ok := strings.CutPrefix(l.head[0], l.prefix)
	n, err := strconv.Atoi(l.head[1])
	if !ok || err != nil {
		l.err = fmt.Errorf("git grep printed %q, which cannot be read", l.head)
		return
	}
	l.head = l.head[:0]
	if len(piece) <= grepLine {
		l.each(Hit{Path: path, Line: n, Text: strings.TrimSuffix(piece, "\r")})
	}
}
