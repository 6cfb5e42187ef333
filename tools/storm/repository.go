package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite" // the journal is checked without the code that wrote it
)

// repository is the repository of one run of the storm.
type repository struct {
	dir     string
	workers int    // that work side by side; 0 is headless mode
	steps   []step // by number, from 1
	agent   string // script or rogue
	sample  bool   // two candidates of each batch compete
	hook    bool   // the repository has a pre-commit hook
	packed  bool   // its refs are packed
	before  map[string]string
}

func (r *repository) variant() string {
	v := "headless, agent " + r.agent
	if r.workers > 0 {
		v = fmt.Sprintf("team of %d, agent %s", r.workers, r.agent)
	}
	if r.sample {
		v += ", tournaments"
	}
	if r.hook {
		v += ", hook"
	}
	if r.packed {
		v += ", packed refs"
	}
	return v
}

// command returns the arguments that start the run.
func (r *repository) command() []string {
	args := []string{"run", "plan.md", "--json"}
	if r.workers > 0 {
		args = append(args, "--mode", "team", "--workers", fmt.Sprint(r.workers))
	} else {
		args = append(args, "--mode", "headless")
	}
	if r.sample {
		args = append(args, "--sample", "2")
	}
	return args
}

// repository makes the next repository, with data of the user: a stash, an untracked file, a hook.
func (s *storm) repository() (*repository, error) {
	r := &repository{agent: []string{"script", "rogue"}[s.rnd.IntN(2)], hook: s.rnd.IntN(2) == 0,
		packed: s.rnd.IntN(2) == 0, steps: steps(s.rnd)}
	team, workers := s.rnd.IntN(2) == 0, 2+s.rnd.IntN(3)
	if s.mode == "team" || s.mode == "both" && team {
		r.workers = workers
	}
	r.sample = s.rnd.IntN(4) == 0 && r.agent == "rogue"
	dir, err := s.place.Repo(fmt.Sprintf("repo-%d", s.runs), map[string]string{
		"plan.md": r.plan(), "tools/rogue.sh": r.rogue(), "tools/look.sh": look, ".gitignore": "build.log\n",
		"README.md":       "storm\n",
		"marks/README.md": "marks\n", "parts/README.md": "parts\n",
		".runplan/config.toml": "[run]\nagent = \"" + r.agent + "\"\n[agents.rogue]\ncommand = [\"tools/rogue.sh\"]\n" +
			"[routing]\nworker_mem_threshold_gb = 0.1\n[sampling]\nsample_min_memory_per_gb = 0.1\n" +
			"[gates]\ndetect = false\n[[gates.command]]\nname = \"look\"\nrun = \"tools/look.sh\"\n",
	})
	if err != nil {
		return nil, err
	}
	r.dir = dir
	changes := [][]string{{"branch", "other"}, {"stash", "push", "--quiet"}}
	if r.packed {
		changes = append(changes, []string{"pack-refs", "--all"})
	}
	if err := os.WriteFile(filepath.Join(dir, "README.md"), []byte("changed\n"), 0o644); err != nil {
		return nil, err
	}
	for _, args := range changes {
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

// journal queries the journal without changing a byte of it.
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

// run returns the id of the run, or "" while the journal has no run.
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
	_ = r.journal("SELECT count(*) FROM events WHERE kind = 'merged' AND body LIKE '%\"outcome\":\"ok\"%'",
		func(rows *sql.Rows) error { return rows.Scan(&n) })
	return n
}
