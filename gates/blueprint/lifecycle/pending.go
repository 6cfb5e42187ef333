package lifecycle

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/gates/blueprint"
	"github.com/runplan/runplan/internal/rooted"
	"github.com/runplan/runplan/knowledge/summary"
	"github.com/runplan/runplan/patterns"
)

// ErrNotCold reports that the answer comes from the session that wrote the code.
var ErrNotCold = errors.New("the answer is not from a cold review")

// ErrNoQuestion reports that no review waits for an answer.
var ErrNoQuestion = errors.New("no review waits for an answer")

// ErrStale reports that blueprint or sources have changed since the review was prepared.
var ErrStale = errors.New("the blueprint or the sources have changed since the review was prepared")

// pending stores a question until its answer arrives as a file.
type pending struct {
	ReviewID        string `json:"review_id"`
	Stamp           string `json:"stamp"`
	Scope           string `json:"scope,omitempty"`
	Reviewer        string `json:"reviewer"`
	BlueprintSHA256 string `json:"blueprint_sha256"`
	SourcesSHA256   string `json:"sources_sha256"`
}

func pendingFile(unit string, s blueprint.State) string {
	return path.Join(ReviewFolder(unit, s), "pending.json")
}

// Wait records that the review waits for an answer. A unit has at most one pending question: the last one.
func (r *Review) Wait() error {
	return writeJSON(r.Root, pendingFile(r.Unit, r.State),
		pending{r.ID, r.Stamp, r.Scope, r.Reviewer, r.whole.Digest(), r.sources})
}

// Answered accepts an answer from a file if it belongs to the pending question and if blueprint and sources are
// unchanged. session is the session that answered, if known. No session that generated code of this unit may answer, or
// be named in the answer (BP-07).
func Answered(root, unit string, s blueprint.State, text, session string, now time.Time) (*Review, Record, error) {
	var p pending
	err := rooted.ReadJSON(root, pendingFile(unit, s), maxResult, &p)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, Record{}, fmt.Errorf("%s: %w", unit, ErrNoQuestion)
	}
	if err != nil {
		return nil, Record{}, fmt.Errorf("read %s: %w", pendingFile(unit, s), err)
	}
	b, err := blueprint.Load(root, unit, s)
	if err != nil {
		return nil, Record{}, err
	}
	sources, err := blueprint.SourcesDigest(root, b)
	if err != nil {
		return nil, Record{}, err
	}
	if sources != p.SourcesSHA256 || b.Digest() != p.BlueprintSHA256 {
		return nil, Record{}, ErrStale
	}
	made, err := Generations(root, unit)
	if err != nil {
		return nil, Record{}, err
	}
	for _, g := range made {
		if strings.Contains(text, g.ID) || session != "" && session == g.Session {
			return nil, Record{}, fmt.Errorf("%w: it names the session that generated the code (%s)", ErrNotCold, g.ID)
		}
	}
	r := &Review{Root: root, Unit: unit, State: s, Stamp: p.Stamp, ID: p.ReviewID, Blueprint: b, whole: b, Scope: p.Scope,
		Reviewer: p.Reviewer, sources: sources}
	if err := r.recall(); err != nil {
		return nil, Record{}, err
	}
	if p.Scope != "" {
		if narrowed, ok := b.Scope(p.Scope, nil); ok {
			r.Blueprint = narrowed
		}
	}
	res, err := ParseResult(unit, text)
	if err != nil {
		return nil, Record{}, err
	}
	cold := Cold{ReviewID: p.ReviewID, Context: AnswerFile, SessionID: session,
		Apart: "according to the person who saved the answer; the session is unknown"}
	if session != "" {
		cold.Apart = fmt.Sprintf("not one of the %d sessions that generated code of the unit", len(made))
	}
	return r, r.Judged(res, cold, now), nil
}

// recall reads the files that the reviewer was shown.
func (r *Review) recall() error {
	name := summariesFile(ReviewFolder(r.Unit, r.State), r.Stamp)
	var shown struct {
		Files  []summary.Summary `json:"files"`
		Unseen []patterns.Skip   `json:"unseen"`
	}
	if err := rooted.ReadJSON(r.Root, name, 64<<20, &shown); err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	r.Files, r.Unseen = shown.Files, shown.Unseen
	return nil
}

// Answer removes the pending question.
func (r *Review) Answer() error { return rooted.Remove(r.Root, pendingFile(r.Unit, r.State)) }

// AdapterSession is the session name of a generation by a trained adapter.
const AdapterSession = "adapter"

// Generation records one request for code of a unit.
type Generation struct {
	ID      string    `json:"generation_id"`
	Session string    `json:"session_id,omitempty"`
	At      time.Time `json:"at"`
}

// Generations lists the known generations of a unit's code, in order.
func Generations(root, unit string) ([]Generation, error) {
	out, _, err := rooted.ReadAll[Generation](root,
		path.Join(ReviewFolder(unit, blueprint.Candidate), "generation_*.json"), maxResult)
	// names have the time only to the second
	slices.SortStableFunc(out, func(a, b Generation) int { return a.At.Compare(b.At) })
	return out, err
}
