// Package patterns finds code by its structure, with ast-grep.
//
// A [Rule] is an ast-grep rule: built in, of the user, or of the project. [Scan] checks the given files and returns a
// [Result]: the hits, the suppressed hits with their reasons, and the skipped files with the reasons. ast-grep itself
// reports "clean" for files that it never opened. This package returns a hit, an error or an entry of [Result.Skipped]
// for each of those cases. [Discover] describes how a code base is written.
//
// ast-grep is optional. If it is missing, [Find] returns [ErrMissing]; callers then skip the check with a message. A
// rule that does not compile, or a crash of the program, is an error and never a skip.
package patterns

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/proc"
)

// ErrMissing reports that ast-grep is not installed. It is a reason to skip, not to fail.
var ErrMissing = errors.New("ast-grep is not installed")

// MissingNote is shown if structural analysis was skipped.
const MissingNote = "install ast-grep for structural analysis"

// EnvVar names the program, before PATH is searched.
const EnvVar = "RUNPLAN_AST_GREP"

// KnownGood is the line of versions that rules and parser are tested with.
const KnownGood = "0.51."

const (
	programName  = "ast-grep" // never sg: on many systems that is another program
	versionLimit = 20 * time.Second
	runLimit     = 5 * time.Minute // for one chunk of files
)

// Program is an ast-grep that has answered.
type Program struct {
	Path    string `json:"path"`
	Version string `json:"version"`
	Warning string `json:"warning,omitempty"` // the version was not tested

	// Env is the environment that it runs in, complete.
	Env []string `json:"-"`
	// Limit is the time limit for one chunk of files; 0 is five minutes.
	Limit time.Duration `json:"-"`
	// Scratch is a folder in which scans keep the program's configuration for later ones; nothing that is scanned may be
	// in it. "" makes one for each scan. The caller that sets it removes it.
	Scratch string `json:"-"`
	// Reaper, if not nil, ends the program should this one be killed.
	Reaper *proc.Reaper `json:"-"`

	seen *accepted // [Find] makes it
}

// accepted holds the texts of users' rules that a program has accepted.
type accepted struct {
	mu    sync.Mutex
	rules []string
}

// Found reports whether the program exists. The zero Program does not.
func (p Program) Found() bool { return p.Path != "" }

// Find looks for ast-grep: the configured path or name, else $RUNPLAN_AST_GREP, else ast-grep in the PATH of env.
// [ErrMissing] means that none is configured or installed; a configured one that does not work is another error.
func Find(ctx context.Context, env []string, configured string) (Program, error) {
	named, by := configured, "the configuration"
	if named == "" {
		named, by = proc.Getenv(env, EnvVar), "$"+EnvVar
	}
	name := cmp.Or(named, programName)
	path := lookPath(name, env)
	switch {
	case path == "" && named == "":
		return Program{}, fmt.Errorf("%w: no %s in PATH; %s", ErrMissing, programName, MissingNote)
	case path == "":
		return Program{}, fmt.Errorf(
			"find ast-grep: %s names %s, which does not exist; correct it, or remove it to search PATH", by, named)
	}
	p := Program{Path: path, Env: env, seen: &accepted{}}
	ctx, cancel := context.WithTimeoutCause(ctx, versionLimit,
		fmt.Errorf("%s --version took more than %s", path, versionLimit))
	defer cancel()
	out, err := proc.Output(ctx, proc.Cmd{Args: []string{path, "--version"}, Env: env})
	if err != nil {
		return Program{}, fmt.Errorf("run ast-grep --version: %w; install it again", err)
	}
	version := regexp.MustCompile(`^ast-grep (\d+\.\d+\.\d+\S*)\s*$`).FindStringSubmatch(string(out))
	if version == nil {
		return Program{}, fmt.Errorf("%s is not ast-grep: --version answers %q; name the right one in $%s", path,
			firstLine(string(out)), EnvVar)
	}
	p.Version = version[1]
	if !strings.HasPrefix(p.Version, KnownGood) {
		p.Warning = fmt.Sprintf("ast-grep %s is an untested version; %sx was tested", p.Version, KnownGood)
	}
	return p, nil
}

// lookPath returns the absolute path of a program of env, see [proc.LookPath]; "" means that it is not found.
func lookPath(name string, env []string) string {
	path, err := proc.LookPath(name, env)
	if err != nil {
		return ""
	}
	if path, err = filepath.Abs(path); err != nil {
		return ""
	}
	if fi, err := os.Stat(path); err != nil || !fi.Mode().IsRegular() {
		return ""
	}
	return path
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return phrase.CutBytes(s, 200)
}
