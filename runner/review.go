package runner

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/runplan/runplan/agents"
)

// ReviewInfo is the summary of a review (REV-04). Its findings are in the reports of the event; the file has the
// full review.
type ReviewInfo struct {
	Verdict    string   `json:"verdict"`              // pass, request-changes, block or error; skipped without a review
	Confidence *int     `json:"confidence,omitempty"` // 0 to 100; nil without a review
	Passes     []string `json:"passes,omitempty"`     // each as "name: status"
	Reviewers  []string `json:"reviewers,omitempty"`  // reviewers that were asked
	Note       string   `json:"note,omitempty"`
	Questions  []string `json:"questions,omitempty"` // open questions of a blueprint's reviewer, each as "unit: text"
	File       string   `json:"file,omitempty"`      // relative to .runplan
	Calls      int      `json:"calls,omitempty"`
}

// VerdictPass is the verdict of a review without objections.
const VerdictPass = "pass"

// reviews holds the review results of a candidate as its agent made it. A rebase does not change them, because it
// does not change the candidate's own diff.
type reviews struct{ fidelity, review Outcome }

// reviewing reports whether a candidate is in one of the two review states.
func reviewing(t *track) bool {
	return t.state == StateFidelityReview || t.state == StateSelfReview
}

// pass moves a candidate past the reviews that are done or not required.
func (m *Machine) pass(t *track) {
	if t.state == StateFidelityReview {
		switch {
		case !m.info.Fidelity, t.looked.fidelity == OutcomeSkipped:
			m.fire(t, OnSkipped)
		case t.looked.fidelity == OutcomeOK:
			m.fire(t, OnDone)
		}
	}
	if t.state != StateSelfReview || m.info.Review != "" && t.looked.review == "" {
		return
	}
	m.fire(t, OnGreen)
	if t.gated {
		t.verdict = green
	} else {
		m.fire(t, OnMoved) // it moved during the review
	}
}

// review issues a review of a candidate on its current base or, if it is not there yet, as its agent made it.
func (m *Machine) review(t *track) Command {
	c := Command{Kind: Review, Base: t.onto, Commit: t.stands.commit, Tree: t.stands.tree}
	if t.state == StateFidelityReview {
		c.Kind = Fidelity
	}
	if !t.placed {
		c.Base, c.Commit, c.Tree = t.base, t.made.commit, t.made.tree
	}
	return m.issue(t, c)
}

// reviewed applies the result of a review (REV-11).
func (m *Machine) reviewed(t *track, c Command, e Event) {
	switch {
	case e.Outcome == OutcomeOK || e.Outcome == OutcomeSkipped:
		if c.Kind == Fidelity {
			t.looked.fidelity = e.Outcome
		} else {
			t.looked.review = e.Outcome
		}
	case e.Outcome == OutcomeUndecided: // too uncertain, and no fault that an agent could correct
		t.looked.review, t.doubt = e.Outcome, cmp.Or(e.Reason, "its confidence is too low")
	case e.Outcome == OutcomeShallow && t.tries < m.info.MaxAttempts && t.failure != failureOf(e):
		m.leave(t)
		t.failure, t.after, t.reason = failureOf(e), e.Seq, e.Reason
		t.tries++
		m.nextAttempt(t)
		m.fire(t, OnShallow)
		return
	default:
		m.leave(t)
		m.failed(t, e)
		return
	}
	m.pass(t)
}

// close returns the next step after the merges: the final review, the approval of a person if required, and the
// landing.
func (m *Machine) close() []Command {
	var c Command
	if m.asking != nil && m.asking.Commit != m.tip {
		m.asking = nil // the branch has moved since the question
	}
	switch {
	case !m.anyMerged() || m.landed != "" || m.asking != nil:
		return nil
	case m.finalDue():
		c = Command{Kind: Review}
	case !m.toLand():
		return nil
	case m.info.LandBar > 0 && !m.sureEnough() && m.agreed != m.tip:
		c = Command{Kind: Ask, Why: m.unsure()}
	default:
		c = Command{Kind: LandRun}
	}
	if n := len(m.lands); n == 0 || m.lands[n-1] != m.tip {
		m.lands = append(m.lands, m.tip)
	}
	c.ID, c.Base, c.Commit = "run/"+string(c.Kind), m.info.Base, m.tip
	if n := len(m.lands); n > 1 {
		c.ID = fmt.Sprintf("run/r%d/%s", n, c.Kind)
	}
	m.out[c.ID] = c
	return []Command{c}
}

// finalDue reports whether the current tip still needs its final review.
func (m *Machine) finalDue() bool {
	return m.info.FinalReview != "" && m.anyMerged() && m.final.tip != m.tip
}

// lastWord is the result of the final review of a tip.
type lastWord struct {
	tip        string
	verdict    string
	confidence int
}

// sureEnough reports whether the final review reaches the owner's threshold for landing. A missing review never does.
func (m *Machine) sureEnough() bool {
	return m.final.tip == m.tip && m.final.verdict == VerdictPass && m.final.confidence >= m.info.LandBar
}

func (m *Machine) unsure() string {
	what := "the final review is missing"
	if m.final.tip == m.tip {
		what = fmt.Sprintf("the final review says %s and is %d %% sure", m.final.verdict, m.final.confidence)
	}
	return fmt.Sprintf("%s; the owner's threshold is pass with %d %%", what, m.info.LandBar)
}

func (m *Machine) finalReviewed(c Command, e Event) {
	m.final = lastWord{tip: c.Commit, verdict: string(e.Outcome)}
	if r := e.Review; r != nil {
		m.final.verdict = r.Verdict
		if r.Confidence != nil {
			m.final.confidence = *r.Confidence
		}
	}
}

// anyMerged reports whether a batch of this run is merged into the run branch.
func (m *Machine) anyMerged() bool {
	return slices.ContainsFunc(m.tracks, func(t *track) bool { return t.status == Passed })
}

// CritiqueCost is the cost of checking an attempt's steps. The agent's own usage does not include it.
type CritiqueCost struct {
	Model string       `json:"model,omitempty"`
	Calls int          `json:"calls"`
	Usage agents.Usage `json:"usage"`
}
