package local

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/checksum"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/journal"
)

// facts holds the journal's data of a batch when it merges.
type facts struct {
	gates   []journal.GateReceipt
	before  *gates.TestCount // tree of the commit that it was merged on
	merged  bool
	after   *gates.TestCount
	attempt int
	agent   string
	model   string
	at      time.Time     // of the commit
	usage   *agents.Usage // of the last attempt
	last    seen          // last results of gates and review

	competing map[int]runner.Event // gate results of a tournament's candidates; only for the engine's loop
	made      map[int]runner.Event // authors of the candidates
}

// merge holds the journal's data of a merged batch.
type merge struct {
	base, commit, tree string
	receipt            string // its SHA-256
}

// add adds one event of the batch.
func (f *facts) add(e runner.Event) {
	switch e.Kind {
	case runner.Executed:
		f.last.review = nil
		f.attempt, f.usage, f.agent, f.model = e.Attempt, e.Usage, e.Agent, e.Model
		if e.Candidate > 0 {
			if f.made == nil {
				f.made = map[int]runner.Event{}
			}
			f.made[e.Candidate] = e
		}
	case runner.Gated:
		if e.Candidate > 0 {
			if f.competing == nil {
				f.competing = map[int]runner.Event{}
			}
			f.competing[e.Candidate] = e
			return
		}
		f.gated(e)
	case runner.Judged:
		if e.Outcome == runner.OutcomeOK {
			f.gated(f.competing[e.Candidate])
			if won, ok := f.made[e.Candidate]; ok {
				f.agent, f.model = won.Agent, won.Model
			}
		}
		if e.Outcome != runner.OutcomeUndecided {
			f.competing, f.made = nil, nil
		}
	case runner.Reviewed:
		if e.Review != nil && path.Base(e.Command) == string(runner.Review) { // without the results of blueprints
			f.last.review = e.Review
		}
	case runner.Committed:
		f.at = e.At // the journal gets it before the receipt is written, so the receipt can be rewritten byte for byte
	}
}

// gated adds the gate results of the candidate.
func (f *facts) gated(e runner.Event) {
	f.gates, f.after = nil, e.Tests
	if f.last.tree != e.Tree || f.last.base != e.Base {
		f.last = seen{base: e.Base, tree: e.Tree, review: f.last.review} // a review is about the change, on any base
	}
	f.last.reports = e.Reports
	for _, g := range e.Reports {
		f.gates = append(f.gates, journal.GateReceipt{Gate: g.Gate, Status: g.Status, Command: g.Command, Exit: g.Exit,
			DurationMS: g.Duration.Milliseconds(), Tests: g.Tests, Note: g.Note, Log: g.Log, LogHash: g.LogHash,
			Proof: g.Proof, Warnings: g.Said()})
	}
}

// writeReceipt writes the receipt of the batch that c merges, and returns its path and its SHA-256.
func (w *work) writeReceipt(c runner.Command) (path, hash string, err error) {
	b := w.batch(c)
	f := w.factsOf(c.Batch, c.Base)
	r := journal.Receipt{
		Run: w.run, Batch: b.Key, Number: b.Number, Title: b.Title, Digest: b.Digest, Base: c.Base, Head: c.Commit,
		Tree:        c.Tree,
		TestsBefore: f.before, TestsAfter: f.after, Attempts: c.Attempt, Agent: f.agent, Model: f.model, At: f.at,
		CostUSD: w.summary().Batch(b.Key).CostUSD, Gates: f.gates,
	}
	for _, q := range w.info.Requirements {
		if slices.Contains(q.Batches, b.Key) {
			r.Requirements = append(r.Requirements, journal.RequirementReceipt{ID: q.ID, Path: q.Path, Digest: q.Digest})
		}
	}
	path = w.Layout.Receipt(w.run, c.Batch)
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return "", "", err
	}
	data = append(data, '\n')
	return path, checksum.SHA256(data), writeFile(path, data)
}

// verify compares the journal's merged batches with the run branch, and returns an event for each that is
// no longer valid.
// It rewrites a missing or edited receipt file from the journal, which is authoritative.
func (w *work) verify(ctx context.Context, tip string) (reopened []runner.Event, err error) {
	trees := map[string]string{} // by commit of the run branch
	if len(w.merged) > 0 && tip != "" {
		out, err := w.Repo.Run(ctx, "log", "--format=%H %T", w.info.Base+".."+tip)
		if err != nil {
			return nil, fmt.Errorf("verify the run branch %s: %w", w.info.Branch, err)
		}
		for line := range strings.Lines(out) {
			commit, tree, _ := strings.Cut(strings.TrimSpace(line), " ")
			trees[commit] = tree
		}
		// If a batch found its work done, its proof is its base commit, which may be the first commit of the repository.
		if trees[w.info.Base], err = w.Repo.TreeOf(ctx, w.info.Base); err != nil {
			return nil, fmt.Errorf("verify the run branch %s: %w", w.info.Branch, err)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(w.merged)) {
		m, why := w.merged[key], ""
		switch trees[m.commit] {
		case "":
			why = "its commit " + git.Short(m.commit) + " is not on the run branch"
		case m.tree:
			if err := w.mendReceipt(key, m); err != nil {
				return nil, err
			}
			continue
		default:
			why = "its commit has another tree than the gates checked"
		}
		reopened = append(reopened, runner.Event{Kind: runner.Reopened, Batch: key, Base: tip, Reason: why})
	}
	return reopened, nil
}

// mendReceipt rewrites a receipt that differs from the journal.
func (w *work) mendReceipt(key string, m merge) error {
	if _, err := w.Layout.ReadReceipt(w.run, key, m.receipt); err == nil {
		return nil
	}
	if _, ok := w.Plan.Batch(key); !ok {
		w.Note("the receipt of batch " + key +
			" is missing or was changed; the plan no longer has the batch, so it cannot be rewritten")
		return nil
	}
	w.Note("the receipt of batch " + key + " was missing or changed; it was rewritten from the journal")
	_, _, err := w.writeReceipt(
		runner.Command{Batch: key, Attempt: w.factsOf(key, m.base).attempt, Base: m.base, Commit: m.commit, Tree: m.tree})
	return err
}
