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
	"github.com/runplan/runplan/internal/prompt"
	"github.com/runplan/runplan/internal/tokens"
	"github.com/runplan/runplan/knowledge/outline"
	"github.com/runplan/runplan/training"
	"github.com/runplan/runplan/training/guess"
)

// Files of an example folder, besides one for each stage.
const (
	manifestName = "manifest.json"
	stateName    = "bootstrap.state.json" // while this file exists, the other files are incomplete
	lockName     = "bootstrap.lock"       // held by the writing process
	partial      = ".partial"
)

// Errors for a folder that cannot be written.
var (
	ErrComplete = errors.New("the folder has a complete set of examples")
	ErrOther    = errors.New("the folder has the beginning of another set of examples")
	ErrForeign  = errors.New("the folder has files that runplan did not write")
	ErrDamaged  = errors.New("files of the earlier run were changed")
	ErrBusy     = errors.New("another process writes examples into the folder")
)

// plan holds everything that determines the output.
type plan struct {
	Repo    string           `json:"repo"`
	License string           `json:"license,omitempty"`
	Head    string           `json:"head"`
	Shallow bool             `json:"shallow,omitempty"` // a shallow clone lacks the oldest commits
	Seed    uint64           `json:"seed"`
	Stages  []training.Stage `json:"stages"`
	Max     int              `json:"max,omitempty"`
	Since   *time.Time       `json:"since,omitempty"`
	Budget  tokens.Budget    `json:"budget"`
	Program string           `json:"runplan"`
	Outline string           `json:"outline"`
	AstGrep string           `json:"ast_grep,omitempty"`
	Prompts string           `json:"prompts"` // hash of the prompts
}

// tally counts examples of a stage, and the reasons for missing ones.
type tally struct {
	Examples int            `json:"examples"`
	Bytes    int64          `json:"bytes"`
	Sum      string         `json:"sha256"`
	Not      map[string]int `json:"no_example,omitempty"` // used commits without an example, by reason

	Explained int `json:"explained,omitempty"` // examples with code of commits whose message explains the change
}

// Limits of examples with code whose message does not explain the change. docs/training.md says why.
const (
	fewExamples       = 30 // of a history; up to here they are welcome
	forOneUnexplained = 3  // examples, or more, for each of them
)

// takes reports whether one more example of a commit may be written, whose message explains the change or not.
func (t *tally) takes(explained bool) bool {
	return explained || t.Examples < fewExamples || forOneUnexplained*(t.Examples-t.Explained+1) <= t.Examples+1
}

// state is the progress of a run.
type state struct {
	Plan     plan                      `json:"plan"`
	Done     int                       `json:"done"` // commits
	Used     int                       `json:"used"`
	Reasons  map[Reason]int            `json:"reasons"`
	Stages   map[training.Stage]*tally `json:"stages"`
	Reverted []string                  `json:"reverted,omitempty"`
	// Guesses of the place of edits in the written examples of a stage.
	Guesses map[training.Stage]guess.Trials `json:"guesses"`
}

// Manifest describes a folder of examples.
type Manifest struct {
	plan
	Commits int                       `json:"commits"` // examined commits
	Used    int                       `json:"commits_used"`
	Reasons map[Reason]int            `json:"commits_refused"` // by reason, including zeros
	Files   map[training.Stage]*tally `json:"files"`
}

// file is a file being written.
type file struct {
	*os.File
	out *bufio.Writer
	sum hash.Hash
}

// book writes the examples of a run and its progress.
type book struct {
	dir     string
	state   state
	files   map[training.Stage]*file
	saved   time.Time
	savedAt int             // commits
	taken   map[string]bool // commits that the commits so far revert
	unlock  func() error
}

func name(s training.Stage) string { return string(s) + ".jsonl" }

func (o Options) plan(head string) (plan, error) {
	p := plan{
		License: o.License, Head: head, Shallow: o.Repo.Shallow(), Seed: o.Seed, Stages: o.Stages, Max: o.Max,
		Budget:  o.Budget,
		Program: o.Version, Outline: outline.Version, AstGrep: o.Program.Version,
	}
	if !o.Since.IsZero() {
		p.Since = new(o.Since.UTC())
	}
	sum := sha256.New()
	for _, x := range []struct {
		prompts prompt.Set
		names   []string
	}{
		{o.Retrieval, []string{"task_analysis", "scope", "precision"}},
		{o.Solver, []string{"execute_code", "execute_code_system", "execute_plan", "execute_plan_system"}},
	} {
		for _, n := range x.names {
			t, err := x.prompts.Get(n)
			if err != nil {
				return p, err
			}
			fmt.Fprintf(sum, "%#v\n", t)
		}
	}
	p.Prompts = hex.EncodeToString(sum.Sum(nil))[:16]
	return p, nil
}

// open opens the files and truncates them to the last checkpoint.
func (b *book) open(stages []training.Stage, resume bool) error {
	if resume { // the process was killed at the end
		if err := os.Remove(filepath.Join(b.dir, manifestName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for _, s := range stages {
		path := filepath.Join(b.dir, name(s)+partial)
		if resume { // the process may have been killed while it renamed the files
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
			return fmt.Errorf("%s: %w: remove the folder and start again", path, ErrDamaged)
		}
		if err := f.Truncate(t.Bytes); err != nil {
			return fmt.Errorf("write examples: %w", err)
		}
	}
	return nil
}

// add writes the examples of a commit.
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
	b.balance(&m)
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

// guessed is why [book.balance] omits an example.
const guessed = "the place of its edit could be guessed from those of the others"

// unexplained is why [book.balance] omits an example.
const unexplained = "its message has only a first line, and other messages explain their changes"

// balance omits an example with code if too many messages would not explain their changes, or if it would make a guess
// of the place of edits better than chance. More edits are at the end of a file than elsewhere, and no choice of parts
// hides that.
func (b *book) balance(m *made) {
	for _, s := range []training.Stage{training.ExecutePlan, training.ExecuteCode} {
		switch told := b.state.Guesses[s]; {
		case m.lines[s] == nil:
		case !b.state.Stages[s].takes(m.explained):
			delete(m.lines, s)
			m.not[s] = unexplained
		case told.Tell(m.guesses):
			delete(m.lines, s)
			m.not[s] = guessed
		default:
			b.state.Guesses[s] = told.Plus(m.guesses)
			if m.explained {
				b.state.Stages[s].Explained++
			}
		}
	}
}

func (b *book) examples() int {
	n := 0
	for _, t := range b.state.Stages {
		n += t.Examples
	}
	return n
}

// Intervals between checkpoints. They bound the work that a killed run loses.
const (
	between = time.Second
	unsaved = 5 * chunk
)

// checkpoint stores the progress of the run. It flushes the data first, so that the state never refers to missing
// data.
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
	// After a power loss the hashes show whether the data is complete, so no fsync is needed.
	if err := atomicfile.WriteLoose(filepath.Join(b.dir, stateName), data, 0o644); err != nil {
		return fmt.Errorf("write examples: %w", err)
	}
	return nil
}

// finish renames the files. The manifest is last, so that its existence marks the folder as complete.
func (b *book) finish() (Manifest, error) {
	if err := b.checkpoint(true); err != nil {
		return Manifest{}, err
	}
	m := Manifest{plan: b.state.Plan, Commits: b.state.Done, Used: b.state.Used, Reasons: map[Reason]int{},
		Files: b.state.Stages}
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
	if err := atomicfile.WriteJSON(filepath.Join(b.dir, manifestName), m, 0o644); err != nil {
		return m, fmt.Errorf("write examples: %w", err)
	}
	if err := os.Remove(filepath.Join(b.dir, stateName)); err != nil {
		return m, fmt.Errorf("write examples: %w", err)
	}
	// A process that waited for the lock finds the finished folder.
	if err := os.Remove(filepath.Join(b.dir, lockName)); err != nil {
		return m, fmt.Errorf("write examples: %w", err)
	}
	return m, atomicfile.SweepFolder(b.dir)
}

func (b *book) close() {
	for _, f := range b.files {
		_ = f.Close() // the data was flushed before
	}
	_ = b.unlock()
}
