package page

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/runplan/runplan/agents/stream"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/runner"
)

// readEnd reads the end of a file below .runplan, at most n bytes, and says how long it is. Whatever the journal says, no way
// leads out of the folder.
func (h *hub) readEnd(name string, n int64) (text string, from, size int64, err error) {
	root, err := os.OpenRoot(h.Layout.Root)
	if err != nil {
		return "", 0, 0, err
	}
	defer root.Close()
	f, err := root.Open(name)
	if err != nil {
		return "", 0, 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", 0, 0, err
	}
	if !info.Mode().IsRegular() {
		return "", 0, 0, fmt.Errorf("%s is not a file", name)
	}
	from = max(0, info.Size()-n)
	data, err := io.ReadAll(io.LimitReader(io.NewSectionReader(f, from, n), n))
	return string(data), from, info.Size(), err
}

// size is how long a file is now; 0 while it is not there.
func (h *hub) size(name string) int64 {
	root, err := os.OpenRoot(h.Layout.Root)
	if err != nil {
		return 0
	}
	defer root.Close()
	info, err := root.Stat(name)
	if err != nil {
		return 0
	}
	return info.Size()
}

// readAll reads a file that is not longer than most; "" where it is not there. cut says that there is more.
func (h *hub) readAll(name string, most int64) (text string, cut bool, err error) {
	root, err := os.OpenRoot(h.Layout.Root)
	if err != nil {
		return "", false, err
	}
	defer root.Close()
	f, err := root.Open(name)
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

// logStamp changes as agents at work write.
func (h *hub) logStamp(w *watch) string {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(w.writing())) {
		b.WriteString(h.sizes(w.marks[key]))
	}
	return b.String()
}

// stamp changes whenever the page of a run does.
func (h *hub) stamp(w *watch) string {
	s := w.printer.Standing().Summary
	h.standing(&s)
	more := time.Duration(0)
	if s.Status == runner.RunActive {
		more = h.Now().Sub(s.Updated).Truncate(5 * time.Second) // bars of what is under way grow
	}
	return fmt.Sprint(w.next, more, s.Status, s.Reason, h.logStamp(w))
}

// lastLines are the last lines of what agents at work say, by batch.
func (h *hub) lastLines(w *watch) map[string]string {
	out := map[string]string{}
	for key, logs := range w.writing() {
		name, ok := logs[0]
		if !ok {
			continue
		}
		if line := h.lastLine(name, h.Format(cmp.Or(w.marks[key].agent, w.info.Agent))); line != "" {
			out[key] = phrase.Cut(line, 160)
		}
	}
	return out
}

// lastLine is the last line of a log that says something.
func (h *hub) lastLine(name string, form stream.Format) string {
	if !form.Lines() {
		text, _, _, err := h.readEnd(name, 2<<10)
		if err != nil {
			return ""
		}
		lines := strings.FieldsFunc(uncoloured(text), func(r rune) bool { return r == '\n' || r == '\r' })
		return lastWords(slices.Values(lines))
	}
	text, from, _, err := h.readEnd(name, 24<<10)
	if err != nil {
		return ""
	}
	if from > 0 { // not in the middle of an event
		_, text, _ = strings.Cut(text, "\n")
	}
	p := stream.New(form, h.Now)
	p.Write([]byte(text))
	return lastWords(func(yield func(string) bool) {
		for _, e := range p.Take() {
			for _, l := range e.Lines() {
				if !yield(l) {
					return
				}
			}
		}
	})
}

// lastWords is the last line in which there is something.
func lastWords(lines iter.Seq[string]) string {
	last := ""
	for l := range lines {
		if l = strings.TrimSpace(l); l != "" {
			last = l
		}
	}
	return last
}

// colours match the sequences that colour text on a terminal, which harm nobody and say little here. All others are shown as what
// they are.
var colours = lazyre.New("\x1b\\[[0-9;]*m")

func uncoloured(s string) string {
	if !strings.Contains(s, "\x1b[") {
		return s
	}
	return colours.ReplaceAllString(s, "")
}

// chunk is a piece of a log, which stays as it is once it is full.
type chunk struct{ ID, Text string }

// Logs are shown from their end, in pieces.
const (
	chunkBytes = 4 << 10
	logShown   = 128 << 10
	rawShown   = 48 << 10 // beside what was made of it
)

// chunks cuts the end of a log into pieces at places that do not move as the log grows.
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

// whole moves a place in text to where a character begins, as far as there is one.
func whole(text string, at int64) int64 {
	for n := 0; n < utf8.UTFMax && at > 0 && at < int64(len(text)) && !utf8.RuneStart(text[at]); n++ {
		at++
	}
	return at
}

// sizes changes as the agents of a batch write.
func (h *hub) sizes(m *mark) string {
	if m == nil {
		return ""
	}
	var b strings.Builder
	for _, n := range slices.Sorted(maps.Keys(m.logs)) {
		fmt.Fprintf(&b, " %d", h.size(m.logs[n]))
	}
	return b.String()
}
