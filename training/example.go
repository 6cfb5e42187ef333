// Package training turns what runs leave behind into data that a model can be trained on.
//
// An [Example] is the one form of it, wherever it comes from: the journal, a repository's history, reviews. What
// makes examples, what chooses among them and what writes them for a trainer only share this type and its file
// form, one JSON object a line (TRAIN-02). Training data is written by this folder alone (DB-13).
package training

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Stage is the step of a run that an example teaches (TRAIN-04).
type Stage string

// The five stages, then what is learnt from reviews and from blueprints.
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

// Base is the kind of model that a stage is asked of. An adapter never crosses it (TRAIN-05).
type Base string

// The two kinds.
const (
	Coding    Base = "coding"
	Reasoning Base = "reasoning"
)

// BaseOf returns the kind of model that works on s.
func BaseOf(s Stage) Base {
	if s == ExecuteCode {
		return Coding
	}
	return Reasoning
}

// Source tells where an example comes from (TRAIN-02).
type Source string

// The two sources.
const (
	Logged    Source = "logged"    // a run of runplan did it
	Synthetic Source = "synthetic" // made from a repository's history
)

// Kind tells what a review teaches (TRAIN-21, C-24).
type Kind string

// The two kinds of pairs of reviews; others have none.
const (
	Forward     Kind = "forward"     // mistakes and their fixes
	Retroactive Kind = "retroactive" // what good looks like
)

// Message is one turn of a prompt.
type Message struct {
	Role    string `json:"role"` // system, user or assistant
	Content string `json:"content"`
}

// Example is one thing to learn: what a model was given, and what it should say to that.
type Example struct {
	ID         string    `json:"id"` // of the content, see [Example.Sum]
	Stage      Stage     `json:"stage"`
	Base       Base      `json:"base"`
	Source     Source    `json:"source"`
	Kind       Kind      `json:"kind,omitempty"`
	Prompt     []Message `json:"prompt"`
	Completion string    `json:"completion"`         // what it should say, or with Positive false what it said
	Rejected   string    `json:"rejected,omitempty"` // what it should not say to the same prompt; makes a preference pair
	Positive   bool      `json:"positive"`           // whether Completion is to be learnt
	Quality    *float64  `json:"quality,omitempty"`  // 0 to 1; null is unknown, not zero
	Signals    []Signal  `json:"signals,omitempty"`  // what Quality rests on
	Origin     Origin    `json:"origin"`
}

// Signal is one fact that tells how good an example is.
type Signal struct {
	Name  string   `json:"name"`            // such as gates, merged, reverted, files_needed
	Value *float64 `json:"value,omitempty"` // 0 to 1; null where it could not be told
	Note  string   `json:"note,omitempty"`
}

// Origin says what an example is made of, so that it can be looked up, taken out again, and kept from the other side of
// a split. Fields that do not apply are empty.
type Origin struct {
	Repo    string    `json:"repo"`              // remote without credentials, else the name of the folder; never a path
	License string    `json:"license,omitempty"` // SPDX id of the repository, where it is known
	Run     string    `json:"run,omitempty"`     // of the journal
	Batch   string    `json:"batch,omitempty"`   // key
	Task    string    `json:"task,omitempty"`    // id of the task in the log of calls
	Call    int64     `json:"call,omitempty"`    // id of the call
	Receipt string    `json:"receipt,omitempty"` // sha256 of the receipt that proves it; logged examples without one are refused
	Commit  string    `json:"commit,omitempty"`  // that the example is about
	Parent  string    `json:"parent,omitempty"`  // what it was made on
	Files   []File    `json:"files,omitempty"`   // versions whose text the example holds, sorted by path
	Model   string    `json:"model,omitempty"`   // that answered
	Unit    string    `json:"unit,omitempty"`    // of a blueprint
	At      time.Time `json:"at"`                // of the commit, or of the call
}

// File is one version of a file.
type File struct {
	Path string `json:"path"`
	Blob string `json:"blob"` // git's id of the content
}

// Sum returns the id that e has to have: the beginning of the sha256 of all that a model would see of it.
func (e Example) Sum() string {
	size := 200 + len(e.Completion) + len(e.Rejected)
	for _, m := range e.Prompt {
		size += len(m.Content) + 30
	}
	all := make([]byte, 0, size)
	add := func(s string) {
		all = append(strconv.AppendInt(all, int64(len(s)), 10), ':')
		all = append(all, s...)
	}
	add(string(e.Stage))
	for _, m := range e.Prompt {
		add(m.Role)
		add(m.Content)
	}
	add(e.Completion)
	add(e.Rejected)
	sum := sha256.Sum256(all)
	return hex.EncodeToString(sum[:12])
}

// Check says what is wrong with e, whoever made it. A row that was changed by hand, that names no source, or that was
// logged without a receipt is refused.
func (e Example) Check() error { return e.check(e.Sum()) }

// check is [Example.Check] of an example whose id has to be sum.
func (e Example) check(sum string) error {
	switch {
	case e.ID != sum:
		return fmt.Errorf("example %q: its id is not that of its content, which has %s; it was changed", e.ID, sum)
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
		return fmt.Errorf("example %s: it does not tell which repository it is from", e.ID)
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

// ErrNoReceipt says that nothing proves what an example claims.
var ErrNoReceipt = errors.New("no receipt proves it")

// Encode returns the line of e in a file of examples, with its newline.
func (e Example) Encode() ([]byte, error) {
	var line bytes.Buffer
	if err := json.NewEncoder(&line).Encode(e); err != nil {
		return nil, fmt.Errorf("encode example %s: %w", e.ID, err)
	}
	return line.Bytes(), nil
}
