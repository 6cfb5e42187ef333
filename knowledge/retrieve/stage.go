package retrieve

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/store"
)

// stage is one step of the selection. It queries the index, asks a model to judge, and returns the next state and its
// decisions. The decisions are logged even if the stage fails later (RETR-03). A stage has no state.
type stage func(ctx context.Context, p *pass, s State) (State, []store.FileDecision, error)

// registry returns the stages by name (RETR-05).
func registry() map[string]stage {
	return map[string]stage{scopeName: scope, precisionName: precision}
}

// Names of the stages.
const (
	scopeName     = "scope"
	precisionName = "precision"
)

// StageNames returns the names of all stages, sorted.
func StageNames() []string { return slices.Sorted(maps.Keys(registry())) }

// StageError reports a list of stages that cannot run.
type StageError struct {
	Name  string // "" if the list is empty
	Why   string
	Known []string
}

func (e *StageError) Error() string {
	if e.Name == "" {
		return "no stages are named; stages are " + strings.Join(e.Known, " and ")
	}
	return fmt.Sprintf("stage %q %s; stages are %s", e.Name, e.Why, strings.Join(e.Known, " and "))
}

// CheckStages checks stage names before anything runs (RETR-05).
func CheckStages(stages []string) error {
	all := registry()
	for i, name := range stages {
		switch {
		case all[name] == nil:
			return &StageError{Name: name, Why: "is unknown", Known: StageNames()}
		case slices.Contains(stages[:i], name):
			return &StageError{Name: name, Why: "is named twice", Known: StageNames()}
		}
	}
	if len(stages) == 0 {
		return &StageError{Known: StageNames()}
	}
	return nil
}

// State is the data that stages pass on.
type State struct {
	Query    TaskQuery `json:"query"`
	Files    []File    `json:"files"`
	Choices  []Choice  `json:"choices"`             // result of precision
	Precise  bool      `json:"precise"`             // precision ran: parts that it did not choose are excluded
	NotFound []string  `json:"not_found,omitempty"` // requested, but neither in the index nor in the tree
	Notes    []string  `json:"notes,omitempty"`
}

// File is a file in scope.
type File struct {
	ID       int64  `json:"id,omitempty"` // 0: not in the index
	Path     string `json:"path"`
	Language string `json:"language,omitempty"`
	Hash     string `json:"content_hash,omitempty"`
	Tier     int    `json:"tier"`
	Why      string `json:"why"`
	Sure     bool   `json:"sure,omitempty"` // a plan or the task names it, so no model can exclude it
}

// Choice is a symbol or a whole file that goes into the package.
type Choice struct {
	Path   string `json:"path"`
	Symbol string `json:"symbol,omitempty"` // with its class: Runner.run; "": the whole file
	Kind   string `json:"kind"`
	Start  int    `json:"start_line"`
	End    int    `json:"end_line"`
	Detail Detail `json:"detail"`
	Tier   int    `json:"tier"`
	Score  int    `json:"score"`
	Why    string `json:"why"`

	Signature string `json:"signature,omitempty"`
	Doc       string `json:"doc,omitempty"`
}

// Detail says how much of a symbol is shown (RETR-10).
type Detail string

// The details, in descending order.
const (
	Primary     Detail = "primary"      // all of its lines
	Supporting  Detail = "supporting"   // signature and docstring
	TypeContext Detail = "type_context" // signature, or the definition of a type
	Excluded    Detail = "excluded"
)

// rank returns the position of a detail by importance.
func (d Detail) rank() int {
	return slices.Index([]Detail{Primary, Supporting, TypeContext, Excluded}, d)
}
