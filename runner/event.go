package runner

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/gates"
)

// MaxMessage limits the JSON of one event or command, in bytes. Larger contents are stored elsewhere and referenced.
const MaxMessage = 256 << 10

// EventKind is the kind of an event.
type EventKind string

// The kinds of events. New versions may add kinds but never remove one.
const (
	RunStarted  EventKind = "run.started"
	RunResumed  EventKind = "run.resumed"
	RunFinished EventKind = "run.finished"
	StopAsked   EventKind = "stop.asked" // by a signal, a limit or a person

	Discarded EventKind = "run.discarded" // a person discarded an unfinished run: its last event
	Undone    EventKind = "run.undone"    // a person reverted the landing of a run, with Commit

	Dispatched EventKind = "dispatched" // a command was handed to the driver
	Sampled    EventKind = "sampled"
	Executed   EventKind = "executed"
	Rebased    EventKind = "rebased"
	Gated      EventKind = "gated"
	Tried      EventKind = "tried"
	Judged     EventKind = "judged"
	Committed  EventKind = "committed"
	Merged     EventKind = "merged"
	Landed     EventKind = "landed"
	Reviewed   EventKind = "reviewed"

	ApprovalAsked  EventKind = "approval.asked" // a person must answer; no worker waits for it
	ApprovalGiven  EventKind = "approval.given" // posted by another process, like ApprovalDenied
	ApprovalDenied EventKind = "approval.denied"

	PlanChanged EventKind = "plan.changed" // a person accepted a changed plan: Job has the new batches

	Waited   EventKind = "waited"
	Reopened EventKind = "reopened" // a receipt no longer verifies, so the batch is due again

	Spent EventKind = "spent" // usage of an agent whose command was cancelled
	// only for readers, like those below: a command was cancelled because its base no longer exists
	Withdrawn    EventKind = "withdrawn"
	BatchPutBack EventKind = "batch.put_back" // for readers: unmerged candidates below the batch, in On, failed
	BatchStarted EventKind = "batch.started"  // for readers; the machine ignores these
	BatchPassed  EventKind = "batch.passed"
	BatchFailed  EventKind = "batch.failed"
	BatchSkipped EventKind = "batch.skipped"
	Note         EventKind = "note"
)

// EventKinds returns all kinds, in the order of their constants.
func EventKinds() []EventKind {
	return []EventKind{
		RunStarted, RunResumed, RunFinished, StopAsked, Discarded, Undone, Dispatched, Sampled, Executed, Rebased, Gated, Tried,
		Judged, Committed, Merged, Landed, Reviewed, ApprovalAsked, ApprovalGiven, ApprovalDenied, PlanChanged, Waited,
		Reopened, Spent, Withdrawn, BatchPutBack, BatchStarted, BatchPassed, BatchFailed, BatchSkipped, Note,
	}
}

// Afterwards reports whether k records a person's action on a run that had already stopped.
func (k EventKind) Afterwards() bool { return k == Discarded || k == Undone }

// FallbackNote is the prefix of notes about fewer workers than planned (TEAM-10).
const FallbackNote = "fewer workers: "

// Outcome is the result of a command. A failure of the work is a separate outcome; an infrastructure error is
// [OutcomeError].
type Outcome string

// The outcomes.
const (
	OutcomeOK        Outcome = "ok"
	OutcomeFailed    Outcome = "failed"    // the agent gave up, a gate failed, a hook refused
	OutcomeUnchanged Outcome = "unchanged" // the agent changed no file
	OutcomeTimedOut  Outcome = "timed_out"
	OutcomeLimited   Outcome = "limited" // rate limit or quota
	OutcomeHuman     Outcome = "needs_human"
	OutcomeChanged   Outcome = "changed"     // a hook of the repository changed the files
	OutcomeConflict  Outcome = "conflict"    // two changes cannot be merged
	OutcomeMoved     Outcome = "moved"       // another process moved the run branch
	OutcomeUndecided Outcome = "undecided"   // no candidate won clearly
	OutcomeRefused   Outcome = "refused"     // landing or a tournament was impossible; nothing changed
	OutcomeCancelled Outcome = "cancelled"   // the run was stopped during the command
	OutcomeUnstarted Outcome = "not_started" // the agent could not start
	OutcomeSkipped   Outcome = "skipped"     // nothing to check, or no reviewer
	OutcomeShallow   Outcome = "shallow"     // a review found faults that a small fix can correct
	OutcomeComplex   Outcome = "complex"     // a review found faults that need a new design
	OutcomeError     Outcome = "error"       // a tool could not run; the code is not to blame
)

// Tells reports whether an outcome is a result of the work itself. If it is not, because the work was stopped or waits,
// the work is repeated.
func (o Outcome) Tells() bool {
	switch o {
	case OutcomeCancelled, OutcomeError, OutcomeUnstarted, OutcomeLimited, OutcomeHuman:
		return false
	}
	return true
}

// Event is a fact. The journal stores it before any code acts on it. Fields that do not apply are zero.
type Event struct {
	Seq     int       `json:"seq"`
	At      time.Time `json:"at"`
	Run     string    `json:"run"`
	Kind    EventKind `json:"kind"`
	Command string    `json:"command,omitempty"` // id of the command that this event reports on
	Batch   string    `json:"batch,omitempty"`   // key of the batch
	Title   string    `json:"title,omitempty"`
	Attempt int       `json:"attempt,omitempty"` // 1-based
	Outcome Outcome   `json:"outcome,omitempty"`
	Reason  string    `json:"reason,omitempty"` // one line for people

	Base   string `json:"base,omitempty"`   // commit the work started from
	Commit string `json:"commit,omitempty"` // the candidate, or the batch's one commit
	Tree   string `json:"tree,omitempty"`

	On    []string      `json:"on,omitempty"`    // unmerged batches whose candidates are part of Base
	Files int           `json:"files,omitempty"` // with executed: files that the candidate changes
	Agent string        `json:"agent,omitempty"`
	Tier  string        `json:"tier,omitempty"`
	Model string        `json:"model,omitempty"`
	Usage *agents.Usage `json:"usage,omitempty"`

	// with executed: tokens of the brief's context block; 0 is none, nil is unknown
	Context *int `json:"context,omitempty"`

	Critique *CritiqueCost `json:"critique,omitempty"` // with executed: cost of checking the agent's steps

	// in a tournament: its number from 1; with judged, the winner or the leader
	Candidate int         `json:"candidate,omitempty"`
	Variant   string      `json:"variant,omitempty"`
	Slots     []Slot      `json:"slots,omitempty"`   // with sampled
	AtOnce    int         `json:"at_once,omitempty"` // with sampled: maximum of concurrent candidates
	Scores    []CandScore `json:"scores,omitempty"`  // with judged

	Reports     []gates.Report   `json:"reports,omitempty"`
	Tests       *gates.TestCount `json:"tests,omitempty"`
	Fingerprint string           `json:"fingerprint,omitempty"` // of the findings: equal means no progress

	By     string      `json:"by,omitempty"`     // with approval.given and approval.denied: the person
	Post   int64       `json:"post,omitempty"`   // id of an outside post, which is read only once
	Review *ReviewInfo `json:"review,omitempty"` // with reviewed

	DurationMS int64  `json:"duration_ms,omitempty"`
	Log        string `json:"log,omitempty"` // file, relative to .runplan
	// with executed: SHA-256 of the attempt's brief and log, by file name
	Sums     map[string]string `json:"sums,omitempty"`
	Receipt  string            `json:"receipt,omitempty"` // file, relative to .runplan
	RetryAt  time.Time         `json:"retry_at,omitzero"`
	Hopeless bool              `json:"hopeless,omitempty"` // the model refuses the work, or it is too long for the model
	Outage   bool              `json:"outage,omitempty"`   // with outcome limited: the provider failed or could not be reached

	Job  *Info    `json:"job,omitempty"`  // with run.started, run.resumed and plan.changed
	Anew []string `json:"anew,omitempty"` // with plan.changed: started batches that begin again
}

// Attempted reports whether an agent really worked in an executed event. An agent that never started has no cost.
func (e Event) Attempted() bool {
	switch {
	case e.Usage != nil:
		return true
	case e.Outcome == OutcomeUnstarted, e.Outcome == OutcomeError:
		return false
	case e.Outcome == OutcomeCancelled:
		return e.Log != "" // the log is named just before the agent starts
	}
	return true
}

// Slot is the assignment of one candidate in a tournament (SAMP-11).
type Slot struct {
	Number  int    `json:"number"` // from 1
	Variant string `json:"variant"`
	Kind    string `json:"kind,omitempty"`
	Digest  bool   `json:"digest,omitempty"` // its brief contains the digest of the last failure
	Why     string `json:"why,omitempty"`
}

// CandScore is the score of a candidate in a tournament, with its terms (SAMP-04).
type CandScore struct {
	Candidate int         `json:"candidate"`
	Variant   string      `json:"variant"`
	Passed    bool        `json:"passed"`
	Score     int         `json:"score"`
	Terms     []ScoreTerm `json:"terms,omitempty"`
	Void      string      `json:"void,omitempty"` // why its code has no verdict
}

// ScoreTerm is one part of a score.
type ScoreTerm struct {
	Name   string `json:"name"`
	Value  int    `json:"value"`  // measured value
	Points int    `json:"points"` // contribution to the score
}

// Info describes a run. It is fixed at the start; a resumed run takes its options from here.
type Info struct {
	Plan       string `json:"plan"` // path; relative to the repository if it is inside
	PlanDigest string `json:"plan_digest"`
	Title      string `json:"title"`
	Slug       string `json:"slug"`
	Branch     string `json:"branch"` // the run branch
	Base       string `json:"base"`   // commit the run started from
	BaseBranch string `json:"base_branch,omitempty"`
	Agent      string `json:"agent"`
	Model      string `json:"model,omitempty"`
	Mode       string `json:"mode"`
	Workers    int    `json:"workers"`
	// concurrent competing candidates, if more than workers (C-11)
	Candidates   int    `json:"candidates,omitempty"`
	Land         string `json:"land"`
	MaxAttempts  int    `json:"max_attempts"`
	ConfigDigest string `json:"config_digest"`
	LoopVersion  int    `json:"loop_version"`
	// settings that differ from the built-in ones, by key; a resume with other settings is refused
	Settings map[string]Setting `json:"settings,omitempty"`
	Batches  []BatchInfo        `json:"batches"`
	Keys     map[string]string  `json:"keys,omitempty"` // by current plan key: the key in this run, if they differ

	Requirements []RequirementInfo `json:"requirements,omitempty"` // wording at the start of the run

	// work may start on, and gates may check, unmerged candidates
	Speculate bool              `json:"speculate,omitempty"`
	Escalate  bool              `json:"escalate,omitempty"` // a failure moves a batch one tier up (MODEL-10)
	Models    map[string]string `json:"models,omitempty"`   // model of each tier
	// in order: the next takes over when one meets a limit; none in older journals
	Agents []AgentInfo `json:"agents,omitempty"`
	// if all agents are limited: "wait" waits, any other value stops
	OnLimit string `json:"on_limit,omitempty"`
	// length of the first wait for a limit or outage of unknown length; 0 (older journals) does not wait
	BackoffMS    int64   `json:"backoff_ms,omitempty"`
	MaxBackoffMS int64   `json:"max_backoff_ms,omitempty"` // longest such wait
	MaxCostUSD   float64 `json:"max_cost_usd,omitempty"`   // 0 sets no limit
	// "allow" continues after an attempt of unknown cost, any other value stops
	UnknownCost string `json:"unknown_cost,omitempty"`
	Resample    bool   `json:"resample,omitempty"`      // candidates compete after a failure (SAMP-01)
	StopAtFirst bool   `json:"stop_at_first,omitempty"` // the first candidate that passes wins
	Seed        uint64 `json:"seed,omitempty"`          // random seed (SAMP-12)
	// predicted speed-up compared with sequential batches; 0 is unknown
	SpeedUp float64 `json:"speed_up,omitempty"`
	Score   int     `json:"score,omitempty"` // parallelism score

	Review      string `json:"review,omitempty"`       // reviewers of each batch: programs or all; "" is none
	FinalReview string `json:"final_review,omitempty"` // reviewers of the whole run before it lands; as Review
	Fidelity    bool   `json:"fidelity,omitempty"`     // live blueprints exist; the code is compared with them
	// the owner's threshold: below this confidence of the final review, in percent, landing asks a person; 0 sets no
	// threshold
	LandBar int `json:"land_bar,omitempty"`

	Flags map[string]string `json:"flags,omitempty"` // flags given on the command line

	Indexed bool `json:"indexed,omitempty"` // an index of the code exists, so that briefs name likely places
	// number of the plan among those of a self-fix, from 1; each was reviewed, and all earlier ones were rejected
	Round int `json:"round,omitempty"`
}

// AtOnce returns the maximum number of concurrent candidates of a batch.
func (i Info) AtOnce() int { return max(i.Workers, i.Candidates) }

// Setting is one setting of a run: its digest, and its text unless that is secret.
type Setting struct {
	Sum  string `json:"sum"`
	Text string `json:"text,omitempty"`
	From string `json:"from"` // file or variable
}

// RequirementInfo is a requirement with its wording at the start of a run.
type RequirementInfo struct {
	ID      string   `json:"id"`
	Path    string   `json:"path"`
	Line    int      `json:"line"`
	Digest  string   `json:"digest"`            // of the wording, see [WordingDigest]
	Text    string   `json:"text,omitempty"`    // wording; "" if it exceeded the size limit
	Batches []string `json:"batches,omitempty"` // keys of the batches that name it
}

// WordingDigest returns the short hex SHA-256 that identifies a wording.
func WordingDigest(text string) string { return Fingerprint(text) }

// Limits for the requirements in a run's journal.
const (
	maxRequirements    = 400
	maxRequirementText = 32 << 10 // bytes of all wordings
)

// Keep stores the requirements of a run, within the size limit of its first event. If they are too large, it drops
// all wordings; if that is not enough, it drops the requirements.
func (i *Info) Keep(list []RequirementInfo) {
	i.Requirements = slices.Clone(list[:min(len(list), maxRequirements)])
	room := maxRequirementText
	for n := range i.Requirements {
		q := &i.Requirements[n]
		if room -= len(q.Text); room < 0 {
			q.Text = ""
		}
	}
	if _, err := (Event{Job: i}).Encode(); err == nil {
		return
	}
	for n := range i.Requirements {
		i.Requirements[n].Text = ""
	}
	if _, err := (Event{Job: i}).Encode(); err != nil {
		i.Requirements = nil
	}
}

// BatchInfo is a batch from the run's view.
type BatchInfo struct {
	Key    string   `json:"key"`
	Number string   `json:"number"`
	Title  string   `json:"title"`
	Digest string   `json:"digest"`
	Needs  []string `json:"needs,omitempty"` // keys of batches that must merge first
	Skip   string   `json:"skip,omitempty"`  // reason to skip this batch; "" runs it

	// members of Needs on whose unmerged candidates it may start (TEAM-04)
	Early    []string `json:"early,omitempty"`
	Class    string   `json:"class,omitempty"`     // kind of work, see routing.Class
	Tier     string   `json:"tier,omitempty"`      // small, medium or large
	Label    string   `json:"label,omitempty"`     // the tier's name in the configuration
	Model    string   `json:"model,omitempty"`     // overrides the model of the tier
	Approve  bool     `json:"approve,omitempty"`   // a person must approve before it merges
	Asks     string   `json:"asks,omitempty"`      // with Approve: first line of the question at a plan checkpoint
	Sample   int      `json:"sample,omitempty"`    // candidates that compete from the start; 0 holds no tournament
	ExpectMS int64    `json:"expect_ms,omitempty"` // expected duration; 0 is unknown
}

// Encode returns the JSON of e. It fails if the JSON is larger than [MaxMessage].
func (e Event) Encode() ([]byte, error) {
	b, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("encode event %s: %w", e.Kind, err)
	}
	if len(b) > MaxMessage {
		return nil,
			fmt.Errorf("encode event %s of batch %s: %d bytes, at most %d are allowed; refer to a file or a commit instead",
				e.Kind, e.Batch, len(b), MaxMessage)
	}
	return b, nil
}

// CommandKind says what a command does.
type CommandKind string

// The kinds of commands.
const (
	Sample  CommandKind = "sample" // choose the competitors
	Execute CommandKind = "execute"
	Rebase  CommandKind = "rebase" // rebase a candidate
	Gate    CommandKind = "gate"
	Trial   CommandKind = "trial" // gates check a red candidate on its agent's base, without later merges
	Judge   CommandKind = "judge" // choose the winner
	Commit  CommandKind = "commit"
	Merge   CommandKind = "merge"
	LandRun CommandKind = "land"
	Wait    CommandKind = "wait" // until an agent's limit ends

	Fidelity CommandKind = "fidelity" // compare a candidate with its blueprints
	Review   CommandKind = "review"   // of a candidate; without a batch, of the whole run
	// a person whether a candidate may merge; without a batch, whether the run may land
	Ask CommandKind = "ask"
)

// Command is a request of the machine to the driver. Its ID is deterministic, so it serves as an idempotency key.
type Command struct {
	// "<batch>/r<attempt>-c<candidate>/<kind>", "run/land", "run/r<n>/land" for later tips, "run/l<n>/wait" for limits,
	// "run/review" and "run/ask" as "run/land"
	ID      string      `json:"id"`
	Kind    CommandKind `json:"kind"`
	Batch   string      `json:"batch,omitempty"`
	Attempt int         `json:"attempt,omitempty"`
	// commit to start from; for commit and merge, the tip to land on
	Base   string `json:"base,omitempty"`
	From   string `json:"from,omitempty"`   // with rebase: old base of the candidate
	Commit string `json:"commit,omitempty"` // candidate to gate or commit; the commit to merge
	Tree   string `json:"tree,omitempty"`   // tree of the candidate
	After  int    `json:"after,omitempty"`  // seq of the failure event to learn from; 0 on a first try

	On    []string  `json:"on,omitempty"` // unmerged batches whose candidates are part of Base
	Tier  string    `json:"tier,omitempty"`
	Slot  *Slot     `json:"slot,omitempty"` // of a candidate in a tournament
	Model string    `json:"model,omitempty"`
	Until time.Time `json:"until,omitzero"` // with wait
	// with execute, the agent to use; with wait, the limited agent; "" is the run's own
	Agent string `json:"agent,omitempty"`

	Instead string `json:"instead,omitempty"` // with execute: the limit that makes this agent take over

	Why string `json:"why,omitempty"` // with ask: the question

	Before *gates.TestCount `json:"before,omitempty"` // test count of the commit below the candidate

	Left float64 `json:"left,omitempty"` // with execute: remaining cost limit of the run, in US dollars; 0 is no limit
}

// Place returns the name of the command's workspace. Each batch has one, and so has each competing candidate.
func (c Command) Place() string {
	if c.Slot == nil {
		return c.Batch
	}
	return fmt.Sprintf("%s.c%d", c.Batch, c.Slot.Number)
}

// KindOf returns the kind of the command with this id.
func KindOf(id string) CommandKind { return CommandKind(path.Base(id)) }

// CandidateOf returns the candidate number in a command id. Outside tournaments this number has another meaning.
func CandidateOf(id string) int {
	_, n, ok := strings.Cut(path.Base(path.Dir(id)), "-c")
	if !ok {
		return 0
	}
	i, err := strconv.Atoi(n)
	if err != nil {
		return 0
	}
	return i
}

// same reports whether two commands are equal.
func (c Command) same(d Command) bool {
	x, y := c.Before, d.Before
	return c.ID == d.ID && c.Kind == d.Kind && c.Batch == d.Batch && c.Attempt == d.Attempt && c.Base == d.Base &&
		c.From == d.From && c.Commit == d.Commit && c.Tree == d.Tree && c.After == d.After && slices.Equal(c.On, d.On) &&
		c.Tier == d.Tier && c.Model == d.Model &&
		(c.Slot == d.Slot || c.Slot != nil && d.Slot != nil && *c.Slot == *d.Slot) && c.Until.Equal(d.Until) &&
		c.Agent == d.Agent && c.Instead == d.Instead && c.Why == d.Why && (x == y || x != nil && y != nil && *x == *y)
}
