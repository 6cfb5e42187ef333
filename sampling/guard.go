package sampling

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/phrase"
)

// Settings holds the settings of [sampling] that decide whether and how to hold a tournament (SAMP-16).
type Settings struct {
	OnRetry        bool
	OnCritical     bool
	Count          int     // candidates of a tournament without a flag
	MaxCount       int     // maximum that a flag may request
	GBPerCandidate float64 // memory per candidate, in units of 2^30 bytes
}

// Request is the input of [Plan]: the data about a batch before its next attempt.
type Request struct {
	Batch    string // number, as in the plan
	Critical bool
	Attempt  int // number of the next attempt, from 1
	Failure  *Failure

	Flags    Flags
	Settings Settings
	Escalate bool // a failure moves the batch up one tier (MODEL-10)

	Literal bool    // the agent executes the plan literally, so all tries are the same
	Memory  *uint64 // available bytes; nil if unknown
	Team    bool    // candidates may run concurrently
	Workers int     // the limit of --workers; 0 sets none

	Cost *float64       // of one candidate, in US dollars; nil if unknown
	Time *time.Duration // of one candidate with its gates; nil if unknown
}

// Failure describes the failure of the last attempt.
type Failure struct {
	Outcome string // as in the journal: failed, unchanged, timed_out, limited, …
	Reason  string // one line, for people
}

// Action says how a batch continues.
type Action string

// The actions.
const (
	Try    Action = "try"    // one attempt
	Retry  Action = "retry"  // one more attempt, with the digest of the failure
	Sample Action = "sample" // a tournament
	Leave  Action = "leave"  // a failure that no further try can cure; the run's rules decide
)

// Tournament is the decision of [Plan], with the text to show before the tournament starts (SAMP-15).
type Tournament struct {
	Action   Action   `json:"action"`
	Trigger  Trigger  `json:"trigger,omitempty"` // reason to want a tournament, even if none is held
	N        int      `json:"n"`                 // number of candidates; 1 without a tournament
	AtOnce   int      `json:"at_once"`           // maximum of concurrent candidates
	Escalate bool     `json:"escalate"`          // up one tier
	Reasons  []string `json:"reasons"`
	Cost     string   `json:"cost,omitempty"` // "Sampling B4: ~$1.20 for 3 candidates vs $0.40 single"
	Time     string   `json:"time,omitempty"`
}

// Trigger is the reason for a tournament (SAMP-01).
type Trigger string

// The triggers.
const (
	OnFlag     Trigger = "flag"
	OnRetry    Trigger = "retry"
	OnCritical Trigger = "critical"
)

// MostAtOnce is the maximum number of concurrent candidates (C-11).
const MostAtOnce = 5

// gb is the number of bytes of a GB of memory.
const gb = 1 << 30

// Plan decides how a batch continues: whether to hold a tournament, with how many candidates, at what cost, and
// why. It returns an error for invalid flags.
func Plan(req Request) (Tournament, error) {
	if err := req.Flags.Check(req.Settings.MaxCount); err != nil {
		return Tournament{}, err
	}
	t := Tournament{Action: Try, N: 1, AtOnce: 1}
	if req.Failure != nil {
		t.Action, t.Escalate = Retry, req.Escalate
		if act, why := req.hopeless(); act != "" {
			t.Action, t.Escalate = act, false
			t.say("%s", why)
			return t, nil
		}
	}
	n, trigger, why := req.wants()
	t.Trigger = trigger
	t.say("%s", why)
	if trigger == "" {
		return t, nil
	}
	if against := req.against(n); against != "" {
		t.say("not sampled: %s", against)
		if t.Action == Retry {
			t.say("%s", plainRetry(t.Escalate))
		}
		return t, nil
	}
	t.Action, t.N, t.AtOnce = Sample, n, req.atOnce(n)
	t.Cost = req.costLine(n)
	t.Time = req.timeLine(n, t.AtOnce)
	return t, nil
}

func (t *Tournament) say(format string, args ...any) {
	t.Reasons = append(t.Reasons, fmt.Sprintf(format, args...))
}

func plainRetry(escalate bool) string {
	if escalate {
		return "one more attempt instead, one tier up"
	}
	return "one more attempt instead"
}

// hopeless detects failures that neither a tournament nor a retry can cure. Other prompts cannot sign in, lift a
// limit, allow a tool or install a model.
func (req Request) hopeless() (Action, string) {
	because := ""
	if r := phrase.Line(req.Failure.Reason); r != "" {
		because = " (" + r + ")"
	}
	switch req.Failure.Outcome {
	case "failed", "unchanged", "timed_out":
	case "conflict", "moved":
		return Retry, "the work conflicted with another change" + because +
			"; it is rebuilt on top of that with the same prompts"
	case "limited":
		return Leave, "not sampled: the agent met a limit" + because + ", and more candidates would meet it sooner"
	case "needs_human":
		return Leave, "not sampled: the agent waits for a person" + because + ", and so would each candidate"
	case "cancelled":
		return Leave, "not sampled: the attempt was stopped" + because + " and says nothing about the code"
	case "error":
		return Leave, "not sampled: something could not run" + because + ", and it would not run for any candidate"
	default:
		return Leave, fmt.Sprintf("not sampled: unknown kind of failure %q%s",
			phrase.Line(req.Failure.Outcome), because)
	}
	return "", ""
}

// wants returns the requested number of candidates and the trigger. The most specific request wins.
func (req Request) wants() (n int, by Trigger, why string) {
	f := req.Flags
	if n, ok := f.SampleBatch[batchNumber(req.Batch)]; ok {
		return n, OnFlag, fmt.Sprintf("--sample-batch requests %s", phrase.Count(n, "candidate"))
	}
	n = min(req.Settings.Count, req.Settings.MaxCount)
	switch {
	case f.Sample > 0:
		return f.Sample, OnFlag, fmt.Sprintf("--sample requests %s", phrase.Count(f.Sample, "candidate"))
	case f.NoSample:
		return 0, "", "not sampled: --no-sample"
	case req.Failure != nil && req.Settings.OnRetry:
		return n, OnRetry, fmt.Sprintf("attempt %d failed: %s instead of a plain retry", req.Attempt-1,
			phrase.Count(n, "candidate"))
	case req.Critical && req.Settings.OnCritical:
		return n, OnCritical, fmt.Sprintf("the batch is critical: %s", phrase.Count(n, "candidate"))
	case req.Failure != nil:
		return 0, "", "not sampled: sample_on_retry is off"
	case req.Critical:
		return 0, "", "not sampled: the batch is critical, but sample_on_critical is off"
	}
	return 0, "", "not sampled: first attempt of a batch that is not critical"
}

// against returns the reason not to hold a requested tournament, or "".
func (req Request) against(n int) string {
	need := float64(n) * req.Settings.GBPerCandidate
	switch {
	case n < 2:
		return "1 candidate cannot compete"
	case req.Literal:
		return "the agent executes the plan literally, so all candidates would be the same"
	case req.Memory == nil:
		return fmt.Sprintf("available memory is unknown, and %s need %s GB", phrase.Count(n, "candidate"), short(need))
	case float64(*req.Memory) < need*gb:
		return fmt.Sprintf("%s GB of memory are available, and %s need %s GB (sample_min_memory_per_gb = %s)",
			short(math.Floor(float64(*req.Memory)/gb*10)/10), phrase.Count(n, "candidate"), short(need),
			short(req.Settings.GBPerCandidate))
	}
	return ""
}

// short formats a number with at most two digits after the point.
func short(f float64) string { return trimmed(f, 2) }

// trimmed formats a number without trailing zeros.
func trimmed(f float64, digits int) string {
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(f, 'f', digits, 64), "0"), ".")
}

// atOnce returns how many of n candidates run concurrently (SAMP-17, C-11). Memory is sufficient for all n:
// otherwise no tournament is held.
func (req Request) atOnce(n int) int {
	if !req.Team {
		return 1
	}
	k := min(n, MostAtOnce)
	if req.Workers > 0 {
		k = min(k, req.Workers)
	}
	return max(k, 1)
}

func (req Request) costLine(n int) string {
	line := fmt.Sprintf("Sampling %s: ", label(req.Batch))
	if c := req.Cost; c == nil || !(*c >= 0) || math.IsInf(*c, 0) {
		return line + fmt.Sprintf("%s; cost: no data", phrase.Count(n, "candidate"))
	}
	return line + fmt.Sprintf("~%s for %s vs %s single", phrase.Money(*req.Cost*float64(n)), phrase.Count(n, "candidate"),
		phrase.Money(*req.Cost))
}

// label returns the display name of a batch: B4, or its name in the plan.
func label(number string) string {
	number = batchNumber(phrase.Line(number))
	if name := "B" + number; batchNumber(name) == number {
		return name
	}
	return number
}

// timeLine estimates the time (SAMP-15): concurrent candidates slow each other down by about half, and each round
// waits for the previous one.
func (req Request) timeLine(n, atOnce int) string {
	rounds := (n + atOnce - 1) / atOnce
	factor, how := float64(rounds), "one after the other"
	if atOnce > 1 {
		factor *= 1.5
		how = fmt.Sprintf("%d at once", atOnce)
	}
	times := fmt.Sprintf("x %s", short(factor))
	if rounds == 1 && atOnce > 1 {
		times = "+50 %"
	}
	if req.Time == nil || *req.Time <= 0 {
		return fmt.Sprintf("time: about %s (%s); no data on a single one", times, how)
	}
	took := time.Duration(float64(*req.Time) * factor)
	return fmt.Sprintf("time: about %s, ~%s vs %s single (%s)", times, rounded(took), rounded(*req.Time), how)
}

func rounded(d time.Duration) string {
	if d >= time.Minute {
		return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
	}
	return max(d.Round(time.Second), time.Second).String()
}
