package history

import (
	"context"
	"maps"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/git"
)

// Limits of [successors] and [work.redone].
const (
	lookBack   = 4000 // commits
	longEnough = 6    // characters of a line that is not only brackets
)

// lasting holds how long the new lines of an answer must stay. Commits that later commits soon correct have more
// mistakes, see docs/training.md.
var lasting = [...]struct {
	span  time.Duration
	lines int // for each line that may go; 0: none may, and none may be indented otherwise
}{{14 * 24 * time.Hour, 0}, {365 * 24 * time.Hour, 3}}

// successor is a version of a file that a commit made.
type successor struct {
	blob string
	time time.Time
	at   int // number of the commit
}

// successors holds the versions of each file that the commits seen so far made. It must see the commits newest first.
type successors struct {
	of   map[string][]successor
	seen int // commits
}

// add stores the versions that a commit makes, and drops versions from commits that are too far away.
func (s *successors) add(c git.Past) {
	if s.of == nil {
		s.of = map[string][]successor{}
	}
	if s.seen++; s.seen%chunk == 0 {
		for path, list := range s.of {
			for len(list) > 0 && s.seen-list[0].at >= lookBack {
				list = list[1:]
			}
			s.of[path] = list
		}
		maps.DeleteFunc(s.of, func(_ string, list []successor) bool { return len(list) == 0 })
	}
	if len(c.Parents) > 1 {
		return
	}
	for _, e := range c.Entries {
		if _, after := e.Blobs(); after != "" && wanted(e) {
			s.of[e.Path] = append(s.of[e.Path], successor{after, c.Time, s.seen})
		}
	}
}

// after returns the blobs that the files of a commit have span later, if these differ from the blobs of the commit.
func (s *successors) after(c git.Past, span time.Duration) map[string]string {
	out := map[string]string{}
	for _, e := range c.Entries {
		_, blob := e.Blobs()
		for _, x := range s.of[e.Path] {
			if s.seen-x.at < lookBack && x.time.Sub(c.Time) <= span {
				if blob != "" && x.blob != blob {
					out[e.Path] = x.blob
				}
				break
			}
		}
	}
	return out
}

// futures reads what later commits make of the files of those commits that may make an example of edits.
func (l *loader) futures(_ context.Context, all []*work) error {
	var wants []want
	var to []map[string]*source
	for _, w := range all {
		a := w.answer()
		if a.leavesOpen() != "" {
			continue
		}
		for i := range lasting {
			w.futures[i] = map[string]*source{}
			for _, c := range a.changes {
				if blob := w.later[i][c.path]; blob != "" {
					wants, to = append(wants, want{c.path, blob}), append(to, w.futures[i])
				}
			}
		}
	}
	have, _, err := l.cache.get(l.objects, wants)
	for i, future := range to {
		future[wants[i].path] = have[wants[i]]
	}
	return err
}

// redone is the reason why a commit makes no examples if later commits soon correct it or replace much of it: many of
// these commits have a mistake.
const redone = "later commits replace a line of it within two weeks, or much of it within a year"

// redone reports whether later commits replace too many of the lines that an answer writes, see [lasting].
func (w *work) redone() bool {
	for i, l := range lasting {
		if gone, all := w.replaced(w.futures[i], l.lines == 0); gone > 0 && (l.lines == 0 || l.lines*gone > all) {
			return true
		}
	}
	return false
}

// replaced counts the lines that an answer writes (all), and how many of them are missing in later versions of its
// files (gone).
func (w *work) replaced(futures map[string]*source, exact bool) (gone, all int) {
	trim := strings.TrimSpace
	if exact {
		trim = func(l string) string { return strings.TrimRight(l, " \t\r\n") }
	}
	for _, c := range w.changes {
		have, later := map[string]bool{}, futures[c.path]
		if later != nil {
			for l := range strings.Lines(later.text) {
				have[trim(l)] = true
			}
		}
		for _, h := range c.hunks {
			for l := range strings.Lines(c.now(h)) {
				if l = trim(l); len(strings.TrimSpace(l)) <= longEnough {
					continue
				}
				if all++; later != nil && !have[l] {
					gone++
				}
			}
		}
	}
	return gone, all
}
