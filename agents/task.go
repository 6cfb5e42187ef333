package agents

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/runplan/runplan/internal/redact"
)

// Environ returns the environment of a program that works on t: t.Env, the variables of this attempt, and extra,
// which has priority.
func (t Task) Environ(extra ...string) []string {
	add := []string{
		"RUNPLAN_RUN=" + t.Run,
		"RUNPLAN_BATCH=" + t.Batch.Key,
		"RUNPLAN_ATTEMPT=" + strconv.Itoa(t.Attempt),
		"RUNPLAN_VARIANT=" + t.Variant,
		"RUNPLAN_MODEL=" + t.Model,
		// git must not look for a repository above the workspace: that would be the user's own.
		"GIT_CEILING_DIRECTORIES=" + filepath.Dir(t.Dir),
		"PWD=" + t.Dir,
	}
	if t.TempDir != "" {
		add = append(add, "TMPDIR="+t.TempDir)
	}
	add = append(add, extra...)
	set := map[string]bool{}
	for _, kv := range add {
		name, _, _ := strings.Cut(kv, "=")
		set[name] = true
	}
	env := slices.DeleteFunc(slices.Clone(t.Env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return set[name]
	})
	return append(env, add...)
}

// CheckDir returns an error if the workspace does not exist.
func (t Task) CheckDir() error {
	switch fi, err := os.Stat(t.Dir); {
	case t.Dir == "" || !filepath.IsAbs(t.Dir):
		return fmt.Errorf("workspace %q: its path must be absolute", t.Dir)
	case err != nil:
		return fmt.Errorf("workspace: %w", err)
	case !fi.IsDir():
		return fmt.Errorf("workspace %s is not a folder", t.Dir)
	}
	return nil
}

const (
	maxDetail      = 8 << 10
	maxDetailLines = 60
)

// Tail makes a [Result.Detail] of output: its last lines, without control codes.
func Tail(output string) string {
	if len(output) > 4*maxDetail {
		output = output[len(output)-4*maxDetail:]
	}
	output = strings.TrimSpace(redact.Clean(strings.ReplaceAll(output, "\r\n", "\n")))
	if len(output) > maxDetail {
		output = strings.ToValidUTF8(output[len(output)-maxDetail:], "")
		if _, rest, ok := strings.Cut(output, "\n"); ok {
			output = rest
		}
	}
	lines := strings.Split(output, "\n")
	return strings.Join(lines[max(0, len(lines)-maxDetailLines):], "\n")
}
