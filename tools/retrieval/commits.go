package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/runplan/runplan/internal/language"
)

// Bounds of the commits that are tasks.
const (
	maxChanged = 12 // files of code that a commit changes; a larger one is a move or a format
	minWords   = 3  // words of the message
	minBefore  = 10 // commits before it
)

// task is one commit.
type task struct {
	hash, parent string
	message      string
	at           int // place in the history, oldest first
	files        []changedFile
}

// changedFile is an existing code file that the commit changed.
type changedFile struct {
	path  string
	lines []int // lines of the parent that were removed or replaced, or between which lines were added
}

func run(dir string, args ...string) (string, error) {
	cmd := exec.Command("git",
		append([]string{"-c", "core.quotePath=false", "-c", "advice.detachedHead=false"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C")
	var errText strings.Builder
	cmd.Stderr = &errText
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(errText.String()))
	}
	return string(out), nil
}

// clone makes a checkout of a source that shares its objects.
func clone(s source, dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	args := []string{"clone", "-q", "-n"}
	if !strings.HasSuffix(s.path, ".bundle") {
		args = append(args, "--shared")
	}
	_, err := run(filepath.Dir(dir), append(args, s.path, dir)...)
	return err
}

var (
	botRE  = regexp.MustCompile(`(?i)^(?:bump|release|version|v?\d+\.\d+|prepare|merge|update (?:version|changelog|readme|dependenc)|chore\(deps|build\(deps|\[pre-commit|wip\b|typo|format|lint|prettier)`)
	wordRE = regexp.MustCompile(`[\pL][\pL\d_]+`)
)

// tasks draws commits of a history by seed: those that change a few code files, have a descriptive message, and are
// neither a release nor a reformatting.
func tasks(dir string, n int, seed uint64) ([]task, error) {
	out, err := run(dir, "log", "--no-merges", "--topo-order", "--reverse", "--format=%H%x00%P%x00%B%x01", "HEAD")
	if err != nil {
		return nil, err
	}
	var all []task
	for i, record := range strings.Split(out, "\x01") {
		f := strings.SplitN(strings.TrimLeft(record, "\n"), "\x00", 3)
		if len(f) != 3 || len(f[1]) < 40 || strings.Contains(f[1], " ") {
			continue
		}
		all = append(all, task{hash: f[0], parent: f[1], message: strings.TrimSpace(f[2]), at: i})
	}
	rng := rand.New(rand.NewPCG(seed, 7))
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	var chosen []task
	for _, t := range all {
		if len(chosen) == n {
			break
		}
		first, _, _ := strings.Cut(t.message, "\n")
		if t.at < minBefore || botRE.MatchString(first) || len(wordRE.FindAllString(t.message, -1)) < minWords {
			continue
		}
		if t.files, err = changes(dir, t.parent, t.hash); err != nil {
			return nil, err
		}
		if len(t.files) > 0 && len(t.files) <= maxChanged {
			chosen = append(chosen, t)
		}
	}
	slices.SortFunc(chosen, func(a, b task) int { return a.at - b.at })
	return chosen, nil
}

var hunkRE = regexp.MustCompile(`^@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@`)

// changes returns the code files that a commit modifies.
func changes(dir, parent, hash string) ([]changedFile, error) {
	out, err := run(dir, "diff", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color", "-U0", "--diff-filter=M",
		parent, hash)
	if err != nil {
		return nil, err
	}
	var files []changedFile
	for _, line := range strings.Split(out, "\n") {
		if name, ok := strings.CutPrefix(line, "--- a/"); ok {
			files = append(files, changedFile{path: strings.TrimSuffix(name, "\t")})
			continue
		}
		m := hunkRE.FindStringSubmatch(line)
		if m == nil || len(files) == 0 {
			continue
		}
		f := &files[len(files)-1]
		from, _ := strconv.Atoi(m[1])
		count := 1
		if m[2] != "" {
			count, _ = strconv.Atoi(m[2])
		}
		if count == 0 {
			f.lines = append(f.lines, -from) // between from and from+1
		}
		for i := range count {
			f.lines = append(f.lines, from+i)
		}
	}
	return slices.DeleteFunc(files, func(f changedFile) bool { return !language.IsCode(f.path) || language.Built(f.path) }), nil
}
