package page

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"sync"

	"github.com/runplan/runplan/agents/stream"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/recent"
)

// talks caches the messages of agents with JSON output. It reads each log incrementally.
type talks struct {
	mu   sync.Mutex
	open *recent.Map[string, *talk] // by log
}

// talk holds the messages of one agent.
type talk struct {
	parser *stream.Parser
	at     int64 // read position in the log
	begun  int64 // position where reading began
	lines  []talkLine
	first  int // number of the first kept line
	size   int
}

// talkLine is a line with the kind of its [stream.Event], as a CSS class.
type talkLine struct{ Class, Text string }

// talkChunk is a part of a talk. A full chunk never changes.
type talkChunk struct {
	ID    string
	Lines []talkLine
}

// Limits of a cached talk. A longer log is read from its end.
const (
	maxTalks    = 8 // the cache holds up to twice as many
	talkRead    = 8 << 20
	talkBytes   = 192 << 10
	talkInChunk = 40
	talkLineMax = 4 << 10
)

// heard is the current content of a talk.
type heard struct {
	chunks []talkChunk
	left   bool // earlier lines were dropped
	totals stream.Totals
}

// hear reads the new part of a log. ended means that the log is complete.
func (h *hub) hear(name string, form stream.Format, ended bool) (heard, error) {
	t := &h.talks
	t.mu.Lock()
	defer t.mu.Unlock()
	k, _ := t.open.Get(name)
	if k == nil {
		k = &talk{parser: stream.New(form, h.Now)}
		t.open.Put(name, k)
	}
	if err := k.read(h.Layout.Root, name); err != nil {
		t.open.Put(name, nil)
		return heard{}, err
	}
	if ended {
		k.parser.Close()
		k.take()
	}
	return heard{k.chunks(), k.first > 0 || k.begun > 0, k.parser.Totals()}, nil
}

// errRewritten means that a log is shorter than before.
var errRewritten = errors.New("the log was rewritten")

// read parses the new part of the log.
func (k *talk) read(dir, name string) error {
	f, info, err := openLog(dir, name)
	if err != nil {
		return err
	}
	defer f.Close()
	switch {
	case info.Size() < k.at:
		return errRewritten
	case k.at == 0 && info.Size() > talkRead:
		k.begun = info.Size() - talkRead
		k.at = k.begun
	}
	buf := make([]byte, 64<<10)
	middle := k.begun > 0 && k.at == k.begun // skip the incomplete first line
	for k.at < info.Size() {
		n, err := f.ReadAt(buf[:min(int64(len(buf)), info.Size()-k.at)], k.at)
		piece := string(buf[:n])
		k.at += int64(n)
		if middle {
			var found bool
			_, piece, found = strings.Cut(piece, "\n")
			middle = !found
		}
		k.parser.Write([]byte(piece))
		k.take()
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if n == 0 {
			break
		}
	}
	return nil
}

// take converts the parsed events to lines.
func (k *talk) take() {
	for _, e := range k.parser.Take() {
		for _, l := range e.Lines() {
			l = cutBytes(l, talkLineMax)
			k.lines = append(k.lines, talkLine{string(e.Kind), l})
			k.size += len(l)
		}
	}
	for k.size > talkBytes && len(k.lines) > talkInChunk {
		for _, l := range k.lines[:talkInChunk] {
			k.size -= len(l.Text)
		}
		k.lines = append(k.lines[:0:0], k.lines[talkInChunk:]...)
		k.first += talkInChunk
	}
}

func cutBytes(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + " […]"
}

func (k *talk) chunks() []talkChunk {
	var out []talkChunk
	for i := 0; i < len(k.lines); i += talkInChunk {
		lines := append([]talkLine(nil), k.lines[i:min(i+talkInChunk, len(k.lines))]...)
		out = append(out, talkChunk{fmt.Sprintf("talk-%d", (k.first+i)/talkInChunk), lines})
	}
	return out
}

// says reads the agent's output of the attempt: parsed if its format is known, and raw.
func (s *site) says(v *batchView) {
	t := v.At
	form := s.Format(t.Agent)
	most := int64(logShown)
	if v.Parsed = form.Lines(); v.Parsed {
		most = rawShown
	}
	chunks, skipped, err := s.hub.chunks(t.Log, most)
	switch {
	case errors.Is(err, fs.ErrNotExist) && v.Working:
		v.LogNote = "The agent has no output yet."
		return
	case errors.Is(err, fs.ErrNotExist):
		v.LogNote = "The agent's output does not exist: .runplan/" + path.Clean(t.Log) + " no longer exists."
		return
	case err != nil:
		v.LogNote = "The agent's output cannot be read: " + err.Error()
		return
	case len(chunks) == 0:
		v.LogNote = "The agent has no output."
		return
	}
	v.Log = chunks
	if skipped > 0 {
		v.LogSkipped = fmt.Sprintf("%d KiB before this are in .runplan/%s", skipped>>10, t.Log)
	}
	if !v.Parsed {
		return
	}
	said, err := s.hub.hear(t.Log, form, !v.Working)
	if err != nil {
		v.LogNote = "The agent's output cannot be read: " + err.Error()
		return
	}
	v.Talk, v.Sums = said.chunks, sums(said.totals)
	if len(said.chunks) == 0 {
		v.LogNote = "The agent has written no text yet."
	}
	if v.LogSkipped = ""; said.left {
		v.LogSkipped = "The beginning is omitted; it is in .runplan/" + t.Log
	}
}

// sums formats the totals that an agent's program reported.
func sums(t stream.Totals) string {
	var parts []string
	if t.Tools > 0 {
		parts = append(parts, phrase.Count(t.Tools, "tool call"))
	}
	for _, x := range []struct {
		n    *int64
		what string
	}{{t.Tokens.Input, "tokens in"}, {t.Tokens.Output, "out"}, {t.Tokens.CacheRead, "read from the cache"}} {
		if x.n != nil {
			parts = append(parts, tokens(*x.n)+" "+x.what)
		}
	}
	if t.CostUSD != nil {
		cost := phrase.Money(*t.CostUSD) + " by its own word"
		if t.OnPlan {
			cost += ", paid by a subscription"
		}
		parts = append(parts, cost)
	}
	return strings.Join(parts, ", ")
}
