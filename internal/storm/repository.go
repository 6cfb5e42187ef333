package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the journal is looked at without the code that wrote it
)

// batches is the length of the plan, lastBatch the key of the last one.
const (
	batches   = 12
	lastBatch = "12"
)

// repository is what one run of the storm works in.
type repository struct {
	dir    string
	agent  string // script or rogue
	hook   bool   // the repository has a pre-commit hook
	packed bool   // its refs are packed
	before map[string]string
}

func (r *repository) variant() string {
	v := "agent " + r.agent
	if r.hook {
		v += ", hook"
	}
	if r.packed {
		v += ", packed refs"
	}
	return v
}

// plan has batches that write files, run shell blocks, check commands, and leave children behind: in their
// group, and out of it.
func plan() string {
	var b strings.Builder
	b.WriteString("# Storm\n\n")
	fence := func(info, text string) { fmt.Fprintf(&b, "```%s\n%s```\n\n", info, text) }
	for n := 1; n <= batches; n++ {
		fmt.Fprintf(&b, "## Batch %d: Part %d\n\n### Task %d: Write part %d\n\n", n, n, n, n)
		fence(fmt.Sprintf("text file=parts/%d.txt", n), fmt.Sprintf("part %d\n", n))
		switch n % 3 {
		case 0:
			fence("sh", fmt.Sprintf("echo %d >> order.txt\n", n))
			fmt.Fprintf(&b, "Run: `grep -c . order.txt`\nExpected: PASS\n\n")
		case 1:
			fence("sh", fmt.Sprintf("sleep 60 &\nsetsid sleep 60 >/dev/null 2>&1 &\n(trap '' TERM; sleep 3; echo late > late.txt) &\necho %d >> order.txt\nsleep 0.03\n", n))
		case 2:
			fence("sh", fmt.Sprintf("echo %d >> order.txt\nsleep 0.05\necho cache > build.log\n", n))
		}
	}
	return b.String()
}

// rogue does the same as the plan says, and commits by itself every other time, now and then on a branch of its own.
const rogue = `#!/usr/bin/env bash
set -eu
n=$RUNPLAN_BATCH
echo "working on $n"
mkdir -p parts
echo "part $n" > "parts/$n.txt"
echo "$n" >> order.txt
setsid sleep 60 >/dev/null 2>&1 &
sleep 60 &
if [ $((n % 6)) = 5 ]; then git checkout -q -b "mine-$n"; git add -A; git commit -q -m "mine $n"; fi
if [ $((n % 2)) = 0 ]; then git add -A; git commit -q -m "mine $n"; fi
echo cache > build.log
sleep 0.04
`

// look is the gate: no batch may have been carried out twice.
const look = `#!/usr/bin/env bash
set -eu
sleep 60 &
test "$(wc -l < order.txt)" = "$(sort -un order.txt | wc -l)"
sleep 0.02
`

// repository makes the next one. There is something of the user's in it: a stash, an untracked file, a hook.
func (s *storm) repository() (*repository, error) {
	r := &repository{agent: []string{"script", "rogue"}[s.rnd.IntN(2)], hook: s.rnd.IntN(2) == 0, packed: s.rnd.IntN(2) == 0}
	dir, err := s.place.Repo(fmt.Sprintf("repo-%d", s.runs), map[string]string{
		"plan.md": plan(), "tools/rogue.sh": rogue, "tools/look.sh": look, ".gitignore": "build.log\n", "README.md": "storm\n",
		".runplan/config.toml": "[run]\nagent = \"" + r.agent + "\"\n[agents.rogue]\ncommand = [\"tools/rogue.sh\"]\n" +
			"[gates]\ndetect = false\n[[gates.command]]\nname = \"look\"\nrun = \"tools/look.sh\"\n",
	})
	if err != nil {
		return nil, err
	}
	r.dir = dir
	steps := [][]string{{"branch", "other"}, {"stash", "push", "--quiet"}}
	if r.packed {
		steps = append(steps, []string{"pack-refs", "--all"})
	}
	if err := os.WriteFile(filepath.Join(dir, "README.md"), []byte("changed\n"), 0o644); err != nil {
		return nil, err
	}
	for _, args := range steps {
		if _, err := s.place.Git(dir, args...); err != nil {
			return nil, err
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "mine.txt"), []byte("not git's\n"), 0o644); err != nil {
		return nil, err
	}
	if r.hook {
		hook := filepath.Join(dir, ".git", "hooks", "pre-commit")
		if err := os.MkdirAll(filepath.Dir(hook), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(hook, []byte("#!/bin/sh\nsleep 0.03\n"), 0o755); err != nil {
			return nil, err
		}
	}
	r.before, err = s.snapshot(r)
	return r, err
}

// journal reads from the journal as it lies there, without changing a byte of it.
func (r *repository) journal(query string, row func(*sql.Rows) error) error {
	path := filepath.Join(r.dir, ".runplan", "raw.sqlite")
	if _, err := os.Stat(path); err != nil {
		return err
	}
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro&_pragma=busy_timeout(5000)")
	if err != nil {
		return err
	}
	defer db.Close()
	rows, err := db.Query(query)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// run is the id of the run, or "" while the journal has none.
func (r *repository) run() string {
	var id string
	_ = r.journal("SELECT run FROM runs", func(rows *sql.Rows) error { return rows.Scan(&id) }) // no journal yet
	return id
}

func (r *repository) events() ([]event, error) {
	var out []event
	err := r.journal("SELECT body FROM events ORDER BY seq", func(rows *sql.Rows) error {
		var body []byte
		if err := rows.Scan(&body); err != nil {
			return err
		}
		var e event
		if err := json.Unmarshal(body, &e); err != nil {
			return err
		}
		out = append(out, e)
		return nil
	})
	return out, err
}

// merged counts the batches that the journal has as merged.
func (r *repository) merged() int {
	n := 0
	_ = r.journal("SELECT count(*) FROM events WHERE kind = 'merged' AND body LIKE '%\"outcome\":\"ok\"%'", func(rows *sql.Rows) error { return rows.Scan(&n) })
	return n
}

func phases() []string {
	return []string{"before the journal", "start", "resume", "checkout", "agent", "gate", "commit", "merge", "tidy", "after the end"}
}

// phase tells what the run was doing when it was killed, by the last thing that the journal knows.
func (r *repository) phase() string {
	events, err := r.events()
	if err != nil || len(events) == 0 {
		return phases()[0]
	}
	last := events[len(events)-1]
	since := last.At
	stage := ""
	for i := len(events) - 1; i >= 0 && stage == ""; i-- {
		switch e := events[i]; e.Kind {
		case "run.finished":
			stage = "after the end"
		case "dispatched":
			stage = e.stage()
			last = e
		case "merged":
			if e.Batch == lastBatch {
				stage = "tidy"
			}
		}
	}
	if stage == "execute" {
		// The brief is written once the workspace is ready.
		brief := filepath.Join(r.dir, ".runplan", "logs", r.run(), last.Batch+"-a1", "brief.md")
		if info, err := os.Stat(brief); err != nil || info.ModTime().Before(since.Truncate(time.Millisecond)) {
			return "checkout"
		}
		return "agent"
	}
	if stage == "" {
		return "start"
	}
	return stage
}
