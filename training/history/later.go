package history

import (
	"maps"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/git"
)

// Limits of [successors].
const (
	soon       = 3 * 24 * time.Hour
	lookBack   = 1000 // commits
	longEnough = 6    // characters of a line that is not only brackets
)

// successor is the version of a file that a commit makes of another one.
type successor struct {
	blob string
	time time.Time
	at   int // number of the commit
}

// successors knows what the commits before made of versions of files. It must see the commits newest first.
type successors struct {
	next map[want]successor
	seen int // commits
}

// add remembers what a commit makes of files, and forgets what is too long ago.
func (s *successors) add(c git.Past) {
	if s.next == nil {
		s.next = map[want]successor{}
	}
	if s.seen++; s.seen%chunk == 0 {
		maps.DeleteFunc(s.next, func(_ want, x successor) bool { return s.seen-x.at > lookBack })
	}
	if len(c.Parents) > 1 {
		return
	}
	for _, e := range c.Entries {
		if before, after := e.Blobs(); before != "" && after != "" && wanted(e) {
			s.next[want{e.Path, before}] = successor{after, c.Time, s.seen}
		}
	}
}

// of returns the blobs that the files of a commit have soon after it, if they are others than those that it makes.
func (s *successors) of(c git.Past) map[string]string {
	out := map[string]string{}
	for _, e := range c.Entries {
		_, blob := e.Blobs()
		for at := s.seen + 1; ; { // of the commit that made the version
			x, ok := s.next[want{e.Path, blob}]
			if !ok || x.at >= at || s.seen-x.at >= lookBack || x.time.Sub(c.Time) > soon {
				break
			}
			blob, at = x.blob, x.at
			out[e.Path] = blob
		}
	}
	return out
}

// redone is why a commit makes no examples whose lines a later one soon changes: many of them have a mistake.
const redone = "a later commit soon changes it again"

// redone reports whether a later commit soon changes lines that a commit writes.
func (w *work) redone() bool {
	for _, c := range w.changes {
		if c.after == nil || c.later == nil {
			continue
		}
		have := map[string]bool{}
		for l := range strings.Lines(c.later.text) {
			have[strings.TrimSpace(l)] = true
		}
		for _, h := range c.hunks {
			for l := range strings.Lines(c.now(h)) {
				if l = strings.TrimSpace(l); len(l) > longEnough && !have[l] {
					return true
				}
			}
		}
	}
	return false
}
