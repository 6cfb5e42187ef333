package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/agents/stream"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/proc"
)

const maxShown = 60

// linger is the time that a CLI gets to exit after its final event. Some never exit.
var linger = 30 * time.Second

// patience is the time that a CLI gets for retries in a row against limits and outages. It starts with the first retry,
// or with the start of the CLI if the CLI has done no work yet.
var patience = time.Minute

// errLingers is the cause when a finished CLI did not exit in time.
var errLingers = errors.New("it finished, but its process did not exit")

// errWaits is the cause when a CLI keeps retrying against a limit. runplan waits better: once, until the reported
// time, and in a way that survives a restart.
var errWaits = errors.New("it kept retrying after it met a limit")

// watcher follows a running CLI and shows its events to the observer. The shown lines are redacted and shortened,
// so the totals come from the original output.
type watcher struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	obs    agents.Observer
	format stream.Format
	now    func() time.Time
	hide   func(string) string // removes secrets; may be nil
	tries  int                 // maximum retries of the CLI against a limit; 0 sets none
	live   *stream.Parser      // for the lines of both outputs, for display
	whole  counter             // for every byte of standard output
	shown  []string
	brake  *brake

	mu      sync.Mutex
	done    *time.Timer
	began   time.Time
	retries *time.Timer // runs while the CLI retries; see patience
}

func (a *Agent) watch(ctx context.Context, t agents.Task, args []string, obs agents.Observer) *watcher {
	w := &watcher{obs: obs, format: a.format(), now: a.cfg.Now, began: time.Now()}
	if a.cfg.Preset != nil {
		w.tries = a.cfg.Preset.Tries
	}
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	w.brake = &brake{limits: t.Limits, stop: w.cancel, seen: map[string]bool{}, cost: func(totals stream.Totals) *float64 {
		return a.usage(totals, cmp.Or(totals.Model, t.Model), args).CostUSD
	}}
	w.live, w.whole = stream.New(w.format, w.now), counter{stream.New(w.format, w.now), w.progress}
	return w
}

// counter is a parser that is used for its totals only. It detects the end of the CLI's work, because the final
// event may be longer than a shown line.
type counter struct {
	*stream.Parser
	progress func(stream.Totals) // called with the totals so far
}

// Write parses a chunk of output.
func (c counter) Write(b []byte) (int, error) {
	n, err := c.Parser.Write(b)
	c.Take()
	c.progress(c.Totals())
	return n, err
}

func (w *watcher) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, timer := range []*time.Timer{w.done, w.retries} {
		if timer != nil {
			timer.Stop()
		}
	}
	w.cancel(nil)
}

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
		whole, cut = text, false // the full text ends with cutMark
	}
	w.live.Line(whole, cut)
	w.show()
	t := w.live.Totals()
	if w.tries > 0 && t.Tries >= w.tries {
		w.cancel(errWaits)
	}
	w.endRetries(t)
}

// endRetries starts the timer that ends a CLI which only retries, or stops it when the CLI makes progress.
func (w *watcher) endRetries(t stream.Totals) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case t.Again == 0 && w.retries != nil:
		w.retries.Stop()
		w.retries = nil
	case t.Again > 0 && w.retries == nil:
		left := patience
		if t.Tools == 0 && t.Text == "" {
			left = max(0, patience-time.Since(w.began))
		}
		w.retries = time.AfterFunc(left, func() { w.cancel(errWaits) })
	}
}

func (w *watcher) show() {
	steps, _ := w.obs.(agents.StepObserver)
	for _, e := range w.live.Take() {
		if w.hide != nil { // a secret may be split over several events
			e.Text, e.Input = w.hide(e.Text), w.hide(e.Input)
		}
		if e.Kind == stream.Tool {
			w.brake.call(e)
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

// progress looks at the totals while the CLI works.
func (w *watcher) progress(t stream.Totals) {
	w.brake.used(t)
	w.expectEnd(t.Ended)
}

// expectEnd starts or stops the timer for a finished CLI to exit.
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

// totals returns the totals of the whole output.
func (w *watcher) totals() stream.Totals {
	w.live.Close()
	w.show()
	if !w.format.Lines() {
		return w.live.Totals()
	}
	w.whole.Close()
	t := w.whole.Totals()
	live := w.live.Totals()
	t.OtherLines = live.OtherLines // including lines of standard error
	t.Passing = cmp.Or(t.Passing, live.Passing)
	return t
}

// fromRollout adds data that codex writes only to its session file: the model, and the exact end of a limit.
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
	t.Model = cmp.Or(t.Model, model)
	if t.Fault != nil && t.Fault.Kind == stream.Limit && !resets.IsZero() {
		t.Fault.RetryAt = resets
	}
}

// errRunaway reports that an attempt was stopped because it made no progress, or used too many tokens or too much
// money. The text after it names the limit.
var errRunaway = errors.New("runaway attempt")

// maxCalls bounds the memory of a brake. An agent that makes more different calls than this is not in a loop.
const maxCalls = 50_000

// brake stops a running attempt if the agent only repeats earlier calls, or if it has used more tokens or money than
// one attempt may use.
type brake struct {
	limits  agents.Limits
	stop    func(error)
	cost    func(stream.Totals) *float64 // US dollars so far; nil if unknown
	seen    map[string]bool
	repeats int
}

func (b *brake) call(e stream.Event) {
	if b.limits.MaxRepeats <= 0 || e.Cut {
		b.repeats = 0 // two calls that were cut may differ
		return
	}
	key := e.Tool + "\x00" + e.Text + "\x00" + e.Input
	if !b.seen[key] {
		b.repeats = 0
		if len(b.seen) < maxCalls {
			b.seen[key] = true
		}
		return
	}
	if b.repeats++; b.repeats >= b.limits.MaxRepeats {
		b.stop(fmt.Errorf("%w: its last %d tool calls were all repetitions, most recently %s; run.max_repeats sets the limit",
			errRunaway, b.repeats, e.Tool))
	}
}

// used checks the tokens and the cost so far.
func (b *brake) used(t stream.Totals) {
	if sum := t.Tokens.Sum(); b.limits.MaxTokens > 0 && sum > b.limits.MaxTokens {
		b.stop(fmt.Errorf("%w: it used %d tokens, and one attempt may use %d; run.max_attempt_tokens sets the limit",
			errRunaway, sum, b.limits.MaxTokens))
	}
	if b.limits.MaxCostUSD <= 0 && b.limits.RunCostUSD <= 0 {
		return
	}
	cost := b.cost(t)
	if cost == nil {
		return
	}
	concurrent := 0.0
	if b.limits.ConcurrentUSD != nil {
		concurrent = b.limits.ConcurrentUSD(*cost)
	}
	switch most := b.limits.MaxCostUSD; {
	case most > 0 && *cost > most:
		b.stop(fmt.Errorf("%w: it cost %s, and it may cost %s; run.max_attempt_cost_usd sets the limit",
			errRunaway, phrase.Money(*cost), phrase.Money(most)))
	case b.limits.RunCostUSD <= 0 || *cost+concurrent <= b.limits.RunCostUSD:
	case concurrent == 0:
		b.stop(fmt.Errorf("%w: it cost %s, and it may cost %s; --max-cost sets the limit",
			errRunaway, phrase.Money(*cost), phrase.Money(b.limits.RunCostUSD)))
	default:
		b.stop(fmt.Errorf("%w: it cost %s and the concurrent attempts cost %s; together they may cost %s; --max-cost "+
			"sets the limit", errRunaway, phrase.Money(*cost), phrase.Money(concurrent), phrase.Money(b.limits.RunCostUSD)))
	}
}

// state lists the paths of the CLI's own state, with the values of env.
func (p *Preset) state(env []string) []string {
	var out []string
	for _, path := range p.State {
		if name, ok := strings.CutPrefix(path, "$"); ok {
			if path = proc.Getenv(env, name); !filepath.IsAbs(path) {
				continue
			}
		}
		out = append(out, path)
	}
	return slices.Clip(out)
}
