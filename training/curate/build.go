package curate

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/checksum"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/training"
	"github.com/runplan/runplan/training/folder"
	"github.com/runplan/runplan/training/plan"
)

// Files of a dataset.
const (
	TrainFile      = "train.jsonl"
	ValidationFile = "validation.jsonl"
	OutFile        = "left-out.jsonl" // omitted examples with the reason
	JudgedFile     = "judged.jsonl"   // with a judge: its opinion about each example
	PlanFile       = "plan.toml"
	ManifestFile   = "dataset.json"
)

// Options holds the parameters of [Build].
type Options struct {
	Plan     plan.Plan
	PlanText []byte          // as written; stored with the dataset
	Canary   training.Canary // forbidden values
	Replace  bool            // replace an existing dataset
	Judge    Judge           // has a say about the examples that the rules chose; nil: there is none
	Judging  Judging         // with Judge: its model and the task of its questions
}

// Judge reports an opinion about each example, in their order.
type Judge func(ctx context.Context, all iter.Seq2[training.Example, error], tell func(Opinion)) error

// Opinion is the opinion of a [Judge] about an example.
type Opinion struct {
	ID       string `json:"id"`
	Keep     bool   `json:"keep"`
	Reason   string `json:"reason,omitempty"`
	Unjudged string `json:"unjudged,omitempty"` // why there is no opinion; the example is kept
}

// Judging counts the opinions of a [Judge].
type Judging struct {
	Model    string `json:"model"`
	Task     string `json:"task"` // of its questions in the log
	Kept     int    `json:"kept"`
	Rejected int    `json:"rejected"`
	Unjudged int    `json:"unjudged"` // kept without an opinion
}

// Side counts the contents of one side of the split.
type Side struct {
	Examples    int `json:"examples"`
	Positive    int `json:"positive"`
	Negative    int `json:"negative"`
	Preferences int `json:"preferences"`
	Logged      int `json:"logged"`
	Synthetic   int `json:"synthetic"`
	Forward     int `json:"forward"`
	Retroactive int `json:"retroactive"`
}

// StageName is the name of this stage of the training modes (RETR-17).
const StageName = "data_selection"

// Manifest is dataset.json, which describes a dataset.
type Manifest struct {
	Version    int               `json:"version"`
	Name       string            `json:"name"` // [StageName]
	Plan       plan.Plan         `json:"plan"`
	Inputs     []InputSum        `json:"inputs"`
	Read       int               `json:"read"`
	LeftOut    map[Reason]int    `json:"left_out"`
	Train      Side              `json:"train"`
	Validation Side              `json:"validation"`
	Licenses   map[string]int    `json:"licenses"` // "" is unknown
	Repos      map[string]int    `json:"repos"`
	First      time.Time         `json:"first"`
	Last       time.Time         `json:"last"`
	Measure    Measure           `json:"measure"`
	Files      map[string]string `json:"files"` // sha256
	Judging    *Judging          `json:"judging,omitempty"`
}

// InputSum is an input file of examples.
type InputSum struct {
	Name     string `json:"name"`
	SHA256   string `json:"sha256"`
	Examples int    `json:"examples"`
}

// Inputs lists the example files in folders, sorted by name. A path may also be a file.
func Inputs(paths []string) ([]string, error) {
	var out []string
	for _, p := range paths {
		info, err := os.Stat(p)
		if err != nil {
			return nil, fmt.Errorf("find examples: %w", err)
		}
		if !info.IsDir() {
			out = append(out, p)
			continue
		}
		entries, err := os.ReadDir(p)
		if err != nil {
			return nil, fmt.Errorf("find examples: %w", err)
		}
		n := len(out)
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), ".jsonl") && e.Name() != OutFile && e.Name() != JudgedFile && !e.IsDir() {
				out = append(out, filepath.Join(p, e.Name()))
			}
		}
		if len(out) == n {
			return nil, fmt.Errorf("%w: %s has no files *.jsonl", ErrNothing, p)
		}
	}
	return out, nil
}

// InputError reports a line that is not a valid example. Its text gives the position.
type InputError struct{ Err error }

func (e *InputError) Error() string { return e.Err.Error() }
func (e *InputError) Unwrap() error { return e.Err }

// Build makes a dataset from the examples in files and writes it to the folder out. If a line is invalid or contains a
// forbidden value, it returns an error and writes nothing.
func Build(ctx context.Context, files []string, out string, o Options) (Manifest, error) {
	return build(ctx, files, out, o, split)
}

// divide chooses the held-out examples. Its result is checked for leaks independently.
type divide func(p plan.Plan, all []*record, near [][2]*record) (map[*record]bool, error)

func build(ctx context.Context, files []string, out string, o Options, split divide) (m Manifest, err error) {
	if err := o.Plan.Check(); err != nil {
		return m, err
	}
	b := &builder{Options: o, split: split,
		m: Manifest{Version: 1, Name: StageName, Plan: o.Plan, LeftOut: map[Reason]int{}, Licenses: map[string]int{},
			Repos: map[string]int{}, Files: map[string]string{}}}
	if b.out, err = folder.New(out, ManifestFile, o.Replace); err != nil {
		return m, err
	}
	defer func() {
		if b.spool != nil {
			b.spool.Close() // closing twice is harmless
		}
		err = errors.Join(err, b.out.Discard())
	}()
	if err := b.read(ctx, files); err != nil {
		return m, err
	}
	held, err := b.choose(ctx)
	if err != nil {
		return b.m, err
	}
	if err := b.write(ctx, held); err != nil {
		return m, err
	}
	if err := b.verify(); err != nil {
		return m, err
	}
	return b.m, b.publish()
}

type builder struct {
	Options
	split  divide
	out    *folder.Folder
	m      Manifest
	spool  *os.File // all examples that passed the first checks
	all    []*record
	others []Out // the others
	common map[uint64]bool
}

// read checks each example and writes the text of valid ones to the spool.
func (b *builder) read(ctx context.Context, files []string) (err error) {
	if b.spool, err = os.Create(b.out.Path("spool")); err != nil {
		return fmt.Errorf("make the dataset: %w", err)
	}
	w := bufio.NewWriterSize(b.spool, 1<<20)
	at := int64(0)
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return fmt.Errorf("read examples: %w", err)
		}
		sum := sha256.New()
		n := 0
		for e, err := range training.Read(name, io.TeeReader(f, sum)) {
			if err != nil {
				err = &InputError{err}
			} else if err = ctx.Err(); err == nil {
				if err = b.Canary.Check(e); err != nil {
					err = fmt.Errorf("%s: %w", name, err)
				}
			}
			if err != nil {
				f.Close()
				return err
			}
			n++
			if why, note := refuse(b.Plan, e); why != "" {
				b.others = append(b.others, Out{e.ID, why, note})
				continue
			}
			line, err := e.Encode()
			if err == nil {
				_, err = w.Write(line)
			}
			if err != nil {
				f.Close()
				return fmt.Errorf("make the dataset: %w", err)
			}
			b.all = append(b.all, recordOf(e, at, line))
			at += int64(len(line))
		}
		f.Close()
		b.m.Inputs = append(b.m.Inputs, InputSum{filepath.Base(name), hex.EncodeToString(sum.Sum(nil)), n})
		b.m.Read += n
	}
	slices.SortFunc(b.m.Inputs,
		func(x, y InputSum) int { return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.SHA256, y.SHA256)) })
	if err := w.Flush(); err != nil {
		return fmt.Errorf("make the dataset: %w", err)
	}
	return nil
}

func recordOf(e training.Example, at int64, line []byte) *record {
	r := &record{
		at: at, size: len(line), id: e.ID, positive: e.Positive, pair: e.Rejected != "", kind: e.Kind, source: e.Source,
		repo:    e.Origin.Repo,
		license: e.Origin.License, quality: e.Quality, unix: e.Origin.At.UnixMicro(), hard: hardKeys(e), soft: softKeys(e),
	}
	r.said = PromptSum(e) + " " + shortSum(e.Completion)
	r.line = lot(0, string(line))
	return r
}

// PromptSum returns a key for the prompt of an example.
func PromptSum(e training.Example) string {
	var b strings.Builder
	for _, m := range e.Prompt {
		fmt.Fprintf(&b, "%s %d:%s", m.Role, len(m.Content), m.Content)
	}
	return shortSum(b.String())
}

func shortSum(s string) string {
	return checksum.SHA256(s)[:24]
}

// choose decides which examples are used and which of them are held out.
func (b *builder) choose(ctx context.Context) (map[*record]bool, error) {
	copies(b.all)
	rest := left(b.all)
	if len(rest) == 0 {
		return nil, b.nothing()
	}
	if err := b.sketch(ctx, rest); err != nil {
		return nil, err
	}
	near, err := similar(ctx, b.Plan, b.all, b.shingles)
	if err != nil {
		return nil, err
	}
	if b.Judge != nil {
		if err := b.judge(ctx); err != nil {
			return nil, err
		}
	}
	balance(b.Plan, b.all)
	newest(b.all, b.Plan.Data.MaxExamples, b.Plan.Seed)
	near = slices.DeleteFunc(near, func(n [2]*record) bool { return n[0].out != "" || n[1].out != "" })
	if len(left(b.all)) == 0 {
		return nil, b.nothing()
	}
	held, err := b.split(b.Plan, b.all, near)
	b.count()
	return held, err
}

// judge drops the examples that the judge rejects, and writes all of its opinions.
func (b *builder) judge(ctx context.Context) error {
	rest := left(b.all)
	inTime(rest, b.Plan.Seed)
	examples := func(yield func(training.Example, error) bool) {
		for _, r := range rest {
			if e, err := b.example(r); !yield(e, err) {
				return
			}
		}
	}
	var said []Opinion
	b.m.Judging = &b.Judging
	err := b.Judge(ctx, examples, func(o Opinion) {
		said = append(said, o)
		switch r := rest[len(said)-1]; {
		case o.Unjudged != "":
			b.Judging.Unjudged++
		case o.Keep:
			b.Judging.Kept++
		default:
			b.Judging.Rejected++
			r.drop(Judged, o.Reason)
		}
	})
	if err != nil {
		return err
	}
	return b.file(JudgedFile, folder.Lines(said))
}

// nothing returns the error for an empty dataset, with the reasons.
func (b *builder) nothing() error {
	b.count()
	if b.m.Read == 0 {
		return fmt.Errorf("%w: the files are empty", ErrNothing)
	}
	return fmt.Errorf("%w for stage %s: of %d, %s", ErrNothing, b.Plan.Stage, b.m.Read, Told(b.m.LeftOut, Reasons()))
}

// Told says how many examples were omitted for each reason, in the given order.
func Told(leftOut map[Reason]int, order []Reason) string {
	order = lists.Filter(order, func(r Reason) bool { return leftOut[r] > 0 })
	return phrase.Join(order, ", ", func(r Reason) string { return fmt.Sprintf("%d %s", leftOut[r], r) })
}

func (b *builder) count() {
	clear(b.m.LeftOut)
	for _, o := range b.others {
		b.m.LeftOut[o.Reason]++
	}
	for _, r := range b.all {
		if r.out != "" {
			b.m.LeftOut[r.out]++
		}
	}
}

// sketch finds what nearly all examples have in common, then computes their sketches.
func (b *builder) sketch(ctx context.Context, rest []*record) error {
	byID := slices.SortedFunc(slices.Values(rest), func(x, y *record) int { return cmp.Compare(x.id, y.id) })
	var samples []shingles
	for i := range min(len(byID), mostForCommon) {
		s, err := b.shingles(byID[i*len(byID)/min(len(byID), mostForCommon)])
		if err != nil {
			return err
		}
		samples = append(samples, s)
	}
	b.common = commonOf(samples)
	b.m.Measure = Measure{Threshold: b.Plan.Data.NearDuplicate, Shingle: b.Plan.Data.Shingle,
		Common: slices.Sorted(maps.Keys(b.common))}
	for _, r := range rest {
		if err := ctx.Err(); err != nil {
			return err
		}
		s, err := b.shingles(r)
		if err != nil {
			return err
		}
		r.sketch = sketchOf(s)
	}
	return nil
}

func (b *builder) shingles(r *record) (shingles, error) {
	e, err := b.example(r)
	if err != nil {
		return nil, err
	}
	return shinglesOf(e, b.Plan.Data.Shingle).without(b.common), nil
}

func (b *builder) example(r *record) (training.Example, error) {
	line, err := b.line(r)
	if err != nil {
		return training.Example{}, err
	}
	for e, err := range training.Read("spool", bytes.NewReader(line)) {
		return e, err
	}
	return training.Example{}, errors.New("the spool is empty")
}

func (b *builder) line(r *record) ([]byte, error) {
	line := make([]byte, r.size)
	if _, err := b.spool.ReadAt(line, r.at); err != nil {
		return nil, fmt.Errorf("read again what was read: %w", err)
	}
	return line, nil
}

// ErrChanged reports that a file of a dataset was modified, so that its checks no longer hold.
var ErrChanged = errors.New("it was changed after the dataset was made, so its checks are no longer valid")
