package feedback

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/runplan/runplan/internal/jsondoc"
	"github.com/runplan/runplan/internal/store"
)

// ErrHistory reports an invalid history of a row. The row is left unchanged (FIX-06).
var ErrHistory = errors.New("the history of the feedback is damaged")

// Stage names a stage of the loop in the history and in messages.
type Stage string

// The stages, and other kinds of history entries.
const (
	StageEnqueue      Stage = "enqueue"
	StageTriage       Stage = "triage"
	StageLocalise     Stage = "localise"
	StagePlan         Stage = "plan"
	StageApproval     Stage = "approval"
	StageStart        Stage = "start"
	StageFix          Stage = "fix"
	StageDifferential Stage = "differential"
	StageReview       Stage = "review"
	StageRefused      Stage = "refused" // the fix was not good enough; data has the reason
	StagePublish      Stage = "publish"
	StageNotify       Stage = "notify"
	StageMerge        Stage = "merge"
	StageVerify       Stage = "verify"
	StageAlarm        Stage = "alarm"
	StageLearn        Stage = "learn"
	StageClose        Stage = "close"
)

// Note is one entry of a history: what happened, the transition, and the result of the stage.
type Note struct {
	At       time.Time       `json:"at"`
	From     Status          `json:"from"`
	To       Status          `json:"to"` // unchanged if the row only got data
	Approval Approval        `json:"approval,omitempty"`
	Stage    Stage           `json:"stage"`
	Text     string          `json:"text"`           // for people
	Data     json.RawMessage `json:"data,omitempty"` // the result of the stage
}

// Item is a row with its history.
type Item struct {
	ID       string    `json:"id"`
	Body     string    `json:"body"`
	Severity Severity  `json:"severity"`
	URL      string    `json:"context_url,omitempty"`
	Source   string    `json:"source"`
	Status   Status    `json:"status"`
	Approval Approval  `json:"approval,omitempty"`
	Created  time.Time `json:"created"`
	Updated  time.Time `json:"updated"`
	Notes    []Note    `json:"notes"`

	row store.Feedback
}

// Read parses a row. Its history must be an array of notes whose transitions form a chain from the start to the row's
// state. Anything else is [ErrHistory].
func Read(r store.Feedback) (Item, error) {
	broken := func(format string, args ...any) (Item, error) {
		return Item{}, fmt.Errorf("feedback %s: %w: %s", r.ID, ErrHistory, fmt.Sprintf(format, args...))
	}
	i := Item{
		ID: r.ID, Body: r.Body, Severity: Severity(r.Severity), URL: r.ContextURL, Source: r.Source, Status: Status(r.Status),
		Approval: Approval(r.Approval), Created: r.Created, Updated: r.Updated, row: r,
	}
	if err := CheckID(r.ID); err != nil {
		return broken("%v", err)
	}
	if err := jsondoc.Decode([]byte(r.Notes), &i.Notes); err != nil {
		return broken("not an array of notes: %v", err)
	}
	if len(i.Notes) == 0 {
		return broken("it has no notes")
	}
	at := Status("")
	for n, note := range i.Notes {
		switch {
		case note.From != at:
			return broken("note %d starts from %q, but the previous note ended at %q", n+1, note.From, at)
		case !note.To.valid():
			return broken("note %d leads to %q, which is not a state", n+1, note.To)
		case note.To != note.From && !slices.Contains(next()[note.From], note.To):
			return broken("note %d leads from %s to %s, which is not an allowed transition", n+1, note.From, note.To)
		}
		at = note.To
	}
	if last := i.Notes[len(i.Notes)-1]; at != i.Status || last.Approval != i.Approval {
		return broken("it ends at %s %s, but the row is %s %s", at, last.Approval, i.Status, i.Approval)
	}
	return i, nil
}

// story is the state of the work according to the history. It omits results of refused plans.
type story struct {
	triage  *Triage
	places  *Places
	plan    *Plan
	asked   *Asked
	fix     *Fix
	differ  *Differential
	review  *Reviewed
	pr      *Published
	told    *Notice
	merged  *Merged
	checked *Checked
	learned bool

	rounds   int       // drafted plans
	refusals []Refused // reasons against earlier plans
	alarms   []string  // commits on which the test failed
}

func (i Item) tell() (story, error) {
	var s story
	for n, note := range i.Notes {
		var err error
		switch note.Stage {
		case StageTriage:
			err = take(note, &s.triage)
		case StageLocalise:
			err = take(note, &s.places)
		case StagePlan:
			s.plan, s.asked, s.fix, s.differ, s.review, s.pr, s.told = nil, nil, nil, nil, nil, nil, nil
			s.rounds++
			err = take(note, &s.plan)
		case StageApproval:
			err = take(note, &s.asked)
		case StageFix:
			err = take(note, &s.fix)
		case StageDifferential:
			err = take(note, &s.differ)
		case StageReview:
			err = take(note, &s.review)
		case StageRefused:
			var r *Refused
			if err = take(note, &r); err == nil {
				s.refusals = append(s.refusals, *r)
			}
			s.plan, s.asked, s.fix, s.differ, s.review = nil, nil, nil, nil, nil
		case StagePublish:
			err = take(note, &s.pr)
		case StageNotify:
			err = take(note, &s.told)
		case StageMerge:
			err = take(note, &s.merged)
		case StageVerify:
			err = take(note, &s.checked)
		case StageAlarm:
			var c *Checked
			if err = take(note, &c); err == nil {
				s.alarms = append(s.alarms, c.Commit)
			}
			s.merged = nil // a later commit on the branch may fix it
		case StageLearn:
			s.learned = true
		case StageEnqueue, StageStart, StageClose:
		default:
			err = errors.New("there is no such stage")
		}
		if err != nil {
			return story{}, fmt.Errorf("feedback %s: %w: note %d, of %q: %w", i.ID, ErrHistory, n+1, note.Stage, err)
		}
	}
	return s, nil
}

// take decodes the result of a stage.
func take[T any](n Note, to **T) error {
	if len(n.Data) == 0 {
		return errors.New("it has no result")
	}
	v := new(T)
	if err := jsondoc.Decode(n.Data, v); err != nil {
		return err
	}
	*to = v
	return nil
}
