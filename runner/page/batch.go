package page

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/internal/web"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/journal"
	"github.com/runplan/runplan/runner/ledger"
	"github.com/runplan/runplan/runner/report"
	"github.com/runplan/runplan/runner/story"
)

type batchView struct {
	Run, RunTitle, Key, Number, Title string
	Row                               row
	Reason                            string
	Needs                             []needed
	Facts                             []fact
	Tries                             []try
	At                                *try
	Gates                             []gateView // gates of the attempt with something to report
	Passed, Skipped                   []quiet
	Critique                          *critiqueView
	Reviews                           []reviewView
	Brief                             string
	BriefCut                          bool
	Changed                           string // brief or log, if they are not those of the journal
	Parsed                            bool   // Talk has the agent's messages as text; Log has the raw output
	Talk                              []talkChunk
	Log                               []chunk
	LogSkipped, LogNote, Sums         string
	Working                           bool
	Diff                              diff
	Receipt                           *journal.Receipt
	ReceiptFile, ReceiptNote          string
	Retry                             string // page of the action; "" if the batch cannot be tried again now
}

type needed struct{ Number, Title, Href, Word string }

type fact struct{ Name, Value string }

// Limits of the attempt data on one page.
const (
	maxTries    = 60
	maxBrief    = 96 << 10
	maxFindings = 200
	maxPatch    = 256 << 10
)

// find returns the index of the batch in the plan.
func find(sum runner.Summary, key string) int {
	return slices.IndexFunc(sum.Batches, func(b runner.BatchSummary) bool { return b.Key == key })
}

// frame is the data of a batch from the watch of its run. All other data is read later, without the hub's lock.
type frame struct {
	run, key    string
	journal     *store.Journal
	first, last int // first and last event of the batch
	ended       bool
	sum         runner.BatchSummary
}

func (s *site) frame(ctx context.Context, run, key string) (f frame, v batchView, err error) {
	err = s.hub.with(ctx, run, func(w *watch) error {
		standing := w.printer.Standing()
		s.hub.standing(&standing.Summary)
		sum := standing.Summary
		i := find(sum, key)
		if i < 0 {
			return fmt.Errorf("the run has no batch %s", key)
		}
		b := sum.Batches[i]
		board := report.Board(standing, nil, s.Now())
		v = batchView{Run: w.run, RunTitle: cmp.Or(sum.Title, sum.Plan), Key: key, Number: b.Number, Title: b.Title,
			Row: rowOf(i, b, board.Rows[i]), Reason: b.Reason}
		if groupOf(b) == "failed" && !sum.Status.Live() && !sum.Status.Over() {
			v.Retry = "../do/" + ActRetry + "?" + url.Values{"batch": {key}}.Encode()
		}
		for _, need := range b.Needs {
			if j := find(sum, need); j >= 0 {
				v.Needs = append(v.Needs,
					needed{sum.Batches[j].Number, sum.Batches[j].Title, "../" + batchHref(need), board.Rows[j].State})
			}
		}
		v.times(standing.Course.Clock(key))
		f = frame{run: w.run, key: key, journal: s.hub.journal, ended: w.ended, sum: b}
		if m := w.marks[key]; m != nil {
			f.first, f.last = m.first, m.last
		}
		return nil
	})
	return f, v, err
}

// batchView returns a batch with the requested attempt, or the last one.
func (s *site) batchView(ctx context.Context, run, key string, q url.Values) (batchView, error) {
	f, v, err := s.frame(ctx, run, key)
	if err != nil {
		return v, err
	}
	tries, lines, err := s.tries(ctx, f)
	if err != nil {
		return v, err
	}
	attempt, _ := strconv.Atoi(q.Get("a"))
	candidate, _ := strconv.Atoi(q.Get("c"))
	first := opened(tries)
	for n := range tries {
		t := &tries[n]
		t.Name = t.name()
		if t.Candidate == 0 && slices.ContainsFunc(tries,
			func(o try) bool { return o.Number == t.Number && o.Candidate > 0 }) {
			t.Name += ", landing of the winner"
		}
		t.Href = fmt.Sprintf("?a=%d", t.Number)
		if t.Candidate > 0 {
			t.Href += fmt.Sprintf("&c=%d", t.Candidate)
		}
		if attempt == 0 && n == first || attempt == t.Number && candidate == t.Candidate {
			t.On, v.At = true, t
		}
	}
	v.Tries = tries
	v.facts(f.sum, lines)
	if v.At != nil {
		s.texts(ctx, &v)
		v.gates(v.At.Reports)
		s.reviews(&v)
	}
	if v.At == nil || v.At.Tone == "good" || attempt == 0 {
		s.receipt(&v, run, f.sum)
	}
	return v, nil
}

// opened returns the index of the attempt that a batch's page shows first: the merged one, else the winner of the last
// tournament if no attempt followed it, else the last one.
func opened(tries []try) int {
	for _, word := range []string{"merged", "won"} {
		for n := len(tries) - 1; n >= 0; n-- {
			if tries[n].Word == word && (word == "merged" || tries[n].Number == tries[len(tries)-1].Number) {
				return n
			}
		}
	}
	return len(tries) - 1
}

// times adds how long was worked for the batch and how long it waited.
func (v *batchView) times(c story.Clock) {
	if c.Last == c.First {
		return
	}
	worked := millis(c.Working)
	if len(v.Tries) > 1 {
		worked += "; concurrent work counts once"
	}
	v.Facts = append(v.Facts, fact{"worked", worked})
	if w := c.Waited(); w > 0 {
		v.Facts = append(v.Facts, fact{"waited", ui.Duration(w) + " for a free worker, its turn, a limit or a person"})
	}
}

func (v *batchView) facts(b runner.BatchSummary, lines []ledger.Line) {
	sp := ledger.Add(lines)
	add := func(name, value string) {
		if value != "" {
			v.Facts = append(v.Facts, fact{name, value})
		}
	}
	add("kind of work", b.Class)
	add("model", b.Model)
	add("tier", b.Tier)
	add("cost", costText(sp))
	if sp.Input+sp.Output > 0 {
		add("tokens", fmt.Sprintf("%s in, %s out, %s read from the cache", tokens(sp.Input), tokens(sp.Output),
			tokens(sp.CacheRead)))
	}
	if sp.Uncounted > 0 {
		add("tokens", "unknown for "+phrase.Count(sp.Uncounted, "attempt"))
	}
	if b.State == string(runner.Passed) {
		add("commit", git.Short(b.Commit))
	}
	add("tests", map[bool]string{true: v.Row.Tests}[v.Row.Tests != none])
	add("sampling", b.Sampling)
}

// texts reads the brief, the output and the changes of the attempt.
func (s *site) texts(ctx context.Context, v *batchView) {
	t := v.At
	if t.Log != "" {
		v.Working = t.Word == "editing"
		dir := path.Dir(t.Log)
		v.Brief, v.BriefCut, _ = s.hub.readAll(dir+"/"+journal.BriefFile, maxBrief)
		v.Changed = strings.Join(s.hub.Layout.Changed(dir, t.Sums), ", ")
		v.critique(s.hub, dir)
		s.says(v)
	}
	if t.Log == "" && len(v.Tries) > 1 && t.Candidate == 0 && v.Row.Candidates > 0 {
		v.LogNote = "This attempt merges the winning candidate, which has the output of the agent."
	}
	v.Diff = s.diffOf(ctx, t)
}

func (s *site) receipt(v *batchView, run string, b runner.BatchSummary) {
	if b.Receipt == "" {
		return
	}
	v.ReceiptFile = ".runplan/" + b.Receipt
	r, err := s.hub.Layout.ReadReceipt(run, b.Key, b.ReceiptSum)
	switch {
	case err == nil:
		v.Receipt = &r
	case errors.Is(err, fs.ErrNotExist):
		v.ReceiptNote = "The receipt cannot be read: it no longer exists."
	case errors.Is(err, journal.ErrReceiptChanged):
		v.ReceiptNote = "The receipt is not shown: it was changed after the merge, so it proves nothing."
	default:
		v.ReceiptNote = "The receipt cannot be read: " + err.Error()
	}
}

func (s *site) batchParts(ctx context.Context, run, key string, q url.Values) (batchView, []web.Part, error) {
	v, err := s.batchView(ctx, run, key, q)
	if err != nil {
		return v, nil, err
	}
	k := sketch{site: s}
	k.add("bhead", "batch-head", "", v)
	k.all("batch-", v, "tries", "gates", "reviews", "lognote")
	for _, c := range v.Talk {
		k.add(c.ID, "batch-talk", "talk", c)
	}
	in := "log"
	if !v.Parsed { // the raw output is the agent's text
		in = "talk"
	}
	for _, c := range v.Log {
		k.add(c.ID, "batch-chunk", in, c)
	}
	k.all("batch-", v, "brief", "diff", "receipt")
	return v, k.parts, k.err
}

func (s *site) showBatch(w http.ResponseWriter, r *http.Request, run string) error {
	v, parts, err := s.batchParts(r.Context(), run, r.PathValue("batch"), r.URL.Query())
	if err == nil {
		s.show(w, r, "batch", sheet{Title: v.Number + " " + v.Title, Section: "runs", Live: live(r), View: v}, parts)
	}
	return err
}

func (s *site) liveBatch(w http.ResponseWriter, r *http.Request, run string) error {
	key := r.PathValue("batch")
	word := ""
	s.stream(w, r, func(ctx context.Context, last string) (look web.Look, err error) {
		err = s.hub.with(ctx, run, func(at *watch) error {
			sum := at.printer.Standing().Summary
			s.hub.standing(&sum)
			look.Stamp = fmt.Sprint(sum.Status, at.marks[key].seq(), s.hub.sizes(at, key))
			return nil
		})
		if err != nil || look.Stamp == last {
			return look, err
		}
		v, parts, err := s.batchParts(ctx, run, key, r.URL.Query())
		if look.Parts = parts; word != "" && word != v.Row.Word {
			look.Said = fmt.Sprintf("batch %s: %s", v.Number, v.Row.Word)
		}
		word = v.Row.Word
		return look, err
	})
	return nil
}

// seq returns the last event of a batch; -1 if there is none.
func (m *mark) seq() int {
	if m == nil {
		return -1
	}
	return m.last
}

// Running reports whether the work of the row is still running, so that its duration grows.
func (r row) Running() bool { return !r.Since.IsZero() }
