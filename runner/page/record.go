package page

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/internal/web"
	"github.com/runplan/runplan/runner/journal"
	"github.com/runplan/runplan/runner/report"
)

type recordView struct {
	Run, RunTitle, Query string // Query is empty: it is what the search form begins with
	Live                 bool
	Left                 int // number of omitted lines at the beginning
}

// Limits of the lines on the page of a log, which is shown from its end.
const (
	recordChunk = 50
	maxRecord   = 3000
)

type tail struct {
	printer report.Printer
	next    int
	lines   []told
	left    int // lines that were dropped, a multiple of recordChunk
}

// recordChunkView is a part of a log. A full one never changes.
type recordChunkView struct {
	ID    string
	Lines []told
}

// read applies new events. The caller holds no lock.
func (t *tail) read(ctx context.Context, s *site, run string) error {
	for e, err := range journal.Events(ctx, s.hub.journal, run, t.next) {
		if err != nil {
			return err
		}
		t.next = e.Seq + 1
		for _, l := range t.printer.Lines(e) {
			t.lines = append(t.lines, told{e.At, l.Tone, l.Text})
		}
		if len(t.lines) > maxRecord+recordChunk {
			t.lines = append([]told(nil), t.lines[recordChunk:]...)
			t.left += recordChunk
		}
	}
	return nil
}

func (s *site) recordParts(t *tail, v recordView) ([]web.Part, error) {
	k := sketch{site: s}
	v.Left = t.left
	k.add("rhead", "record-head", "", v)
	for i := 0; i < len(t.lines); i += recordChunk {
		c := recordChunkView{fmt.Sprintf("rec-%d", (t.left+i)/recordChunk), t.lines[i:min(i+recordChunk, len(t.lines))]}
		k.add(c.ID, "record-chunk", "record", c)
	}
	return k.parts, k.err
}

func (s *site) recordOf(ctx context.Context, run string) (v recordView, err error) {
	err = s.hub.with(ctx, run, func(w *watch) error {
		sum := w.printer.Standing().Summary
		s.hub.standing(&sum)
		v = recordView{Run: run, RunTitle: cmp.Or(sum.Title, sum.Plan, run), Live: sum.Status.Live()}
		return nil
	})
	return v, err
}

func (s *site) showRecord(w http.ResponseWriter, r *http.Request, run string) error {
	v, err := s.recordOf(r.Context(), run)
	if err != nil {
		return err
	}
	t := tail{printer: report.Printer{Zone: s.Zone}}
	if err := t.read(r.Context(), s, run); err != nil {
		return err
	}
	parts, err := s.recordParts(&t, v)
	if err == nil {
		s.show(w, r, "record", sheet{Title: "Log of " + v.RunTitle, Section: "runs", Live: live(r), View: v}, parts)
	}
	return err
}

func (s *site) liveRecord(w http.ResponseWriter, r *http.Request, run string) error {
	t := tail{printer: report.Printer{Zone: s.Zone}}
	s.stream(w, r, func(ctx context.Context, last string) (look web.Look, err error) {
		before := len(t.lines) + t.left
		if err := t.read(ctx, s, run); err != nil {
			return look, err
		}
		v, err := s.recordOf(ctx, run)
		if err != nil {
			return look, err
		}
		if look.Stamp = fmt.Sprint(t.next, v.Live); look.Stamp == last {
			return look, nil
		}
		if last != "" {
			look.Said = loudest(t.lines[max(0, before-t.left):])
		}
		look.Parts, err = s.recordParts(&t, v)
		return look, err
	})
	return nil
}

// loudest returns the last important line; "" for none.
func loudest(lines []told) string {
	for _, l := range slices.Backward(lines) {
		if l.Tone == ui.Good || l.Tone == ui.Bad || l.Tone == ui.Warn {
			return l.Text
		}
	}
	return ""
}

// documentPolicy is the Content-Security-Policy of pages that are files to send: their style is in them, and they have
// no script.
const documentPolicy = "default-src 'none'; style-src 'unsafe-inline'; form-action 'none'; frame-ancestors 'none'; " +
	"base-uri 'none'"

// document sends a page without external resources.
func (s *site) document(w http.ResponseWriter, html []byte) {
	w.Header().Set("Content-Security-Policy", documentPolicy)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Write(html)
}

func (s *site) showReport(w http.ResponseWriter, r *http.Request, run string) error {
	past, err := report.PastOf(journal.Events(r.Context(), s.hub.journal, run, 0))
	if err != nil {
		return err
	}
	var b bytes.Buffer
	err = s.hub.with(r.Context(), run, func(at *watch) error {
		sum := at.printer.Standing().Summary
		s.hub.standing(&sum)
		return report.WriteHTML(&b, sum, past)
	})
	if err == nil {
		s.document(w, b.Bytes())
	}
	return err
}

func (s *site) showTrace(w http.ResponseWriter, r *http.Request, run string) error {
	html, err := s.Trace(r.Context(), run)
	if err == nil {
		s.document(w, []byte(html))
	}
	return err
}
