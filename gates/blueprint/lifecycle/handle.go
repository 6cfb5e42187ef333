package lifecycle

import (
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/runplan/runplan/gates/blueprint"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/rooted"
)

// Handled is the outcome of a review.
type Handled struct {
	Record    Record   `json:"review"`
	Stored    []string `json:"stored"`
	Word      string   `json:"verdict"`             // in the terms that all reviews share
	Questions int      `json:"questions_added"`     // open questions that went into the blueprint
	Returned  string   `json:"returned,omitempty"`  // the list of corrections for the author of the code
	Queued    []Item   `json:"queued"`              // critical items that wait for a person
	Found     string   `json:"blueprint,omitempty"` // the changed blueprint
}

// Handle stores a review twice and acts on it (BP-23). A rejected unit gets a list of corrections, notes become open
// questions, and critical discrepancies wait for a person.
func (r *Review) Handle(rec Record, now time.Time) (Handled, error) {
	h := Handled{Record: rec, Word: rec.Decision.Word(), Queued: []Item{}}
	var err error
	if h.Stored, err = Store(r.Root, r.Stamp, rec); err != nil {
		return h, err
	}
	if err := r.Answer(); err != nil {
		return h, err
	}
	if rec.Decision == Reject {
		h.Returned = path.Join(ReviewFolder(r.Unit, r.State), "returned_"+r.Stamp+".md")
		if err := rooted.Write(r.Root, h.Returned, []byte(returned(rec))); err != nil {
			return h, err
		}
	}
	if questions := notes(rec); len(questions) > 0 && r.Scope == "" {
		if h.Questions, err = addTo(r.Root, r.Unit, r.State, questions); err != nil {
			return h, err
		}
		if h.Questions > 0 {
			h.Found = blueprint.PathOf(r.Unit, r.State)
		}
	}
	queued, err := Enqueue(r.Root, rec, h.Stored[0])
	h.Queued = append(h.Queued, queued...)
	if err != nil {
		return h, err
	}
	text := fmt.Sprintf("%s: fidelity %.2f, %d critical, %d major, %d minor; %s", rec.Decision, rec.GroundTruthFidelity,
		rec.Count(Critical), rec.Count(Major), rec.Count(Minor), h.Stored[0])
	return h, Note(r.Root, Entry{At: now, Unit: r.Unit, Kind: "review", Text: text})
}

// notes returns what a review adds to the open questions (BP-30), with the reviewer's own questions. For a candidate
// approved with notes these are all discrepancies that cost fidelity; for a live unit, the critical and major ones.
func notes(rec Record) []string {
	var out []string
	if rec.State == blueprint.Candidate && rec.Decision != ApproveWithNotes {
		return nil
	}
	for _, d := range rec.Discrepancies {
		if d.Severity == Observation || rec.State == blueprint.Live && d.Severity == Minor {
			continue
		}
		out = append(out, fmt.Sprintf("review (%s, %s): %s: %s; %s", d.Dimension, d.Severity, phrase.Line(d.BlueprintClaim),
			phrase.Line(d.CodeEvidence), phrase.Line(d.Recommendation)))
	}
	for _, q := range rec.OpenQuestionUpdates {
		if q.Status == "new" || q.Status == "escalated" {
			out = append(out, phrase.Line(q.Question))
		}
	}
	return out
}

func addTo(root, unit string, s blueprint.State, questions []string) (int, error) {
	_, src, err := blueprint.LoadText(root, unit, s)
	if err != nil {
		return 0, err
	}
	for i := range questions {
		questions[i] = phrase.Cut(safe(questions[i]), 500)
	}
	text, n, err := blueprint.AddOpenQuestions(blueprint.PathOf(unit, s), src, questions)
	if err != nil || n == 0 {
		return n, err
	}
	return n, rooted.Write(root, blueprint.PathOf(unit, s), text)
}

// returned returns the list of corrections for the author of the code.
func returned(rec Record) string {
	var w strings.Builder
	fmt.Fprintf(&w, "# %s was rejected: %d discrepancies\n\n%s\n", rec.ServiceID, len(rec.Discrepancies),
		phrase.Line(rec.SummaryNote))
	for _, s := range Severities() {
		for _, d := range rec.Discrepancies {
			if d.Severity != s {
				continue
			}
			fmt.Fprintf(&w, "\n## %s, %s\n\n", d.Severity, d.Dimension)
			fmt.Fprintf(&w, "- Blueprint: %s\n- Code: %s\n- To do: %s\n", phrase.Line(d.BlueprintClaim),
				phrase.Line(d.CodeEvidence), phrase.Line(d.Recommendation))
			if d.AffectedFile != "" {
				fmt.Fprintf(&w, "- File: %s\n", phrase.Line(d.AffectedFile))
			}
		}
	}
	return safe(w.String())
}
