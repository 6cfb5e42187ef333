package page

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/runplan/runplan/gates/blueprint/lifecycle"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/internal/web"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/journal"
	"github.com/runplan/runplan/runner/story"
)

// Waiting holds everything that waits for a person, except the approvals of runs.
type Waiting struct {
	Owner   string // the person who signs; "" if there is none yet
	Jobs    []Job
	Queue   []lifecycle.Item  // discrepancies between blueprints and code, which only a person can close (BP-31)
	Inbox   []store.InboxItem // open messages to runplan
	Trouble []string          // read errors
}

// Job is the plan of a large feedback job, which its owner must approve.
type Job struct {
	ID, Change, Why string
	Plan, Text      string // file of the plan, and its content
	Since           time.Time
}

// Anchor returns the job's HTML id on the page.
func (j Job) Anchor() string { return "job-" + strings.ReplaceAll(j.ID, "/", "-") }

// count is the number of items that need an answer. A note needs none.
func (w Waiting) count() int {
	return len(w.Jobs) + len(w.Queue) + lists.Count(w.Inbox, func(i store.InboxItem) bool { return i.Kind != noteKind })
}

// noteKind is the kind of inbox messages that need no answer.
const noteKind = "note"

// approval is a run's request to a person.
type approval struct {
	runner.Approval
	RunTitle, Anchor, RunHref, BatchHref string
	Live                                 bool
	Answered                             string // given or denied, but not yet read by the run
	Diff                                 diff
}

// ShortRun is the short id of the run, which commands accept.
func (a approval) ShortRun() string { return short(a.Run) }

type waitingView struct {
	Waiting
	Approvals []approval
	Nothing   bool
}

func asks(s runner.Summary) int {
	if s.Status.Over() {
		return 0
	}
	return len(s.Waiting)
}

func asked(s runner.Summary, batch string) bool {
	return slices.ContainsFunc(s.Waiting, func(a runner.Approval) bool { return a.Batch == batch })
}

// approvals lists the requests of all runs, newest run first.
func (h *hub) approvals(ctx context.Context) ([]approval, error) {
	list, _, err := h.runs(ctx)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []approval
	for _, l := range list {
		if l.Asks == 0 {
			continue
		}
		w, err := h.follow(ctx, l.Run)
		if err != nil {
			return nil, err
		}
		unheard, err := journal.Unheard(ctx, h.journal, l.Run)
		if err != nil {
			return nil, err
		}
		sum := w.printer.Standing().Summary
		h.standing(&sum)
		for i, q := range sum.Waiting {
			a := approval{Approval: q, RunTitle: l.Title, Anchor: fmt.Sprintf("ask-%s-%d", short(l.Run), i+1), RunHref: "/run/" +
				l.Run + "/", Live: sum.Status.Live(), Answered: map[runner.EventKind]string{
				runner.ApprovalGiven: "approved", runner.ApprovalDenied: "denied"}[q.Answer(unheard)]}
			if q.Batch != "" {
				a.BatchHref = a.RunHref + batchHref(q.Batch)
			}
			out = append(out, a)
		}
	}
	return out, nil
}

// waitingForm is a page part with a form and the token of the browser session.
type waitingForm struct {
	View                 waitingView
	FormField, FormToken string
}

func (s *site) waitingParts(ctx context.Context) (waitingView, []web.Part, error) {
	var v waitingView
	var err error
	if v.Waiting, err = s.Options.Waiting(ctx); err != nil {
		return v, nil, err
	}
	if v.Approvals, err = s.hub.approvals(ctx); err != nil {
		return v, nil, err
	}
	for i := range v.Approvals {
		a := &v.Approvals[i]
		a.Diff = s.diffOf(ctx, &try{Attempt: story.Attempt{Base: a.Base, Commit: cmp.Or(a.Commit, a.Tree)}})
	}
	v.Nothing = len(v.Approvals)+v.count() == 0
	k := sketch{site: s}
	k.add("waiting", "waiting-body", "", waitingForm{v, web.FormField, web.FormToken(ctx)})
	return v, k.parts, k.err
}

func (s *site) showWaiting(w http.ResponseWriter, r *http.Request) {
	v, parts, err := s.waitingParts(r.Context())
	if err != nil {
		web.Refuse(w, http.StatusInternalServerError, "The list of waiting items could not be read", err.Error())
		return
	}
	s.show(w, r, "waiting", sheet{Title: "Needs you", Section: "waiting", Live: live(r), View: v}, parts)
}

// waitingEvery sets how often an open page reads the files with waiting items.
const waitingEvery = time.Second

func (s *site) liveWaiting(w http.ResponseWriter, r *http.Request) {
	var looked time.Time
	known := -1
	s.stream(w, r, func(ctx context.Context, last string) (web.Look, error) {
		if last != "" && s.Now().Sub(looked) < waitingEvery {
			return web.Look{Stamp: last}, nil
		}
		looked = s.Now()
		v, parts, err := s.waitingParts(ctx)
		look := web.Look{Stamp: web.Version(parts), Parts: parts}
		if n := len(v.Approvals) + v.count(); n != known {
			if known >= 0 {
				look.Said = fmt.Sprintf("%s for you", phrase.Count(n, "item"))
			}
			known = n
		}
		return look, err
	})
}

// act performs the action of a form and redirects to the waiting page.
func (s *site) act(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("act")
	do, ok := s.Acts[name]
	if !ok {
		web.Refuse(w, http.StatusNotFound, "Not found", "There is no action with this name.")
		return
	}
	if isRunAct(name) {
		s.actOnRun(w, r, name, do)
		return
	}
	done, err := do(r.Context(), r.PostForm)
	if err != nil {
		v, parts, perr := s.waitingParts(r.Context())
		if perr != nil {
			web.Refuse(w, http.StatusUnprocessableEntity, "Nothing was changed", err.Error())
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(http.StatusUnprocessableEntity)
		// this page has another address, so it gets no updates
		s.show(w, r, "waiting", sheet{Title: "Needs you", Section: "waiting", View: v, Failed: err.Error()}, parts)
		return
	}
	s.stale()
	http.Redirect(w, r, "/waiting?done="+done, http.StatusSeeOther)
}

// stale makes the next request rebuild the list of runs.
func (h *hub) stale() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.looked = time.Time{}
}

// Words for completed actions. The address contains a word instead of a text, so that no link can put its own text on a
// page.
const (
	DoneApproved     = "approved"
	DoneDenied       = "denied"
	DoneAcknowledged = "acknowledged"
	DoneFixed        = "fixed"
	DoneInbox        = "inbox"
	DoneCancelled    = "cancelled"
	DoneResumed      = "resumed"
	DoneStarted      = "started"
	DoneDiscarded    = "discarded"
)

func doneText(word string) string {
	return map[string]string{
		DoneApproved: "Approved. An active run continues by itself; one that has stopped, from its page or with " +
			"runplan resume; a feedback, with runplan self-fix process.",
		DoneDenied:       "Denied. The next attempt gets the reason.",
		DoneAcknowledged: "Closed without a fix: the discrepancy is acknowledged.",
		DoneFixed:        "Closed with a fix: the unit goes through a new review and promotion.",
		DoneInbox:        "Marked as done.",
		DoneCancelled:    "The run was asked to stop. It finishes the running work and starts nothing new.",
		DoneResumed:      "The run continues in a separate process.",
		DoneStarted:      "A process was started to continue the run; it has not continued it yet.",
		DoneDiscarded:    "The run is discarded.",
	}[word]
}

// needs caches the number of items that wait for a person, which all pages show. They are in several files, so
// they are not counted each time.
type needs struct {
	mu     sync.Mutex
	looked time.Time
	count  int
}

// waits counts the items that wait for a person. It omits unreadable items; their page gives the reason.
func (s *site) waits(ctx context.Context) int {
	n := &s.needs
	n.mu.Lock()
	defer n.mu.Unlock()
	if now := s.Now(); now.Sub(n.looked) >= waitingEvery {
		n.looked, n.count = now, 0
		if w, err := s.Options.Waiting(ctx); err == nil {
			n.count = w.count()
		}
		if list, _, err := s.hub.runs(ctx); err == nil {
			for _, l := range list {
				n.count += l.Asks
			}
		}
	}
	return n.count
}

// needsPart is the count in the header of a page.
func (s *site) needsPart(ctx context.Context) (web.Part, error) {
	k := sketch{site: s}
	k.add("needs", "needs", "", s.waits(ctx))
	if k.err != nil {
		return web.Part{}, k.err
	}
	return k.parts[0], nil
}

// stream sends the changed parts of a page, including its header.
func (s *site) stream(w http.ResponseWriter, r *http.Request, looking web.Looking) {
	s.streams.Serve(w, r, func(ctx context.Context, last string) (web.Look, error) {
		count := strconv.Itoa(s.waits(ctx))
		was, of, _ := strings.Cut(last, " ")
		if was != count {
			of = "" // all parts are requested
		}
		look, err := looking(ctx, of)
		if err != nil {
			return look, err
		}
		if look.Stamp = count + " " + look.Stamp; look.Stamp == last {
			return look, nil
		}
		part, err := s.needsPart(ctx)
		look.Parts = append(look.Parts, part)
		return look, err
	})
}

// stale makes the next request count the waiting items again.
func (s *site) stale() {
	s.needs.mu.Lock()
	s.needs.looked = time.Time{}
	s.needs.mu.Unlock()
	s.hub.stale()
}
