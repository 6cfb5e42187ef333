package lifecycle

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/gates/blueprint"
	"github.com/runplan/runplan/internal/checksum"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/rooted"
)

// Item is one critical discrepancy that waits for a person (BP-31). Each item is a separate file, so commands never
// overwrite each other's items.
type Item struct {
	ID    string          `json:"id"`
	Unit  string          `json:"unit"`
	State blueprint.State `json:"state"`
	At    time.Time       `json:"at"`

	Dimension      string   `json:"dimension"`
	Severity       Severity `json:"severity"`
	Claim          string   `json:"blueprint_claim"`
	Evidence       string   `json:"code_evidence"`
	Recommendation string   `json:"recommendation"`
	File           string   `json:"affected_file,omitempty"`
	Review         string   `json:"review"` // file of the review

	Status   ItemStatus `json:"status"`
	ClosedBy string     `json:"closed_by,omitempty"`
	Reason   string     `json:"reason,omitempty"`
	ClosedAt time.Time  `json:"closed_at,omitzero"`
	Before   []Closing  `json:"closed_before,omitempty"` // earlier closings of a reopened item, oldest first
}

// Closing records how a reopened item was closed before.
type Closing struct {
	Status ItemStatus `json:"status"`
	By     string     `json:"closed_by"`
	Reason string     `json:"reason"`
	At     time.Time  `json:"closed_at"`
}

// ItemStatus is the status of an item.
type ItemStatus string

// The statuses. Acknowledged means approved without a fix; fixed starts a new cycle of promotion.
const (
	Open         ItemStatus = "open"
	Acknowledged ItemStatus = "acknowledged"
	Fixed        ItemStatus = "fixed"
)

func queueFolder() string { return path.Join(blueprint.Folder, "queue") }

// ErrNoItem reports that the queue does not have the item.
var ErrNoItem = errors.New("the item is not in the queue")

// Enqueue puts the critical discrepancies of a review into the queue. An open item is not added twice. An acknowledged
// item with the same evidence stays closed, because the owner already knows it. With other evidence, or if it was
// marked as fixed, a closed item is reopened and keeps the record of its closing.
func Enqueue(root string, r Record, review string) (added []Item, err error) {
	for _, d := range r.Discrepancies {
		if d.Severity != Critical {
			continue
		}
		claim := strings.ToLower(phrase.Line(d.BlueprintClaim))
		i := Item{
			ID:   itemID(r.ServiceID, d.Dimension, claim, d.AffectedFile),
			Unit: r.ServiceID, State: r.State, At: r.ReceivedAt,
			Dimension: d.Dimension, Severity: d.Severity, Claim: d.BlueprintClaim, Evidence: d.CodeEvidence,
			Recommendation: d.Recommendation, File: d.AffectedFile,
			Review: review, Status: Open,
		}
		old, err := item(root, i.ID)
		if err == nil && (old.Status == Open || old.Status == Acknowledged && sameEvidence(old, i)) {
			continue
		}
		if err == nil {
			i.Before = append(old.Before, Closing{old.Status, old.ClosedBy, old.Reason, old.ClosedAt})
		}
		if err != nil && !errors.Is(err, ErrNoItem) {
			return added, err
		}
		if err := i.save(root); err != nil {
			return added, err
		}
		added = append(added, i)
	}
	return added, nil
}

func sameEvidence(a, b Item) bool {
	return strings.EqualFold(phrase.Line(a.Evidence), phrase.Line(b.Evidence))
}

// itemID returns the same identifier for the same discrepancy, whichever review reported it.
func itemID(unit, dimension, claim, file string) string {
	return checksum.SHA256(unit + "\x00" + dimension + "\x00" + claim + "\x00" + file)[:10]
}

func (i Item) save(root string) error {
	return writeJSON(root, path.Join(queueFolder(), i.ID+".json"), i)
}

func item(root, id string) (Item, error) {
	var i Item
	if id == "" || strings.Trim(id, "0123456789abcdef") != "" {
		return i, fmt.Errorf("%w as %q", ErrNoItem, phrase.Cut(id, 40))
	}
	err := rooted.ReadJSON(root, path.Join(queueFolder(), id+".json"), maxResult, &i)
	if errors.Is(err, fs.ErrNotExist) {
		return i, fmt.Errorf("%w as %s", ErrNoItem, id)
	}
	if err != nil {
		return i, fmt.Errorf("read the item %s of the queue: %w", id, err)
	}
	return i, nil
}

// Queue lists the items, oldest first. With all, it includes closed items.
func Queue(root string, all bool) ([]Item, error) {
	items, _, err := rooted.ReadAll[Item](root, path.Join(queueFolder(), "*.json"), maxResult)
	if err != nil {
		return nil, err
	}
	out := slices.DeleteFunc(append([]Item{}, items...), func(i Item) bool { return !all && i.Status != Open })
	slices.SortFunc(out, func(a, b Item) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID)) })
	return out, nil
}

// Find returns an open item.
func Find(root, id string) (Item, error) {
	i, err := item(root, id)
	if err == nil && i.Status != Open {
		return i, fmt.Errorf("item %s is already closed: %s by %s", id, i.Status, i.ClosedBy)
	}
	return i, err
}

// Close closes an item. The caller must have a person's agreement: closing is never automatic (TRUST-13).
func Close(root, id string, fixed bool, by, reason string, now time.Time) (Item, error) {
	i, err := Find(root, id)
	if err != nil {
		return i, err
	}
	i.Status, i.ClosedBy, i.Reason, i.ClosedAt = Acknowledged, by, reason, now.UTC()
	if fixed {
		i.Status = Fixed
	}
	if err := i.save(root); err != nil {
		return i, err
	}
	return i,
		Note(root, Entry{At: now, Unit: i.Unit, Kind: "queue",
			Text: fmt.Sprintf("%s %s by %s: %s", i.ID, i.Status, by, reason)})
}
