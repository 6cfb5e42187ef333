package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/checksum"
	"github.com/runplan/runplan/planparse"
)

// Receipt proves a batch: the checks, the exact tree, and the cost. A resume skips a batch only if its receipt is still
// valid.
type Receipt struct {
	Run         string           `json:"run"`
	Batch       string           `json:"batch"`
	Number      string           `json:"number"`
	Title       string           `json:"title"`
	Digest      string           `json:"digest"` // of the batch's text in the plan
	Base        string           `json:"base"`
	Head        string           `json:"head"` // the batch's one commit; equal to base if its result already existed
	Tree        string           `json:"tree"`
	Gates       []GateReceipt    `json:"gates"`
	TestsBefore *gates.TestCount `json:"tests_before"`
	TestsAfter  *gates.TestCount `json:"tests_after"`
	Attempts    int              `json:"attempts"`
	Agent       string           `json:"agent"`
	Model       string           `json:"model,omitempty"`
	CostUSD     *float64         `json:"cost_usd"` // null: unknown
	At          time.Time        `json:"at"`

	Requirements []RequirementReceipt `json:"requirements,omitempty"` // requirements that the batch names
}

// RequirementReceipt is a requirement as it was worded when the run started.
type RequirementReceipt struct {
	ID     string `json:"id"`
	Path   string `json:"path"`
	Digest string `json:"digest"` // of its wording
}

// GateReceipt is the result of one gate on the tree.
type GateReceipt struct {
	Gate       string           `json:"gate"`
	Status     gates.Status     `json:"status"`
	Command    string           `json:"command,omitempty"`
	Exit       *int             `json:"exit,omitempty"`
	DurationMS int64            `json:"duration_ms"`
	Tests      *gates.TestCount `json:"tests,omitempty"`
	Note       string           `json:"note,omitempty"`
	Log        string           `json:"log,omitempty"`
	LogHash    string           `json:"log_sha256,omitempty"`
	Proof      *gates.Proof     `json:"proof,omitempty"`
	Warnings   []string         `json:"warnings,omitempty"` // in words
}

// ErrReceiptChanged means that a receipt differs from the journal.
var ErrReceiptChanged = errors.New("the receipt differs from the journal")

// ReadReceipt returns the receipt of a batch. sum is its SHA-256, which the event of the merge has as its fingerprint.
// Errors include [fs.ErrNotExist] and [ErrReceiptChanged].
func (l Layout) ReadReceipt(run, batch, sum string) (Receipt, error) {
	var r Receipt
	data, err := l.Read(l.Rel(l.Receipt(run, batch)), MaxFile)
	if err == nil && (checksum.SHA256(data) != sum || json.Unmarshal(data, &r) != nil) {
		err = ErrReceiptChanged
	}
	if err != nil {
		return Receipt{}, fmt.Errorf("read the receipt of batch %s of run %s: %w", batch, run, err)
	}
	return r, nil
}

// BatchDigest is the short form of a batch's digest that a run stores. It is long enough to detect a change, and short
// enough for the events of a plan with a thousand batches.
func BatchDigest(b *planparse.Batch) string { return b.Digest[:min(16, len(b.Digest))] }
