// Package training converts records of runs and histories into training data.
//
// An [Example] is the common form of all data: from the journal, from a repository's history, and from reviews.
// Producers, selection and export share only this type and its file format, one JSON object per line (TRAIN-02). Only
// this folder writes training data (DB-13).
package training

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/internal/store"
)

// Stage is the step of a run that an example teaches (TRAIN-04).
type Stage string

// The five stages of a run, then those for reviews and blueprints.
const (
	TaskAnalysis Stage = "task_analysis"
	Scope        Stage = "scope"
	Precision    Stage = "precision"
	ExecutePlan  Stage = "execute_plan"
	ExecuteCode  Stage = "execute_code"
	Review       Stage = "review"
)

// Stages returns all stages, in order.
func Stages() []Stage {
	return []Stage{TaskAnalysis, Scope, Precision, ExecutePlan, ExecuteCode, Review}
}

// Base is the kind of model that a stage uses. An adapter belongs to exactly one kind (TRAIN-05).
type Base string

// The two kinds.
const (
	Coding    Base = "coding"
	Reasoning Base = "reasoning"
)

// BaseOf returns the kind of model for a stage.
func BaseOf(s Stage) Base {
	if s == ExecuteCode {
		return Coding
	}
	return Reasoning
}

// Source is the origin of an example (TRAIN-02).
type Source string

// The two sources.
const (
	Logged    Source = "logged"    // from a run of runplan
	Synthetic Source = "synthetic" // from a repository's history
)

// Kind says what a review teaches (TRAIN-21, C-24).
type Kind string

// The two kinds of review pairs; other examples have none.
const (
	Forward     Kind = "forward"     // defects and their fixes
	Retroactive Kind = "retroactive" // examples of good code
)

// Message is one message of a prompt.
type Message struct {
	Role    string `json:"role"` // system, user or assistant
	Content string `json:"content"`
}

// Question returns the messages of a prompt with one question. An empty system message is left out.
func Question(system, text string) []Message {
	var out []Message
	if system != "" {
		out = append(out, Message{Role: "system", Content: system})
	}
	return append(out, Message{Role: "user", Content: text})
}

// Example is one training example: a prompt and the expected answer.
type Example struct {
	ID         string    `json:"id"` // hash of the content, see [Example.Sum]
	Stage      Stage     `json:"stage"`
	Base       Base      `json:"base"`
	Source     Source    `json:"source"`
	Kind       Kind      `json:"kind,omitempty"`
	Prompt     []Message `json:"prompt"`
	Completion string    `json:"completion"`         // expected answer; with Positive false, the actual bad answer
	Rejected   string    `json:"rejected,omitempty"` // bad answer to the same prompt; makes a preference pair
	Positive   bool      `json:"positive"`           // whether Completion is to be learned
	Quality    *float64  `json:"quality,omitempty"`  // 0 to 1; null is unknown, not zero
	Signals    []Signal  `json:"signals,omitempty"`  // basis of Quality
	Origin     Origin    `json:"origin"`
}

// Signal is one fact about the quality of an example.
type Signal struct {
	Name  string   `json:"name"`            // such as gates, merged, reverted, files_needed
	Value *float64 `json:"value,omitempty"` // 0 to 1; null: unknown
	Note  string   `json:"note,omitempty"`
}

// Known returns a signal with a value.
func Known(name string, value float64, note string) Signal {
	return Signal{Name: name, Value: &value, Note: note}
}

// Origin records what an example was made from, so that it can be traced, removed, and kept on one side of a split.
// Fields that do not apply are empty.
type Origin struct {
	Repo    string    `json:"repo"`              // remote without credentials, else the folder name; never a path
	License string    `json:"license,omitempty"` // SPDX id of the repository, if known
	Run     string    `json:"run,omitempty"`     // id of the run in the journal
	Batch   string    `json:"batch,omitempty"`   // key of the batch
	Task    string    `json:"task,omitempty"`    // id of the task in the log of calls
	Call    int64     `json:"call,omitempty"`    // id of the call
	Receipt string    `json:"receipt,omitempty"` // sha256 of the receipt; required for logged examples
	Commit  string    `json:"commit,omitempty"`  // commit of the example
	Parent  string    `json:"parent,omitempty"`  // parent of that commit
	Files   []File    `json:"files,omitempty"`   // file versions in the text, sorted by path
	Model   string    `json:"model,omitempty"`   // model that answered
	Unit    string    `json:"unit,omitempty"`    // unit of a blueprint
	At      time.Time `json:"at"`                // time of the commit or the call
}

// File is one version of a file.
type File struct {
	Path string `json:"path"`
	Blob string `json:"blob"` // git's id of the content
}

// SortedFiles returns files as an [Origin] has them: sorted by path, each version once.
func SortedFiles(list []File) []File {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b File) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Blob, b.Blob))
	})
	return slices.Compact(list)
}

// Sum returns the required id of e: a prefix of the sha256 of all that a model would see.
func (e Example) Sum() string {
	sum := sha256.New()
	all := bufio.NewWriterSize(sum, 1<<10)
	add := func(s string) {
		all.WriteString(strconv.Itoa(len(s)) + ":")
		all.WriteString(s)
	}
	add(string(e.Stage))
	for _, m := range e.Prompt {
		add(m.Role)
		add(m.Content)
	}
	add(e.Completion)
	add(e.Rejected)
	all.Flush() // a hash returns no error
	return hex.EncodeToString(sum.Sum(nil)[:12])
}

// Check returns an error if e is invalid: for example changed by hand, without a source, or logged without a receipt.
func (e Example) Check() error { return e.check(e.Sum()) }

// check does what [Example.Check] does, for a given id.
func (e Example) check(sum string) error {
	switch {
	case e.ID != sum:
		return fmt.Errorf("example %q: its content has the id %s; it was changed", e.ID, sum)
	case !slices.Contains(Stages(), e.Stage):
		return fmt.Errorf("example %s: unknown stage %q", e.ID, e.Stage)
	case e.Base != BaseOf(e.Stage):
		return fmt.Errorf("example %s: stage %s is of base %s, not %q", e.ID, e.Stage, BaseOf(e.Stage), e.Base)
	case e.Source != Logged && e.Source != Synthetic:
		return fmt.Errorf("example %s: unknown source %q", e.ID, e.Source)
	case e.Kind != "" && e.Kind != Forward && e.Kind != Retroactive:
		return fmt.Errorf("example %s: unknown kind %q", e.ID, e.Kind)
	case len(e.Prompt) == 0 || strings.TrimSpace(e.Completion) == "":
		return fmt.Errorf("example %s: it has no prompt or no completion", e.ID)
	case e.Quality != nil && (*e.Quality < 0 || *e.Quality > 1):
		return fmt.Errorf("example %s: quality %v is not between 0 and 1", e.ID, *e.Quality)
	case e.Origin.Repo == "":
		return fmt.Errorf("example %s: it does not name its repository", e.ID)
	case e.Source == Logged && e.Origin.Receipt == "":
		return fmt.Errorf("example %s: %w", e.ID, ErrNoReceipt)
	}
	for _, m := range e.Prompt {
		if m.Role != "system" && m.Role != "user" && m.Role != "assistant" {
			return fmt.Errorf("example %s: unknown role %q", e.ID, m.Role)
		}
	}
	return nil
}

// ErrNoReceipt reports that no receipt proves an example.
var ErrNoReceipt = errors.New("no receipt proves it")

// Encode returns e as a line of JSON with its newline.
func (e Example) Encode() ([]byte, error) {
	var line bytes.Buffer
	if err := json.NewEncoder(&line).Encode(e); err != nil {
		return nil, fmt.Errorf("encode example %s: %w", e.ID, err)
	}
	return line.Bytes(), nil
}

// RepoName returns the name of a repository in examples: host and path of its remote, without scheme and credentials.
// If the remote is local or missing, it returns the folder name of root. All clones of a repository have the same
// name, and it is never a local path.
func RepoName(remote, root string) string {
	name := strings.TrimSpace(remote)
	if u, err := url.Parse(name); err == nil && u.Host != "" {
		name = u.Hostname() + "/" + strings.TrimPrefix(u.Path, "/")
	} else if host, path, ok := strings.Cut(name, ":"); ok && scpLike(host, path) {
		name = host[strings.LastIndexByte(host, '@')+1:] + "/" + strings.TrimPrefix(path, "/")
	} else {
		name = ""
	}
	name = strings.TrimSuffix(strings.Trim(name, "/"), ".git")
	if host, path, ok := strings.Cut(name, "/"); !ok || host == "" || path == "" {
		name = filepath.Base(filepath.Clean(root))
	} else {
		name = strings.ToLower(host) + "/" + path
	}
	return strings.Join(strings.Fields(redact.Clean(name)), "_")
}

// scpLike reports whether an address has git's short form user@host:path, unlike C:\path.
func scpLike(host, path string) bool {
	return len(host) > 1 && path != "" && !strings.ContainsAny(host, `/\ `) && !strings.HasPrefix(path, `\`) &&
		!strings.HasPrefix(path, "//")
}

// OpenLedger opens the journal at path for training records: plans, datasets, adapters and outcomes of code. All
// access goes through it (DB-13). It creates a missing journal.
func OpenLedger(ctx context.Context, path string) (*store.Training, error) {
	return store.OpenTraining(ctx, path)
}
