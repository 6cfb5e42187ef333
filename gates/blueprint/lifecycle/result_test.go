package lifecycle

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// answer returns a review in the form that a model writes.
func answer(discrepancies, recommendation string) string {
	return `{"service_id":"orders","reviewer":"agent","review_timestamp":"2026-01-31T12:00:00Z","overall_fidelity_score":0.5,` +
		`"discrepancies":[` + discrepancies +
		`],"open_question_updates":[{"question":"Who pays?","status":"new","evidence":"core"}],` +
		`"promotion_recommendation":"` + recommendation + `","summary_note":"It is so. It was so."}`
}

func one(severity string) string {
	return `{"dimension":"contract","severity":"` + severity +
		`","blueprint_claim":"GET /orders/{id}","code_evidence":"Not found.","recommendation":"Add it."}`
}

func many(counts map[Severity]int) string {
	var out []string
	for _, s := range Severities() {
		for range counts[s] {
			out = append(out, one(string(s)))
		}
	}
	return strings.Join(out, ",")
}

func TestParseResult(t *testing.T) {
	for _, text := range []string{answer(one("major"), "approve"), "```json\n" + answer(one("major"), "approve") +
		"\n```\n"} {
		r, err := ParseResult("orders", text)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Discrepancies) != 1 || r.Discrepancies[0].CodeEvidence != NotFound ||
			r.OpenQuestionUpdates[0].Status != "new" {
			t.Errorf("%+v", r)
		}
	}
}

func TestParseResultRejectsInvalidAnswers(t *testing.T) {
	good := answer(one("major"), "approve")
	edit := func(old, with string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("no %q", old)
		}
		return strings.Replace(good, old, with, 1)
	}
	for name, text := range map[string]string{
		"prose":             "The code is fine.",
		"prose before":      "Here it is: " + good,
		"text behind":       good + " And more.",
		"two":               good + good,
		"cut":               good[:len(good)-5],
		"another unit":      edit(`"orders"`, `"billing"`),
		"unknown field":     edit(`"reviewer"`, `"mood":"good","reviewer"`),
		"twice":             edit(`"reviewer":"agent"`, `"reviewer":"agent","reviewer":"human"`),
		"missing field":     edit(`,"summary_note":"It is so. It was so."`, ``),
		"empty note":        edit(`It is so. It was so.`, ` `),
		"score as text":     edit(`0.5`, `"0.5"`),
		"score above":       edit(`0.5`, `1.01`),
		"unknown severity":  edit(`"major"`, `"huge"`),
		"unknown dimension": edit(`"contract"`, `"style"`),
		"unknown word":      edit(`"approve"`, `"lgtm"`),
		"nobody":            edit(`"agent"`, `"the author"`),
		"no time":           edit(`2026-01-31T12:00:00Z`, `yesterday`),
		"empty claim":       edit(`GET /orders/{id}`, ` `),
		"null list":         edit(`[`+one("major")+`]`, `null`),
		"array":             "[" + good + "]",
		"nothing":           "",
	} {
		if r, err := ParseResult("orders", text); err == nil {
			t.Errorf("%s: was read as %+v", name, r)
		}
	}
}

// F = clamp(1 - (0.30 c + 0.15 m + 0.05 n), 0, 1), observations do not count, and D = 1 - F (BP-20, BP-21).
func TestFidelity(t *testing.T) {
	for _, c := range []struct {
		critical, major, minor, observation int
		want                                float64
	}{
		{0, 0, 0, 0, 1}, {0, 0, 0, 9, 1}, {1, 0, 0, 0, 0.70}, {0, 1, 0, 0, 0.85}, {0, 0, 1, 0, 0.95}, {1, 1, 1, 1, 0.50},
		{0, 0, 3, 0, 0.85},
		{2, 2, 2, 0, 0}, {3, 0, 1, 0, 0.05}, {9, 9, 9, 9, 0},
	} {
		text := answer(many(map[Severity]int{Critical: c.critical, Major: c.major, Minor: c.minor,
			Observation: c.observation}), "reject")
		r, err := ParseResult("orders", text)
		if err != nil {
			t.Fatal(err)
		}
		if r.Fidelity() != c.want || math.Abs(r.Fidelity()+r.Divergence()-1) > 1e-9 {
			t.Errorf("%+v: F %v D %v", c, r.Fidelity(), r.Divergence())
		}
	}
	r := ReviewResult{Discrepancies: make([]Discrepancy, 0)}
	for range 2 {
		r.Discrepancies = append(r.Discrepancies, Discrepancy{Severity: Minor})
	}
	if fmt.Sprint(r.Divergence()) != "0.1" {
		t.Errorf("the divergence is not rounded: %v", r.Divergence())
	}
}

// An approval that contradicts the reviewer's own findings is downgraded.
func TestDecide(t *testing.T) {
	for _, c := range []struct {
		said            Recommendation
		critical, major int
		unseen          int
		want            Recommendation
	}{
		{Approve, 0, 0, 0, Approve}, {Approve, 1, 0, 0, Reject}, {Approve, 0, 1, 0, ApproveWithNotes},
		{Approve, 0, 0, 1, ApproveWithNotes},
		{ApproveWithNotes, 0, 0, 0, ApproveWithNotes}, {ApproveWithNotes, 1, 0, 0, Reject}, {Reject, 0, 0, 0, Reject},
	} {
		r := ReviewResult{PromotionRecommendation: c.said}
		for range c.critical {
			r.Discrepancies = append(r.Discrepancies, Discrepancy{Severity: Critical})
		}
		for range c.major {
			r.Discrepancies = append(r.Discrepancies, Discrepancy{Severity: Major})
		}
		if got, why := r.Decide(c.unseen); got != c.want || why == "" {
			t.Errorf("%+v: %s (%s)", c, got, why)
		}
	}
}

// ParseResult does not panic on any answer, and an accepted review is valid.
func FuzzParseResult(f *testing.F) {
	f.Add(answer(one("critical")+","+one("minor"), "reject"))
	f.Add("```json\n" + answer("", "approve") + "\n```")
	f.Add(`{"service_id":"orders","discrepancies":[{}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseResult("orders", text)
		if err != nil {
			return
		}
		if fid := r.Fidelity(); fid < 0 || fid > 1 || r.ServiceID != "orders" || r.SummaryNote == "" {
			t.Fatalf("%+v", r)
		}
		if d, _ := r.Decide(0); r.Count(Critical) > 0 && d != Reject {
			t.Fatalf("a critical discrepancy is %s", d)
		}
	})
}
