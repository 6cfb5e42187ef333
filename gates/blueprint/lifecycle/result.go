package lifecycle

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/llm"
)

// ReviewResult is the answer of a cold reviewer (BP-19).
type ReviewResult struct {
	ServiceID       string `json:"service_id"`
	Reviewer        string `json:"reviewer"`
	ReviewTimestamp string `json:"review_timestamp"`
	// the reviewer's estimate; the value of [Fidelity] is used instead
	OverallFidelityScore    float64          `json:"overall_fidelity_score"`
	Discrepancies           []Discrepancy    `json:"discrepancies"`
	OpenQuestionUpdates     []QuestionUpdate `json:"open_question_updates"`
	PromotionRecommendation Recommendation   `json:"promotion_recommendation"`
	SummaryNote             string           `json:"summary_note"`
}

// Discrepancy is one place where code and blueprint differ.
type Discrepancy struct {
	Dimension      string   `json:"dimension"`
	Severity       Severity `json:"severity"`
	BlueprintClaim string   `json:"blueprint_claim"` // exact text of the blueprint
	CodeEvidence   string   `json:"code_evidence"`   // what the summaries show, or [NotFound]
	Recommendation string   `json:"recommendation"`
	AffectedFile   string   `json:"affected_file,omitempty"`
}

// QuestionUpdate changes the state of an open question.
type QuestionUpdate struct {
	Question string `json:"question"`
	Status   string `json:"status"` // answered, new or escalated
	Evidence string `json:"evidence"`
}

// NotFound is the evidence text for something that is missing (BP-18).
const NotFound = "not found in summary"

// Severity ranks a discrepancy.
type Severity string

// The severities.
const (
	Critical    Severity = "critical"
	Major       Severity = "major"
	Minor       Severity = "minor"
	Observation Severity = "observation"
)

// Recommendation is the decision about the unit.
type Recommendation string

// The recommendations.
const (
	Approve          Recommendation = "approve"
	ApproveWithNotes Recommendation = "approve_with_notes"
	Reject           Recommendation = "reject"
)

// Dimensions lists the dimensions of a review (BP-14).
func Dimensions() []string {
	return []string{"contract", "dependencies", "failure_modes", "intent", "open_questions"}
}

// Severities lists them, the worst first.
func Severities() []Severity { return []Severity{Critical, Major, Minor, Observation} }

// reviewers lists the valid reviewers. The first three are current names, the others come from older corpora.
func reviewers() []string { return []string{"agent", "adapter", "human", "cc", "gaia-study"} }

// The limits for the size of an answer.
const (
	mostDiscrepancies = 60
	mostQuestions     = 30
	mostText          = 2000
	maxResult         = 1 << 20
)

// Schema returns the JSON schema of a [ReviewResult].
func Schema() json.RawMessage {
	text := func(extra string) string { return fmt.Sprintf(`{"type":"string","maxLength":%d%s}`, mostText, extra) }
	enum := func(list []string) string { return `{"type":"string","enum":["` + strings.Join(list, `","`) + `"]}` }
	filled := text(`,"minLength":1`)
	return json.RawMessage(`{"type":"object","properties":{` +
		`"service_id":` + filled + `,"reviewer":` + enum(reviewers()) + `,"review_timestamp":` + filled + `,` +
		`"overall_fidelity_score":{"type":"number","minimum":0,"maximum":1},` +
		fmt.Sprintf(`"discrepancies":{"type":"array","maxItems":%d,"items":{"type":"object","properties":{`,
			mostDiscrepancies) +
		`"dimension":` + enum(Dimensions()) + `,"severity":` + enum(strings.Split(phrase.List(Severities()), ", ")) + `,` +
		`"blueprint_claim":` + filled + `,"code_evidence":` + filled + `,"recommendation":` + filled + `,"affected_file":` +
		text("") + `},` +
		`"required":["dimension","severity","blueprint_claim","code_evidence","recommendation"],"additionalProperties":false}},` +
		fmt.Sprintf(`"open_question_updates":{"type":"array","maxItems":%d,"items":{"type":"object","properties":{`,
			mostQuestions) +
		`"question":` + filled + `,"status":` + enum([]string{"answered", "new", "escalated"}) + `,"evidence":` + text("") +
		`},` +
		`"required":["question","status","evidence"],"additionalProperties":false}},` +
		`"promotion_recommendation":` + enum([]string{string(Approve), string(ApproveWithNotes), string(Reject)}) + `,` +
		`"summary_note":` + filled + `},` +
		`"required":["service_id","reviewer","review_timestamp","overall_fidelity_score","discrepancies","open_question_updates","promotion_recommendation","summary_note"],` +
		`"additionalProperties":false}`)
}

// ErrAnswer says that an answer is invalid: it has the wrong form, or is about another unit.
var ErrAnswer = errors.New("read the review")

// ParseResult parses an answer strictly: one JSON object about this unit with all fields, no unknown fields and correct
// types. It removes one fence around the whole answer, because people save answers with it.
func ParseResult(unit, text string) (ReviewResult, error) {
	if len(text) > maxResult {
		return ReviewResult{}, fmt.Errorf("%w: the answer has %d KiB; the limit is %d", ErrAnswer, len(text)>>10,
			maxResult>>10)
	}
	r, err := llm.ParseJSON[ReviewResult](llm.Unfenced(text), Schema())
	if err != nil {
		return ReviewResult{}, fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	return r, r.complete(unit)
}

// complete checks what a schema cannot, and normalizes missing evidence (BP-18).
func (r *ReviewResult) complete(unit string) error {
	var errs []error
	wrong := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("%w: %s", ErrAnswer, fmt.Sprintf(format, args...)))
	}
	if r.ServiceID != unit {
		wrong("it is about %q, not about %s", phrase.Cut(r.ServiceID, 60), unit)
	}
	if !slices.Contains(reviewers(), r.Reviewer) {
		wrong("reviewer is %q; use one of %s", phrase.Cut(r.Reviewer, 60), strings.Join(reviewers(), ", "))
	}
	if !isTime(r.ReviewTimestamp) {
		wrong("review_timestamp is %q; use a time such as 2026-01-31T12:00:00Z", phrase.Cut(r.ReviewTimestamp, 60))
	}
	if s := r.OverallFidelityScore; math.IsNaN(s) || s < 0 || s > 1 {
		wrong("overall_fidelity_score is %v; it must be 0 to 1", s)
	}
	for i := range r.Discrepancies {
		d := &r.Discrepancies[i]
		if e := strings.ToLower(strings.Trim(strings.TrimSpace(d.CodeEvidence), ".")); e == "not found" || e == NotFound {
			d.CodeEvidence = NotFound
		}
		for _, f := range []struct{ name, text string }{{"blueprint_claim", d.BlueprintClaim},
			{"code_evidence", d.CodeEvidence}, {"recommendation", d.Recommendation}} {
			if strings.TrimSpace(f.text) == "" {
				wrong("discrepancies[%d].%s is empty", i, f.name)
			}
		}
	}
	if strings.TrimSpace(r.SummaryNote) == "" {
		wrong("summary_note is empty")
	}
	return errors.Join(errs...)
}

// clean removes invisible characters and secrets from the reviewer's texts.
func (r ReviewResult) clean() ReviewResult {
	r.SummaryNote = safe(r.SummaryNote)
	r.Discrepancies, r.OpenQuestionUpdates = slices.Clone(r.Discrepancies), slices.Clone(r.OpenQuestionUpdates)
	for i := range r.Discrepancies {
		d := &r.Discrepancies[i]
		d.BlueprintClaim, d.CodeEvidence, d.Recommendation, d.AffectedFile = safe(d.BlueprintClaim), safe(d.CodeEvidence),
			safe(d.Recommendation), safe(d.AffectedFile)
	}
	for i := range r.OpenQuestionUpdates {
		q := &r.OpenQuestionUpdates[i]
		q.Question, q.Evidence = safe(q.Question), safe(q.Evidence)
	}
	return r
}

func isTime(s string) bool {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04:05.999999",
		"2006-01-02 15:04:05", time.DateOnly} {
		if _, err := time.Parse(layout, s); err == nil {
			return true
		}
	}
	return false
}

// Count returns the number of discrepancies of a severity.
func (r ReviewResult) Count(s Severity) int {
	return lists.Count(r.Discrepancies, func(d Discrepancy) bool { return d.Severity == s })
}

// Fidelity computes 1 minus the cost of the discrepancies (BP-20): 0.30 for a critical one, 0.15 for a major one, 0.05
// for a minor one, 0 for an observation. It is never below 0.
func (r ReviewResult) Fidelity() float64 {
	f := 1 - (0.30*float64(r.Count(Critical)) + 0.15*float64(r.Count(Major)) + 0.05*float64(r.Count(Minor)))
	return rounded(min(max(f, 0), 1))
}

// Divergence returns 1 minus the fidelity (BP-21).
func (r ReviewResult) Divergence() float64 { return rounded(1 - r.Fidelity()) }

// rounded removes binary rounding errors.
func rounded(f float64) float64 { return math.Round(f*1e6) / 1e6 }

// Decide returns the reviewer's recommendation, or a stricter one if the reviewer's own findings contradict it. A
// critical discrepancy rejects. A major one, or a file that the reviewer did not see, allows approval with notes at
// best.
func (r ReviewResult) Decide(unseen int) (Recommendation, string) {
	said := r.PromotionRecommendation
	switch {
	case said == Reject:
		return Reject, "the reviewer rejects it"
	case r.Count(Critical) > 0:
		return Reject, fmt.Sprintf("the reviewer says %s, but the number of critical findings is %d", said, r.Count(Critical))
	case said == Approve && r.Count(Major) > 0:
		return ApproveWithNotes,
			fmt.Sprintf("the reviewer says approve, but the number of major findings is %d", r.Count(Major))
	case said == Approve && unseen > 0:
		return ApproveWithNotes, fmt.Sprintf("the reviewer says approve, but was not shown %d of the source files", unseen)
	}
	return said, "the recommendation of the reviewer"
}

// Word returns the decision in the common words of all reviews (C-41).
func (r Recommendation) Word() string {
	switch r {
	case Approve:
		return "go"
	case ApproveWithNotes:
		return "approved, with notes"
	}
	return "stop"
}
