package logged

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/runner/journal"
)

// proof is the evidence that code was made as recorded in the journal.
type proof struct {
	receipt journal.Receipt // receipt of the batch, or of the last batch of a plan
	sum     string          // hash of the file
	base    string          // commit before the change
	head    string          // commit with the change
	changed []git.Entry     // changes between them
	merged  int             // number of merged batches of a plan
	of      int             // number of batches that were to run
	batches []string        // keys of the merged batches
}

// prove finds the receipt of a batch and compares it with the journal and git.
func (b *build) prove(ctx context.Context, r *run, key string) (*proof, *refusal, error) {
	m := r.batches[key]
	if m == nil || m.merged == nil {
		return nil, &notMerged, nil
	}
	receipt, err := b.Journal.ReadReceipt(r.id, key, m.merged.Fingerprint)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &receiptGone, nil
	case errors.Is(err, journal.ErrReceiptChanged):
		return nil, &receiptChanged, nil
	case err != nil:
		return nil, nil, err
	}
	p := &proof{receipt: receipt, sum: m.merged.Fingerprint}
	if p.receipt.Run != r.id || p.receipt.Batch != key || p.receipt.Head != m.merged.Commit ||
		p.receipt.Tree != m.merged.Tree {
		return nil, &receiptChanged, nil
	}
	p.base, p.head, p.merged, p.of, p.batches = p.receipt.Base, p.receipt.Head, 1, 1, []string{key}
	found, err := b.objects.Read([]string{p.head + "^{tree}", p.base + "^{commit}"})
	if err != nil {
		return nil, nil, err
	}
	if found[0].Hash != p.receipt.Tree || found[1].Hash == "" {
		return nil, &commitGone, nil
	}
	p.changed, err = b.Repo.Compare(p.base, p.head).Entries(ctx)
	return p, nil, err
}

// provePlan proves a plan by its batches: each merged batch has a receipt.
func (b *build) provePlan(ctx context.Context, r *run) (*proof, *refusal, error) {
	var last *proof
	n, of := 0, 0
	var keys []string
	for _, info := range r.info.Batches {
		if info.Skip != "" {
			continue
		}
		of++
		p, why, err := b.prove(ctx, r, info.Key)
		if err != nil {
			return nil, nil, err
		}
		if why != nil && *why != notMerged {
			return nil, why, nil
		}
		if why == nil {
			n++
			keys = append(keys, info.Key)
			if last == nil || p.receipt.At.After(last.receipt.At) {
				last = p
			}
		}
	}
	if last == nil {
		return nil, &notMerged, nil
	}
	last.base, last.merged, last.of, last.batches = r.info.Base, n, of, keys
	var err error
	last.changed, err = b.Repo.Compare(last.base, last.head).Entries(ctx)
	return last, nil, err
}

// touched lists the paths of a change that existed before it, because retrieval cannot find new files, and all its
// paths.
func (p *proof) touched() (before, all []string) {
	for _, e := range p.changed {
		all = append(all, e.Path)
		if e.Status != 'A' {
			before = append(before, e.Path)
		}
	}
	return before, all
}

// ofTask finds the proof of a logged task: its batch, or the run of the plan that it made.
func (b *build) ofTask(ctx context.Context, id, plan string) (*run, *proof, *refusal, error) {
	name, key, isBatch := strings.Cut(id, "/")
	if !isBatch {
		name = b.ofPlan[journal.Sum([]byte(strings.TrimSpace(plan)))]
		if plan == "" {
			name = ""
		}
	}
	if !slices.ContainsFunc(b.runs, func(r store.Run) bool { return r.ID == name }) {
		return nil, nil, &noRun, nil
	}
	r, err := b.factsOf(ctx, name)
	if err != nil {
		return nil, nil, nil, err
	}
	var p *proof
	var why *refusal
	if isBatch {
		p, why, err = b.prove(ctx, r, key)
	} else {
		p, why, err = b.provePlan(ctx, r)
	}
	return r, p, why, err
}
