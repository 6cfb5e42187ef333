package knowledge

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/knowledge/chunks"
)

// maxMessage is the highest number of bytes of a commit message that is stored.
const maxMessage = 4000

// Git can list the paths of each commit with the numbers of lines, or only their names. The numbers need the content of
// each version of each file.
const (
	withNumbers = "--numstat"
	onlyNames   = "--name-only"
)

// logArgs returns the arguments of git log that print the history in one pass, oldest commit first. The user's
// settings do not affect the output. list is [withNumbers] or [onlyNames].
func logArgs(commits, list string) []string {
	return []string{"git", "-c", "log.showSignature=false", "-c", "core.commitGraph=true", "log", "-z", "--reverse",
		list, "--no-renames", "--no-ext-diff", "--no-textconv",
		"--no-color", "--no-mailmap", "--no-notes", "--no-decorate", "--encoding=UTF-8",
		"--format=%x01%H%x00%an%x00%ct%x00%B%x00", commits, "--"}
}

// feed is a queue of commits that git has printed. It lets git continue while files are read, and lets commits be
// written while git continues.
type feed struct {
	commits chan []store.Touched
	err     error           // of git; valid when commits is closed
	done    <-chan struct{} // the index is cancelled
}

// mostWaiting is the number of batches of commits that may wait while files are read.
const mostWaiting = 10_000

func newFeed(ctx context.Context) *feed {
	return &feed{commits: make(chan []store.Touched, mostWaiting), done: ctx.Done()}
}

func (f *feed) put(commits []store.Touched) {
	select {
	case f.commits <- commits:
	case <-f.done:
	}
}

func (f *feed) end(err error) {
	f.err = err
	close(f.commits)
}

// all iterates over the commits as they arrive and counts them. An error is the last value.
func (f *feed) all(count *int) iter.Seq2[store.Touched, error] {
	return func(yield func(store.Touched, error) bool) {
		for commits := range f.commits {
			for _, c := range commits {
				*count++
				if !yield(c, nil) {
					return
				}
			}
		}
		if f.err != nil {
			yield(store.Touched{}, f.err)
		}
	}
}

// feedStep is the number of commits in one batch.
const feedStep = 100

// logReader parses the output of git log as it arrives.
type logReader struct {
	proc.Records // NUL-terminated fields
	to           *feed
	list         string   // what git prints for each path
	head         []string // fields of the current commit's header
	done         []store.Touched
	given        int // commits that were put into the feed
	skip         int // commits that an earlier reader put into the feed
}

func newLogReader(to *feed, list string) *logReader {
	l := &logReader{to: to, list: list}
	l.Take = l.field
	return l
}

// headFields is the number of header fields: hash, author, time and message.
const headFields = 4

// close parses the rest and passes on the last commits.
func (l *logReader) close() error {
	if err := l.Close(); err != nil {
		return err
	}
	if len(l.head) > 0 {
		return fmt.Errorf("git log printed %q, which cannot be read", l.head[0])
	}
	l.hand()
	return nil
}

// hand passes on the complete commits, except those that are in the feed already.
func (l *logReader) hand() {
	known := min(l.skip, len(l.done))
	l.skip -= known
	l.to.put(l.done[known:])
	l.given += len(l.done) - known
	l.done = nil
}

func (l *logReader) field(text []byte) error {
	f := string(text)
	if len(l.head) > 0 {
		if l.head = append(l.head, f); len(l.head) < headFields {
			return nil
		}
		c, err := commitOf(l.head)
		if l.list == withNumbers {
			c.Insertions, c.Deletions = new(int), new(int)
		}
		l.head = l.head[:0]
		if len(l.done) >= feedStep {
			l.hand()
		}
		l.done = append(l.done, c)
		return err
	}
	f = strings.TrimLeft(f, "\n")
	if hash, ok := strings.CutPrefix(f, "\x01"); ok {
		if len(hash) < 40 {
			return fmt.Errorf("git log printed %q, which cannot be read", hash)
		}
		l.head = append(l.head, hash)
		return nil
	}
	if f == "" {
		return nil
	}
	path := f
	var added, removed string
	if l.list == withNumbers {
		var rest string
		added, rest, _ = strings.Cut(f, "\t")
		removed, path, _ = strings.Cut(rest, "\t")
	}
	if path == "" || len(l.done) == 0 {
		return fmt.Errorf("git log printed %q, which cannot be read", f)
	}
	c := &l.done[len(l.done)-1]
	c.Files++
	c.Paths = append(c.Paths, path)
	if n, err := strconv.Atoi(added); err == nil { // "-" for a binary
		*c.Insertions += n
	}
	if n, err := strconv.Atoi(removed); err == nil {
		*c.Deletions += n
	}
	return nil
}

// commitOf parses the header of a commit.
func commitOf(head []string) (store.Touched, error) {
	seconds, err := strconv.ParseInt(head[2], 10, 64)
	if err != nil {
		return store.Touched{}, fmt.Errorf("git log printed the time %q of commit %s", head[2], head[0])
	}
	message := phrase.CutBytes(strings.TrimSpace(strings.ToValidUTF8(head[3], "�")), maxMessage)
	return store.Touched{Commit: store.Commit{
		Hash: head[0], Author: strings.ToValidUTF8(head[1], "�"), Message: message,
		Time: time.Unix(seconds, 0).UTC().Format(time.RFC3339),
	}, Words: chunks.Words(message)}, nil
}

// past holds the new commits since the last index, oldest first.
type past struct {
	head    string
	commits *feed // nil: none
	rewrote bool  // the indexed history is no longer part of HEAD's
	err     error
}

// readPast starts git log in the background. It keeps the stored history if it ends at an ancestor of HEAD; after a
// rebase it reads all commits again.
func readPast(ctx context.Context, repo *git.Repo, known string, background *sync.WaitGroup) past {
	head, _, err := repo.Head(ctx)
	if errors.Is(err, git.ErrNoCommits) {
		err = nil
	}
	p := past{head: head, err: err}
	commits := head
	switch {
	case err != nil || head == known || head == "":
		p.rewrote = err == nil && head != known
		return p
	case known != "":
		if ancestor, err := repo.IsAncestor(ctx, known, head); err == nil && ancestor {
			commits = known + ".." + head
		} else { // also if the old commit no longer exists
			p.rewrote = true
		}
	}
	p.commits = newFeed(ctx)
	background.Go(func() {
		err := readAll(ctx, repo, commits, p.commits)
		if err != nil {
			err = fmt.Errorf("read the history: %w", err)
		}
		p.commits.end(err)
	})
	return p
}

// errLog is a git log that ended with an error.
type errLog struct{ said string }

func (e errLog) Error() string { return "git log: " + e.said }

// readAll passes commits to a feed. In a partial clone, and if git cannot read an old version of a file, it reads the
// names of the changed files without the numbers of lines: git would fetch each missing version, or fail.
func readAll(ctx context.Context, repo *git.Repo, commits string, to *feed) error {
	names := newLogReader(to, onlyNames)
	if repo.Partial() {
		return readLog(ctx, repo, commits, names)
	}
	numbers := newLogReader(to, withNumbers)
	err := readLog(ctx, repo, commits, numbers)
	if _, ended := errors.AsType[errLog](err); !ended {
		return err
	}
	names.skip = numbers.given
	if readLog(ctx, repo, commits, names) != nil {
		return err // the first error is the cause
	}
	return nil
}

// readLog runs git log and passes its output to a reader.
func readLog(ctx context.Context, repo *git.Repo, commits string, l *logReader) error {
	res, err := proc.Run(ctx,
		proc.Cmd{Args: logArgs(commits, l.list), Dir: repo.Root, Env: append(slices.Clip(repo.Env()), "GIT_FLUSH=0"),
			Stdout: l, Keep: 4 << 10})
	switch {
	case err != nil:
		return err
	case res.Ended == proc.Cancelled:
		return res.Cause
	case !res.OK():
		how := fmt.Sprintf("exit status %d", res.Exit)
		if res.Signal != "" {
			how = "killed by " + res.Signal
		}
		said := res.Tail[strings.LastIndexByte(res.Tail, 0)+1:] // error text after the commits
		return errLog{how + ": " + strings.TrimSpace(strings.ToValidUTF8(said, ""))}
	}
	return l.close()
}

// history updates the stored commits.
func (x *indexer) history(ctx context.Context, p past) error {
	if p.err != nil {
		return p.err
	}
	added := x.added
	if p.rewrote {
		if err := x.tx.ClearHistory(ctx, x.state.ID); err != nil {
			return err
		}
	}
	if p.rewrote || x.state.Head == "" {
		added = nil // no history is stored for any path
	}
	x.state.Head = p.head
	var commits iter.Seq2[store.Touched, error]
	if p.commits != nil {
		commits = p.commits.all(&x.res.Commits)
	}
	return x.tx.AddHistory(ctx, x.state.ID, commits, x.ids, added)
}
