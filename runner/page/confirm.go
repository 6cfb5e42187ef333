package page

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/runner"
)

// Names of the actions on a run. Each is a command that a person could type.
const (
	ActCancel  = "cancel"
	ActResume  = "resume"
	ActRetry   = "retry"
	ActDiscard = "discard"
)

// Outcome describes what an action would do, according to its command's dry run.
type Outcome struct {
	Lines   []string
	Changed bool // resume: the plan was changed, and its present version must be accepted
}

type confirmation struct {
	Act, Run, Batch          string
	RunTitle, Title, Command string
	Will                     []string
	Outcome
	Refused string // why the command would refuse
	Button  string
	Back    string
}

// action is a link to the page that describes an action.
type action struct{ Text, Href string }

// runActions lists the actions that the state of a run allows.
func runActions(sum runner.Summary) []action {
	switch {
	case sum.Status.Live():
		return []action{{"Stop the run…", "do/" + ActCancel}}
	case sum.Status.Over() || sum.Status == "":
		return nil
	}
	return []action{{"Go on with the run…", "do/" + ActResume}, {"Discard the run…", "do/" + ActDiscard}}
}

// confirmationOf describes an action on a run. It is an error if there is no such action, run or batch.
func (s *site) confirmationOf(ctx context.Context, act, run, batch string) (confirmation, error) {
	var d confirmation
	err := s.hub.with(ctx, run, func(w *watch) error {
		sum := w.printer.Standing().Summary
		s.hub.standing(&sum)
		d = confirmation{Act: act, Run: run, Batch: batch, RunTitle: cmp.Or(sum.Title, sum.Plan, run), Back: "/run/" + run +
			"/"}
		switch act {
		case ActCancel:
			d.cancel(sum)
		case ActResume:
			d.resume(sum, *w.printer.Standing().Info)
		case ActRetry:
			return d.retry(sum, *w.printer.Standing().Info)
		case ActDiscard:
			d.discard(sum)
		default:
			return fmt.Errorf("unknown action %s", act)
		}
		return nil
	})
	if err != nil || d.Refused != "" {
		return d, err
	}
	if d.Outcome, err = s.Preview(ctx, act, run); err != nil {
		d.Refused = err.Error()
	}
	if d.Changed {
		d.Command += " --accept-changes"
	}
	return d, nil
}

func (d *confirmation) cancel(sum runner.Summary) {
	d.Title, d.Button, d.Command = "Stop the run", "Stop the run", "runplan cancel "+short(d.Run)
	work := slices.DeleteFunc(batchesIn(sum, "work"), func(b runner.BatchSummary) bool { return asked(sum, b.Key) })
	if len(work) > 0 {
		d.Will = append(d.Will, "The running batches are finished first: "+batchNames(work)+".")
	}
	d.Will = append(d.Will,
		"No other step starts.",
		mergedOf(sum)+" merged, and stay merged.",
		"The run can continue later, from this page or with runplan resume "+short(d.Run)+".")
}

func (d *confirmation) resume(sum runner.Summary, info runner.Info) {
	d.Title, d.Button, d.Command = "Go on with the run", "Go on", "runplan resume "+short(d.Run)
	if failed := batchesIn(sum, "failed"); len(failed) > 0 {
		d.Will = append(d.Will, fmt.Sprintf("Tried again, up to %s each: %s.",
			phrase.Count(max(1, info.MaxAttempts), "attempt"), batchNames(failed)))
	}
	d.rest(sum)
}

// rest describes what a resume does besides failed batches.
func (d *confirmation) rest(sum runner.Summary) {
	if rest := append(batchesIn(sum, "work"), batchesIn(sum, "waiting")...); len(rest) > 0 {
		d.Will = append(d.Will, "Begun or continued: "+batchNames(rest)+".")
	}
	d.Will = append(d.Will, mergedOf(sum)+" merged, and are skipped while their receipts verify.")
	if n := asks(sum); n > 0 {
		d.Will = append(d.Will, fmt.Sprintf("The run waits for %s; until then it stops at the same place.",
			phrase.Count(n, "answer")))
	}
	d.Will = append(d.Will,
		"The run is a separate process. It continues when this page ends; stop it from here or with runplan cancel "+
			short(d.Run)+".")
}

func (d *confirmation) retry(sum runner.Summary, info runner.Info) error {
	i := find(sum, d.Batch)
	if i < 0 {
		return fmt.Errorf("the run has no batch %s", d.Batch)
	}
	b := sum.Batches[i]
	d.Title, d.Button, d.Command = "Try batch "+b.Number+" again", "Try again", "runplan resume "+short(d.Run)
	d.Back += batchHref(b.Key)
	if g := groupOf(b); g != "failed" {
		d.Refused = fmt.Sprintf("batch %s has not failed: it is %s", b.Number, cmp.Or(b.State, g))
		return nil
	}
	d.Will = append(d.Will, fmt.Sprintf("Batch %s, %s, gets up to %s.", b.Number, b.Title,
		phrase.Count(max(1, info.MaxAttempts), "new attempt")))
	others := slices.DeleteFunc(batchesIn(sum, "failed"), func(o runner.BatchSummary) bool { return o.Key == b.Key })
	if len(others) > 0 {
		d.Will = append(d.Will, "The whole run continues, so these are retried too: "+batchNames(others)+".")
	}
	d.rest(sum)
	return nil
}

func (d *confirmation) discard(sum runner.Summary) {
	d.Title, d.Button, d.Command = "Discard the run", "Discard the run for good", "runplan discard "+short(d.Run)
	d.Will = append(d.Will, "The run is given up permanently and cannot be resumed.")
	if n := asks(sum); n > 0 {
		d.Will = append(d.Will, phrase.Count(n, "question")+" of the run "+map[bool]string{true: "is", false: "are"}[n == 1]+
			" withdrawn.")
	}
	d.Will = append(d.Will,
		"A new run of "+sum.Plan+" starts from the beginning.",
		"The journal, the logs and the receipts stay.")
}

// batchesIn returns the batches of a group, see [groupOf].
func batchesIn(sum runner.Summary, group string) []runner.BatchSummary {
	return slices.DeleteFunc(slices.Clone(sum.Batches), func(b runner.BatchSummary) bool { return groupOf(b) != group })
}

func mergedOf(sum runner.Summary) string {
	return fmt.Sprintf("%d of %s are", len(batchesIn(sum, "merged")), phrase.Count(len(sum.Batches), "batch", "batches"))
}

// maxNames limits the batches that a sentence names.
const maxNames = 8

func batchNames(list []runner.BatchSummary) string {
	names := lists.Map(list, func(b runner.BatchSummary) string { return b.Number + " " + b.Title })
	return strings.Join(phrase.First(names, maxNames), ", ")
}

// showConfirmation describes an action, with the button that performs it.
func (s *site) showConfirmation(w http.ResponseWriter, r *http.Request, run string) error {
	s.confirm(w, r, r.PathValue("act"), run, r.URL.Query().Get("batch"), nil)
	return nil
}

// confirm shows an action with the error of an attempt to perform it, if there was one.
func (s *site) confirm(w http.ResponseWriter, r *http.Request, act, run, batch string, failed error) {
	d, err := s.confirmationOf(r.Context(), act, run, batch)
	if err != nil {
		missing(w, cmp.Or(failed, err))
		return
	}
	sh := sheet{Title: d.Title, Section: "runs", View: d}
	if failed != nil {
		sh.Failed = failed.Error()
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(http.StatusUnprocessableEntity)
	}
	s.show(w, r, "confirm", sh, nil)
}

// actOnRun performs a confirmed action on a run and redirects to the page of the run.
func (s *site) actOnRun(w http.ResponseWriter, r *http.Request, act string, do Act) {
	form := r.PostForm
	run, err := s.hub.find(r.Context(), form.Get("run"))
	if err != nil {
		missing(w, err)
		return
	}
	if act == ActRetry { // the command has no such refusal, because it tries all failed batches
		d, err := s.confirmationOf(r.Context(), act, run, form.Get("batch"))
		if err != nil {
			missing(w, err)
			return
		}
		if d.Refused != "" {
			s.confirm(w, r, act, run, form.Get("batch"), fmt.Errorf("%s", d.Refused))
			return
		}
	}
	form.Set("run", run)
	done, err := do(context.WithoutCancel(r.Context()), form) // a closed browser does not interrupt the action
	s.stale()
	if err != nil {
		s.confirm(w, r, act, run, form.Get("batch"), err)
		return
	}
	http.Redirect(w, r, "/run/"+run+"/?"+url.Values{"done": {done}}.Encode(), http.StatusSeeOther)
}

// Fields returns the hidden fields of the form that confirms the action.
func (d confirmation) Fields() []fact {
	out := []fact{{"run", d.Run}}
	if d.Batch != "" {
		out = append(out, fact{"batch", d.Batch})
	}
	if d.Changed {
		out = append(out, fact{"accept", "yes"})
	}
	return out
}

func isRunAct(name string) bool {
	return slices.Contains([]string{ActCancel, ActResume, ActRetry, ActDiscard}, name)
}
