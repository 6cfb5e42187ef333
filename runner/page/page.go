// Package page shows runs in a browser, and lets a person answer open questions.
//
// A page consists of parts, which are computed from the journal. The package reads new events from the journal,
// whichever process writes them. So the page of a run does not depend on the process that executes the run.
// [web.Streams] describes when a part is sent. The memory of a run does not grow with its events; rarely needed data (a
// brief, a diff, findings) is read on request.
//
// All text from plans, agents and tools is escaped by html/template and, character by character, by [web.Visible].
package page

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/agents/stream"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/recent"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/internal/web"
	"github.com/runplan/runplan/routing"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/journal"
	"github.com/runplan/runplan/runner/ledger"
)

// Options selects the displayed data, and the functions for a person's decisions.
type Options struct {
	Name    string // of the project
	Layout  journal.Layout
	Repo    *git.Repo
	Alive   func([]runner.Summary) // corrects runs whose process is gone
	Sign    func(*store.Journal)   // makes a journal tell what runplan wrote
	Waiting func(context.Context) (Waiting, error)
	Acts    map[string]Act                                                 // by the name that forms send them to
	Preview func(ctx context.Context, act, run string) (Outcome, error)    // an error is why the command would refuse
	Trace   func(ctx context.Context, run string) (html string, err error) // the tasks of its plan that a run proved
	// the output format of an agent's program
	Format func(agent string) stream.Format
	Now    func() time.Time
	Zone   *time.Location
}

// Act performs a person's decision, and describes it in one line. It does the same as the command.
type Act func(ctx context.Context, form url.Values) (done string, err error)

// templates is a variable because embed knows no constants.
//
//go:embed templates/*.tmpl
var templates embed.FS

type site struct {
	Options
	hub     *hub
	streams web.Streams
	tmpl    *template.Template
	cache   learned
	diffs   *recent.Shared[[2]string, diff] // recent ones by base and commit, because pages are drawn often
	needs   needs
}

func newSite(o Options) *site {
	t := template.Must(template.New("pages").Funcs(template.FuncMap{
		"icon":     func(tone any) string { return ui.Style{}.Icon(ui.Tone(fmt.Sprint(tone))) },
		"unix":     func(t time.Time) int64 { return t.Unix() },
		"time":     func(t time.Time) string { return t.In(o.Zone).Format("2006-01-02 15:04") },
		"iso":      func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"hour":     func(t time.Time) string { return t.In(o.Zone).Format("15:04:05") },
		"line":     phrase.Line,
		"duration": millis,
		"findings": func(list []found) gateView {
			return gateView{Findings: list[:min(len(list), maxFindings)], More: max(0, len(list)-maxFindings)}
		},
	}).ParseFS(templates, "templates/*.tmpl"))
	return &site{Options: o, hub: newHub(o), tmpl: t,
		diffs: recent.NewShared[[2]string](keptDiffs, func(diff) int { return 1 })}
}

// New returns the pages.
func New(o Options) http.Handler {
	s := newSite(o)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.showRuns)
	mux.HandleFunc("GET /live/runs", s.liveRuns)
	mux.HandleFunc("GET /run/{run}/{$}", s.ofRun(s.showRun))
	mux.HandleFunc("GET /live/run/{run}", s.ofRun(s.liveRun))
	mux.HandleFunc("GET /run/{run}/batch/{batch}", s.ofRun(s.showBatch))
	mux.HandleFunc("GET /live/run/{run}/batch/{batch}", s.ofRun(s.liveBatch))
	mux.HandleFunc("GET /run/{run}/batch/{batch}/review", s.ofRun(s.showBatchReview))
	mux.HandleFunc("GET /run/{run}/review", s.ofRun(s.showRunReview))
	mux.HandleFunc("GET /run/{run}/candidates/{batch}", s.ofRun(s.showCandidates))
	mux.HandleFunc("GET /run/{run}/log", s.ofRun(s.showRecord))
	mux.HandleFunc("GET /live/run/{run}/log", s.ofRun(s.liveRecord))
	mux.HandleFunc("GET /run/{run}/search", s.ofRun(s.showSearch))
	mux.HandleFunc("GET /run/{run}/report", s.ofRun(s.showReport))
	mux.HandleFunc("GET /run/{run}/trace", s.ofRun(s.showTrace))
	mux.HandleFunc("GET /waiting", s.showWaiting)
	mux.HandleFunc("GET /live/waiting", s.liveWaiting)
	mux.HandleFunc("GET /learning", s.showLearning)
	mux.HandleFunc("GET /run/{run}/do/{act}", s.ofRun(s.showConfirmation))
	mux.HandleFunc("POST /act/{act}", s.act)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		web.Refuse(w, http.StatusNotFound, "Not there", "This page does not exist.")
	})
	return mux
}

// ofRun returns the handler of a page about one run. An error of show, which then has written nothing, means that
// there is no such page.
func (s *site) ofRun(show func(w http.ResponseWriter, r *http.Request, run string) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		run, err := s.hub.find(r.Context(), r.PathValue("run"))
		if err == nil {
			err = show(w, r, run)
		}
		if err != nil {
			missing(w, err)
		}
	}
}

// sheet holds the data that all pages share.
type sheet struct {
	Project, Title, Section string
	FormField, FormToken    string
	Live, Version           string // the address of the page, and its data
	Needs                   template.HTML
	Done, Failed            string
	Parts                   map[string]template.HTML
	View                    any
}

// part draws one part of a page. It makes invisible and bidirectional characters visible, for all parts.
func (s *site) part(name string, data any) (string, error) {
	var b bytes.Buffer
	if err := s.tmpl.ExecuteTemplate(&b, name, data); err != nil {
		return "", fmt.Errorf("draw %s: %w", name, err)
	}
	return web.Visible(b.String()), nil
}

// sketch collects parts, until one cannot be drawn.
type sketch struct {
	site  *site
	parts []web.Part
	err   error
}

func (k *sketch) add(id, name, in string, data any) {
	if k.err != nil {
		return
	}
	var html string
	if html, k.err = k.site.part(name, data); k.err == nil {
		k.parts = append(k.parts, web.Part{ID: id, HTML: strings.TrimSpace(html), In: in})
	}
}

// all adds parts about v. The template of each has the name of the part, after prefix.
func (k *sketch) all(prefix string, v any, ids ...string) {
	for _, id := range ids {
		k.add(id, prefix+id, "", v)
	}
}

// show writes a page made of parts. A part of another part is shown inside it.
func (s *site) show(w http.ResponseWriter, r *http.Request, name string, sh sheet, parts []web.Part) {
	sh.Project, sh.FormField, sh.FormToken = s.Name, web.FormField, web.FormToken(r.Context())
	sh.Done = doneText(r.URL.Query().Get("done"))
	needs, err := s.needsPart(r.Context())
	if err != nil {
		web.Refuse(w, http.StatusInternalServerError, "The page could not be rendered", err.Error())
		return
	}
	sh.Version, sh.Parts = web.Version(append(slices.Clip(parts), needs)), map[string]template.HTML{}
	for _, p := range parts {
		// Parts are drawn by templates that escape.
		if p.In != "" {
			sh.Parts[p.In] += template.HTML(p.HTML)
			continue
		}
		sh.Parts[p.ID] = template.HTML(p.HTML)
	}
	sh.Needs = template.HTML(needs.HTML)
	html, err := s.part(name, sh)
	if err != nil {
		web.Refuse(w, http.StatusInternalServerError, "The page could not be rendered", err.Error())
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprint(w, html)
}

// missing answers a request for something that does not exist.
func missing(w http.ResponseWriter, err error) {
	web.Refuse(w, http.StatusNotFound, "Not there", err.Error())
}

// live returns the address of a page's event stream: its own address below /live, with its query.
func live(r *http.Request) string {
	u := url.URL{Path: "/live" + strings.TrimSuffix(r.URL.Path, "/")}
	if r.URL.Path == "/" {
		u.Path = "/live/runs"
	}
	q := r.URL.Query()
	q.Del("done")
	u.RawQuery = q.Encode()
	return u.String()
}

func batchHref(key string) string { return "batch/" + url.PathEscape(key) }

// reasonOf returns the reason for the state of a run, with the end of a pause.
func (o Options) reasonOf(s runner.Summary) string {
	if s.Status != runner.RunPaused || s.Until.IsZero() {
		return s.Reason
	}
	return strings.TrimSuffix("until "+s.Until.In(o.Zone).Format("2006-01-02 15:04")+": "+s.Reason, ": ")
}

// toneOf returns the tone of a row. An idle row is not shown as active.
func toneOf(r ui.Row) ui.Tone {
	if r.Still && r.Tone == ui.Busy {
		return ui.Idle
	}
	return r.Tone
}

func modeOf(s runner.Summary) string {
	if s.Mode == string(routing.Team) {
		return fmt.Sprintf("team of %d", s.Workers)
	}
	return s.Mode
}

// costText formats the known and the unknown parts of a sum.
func costText(s ledger.Sum) string {
	var parts []string
	if s.BilledUSD != nil {
		parts = append(parts, phrase.Money(*s.BilledUSD))
	}
	if s.PlanUSD != nil {
		parts = append(parts, phrase.Money(*s.PlanUSD)+" paid by a subscription")
	}
	if s.Unknown > 0 && s.Unknown == s.Attempts {
		return "unknown"
	}
	if s.Unknown > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d unknown", s.Unknown, s.Attempts))
	}
	switch {
	case s.Attempts == 0:
		return none
	case len(parts) == 0:
		return "nothing"
	}
	return strings.Join(parts, " + ")
}

// none is the text for an empty value, as opposed to an unknown one.
const none = "–"

// tokens writes a number of tokens so that it can be compared at a glance.
func tokens(n int64) string {
	switch {
	case n >= 10_000_000:
		return fmt.Sprintf("%.0f M", float64(n)/1e6)
	case n >= 1_000_000:
		return fmt.Sprintf("%.1f M", float64(n)/1e6)
	case n >= 10_000:
		return fmt.Sprintf("%.0f k", float64(n)/1e3)
	case n >= 1000:
		return fmt.Sprintf("%.1f k", float64(n)/1e3)
	}
	return fmt.Sprint(n)
}

func millis(ms int64) string { return ui.Duration(time.Duration(ms) * time.Millisecond) }

func short(hash string) string { return hash[:min(len(hash), 8)] }

func nodeID(i int) string { return fmt.Sprintf("n-%d", i+1) }
func rowID(i int) string  { return fmt.Sprintf("b-%d", i+1) }
