package prepare

import (
	"context"
	"path/filepath"
	"strings"
	"time"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/agents/solver"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/models"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/knowledge/retrieve"
	"github.com/runplan/runplan/llm"
)

// SolverAgent returns the agent that calls a local model directly. It checks its requirements before the run begins
// (ERR-06).
func SolverAgent(ctx context.Context, a *cli.App, p *cli.Project, path string) (chosenAgent, error) {
	s, err := models.SolvingOf(p, p.Solver, llm.ExecuteCode)
	if err != nil {
		return chosenAgent{}, err
	}
	tools, err := models.OpenSolving(ctx, a, p, s, nil)
	if err != nil {
		return chosenAgent{}, err
	}
	tools.Close() // the run may begin much later
	return chosenAgent{name: solver.Name,
		open: func(ctx context.Context, j *store.Journal, r *proc.Reaper) (agents.Agent, func(), error) {
			tools, err := models.OpenSolving(ctx, a, p, s, r)
			if err != nil {
				return nil, nil, err
			}
			return solver.New(solver.Config{
				LLM: tools.LLM, Model: func(name string) (llm.Model, error) { return tools.Router.Pick(llm.ExecuteCode, name) },
				Budget: s.Budget, Stages: s.Stages, Loops: s.Loops, Prompts: tools.Solver, Task: p.Solver.Task,
				Retrieve: tools.Finder(j, retrieve.Retrieve), Refine: tools.Finder(j, retrieve.Refine),
				Sessions: tools.Session, Log: j, Repo: p.Repo.Root, Plan: givenPlan(p, path), Now: time.Now,
				Archive: func(ctx context.Context, task string) error {
					return j.ArchiveSession(ctx, p.Layout.Sessions(), task, time.Now())
				},
			}), tools.Close, nil
		}}, nil
}

// givenPlan returns the path of a plan that the user wrote, or "" for a plan that solve generated from a task.
func givenPlan(p *cli.Project, path string) string {
	name, err := p.PlanPath(path)
	if err != nil || strings.HasPrefix(name,
		filepath.ToSlash(filepath.Join(filepath.Base(p.Layout.Root), filepath.Base(p.Layout.Tasks())))+"/") {
		return ""
	}
	return name
}
