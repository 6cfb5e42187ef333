package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// commits checks that each batch has one commit, after those it needs, with the right content, and that the gate passes
// on each.
func (s *storm) commits(r *repository) {
	out, err := s.place.Git(r.dir, "log", "--reverse",
		"--format=%H %(trailers:key=Runplan-Batch,valueonly,separator=%x2C) %P", "trunk..runplan/plan/main")
	if err != nil {
		s.violation(r, "%v", err)
		return
	}
	lines := strings.Split(out, "\n")
	if len(lines) != batches {
		s.violation(r, "%d commits for %d batches: %s", len(lines), batches, out)
	}
	there := map[int]bool{}
	for i, line := range lines {
		f := strings.Fields(line)
		if len(f) != 3 {
			s.violation(r, "commit %d belongs to no batch, or does not have exactly one parent: %s", i+1, line)
			continue
		}
		n, err := strconv.Atoi(f[1])
		switch {
		case err != nil || n < 1 || n > batches || there[n]:
			s.violation(r, "commit %d belongs to no batch, or to one that already has a commit: %s", i+1, line)
			continue
		case r.workers == 0 && n != i+1:
			s.violation(r, "commit %d belongs to batch %d", i+1, n)
		}
		for _, need := range r.steps[n].needs {
			if !there[need] {
				s.violation(r, "batch %d is on the branch before batch %d, which it needs", n, need)
			}
		}
		there[n] = true
		changed, err := s.place.Git(r.dir, "diff-tree", "--no-commit-id", "--name-only", "-r", f[0])
		if want := strings.Join(r.changes(n), "\n"); err != nil || changed != want {
			s.violation(r, "commit of batch %d changes %q, not %q (%v)", n, changed, want, err)
		}
		s.good(r, f[0], n)
	}
	s.content(r)
}

// good runs the gate on a single commit.
func (s *storm) good(r *repository, commit string, n int) {
	dir, err := os.MkdirTemp(s.place.Dir, "look-")
	if err != nil {
		s.violation(r, "%v", err)
		return
	}
	defer os.RemoveAll(dir)
	index := filepath.Join(s.place.Dir, "look.index") // not the user's
	defer os.Remove(index)
	checkout := s.place.Command(r.dir, "git", "--work-tree="+dir, "read-tree", "-u", "--reset", commit)
	checkout.Env = append(slices.Clone(s.place.Env), "GIT_INDEX_FILE="+index)
	look := exec.Command("tools/look.sh")
	look.Dir, look.Env = dir, append(slices.Clone(s.place.Env), "STORM_LOOKS=1")
	for _, cmd := range []*exec.Cmd{checkout, look} {
		var said bytes.Buffer
		cmd.Stdout, cmd.Stderr = &said, &said
		if err := cmd.Run(); err != nil {
			s.violation(r, "the commit of batch %d does not pass the gate: %v: %s", n, err, tail(said.String()))
			return
		}
	}
}

// content checks that the run branch has exactly the files of the plan.
func (s *storm) content(r *repository) {
	show := func(path string) string {
		text, err := s.place.Git(r.dir, "show", "runplan/plan/main:"+path)
		if err != nil {
			s.violation(r, "%v", err)
		}
		return text
	}
	want := []string{".gitignore", ".runplan/config.toml", "README.md", "marks/README.md", "pair.txt", "parts/README.md",
		"plan.md", "tools/look.sh", "tools/rogue.sh"}
	var order, pair []string
	for n := 1; n <= batches; n++ {
		name := fmt.Sprint(n)
		want = append(want, "marks/"+name+".txt", "parts/"+name+".txt")
		order = append(order, name)
		if r.steps[n].pair {
			pair = append(pair, name)
		}
		if part, mark := show("parts/"+name+".txt"), show("marks/"+name+".txt"); part != "part "+name || mark != name {
			s.violation(r, "part %d holds %q, its mark %q", n, part, mark)
		}
	}
	if r.workers == 0 {
		want = append(want, "order.txt")
		if got := show("order.txt"); got != strings.Join(order, "\n") {
			s.violation(r, "the batches were carried out as %q", got)
		}
	}
	got := strings.Split(show("pair.txt"), "\n")
	slices.Sort(got)
	if slices.Sort(pair); !slices.Equal(got, pair) {
		s.violation(r, "pair.txt holds %q, not %q", got, pair)
	}
	slices.Sort(want)
	names, err := s.place.Git(r.dir, "ls-tree", "-r", "--name-only", "runplan/plan/main")
	if all := strings.Split(names, "\n"); err != nil || !slices.Equal(slices.Sorted(slices.Values(all)), want) {
		s.violation(r, "the run branch holds %q, not %q (%v)", all, want, err)
	}
}
