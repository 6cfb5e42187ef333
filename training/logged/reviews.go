package logged

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates/blueprint"
	"github.com/runplan/runplan/gates/blueprint/lifecycle"
	"github.com/runplan/runplan/gates/review"
	"github.com/runplan/runplan/internal/checksum"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/runner/journal"
	"github.com/runplan/runplan/training"
)

// ledger and record are stored reviews: of a branch or a batch, and of a blueprint. They are the receipts of reviewer
// calls. An answer that is in neither is not used.
type ledger struct {
	review.Ledger
	sum string
}

type record struct {
	lifecycle.Stored
	promoted *bool // outcome of the reviewed candidate; nil: undecided
}

// openReviews reads all stored reviews.
func (b *build) openReviews() error {
	names, err := b.Journal.Ledgers()
	if err != nil {
		return err
	}
	for _, name := range names {
		data, err := b.Journal.Read(name, journal.MaxFile)
		one := ledger{sum: checksum.SHA256(data)}
		if err == nil {
			err = json.Unmarshal(data, &one)
		}
		if err != nil {
			return fmt.Errorf("read the findings of earlier reviews in %s: %w; correct it, or move it away", name, err)
		}
		b.ledgers = append(b.ledgers, one)
	}
	promotions, err := lifecycle.Promotions(b.Repo.Root)
	if err != nil {
		return err
	}
	l := b.Journal.Layout
	for _, at := range []struct{ root, folders string }{
		{b.Repo.Root, lifecycle.ReviewFolder("*", blueprint.Candidate)},
		{b.Repo.Root, lifecycle.ReviewFolder("*", blueprint.Live)},
		{l.Root, path.Join(l.Rel(l.BlueprintReviews("*")), "*")},
	} {
		all, err := lifecycle.Reviews(at.root, at.folders)
		if err != nil {
			return err
		}
		for _, one := range all {
			if one.ReceivedAt.IsZero() {
				continue // the answer was not submitted yet
			}
			asked, err := one.Prompt(at.root)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return err
			}
			rec := record{Stored: one}
			for _, p := range promotions {
				if p.Review == one.Name && (p.Outcome == lifecycle.Promoted || p.Outcome == lifecycle.Refused) {
					rec.promoted = new(p.Outcome == lifecycle.Promoted)
				}
			}
			text := b.Guard.Redact(redact.Clean(string(asked))) // as in the log of calls
			b.records[checksum.SHA256(phrase.Line(text))] = rec
		}
	}
	return nil
}

// review yields a reviewer's question with its answer.
func (b *build) review(where string, c store.Call) error {
	e := training.Example{
		Stage: training.Review, Kind: training.Forward, Prompt: training.Question(c.System, c.Prompt), Completion: c.Response,
		Origin: training.Origin{Task: c.Task, Call: c.ID, Model: c.Model, At: c.At},
	}
	var known bool
	if c.Type == blueprintCall {
		known = b.blueprintReview(&e, c)
	} else {
		known = b.codeReview(&e, c)
	}
	if !known {
		return noRecord
	}
	e.Positive = true
	return b.answer(where, c, e)
}

// blueprintReview finds the record of a cold review by its prompt.
func (b *build) blueprintReview(e *training.Example, c store.Call) bool {
	asked := c.System + "\n---\n\n" + c.Prompt
	rec, known := b.records[checksum.SHA256(phrase.Line(asked))]
	if !known {
		return false
	}
	if rec.State == blueprint.Live {
		e.Kind = training.Retroactive
	}
	e.Origin.Unit, e.Origin.Receipt = rec.ServiceID, rec.SHA256
	n := len(rec.Discrepancies)
	claims := shareOf("claims", n-len(rec.UnknownClaims), n, "%d of %d claims are in the blueprint")
	e.Quality = claims.Value
	e.Signals = []training.Signal{claims, {Name: "decision", Note: string(rec.Decision)}}
	if rec.promoted != nil {
		e.Signals = append(e.Signals, training.Signal{Name: "promoted", Value: verdictOf(rec.promoted)})
	}
	return true
}

// remarks is the part of a reviewer's answer that a ledger also stores.
type remarks struct {
	Findings []struct {
		Path    string `json:"path"`
		Message string `json:"message"`
	} `json:"findings"`
}

// codeReview finds the ledger with a reviewer's findings and their outcomes. A fixed or accepted finding was right, a
// refuted one was wrong. An open one is unknown.
func (b *build) codeReview(e *training.Example, c store.Call) bool {
	var said remarks
	if json.Unmarshal([]byte(c.Response), &said) != nil {
		return false
	}
	right, wrong, found := 0, 0, false
	for _, l := range b.ledgers {
		for _, m := range said.Findings {
			i := slices.IndexFunc(l.Findings, func(f review.Entry) bool {
				return !f.Fact && m.Message != "" && sameMessage(f.Message, m.Message) &&
					(f.Path == "" || strings.HasSuffix(m.Path, f.Path))
			})
			if i < 0 {
				continue
			}
			found = true
			e.Origin.Receipt = l.sum
			switch l.Findings[i].State {
			case review.Fixed, review.Accepted:
				right++
			case review.Refuted:
				wrong++
			}
		}
		if found {
			break
		}
	}
	e.Quality = share(right, right+wrong)
	e.Signals = []training.Signal{{Name: "confirmed", Value: e.Quality,
		Note: fmt.Sprintf("%d findings fixed or accepted, %d refuted, of %d", right, wrong, len(said.Findings))}}
	return found
}

// sameMessage compares a stored message with the original. Stored messages are shortened and their white space is
// normalized.
func sameMessage(kept, said string) bool {
	kept, said = phrase.Line(kept), phrase.Line(said)
	if begin, cut := strings.CutSuffix(kept, "…"); cut {
		return strings.HasPrefix(said, begin)
	}
	return kept == said
}
