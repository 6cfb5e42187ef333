package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/blueprint"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/rooted"
)

// StageStatus is the status of a promotion's stage.
type StageStatus string

// Skipped is not a pass; the note states the reason.
const (
	StagePass    StageStatus = "pass"
	StageFail    StageStatus = "fail"
	StageSkipped StageStatus = "skipped"
	StageWaiting StageStatus = "waiting" // for a person
	StageErrored StageStatus = "error"   // it could not run
	StageNotRun  StageStatus = "not run" // an earlier stage ended the promotion
)

// StageResult is the result of one stage of a promotion.
type StageResult struct {
	Number int         `json:"number"`
	Name   string      `json:"name"`
	Status StageStatus `json:"status"`
	Note   string      `json:"note,omitempty"`
	Millis int64       `json:"duration_ms"`
}

// Outcome is the outcome of a promotion.
type Outcome string

// The outcomes.
const (
	Promoted Outcome = "promoted"
	Refused  Outcome = "refused"
	Waiting  Outcome = "waiting"
	Broken   Outcome = "error"
)

// Promotion is the record of one promotion of a candidate (RUN-15) in the journal.
type Promotion struct {
	Unit            string        `json:"unit"`
	At              time.Time     `json:"at"`
	Outcome         Outcome       `json:"outcome"`
	Stages          []StageResult `json:"stages"`
	Review          string        `json:"review,omitempty"` // file of the review that counted
	Fidelity        *float64      `json:"fidelity,omitempty"`
	BlueprintSHA256 string        `json:"blueprint_sha256,omitempty"`
	SourcesSHA256   string        `json:"sources_sha256,omitempty"`
	ApprovedBy      string        `json:"approved_by,omitempty"`

	file, journal string
}

// Journal returns the path of the readable journal.
func (p Promotion) Journal() string { return p.journal }

// StageNames returns the stages in their order.
func StageNames() []string {
	return []string{"blueprint", "check", "validation", "smoke", "review", "journal", "approval", "promote", "verify"}
}

// Pipeline holds the functions and settings of a promotion. Validate runs lint, types and tests. Smoke runs the smoke
// tests of the unit. Either may report that there are none.
type Pipeline struct {
	Root     string
	Now      func() time.Time
	Check    func(ctx context.Context, b *blueprint.Blueprint, s blueprint.State) (blueprint.Checked, error)
	Validate func(ctx context.Context) (gates.Verdict, error)
	Smoke    func(ctx context.Context) (gates.Verdict, error)
	// Approve is the human gate: it returns the name of the signer, or why there is no signature.
	Approve func(ctx context.Context, unit string) (by string, err error)
	// Audit reports whether this generation of a unit needs a review, and why (TRAIN-30). If it is nil, each generation
	// needs one.
	Audit func(ctx context.Context, unit string) (due bool, why string, err error)
	Stage func(StageResult) // may be nil
}

// ErrWaiting says that a person must sign first.
var ErrWaiting = errors.New("a person must sign first")

// step is the result of a stage.
type step struct {
	status StageStatus
	note   string
}

// walk is a running promotion.
type walk struct {
	Pipeline
	p         Promotion
	b         *blueprint.Blueprint
	candidate []byte // text of the blueprint
}

// Promote takes a candidate through the stages. It ends at the first stage that fails; a skipped stage does not end it.
// From the journal stage on, it writes the journal at each stage, so the last entry has the outcome.
func Promote(ctx context.Context, unit string, pl Pipeline) (Promotion, error) {
	w := walk{Pipeline: pl, p: Promotion{Unit: unit, At: pl.Now().UTC()}}
	if err := blueprint.ValidUnit(unit); err != nil {
		return w.p, err
	}
	for i, name := range StageNames() {
		w.p.Stages = append(w.p.Stages, StageResult{Number: i + 1, Name: name, Status: StageNotRun})
	}
	w.name()
	stages := []func(context.Context) (step, error){w.load, w.check, w.validate, w.smoke, w.review, w.open, w.approve,
		w.move, w.verify}
	w.p.Outcome = Promoted
	for i, run := range stages {
		began := pl.Now()
		s, err := run(ctx)
		r := &w.p.Stages[i]
		r.Status, r.Note, r.Millis = s.status, s.note, pl.Now().Sub(began).Milliseconds()
		if err != nil {
			r.Status, r.Note = StageErrored, phrase.Cut(phrase.Line(err.Error()), 300)
		}
		switch r.Status {
		case StageFail:
			w.p.Outcome = Refused
		case StageWaiting:
			w.p.Outcome = Waiting
		case StageErrored:
			w.p.Outcome = Broken
		}
		if pl.Stage != nil {
			pl.Stage(*r)
		}
		if w.p.Outcome != Promoted || i+1 >= len(stages) {
			return w.p, errors.Join(err, w.write(), w.note())
		}
		if i >= slices.Index(StageNames(), "journal") {
			if err := w.write(); err != nil {
				return w.p, err
			}
		}
	}
	return w.p, nil
}

// name chooses file names that no other promotion has.
func (w *walk) name() {
	of := func(stamp string) string {
		return path.Join(blueprint.Folder, "promotions", w.p.Unit+"_"+stamp+".json")
	}
	w.p.file = of(stamp(w.Root, w.p.At, of))
	w.p.journal = path.Join(blueprint.Folder, "journal", w.p.At.Format(time.DateOnly)+"_promotion_journal.md")
}

func (w *walk) load(context.Context) (step, error) {
	b, src, err := blueprint.LoadText(w.Root, w.p.Unit, blueprint.Candidate)
	var wrong blueprint.FileErrors
	switch {
	case errors.As(err, &wrong):
		return step{StageFail, wrong[0].Error()}, nil
	case err != nil:
		return step{}, err
	}
	w.b, w.candidate = b, src
	w.p.BlueprintSHA256 = b.Digest()
	if w.p.SourcesSHA256, err = blueprint.SourcesDigest(w.Root, b); err != nil {
		return step{}, err
	}
	return step{StagePass, b.File()}, nil
}

func (w *walk) check(ctx context.Context) (step, error) {
	c, err := w.Check(ctx, w.b, blueprint.Candidate)
	if err != nil {
		return step{}, err
	}
	errs := lists.Count(c.Findings, func(f gates.Finding) bool { return f.Severity == gates.Error })
	switch {
	case errs > 0:
		return step{StageFail, fmt.Sprintf("%s; the first: %s", phrase.Count(errs, "finding blocks", "findings block"),
			c.Findings[0].Message)}, nil
	case len(c.Unseen) > 0:
		return step{StageFail, "some of the source could not be read: " + reasons(c.Unseen)}, nil
	}
	return step{StagePass, phrase.Count(len(c.Findings), "finding") + ", none blocks"}, nil
}

func (w *walk) validate(ctx context.Context) (step, error) { return judged(w.Validate(ctx)) }
func (w *walk) smoke(ctx context.Context) (step, error)    { return judged(w.Smoke(ctx)) }

// judged turns the verdict of gates into a stage.
func judged(v gates.Verdict, err error) (step, error) {
	if err != nil {
		return step{}, err
	}
	var said []string
	passed, failed := 0, 0
	for _, r := range v.Reports {
		switch r.Status {
		case gates.Pass, gates.Warn:
			passed++
		case gates.Fail:
			failed++
		}
		said = append(said, r.Gate+" "+string(r.Status))
	}
	text := strings.Join(said, ", ")
	switch {
	case v.Status == gates.Fail || failed > 0 && !v.OK():
		return step{StageFail, text}, nil
	case passed > 0:
		return step{StagePass, text}, nil
	case text == "":
		return step{StageSkipped, "gate not found"}, nil
	}
	return step{StageSkipped, text}, nil
}

// review requires that the last review covers exactly this blueprint and this source. Where no review is due, a
// missing or outdated one is accepted. A rejection always needs a new review.
func (w *walk) review(ctx context.Context) (step, error) {
	rec, name, err := Latest(w.Root, w.p.Unit, blueprint.Candidate)
	never := errors.Is(err, ErrNoReview)
	current := err == nil && rec.BlueprintSHA256 == w.p.BlueprintSHA256 && rec.SourcesSHA256 == w.p.SourcesSHA256
	if w.Audit != nil && (never || err == nil && !current && rec.Decision != Reject) {
		switch due, why, err := w.Audit(ctx, w.p.Unit); {
		case err != nil:
			return step{}, err
		case !due:
			return step{StageSkipped, why}, nil
		}
	}
	if never {
		return step{StageFail, "the unit was never reviewed: runplan blueprint review " + w.p.Unit}, nil
	}
	if err != nil {
		return step{}, err
	}
	f := rec.GroundTruthFidelity
	w.p.Review, w.p.Fidelity = name, &f
	said := fmt.Sprintf("%s, fidelity %.2f", rec.Decision, f)
	switch {
	case rec.BlueprintSHA256 != w.p.BlueprintSHA256:
		return step{StageFail, "the blueprint has changed since its last review"}, nil
	case rec.SourcesSHA256 != w.p.SourcesSHA256:
		return step{StageFail, "the source has changed since its last review"}, nil
	case rec.Decision == Reject:
		return step{StageFail, said}, nil
	}
	return step{StagePass, said}, nil
}

func (w *walk) open(context.Context) (step, error) { return step{StagePass, w.p.journal}, nil }

func (w *walk) approve(ctx context.Context) (step, error) {
	by, err := w.Approve(ctx, w.p.Unit)
	switch {
	case errors.Is(err, ErrWaiting):
		return step{StageWaiting, err.Error()}, nil
	case err != nil:
		return step{}, err
	}
	w.p.ApprovedBy = by
	return step{StagePass, "signed by " + by}, nil
}

// move makes the candidate live: it writes the live file, then removes the candidate. It writes the content that the
// first stage read.
func (w *walk) move(context.Context) (step, error) {
	live := blueprint.PathOf(w.p.Unit, blueprint.Live)
	if err := rooted.Write(w.Root, live, w.candidate); err != nil {
		return step{}, err
	}
	if err := rooted.Remove(w.Root, blueprint.PathOf(w.p.Unit, blueprint.Candidate)); err != nil {
		return step{}, fmt.Errorf("%s is live, and its candidate could not be removed: %w", w.p.Unit, err)
	}
	return step{StagePass, live}, nil
}

// verify reads the live file and checks that it is unchanged.
func (w *walk) verify(context.Context) (step, error) {
	b, err := blueprint.Load(w.Root, w.p.Unit, blueprint.Live)
	if err != nil {
		return step{}, err
	}
	sources, err := blueprint.SourcesDigest(w.Root, b)
	switch {
	case err != nil:
		return step{}, err
	case b.Digest() != w.p.BlueprintSHA256 || sources != w.p.SourcesSHA256:
		return step{StageFail, "blueprint or source changed while it was promoted; review it: runplan blueprint review " +
			w.p.Unit + " --live"}, nil
	}
	return step{StagePass, "the live blueprint and the source are the reviewed ones"}, nil
}

// write stores the record, and rewrites the day's journal from all records of the day.
func (w *walk) write() error {
	if err := writeJSON(w.Root, w.p.file, w.p); err != nil {
		return err
	}
	all, err := Promotions(w.Root)
	if err != nil {
		return err
	}
	day := w.p.At.Format(time.DateOnly)
	var doc strings.Builder
	fmt.Fprintf(&doc, "# Promotions of %s\n", day)
	for _, p := range all {
		if p.At.Format(time.DateOnly) == day {
			p.tell(&doc)
		}
	}
	return rooted.Write(w.Root, w.p.journal, []byte(doc.String()))
}

// tell writes one promotion for people.
func (p Promotion) tell(w *strings.Builder) {
	fmt.Fprintf(w, "\n## %s: %s\n\n%s", p.Unit, p.Outcome, p.At.Format(time.RFC3339))
	if p.Fidelity != nil {
		fmt.Fprintf(w, ", fidelity %.2f", *p.Fidelity)
	}
	if p.ApprovedBy != "" {
		fmt.Fprintf(w, ", signed by %s", phrase.Line(p.ApprovedBy))
	}
	fmt.Fprint(w, "\n\n| stage | result | note |\n|---|---|---|\n")
	for _, s := range p.Stages {
		fmt.Fprintf(w, "| %d %s | %s | %s |\n", s.Number, s.Name, s.Status,
			strings.ReplaceAll(phrase.Line(s.Note), "|", `\|`))
	}
}

func (w *walk) note() error {
	last := ""
	for _, s := range w.p.Stages {
		if s.Status != StageNotRun {
			last = fmt.Sprintf("%s %s", s.Name, s.Status)
		}
	}
	return Note(w.Root, Entry{At: w.p.At, Unit: w.p.Unit, Kind: "promotion",
		Text: fmt.Sprintf("%s at %s; %s", w.p.Outcome, last, w.p.file)})
}

// Promotions lists all promotions that were tried, in order.
func Promotions(root string) ([]Promotion, error) {
	out, names, err := rooted.ReadAll[Promotion](root, path.Join(blueprint.Folder, "promotions", "*.json"), maxResult)
	for i, n := range names {
		out[i].file = n
	}
	slices.SortStableFunc(out, func(a, b Promotion) int { return a.At.Compare(b.At) })
	return out, err
}
