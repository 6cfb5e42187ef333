package local

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/sampling"
)

// variantOf adds the instructions of a variant to a candidate's brief, and returns the name of the variant.
func (w *work) variantOf(ctx context.Context, c runner.Command, brief string) (text, name string, err error) {
	if c.Slot == nil {
		return brief, "", nil
	}
	if c.Slot.Variant == runner.SynthesisVariant {
		text, err := w.synthesis(ctx, c)
		return text + "\n" + brief, c.Slot.Variant, err
	}
	v, ok := sampling.Named(c.Slot.Variant)
	if !ok {
		return "", "", fmt.Errorf("batch %s: candidate %d: unknown variant %q", c.Batch, c.Slot.Number, c.Slot.Variant)
	}
	if v.Prompt == "" {
		return brief, v.Name, nil
	}
	return brief + "\n## How to go about it\n\n" + v.Prompt + "\n", v.Name, nil
}

// withoutBatch removes a batch's lines from the progress. Candidates must not know of each other; one that should
// know the last failure gets the digest.
func withoutBatch(lines []string, b *planparse.Batch) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
		return strings.Contains(line, fmt.Sprintf(" batch %s (", b.Number))
	})
}

// synthesis writes the text about the other candidates for the candidate of round 2 (SAMP-08).
func (w *work) synthesis(ctx context.Context, c runner.Command) (string, error) {
	b, err := w.batch(c)
	if err != nil {
		return "", err
	}
	r, err := w.roundOf(ctx, c)
	if err != nil {
		return "", err
	}
	in := sampling.SynthesisInput{Batch: b.Number, Tokens: w.Sampling.Tokens}
	var cands []sampling.Candidate
	for _, s := range r.slots {
		cand, err := w.measured(ctx, c.Base, s, r)
		if err != nil {
			return "", err
		}
		cands = append(cands, cand)
		in.Attempts = append(in.Attempts, w.attemptOf(ctx, c, cand, r))
	}
	in.Decision = sampling.Decide(cands, w.Sampling.Options)
	return sampling.Brief(in)
}

// attemptOf is one candidate as the synthesis gets to see it.
func (w *work) attemptOf(ctx context.Context, c runner.Command, cand sampling.Candidate, r round) sampling.Attempt {
	a := sampling.Attempt{Candidate: cand}
	if cand.Void != "" {
		return a
	}
	a.Terms = w.Sampling.Scorer.Explain(cand.Measure)
	ev := r.executed[cand.Number]
	if g, ok := r.gated[cand.Number]; ok {
		ev = g
	}
	for _, rep := range ev.Reports {
		if rep.Status == gates.Fail {
			a.FailedGates = append(a.FailedGates, rep.Gate)
		}
		for _, f := range rep.Findings {
			if rep.Tests != nil && f.Severity == gates.Error {
				a.Failing = append(a.Failing, cmp.Or(f.Test, f.Message))
			}
		}
	}
	a.Digest = w.redact.String(gates.Digest(gates.Verdict{Reports: ev.Reports}, digestBytes))
	if tree := r.executed[cand.Number].Tree; tree != "" {
		if out, err := w.Repo.Run(ctx, "diff", "--name-only", "-z", "--no-renames", c.Base, tree); err == nil {
			a.Files = strings.FieldsFunc(out, func(r rune) bool { return r == 0 })
		}
	}
	if patch, err := os.ReadFile(filepath.Join(w.candidateDir(c, cand.Number), patchName)); err == nil {
		a.Diff = w.redact.String(string(patch))
	}
	return a
}
