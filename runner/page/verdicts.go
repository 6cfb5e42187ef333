package page

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/review"
	"github.com/runplan/runplan/internal/cells"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/web"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/journal"
	"github.com/runplan/runplan/runner/story"
)

// gateView is a gate with something to report, or a pass of a review.
type gateView struct {
	Name, Word, Tone, Note, Command, Output, Log string
	Findings                                     []found
	More                                         int
}

// quiet is a gate with no more than a short note.
type quiet struct{ Name, Note string }

type found struct {
	gates.Finding
	State    string // round of the review
	Citation string // what the reviewer quoted
}

func toneOfStatus(s gates.Status) string {
	return map[gates.Status]string{gates.Fail: "bad", gates.Errored: "bad", gates.Warn: "warn", gates.Skipped: "muted",
		gates.Pass: "good"}[s]
}

func gateViewOf(name string, r gates.Report, list []found) gateView {
	g := gateView{
		Name: name, Word: string(r.Status), Tone: toneOfStatus(r.Status), Note: r.Note, Command: r.Command,
		Output: strings.TrimSpace(uncoloured(r.Output)), Log: r.Log, Findings: list,
	}
	if n := len(list) - maxFindings; n > 0 {
		g.Findings, g.More = list[:maxFindings], n
	}
	return g
}

func foundOf(list []gates.Finding) []found {
	return lists.Map(list, func(f gates.Finding) found { return found{Finding: f} })
}

// gates sorts the reports of gates: those with something to report come first. The critique's report is shown
// separately.
func (v *batchView) gates(reports []gates.Report) {
	rank := map[gates.Status]int{gates.Fail: 0, gates.Errored: 1, gates.Warn: 2, gates.Skipped: 3, gates.Pass: 4}
	sorted := slices.Clone(reports)
	slices.SortStableFunc(sorted, func(a, b gates.Report) int { return rank[a.Status] - rank[b.Status] })
	for _, r := range sorted {
		name := r.Gate
		if r.Tests != nil {
			name += fmt.Sprintf(" (%d passed, %d failed, %d skipped)", r.Tests.Passed, r.Tests.Failed, r.Tests.Skipped)
		}
		if text := r.Proof.String(); text != "" {
			r.AddNote(text)
		}
		switch {
		case r.Gate == "critique" && v.Critique != nil:
		case r.Status == gates.Pass && len(r.Findings) == 0 && (r.Proof == nil || r.Proof.Held == nil):
			v.Passed = append(v.Passed, quiet{name, r.Note})
		case r.Status == gates.Skipped && len(r.Findings) == 0 && r.Output == "":
			v.Skipped = append(v.Skipped, quiet{name, r.Note})
		default:
			v.Gates = append(v.Gates, gateViewOf(name, r, foundOf(r.Findings)))
		}
	}
}

// critiqueView shows the critique of the agent's steps (FIX-29).
type critiqueView struct {
	Word, Tone, Note string
	Shown, Kept      []found // shown to the agent's next attempt; kept for the review
	Asked            string
}

// critique reads the critique of the attempt in dir.
func (v *batchView) critique(h *hub, dir string) {
	text, _, err := h.readAll(dir+"/"+journal.CritiqueFile, maxReview)
	var c journal.Critique
	if err != nil || text == "" || json.Unmarshal([]byte(text), &c) != nil {
		return // the report of the gates already says it
	}
	v.Critique = &critiqueView{Word: string(c.Report.Status), Tone: toneOfStatus(c.Report.Status), Note: c.Report.Note,
		Shown: foundOf(c.High), Kept: foundOf(c.Kept)}
	if n := c.Cost.Calls; n > 0 {
		v.Critique.Asked = strings.TrimSpace(c.Cost.Model + ", asked " + phrase.Count(n, "time"))
	}
}

// reviewView is a review: of a batch, of its blueprints, or of a whole run.
type reviewView struct {
	Title, Word, Tone, Text string
	Passes                  []gateView // passes with findings
	Quiet                   []quiet    // the other passes, each with its result
	Questions               []string
	Href, File, Trouble     string
}

// maxReview limits the bytes that are read of a review.
const maxReview = 2 << 20

// reviews shows the reviews of the attempt, the last one first.
func (s *site) reviews(v *batchView) {
	for n, r := range slices.Backward(v.At.Reviews) {
		if r.Info == nil {
			continue
		}
		title, of := "Review", ""
		if r.Kind == runner.Fidelity {
			title, of = "Review of its blueprints", "fidelity"
		}
		view := s.reviewView(title, *r.Info)
		if slices.ContainsFunc(v.At.Reviews[n+1:],
			func(later story.Review) bool { return later.Info != nil && later.Info.File == r.Info.File }) {
			continue // the file is the later one's
		}
		if len(view.Passes)+len(view.Quiet) == 0 {
			for _, rep := range r.Reports {
				view.Passes = append(view.Passes, gateViewOf(rep.Gate, rep, foundOf(rep.Findings)))
			}
		}
		q := url.Values{"a": {strconv.Itoa(v.At.Number)}, "c": {strconv.Itoa(v.At.Candidate)}, "of": {of}}
		view.Href = url.PathEscape(v.Key) + "/review?" + q.Encode()
		v.Reviews = append(v.Reviews, view)
	}
}

// reviewView reads a review from its file. Without the file, it uses the passes in the journal.
func (s *site) reviewView(title string, info runner.ReviewInfo) reviewView {
	v := reviewView{Title: title, Word: info.Verdict, Tone: toneOfVerdict(info.Verdict), Text: info.Note,
		Questions: info.Questions, File: info.File}
	if info.Confidence != nil {
		v.Word += fmt.Sprintf(", %d %% sure", *info.Confidence)
	}
	if len(info.Reviewers) > 0 {
		v.Text = strings.Trim("by "+strings.Join(info.Reviewers, ", ")+"; "+v.Text, "; ")
	} else if info.Confidence != nil {
		v.Text = strings.Trim("by programs only; "+v.Text, "; ")
	}
	var whole review.Review
	text, cut, err := "", false, error(nil)
	if info.File != "" {
		text, cut, err = s.hub.readAll(info.File, maxReview)
	}
	switch {
	case info.File == "":
	case err != nil:
		v.Trouble = "The review cannot be read: " + err.Error()
	case text == "":
		v.Trouble = "The review no longer exists."
	case cut:
		v.Trouble = "The review is too long to be shown here."
	default:
		if err := json.Unmarshal([]byte(text), &whole); err != nil {
			v.Trouble = "The review cannot be read: " + err.Error()
		}
	}
	if len(whole.Passes) == 0 {
		for _, p := range info.Passes {
			name, word, _ := strings.Cut(p, ": ")
			v.Quiet = append(v.Quiet, quiet{name, word})
		}
		return v
	}
	for _, p := range whole.Passes {
		v.pass(p)
	}
	return v
}

func (v *reviewView) pass(p review.Pass) {
	name := fmt.Sprintf("%d %s", p.Number, p.Name)
	if p.ConfidencePct != nil {
		name += fmt.Sprintf(", %d %% sure", *p.ConfidencePct)
	}
	var list []found
	for _, f := range p.Findings {
		state := string(f.State)
		if f.Unproven {
			state = strings.Trim(state+", its quotation is not in the change", ", ")
		}
		list = append(list, found{f.Finding, state, f.Citation})
	}
	if len(list) == 0 && p.Status != gates.Fail && p.Status != gates.Errored {
		note, _, _ := strings.Cut(p.Note, "\n")
		v.Quiet = append(v.Quiet, quiet{name, strings.TrimSuffix(string(p.Status)+", "+cells.Cut(note, 200, "…"), ", ")})
		return
	}
	g := gateViewOf(name, p.Report, list)
	g.Output = "" // of its gates, whose findings are here
	v.Passes = append(v.Passes, g)
}

func toneOfVerdict(verdict string) string {
	switch verdict {
	case runner.VerdictPass:
		return "good"
	case string(review.Block):
		return "bad"
	case "skipped":
		return "muted"
	}
	return "warn"
}

func (s *site) showBatchReview(w http.ResponseWriter, r *http.Request, run string) error {
	f, _, err := s.frame(r.Context(), run, r.PathValue("batch"))
	if err != nil {
		return err
	}
	tries, _, err := s.tries(r.Context(), f)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	for _, t := range tries {
		if strconv.Itoa(t.Number) != q.Get("a") || strconv.Itoa(t.Candidate) != q.Get("c") {
			continue
		}
		for _, x := range slices.Backward(t.Reviews) {
			if x.Info != nil && (x.Kind == runner.Fidelity) == (q.Get("of") == "fidelity") {
				return s.kept(w, x.Info.File)
			}
		}
	}
	web.Refuse(w, http.StatusNotFound, "Not there", "This attempt was not reviewed.")
	return nil
}

func (s *site) showRunReview(w http.ResponseWriter, r *http.Request, run string) error {
	var info *runner.ReviewInfo
	err := s.hub.with(r.Context(), run, func(at *watch) error {
		info = at.printer.Standing().Summary.Review
		return nil
	})
	switch {
	case err != nil:
		return err
	case info == nil:
		web.Refuse(w, http.StatusNotFound, "Not there", "The run has had no final review.")
		return nil
	}
	return s.kept(w, info.File)
}

// kept serves a file below .runplan as text.
func (s *site) kept(w http.ResponseWriter, name string) error {
	text, cut, err := s.hub.readAll(name, maxReview)
	switch {
	case err != nil:
		return err
	case text == "":
		web.Refuse(w, http.StatusNotFound, "Not there", "The file .runplan/"+name+" no longer exists.")
		return nil
	case cut:
		text += "\n[…] the rest is in .runplan/" + name + "\n"
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	fmt.Fprint(w, web.Visible(text))
	return nil
}
