package briefing

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/runplan/runplan/internal/fence"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/runner/failures"
)

// Sources says where the missing data of an [Input] come from. Its Input has the data that the caller already knows:
// the plan, the batch, the gates, the results of earlier batches.
type Sources struct {
	Input
	Repo     *git.Repo
	Commit   string          // commit that the batch starts from; files and history are read there
	Plan     string          // the plan's path in the repository, which is not searched; "" if it is outside
	From     string          // commit that the run started from; "" for no history
	Run      string          // id of the run; "" matches commits of any run
	Progress string          // file; "" for none
	Failures *failures.Store // nil for none

	// Where returns the places in a commit that probably belong to a text, best first; nil disables it.
	Where func(ctx context.Context, commit, text string) ([]string, error)
}

// Gather completes an input. A failure of git is an error. Other unreadable sources are only listed in the brief,
// because a batch can work without them.
func Gather(ctx context.Context, s Sources) (Input, error) {
	in := s.Input
	limits := in.Limits.orDefault()
	if limits.Tokens == 0 {
		return in, nil // the brief has no block that could show it
	}
	var err error
	if in.Refs, err = ReadRefs(ctx, s.Repo, s.Commit, once(in.Batch.ContextRefs), limits.RefLines); err != nil {
		return in, err
	}
	in.Unread = slices.Clone(in.Unread)
	// The agent waits for this, and each of the two is a git process, so they run at the same time.
	var background sync.WaitGroup
	defer background.Wait()
	var before []Commit
	var unread error
	if s.From != "" {
		background.Go(func() { before, unread = commits(ctx, s.Repo, s.From, s.Commit, s.Run) })
	}
	switch in.Prior, err = priorArt(ctx, s.Repo, s.Commit, in.Batch, s.Plan); {
	case errors.Is(err, git.ErrPartial):
		in.Unread = append(in.Unread, "existing code: "+reason(err))
	case err != nil:
		return in, fmt.Errorf("search existing code: %w", err)
	}
	if s.Where != nil {
		if in.Places, err = s.Where(ctx, s.Commit, in.Batch.Title+"\n"+in.Batch.Text); err != nil {
			in.Unread = append(in.Unread, "probable places: "+reason(err))
		}
		in.Places = slices.DeleteFunc(in.Places,
			func(line string) bool { return s.Plan != "" && strings.HasPrefix(line, s.Plan+":") })
	}
	background.Wait()
	if unread != nil {
		return in, unread
	}
	in.Commits = before
	in.Earlier = slices.Clone(in.Earlier)
	for i := range in.Earlier {
		in.Earlier[i].Files = filesOf(in.Commits, in.Earlier[i].Key)
	}
	if in.Progress, err = tail(s.Progress, limits.ProgressLines); err != nil {
		in.Unread = append(in.Unread, "progress.txt: "+reason(err))
	}
	if s.Failures != nil {
		if in.Failures, err = s.Failures.Match(in.Batch.Title, limits.Similarity); err != nil {
			in.Unread = append(in.Unread, failures.FileName+": "+reason(err))
		}
	}
	return in, nil
}

func once(list []string) []string {
	var out []string
	for _, p := range list {
		out = lists.Add(out, p)
	}
	return out
}

// reason returns an error without the path of a file, which is useless to the agent.
func reason(err error) string {
	var p *fs.PathError
	switch {
	case errors.Is(err, failures.ErrBroken):
		return failures.ErrBroken.Error()
	case errors.As(err, &p):
		return p.Err.Error()
	}
	return err.Error()
}

// filesOf are the files that the commits of a batch changed, sorted.
func filesOf(list []Commit, batch string) []string {
	var out []string
	for _, c := range list {
		if c.Batch == batch {
			out = append(out, c.Files...)
		}
	}
	return lists.Unique(out)
}

// mostCommits limits how many commits of a run are read.
const mostCommits = 400

// The marks between commits and between fields in git's output.
const (
	entryMark = "\x1e"
	fieldMark = "\x1f"
)

// commits lists what batches landed between two commits, the newest first.
func commits(ctx context.Context, repo *git.Repo, from, to, run string) ([]Commit, error) {
	if from == to {
		return nil, nil
	}
	out, err := repo.Run(ctx, "-c", "log.showSignature=false", "log", "-z", "--topo-order", "--no-color", "--no-notes",
		"--no-ext-diff", "--no-renames", "--name-only", fmt.Sprintf("--max-count=%d", mostCommits), "--format="+
			strings.Join([]string{"%x1e%H", "%(trailers:key=Runplan-Run,valueonly,separator=%x20)",
				"%(trailers:key=Runplan-Batch,valueonly,separator=%x20)", "%s", ""}, "%x1f"), from+".."+to, "--")
	if err != nil {
		return nil, fmt.Errorf("read the commits of the run: %w", err)
	}
	var list []Commit
	for entry := range strings.SplitSeq(out, entryMark) {
		f := strings.SplitN(entry, fieldMark, 5)
		if len(f) != 5 || !isHash(f[0]) || f[2] == "" || run != "" && f[1] != run {
			continue
		}
		c := Commit{Hash: f[0], Batch: f[2], Subject: f[3]}
		for p := range strings.SplitSeq(f[4], "\x00") {
			if p = strings.TrimPrefix(p, "\n"); p != "" {
				c.Files = append(c.Files, p)
			}
		}
		slices.Sort(c.Files)
		list = append(list, c)
	}
	return list, nil
}

func isHash(s string) bool { return len(s) >= 40 && strings.Trim(s, "0123456789abcdef") == "" }

// tailBytes is the number of bytes read from the end of progress.txt.
const tailBytes = 64 << 10

// tail returns the last n non-empty lines of a file. A missing file has none.
func tail(path string, n int) ([]string, error) {
	if path == "" || n <= 0 {
		return nil, nil
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	start := max(0, end-tailBytes)
	data := make([]byte, end-start)
	if _, err := f.ReadAt(data, start); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	text := string(data)
	if start > 0 {
		_, text, _ = strings.Cut(text, "\n") // the first line is cut off in its middle
	}
	var lines []string
	for line := range strings.SplitSeq(fence.Hide(fence.Clean(text)), "\n") {
		if strings.TrimSpace(line) != "" {
			lines = append(lines, line)
		}
	}
	return lastOf(lines, n), nil
}
