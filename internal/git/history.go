package git

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/runplan/runplan/internal/proc"
)

// Past is a commit with its changes against its first parent. A merge has no entries.
type Past struct {
	Hash    string
	Parents []string
	Time    time.Time // of the committer
	Message string
	Entries []Entry // sorted by path; a rename is a removed file and an added one
}

// Blobs returns the objects of both sides: "" for a missing file or a submodule.
func (e Entry) Blobs() (before, after string) {
	return blobOf(e.OldMode, e.oldBlob), blobOf(e.NewMode, e.newBlob)
}

// Span is a part of a history.
type Span struct {
	Head  string    // its newest commit
	Since time.Time // of the oldest; zero is the beginning
	Skip  int       // number of the newest commits to skip
}

func (s Span) args() []string {
	args := []string{fmt.Sprintf("--skip=%d", s.Skip)}
	if !s.Since.IsZero() {
		args = append(args, fmt.Sprintf("--max-age=%d", s.Since.Unix()))
	}
	return append(args, s.Head, "--")
}

// CountPast counts the commits of a span, including skipped ones.
func (r *Repo) CountPast(ctx context.Context, s Span) (int, error) {
	s.Skip = 0
	out, err := r.Run(ctx, append([]string{"--no-replace-objects", "rev-list", "--count"}, s.args()...)...)
	if err != nil {
		return 0, fmt.Errorf("count the commits of %s: %w", s.Head, err)
	}
	return strconv.Atoi(out)
}

// Shallow reports whether the history was cut off when the repository was cloned.
func (r *Repo) Shallow() bool { return exists(r.Common + "/shallow") }

// Remote returns the URL of a remote as written in the configuration, "" if there is none.
func (r *Repo) Remote(ctx context.Context, name string) string {
	out, err := r.Run(ctx, "config", "--get", "remote."+name+".url")
	if err != nil {
		return ""
	}
	return out
}

// pastStep is the number of commits in one batch; pastAhead is the number of batches that git may be ahead.
const (
	pastStep  = 64
	pastAhead = 8
)

// Past yields the commits of a span as git prints them, newest first. The user's settings do not affect it. It keeps
// at most a few hundred commits in memory. An error comes last.
func (r *Repo) Past(ctx context.Context, s Span) iter.Seq2[Past, error] {
	return func(yield func(Past, error) bool) {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		l := newPastReader(ctx, pastAhead)
		ended := make(chan error, 1)
		go func() {
			ended <- r.printPast(ctx, s, l)
			close(l.to)
		}()
		for list := range l.to {
			for _, c := range list {
				if !yield(c, nil) {
					stop()
					for range l.to { // so that git's last words do not wait for a reader
					}
					<-ended
					return
				}
			}
		}
		if err := <-ended; err != nil {
			yield(Past{}, fmt.Errorf("read the history: %w", err))
		}
	}
}

func (r *Repo) printPast(ctx context.Context, s Span, l *pastReader) error {
	args := append([]string{"git", "--no-replace-objects", "-c", "log.showSignature=false", "-c", "core.commitGraph=true",
		"-c", "log.follow=false", "log", "-z", "--raw", "--no-abbrev", "--no-renames", "--diff-merges=off", "--no-ext-diff",
		"--no-color", "--no-mailmap", "--no-notes", "--no-decorate", "--encoding=UTF-8",
		"--format=%x01%H%x00%P%x00%ct%x00%B%x00"}, s.args()...)
	res, err := proc.Run(ctx,
		proc.Cmd{Args: args, Dir: r.Root, Env: append(slices.Clip(r.env), "GIT_FLUSH=0"), Stdout: l, Keep: 4 << 10})
	switch {
	case err != nil:
		return err
	case res.Ended == proc.Cancelled:
		return res.Cause
	case !res.OK():
		said := res.Tail[strings.LastIndexByte(res.Tail, 0)+1:] // the text after the printed commits
		return fmt.Errorf("git log ended with status %d: %s", res.Exit, strings.TrimSpace(strings.ToValidUTF8(said, "")))
	}
	return l.close()
}

// pastReader parses the output of git log as it arrives.
type pastReader struct {
	proc.Records // fields, each with a zero at its end
	ctx          context.Context
	to           chan []Past
	head         []string
	raw          string // of an entry whose path is still missing
	done         []Past
}

// newPastReader makes a reader that may run ahead of its consumer by the given number of batches.
func newPastReader(ctx context.Context, ahead int) *pastReader {
	l := &pastReader{ctx: ctx, to: make(chan []Past, ahead)}
	l.Take = l.field
	return l
}

// close parses the remaining output and passes on the last commits.
func (l *pastReader) close() error {
	if err := l.Close(); err != nil {
		return err
	}
	if len(l.head) > 0 || l.raw != "" {
		return errors.New("git log ended in the middle of a commit")
	}
	l.hand()
	return nil
}

// hand passes on the complete commits.
func (l *pastReader) hand() {
	for i := range l.done {
		sortEntries(l.done[i].Entries)
	}
	select {
	case l.to <- l.done:
	case <-l.ctx.Done():
	}
	l.done = nil
}

func (l *pastReader) field(text []byte) error {
	f := string(text)
	switch {
	case len(l.head) > 0:
		if l.head = append(l.head, f); len(l.head) < headFields {
			return nil
		}
		c, err := pastOf(l.head)
		l.head = l.head[:0]
		if len(l.done) >= pastStep {
			l.hand()
		}
		l.done = append(l.done, c)
		return err
	case l.raw != "":
		list, err := parseRaw(l.raw + "\x00" + f)
		l.raw = ""
		if err == nil {
			c := &l.done[len(l.done)-1]
			c.Entries = append(c.Entries, list...)
		}
		return err
	}
	f = strings.TrimLeft(f, "\n")
	hash, isHead := strings.CutPrefix(f, "\x01")
	switch {
	case isHead && isHash(hash):
		l.head = append(l.head, hash)
	case strings.HasPrefix(f, ":") && len(l.done) > 0:
		l.raw = f
	case f != "":
		return fmt.Errorf("git log printed %q, which cannot be read", f[:min(len(f), 200)])
	}
	return nil
}

// headFields are hash, parents, time and message.
const headFields = 4

func pastOf(head []string) (Past, error) {
	seconds, err := strconv.ParseInt(head[2], 10, 64)
	if err != nil {
		return Past{}, fmt.Errorf("git log printed the time %q of commit %s", head[2], head[0])
	}
	return Past{
		Hash: head[0], Parents: strings.Fields(head[1]), Time: time.Unix(seconds, 0).UTC(),
		Message: strings.TrimSpace(strings.ToValidUTF8(head[3], "�")),
	}, nil
}

// Object is the object with a name in git.
type Object struct {
	Hash string // "" if git has no such object
	Kind string // blob, tree, commit or tag
	Data []byte // nil for one that is larger than [MaxBlob]
	Size int
}

// Objects reads objects through one git process, for any number of objects. It answers concurrent callers one after
// the other.
type Objects struct {
	turn  sync.Mutex
	names *io.PipeWriter
	in    *bufio.Reader
	out   *os.File // that in reads, and git writes to
	ctx   context.Context
	stop  context.CancelFunc
	ended chan struct{}
	err   error // why it ended; set after the end
}

// Objects starts the process. The caller must close it. It fetches nothing from a remote.
func (r *Repo) Objects(ctx context.Context) *Objects {
	ctx, stop := context.WithCancel(ctx)
	names, to := io.Pipe()
	o := &Objects{names: to, ctx: ctx, stop: stop, ended: make(chan struct{})}
	from, said, err := os.Pipe()
	if err != nil {
		o.err = err
		names.Close()
		close(o.ended)
		return o
	}
	o.out, o.in = from, bufio.NewReaderSize(from, 256<<10)
	// Close both pipes at once, so that a waiting reader and the copying of git's input do not wait for the end of the
	// process.
	context.AfterFunc(ctx, func() {
		names.CloseWithError(io.EOF)
		from.Close()
	})
	go func() {
		res, err := proc.Run(ctx, proc.Cmd{
			Args: []string{"git", "--no-replace-objects", "cat-file", "--batch"}, Dir: r.Root,
			Env: append(slices.Clip(r.env), "GIT_NO_LAZY_FETCH=1"), Stdin: names, Stdout: said, Keep: 4 << 10,
		})
		if err == nil && !res.OK() {
			err = fmt.Errorf("git cat-file ended with status %d", res.Exit)
		}
		o.err = errors.Join(err, io.ErrUnexpectedEOF)
		close(o.ended)
		names.CloseWithError(io.ErrClosedPipe)
		said.Close() // this tells the reader that it has ended
	}()
	return o
}

// Close ends the process.
func (o *Objects) Close() {
	o.names.Close() // closing its input ends git
	if o.out != nil {
		o.out.Close()
	}
	<-o.ended
	o.stop()
}

// Read returns the objects of names, in their order. A name is any revision syntax of git, such as HASH^{tree}.
func (o *Objects) Read(names []string) ([]Object, error) {
	if len(names) == 0 { // git would answer an empty line
		return nil, nil
	}
	if o.out == nil {
		return nil, o.err
	}
	o.turn.Lock()
	defer o.turn.Unlock()
	written := make(chan struct{})
	go func() {
		defer close(written)
		_, _ = io.WriteString(o.names, strings.Join(names, "\n")+"\n") // if git has ended, reading reports it
	}()
	out := make([]Object, len(names))
	for i, name := range names {
		var err error
		if out[i], err = readObject(o.in); err != nil {
			return nil, fmt.Errorf("read object %s: %w", name, o.why(err))
		}
	}
	<-written
	return out, nil
}

// why returns the cause of an error of the pipe.
func (o *Objects) why(err error) error {
	if o.ctx.Err() != nil {
		return context.Cause(o.ctx)
	}
	select {
	case <-o.ended:
		return o.err
	default:
		return err
	}
}

func readObject(in *bufio.Reader) (Object, error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return Object{}, err
	}
	f := strings.Fields(line)
	if n := len(f); n >= 2 && (f[n-1] == "missing" || f[n-1] == "ambiguous") {
		return Object{}, nil
	}
	if len(f) != 3 || !isHash(f[0]) {
		return Object{}, fmt.Errorf("git cat-file printed %q, which cannot be read", line[:min(len(line), 200)])
	}
	x := Object{Hash: f[0], Kind: f[1]}
	if x.Size, err = strconv.Atoi(f[2]); err != nil || x.Size < 0 {
		return Object{}, fmt.Errorf("git cat-file printed the size %q", f[2])
	}
	if x.Size > MaxBlob {
		_, err = in.Discard(x.Size + 1)
		return x, err
	}
	x.Data = make([]byte, x.Size)
	if _, err = io.ReadFull(in, x.Data); err == nil {
		_, err = in.ReadByte()
	}
	return x, err
}

// TreeEntry is a line of a tree.
type TreeEntry struct {
	Name, Mode, Hash string
}

// Folder reports whether it is a tree itself.
func (e TreeEntry) Folder() bool { return e.Mode == "40000" }

// File reports whether the entry is a regular file.
func (e TreeEntry) File() bool { return strings.HasPrefix(e.Mode, "100") }

// ParseTree reads the data of a tree whose name is as long as hash.
func ParseTree(data []byte, hash string) ([]TreeEntry, error) {
	size := len(hash) / 2
	var out []TreeEntry
	for len(data) > 0 {
		head, rest, ok := bytes.Cut(data, []byte{0})
		mode, name, ok2 := strings.Cut(string(head), " ")
		if !ok || !ok2 || name == "" || len(rest) < size || size == 0 {
			return nil, errors.New("git wrote a tree object that cannot be parsed")
		}
		out = append(out, TreeEntry{Name: name, Mode: mode, Hash: hex.EncodeToString(rest[:size])})
		data = rest[size:]
	}
	return out, nil
}
