package page

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/runplan/runplan/agents/stream"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/recent"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/story"
)

// openLog opens a file below a folder. os.OpenInRoot prevents access outside the folder, whatever path the journal
// contains.
func openLog(dir, name string) (*os.File, fs.FileInfo, error) {
	f, err := os.OpenInRoot(dir, name)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a file", name)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// readEnd reads the last n bytes of a file below .runplan, and returns its size.
func (h *hub) readEnd(name string, n int64) (text string, from, size int64, err error) {
	f, info, err := openLog(h.Layout.Root, name)
	if err != nil {
		return "", 0, 0, err
	}
	defer f.Close()
	from = max(0, info.Size()-n)
	data, err := io.ReadAll(io.LimitReader(io.NewSectionReader(f, from, n), n))
	return string(data), from, info.Size(), err
}

// size returns the size of a file; 0 if it does not exist.
func (h *hub) size(name string) int64 {
	f, info, err := openLog(h.Layout.Root, name)
	if err != nil {
		return 0
	}
	f.Close()
	return info.Size()
}

// readAll reads up to most bytes of a file; "" if it does not exist. cut means that the file is longer.
func (h *hub) readAll(name string, most int64) (text string, cut bool, err error) {
	f, err := os.OpenInRoot(h.Layout.Root, name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if int64(len(data)) > most {
		return string(data[:most]), true, err
	}
	return string(data), false, err
}

// stamp returns a value that changes when the page of a run does.
func (h *hub) stamp(w *watch) string {
	s := w.printer.Standing().Summary
	h.standing(&s)
	more := time.Duration(0)
	if s.Status == runner.RunActive {
		more = h.Now().Sub(s.Updated).Truncate(5 * time.Second) // the bars of running work grow
	}
	return fmt.Sprint(w.next, more, s.Status, s.Reason, h.sizes(w, ""))
}

// lastLines returns the last output line of each running agent, by batch.
func (h *hub) lastLines(w *watch) map[string]string {
	out := map[string]string{}
	info := w.printer.Standing().Info
	for _, s := range w.writing("") {
		if s.Candidate > 0 {
			continue
		}
		name := h.logOf(w.run, s.Batch, s.Attempt, 0)
		if line := h.lastLine(name, h.Format(cmp.Or(s.Agent, info.Agent))); line != "" {
			out[s.Batch] = phrase.Cut(line, 160)
		}
	}
	return out
}

func (h *hub) lastLine(name string, form stream.Format) string {
	if !form.Lines() {
		text, _, _, err := h.readEnd(name, 2<<10)
		if err != nil {
			return ""
		}
		return phrase.LastLine(strings.ReplaceAll(uncoloured(text), "\r", "\n"))
	}
	text, from, _, err := h.readEnd(name, 24<<10)
	if err != nil {
		return ""
	}
	if from > 0 { // begin at the start of an event
		_, text, _ = strings.Cut(text, "\n")
	}
	p := stream.New(form, h.Now)
	p.Write([]byte(text))
	var lines []string
	for _, e := range p.Take() {
		lines = append(lines, e.Lines()...)
	}
	return phrase.LastLine(strings.Join(lines, "\n"))
}

// colours matches terminal color sequences, which are harmless and carry no information here. Other control
// sequences stay visible.
var colours = lazyre.New("\x1b\\[[0-9;]*m")

func uncoloured(s string) string {
	if !strings.Contains(s, "\x1b[") {
		return s
	}
	return colours.ReplaceAllString(s, "")
}

// chunk is a part of a log. A full chunk never changes.
type chunk struct{ ID, Text string }

// Limits of a displayed log, which is shown from its end.
const (
	chunkBytes = 4 << 10
	logShown   = 128 << 10
	rawShown   = 48 << 10 // besides the parsed form
)

// chunks splits the end of a log at positions that do not move as the log grows.
func (h *hub) chunks(name string, most int64) (list []chunk, skipped int64, err error) {
	text, from, size, err := h.readEnd(name, most+chunkBytes)
	if err != nil {
		return nil, 0, err
	}
	first := (max(0, size-most) + chunkBytes - 1) / chunkBytes // the first whole piece
	for at := first * chunkBytes; at < size; at += chunkBytes {
		begin, end := at-from, min(at+chunkBytes, size)-from
		if begin < 0 || end > int64(len(text)) {
			continue
		}
		begin, end = whole(text, begin), whole(text, end)
		list = append(list, chunk{fmt.Sprintf("log-%d", at/chunkBytes), uncoloured(text[begin:end])})
	}
	return list, first * chunkBytes, nil
}

// whole moves a position in text forward to the start of a character.
func whole(text string, at int64) int64 {
	for n := 0; n < utf8.UTFMax && at > 0 && at < int64(len(text)) && !utf8.RuneStart(text[at]); n++ {
		at++
	}
	return at
}

// sizes returns a value that changes when the agents of a batch write, or with "" any agent.
func (h *hub) sizes(w *watch, batch string) string {
	return phrase.Join(w.writing(batch), " ",
		func(s story.Span) string { return fmt.Sprint(h.size(h.logOf(w.run, s.Batch, s.Attempt, s.Candidate))) })
}

// talks caches the messages of agents with JSON output. It reads each log incrementally.
type talks struct {
	mu   sync.Mutex
	open *recent.Map[string, *talk] // by log
}

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

func (k *talk) take() {
	for _, e := range k.parser.Take() {
		for _, l := range e.Lines() {
			if len(l) > talkLineMax {
				l = strings.ToValidUTF8(l[:talkLineMax], "") + " […]"
			}
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
