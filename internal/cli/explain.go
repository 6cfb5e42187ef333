package cli

import (
	"errors"

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
	Err  error
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
		{"address-reachable", web.ErrReachable},
	}
}

// explainable returns the code of an error that has a page, or "".
func explainable(err error) string {
	for _, e := range ErrorCodes() {
		if errors.Is(err, e.Err) {
			return e.Code
		}
	}
	return ""
}
