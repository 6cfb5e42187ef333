package lifecycle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"
	"time"

	"github.com/runplan/runplan/gates/blueprint"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/prompt"
	"github.com/runplan/runplan/internal/rooted"
	"github.com/runplan/runplan/knowledge/summary"
	"github.com/runplan/runplan/llm"
	"github.com/runplan/runplan/patterns"
)

// Review is one prepared cold review: the question and its subject.
type Review struct {
	Root      string
	Unit      string
	State     blueprint.State
	Stamp     string
	ID        string
	System    string
	Prompt    string
	Blueprint *blueprint.Blueprint // narrowed if one file is reviewed
	Scope     string
	Reviewer  string // the reviewer that was asked; the answer cannot change it
	Files     []summary.Summary
	Unseen    []patterns.Skip

	whole   *blueprint.Blueprint
	sources string // digest of the source files when they were summarized
	out     string // as [Options.Out]
}

// Deps holds the dependencies for preparing a review.
type Deps struct {
	Summary summary.Options
	Prompts prompt.Set
	Now     func() time.Time
	NewID   func() string
	Hide    func(string) string // removes known secrets from stored text; may be nil
}

// Options configures a review.
type Options struct {
	Unit     string
	State    blueprint.State
	Scope    string // one source file; "" reviews the unit
	YAML     bool
	Reviewer string
	// output folder, below the name of the unit; "" uses the folder of reviews in the repository
	Out string
}

// ErrNothingSeen reports that no source file could be summarized, so the unit cannot be judged.
var ErrNothingSeen = errors.New("none of the source files could be summarized")

// ErrNotWhole reports that a unit is too large for the reviewer's context window. A part would be judged as if it
// were the whole.
var ErrNotWhole = errors.New("the unit does not fit into the context window of the reviewer")

// Prepare summarizes the source files and writes the question and its metadata next to the expected answer (BP-22).
func Prepare(ctx context.Context, root string, o Options, d Deps) (*Review, error) {
	b, err := blueprint.Load(root, o.Unit, o.State)
	if err != nil {
		return nil, err
	}
	now := d.Now()
	r := &Review{Root: root, Unit: o.Unit, State: o.State, ID: d.NewID(), Blueprint: b, whole: b, Scope: o.Scope,
		Reviewer: o.Reviewer, out: o.Out}
	if r.out != "" {
		if err := os.MkdirAll(r.out, 0o755); err != nil {
			return nil, fmt.Errorf("review %s: %w", o.Unit, err)
		}
	}
	home, folder := r.home()
	r.Stamp = stamp(home, now, func(stamp string) string { return promptFile(folder, stamp) })
	if r.sources, err = blueprint.SourcesDigest(root, b); err != nil {
		return nil, err
	}
	paths := b.Paths()
	if o.Scope != "" {
		paths = []string{o.Scope}
	}
	if r.Files, r.Unseen, err = blueprint.Summaries(ctx, d.Summary, b, paths); err != nil {
		return nil, err
	}
	if o.Scope != "" {
		seen, ok := summary.Get(r.Files, o.Scope)
		at := &seen
		if !ok {
			at = nil
		}
		if r.Blueprint, ok = b.Scope(o.Scope, at); !ok {
			return nil, fmt.Errorf("%s is not a source file of %s", o.Scope, o.Unit)
		}
	}
	if len(r.Files) == 0 {
		return nil, fmt.Errorf("review %s: %w: %s", o.Unit, ErrNothingSeen, reasons(r.Unseen))
	}
	q := Question{Blueprint: r.Blueprint, Files: r.Files, Unseen: r.Unseen, Reviewer: o.Reviewer, Now: now, Scope: o.Scope,
		YAML: o.YAML}
	if r.System, r.Prompt, err = q.Texts(d.Prompts); err != nil {
		return nil, err
	}
	if err := d.writeJSON(home, summariesFile(folder, r.Stamp), struct {
		ReviewID string            `json:"review_id"`
		Files    []summary.Summary `json:"files"`
		Unseen   []patterns.Skip   `json:"unseen"`
	}{r.ID, r.Files, r.Unseen}); err != nil {
		return nil, err
	}
	return r, rooted.Write(home, r.PromptPath(), []byte(d.hide(r.System+"\n---\n\n"+r.Prompt)))
}

func (d Deps) hide(text string) string {
	if d.Hide == nil {
		return text
	}
	return d.Hide(text)
}

// writeJSON writes a file without known secrets.
func (d Deps) writeJSON(root, name string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return rooted.Write(root, name, []byte(d.hide(string(text))+"\n"))
}

// home returns the root folder for the files of a review, and the folder below it.
func (r *Review) home() (root, folder string) {
	if r.out != "" {
		return r.out, r.Unit
	}
	return r.Root, ReviewFolder(r.Unit, r.State)
}

// PromptPath returns the file with the prompt.
func (r *Review) PromptPath() string {
	_, folder := r.home()
	return promptFile(folder, r.Stamp)
}

// AnswerPath returns the path for the answer.
func (r *Review) AnswerPath() string {
	_, folder := r.home()
	return answerFile(folder, r.Stamp)
}

func reasons(list []patterns.Skip) string {
	out := lists.Map(list, func(s patterns.Skip) string { return s.Path + ": " + s.Reason })
	return strings.Join(phrase.First(out, 5), "; ")
}

// Ask asks a model to review the unit. Each call is a separate session that gets only the prompt.
func (r *Review) Ask(ctx context.Context, c llm.Completer, m llm.Model) (ReviewResult, Cold, error) {
	cold := Cold{ReviewID: r.ID, Context: NewSession, Provider: m.Provider, Model: m.Name,
		Apart: "the call contains the prompt and no earlier message"}
	if m.Provider == llm.Command {
		cold.Context, cold.Apart = NewProcess,
			"a separate process, in an empty folder, with only the prompt"
	}
	res, said, err := llm.JSON[ReviewResult](ctx, c,
		llm.Request{Model: m, Stage: llm.Review, System: r.System, Prompt: r.Prompt, Schema: Schema()})
	if said.Model != "" {
		cold.Model = said.Model
	}
	if large := (*llm.WindowError)(nil); errors.As(err, &large) {
		err = fmt.Errorf("%w: %w", ErrNotWhole, err)
	}
	if err != nil {
		return res, cold, fmt.Errorf("review %s: %w", r.Unit, err)
	}
	return res, cold, res.complete(r.Unit)
}

// Keep stores an invalid answer of a reviewer next to its prompt. It returns the path.
func (r *Review) Keep(raw string) (string, error) {
	home, folder := r.home()
	name := path.Join(folder, "no_review_"+r.Stamp+".txt")
	return name, rooted.Write(home, name, []byte(raw))
}

// Judged returns the record of a result.
func (r *Review) Judged(res ReviewResult, cold Cold, now time.Time) Record {
	decision, why := res.Decide(len(r.Unseen))
	unknown := unknownClaims(r.Blueprint, res)
	res = res.clean()
	if r.Reviewer != "" {
		res.Reviewer = r.Reviewer
	}
	return Record{
		ReviewResult: res, GroundTruthFidelity: res.Fidelity(), DivergenceScoreFinal: res.Divergence(), Decision: decision,
		DecisionReason: why,
		UnknownClaims:  unknown, State: r.State, Scope: r.Scope, BlueprintSHA256: r.whole.Digest(), SourcesSHA256: r.sources,
		Unseen: r.Unseen, Cold: cold, ReceivedAt: now.UTC(),
	}
}
