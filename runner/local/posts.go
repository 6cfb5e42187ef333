package local

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/runner"
)

// postLook is how often a run looks for what others posted to it.
const postLook = 500 * time.Millisecond

// mostSaidInPost bounds the words of a post, in bytes.
const mostSaidInPost = 16 << 10

// Post says something to a run from whichever process: that a person agrees or does not, or that the run is to stop. A
// run that is at work takes it up within a second, one that is stopped when it goes on. Each post is taken up once.
func Post(ctx context.Context, j *store.Journal, run string, ev runner.Event) error {
	if !ev.Kind.Outside() {
		return fmt.Errorf("post to run %s: an event %s is for the run itself to tell", run, ev.Kind)
	}
	if n := len(ev.Reason) + len(ev.By); n > mostSaidInPost {
		return fmt.Errorf("post to run %s: %d bytes of text, at most %d are taken; say it in fewer words", run, n, mostSaidInPost)
	}
	ev.Run, ev.At = run, time.Now().UTC()
	body, err := ev.Encode()
	if err != nil {
		return err
	}
	_, err = j.AddPost(ctx, store.Post{Run: run, At: ev.At, Body: body})
	return err
}

// Unheard lists what was posted to a run that it has not taken up yet, in order.
func Unheard(ctx context.Context, j *store.Journal, run string) ([]runner.Event, error) {
	posts, err := j.Posts(ctx, run, 0)
	if err != nil || len(posts) == 0 {
		return nil, err
	}
	heard := int64(0)
	for ev, err := range events(ctx, j, run, 0) {
		if err != nil {
			return nil, err
		}
		heard = max(heard, ev.Post)
	}
	posts = slices.DeleteFunc(posts, func(p store.Post) bool { return p.ID <= heard || !j.Vouches(p) })
	out := make([]runner.Event, len(posts))
	for i, p := range posts {
		if out[i], err = eventOf(p); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func eventOf(p store.Post) (runner.Event, error) {
	var ev runner.Event
	if err := json.Unmarshal(p.Body, &ev); err != nil {
		return ev, fmt.Errorf("journal: post %d to run %s cannot be read: %w", p.ID, p.Run, err)
	}
	ev.Post = p.ID
	return ev, nil
}

// hear takes up what was posted and returns what is to be done. The journal has each post as an event with its id, in
// the transaction in which it is acted on.
//
// A post that runplan did not sign is told, and counts for nothing.
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
	if len(posts) > 1 { // a later one may have called off what an earlier one asked for
		pending := s.machine.Pending()
		cmds = slices.DeleteFunc(cmds, func(c runner.Command) bool {
			return !slices.ContainsFunc(pending, func(p runner.Command) bool { return p.ID == c.ID })
		})
	}
	return cmds, nil
}

// heardFrom is what a post says, or a note about one that runplan did not write.
func (s *session) heardFrom(p store.Post) (runner.Event, error) {
	if !s.Journal.Vouches(p) {
		return runner.Event{Kind: runner.Note, Post: p.ID, Reason: fmt.Sprintf("post %d to this run was not signed by runplan and is ignored: another program wrote it into the journal", p.ID)}, nil
	}
	ev, err := eventOf(p)
	if err != nil {
		return ev, err
	}
	ev.Reason, ev.By = s.said(ev.Reason), s.said(ev.By)
	return ev, nil
}

// said is what a person said, as the journal may have it.
func (s *session) said(text string) string { return redact.Clean(s.work.redact.String(text)) }
