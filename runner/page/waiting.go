package page

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/web"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/local"
)

// Waiting is what waits for a person beside the approvals that runs ask for.
type Waiting struct {
	Owner   string // who signs; "" is nobody yet
	Jobs    []Job
	Queue   []QueueItem
	Inbox   []Said
	Trouble []string // why something could not be read
}

// Job is the plan of a feedback that is a large job, which its owner has to approve.
type Job struct {
	ID, Change, Why string
	Plan, Text      string // file of the plan, and what is in it
	Since           time.Time
}

// Anchor is where it stands on the page.
func (j Job) Anchor() string { return "job-" + strings.ReplaceAll(j.ID, "/", "-") }

// QueueItem is a discrepancy between a blueprint and its code that only a person closes (BP-31).
type QueueItem struct {
	ID, Unit, Dimension, Severity   string
	Claim, Evidence, Recommendation string
	File                            string
	At                              time.Time
}

// Said is something that was said to runplan and is not done.
type Said struct {
	ID                            int64
	Kind, Body, Reply, From, Repo string
	At                            time.Time
}

func (w Waiting) count() int { return len(w.Jobs) + len(w.Queue) + len(w.Inbox) }

// approval is what a run asks a person for.
type approval struct {
	runner.Approval
	RunTitle, Anchor, RunHref, BatchHref string
	Live                                 bool
	Answered                             string // given or denied; the run has not taken it up yet
	Diff                                 diff
}

type waitingView struct {
	Waiting
	Approvals []approval
	Nothing   bool
}

// asks is how many questions of a run wait for an answer.
func asks(s runner.Summary) int {
	if s.Status.Over() {
		return 0
	}
	return len(s.Waiting)
}

// approvals lists what runs ask for, the newest run first.
func (h *hub) approvals(ctx context.Context) ([]approval, error) {
	list, _, err := h.runs(ctx)
	if errors.Is(err, errNoRuns) {
		return nil, nil
	}
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
		unheard, err := local.Unheard(ctx, h.journal, l.Run)
		if err != nil {
			return nil, err
		}
		sum := w.printer.Standing().Summary
		h.standing(&sum)
		for i, q := range sum.Waiting {
			a := approval{Approval: q, RunTitle: l.Title, Anchor: fmt.Sprintf("ask-%s-%d", short(l.Run), i+1), RunHref: "/run/" + l.Run + "/", Live: sum.Status.Live()}
			if q.Batch != "" {
				a.BatchHref = a.RunHref + batchHref(q.Batch)
			}
			for _, e := range unheard {
				if e.Command == q.Command && e.Commit == q.Commit && e.Tree == q.Tree {
					a.Answered = map[bool]string{true: "approved", false: "denied"}[e.Kind == runner.ApprovalGiven]
				}
			}
			out = append(out, a)
		}
	}
	return out, nil
}

// waitingForm is a part with a form, which needs the token of the browser that it is drawn for.
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
		a.Diff = s.diffOf(ctx, &try{Base: a.Base, Commit: cmp.Or(a.Commit, a.Tree)})
	}
	v.Nothing = len(v.Approvals)+v.count() == 0
	k := sketch{site: s}
	k.add("waiting", "waiting-body", "", waitingForm{v, web.FormField, web.FormToken(ctx)})
	return v, k.parts, k.err
}

func (s *site) showWaiting(w http.ResponseWriter, r *http.Request) {
	v, parts, err := s.waitingParts(r.Context())
	if err != nil {
		s.refuse(w, r, http.StatusInternalServerError, "What waits could not be read", err.Error())
		return
	}
	s.show(w, r, "waiting", sheet{Title: "Needs you", Section: "waiting", Live: live(r), View: v}, parts)
}

// waitingEvery is how often a page that is open looks for what waits, which lies in several files.
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

// act does what a form says, and leads back to where it stood.
func (s *site) act(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("act")
	do, ok := s.Acts[name]
	if !ok {
		s.refuse(w, r, http.StatusNotFound, "Not there", "There is nothing to do under this name.")
		return
	}
	done, err := do(r.Context(), r.PostForm)
	if err != nil {
		v, parts, perr := s.waitingParts(r.Context())
		if perr != nil {
			s.refuse(w, r, http.StatusUnprocessableEntity, "Nothing was done", err.Error())
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(http.StatusUnprocessableEntity)
		s.show(w, r, "waiting", sheet{Title: "Needs you", Section: "waiting", View: v, Failed: err.Error()}, parts) // it stands under another address, so it does not listen
		return
	}
	s.stale()
	http.Redirect(w, r, "/waiting?done="+done, http.StatusSeeOther)
}

// stale has the list of runs made anew for whoever asks next.
func (h *hub) stale() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.looked = time.Time{}
}

// Words for what was done. A page says nothing that an address tells it to say: the address has one of these.
const (
	DoneApproved     = "approved"
	DoneDenied       = "denied"
	DoneAcknowledged = "acknowledged"
	DoneFixed        = "fixed"
	DoneInbox        = "inbox"
)

func doneText(word string) string {
	return map[string]string{
		DoneApproved:     "Approved. A run that is at work goes on by itself; one that has stopped, with runplan resume; a feedback, with runplan self-fix process.",
		DoneDenied:       "Denied. The next attempt is told why.",
		DoneAcknowledged: "Closed without a fix: the discrepancy is acknowledged.",
		DoneFixed:        "Closed with a fix: the unit goes through a new review and promotion.",
		DoneInbox:        "Marked as done.",
	}[word]
}
