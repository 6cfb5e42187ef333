package local

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/journal"
)

const postLook = 500 * time.Millisecond

// mostSaidInPost limits the text of a post, in bytes.
const mostSaidInPost = 16 << 10

// Post sends an approval, a denial, a stop request or a note to a run, from any process. An active run reads it
// within a second, a stopped run at its resume. Each post is read once.
func Post(ctx context.Context, j *store.Journal, run string, ev runner.Event) error {
	if !ev.Kind.Outside() {
		return fmt.Errorf("post to run %s: only the run itself may write the event %s", run, ev.Kind)
	}
	if n := len(ev.Reason) + len(ev.By); n > mostSaidInPost {
		return fmt.Errorf("post to run %s: the text has %d bytes, and the limit is %d; shorten it", run, n, mostSaidInPost)
	}
	ev.Run, ev.At = run, time.Now().UTC()
	body, err := ev.Encode()
	if err != nil {
		return err
	}
	_, err = j.AddPost(ctx, store.Post{Run: run, At: ev.At, Body: body})
	return err
}

// hear reads new posts and returns the commands to start. The journal records each post with its id in the same
// transaction as its consequences.
//
// A post without runplan's signature becomes a note and has no effect.
func (s *session) hear(ctx context.Context, resuming bool) ([]runner.Command, error) {
	if err := s.Journal.Present(); err != nil {
		return nil, err
	}
	posts, err := s.Journal.Posts(ctx, s.run, s.heard)
	if err != nil {
		return nil, err
	}
	var cmds []runner.Command
	for _, p := range posts {
		ev, err := s.heardFrom(p)
		if err != nil {
			return nil, err
		}
		ev = s.machine.Heard(ev, resuming)
		more, err := s.record(ev)
		if err != nil {
			return nil, err
		}
		s.heard = p.ID
		cmds = append(cmds, more...)
	}
	if len(posts) > 1 { // a later post may have cancelled the command of an earlier one
		pending := s.machine.Pending()
		cmds = slices.DeleteFunc(cmds, func(c runner.Command) bool {
			return !slices.ContainsFunc(pending, func(p runner.Command) bool { return p.ID == c.ID })
		})
	}
	return cmds, nil
}

// heardFrom returns the event of a post, or a note if runplan did not sign the post.
func (s *session) heardFrom(p store.Post) (runner.Event, error) {
	if !s.Journal.Vouches(p) {
		return runner.Event{Kind: runner.Note, Post: p.ID, Reason: fmt.Sprintf("post %d to this run was not signed by "+
			"runplan and is ignored: another program wrote it into the journal", p.ID)}, nil
	}
	ev, err := journal.Posted(p)
	if err != nil {
		return ev, err
	}
	ev.Reason, ev.By = s.said(ev.Reason), s.said(ev.By)
	return ev, nil
}

// said redacts a person's text for the journal.
func (s *session) said(text string) string { return redact.Clean(s.work.redact.String(text)) }

// AppendAfterwards records a person's action on a stopped run, as its last event. The caller must have the lock of the
// run.
func AppendAfterwards(ctx context.Context, j *store.Journal, ev runner.Event) error {
	if !ev.Kind.Afterwards() {
		return fmt.Errorf("append to run %s: only the run itself may write the event %s", ev.Run, ev.Kind)
	}
	for last, err := range journal.Events(ctx, j, ev.Run, 0) {
		if err != nil {
			return err
		}
		ev.Seq = last.Seq + 1
	}
	ev.At = time.Now().UTC()
	records, err := encode([]runner.Event{ev})
	if err != nil {
		return err
	}
	return j.Append(ctx, records...)
}
