package cli

import (
	"errors"

	"github.com/runplan/runplan/agents/sandbox"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/internal/seal"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/internal/web"
	"github.com/runplan/runplan/knowledge/retrieve"
	"github.com/runplan/runplan/llm"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/runner/local"
)

// errorCode names a kind of error with a stable code.
type errorCode struct {
	Code string
	Err  error // nil for a code of [Named]
}

// ErrorCodes returns the kinds of errors that have a page, special ones first.
func ErrorCodes() []errorCode {
	return []errorCode{
		{"bare-repository", git.ErrBare}, {"foreign-repository", git.ErrForeign}, {"not-a-repository", git.ErrNotRepo},
		{"no-commits", git.ErrNoCommits}, {"git-too-old", git.ErrNoMergeTree},
		{"run-locked", local.ErrLocked}, {"plan-changed", local.ErrPlanChanged},
		{"journal-damaged", store.ErrCorrupt}, {"journal-newer", store.ErrNewer}, {"journal-forged", store.ErrForged},
		{"journal-gone", store.ErrGone}, {"journal-gone", store.ErrReplaced}, {"journal-gone", store.ErrCut},
		{"key-unusable", seal.ErrKey}, {"program-not-found", proc.ErrNotFound},
		{"no-models", llm.ErrNoModels}, {"no-index", retrieve.ErrNoIndex},
		{"plan-empty", planparse.ErrEmpty}, {"plan-binary", planparse.ErrBinary}, {"plan-too-big", planparse.ErrTooBig},
		{"address-reachable", web.ErrReachable}, {"unknown-agent", ErrNoAgent}, {"sandbox-unusable", sandbox.ErrUnusable},
		{"index-old", store.ErrOlder}, {"database-busy", store.ErrBusy},
		{"config-not-trusted", nil}, {"no-agent", nil}, {"plan-in-prose", nil}, {"no-identity", nil},
		{"uncommitted-changes", nil}, {"disk-full", nil}, {"cannot-land", nil}, {"no-git-lfs", nil}, {"cannot-sign", nil},
		{"run-not-finished", nil}, {"branch-conflict", nil}, {"branch-checked-out", nil}, {"settings-changed", nil},
		{"run-active", nil}, {"no-active-run", nil}, {"plan-not-found", nil}, {"plan-invalid", nil},
		{"settings-invalid", nil}, {"link-refused", nil}, {"run-unverified", nil}, {"no-fallback", nil},
		{"no-ast-grep", nil}, {"answer-unusable", nil}, {"model-failed", nil}, {"unknown-commit", nil},
		{"gate-not-run", nil}, {"run-not-found", nil}, {"tier-too-low", nil}, {"no-runs", nil},
	}
}

// explainable returns the code of an error that has a page, or "".
func explainable(err error) string {
	for _, e := range ErrorCodes() {
		if errors.Is(err, e.Err) {
			return e.Code
		}
	}
	if f := (*Failure)(nil); errors.As(err, &f) {
		return f.Page
	}
	return ""
}
