package page

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
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

// logStamp returns a value that changes when running agents write.
func (h *hub) logStamp(w *watch) string {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(w.writing())) {
		b.WriteString(h.sizes(w.marks[key]))
	}
	return b.String()
}

// stamp returns a value that changes when the page of a run does.
func (h *hub) stamp(w *watch) string {
	s := w.printer.Standing().Summary
	h.standing(&s)
	more := time.Duration(0)
	if s.Status == runner.RunActive {
		more = h.Now().Sub(s.Updated).Truncate(5 * time.Second) // the bars of running work grow
	}
	return fmt.Sprint(w.next, more, s.Status, s.Reason, h.logStamp(w))
}

// lastLines returns the last output line of each running agent, by batch.
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

// lastLine returns the last non-empty line of a log.
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

// sizes returns a value that changes when the agents of a batch write.
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
