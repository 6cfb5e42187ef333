package cli

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/config"
	"github.com/runplan/runplan/llm"
	"github.com/runplan/runplan/trust"
)

// sees names the variables of the user that a program gets.
func sees(vars []string) string {
	if len(vars) == 0 {
		return ""
	}
	return " (sees " + strings.Join(vars, ", ") + ")"
}

// critiqueExecutables lists the executables that the repository's own settings give to critique.
func (p *Project) critiqueExecutables() []trust.Executable {
	c, file := p.Config, p.Layout.Config()
	if !c.Critique.Enabled || c.Source("critique.enabled") != file && c.Source("critique.reviewer") != file {
		return nil
	}
	return []trust.Executable{{Where: "critique", What: "ask " +
		cmp.Or(c.Critique.Reviewer, "the model of the stage critique") + " about each step of an agent"}}
}

// reviewExecutables lists the programs and remote addresses that the repository's own settings use for reviews.
func (p *Project) reviewExecutables() []trust.Executable {
	c, file := p.Config, p.Layout.Config()
	var out []trust.Executable
	for _, name := range slices.Sorted(maps.Keys(c.Review.Reviewers)) {
		r := c.Review.Reviewers[name]
		key := "review.reviewers." + name
		from := func(k string) bool { return c.Source(key+"."+k) == file }
		switch {
		case r.Provider == llm.Command && (from("provider") || from("command") || from("pass_env")):
			out = append(out, trust.Executable{Where: "reviewer " + name, What: trust.Words(r.Command) + sees(r.PassEnv)})
		case r.BaseURL != "" && from("base_url") && !LoopbackURL(r.BaseURL):
			out = append(out, trust.Executable{Where: "reviewer " + name, What: "ask " + r.BaseURL})
		}
	}
	if c.Review.Online && c.Source("review.online") == file {
		out = append(out, trust.Executable{Where: "security tools",
			What: "ask vuln.go.dev and the npm registry about the project's dependencies"})
	}
	return out
}

// trainerExecutable returns the trainer if the repository's own settings name it.
func (p *Project) trainerExecutable() []trust.Executable {
	c, file := p.Config, p.Layout.Config()
	if len(c.Training.Trainer) == 0 || c.Source("training.trainer") != file && c.Source("training.pass_env") != file {
		return nil
	}
	return []trust.Executable{{Where: "trainer", What: trust.Words(c.Training.Trainer) + sees(c.Training.PassEnv)}}
}

// sandboxText describes the sandbox of an agent. An empty sandbox in the repository can override the one in the user's
// settings.
func sandboxText(a config.Agent) string {
	if a.Sandbox == "" {
		return ""
	}
	text := " [sandbox " + strings.Join(append([]string{a.Sandbox}, a.SandboxCommand...), " ")
	if a.SandboxImage != "" {
		text += " image " + a.SandboxImage
	}
	if len(a.SandboxWrite) > 0 {
		text += " writes " + strings.Join(a.SandboxWrite, ", ")
	}
	return text + "]"
}
