package local

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Layout names the files under .runplan. It is the only place that spells them out (PLAT-03).
type Layout struct{ Root string }

// DirName is the folder in a repository that runplan keeps its files in.
const DirName = ".runplan"

// ignored is what .runplan/.gitignore holds. Settings, lessons, patterns and prompts are not in it: a team
// may want to commit them. The file hides itself too, so that a run leaves git status as it was.
const ignored = "/.gitignore\n/raw.sqlite*\n/curated.sqlite*\n/sessions/\n/solve/\n/worktrees/\n/locks/\n/logs/\n/reports/\n/tmp/\n/cache/\n/feedback.sqlite*\n/feedback/\n/progress.txt\n/context.md\n"

// LayoutOf returns the layout for a repository.
func LayoutOf(repoRoot string) Layout { return Layout{filepath.Join(repoRoot, DirName)} }

// Make creates the folder and its .gitignore where they are missing.
func (l Layout) Make() error {
	if err := os.MkdirAll(l.Root, 0o755); err != nil {
		return fmt.Errorf("make %s: %w", l.Root, err)
	}
	path := filepath.Join(l.Root, ".gitignore")
	if data, err := os.ReadFile(path); err == nil && string(data) == ignored {
		return nil
	} else if err == nil && !strings.HasPrefix(string(data), "/.gitignore\n") {
		return nil // somebody's own
	}
	if err := os.WriteFile(path, []byte(ignored), 0o644); err != nil {
		return fmt.Errorf("make %s: %w", path, err)
	}
	return nil
}

func (l Layout) Journal() string  { return filepath.Join(l.Root, "raw.sqlite") }
func (l Layout) Config() string   { return filepath.Join(l.Root, "config.toml") }
func (l Layout) Progress() string { return filepath.Join(l.Root, "progress.txt") }

// GateCache holds what gates said of trees.
func (l Layout) GateCache() string { return filepath.Join(l.Root, "cache", "gates") }

// DecisionLog tells what was decided, and why; SamplingOutcomes and FailurePatterns what came of it.
func (l Layout) DecisionLog() string { return filepath.Join(l.Root, "logs", "routing-decisions.log") }

// SamplingOutcomes holds how candidates of tournaments did.
func (l Layout) SamplingOutcomes() string {
	return filepath.Join(l.Root, "logs", "sampling-outcomes.json")
}

// FailurePatterns holds how batches failed, and what helped.
func (l Layout) FailurePatterns() string {
	return filepath.Join(l.Root, "logs", "failure-patterns.json")
}

// Lock is held while a run of slug is at work.
func (l Layout) Lock(slug string) string { return filepath.Join(l.Root, "locks", slug+".lock") }

// Sessions holds what tasks at work have in their heads, and Tasks the plans of tasks that nobody wrote a plan for.
func (l Layout) Sessions() string { return filepath.Join(l.Root, "sessions") }

// Tasks holds the plans that are made of tasks.
func (l Layout) Tasks() string { return filepath.Join(l.Root, "solve") }

// Feedback is the file with what the owner found wrong, and SelfFix the folder with the plans and texts that came of it.
func (l Layout) Feedback() string { return filepath.Join(l.Root, "feedback.sqlite") }

// SelfFix holds the plans of fixes, and the texts of their change requests.
func (l Layout) SelfFix() string { return filepath.Join(l.Root, "feedback") }

// GitLock is held around git commands that change the list of worktrees.
func (l Layout) GitLock() string   { return filepath.Join(l.Root, "locks", "worktrees.lock") }
func (l Layout) Worktrees() string { return filepath.Join(l.Root, "worktrees") }

// Workspace is the n-th worktree of the pool of slug, counted from 1.
func (l Layout) Workspace(slug string, n int) string {
	return filepath.Join(l.Worktrees(), fmt.Sprintf("%s-w%d", slug, n))
}

// Logs holds what the attempts of a run left to read.
func (l Layout) Logs(run string) string { return filepath.Join(l.Root, "logs", run) }

// PlanCopy is the copy of a plan that was accepted after the run began.
func (l Layout) PlanCopy(run, sum string) string {
	return filepath.Join(l.Logs(run), "plan-"+sum[:min(16, len(sum))]+".md")
}

// Findings is the file with what reviews of a batch found from round to round.
func (l Layout) Findings(run, batch string) string {
	return filepath.Join(l.Logs(run), "review", batch+".json")
}

// Attempt holds the brief, the log and the gate logs of one attempt.
func (l Layout) Attempt(run, batch string, attempt int) string {
	return filepath.Join(l.Logs(run), fmt.Sprintf("%s-a%d", batch, attempt))
}
func (l Layout) Report(run string) string { return filepath.Join(l.Root, "reports", run) }
func (l Layout) Receipt(run, batch string) string {
	return filepath.Join(l.Report(run), "receipts", batch+".json")
}
func (l Layout) Temp(run string) string { return filepath.Join(l.Root, "tmp", run) }

// Rel makes a path under .runplan relative to it, for journals and reports.
func (l Layout) Rel(path string) string {
	if rel, err := filepath.Rel(l.Root, path); err == nil {
		return filepath.ToSlash(rel)
	}
	return path
}

// RunBranch is the branch that a run's batches land on, BatchBranch the one that a batch is worked on.
func RunBranch(slug string) string { return "runplan/" + slug + "/main" }

// CandidateBranch is the branch whose log has what batches left that others may build on, so that git does not drop it
// while the run is not finished.
func CandidateBranch(slug string) string { return "runplan/" + slug + "/candidates" }

// BatchBranch is the branch that a batch is worked on.
func BatchBranch(slug, batch string) string { return "runplan/" + slug + "/b" + batch }
