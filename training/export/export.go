package export

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/schema"
	"github.com/runplan/runplan/training"
	"github.com/runplan/runplan/training/chat"
	"github.com/runplan/runplan/training/curate"
	"github.com/runplan/runplan/training/folder"
	"github.com/runplan/runplan/training/plan"
)

// Files next to the data.
const (
	ManifestFile = "export.json"
	OutFile      = "left-out.jsonl"
	CardFile     = "README.md"
	HeldFile     = "held-back.jsonl" // validation side as examples, which measure the adapter
	trainFile    = "train.jsonl"
)

// Reasons for omitting an example from an export, besides its license.
const (
	NotLearnt     curate.Reason = "not to be learnt"
	NoCounterpart curate.Reason = "no other answer to compare it with"
)

// Policy is the handling of examples that are too long.
type Policy string

// The policies.
const (
	Fail Policy = "fail" // fail and write nothing
	Drop Policy = "drop" // omit them
	Keep Policy = "keep" // export them; the trainer may truncate them
)

// Options holds the parameters of an export.
type Options struct {
	Format    Format
	BaseModel string        // name of the model for the trainer
	Template  chat.Renderer // nil: no template
	Counter   chat.Counter
	Limit     int // in tokens; 0: the limit of the plan
	TooLong   Policy
	Licenses  []string // only repositories with these licenses
	DropBegin string   // begin token that the trainer adds itself
	Canary    training.Canary
	Replace   bool
}

// Long is an example that is too long.
type Long struct {
	ID     string `json:"id"`
	File   string `json:"file"`
	Tokens int    `json:"tokens"`
	More   bool   `json:"more,omitempty"` // it has more tokens than counted
}

// Count formats the number of tokens.
func (l Long) Count() string {
	if l.More {
		return fmt.Sprintf("more than %d tokens", l.Tokens)
	}
	return fmt.Sprintf("%d tokens", l.Tokens)
}

// LongError lists the examples that are too long.
type LongError struct {
	Limit   int
	Counted string
	Long    []Long
}

// Error names the first ones.
func (e *LongError) Error() string {
	names := lists.Map(e.Long, func(l Long) string { return fmt.Sprintf("%s (%s, %s)", l.ID, l.Count(), l.File) })
	return fmt.Sprintf("%d example(s) have more than %d tokens (%s): %s", len(e.Long), e.Limit, e.Counted,
		phrase.Few(names, 10))
}

// Manifest is export.json, which describes an export.
type Manifest struct {
	Version    int                   `json:"version"`
	Format     string                `json:"format"`
	Schema     string                `json:"schema"`
	BaseModel  string                `json:"base_model"`
	Template   string                `json:"template"` // "none"
	Counter    string                `json:"counter"`
	Limit      int                   `json:"limit"`
	Longest    int                   `json:"longest"`
	Dataset    map[string]string     `json:"dataset"` // sha256 of the dataset's files
	Plan       plan.Plan             `json:"plan"`
	Train      curate.Side           `json:"train"`
	Validation curate.Side           `json:"validation"`
	LeftOut    map[curate.Reason]int `json:"left_out"`
	TooLong    []Long                `json:"too_long"` // omitted or kept
	Licenses   map[string]int        `json:"licenses"` // "" is unknown
	Repos      map[string]int        `json:"repos"`
	Files      map[string]string     `json:"files"` // sha256
	Run        string                `json:"run"`   // command that starts the trainer
}

// ErrEmpty reports that no example can be exported.
var ErrEmpty = errors.New("no examples remain to export")

// job is the state of one export.
type job struct {
	Options
	check *schema.Schema // of lines
	in    string
	m     *Manifest
	out   []curate.Out
	taken map[string]bool // exported examples of the validation side
}

// Write exports the dataset in one folder to another.
func Write(ctx context.Context, in, out string, o Options) (m Manifest, err error) {
	set, err := curate.Load(in)
	if err != nil {
		return m, err
	}
	o.Limit = cmp.Or(o.Limit, set.Plan.Hyperparameters.MaxSequenceLength)
	j := job{Options: o, in: in, m: &m, taken: map[string]bool{}}
	m = Manifest{
		Version: 1, Format: o.Format.Name, Schema: o.Format.Chat, BaseModel: o.BaseModel, Template: "none",
		Counter: o.Counter.Name(), Limit: o.Limit, Plan: set.Plan,
		Dataset: map[string]string{curate.TrainFile: set.Files[curate.TrainFile],
			curate.ValidationFile: set.Files[curate.ValidationFile]},
		LeftOut:  map[curate.Reason]int{},
		Licenses: map[string]int{}, Repos: map[string]int{}, Run: o.Format.Run,
	}
	if o.Template != nil {
		m.Template, m.Schema = o.Template.Name(), cmp.Or(o.Format.Text, o.Format.Chat)
	}
	if j.check, err = SchemaOf(m.Schema); err != nil {
		return m, err
	}
	f, err := folder.New(out, ManifestFile, o.Replace)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, f.Discard()) }()
	if err := j.write(ctx, f); err != nil {
		return m, err
	}
	return m, f.Publish()
}

func (j *job) write(ctx context.Context, f *folder.Folder) error {
	for _, side := range []struct {
		from, to string
		count    *curate.Side
	}{{curate.TrainFile, trainFile, &j.m.Train}, {curate.ValidationFile, j.Format.Held, &j.m.Validation}} {
		if err := f.File(side.to, func(w io.Writer) error { return j.side(ctx, w, side.from, side.count) }); err != nil {
			return err
		}
	}
	if j.TooLong == Fail && len(j.m.TooLong) > 0 {
		return &LongError{j.Limit, j.Counter.Name(), j.m.TooLong}
	}
	if j.m.Train.Examples == 0 || j.m.Validation.Examples == 0 {
		return j.empty()
	}
	if err := f.File(HeldFile, j.held); err != nil {
		return err
	}
	if err := f.File(OutFile, folder.Lines(j.out)); err != nil {
		return err
	}
	documents, err := j.documents()
	if err != nil {
		return err
	}
	for _, d := range documents {
		if err := f.File(d.name, folder.Text(d.text)); err != nil {
			return err
		}
	}
	j.m.Files = f.Sums
	return f.File(ManifestFile, folder.JSON(j.m))
}

// empty returns the error for an empty export, with the reasons.
func (j *job) empty() error {
	side := "train"
	if j.m.Train.Examples > 0 {
		side = "validation"
	}
	return fmt.Errorf("%w as %s for %s: all were omitted: %s", ErrEmpty, j.Format.Name, side,
		curate.Told(j.m.LeftOut, Reasons()))
}

// Reasons returns the reasons for omitting examples, in order.
func Reasons() []curate.Reason {
	return []curate.Reason{curate.NoLicense, curate.OtherLicense, NotLearnt, NoCounterpart, curate.TooLong}
}
