package review

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/review/security"
)

// Verdict is the result of a review (REV-04).
type Verdict string

// NoVerdict means that a pass could not run. This is neither for nor against the change.
const (
	OK             Verdict = "pass"
	RequestChanges Verdict = "request-changes"
	Block          Verdict = "block"
	NoVerdict      Verdict = "error"
)

// EnoughPct is the minimum confidence. Below it a review blocks, even without findings, because it covered too little.
const EnoughPct = 60

// Standing is the result of one pass for the verdict.
type Standing struct {
	Pass     int          `json:"pass"`
	Status   gates.Status `json:"status"`
	TrustPct int          `json:"trust_pct"` // the share of the pass that was checked without problems, 0 to 100
	Why      string       `json:"why,omitempty"`
	Left     bool         `json:"left_out,omitempty"` // not part of this review; it does not affect the confidence
}

// Facts holds everything that a verdict depends on.
type Facts struct {
	Passes   []Standing
	Open     int  // blocking findings of passes that did not run this time
	SelfFix  bool // the change answers a feedback, so pass 7 must pass
	Programs bool // only programs review
}

// Weigh computes the verdict and the confidence of a review.
//
//	confidence = Σ weight × trust / Σ weight, rounded down, over the passes that are part of the review
//
// The weights are 15 static, 25 functional, 15 architectural, 20 security, 10 prose, 15 adversarial, and 20 feedback
// for changes that answer one. [Standing] gives the trust of a pass; a pass that failed, was skipped or could not run
// has 0.
//
// The first rule that applies gives the verdict:
//
//	block            a pass of 1, 2 and 4 failed
//	error            a pass could not run
//	block            a fix of a feedback, without a result that says whether it answers the feedback
//	block            the confidence is below 60
//	request-changes  another pass failed, or findings of earlier rounds are open
//	pass
//
// If only programs review, the threshold of 60 applies to the same sum over the passes that could run, so missing
// reviewers do not block. The confidence itself does not change. If it is below the threshold, the reasons name each
// pass that did not run. If no pass could run, the verdict is block.
func Weigh(f Facts) (v Verdict, confidencePct int, reasons []string) {
	sum, all, looked := 0, 0, 0
	var hard, blind, failed, unseen []string
	answered := !f.SelfFix
	for _, s := range f.Passes {
		if s.Left {
			continue
		}
		k := kindOf(s.Pass)
		all += k.weight
		switch s.Status {
		case gates.Skipped:
			unseen = append(unseen, k.name)
		case gates.Pass, gates.Warn:
			looked += k.weight
			sum += k.weight * min(max(s.TrustPct, 0), 100)
			answered = answered || s.Pass == Feedback
		case gates.Fail:
			answered = answered || s.Pass == Feedback
			if k.hard {
				hard = append(hard, k.name+" failed")
			} else {
				failed = append(failed, k.name+" failed")
			}
		case gates.Errored:
			blind = append(blind, k.name+" could not run")
		}
	}
	if all > 0 {
		confidencePct = sum / all
	}
	if f.Open > 0 {
		failed = append(failed, fmt.Sprintf("%d of earlier rounds open", f.Open))
	}
	enough := confidencePct >= EnoughPct
	if f.Programs && !enough && looked > 0 {
		enough = sum/looked >= EnoughPct
	}
	switch {
	case len(hard) > 0:
		return Block, confidencePct, slices.Concat(hard, blind, failed)
	case len(blind) > 0:
		return NoVerdict, confidencePct, slices.Concat(blind, failed)
	case !answered:
		return Block, confidencePct, append([]string{"no pass decided whether the change answers the feedback"}, failed...)
	case !enough:
		return Block, confidencePct,
			append([]string{fmt.Sprintf("confidence %d of 100 is below %d: too little was checked", confidencePct, EnoughPct)},
				failed...)
	case len(failed) > 0:
		return RequestChanges, confidencePct, failed
	case confidencePct < EnoughPct:
		return OK, confidencePct, []string{"not run: " + strings.Join(unseen, ", ")}
	}
	return OK, confidencePct, nil
}

// Trust in parts of a pass, in percent.
const (
	sameVendorPct = 80 // a reviewer from the author's vendor shares its blind spots
	noToolPct     = 80 // security without an external tool: the built-in checks find less
	halfPct       = 50 // of a pass with programs and a reviewer
)

// standing returns how far a pass can be trusted.
func (p *Pass) standing(sameVendor, left bool) Standing {
	s := Standing{Pass: p.Number, Status: p.Status, Left: left}
	if p.Status != gates.Pass && p.Status != gates.Warn {
		s.Why = string(p.Status)
		return s
	}
	judge := 0
	if p.judged == gates.Pass || p.judged == gates.Warn {
		if p.ConfidencePct != nil {
			judge = *p.ConfidencePct
		}
		s.Why = fmt.Sprintf("reviewer %d", judge)
		if p.seen < 100 {
			judge = judge * p.seen / 100
			s.Why += fmt.Sprintf(", saw %d of 100 lines", p.seen)
		}
		if sameVendor {
			judge = judge * sameVendorPct / 100
			s.Why += ", of the author's vendor"
		}
	}
	rules := 0
	if p.rules == gates.Pass || p.rules == gates.Warn {
		rules = 100
	}
	switch p.Number {
	case Architectural, Adversarial:
		s.TrustPct = judge
	case Prose:
		s.TrustPct = halfPct*rules/100 + halfPct*judge/100
		s.Why = cmp.Or(s.Why, "rules only")
	case Feedback:
		s.TrustPct = halfPct*rules/100 + halfPct*judge/100
		if rules == 0 {
			s.Why += ", no differential test"
		}
	case Security:
		s.TrustPct = noToolPct
		s.Why = "built-in checks only"
		for _, t := range p.Tools {
			if security.IsTool(t.Gate) && t.Status != gates.Skipped && t.Status != gates.Errored {
				s.TrustPct, s.Why = 100, ""
			}
		}
	default:
		s.TrustPct = rules
	}
	return s
}
