package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/runplan/runplan/tools/scratch"
)

// place is the folder of one case: home, repository, agent, and the output of the run.
type place struct {
	*scratch.Place
	lab  *lab
	c    *attackCase
	repo string
	env  []string // of the run
}

// runner is the agent: it runs the script of its batch. The brief on its standard input is of no use to it.
const runner = `#!/usr/bin/env bash
cat >/dev/null
. %q
for text in "agent-$RUNPLAN_BATCH-$RUNPLAN_ATTEMPT.sh" "agent-$RUNPLAN_BATCH.sh" agent.sh; do
	if [ -f "$AGENT/$text" ]; then
		. "$AGENT/$text"
		exit 0
	fi
done
echo "no script for batch $RUNPLAN_BATCH" >&2
exit 97
`

// lay makes the folder of a case.
func (l *lab) lay(c *attackCase) (*place, error) {
	dir, err := os.MkdirTemp(l.dir, strings.NewReplacer("/", "-", "#", "-").Replace(c.name)+"-")
	if err != nil {
		return nil, err
	}
	p := &place{Place: scratch.At(dir, l.binary), lab: l, c: c, repo: filepath.Join(dir, "work", "repo")}
	home := filepath.Join(dir, "home")
	for _, sub := range []string{"home/runplan", "tmp", "work", "agent", "oracle/home", "flags"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.FromSlash(sub)), 0o755); err != nil {
			return nil, err
		}
	}
	who := "[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = trunk\n"
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(who), 0o644); err != nil {
		return nil, err
	}
	p.Place.Env = slices.DeleteFunc(p.Place.Env, func(kv string) bool {
		return strings.HasPrefix(kv, "PATH=") || strings.HasPrefix(kv, "TMPDIR=") || strings.HasPrefix(kv, "GIT_A") ||
			strings.HasPrefix(kv, "GIT_COMMITTER")
	})
	p.Place.Env = append(p.Place.Env, "PATH="+l.path, "TMPDIR="+filepath.Join(dir, "tmp"), "GOCACHE="+l.gocache,
		"RUNPLAN_GATE_GOCACHE="+l.gates, "GOPROXY=off", "GOTOOLCHAIN=local", "GOTELEMETRY=off", "CGO_ENABLED=0")
	p.Place.Env = append(p.Place.Env, l.toolEnv()...)
	p.env = append(slices.Clone(p.Place.Env), "RUNPLAN_HOME="+filepath.Join(home, "runplan"))
	for _, kv := range c.env {
		p.env = append(p.env, p.fill(kv))
	}
	return p, p.write()
}

// write puts agent, settings and repository into the folder.
func (p *place) write() error {
	agent := filepath.Join(p.Dir, "agent")
	vars := fmt.Sprintf("export CASE=%q AGENT=%q CHECKOUT=%q RUNPLAN=%q MODULES=%q FLAGS=%q\n", p.Dir, agent, p.repo,
		p.lab.binary, p.lab.modulesRoot(), filepath.Join(p.Dir, "flags"))
	files := map[string]string{
		"agent/vars":               vars,
		"agent/run.sh":             fmt.Sprintf(runner, filepath.Join(agent, "vars")),
		"home/runplan/config.toml": p.settings(),
	}
	base := map[string]string{"plan.md": p.plan()}
	for name, text := range p.c.files {
		if inRepo, ok := strings.CutPrefix(name, "base/"); ok {
			base[inRepo] = p.fill(text)
			if text == "DELETED\n" {
				delete(base, inRepo)
			}
			continue
		}
		if strings.HasSuffix(name, ".sh") || strings.HasPrefix(name, "lib/") {
			files["agent/"+strings.TrimPrefix(name, "lib/")] = text
		}
	}
	for name, text := range files {
		mode := os.FileMode(0o644)
		if strings.HasSuffix(name, ".sh") {
			mode = 0o755
		}
		file := filepath.Join(p.Dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(text), mode); err != nil {
			return err
		}
	}
	// The oracle is not in the agent's folder: an agent that searches does not find it.
	if err := os.Rename(filepath.Join(agent, "oracle.sh"), filepath.Join(p.Dir, "oracle", "oracle.sh")); err != nil {
		return err
	}
	_, err := p.Place.Repo(filepath.Join("work", "repo"), base)
	return err
}

var (
	code       = regexp.MustCompile(`\.(?:go|py|[cm]?[jt]sx?|rs|rb|sh)$`)
	aboutTests = regexp.MustCompile(`(?:^|[/_.-])(?:tests?|spec)(?:[/_.-]|$)`)
)

// plan returns the plan of the case. With -files each batch names the code and the tests of the repository.
func (p *place) plan() string {
	text := p.c.files["plan.md"]
	if !p.lab.o.files || strings.Contains(text, "**Files:**") {
		return text
	}
	list := "\n**Files:**\n"
	for _, name := range slices.Sorted(maps.Keys(p.c.files)) {
		file, ok := strings.CutPrefix(name, "base/")
		switch {
		case !ok || !code.MatchString(file) || strings.Contains(file, ".config."):
		case aboutTests.MatchString(file):
			list += "- Test: `" + file + "`\n"
		default:
			list += "- Modify: `" + file + "`\n"
		}
	}
	first, rest, more := strings.Cut(text, "\n## Batch 2:")
	if more {
		rest = "\n## Batch 2:" + rest + list
	}
	return first + list + rest
}

// settings returns the user's configuration: the agent, and the template's additions.
func (p *place) settings() string {
	return fmt.Sprintf(
		"[run]\nagent = \"fake\"\n[agents.fake]\ncommand = [%q]\n[routing]\nworker_mem_threshold_gb = 0.1\n%s",
		filepath.Join(p.Dir, "agent", "run.sh"), p.fill(p.c.files["config.toml"]))
}

// fill inserts the paths of the place into a text of the case.
func (p *place) fill(text string) string {
	return strings.NewReplacer("{{modules}}", p.lab.modulesRoot(), "{{case}}", p.Dir, "{{repo}}", p.repo).Replace(text)
}

// plain is the default command of a case without its own steps.
const plain = "run\n"

// preamble defines the shell functions for the steps of a case.
const preamble = `. %q
cd "$CHECKOUT"
run() { "$RUNPLAN" run plan.md --agent fake --plain --mode %s --max-attempts %s %s "$@" </dev/null; }
# start: run in the background; its process is $pid
start() { "$RUNPLAN" run plan.md --agent fake --plain --mode %s --max-attempts %s %s </dev/null & pid=$!; }
resume() { "$RUNPLAN" resume --plain "$@" </dev/null; }
# wait_for FILE: until it is there, at most 40 s
wait_for() { local n=0; while [ ! -e "$1" ]; do sleep 0.05; n=$((n+1)); [ $n -lt 800 ] || { echo "no $1 after 40 s" >&2; return 1; }; done; }
`

// steps returns the script of what the user does.
func (p *place) steps() string {
	more := ""
	if p.c.mode == "team" {
		more = "--workers 2"
	}
	text := p.c.files["steps.sh"]
	if text == "" {
		text = plain
	}
	return fmt.Sprintf(preamble, filepath.Join(p.Dir, "agent", "vars"), p.c.mode, p.c.attempts, more, p.c.mode,
		p.c.attempts, more) + text
}
