// Package journal reads what runs left: the events in the journal, with the runs and the plans that they describe, and
// the files and branches next to it, whose names it defines. The driver writes them; this package makes only the folder
// itself.
package journal

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/runplan/runplan/internal/atomicfile"
	"github.com/runplan/runplan/internal/glob"
	"github.com/runplan/runplan/runner"
)

// Layout holds the paths below .runplan. It is the only definition of them (PLAT-03).
type Layout struct{ Root string }

// DirName is runplan's folder in a repository.
const DirName = ".runplan"

// ignored is the content of .runplan/.gitignore. It does not list settings, lessons, patterns and prompts, which a
// team may commit. It lists itself, so that a run does not change git status.
const ignored = "/.gitignore\n/raw.sqlite*\n/curated.sqlite*\n/sessions/\n/solve/\n/worktrees/\n/locks/\n/logs/\n/reports/\n/tmp/\n/cache/\n/feedback.sqlite*\n/feedback/\n/progress.txt\n/context.md\n"

// LayoutOf returns the layout for a repository.
func LayoutOf(repoRoot string) Layout { return Layout{filepath.Join(repoRoot, DirName)} }

// Make creates the folder and its .gitignore if they are missing.
func (l Layout) Make() error {
	if err := os.MkdirAll(l.Root, 0o755); err != nil {
		return fmt.Errorf("make %s: %w", l.Root, err)
	}
	path := filepath.Join(l.Root, ".gitignore")
	if data, err := os.ReadFile(path); err == nil && string(data) == ignored {
		return nil
	} else if err == nil && !strings.HasPrefix(string(data), "/.gitignore\n") {
		return nil // the user's own file
	}
	if err := atomicfile.WriteLoose(path, []byte(ignored), 0o644); err != nil {
		return fmt.Errorf("make %s: %w", path, err)
	}
	return nil
}

func (l Layout) Journal() string  { return filepath.Join(l.Root, "raw.sqlite") }
func (l Layout) Config() string   { return filepath.Join(l.Root, "config.toml") }
func (l Layout) Progress() string { return filepath.Join(l.Root, "progress.txt") }

// GateCache returns the folder of cached gate results by tree.
func (l Layout) GateCache() string { return filepath.Join(l.Root, "cache", "gates") }

// DecisionLog returns the log of routing decisions with their reasons.
func (l Layout) DecisionLog() string { return filepath.Join(l.Root, "logs", "routing-decisions.log") }

// SamplingOutcomes returns the file with the results of tournaments.
func (l Layout) SamplingOutcomes() string {
	return filepath.Join(l.Root, "logs", "sampling-outcomes.json")
}

// FailurePatterns returns the file with failure patterns and their fixes.
func (l Layout) FailurePatterns() string {
	return filepath.Join(l.Root, "logs", "failure-patterns.json")
}

// LessonsLock returns the path that commands lock with [atomicfile.Lock] while they change the lessons of the project. It
// is not among the locks of runs, because a plan may be named lessons.md.
func (l Layout) LessonsLock() string { return filepath.Join(l.Root, "logs", "lessons") }

// Lock returns the lock file of a running run of slug.
func (l Layout) Lock(slug string) string { return filepath.Join(l.Root, "locks", slug+".lock") }

// Sessions returns the folder with the state of running tasks.
func (l Layout) Sessions() string { return filepath.Join(l.Root, "sessions") }

// Tasks returns the folder with the plans made for tasks.
func (l Layout) Tasks() string { return filepath.Join(l.Root, "solve") }

// Feedback returns the database of the owner's feedback.
func (l Layout) Feedback() string { return filepath.Join(l.Root, "feedback.sqlite") }

// SelfFix returns the folder with plans of fixes and the texts of their change requests.
func (l Layout) SelfFix() string { return filepath.Join(l.Root, "feedback") }

// GitLock returns the lock for git commands that change the list of worktrees.
func (l Layout) GitLock() string   { return filepath.Join(l.Root, "locks", "worktrees.lock") }
func (l Layout) Worktrees() string { return filepath.Join(l.Root, "worktrees") }

// Workspace returns the n-th worktree of slug's pool, counted from 1.
func (l Layout) Workspace(slug string, n int) string {
	return filepath.Join(l.Worktrees(), fmt.Sprintf("%s-w%d", slug, n))
}

// Logs returns the log folder of a run.
func (l Layout) Logs(run string) string { return filepath.Join(l.Root, "logs", run) }

// PlanCopy returns the copy of a plan that was accepted during the run.
func (l Layout) PlanCopy(run, sum string) string {
	return filepath.Join(l.Logs(run), "plan-"+sum[:min(16, len(sum))]+".md")
}

// Findings returns the file with the findings of all review rounds of a batch.
func (l Layout) Findings(run, batch string) string {
	return filepath.Join(l.Logs(run), "review", batch+".json")
}

// Attempt returns the folder with the brief and the logs of one attempt.
func (l Layout) Attempt(run, batch string, attempt int) string {
	return filepath.Join(l.Logs(run), fmt.Sprintf("%s-a%d", batch, attempt))
}

// Candidate returns the folder of one candidate of a tournament, inside that of the attempt.
func (l Layout) Candidate(run, batch string, attempt, number int) string {
	return filepath.Join(l.Attempt(run, batch, attempt), fmt.Sprintf("c%d", number))
}

// AttemptOf returns the folder of the attempt, or of the candidate, that an event reports on.
func (l Layout) AttemptOf(e runner.Event) string {
	if e.Candidate > 0 {
		return l.Candidate(e.Run, e.Batch, e.Attempt, e.Candidate)
	}
	return l.Attempt(e.Run, e.Batch, e.Attempt)
}

// Files in the folder of an attempt.
const (
	BriefFile    = "brief.md"
	LogFile      = "agent.log"     // output of the agent
	AnswerFile   = "answer.md"     // complete answer of a model
	PatchFile    = "changes.patch" // changes of a failed attempt or a candidate, without secrets
	CritiqueFile = "critique.json" // a [Critique]
)

// BranchFindings returns the folder with the findings of the reviews of branches.
func (l Layout) BranchFindings() string { return filepath.Join(l.Root, "reviews") }

func (l Layout) Report(run string) string { return filepath.Join(l.Root, "reports", run) }
func (l Layout) Receipt(run, batch string) string {
	return filepath.Join(l.Report(run), "receipts", batch+".json")
}

// BlueprintReviews returns the folder with the blueprint reviews of a run, by unit.
func (l Layout) BlueprintReviews(run string) string {
	return filepath.Join(l.Report(run), "blueprints")
}

func (l Layout) Temp(run string) string { return filepath.Join(l.Root, "tmp", run) }

// Rel returns a path relative to .runplan, for journals and reports.
func (l Layout) Rel(path string) string {
	if rel, err := filepath.Rel(l.Root, path); err == nil {
		return filepath.ToSlash(rel)
	}
	return path
}

// Glob returns the files below the folder that match a path of the layout with * in it, sorted. In the path of the folder
// itself, which belongs to the user, no character has a meaning.
func (l Layout) Glob(pattern string) []string {
	return glob.Below(l.Root, l.Rel(pattern))
}

// RunBranch returns the branch into which a run merges its batches.
func RunBranch(slug string) string { return "runplan/" + slug + "/main" }

// CandidateBranch returns a branch with all candidates in its reflog, so that git does not drop them during the run.
func CandidateBranch(slug string) string { return "runplan/" + slug + "/candidates" }

// BatchBranch returns the branch of a batch.
func BatchBranch(slug, batch string) string { return "runplan/" + slug + "/b" + batch }
