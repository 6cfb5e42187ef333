package runner

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/routing"
)

// failed moves a failure to the debug state and decides the next step (RUN-10).
func (m *Machine) failed(t *track, e Event) {
	same := t.failure != "" && t.failure == failureOf(e)
	t.failure, t.after, t.reason = failureOf(e), e.Seq, e.Reason
	if same {
		t.reason = "stuck: two attempts in a row left the same tree and the same findings; " + e.Reason
		t.tries = m.info.MaxAttempts
	}
	if t.state == StateSelfReview {
		m.fire(t, OnComplex)
	} else {
		m.fire(t, OnFailed)
	}
	if e.Hopeless && t.hopeless {
		t.reason = "not tried again, because it failed in the same way twice: " + e.Reason
		t.tries = m.info.MaxAttempts
	}
	t.hopeless = e.Hopeless
	if t.tries >= m.info.MaxAttempts {
		t.status = Failed
		m.fire(t, OnExhausted)
		return
	}
	if next, ok := routing.NextTier(t.tier); ok && m.info.Escalate && !e.Hopeless {
		t.tier = next // MODEL-10
	}
	t.tries++
	m.nextAttempt(t)
	if m.info.Resample && !e.Hopeless && (e.Kind == Executed || e.Kind == Gated || e.Kind == Tried || e.Kind == Judged) {
		m.fire(t, OnSample)
	} else {
		m.fire(t, OnAgain)
	}
}

// failureOf returns the key of a failure. Two failures with the same key mean no progress.
func failureOf(e Event) string {
	return strings.Join([]string{string(e.Kind), string(e.Outcome), e.Tree, e.Fingerprint}, "\x00")
}

func (m *Machine) nextAttempt(t *track) {
	t.attempt++
	t.candidate, t.waits, t.from = 0, 0, handed{}
	t.forget()
	t.issued = map[string]Command{}
}

// forget drops the answers of reviews and people about the candidate.
func (t *track) forget() {
	t.looked, t.doubt, t.unagreed, t.asking, t.approved, t.again = reviews{}, "", "", nil, "", ""
}

// park pauses a batch whose agent cannot continue. Other batches continue; after a limit, only those that another
// agent can take.
func (m *Machine) park(t *track, n *entrant, c Command, e Event) []Command {
	t.parked = &Stop{e.Outcome, e.Reason}
	if m.shared() && e.Outcome == OutcomeLimited {
		agent := cmp.Or(c.Agent, m.info.Agents[0].Name)
		m.meet(agent, e)
		if t.from = (handed{agent, e.Reason}); n != nil {
			n.from, t.from = t.from, handed{}
		}
		return nil
	}
	if t.out != "" || m.stop != nil || e.Outcome != OutcomeLimited || m.info.OnLimit != "wait" || e.RetryAt.IsZero() ||
		t.waits >= mostWaits {
		return nil
	}
	t.waits++
	return []Command{m.issue(t, Command{Kind: Wait, Until: e.RetryAt})}
}

// costs is the total cost of a run's agents, in US dollars.
type costs struct {
	sum     float64
	known   []float64 // of each attempt, sorted
	unknown string    // key of a batch with an attempt of unknown cost
}

func (c *costs) add(e Event) {
	if e.Critique != nil {
		c.review(Event{Batch: e.Batch, Usage: &e.Critique.Usage})
	}
	if e.Usage == nil || e.Usage.CostUSD == nil {
		if e.Outcome != OutcomeCancelled && e.Outcome != OutcomeError && e.Outcome != OutcomeUnstarted {
			c.unknown = e.Batch
		}
		return
	}
	c.sum += *e.Usage.CostUSD
	at, _ := slices.BinarySearch(c.known, *e.Usage.CostUSD)
	c.known = slices.Insert(c.known, at, *e.Usage.CostUSD)
}

// review adds the cost of a review. The forecast uses only the costs of attempts.
func (c *costs) review(e Event) {
	switch {
	case e.Usage == nil: // no reviewer was asked, or the review was interrupted
	case e.Usage.CostUSD == nil:
		c.unknown = e.Batch
	default:
		c.sum += *e.Usage.CostUSD
	}
}

// next returns the expected cost of one more attempt: the median so far, 0 before the first.
func (c *costs) next() float64 {
	if len(c.known) == 0 {
		return 0
	}
	return c.known[len(c.known)/2]
}

// costLeft returns the cost limit of the run minus its cost, in US dollars; 0 without a limit. If nothing is left,
// overBudget has prevented the attempt.
func (m *Machine) costLeft() float64 {
	if m.info.MaxCostUSD <= 0 {
		return 0
	}
	return m.info.MaxCostUSD - m.costs.sum
}

// feelsItsWay reports whether the next agent must wait until the cost of the running one is known. Under a cost
// limit, only one attempt of unknown cost runs at a time.
func (m *Machine) feelsItsWay() bool {
	return m.info.MaxCostUSD > 0 && len(m.costs.known) == 0 && m.atWork(Execute) > 0
}

// overBudget returns why no further agent may start, or "". It stops before an attempt that would exceed the limit,
// not after.
func (m *Machine) overBudget() string {
	limit := m.info.MaxCostUSD
	if limit <= 0 {
		return ""
	}
	if t := m.byKey[m.costs.unknown]; t != nil && m.info.UnknownCost != "allow" {
		return fmt.Sprintf("the cost limit of %s cannot be kept: an attempt at batch %s did not report its cost; "+
			"with [run] unknown_cost = \"allow\" such attempts do not count, and --max-cost 0 lifts the limit",
			phrase.Money(limit), t.Number)
	}
	next := m.costs.next()
	if due := m.costs.sum + next*float64(m.atWork(Execute)+1); due > limit || m.costs.sum >= limit {
		return fmt.Sprintf("the cost limit of %s: %s is spent, and the next attempt is likely to cost %s",
			phrase.Money(limit), phrase.Money(m.costs.sum), phrase.Money(next))
	}
	return ""
}
