package app

import (
	"context"
	"path/filepath"
	"strings"
	"time"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/agents/solver"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/knowledge/retrieve"
	"github.com/runplan/runplan/llm"
)

// solverAgent returns the agent that asks a local model directly. It checks its requirements before the run begins
// (ERR-06).
func (a *App) solverAgent(ctx context.Context, p *project, path string) (chosenAgent, error) {
	s, err := p.solving(p.solver, llm.ExecuteCode)
	if err != nil {
		return chosenAgent{}, err
	}
	tools, err := a.openSolving(ctx, p, s, nil)
	if err != nil {
		return chosenAgent{}, err
	}
	tools.close() // the run may begin much later
	return chosenAgent{name: solver.Name,
		open: func(ctx context.Context, j *store.Journal, r *proc.Reaper) (agents.Agent, func(), error) {
			tools, err := a.openSolving(ctx, p, s, r)
			if err != nil {
				return nil, nil, err
			}
			return solver.New(solver.Config{
				LLM: tools.llm, Model: func(name string) (llm.Model, error) { return tools.router.Pick(llm.ExecuteCode, name) },
				Budget: s.budget, Stages: s.stages, Loops: s.loops, Prompts: tools.solver, Task: p.solver.task,
				Retrieve: tools.finder(j, retrieve.Retrieve), Refine: tools.finder(j, retrieve.Refine),
				Sessions: tools.session, Log: j, Repo: p.repo.Root, Plan: p.givenPlan(path), Now: time.Now,
				Archive: func(ctx context.Context, task string) error {
					return j.ArchiveSession(ctx, p.layout.Sessions(), task, time.Now())
				},
			}), tools.close, nil
		}}, nil
}

// givenPlan returns the path of a plan that the user wrote, or "" for a plan that solve generated from a task.
func (p *project) givenPlan(path string) string {
	name, err := p.planPath(path)
	if err != nil || strings.HasPrefix(name,
		filepath.ToSlash(filepath.Join(filepath.Base(p.layout.Root), filepath.Base(p.layout.Tasks())))+"/") {
		return ""
	}
	return name
}
