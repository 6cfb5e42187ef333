package history

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/runplan/runplan/internal/atomicfile"
	"github.com/runplan/runplan/internal/tokens"
	"github.com/runplan/runplan/knowledge/outline"
	"github.com/runplan/runplan/training"
)

// The files of a folder of examples, beside one for each stage.
const (
	manifestName = "manifest.json"
	stateName    = "bootstrap.state.json" // as long as it is there, the others are not whole
	lockName     = "bootstrap.lock"       // held by who writes
	partial      = ".partial"
)

// The reasons why a folder cannot be written to.
var (
	ErrComplete = errors.New("the folder has a complete set of examples")
	ErrOther    = errors.New("the folder has the beginning of another set of examples")
	ErrForeign  = errors.New("the folder has files of others")
	ErrDamaged  = errors.New("what was written before is not what it was")
	ErrBusy     = errors.New("another process writes examples into the folder")
)

// plan is what decides each byte that is written.
type plan struct {
	Repo    string           `json:"repo"`
	License string           `json:"license,omitempty"`
	Head    string           `json:"head"`
	Shallow bool             `json:"shallow,omitempty"` // commits before the oldest one are not here
	Seed    uint64           `json:"seed"`
	Stages  []training.Stage `json:"stages"`
	Max     int              `json:"max,omitempty"`
	Since   *time.Time       `json:"since,omitempty"`
	Budget  tokens.Budget    `json:"budget"`
	Program string           `json:"runplan"`
	Outline string           `json:"outline"`
	AstGrep string           `json:"ast_grep,omitempty"`
	Prompts string           `json:"prompts"` // sum of what the stages are asked
}

// tally is how many there are of something, and why not more.
type tally struct {
	Examples int            `json:"examples"`
	Bytes    int64          `json:"bytes"`
	Sum      string         `json:"sha256"`
	Not      map[string]int `json:"no_example,omitempty"` // of commits that are used, by reason

}

// state is where a run has got to.
type state struct {
	Plan     plan                      `json:"plan"`
	Done     int                       `json:"done"` // commits
	Used     int                       `json:"used"`
	Reasons  map[Reason]int            `json:"reasons"`
	Stages   map[training.Stage]*tally `json:"stages"`
	Reverted []string                  `json:"reverted,omitempty"`
}

// Manifest tells what a folder of examples is made of.
type Manifest struct {
	plan
	Commits int                       `json:"commits"` // that were looked at
	Used    int                       `json:"commits_used"`
	Reasons map[Reason]int            `json:"commits_refused"` // by reason; those that never occur are 0
	Files   map[training.Stage]*tally `json:"files"`
}

// file is one that is being written.
type file struct {
	*os.File
	out *bufio.Writer
	sum hash.Hash
}

// book writes the examples of a run, and where it has got to.
type book struct {
	dir     string
	state   state
	files   map[training.Stage]*file
	saved   time.Time
	savedAt int // commits
	taken   map[string]bool
	unlock  func() error
}

func name(s training.Stage) string { return string(s) + ".jsonl" }

func (o Options) plan(head string) (plan, error) {
	p := plan{
		License: o.License, Head: head, Shallow: o.Repo.Shallow(), Seed: o.Seed, Stages: o.Stages, Max: o.Max, Budget: o.Budget,
		Program: o.Version, Outline: outline.Version, AstGrep: o.Program.Version,
	}
	if !o.Since.IsZero() {
		at := o.Since.UTC()
		p.Since = &at
	}
	sum := sha256.New()
	for _, n := range []string{"task_analysis", "scope", "precision"} {
		t, err := o.Retrieval.Get(n)
		if err != nil {
			return p, err
		}
		fmt.Fprintf(sum, "%#v\n", t)
	}
	for _, n := range []string{"execute_code", "execute_code_system", "execute_plan", "execute_plan_system"} {
		t, err := o.Solver.Get(n)
		if err != nil {
			return p, err
		}
		fmt.Fprintf(sum, "%#v\n", t)
	}
	p.Prompts = hex.EncodeToString(sum.Sum(nil))[:16]
	return p, nil
}

// open opens the files, and cuts off what was written after the last checkpoint.
func (b *book) open(stages []training.Stage, resume bool) error {
	if resume { // killed at the very end
		if err := os.Remove(filepath.Join(b.dir, manifestName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for _, s := range stages {
		path := filepath.Join(b.dir, name(s)+partial)
		if resume { // it may have been killed while it gave files their names
			if err := os.Rename(filepath.Join(b.dir, name(s)), path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			return fmt.Errorf("write examples: %w", err)
		}
		x := &file{File: f, out: bufio.NewWriterSize(f, 256<<10), sum: sha256.New()}
		b.files[s] = x
		t := b.state.Stages[s]
		if t == nil {
			t = &tally{Not: map[string]int{}}
			b.state.Stages[s] = t
		}
		if t.Not == nil {
			t.Not = map[string]int{}
		}
		n, err := io.CopyN(x.sum, f, t.Bytes)
		if err != nil || n != t.Bytes || hex.EncodeToString(x.sum.Sum(nil)) != t.Sum && t.Bytes > 0 {
			return fmt.Errorf("%s: %w: remove the folder and start anew", path, ErrDamaged)
		}
		if err := f.Truncate(t.Bytes); err != nil {
			return fmt.Errorf("write examples: %w", err)
		}
	}
	return nil
}

// reverted are the commits that those read so far take back.
func (b *book) reverted() map[string]bool {
	out := map[string]bool{}
	for h := range b.taken {
		out[h] = true
	}
	return out
}

// add writes what came of a commit.
func (b *book) add(w *work, m made) error {
	b.state.Done++
	for _, h := range revertedBy(w.Message) {
		if !b.taken[h] {
			b.taken[h] = true
			b.state.Reverted = append(b.state.Reverted, h)
		}
	}
	if w.reason != "" {
		b.state.Reasons[w.reason]++
		return nil
	}
	b.state.Used++
	for _, s := range b.state.Plan.Stages {
		t := b.state.Stages[s]
		line := m.lines[s]
		if line == nil {
			t.Not[m.not[s]]++
			continue
		}
		f := b.files[s]
		if _, err := f.out.Write(line); err != nil {
			return fmt.Errorf("write examples: %w", err)
		}
		f.sum.Write(line)
		t.Examples++
		t.Bytes += int64(len(line))
	}
	return nil
}

func (b *book) examples() int {
	n := 0
	for _, t := range b.state.Stages {
		n += t.Examples
	}
	return n
}

// A run that is killed has worked for nothing for so long, and for so many commits, at most.
const (
	between = time.Second
	unsaved = 5 * chunk
)

// checkpoint writes down where the run has got to. Data comes first: what the state speaks of is there.
func (b *book) checkpoint(now bool) error {
	if !now && time.Since(b.saved) < between && b.state.Done-b.savedAt < unsaved {
		return nil
	}
	for _, s := range b.state.Plan.Stages {
		f := b.files[s]
		if err := f.out.Flush(); err != nil {
			return fmt.Errorf("write examples: %w", err)
		}
		b.state.Stages[s].Sum = hex.EncodeToString(f.sum.Sum(nil))
	}
	data, err := json.Marshal(b.state)
	if err != nil {
		return err
	}
	b.saved, b.savedAt = time.Now(), b.state.Done
	// The sums tell whether the disk has it all after a loss of power, so nothing waits for it.
	if err := atomicfile.WriteLoose(filepath.Join(b.dir, stateName), data, 0o644); err != nil {
		return fmt.Errorf("write examples: %w", err)
	}
	return nil
}

// finish gives the files their names. The manifest is the last: where it is, all is whole.
func (b *book) finish() (Manifest, error) {
	if err := b.checkpoint(true); err != nil {
		return Manifest{}, err
	}
	m := Manifest{plan: b.state.Plan, Commits: b.state.Done, Used: b.state.Used, Reasons: map[Reason]int{}, Files: b.state.Stages}
	for _, r := range Reasons() {
		m.Reasons[r] = b.state.Reasons[r]
	}
	for _, s := range b.state.Plan.Stages {
		if err := b.files[s].Sync(); err != nil {
			return m, fmt.Errorf("write examples: %w", err)
		}
		path := filepath.Join(b.dir, name(s))
		if err := os.Rename(path+partial, path); err != nil {
			return m, fmt.Errorf("write examples: %w", err)
		}
	}
	data, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return m, err
	}
	if err := atomicfile.Write(filepath.Join(b.dir, manifestName), append(data, '\n'), 0o644); err != nil {
		return m, fmt.Errorf("write examples: %w", err)
	}
	if err := os.Remove(filepath.Join(b.dir, stateName)); err != nil {
		return m, fmt.Errorf("write examples: %w", err)
	}
	// Who waited for the lock until now finds that all is whole.
	if err := os.Remove(filepath.Join(b.dir, lockName)); err != nil {
		return m, fmt.Errorf("write examples: %w", err)
	}
	return m, atomicfile.SweepFolder(b.dir)
}

func (b *book) close() {
	for _, f := range b.files {
		_ = f.Close() // what counts was flushed
	}
	_ = b.unlock()
}
