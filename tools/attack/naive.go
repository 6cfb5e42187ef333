package main

import (
	"os"
	"path/filepath"
	"strings"
	"time"
)

// naive runs the case against the simplest gate: only the exit code of the test command, in the folder in which the
// agent worked. A cheat that does not even deceive that one proves nothing.
func (p *place) naive(r *result) {
	out := filepath.Join(p.Dir, "output")
	env := append(p.env, "GIT_AUTHOR_NAME=Ada", "CI=true")
	for _, batch := range p.c.batches() {
		script := filepath.Join(p.Dir, "agent", "run.sh") +
			" </dev/null && git add --all && git commit --quiet --allow-empty --no-verify --message=batch"
		code, hung, err := p.bash(script, p.repo, append(env, "RUNPLAN_BATCH="+batch, "RUNPLAN_ATTEMPT=1", "RUNPLAN_RUN=0"),
			out, p.limit())
		if r.exit, r.hung = code, r.hung || hung; err != nil || code != 0 {
			r.fault = "the agent of batch " + batch + " failed"
			return
		}
	}
	script := p.c.files["config.toml"]
	setup := ""
	for line := range strings.Lines(script) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), "setup = "); ok {
			setup = strings.Trim(p.fill(text), "'\"") + " && "
		}
	}
	code, hung, err := p.bash(setup+p.c.files["test.sh"], p.repo, env, out, time.Minute)
	if err != nil {
		r.fault = err.Error()
	}
	r.exit, r.hung, r.merged = code, r.hung || hung, true
	text, _ := os.ReadFile(out) // it is only shown
	r.said = last(string(text), 500)
	clone := filepath.Join(p.Dir, "oracle", "clone")
	if said, err := p.clean(p.Dir, "clone", "--quiet", "--no-local", p.repo, clone); err != nil {
		r.oracle = "clone: " + said
		return
	}
	r.oracle = p.ask(r, clone)
}
