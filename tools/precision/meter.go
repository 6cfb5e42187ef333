package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/runplan/runplan/tools/scratch"
)

// finding is a finding in the JSON output of the review.
type finding struct {
	Rule, Path, Severity, Message string
	Line                          int
	Known                         bool
	Added                         bool `json:"-"` // its line was added, or it concerns a whole file
}

// place returns the place of the finding in the notation of the judgements.
func (f finding) place() string {
	if f.Line > 0 {
		return f.Path + ":" + strconv.Itoa(f.Line)
	}
	return f.Path
}

// look is the result for one commit.
type look struct {
	history, commit string
	blocked         bool
	findings        []finding
}

// meter runs runplan on commits.
type meter struct {
	o      options
	dir    string // for the home of runplan and its program
	binary string
	env    []string
}

func newMeter(o options) (*meter, error) {
	dir, err := os.MkdirTemp("", "runplan-precision-")
	if err != nil {
		return nil, err
	}
	if o.cache == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return nil, err
		}
		o.cache = filepath.Join(cache, "runplan-precision")
	}
	if err := os.MkdirAll(o.cache, 0o755); err != nil {
		return nil, err
	}
	m := &meter{o: o, dir: dir, binary: o.binary}
	if m.binary == "" {
		m.binary = filepath.Join(dir, "runplan")
		if err := scratch.Build(m.binary); err != nil {
			return nil, err
		}
	}
	if m.binary, err = filepath.Abs(m.binary); err != nil {
		return nil, err
	}
	// Linters and tests are the projects' own and need their dependencies. Nothing else is turned off.
	if err := os.WriteFile(filepath.Join(dir, "config.toml"), []byte("[gates]\ndetect = false\n"), 0o644); err != nil {
		return nil, err
	}
	m.env = []string{"HOME=" + dir, "RUNPLAN_HOME=" + dir, "PATH=" + searchPath(), "LANG=C.UTF-8"}
	return m, nil
}

// searchPath returns the search path with the tools of this clone, so that the patterns have ast-grep.
func searchPath() string {
	path := os.Getenv("PATH")
	if tools, err := filepath.Abs(filepath.Join("bin", "tools")); err == nil {
		path = tools + string(os.PathListSeparator) + path
	}
	return path
}

func (m *meter) close() { os.RemoveAll(m.dir) }

// all checks the sample of each history.
func (m *meter) all(list []history) ([]look, error) {
	results := make([][]look, len(list))
	errs := make([]error, len(list))
	turn := make(chan struct{}, max(1, m.o.parallel))
	var group sync.WaitGroup
	for i, h := range list {
		group.Go(func() {
			turn <- struct{}{}
			defer func() { <-turn }()
			if results[i], errs[i] = m.history(h); errs[i] != nil {
				errs[i] = fmt.Errorf("%s: %w", h.name, errs[i])
			}
		})
	}
	group.Wait()
	var out []look
	for _, r := range results {
		out = append(out, r...)
	}
	return out, errors.Join(errs...)
}

func (m *meter) history(h history) ([]look, error) {
	dir, err := h.clone(m.o.cache)
	if err != nil {
		return nil, err
	}
	commits := []string{m.o.commit}
	switch {
	case m.o.whole:
		commits = []string{tip}
	case m.o.commit == "":
		if commits, err = draw(dir, m.o.seed); err != nil {
			return nil, err
		}
	}
	var out []look
	missing := 0
	for _, c := range commits {
		if len(out) == m.o.n || missing > 2*m.o.n {
			break
		}
		if !checkOut(dir, c) {
			missing++ // a clone may lack files that were too large
			continue
		}
		name := c
		if m.o.whole {
			if name, err = wholeChange(dir); err != nil {
				return nil, err
			}
		}
		l, err := m.commit(h, dir, name)
		if err != nil {
			return nil, fmt.Errorf("commit %s: %w", c, err)
		}
		out = append(out, l)
	}
	fmt.Fprintln(os.Stderr, summaryOf(h, out))
	return out, nil
}

// summaryOf summarizes the results of a history, as progress output.
func summaryOf(h history, looks []look) string {
	blocked, warnings := 0, 0
	for _, l := range looks {
		if l.blocked {
			blocked++
		}
		for _, f := range l.findings {
			if f.Severity == "warning" && !f.Known {
				warnings++
			}
		}
	}
	return fmt.Sprintf("%s: %d commits, %d blocked, %d warnings", h.name, len(looks), blocked, warnings)
}

// wholeChange makes HEAD a commit that adds all files of the checked-out commit, and returns the name of that commit.
func wholeChange(dir string) (string, error) {
	identity := []string{"-c", "user.name=precision", "-c", "user.email=precision@localhost"}
	run := func(args ...string) (string, error) {
		out, err := git(dir, append(slices.Clone(identity), args...)...)
		return strings.TrimSpace(out), err
	}
	name, err := run("rev-parse", "HEAD")
	if err != nil {
		return "", err
	}
	empty, err := run("hash-object", "-w", "-t", "tree", "/dev/null")
	if err != nil {
		return "", err
	}
	parent, err := run("commit-tree", "-m", "nothing", empty)
	if err != nil {
		return "", err
	}
	all, err := run("commit-tree", "-m", "everything", "-p", parent, "HEAD^{tree}")
	if err != nil {
		return "", err
	}
	_, err = run("update-ref", "--no-deref", "HEAD", all)
	return name, err
}

// checkOut makes dir a clean checkout of a commit.
func checkOut(dir, commit string) bool {
	_, err := git(dir, "checkout", "-q", "--force", "--detach", commit)
	if err == nil {
		_, err = git(dir, "clean", "-fdxq")
	}
	return err == nil
}

// commit checks the checked-out commit.
func (m *meter) commit(h history, dir, commit string) (look, error) {
	l := look{history: h.name, commit: commit[:min(12, len(commit))]}
	added, err := addedLines(dir)
	if err != nil {
		return l, err
	}
	cmd := exec.Command(m.binary, "review", "--base", "HEAD~1", "--only", "1,4,5", "--json", "--no-cache")
	cmd.Dir, cmd.Env = dir, m.env
	var said bytes.Buffer
	cmd.Stderr = &said
	out, failed := cmd.Output()
	if failed != nil && cmd.ProcessState.ExitCode() == 2 && strings.Contains(said.String(), "trust") { // own settings
		return l, nil
	}
	var review struct {
		Passes []struct{ Findings []finding }
	}
	if err := json.Unmarshal(out, &review); err != nil {
		return l, fmt.Errorf("runplan review: %w: %s", failed, said.String())
	}
	for _, p := range review.Passes {
		for _, f := range p.Findings {
			f.Added = f.Line == 0 || added[f.Path][f.Line]
			l.findings = append(l.findings, f)
			l.blocked = l.blocked || f.Severity == "error" && !f.Known
		}
	}
	return l, nil
}

// addedLines returns the lines of each file that the commit at HEAD added or touched.
func addedLines(dir string) (map[string]map[int]bool, error) {
	out, err := git(dir, "-c", "core.quotePath=false", "diff", "-U0", "--no-color", "--no-ext-diff", "--no-renames",
		"--no-prefix", "HEAD~1", "HEAD")
	if err != nil {
		return nil, err
	}
	lines := map[string]map[int]bool{}
	file := ""
	for l := range strings.Lines(out) {
		l = strings.TrimRight(l, "\r\n")
		if name, ok := strings.CutPrefix(l, "+++ "); ok {
			file = strings.TrimSuffix(name, "\t")
			lines[file] = map[int]bool{}
			continue
		}
		if !strings.HasPrefix(l, "@@ ") {
			continue
		}
		_, now, _ := strings.Cut(l, "+")
		now, _, _ = strings.Cut(now, " ")
		first, count, many := strings.Cut(now, ",")
		from, _ := strconv.Atoi(first)
		n := 1
		if many {
			n, _ = strconv.Atoi(count)
		}
		for i := range n {
			lines[file][from+i] = true
		}
	}
	return lines, nil
}
