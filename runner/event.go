package runner

import (
	"crypto/sha256"
	"encoding/hex"
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

// MaxMessage bounds the JSON of one event or command, in bytes. Contents travel by reference.
const MaxMessage = 256 << 10

// EventKind says what happened.
type EventKind string

// The kinds of events. Kinds are only ever added.
const (
	RunStarted  EventKind = "run.started"
	RunResumed  EventKind = "run.resumed"
	RunFinished EventKind = "run.finished"
	StopAsked   EventKind = "stop.asked" // by a signal, a limit or a person

	Discarded EventKind = "run.discarded" // a person gave up a run that was not finished: the last event of it
	Undone    EventKind = "run.undone"    // a person took back what a run had landed; Commit does it

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

	ApprovalAsked  EventKind = "approval.asked" // a person is to say yes or no, and nobody holds a worker for it
	ApprovalGiven  EventKind = "approval.given" // from outside, as the next
	ApprovalDenied EventKind = "approval.denied"

	PlanChanged EventKind = "plan.changed" // a person accepted another text of the plan: Job has the batches as they are from now on

	Waited   EventKind = "waited"
	Reopened EventKind = "reopened" // a receipt no longer verifies, so the batch is due again

	Spent        EventKind = "spent"          // what an agent cost whose command was called off
	Withdrawn    EventKind = "withdrawn"      // for readers, as those below: a command lost its ground and was called off
	BatchPutBack EventKind = "batch.put_back" // for readers: candidates on which the batch began, in On, did not hold
	BatchStarted EventKind = "batch.started"  // for readers; the machine ignores these
	BatchPassed  EventKind = "batch.passed"
	BatchFailed  EventKind = "batch.failed"
	BatchSkipped EventKind = "batch.skipped"
	Note         EventKind = "note"
)

// Afterwards reports whether an event tells what a person did to a run that was not under way any more.
func (k EventKind) Afterwards() bool { return k == Discarded || k == Undone }

// FallbackNote begins notes that tell of fewer workers than were planned (TEAM-10).
const FallbackNote = "fewer workers: "

// Outcome is how a command ended. A domain failure is an outcome; an error of the infrastructure is
// [OutcomeError].
type Outcome string

// The outcomes.
const (
	OutcomeOK        Outcome = "ok"
	OutcomeFailed    Outcome = "failed"    // the agent gave up, a gate is red, a hook refused
	OutcomeUnchanged Outcome = "unchanged" // the agent left the tree as it was
	OutcomeTimedOut  Outcome = "timed_out"
	OutcomeLimited   Outcome = "limited" // rate limit or quota
	OutcomeHuman     Outcome = "needs_human"
	OutcomeChanged   Outcome = "changed"     // a hook of the repository changed the files
	OutcomeConflict  Outcome = "conflict"    // two changes cannot be put together
	OutcomeMoved     Outcome = "moved"       // somebody else moved the run branch
	OutcomeUndecided Outcome = "undecided"   // no candidate, or no clear one, won
	OutcomeRefused   Outcome = "refused"     // landing, or a tournament, was not possible; nothing was changed
	OutcomeCancelled Outcome = "cancelled"   // the run was stopped while this was under way
	OutcomeUnstarted Outcome = "not_started" // the agent could not be run
	OutcomeSkipped   Outcome = "skipped"     // there was nothing to look at, or nobody to do it
	OutcomeShallow   Outcome = "shallow"     // a review found what a small fix will do for
	OutcomeComplex   Outcome = "complex"     // a review found what has to be thought through
	OutcomeError     Outcome = "error"       // a tool could not run at all; nobody's code is to blame
)

// Tells says whether an outcome says anything of the work itself. Work that was stopped, or that waits for something, is
// done again.
func (o Outcome) Tells() bool {
	switch o {
	case OutcomeCancelled, OutcomeError, OutcomeUnstarted, OutcomeLimited, OutcomeHuman:
		return false
	}
	return true
}

// Event is a fact. It is in the journal before anything acts on it. Fields that do not apply are zero.
type Event struct {
	Seq     int       `json:"seq"`
	At      time.Time `json:"at"`
	Run     string    `json:"run"`
	Kind    EventKind `json:"kind"`
	Command string    `json:"command,omitempty"` // id of the command that this reports on
	Batch   string    `json:"batch,omitempty"`   // key of the batch
	Title   string    `json:"title,omitempty"`
	Attempt int       `json:"attempt,omitempty"` // 1-based
	Outcome Outcome   `json:"outcome,omitempty"`
	Reason  string    `json:"reason,omitempty"` // one line for people

	Base   string `json:"base,omitempty"`   // commit the work started from
	Commit string `json:"commit,omitempty"` // the candidate, or the batch's one commit
	Tree   string `json:"tree,omitempty"`

	On    []string      `json:"on,omitempty"`    // batches that are not merged and whose candidates Base holds
	Files int           `json:"files,omitempty"` // with executed: files that the candidate changes
	Agent string        `json:"agent,omitempty"`
	Tier  string        `json:"tier,omitempty"`
	Model string        `json:"model,omitempty"`
	Usage *agents.Usage `json:"usage,omitempty"`

	Context *int `json:"context,omitempty"` // with executed: tokens of the context block in the brief; 0 is none, nil is unknown

	Critique *CritiqueCost `json:"critique,omitempty"` // with executed: what looking at the agent's steps took

	Candidate int         `json:"candidate,omitempty"` // in a tournament: its number from 1; with judged, the winner or the leader
	Variant   string      `json:"variant,omitempty"`
	Slots     []Slot      `json:"slots,omitempty"`   // with sampled
	AtOnce    int         `json:"at_once,omitempty"` // with sampled: candidates that may be worked on at the same time
	Scores    []CandScore `json:"scores,omitempty"`  // with judged

	Reports     []gates.Report   `json:"reports,omitempty"`
	Tests       *gates.TestCount `json:"tests,omitempty"`
	Fingerprint string           `json:"fingerprint,omitempty"` // of the findings: alike means no progress

	By     string      `json:"by,omitempty"`     // with approval.given and approval.denied: who
	Post   int64       `json:"post,omitempty"`   // what came from outside of the process: its number there, which is taken up once
	Review *ReviewInfo `json:"review,omitempty"` // with reviewed

	DurationMS int64     `json:"duration_ms,omitempty"`
	Log        string    `json:"log,omitempty"`     // file, relative to .runplan
	Receipt    string    `json:"receipt,omitempty"` // file, relative to .runplan
	RetryAt    time.Time `json:"retry_at,omitzero"`
	Outage     bool      `json:"outage,omitempty"` // with outcome limited: the provider failed or could not be reached

	Job  *Info    `json:"job,omitempty"`  // with run.started, run.resumed and plan.changed
	Anew []string `json:"anew,omitempty"` // with plan.changed: batches that are begun, and are begun again
}

// Slot is what a candidate of a tournament is to do (SAMP-11).
type Slot struct {
	Number  int    `json:"number"` // from 1
	Variant string `json:"variant"`
	Kind    string `json:"kind,omitempty"`
	Digest  bool   `json:"digest,omitempty"` // its brief holds the digest of the last failure
	Why     string `json:"why,omitempty"`
}

// CandScore is how a candidate of a tournament did, and why (SAMP-04).
type CandScore struct {
	Candidate int         `json:"candidate"`
	Variant   string      `json:"variant"`
	Passed    bool        `json:"passed"`
	Score     int         `json:"score"`
	Terms     []ScoreTerm `json:"terms,omitempty"`
	Void      string      `json:"void,omitempty"` // why there is no verdict on its code
}

// ScoreTerm is one part of a score.
type ScoreTerm struct {
	Name   string `json:"name"`
	Value  int    `json:"value"`  // what was measured
	Points int    `json:"points"` // what it adds
}

// Info says what a run is about. It is fixed when the run starts; a resumed run takes its options from here.
type Info struct {
	Plan         string             `json:"plan"` // path, relative to the repository where it lies inside
	PlanDigest   string             `json:"plan_digest"`
	Title        string             `json:"title"`
	Slug         string             `json:"slug"`
	Branch       string             `json:"branch"` // the run branch
	Base         string             `json:"base"`   // commit the run started from
	BaseBranch   string             `json:"base_branch,omitempty"`
	Agent        string             `json:"agent"`
	Model        string             `json:"model,omitempty"`
	Mode         string             `json:"mode"`
	Workers      int                `json:"workers"`
	Candidates   int                `json:"candidates,omitempty"` // that compete and may be worked on at the same time, where these are more than workers (C-11)
	Land         string             `json:"land"`
	MaxAttempts  int                `json:"max_attempts"`
	ConfigDigest string             `json:"config_digest"`
	LoopVersion  int                `json:"loop_version"`
	Settings     map[string]Setting `json:"settings,omitempty"` // that differ from the built-in ones, by key; a resume under others is refused
	Batches      []BatchInfo        `json:"batches"`
	Keys         map[string]string  `json:"keys,omitempty"` // by key in the plan as it is now: the key that the run knows the batch by, where that is another

	Requirements []RequirementInfo `json:"requirements,omitempty"` // as they were worded when the run started

	Speculate    bool              `json:"speculate,omitempty"`      // work may start on, and gates may look at, what is not merged yet
	Escalate     bool              `json:"escalate,omitempty"`       // a failure moves a batch one tier up (MODEL-10)
	Models       map[string]string `json:"models,omitempty"`         // model of each tier
	Agents       []AgentInfo       `json:"agents,omitempty"`         // who may work, in order: the next takes over from those that met a limit; none in runs of before
	OnLimit      string            `json:"on_limit,omitempty"`       // once all agents are limited: "wait" waits for the end of that, anything else stops
	BackoffMS    int64             `json:"backoff_ms,omitempty"`     // first wait for a limit or an outage whose end is not known; 0 in older journals: not waited for
	MaxBackoffMS int64             `json:"max_backoff_ms,omitempty"` // longest such wait
	MaxCostUSD   float64           `json:"max_cost_usd,omitempty"`   // 0 is no limit
	UnknownCost  string            `json:"unknown_cost,omitempty"`   // "allow" goes on after an attempt without a known cost, anything else stops
	Resample     bool              `json:"resample,omitempty"`       // after a failure candidates compete (SAMP-01)
	StopAtFirst  bool              `json:"stop_at_first,omitempty"`  // the first candidate that passes wins
	Seed         uint64            `json:"seed,omitempty"`           // of what is left to chance (SAMP-12)
	SpeedUp      float64           `json:"speed_up,omitempty"`       // as predicted, against one batch after the other; 0 is unknown
	Score        int               `json:"score,omitempty"`          // parallelism score

	Review      string `json:"review,omitempty"`       // who reviews what a batch changed: programs or all; "" is nobody
	FinalReview string `json:"final_review,omitempty"` // who reviews what the run changed, before it lands; as Review
	Fidelity    bool   `json:"fidelity,omitempty"`     // there are live blueprints, which the code is held against
	LandBar     int    `json:"land_bar,omitempty"`     // of the owner's contract: landing with a final review that is less sure, in percent, asks a person; 0 is no bar

	Flags map[string]string `json:"flags,omitempty"` // what the command line asked for
}

// AtOnce is how many candidates of a batch may be worked on at the same time.
func (i Info) AtOnce() int { return max(i.Workers, i.Candidates) }

// Setting is one setting under which a run was started: its value by digest, and for people where it holds no secret.
type Setting struct {
	Sum  string `json:"sum"`
	Text string `json:"text,omitempty"`
	From string `json:"from"` // file or variable
}

// RequirementInfo is a requirement as it was worded when a run started.
type RequirementInfo struct {
	ID      string   `json:"id"`
	Path    string   `json:"path"`
	Line    int      `json:"line"`
	Digest  string   `json:"digest"`            // of its wording, see [WordingDigest]
	Text    string   `json:"text,omitempty"`    // its wording; "" where there was no room for it
	Batches []string `json:"batches,omitempty"` // keys of the batches that name it
}

// WordingDigest is the short hex SHA-256 by which two wordings are compared.
func WordingDigest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// The bounds of what a run keeps of requirements.
const (
	maxRequirements    = 400
	maxRequirementText = 32 << 10 // bytes of all wordings
)

// Keep takes up the requirements of a run, as far as the event that starts it has room for them: first all of them lose
// their wording, then they are left out.
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

// BatchInfo is a batch as the run sees it.
type BatchInfo struct {
	Key    string   `json:"key"`
	Number string   `json:"number"`
	Title  string   `json:"title"`
	Digest string   `json:"digest"`
	Needs  []string `json:"needs,omitempty"` // keys of batches that have to be merged first
	Skip   string   `json:"skip,omitempty"`  // why this batch is not run; "" runs it

	Early    []string `json:"early,omitempty"`     // those of Needs on whose candidate it may start before they are merged (TEAM-04)
	Class    string   `json:"class,omitempty"`     // kind of work, see routing.Class
	Tier     string   `json:"tier,omitempty"`      // small, medium or large
	Label    string   `json:"label,omitempty"`     // the tier as the configuration calls it
	Model    string   `json:"model,omitempty"`     // instead of what the tier stands for
	Approve  bool     `json:"approve,omitempty"`   // a person has to agree before it is merged
	Asks     string   `json:"asks,omitempty"`      // with Approve: the first line of what a checkpoint of the plan asks then
	Sample   int      `json:"sample,omitempty"`    // candidates that compete from the start; 0 is none
	ExpectMS int64    `json:"expect_ms,omitempty"` // how long it is likely to take; 0 is unknown
}

// Encode returns the JSON of e, or an error when it is larger than [MaxMessage].
func (e Event) Encode() ([]byte, error) {
	b, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("encode event %s: %w", e.Kind, err)
	}
	if len(b) > MaxMessage {
		return nil, fmt.Errorf("encode event %s of batch %s: %d bytes, at most %d are allowed; refer to a file or a commit instead",
			e.Kind, e.Batch, len(b), MaxMessage)
	}
	return b, nil
}

// CommandKind says what is wished for.
type CommandKind string

// The kinds of commands.
const (
	Sample  CommandKind = "sample" // say who competes
	Execute CommandKind = "execute"
	Rebase  CommandKind = "rebase" // put a candidate on top of what will be below it
	Gate    CommandKind = "gate"
	Trial   CommandKind = "trial" // gates look at a red candidate where its agent made it, without what others merged since
	Judge   CommandKind = "judge" // say who won
	Commit  CommandKind = "commit"
	Merge   CommandKind = "merge"
	LandRun CommandKind = "land"
	Wait    CommandKind = "wait" // until an agent's limit is over

	Fidelity CommandKind = "fidelity" // hold a candidate against its blueprints
	Review   CommandKind = "review"   // of a candidate; without a batch, of all that the run made
	Ask      CommandKind = "ask"      // a person whether a candidate may be merged; without a batch, whether the run may land
)

// Command is a wish of the machine. Its ID is deterministic, so it serves as an idempotency key.
type Command struct {
	ID      string      `json:"id"` // "<batch>/r<attempt>-c<candidate>/<kind>", "run/land", "run/r<n>/land" for later tips, "run/l<n>/wait" for limits, "run/review" and "run/ask" as "run/land"
	Kind    CommandKind `json:"kind"`
	Batch   string      `json:"batch,omitempty"`
	Attempt int         `json:"attempt,omitempty"`
	Base    string      `json:"base,omitempty"`   // commit to start from or to stand on; for commit and merge the tip to land on
	From    string      `json:"from,omitempty"`   // with rebase: commit that the candidate was made on
	Commit  string      `json:"commit,omitempty"` // candidate to gate or commit; the commit to merge
	Tree    string      `json:"tree,omitempty"`   // tree of the candidate
	After   int         `json:"after,omitempty"`  // seq of the event with the failure to learn from; 0 on a first try

	On    []string  `json:"on,omitempty"` // batches that are not merged and whose candidates Base holds
	Tier  string    `json:"tier,omitempty"`
	Slot  *Slot     `json:"slot,omitempty"` // of a candidate in a tournament
	Model string    `json:"model,omitempty"`
	Until time.Time `json:"until,omitzero"`  // with wait
	Agent string    `json:"agent,omitempty"` // with execute, who is to work; with wait, whose limit it is; "" is the run's own

	Instead string `json:"instead,omitempty"` // with execute: who met a limit, and which, so that this agent takes over

	Why string `json:"why,omitempty"` // with ask: what is asked

	Before *gates.TestCount `json:"before,omitempty"` // tests of what is below the candidate
}

// Place names where the command's work lies: each batch has a workspace, and so has each candidate that competes
// for it.
func (c Command) Place() string {
	if c.Slot == nil {
		return c.Batch
	}
	return fmt.Sprintf("%s.c%d", c.Batch, c.Slot.Number)
}

// KindOf is the kind of the command with this id.
func KindOf(id string) CommandKind { return CommandKind(path.Base(id)) }

// CandidateOf is the number of the candidate that the id of a command names. Outside of a tournament it counts
// something else.
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

// same tells whether two commands ask for the same.
func (c Command) same(d Command) bool {
	x, y := c.Before, d.Before
	return c.ID == d.ID && c.Kind == d.Kind && c.Batch == d.Batch && c.Attempt == d.Attempt && c.Base == d.Base && c.From == d.From &&
		c.Commit == d.Commit && c.Tree == d.Tree && c.After == d.After && slices.Equal(c.On, d.On) && c.Tier == d.Tier &&
		c.Model == d.Model && (c.Slot == d.Slot || c.Slot != nil && d.Slot != nil && *c.Slot == *d.Slot) && c.Until.Equal(d.Until) &&
		c.Agent == d.Agent && c.Instead == d.Instead && c.Why == d.Why && (x == y || x != nil && y != nil && *x == *y)
}
