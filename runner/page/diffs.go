package page

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/internal/recent"
)

// The limits for reading a change, so that a large committed data set does not block the page.
const (
	maxDiff   = 2 << 20
	diffTime  = 15 * time.Second
	keptDiffs = 4 // the cache holds up to twice as many
)

// diffs caches recent diffs. The diff of two commits never changes, and the page of a running agent is drawn
// several times a second.
type diffs struct {
	mu   sync.Mutex
	kept *recent.Map[[2]string, diff] // by base and commit
}

func newDiffs() diffs {
	return diffs{kept: recent.New[[2]string](keptDiffs, func(diff) int { return 1 })}
}

func (c *diffs) get(base, commit string) (diff, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kept.Get([2]string{base, commit})
}

func (c *diffs) put(base, commit string, d diff) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept.Put([2]string{base, commit}, d)
}

// between returns the diff of two commits or trees, limited to the size that a page shows.
func (s *site) between(ctx context.Context, base, commit string) (diff, error) {
	if d, ok := s.diffs.get(base, commit); ok {
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
			maxDiff>>20, short(base), short(commit))
	case len(d.Files) == 0:
		d.Note = "Nothing was changed."
	}
	s.diffs.put(base, commit, d)
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
