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
func (b *build) prove(ctx context.Context, r *run, key string) (*proof, error) {
	m := r.batches[key]
	if m == nil || m.merged == nil {
		return nil, notMerged
	}
	receipt, err := b.Journal.ReadReceipt(r.id, key, m.merged.Fingerprint)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, receiptGone
	case errors.Is(err, journal.ErrReceiptChanged):
		return nil, receiptChanged
	case err != nil:
		return nil, err
	case receipt.Run != r.id, receipt.Batch != key, receipt.Head != m.merged.Commit, receipt.Tree != m.merged.Tree:
		return nil, receiptChanged
	}
	p := &proof{receipt: receipt, sum: m.merged.Fingerprint, base: receipt.Base, head: receipt.Head, merged: 1, of: 1,
		batches: []string{key}}
	found, err := b.objects.Read([]string{p.head + "^{tree}", p.base + "^{commit}"})
	if err != nil {
		return nil, err
	}
	if found[0].Hash != receipt.Tree || found[1].Hash == "" {
		return nil, commitGone
	}
	p.changed, err = b.Repo.Compare(p.base, p.head).Entries(ctx)
	return p, err
}

// provePlan proves a plan by its batches: each merged batch has a receipt.
func (b *build) provePlan(ctx context.Context, r *run) (*proof, error) {
	var last *proof
	of := 0
	var keys []string
	for _, info := range r.info.Batches {
		if info.Skip != "" {
			continue
		}
		of++
		p, err := b.prove(ctx, r, info.Key)
		if errors.Is(err, notMerged) {
			continue
		}
		if err != nil {
			return nil, err
		}
		keys = append(keys, info.Key)
		if last == nil || p.receipt.At.After(last.receipt.At) {
			last = p
		}
	}
	if last == nil {
		return nil, notMerged
	}
	last.base, last.merged, last.of, last.batches = r.info.Base, len(keys), of, keys
	var err error
	last.changed, err = b.Repo.Compare(last.base, last.head).Entries(ctx)
	return last, err
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
func (b *build) ofTask(ctx context.Context, id, plan string) (*run, *proof, error) {
	name, key, isBatch := strings.Cut(id, "/")
	if !isBatch {
		name = b.ofPlan[digestOf(plan)]
	}
	if !isBatch && plan == "" || !slices.ContainsFunc(b.runs, func(r store.Run) bool { return r.ID == name }) {
		return nil, nil, noRun
	}
	r, err := b.factsOf(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	var p *proof
	if isBatch {
		p, err = b.prove(ctx, r, key)
	} else {
		p, err = b.provePlan(ctx, r)
	}
	return r, p, err
}
