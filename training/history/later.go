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
	aYear      = 365 * 24 * time.Hour
	lookBack   = 4000 // commits
	longEnough = 6    // characters of a line that is not only brackets
	linesToOne = 3    // of the new lines, for each that may go
)

// successor is a version of a file that a commit made.
type successor struct {
	blob string
	time time.Time
	at   int // number of the commit
}

// successors knows what the commits before made of each file, newest first. It must see the commits newest first.
type successors struct {
	of   map[string][]successor
	seen int // commits
}

// add remembers what a commit makes of files, and forgets what is too long ago.
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

// after returns the blobs that the files of a commit have a year after it, if they are others than those that it makes.
func (s *successors) after(c git.Past) map[string]string {
	out := map[string]string{}
	for _, e := range c.Entries {
		_, blob := e.Blobs()
		for _, x := range s.of[e.Path] {
			if s.seen-x.at < lookBack && x.time.Sub(c.Time) <= aYear {
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
	var of []*work
	for _, w := range all {
		a := w.answer()
		if a.tellsLittle() != "" {
			continue
		}
		w.futures = map[string]*source{}
		for _, c := range a.changes {
			if blob := w.later[c.path]; blob != "" {
				wants, of = append(wants, want{c.path, blob}), append(of, w)
			}
		}
	}
	have, _, err := l.cache.get(l.objects, wants)
	for i, w := range of {
		w.futures[wants[i].path] = have[wants[i]]
	}
	return err
}

// redone is why a commit makes no examples much of which later commits replace: many of them have a mistake.
const redone = "later commits replace much of it within a year"

// redone reports whether later commits replace more than a third of the lines that an answer writes.
func (w *work) redone() bool {
	gone, all := 0, 0
	for _, c := range w.changes {
		have, later := map[string]bool{}, w.futures[c.path]
		if later != nil {
			for l := range strings.Lines(later.text) {
				have[strings.TrimSpace(l)] = true
			}
		}
		for _, h := range c.hunks {
			for l := range strings.Lines(c.now(h)) {
				if l = strings.TrimSpace(l); len(l) <= longEnough {
					continue
				}
				if all++; later != nil && !have[l] {
					gone++
				}
			}
		}
	}
	return linesToOne*gone > all
}
