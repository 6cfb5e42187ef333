package command

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/agents/stream"
	"github.com/runplan/runplan/internal/proc"
)

const maxShown = 60

// linger is how long a CLI may go on after it said that it was done. Some never end by themselves.
var linger = 30 * time.Second

// errLingers ends a CLI that said that it was done and did not go.
var errLingers = errors.New("it finished, but its process did not exit")

// errWaits ends a CLI that keeps trying against a limit. runplan waits better: once, until the time that is told, and in
// a way that outlives both of them.
var errWaits = errors.New("it kept trying against a limit")

// watcher follows a program while it runs: it tells the observer in plain words what the CLI's events say. The
// lines that it shows are redacted, and cut where they are long, so what counts is read from the output as it is.
type watcher struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	obs    agents.Observer
	format stream.Format
	now    func() time.Time
	hide   func(string) string // takes secrets out; may be nil
	tries  int                 // against a limit, as many as the CLI may make; 0 is no bound
	live   *stream.Parser      // of the lines of both outputs, for people
	whole  counter             // of standard output, every byte of it
	shown  []string

	mu   sync.Mutex
	done *time.Timer
}

func (a *Agent) watch(ctx context.Context, obs agents.Observer) *watcher {
	w := &watcher{obs: obs, format: a.format(), now: a.cfg.Now}
	if a.cfg.Preset != nil {
		w.tries = a.cfg.Preset.Tries
	}
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	w.live, w.whole = stream.New(w.format, w.now), counter{stream.New(w.format, w.now), w.expectEnd}
	return w
}

// counter is a parser of whose events nobody takes note: its totals count. It is the one that knows whether the CLI is
// done: the last event may be longer than a line that is shown.
type counter struct {
	*stream.Parser
	ended func(bool)
}

// Write takes a piece of output.
func (c counter) Write(b []byte) (int, error) {
	n, err := c.Parser.Write(b)
	c.Take()
	c.ended(c.Totals().Ended)
	return n, err
}

func (w *watcher) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done != nil {
		w.done.Stop()
	}
	w.cancel(nil)
}

// cutMark is how a line ends that was too long to be shown.
const cutMark = " […]"

func (w *watcher) line(text string) {
	if w.format == stream.Plain {
		if w.obs != nil {
			w.obs.Line(text)
		}
		return
	}
	whole, cut := strings.CutSuffix(text, cutMark)
	if cut && len(whole) < 4000 {
		whole, cut = text, false // it ends so by itself
	}
	w.live.Line(whole, cut)
	w.show()
	if n := w.live.Totals().Tries; w.tries > 0 && n >= w.tries {
		w.cancel(errWaits)
	}
}

func (w *watcher) show() {
	steps, _ := w.obs.(agents.StepObserver)
	for _, e := range w.live.Take() {
		if w.hide != nil { // pieces of a text come in events of their own: only together they show a secret
			e.Text, e.Input = w.hide(e.Text), w.hide(e.Input)
		}
		if steps != nil && e.Kind == stream.Tool {
			steps.Step(agents.Step{Tool: e.Tool, Text: e.Text, Input: e.Input, Cut: e.Cut})
		}
		for _, line := range e.Lines() {
			if len(line) > 4<<10 {
				line = strings.ToValidUTF8(line[:4<<10], "") + cutMark
			}
			if len(w.shown) == maxShown {
				w.shown = slices.Delete(w.shown, 0, 1)
			}
			w.shown = append(w.shown, line)
			if w.obs != nil {
				w.obs.Line(line)
			}
		}
	}
}

// expectEnd gives a CLI that is done some time to go.
func (w *watcher) expectEnd(ended bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done != nil {
		w.done.Stop()
		w.done = nil
	}
	if ended {
		w.done = time.AfterFunc(linger, func() { w.cancel(errLingers) })
	}
}

// totals is what the whole output came to.
func (w *watcher) totals() stream.Totals {
	w.live.Close()
	w.show()
	if !w.format.Lines() {
		return w.live.Totals()
	}
	w.whole.Close()
	t := w.whole.Totals()
	live := w.live.Totals()
	t.Stray = live.Stray // with those of standard error
	if t.Passing == nil {
		t.Passing = live.Passing
	}
	return t
}

// fromRollout adds what codex writes into the file of its session and not into its events: the model, and when a
// limit ends, to the second.
func fromRollout(t *stream.Totals, env []string) {
	id := strings.Map(func(r rune) rune {
		if strings.ContainsRune("0123456789abcdefABCDEF-", r) {
			return r
		}
		return -1
	}, t.Session)
	if len(id) < 8 || id != t.Session {
		return
	}
	home := proc.Getenv(env, "CODEX_HOME")
	if home == "" {
		if home = proc.Getenv(env, "HOME"); home == "" {
			return
		}
		home = filepath.Join(home, ".codex")
	}
	files, err := fs.Glob(os.DirFS(home), "sessions/*/*/*/rollout-*"+id+".jsonl")
	if err != nil || len(files) == 0 {
		return
	}
	f, err := os.Open(filepath.Join(home, filepath.FromSlash(files[0])))
	if err != nil {
		return
	}
	defer f.Close()
	model, resets := stream.Rollout(f)
	if t.Model == "" {
		t.Model = model
	}
	if t.Fault != nil && t.Fault.Kind == stream.Limit && !resets.IsZero() {
		t.Fault.RetryAt = resets
	}
}
