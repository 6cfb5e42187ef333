package cli

import (
	"os"
	"path"
	"path/filepath"

	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/trace"
)

// StatedRequirements returns the requirements near the plan that a run stores.
func StatedRequirements(p *Project, a *App, name string, plan *planparse.Plan,
	text []byte) []runner.RequirementInfo {
	hidden := []byte(a.Redactor(p).String(string(text)))
	return Stated(p, a, name, hidden).Info(plan, hidden)
}

// Stated reads the requirements of a plan from the documents near it. Links must not lead out of the repository, or
// out of the plan's folder if the plan is outside.
func Stated(p *Project, a *App, plan string, text []byte) trace.Stated {
	dir, name := p.Repo.Root, plan
	if filepath.IsAbs(plan) {
		dir, name = filepath.Dir(plan), path.Base(filepath.ToSlash(plan))
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return trace.Stated{}
	}
	defer root.Close()
	return trace.Read(root.FS(), name, text, a.Redactor(p).String)
}
