package run

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/prepare"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/report"
)

// view shows a run: a live board on a terminal, plain lines elsewhere, and with --json events on standard output. All
// three use the same events.
type view struct {
	mu      sync.Mutex
	printer report.Printer
	last    map[string]string // last line of output, by batch
	drawn   time.Time
	live    *ui.Live
	plain   *ui.Plain
	style   ui.Style
	json    io.Writer
	deaf    io.Writer // receives one warning if the event output has no reader; nil after that
	stop    func()    // action of ^C while the live view reads keys
	closed  bool
}

// redrawEvery is the shortest interval at which agent output redraws the board.
const redrawEvery = 100 * time.Millisecond

func newView(a *cli.App, o prepare.RunOptions) *view {
	v := &view{last: map[string]string{}, printer: report.Printer{Zone: time.Local}}
	errFile := a.StderrFile()
	inFile, _ := a.Stdin.(*os.File)
	v.style = ui.StyleFor(a.Getenv, errFile)
	switch {
	case o.JSON:
		v.json, v.deaf = a.Stdout, a.Stderr
	case !o.Plain && errFile != nil && ui.Interactive(a.Getenv, inFile, errFile):
		v.printer.Board = true
		v.live = ui.NewLive(ui.LiveOptions{In: inFile, Out: errFile, Env: a.Environ, Style: v.style, Now: time.Now,
			Interrupt: v.interrupt})
	default:
		v.plain = ui.NewPlain(a.Stderr, v.style)
	}
	return v
}

// OnInterrupt sets the action of ^C while the live view reads the keyboard.
func (v *view) OnInterrupt(f func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.stop = f
}

func (v *view) interrupt() {
	v.mu.Lock()
	f := v.stop
	v.mu.Unlock()
	if f != nil {
		f()
	}
}

// Event shows one event of the journal.
func (v *view) Event(e runner.Event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.json != nil {
		line, err := json.Marshal(e)
		if err == nil {
			_, err = v.json.Write(append(line, '\n'))
		}
		if err != nil && v.deaf != nil {
			fmt.Fprintf(v.deaf,
				"runplan: print the events: %v\n  → some events are missing in the output; the run continues, and runplan log "+
					"--json has all of them\n", err)
			v.deaf = nil
		}
		return
	}
	for _, l := range v.printer.Lines(e) {
		v.say(l.Tone, l.Text)
	}
	if e.Kind == runner.Dispatched {
		delete(v.last, e.Batch) // the last line belongs to an earlier state
	}
	v.draw(true)
}

// Recall replays an event of an earlier session. It was already shown then.
func (v *view) Recall(e runner.Event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.printer.Lines(e)
}

// Line shows a line of an agent's output. The journal does not contain these lines.
func (v *view) Line(batch, text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if strings.HasSuffix(text, ": "+string(gates.Skipped)) {
		return // a gate that was skipped must not replace the output of running ones
	}
	v.last[batch] = text
	v.draw(false)
}

// Note shows a remark that is not an event.
func (v *view) Note(text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.json != nil {
		return // the stream holds only events; important notes are in the journal
	}
	v.say(ui.Muted, text)
}

func (v *view) say(t ui.Tone, text string) {
	if v.live != nil && !v.closed {
		v.live.Println(v.style.Line(t, text))
	} else if v.plain != nil {
		v.plain.Line(t, text)
	}
}

func (v *view) draw(now bool) {
	if v.live == nil || v.closed || !now && time.Since(v.drawn) < redrawEvery {
		return
	}
	v.drawn = time.Now()
	v.live.Update(report.Board(v.printer.Standing(), v.last, v.drawn))
}

// Close leaves the last frame on the screen. It may be called more than once.
func (v *view) Close() {
	v.mu.Lock()
	live, closed := v.live, v.closed
	v.closed = true
	v.mu.Unlock()
	if live != nil && !closed {
		live.Close()
	}
}
