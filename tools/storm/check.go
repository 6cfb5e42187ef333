package main

import (
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// check verifies everything that a finished run promises.
func (s *storm) check(r *repository) {
	s.commits(r)
	s.strays(r)
	s.childless(r)
	s.journalSound(r)
	s.receipts(r)
	after, err := s.snapshot(r)
	if err != nil {
		s.violation(r, "read the checkout: %v", err)
	}
	for name, was := range r.before {
		if after[name] != was {
			s.violation(r, "the user's checkout was touched: %s was %.80q, is %.80q", name, was, after[name])
		}
	}
	for name := range after {
		if _, ok := r.before[name]; !ok {
			s.violation(r, "the user's checkout was touched: %s is new", name)
		}
	}
}

// strays: no worktree, branch, lock or file is left over, and git finds no fault.
func (s *storm) strays(r *repository) {
	if out, err := s.place.Git(r.dir, "worktree", "list", "--porcelain"); err != nil ||
		strings.Count(out, "worktree ") != 1 {
		s.violation(r, "worktrees are left: %q (%v)", out, err)
	}
	out, err := s.place.Git(r.dir, "for-each-ref", "--format=%(refname)", "refs/heads")
	if want := "refs/heads/other\nrefs/heads/runplan/plan/main\nrefs/heads/trunk"; err != nil || out != want {
		s.violation(r, "branches are left: %q (%v)", out, err)
	}
	if out, err := s.place.Git(r.dir, "fsck", "--full", "--no-dangling", "--no-progress"); err != nil || out != "" {
		s.violation(r, "git fsck: %q (%v)", out, err)
	}
	_ = filepath.WalkDir(filepath.Join(r.dir, ".git"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".lock") {
			s.violation(r, "a lock file is left: %s", path)
		}
		return nil
	})
	for _, dir := range []string{"worktrees", "tmp"} {
		entries, err := os.ReadDir(filepath.Join(r.dir, ".runplan", dir))
		if err == nil && len(entries) > 0 {
			s.violation(r, ".runplan/%s is not empty: %v", dir, entries)
		}
	}
	_ = filepath.WalkDir(filepath.Join(r.dir, ".runplan"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(d.Name(), ".tmp") {
			s.violation(r, "a temporary file is left: %s", path)
		}
		return nil
	})
	locks, _ := filepath.Glob(filepath.Join(r.dir, ".runplan", "locks", "*"))
	for _, path := range locks {
		f, err := os.Open(path)
		if err != nil {
			s.violation(r, "%v", err)
			continue
		}
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
			s.violation(r, "%s is still held", path)
		}
		f.Close()
	}
}

// childless waits until no process of the run is alive. It may take the reaper a moment.
func (s *storm) childless(r *repository) {
	var left []string
	for until := time.Now().Add(4 * time.Second); time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		if left = s.processes(r); len(left) == 0 {
			return
		}
	}
	s.violation(r, "processes outlived the run: %s", strings.Join(left, "; "))
}

// processes lists the processes that work in the repository or carry the tag of its run.
func (s *storm) processes(r *repository) []string {
	var out []string
	run := r.run()
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		cwd, err := os.Readlink(filepath.Join(dir, "cwd"))
		if err != nil {
			continue // ended, or not ours
		}
		environ, _ := os.ReadFile(filepath.Join(dir, "environ"))
		if cwd != r.dir && !strings.HasPrefix(cwd, r.dir+"/") &&
			(run == "" || !strings.Contains(string(environ), "RUNPLAN_RUN="+run)) {
			continue
		}
		line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		if len(line) > 0 { // otherwise it has ended and waits to be reaped
			out = append(out, filepath.Base(dir)+" "+strings.ReplaceAll(strings.Trim(string(line), "\x00"), "\x00", " "))
		}
	}
	return out
}

func (s *storm) journalSound(r *repository) {
	verdict := ""
	if err := r.journal("PRAGMA integrity_check", func(rows *sql.Rows) error { return rows.Scan(&verdict) }); err != nil ||
		verdict != "ok" {
		s.violation(r, "integrity_check: %q (%v)", verdict, err)
	}
	events, err := r.events()
	if err != nil {
		s.violation(r, "read the journal: %v", err)
		return
	}
	merges := map[string]int{}
	for i, e := range events {
		if e.Seq != i+1 {
			s.violation(r, "event %d of the journal has the number %d", i+1, e.Seq)
			break
		}
	}
	for _, e := range events {
		if e.Kind == "merged" && e.Outcome == "ok" {
			merges[e.Batch]++
		}
	}
	for n := 1; n <= batches; n++ {
		if merges[fmt.Sprint(n)] != 1 {
			s.violation(r, "the journal has batch %d merged %d times", n, merges[fmt.Sprint(n)])
		}
	}
	if last := events[len(events)-1]; last.Kind != "run.finished" || last.Outcome != "ok" {
		s.violation(r, "the journal ends with %s %s", last.Kind, last.Outcome)
	}
}

// receipts compares the receipts with the journal and git.
func (s *storm) receipts(r *repository) {
	events, _ := r.events() // journalSound has reported an error
	for _, e := range events {
		if e.Kind != "merged" || e.Outcome != "ok" {
			continue
		}
		data, err := os.ReadFile(filepath.Join(r.dir, ".runplan", filepath.FromSlash(e.Receipt)))
		if err != nil {
			s.violation(r, "batch %s has no receipt: %v", e.Batch, err)
			continue
		}
		var receipt struct{ Batch, Base, Head, Tree string }
		if err := json.Unmarshal(data, &receipt); err != nil {
			s.violation(r, "receipt of batch %s: %v", e.Batch, err)
			continue
		}
		if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != e.Fingerprint {
			s.violation(r, "the receipt of batch %s is not the one in the journal", e.Batch)
		}
		got, err := s.place.Git(r.dir, "log", "-1", "--format=%H %T %P", receipt.Head)
		if want := receipt.Head + " " + receipt.Tree + " " + receipt.Base; err != nil || got != want ||
			receipt.Batch != e.Batch || receipt.Head != e.Commit {
			s.violation(r, "the receipt of batch %s says %s, git says %s (%v)", e.Batch, want, got, err)
		}
	}
}

// snapshot returns all that a run may not touch: files, index, HEAD, configuration, hooks, stash, other branches.
func (s *storm) snapshot(r *repository) (map[string]string, error) {
	out := map[string]string{}
	add := func(path string) error {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		info, err := os.Stat(path)
		sum := sha256.Sum256(data)
		rel, _ := filepath.Rel(r.dir, path)
		out[rel] = fmt.Sprintf("%x %v", sum, info.Mode())
		return err
	}
	err := filepath.WalkDir(r.dir, func(path string, d fs.DirEntry, err error) error {
		switch rel, _ := filepath.Rel(r.dir, path); {
		case err != nil:
			return err
		case rel == ".git":
			return fs.SkipDir
		case d.IsDir() && filepath.Dir(rel) == ".runplan":
			return fs.SkipDir
		case d.IsDir() || filepath.Dir(rel) == ".runplan" && d.Name() != "config.toml":
			return nil
		}
		return add(path)
	})
	if err != nil {
		return nil, err
	}
	names := []string{"HEAD", "index", "config", "logs/refs/stash"}
	hooks, _ := filepath.Glob(filepath.Join(r.dir, ".git", "hooks", "*"))
	for _, h := range hooks {
		names = append(names, filepath.Join("hooks", filepath.Base(h)))
	}
	for _, name := range names {
		if err := add(filepath.Join(r.dir, ".git", name)); err != nil {
			return nil, err
		}
	}
	refs, err := s.place.Git(r.dir, "for-each-ref", "--format=%(refname) %(objectname)")
	if err != nil {
		return nil, err
	}
	others := slices.DeleteFunc(strings.Split(refs, "\n"),
		func(l string) bool { return strings.HasPrefix(l, "refs/heads/runplan/") })
	out["refs"] = strings.Join(others, "\n")
	return out, nil
}
