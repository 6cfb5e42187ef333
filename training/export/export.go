package export

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/runplan/runplan/training"
	"github.com/runplan/runplan/training/chat"
	"github.com/runplan/runplan/training/curate"
	"github.com/runplan/runplan/training/folder"
	"github.com/runplan/runplan/training/plan"
)

// The files beside the data.
const (
	ManifestFile = "export.json"
	OutFile      = "left-out.jsonl"
	CardFile     = "README.md"
	HeldFile     = "held-back.jsonl" // what was exported for validation, as examples: an adapter is measured by it
	trainFile    = "train.jsonl"
)

// The reasons why an example of a dataset is not in an export, besides those of its license.
const (
	NotLearnt     curate.Reason = "not to be learnt"
	NoCounterpart curate.Reason = "nothing to hold it against"
)

// Policy says what becomes of examples that are too long.
type Policy string

// The policies.
const (
	Fail Policy = "fail" // nothing is written
	Drop Policy = "drop" // they are left out
	Keep Policy = "keep" // they are taken, and the trainer may cut them
)

// Options say how a dataset is exported.
type Options struct {
	Format    Format
	BaseModel string        // as the trainer knows it
	Template  chat.Renderer // nil: none
	Counter   chat.Counter
	Limit     int // tokens; 0: what the plan says
	TooLong   Policy
	Licenses  []string // only of repositories with these
	DropBegin string   // token at the beginning of a rendered text that the trainer adds by itself
	Canary    training.Canary
	Replace   bool
}

// Long is an example that is too long.
type Long struct {
	ID     string `json:"id"`
	File   string `json:"file"`
	Tokens int    `json:"tokens"`
	More   bool   `json:"more,omitempty"` // it has more than that
}

// Count says how many tokens it has.
func (l Long) Count() string {
	if l.More {
		return fmt.Sprintf("more than %d tokens", l.Tokens)
	}
	return fmt.Sprintf("%d tokens", l.Tokens)
}

// LongError says which examples are too long.
type LongError struct {
	Limit   int
	Counted string
	Long    []Long
}

// Error names the first of them.
func (e *LongError) Error() string {
	const few = 10
	var names []string
	for _, l := range e.Long[:min(few, len(e.Long))] {
		names = append(names, fmt.Sprintf("%s (%s, %s)", l.ID, l.Count(), l.File))
	}
	more := ""
	if n := len(e.Long) - few; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("%d example(s) have more than %d tokens (%s): %s%s", len(e.Long), e.Limit, e.Counted, strings.Join(names, ", "), more)
}

// Manifest is export.json: what an export is made of.
type Manifest struct {
	Version    int                   `json:"version"`
	Format     string                `json:"format"`
	Schema     string                `json:"schema"`
	BaseModel  string                `json:"base_model"`
	Template   string                `json:"template"` // "none"
	Counter    string                `json:"counter"`
	Limit      int                   `json:"limit"`
	Longest    int                   `json:"longest"`
	Dataset    map[string]string     `json:"dataset"` // sha256 of the files it is made of
	Plan       plan.Plan             `json:"plan"`
	Train      curate.Side           `json:"train"`
	Validation curate.Side           `json:"validation"`
	LeftOut    map[curate.Reason]int `json:"left_out"`
	TooLong    []Long                `json:"too_long"` // left out, or kept
	Licenses   map[string]int        `json:"licenses"` // "" is unknown
	Repos      map[string]int        `json:"repos"`
	Files      map[string]string     `json:"files"` // sha256
	Run        string                `json:"run"`   // what starts the trainer
}

// ErrEmpty says that nothing of a dataset can be exported so.
var ErrEmpty = errors.New("nothing is left to export")

// job is one export at work.
type job struct {
	Options
	format Format
	schema string // name of the shape of lines
	plan   plan.Plan
	base   string
	limit  int
	check  *Schema
	in     string
	m      *Manifest
	out    []curate.Out
	taken  map[string]bool // examples of the validation side that were written
}

// counted tells how tokens were counted.
func (j job) counted() string { return j.Counter.Name() }

// Write exports the dataset in a folder to another one.
func Write(ctx context.Context, in, out string, o Options) (m Manifest, err error) {
	set, err := curate.Load(in)
	if err != nil {
		return m, err
	}
	j := job{Options: o, format: o.Format, schema: o.Format.Chat, plan: set.Plan, base: o.BaseModel, limit: o.Limit, in: in, m: &m, taken: map[string]bool{}}
	if j.limit == 0 {
		j.limit = set.Plan.Hyperparameters.MaxSequenceLength
	}
	template := "none"
	if o.Template != nil {
		template = o.Template.Name()
		if o.Format.Text != "" {
			j.schema = o.Format.Text
		}
	}
	m = Manifest{
		Version: 1, Format: j.format.Name, Schema: j.schema, BaseModel: j.base, Template: template, Counter: o.Counter.Name(), Limit: j.limit, Plan: set.Plan,
		Dataset:  map[string]string{curate.TrainFile: set.Files[curate.TrainFile], curate.ValidationFile: set.Files[curate.ValidationFile]},
		LeftOut:  map[curate.Reason]int{},
		Licenses: map[string]int{}, Repos: map[string]int{}, Run: j.format.Run,
	}
	if j.check, err = SchemaOf(j.schema); err != nil {
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
	}{{curate.TrainFile, trainFile, &j.m.Train}, {curate.ValidationFile, j.format.Held, &j.m.Validation}} {
		if err := f.File(side.to, func(w io.Writer) error { return j.side(ctx, w, side.from, side.count) }); err != nil {
			return err
		}
	}
	if j.TooLong == Fail && len(j.m.TooLong) > 0 {
		return &LongError{j.limit, j.counted(), j.m.TooLong}
	}
	if j.m.Train.Examples == 0 || j.m.Validation.Examples == 0 {
		return j.empty()
	}
	if err := f.File(HeldFile, j.held); err != nil {
		return err
	}
	if err := f.File(OutFile, j.leftOut); err != nil {
		return err
	}
	for _, d := range append(j.format.configs(*j), document{CardFile, j.card()}) {
		if err := f.File(d.name, func(w io.Writer) error { _, err := io.WriteString(w, d.text); return err }); err != nil {
			return err
		}
	}
	j.m.Files = f.Sums
	return f.File(ManifestFile, func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(j.m)
	})
}

// empty says why nothing is left.
func (j *job) empty() error {
	side := "train"
	if j.m.Train.Examples > 0 {
		side = "validation"
	}
	var why []string
	for _, r := range Reasons() {
		if n := j.m.LeftOut[r]; n > 0 {
			why = append(why, fmt.Sprintf("%d %s", n, r))
		}
	}
	return fmt.Errorf("%w as %s for %s: left out are %s", ErrEmpty, j.format.Name, side, strings.Join(why, ", "))
}

// Reasons returns why examples may be left out, in their order.
func Reasons() []curate.Reason {
	return []curate.Reason{curate.NoLicense, curate.OtherLicense, NotLearnt, NoCounterpart, curate.TooLong}
}

// side writes one side of the split.
func (j *job) side(ctx context.Context, w io.Writer, name string, count *curate.Side) error {
	good, err := j.counterparts(name)
	if err != nil {
		return err
	}
	return j.each(name, func(e training.Example) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := j.Canary.Check(e); err != nil {
			return err
		}
		rows, why := j.rows(e, good)
		if why != "" {
			j.leave(e.ID, why, "")
			return nil
		}
		for _, r := range rows {
			if err := j.row(ctx, w, name, r, count); err != nil {
				return fmt.Errorf("example %s: %w", e.ID, err)
			}
		}
		return nil
	})
}

func (j *job) each(name string, do func(training.Example) error) error {
	path := filepath.Join(j.in, name)
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	for e, err := range training.Read(path, f) {
		if err == nil {
			err = do(e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// counterparts are the good answers to prompts that also have a bad one. Only preferences need them.
func (j *job) counterparts(name string) (map[string]string, error) {
	if j.format.Teaches != Preferences {
		return nil, nil
	}
	bad := map[string]bool{}
	err := j.each(name, func(e training.Example) error {
		if !e.Positive && e.Rejected == "" {
			bad[asked(e)] = true
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	good := map[string]string{}
	return good, j.each(name, func(e training.Example) error {
		if _, known := good[asked(e)]; e.Positive && bad[asked(e)] && !known && j.licensed(e) == "" {
			good[asked(e)] = e.Completion
		}
		return nil
	})
}

// asked names a prompt.
func asked(e training.Example) string {
	return training.Example{Stage: e.Stage, Prompt: e.Prompt}.Sum()
}

func (j *job) licensed(e training.Example) curate.Reason {
	switch {
	case len(j.Licenses) > 0 && e.Origin.License == "":
		return curate.NoLicense
	case !curate.Allowed(j.Licenses, e.Origin.License):
		return curate.OtherLicense
	}
	return ""
}

// rows are what a format takes of an example: nothing, itself, or more.
func (j *job) rows(e training.Example, good map[string]string) ([]training.Example, curate.Reason) {
	if why := j.licensed(e); why != "" {
		return nil, why
	}
	switch j.format.Teaches {
	case Answers:
		if !e.Positive {
			return nil, NotLearnt
		}
	case Preferences:
		if e.Rejected != "" {
			break
		}
		better, ok := good[asked(e)]
		if e.Positive || !ok {
			return nil, NoCounterpart
		}
		e.Completion, e.Rejected = better, e.Completion
	case Verdicts:
		if e.Rejected != "" {
			yes, no := e, e
			yes.Positive, yes.Rejected = true, ""
			no.Positive, no.Completion, no.Rejected = false, e.Rejected, ""
			return []training.Example{yes, no}, ""
		}
	}
	return []training.Example{e}, ""
}

// row writes one line, once it is known to be short enough and as its schema says.
func (j *job) row(ctx context.Context, w io.Writer, name string, e training.Example, count *curate.Side) error {
	line, texts, err := j.line(ctx, e)
	if err != nil {
		return err
	}
	n, more := 0, false
	for _, t := range texts {
		c, err := j.Counter.Count(ctx, t, j.limit)
		if more = more || errors.Is(err, chat.ErrMore); err != nil && !more {
			return err
		}
		n = max(n, c)
	}
	if more {
		n = max(n, j.limit)
	}
	if n > j.limit || more {
		l := Long{e.ID, name, n, more}
		j.m.TooLong = append(j.m.TooLong, l)
		if j.TooLong != Keep {
			j.leave(e.ID, curate.TooLong, l.Count())
			return nil
		}
	}
	j.m.Longest = max(j.m.Longest, n)
	if name == curate.ValidationFile {
		j.taken[e.ID] = true
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(line); err != nil {
		return err
	}
	if err := j.check.Check(b.Bytes()); err != nil {
		return err
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return err
	}
	j.tell(e, count)
	return nil
}

// line is what is written of an example, and the texts that a model would see of it.
func (j *job) line(ctx context.Context, e training.Example) (line any, texts []string, err error) {
	if j.Template == nil {
		var b strings.Builder
		for _, m := range e.Prompt {
			b.WriteString(m.Content)
		}
		prompt := b.String()
		texts = []string{prompt + e.Completion}
		if j.format.Teaches == Preferences {
			texts = append(texts, prompt+e.Rejected)
		}
		return j.format.fromChat(e), texts, nil
	}
	good, err := j.Template.Pair(ctx, e.Prompt, e.Completion)
	if err != nil {
		return nil, nil, err
	}
	texts = []string{good.Prompt + good.Completion}
	var bad chat.Pair
	if j.format.Teaches == Preferences {
		if bad, err = j.Template.Pair(ctx, e.Prompt, e.Rejected); err != nil {
			return nil, nil, err
		}
		texts = append(texts, bad.Prompt+bad.Completion)
	}
	if j.format.Text == "" {
		return j.format.fromChat(e), texts, nil
	}
	good.Prompt = strings.TrimPrefix(good.Prompt, j.DropBegin)
	return j.format.fromText(good, bad, e.Positive), texts, nil
}

// held writes the examples of the validation side that the trainer's own form was made of.
func (j *job) held(w io.Writer) error {
	return j.each(curate.ValidationFile, func(e training.Example) error {
		if !j.taken[e.ID] {
			return nil
		}
		line, err := e.Encode()
		if err == nil {
			_, err = w.Write(line)
		}
		return err
	})
}

func (j *job) leave(id string, why curate.Reason, note string) {
	j.m.LeftOut[why]++
	j.out = append(j.out, curate.Out{ID: id, Reason: why, Note: note})
}

func (j *job) leftOut(w io.Writer) error {
	e := json.NewEncoder(w)
	for _, o := range j.out {
		if err := e.Encode(o); err != nil {
			return err
		}
	}
	return nil
}

func (j *job) tell(e training.Example, s *curate.Side) {
	s.Add(e)
	j.m.Licenses[e.Origin.License]++
	j.m.Repos[e.Origin.Repo]++
}
