package web

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"time"
)

// Part is a part of a page that updates on its own: an element with an id.
type Part struct {
	ID   string `json:"id"`
	HTML string `json:"html,omitempty"` // the whole element; its id is ID
	In   string `json:"in,omitempty"`   // id of the parent element, for a new part
	Top  bool   `json:"top,omitempty"`  // insert it before all others
	Gone bool   `json:"gone,omitempty"`
}

// Look is the present state of a page.
type Look struct {
	Stamp string // equal stamps mean that nothing changed
	Parts []Part
	Said  string // text for screen readers; "" for nothing new
}

// Looking returns the present state of a page. last is the known stamp; if it has not changed, the parts may be
// omitted.
type Looking func(ctx context.Context, last string) (Look, error)

// Version returns a digest of all parts.
func Version(parts []Part) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%s\x00%s\x00", p.ID, p.HTML)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// The intervals of a stream.
const (
	lookEvery  = 300 * time.Millisecond // how often the server checks the page for changes
	aliveEvery = 15 * time.Second       // how often an idle stream sends a keep-alive
	retryAfter = 1000                   // milliseconds until a browser reconnects after a lost stream
)

// maxStreams limits the pages that are open at a time.
const maxStreams = 64

// Streams counts the streams that are open.
type Streams struct{ open atomic.Int32 }

// Serve sends the changes of a page until the browser disconnects. It compares with the page that the browser has,
// given by v in the query, or with the last one it was sent. If the server does not know that page, for example after a
// restart, the browser is told to reload: the server keeps no old pages.
func (s *Streams) Serve(w http.ResponseWriter, r *http.Request, looking Looking) {
	if s.open.Add(1) > maxStreams {
		s.open.Add(-1)
		Refuse(w, http.StatusServiceUnavailable, "Too many pages are open", "Close some of them.")
		return
	}
	defer s.open.Add(-1)
	now, err := looking(r.Context(), "")
	if err != nil {
		Refuse(w, http.StatusNotFound, "No longer available", err.Error())
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	out := stream{w: w, to: http.NewResponseController(w)}
	out.err = out.to.SetReadDeadline(time.Time{}) // the one of the request would end the stream
	has := cmp.Or(r.Header.Get("Last-Event-ID"), r.URL.Query().Get("v"))
	version := Version(now.Parts)
	out.send(fmt.Sprintf("retry: %d\nevent: hello\nid: %s\ndata: {}\n\n", retryAfter, version))
	if has != version {
		out.send(fmt.Sprintf("event: stale\nid: %s\ndata: {}\n\n", version))
	}
	known := digests(now.Parts)
	now.Parts = nil // it is no longer needed, and there may be many pages
	alive := time.Now()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for out.err == nil {
		select {
		case <-r.Context().Done():
			return
		case <-tick.C:
		}
		next, err := looking(r.Context(), now.Stamp)
		if err != nil || next.Stamp == now.Stamp { // a busy journal will be free the next time
			if time.Since(alive) > aliveEvery {
				out.send(": alive\n\n")
				alive = time.Now()
			}
			continue
		}
		now = next
		fresh := digests(now.Parts)
		if changed := changes(now.Parts, known, fresh); len(changed) > 0 || now.Said != "" {
			out.patch(Version(now.Parts), changed, now.Said)
			alive = time.Now()
		}
		known, now.Parts = fresh, nil
	}
}

type digest [8]byte

// digests returns a digest for each part, enough to know which parts changed.
func digests(parts []Part) map[string]digest {
	m := make(map[string]digest, len(parts))
	for _, p := range parts {
		sum := sha256.Sum256([]byte(p.HTML))
		m[p.ID] = digest(sum[:8])
	}
	return m
}

// changes lists the parts that differ from the browser's, in the order of the page, and then the removed ones.
func changes(parts []Part, known, fresh map[string]digest) []Part {
	var out []Part
	for _, p := range parts {
		if was, ok := known[p.ID]; !ok || was != fresh[p.ID] {
			out = append(out, p)
		}
	}
	var gone []string
	for id := range known {
		if _, ok := fresh[id]; !ok {
			gone = append(gone, id)
		}
	}
	slices.Sort(gone)
	for _, id := range gone {
		out = append(out, Part{ID: id, Gone: true})
	}
	return out
}

type stream struct {
	w   http.ResponseWriter
	to  *http.ResponseController
	err error
}

// sendTime limits the time that a browser may take to receive data.
const sendTime = 20 * time.Second

func (s *stream) send(text string) {
	if s.err != nil {
		return
	}
	if s.err = s.to.SetWriteDeadline(time.Now().Add(sendTime)); s.err != nil {
		return
	}
	if _, s.err = s.w.Write([]byte(text)); s.err == nil {
		s.err = s.to.Flush()
	}
}

func (s *stream) patch(version string, parts []Part, said string) {
	data, err := json.Marshal(struct {
		Parts []Part `json:"parts"`
		Said  string `json:"said,omitempty"`
	}{parts, said})
	if err != nil {
		s.err = err
		return
	}
	s.send(fmt.Sprintf("event: patch\nid: %s\ndata: %s\n\n", version, data))
}
