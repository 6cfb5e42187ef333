// Package git runs git as a program: list arguments, NUL-separated paths, no prompts, no pager.
//
// A [Repo] is the user's repository. It is only read, except for refs under a prefix of the caller. A [Workspace] is a
// linked worktree. Commands always name its git folder, so a command in a workspace without .git never affects the
// repository around it.
package git

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/runplan/runplan/internal/proc"
)

// The reasons why a repository cannot be used.
var (
	ErrNotRepo   = errors.New("not inside a git repository")
	ErrNoCommits = errors.New("the repository has no commits yet")

	// These are an ErrNotRepo as well: runplan cannot work there.
	ErrBare    = fmt.Errorf("%w with files: this one is bare", ErrNotRepo)
	ErrForeign = fmt.Errorf("%w of this user; git refuses repositories of other users", ErrNotRepo)
)

// Repo is the user's repository.
type Repo struct {
	Root   string // top of the working tree
	GitDir string // folder of this checkout's HEAD and index
	Common string // folder that all worktrees share
	env    []string
	plain  []string // env without the guards for a read-only repository; nil without guards

	objects objects
}

// Open opens the repository that contains dir. env is the complete environment for git.
func Open(ctx context.Context, dir string, env []string) (*Repo, error) {
	r := &Repo{env: quiet(env)}
	out, err := r.at(ctx, dir, nil, "rev-parse", "--show-toplevel", "--absolute-git-dir", "--git-common-dir",
		"--show-object-format")
	if err != nil {
		if errors.Is(err, proc.ErrNotFound) {
			return nil, err
		}
		return nil, fmt.Errorf("open %s: %w: %s", dir, r.refusal(ctx, dir, err), strings.TrimSpace(lastLine(err)))
	}
	lines := strings.Split(strings.TrimRight(string(out), "\n"), "\n")
	if len(lines) != 4 {
		return nil, fmt.Errorf("open %s: git rev-parse answered %q", dir, out)
	}
	r.Root, r.GitDir, r.Common = lines[0], lines[1], lines[2]
	r.objects.nameSize = 2 * map[string]int{"sha1": sha1.Size, "sha256": sha256.Size}[lines[3]]
	if !filepath.IsAbs(r.Common) {
		// git resolves links: ".." after a symbolic link is another folder for it.
		if dir, err = filepath.EvalSymlinks(dir); err != nil {
			return nil, fmt.Errorf("open %s: %w", dir, err)
		}
		r.Common = filepath.Join(dir, r.Common)
	}
	return r, nil
}

// refusal returns why git does not work in dir, according to the error.
func (r *Repo) refusal(ctx context.Context, dir string, err error) error {
	if strings.Contains(err.Error(), "safe.directory") { // the setting's name appears in any language
		return ErrForeign
	}
	if bare, err := r.at(ctx, dir, nil, "rev-parse", "--is-bare-repository"); err == nil &&
		strings.TrimSpace(string(bare)) == "true" {
		return ErrBare
	}
	return ErrNotRepo
}

// quiet returns env with settings for git without a terminal.
func quiet(env []string) []string {
	out := make([]string, 0, len(env)+6)
	for _, kv := range env {
		switch name, _, _ := strings.Cut(kv, "="); name {
		case "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX", "GIT_EDITOR", "GIT_NAMESPACE",
			"GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_QUARANTINE_PATH", "GIT_SHALLOW_FILE",
			"GIT_GRAFT_FILE":
			// These are set if a hook calls runplan; they would change the meaning of pathspecs in every command.
		case "GIT_LITERAL_PATHSPECS", "GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS":
			// They would change the meaning of paths in our commands.
		default:
			out = append(out, kv)
		}
	}
	return NoUpkeep(append(out, "GIT_TERMINAL_PROMPT=0", "GIT_EDITOR=:", "GIT_OPTIONAL_LOCKS=0",
		"GIT_NO_REPLACE_OBJECTS=1", "LC_MESSAGES=C", "LANGUAGE=", "GIT_PAGER=cat"))
}

func (r *Repo) at(ctx context.Context, dir string, stdin io.Reader, args ...string) ([]byte, error) {
	return call(ctx, dir, r.env, stdin, args...)
}

// call runs git. git commands are short. A killed git leaves lock files, so even a cancelled run waits for it.
func call(ctx context.Context, dir string, env []string, stdin io.Reader, args ...string) ([]byte, error) {
	return proc.Output(context.WithoutCancel(ctx),
		proc.Cmd{Args: append([]string{"git"}, args...), Dir: dir, Env: env, Stdin: stdin})
}

// Run runs git in the user's checkout and returns its output without the last line feed.
func (r *Repo) Run(ctx context.Context, args ...string) (string, error) {
	out, err := r.at(ctx, r.Root, nil, args...)
	return strings.TrimRight(string(out), "\n"), err
}

// Input is [Repo.Run] with text on standard input.
func (r *Repo) Input(ctx context.Context, stdin string, args ...string) (string, error) {
	out, err := r.at(ctx, r.Root, strings.NewReader(stdin), args...)
	return strings.TrimRight(string(out), "\n"), err
}

// Env returns the environment that git is run with.
func (r *Repo) Env() []string { return r.env }

// CheckedOut returns the worktree in which a branch is checked out, or "".
func (r *Repo) CheckedOut(ctx context.Context, branch string) (string, error) {
	list, err := r.Run(ctx, "worktree", "list", "--porcelain")
	if err != nil {
		return "", err
	}
	var dir string
	for line := range strings.SplitSeq(list, "\n") {
		if at, ok := strings.CutPrefix(line, "worktree "); ok {
			dir = at
		}
		if line != "branch refs/heads/"+branch {
			continue
		}
		if _, err := os.Stat(dir); err == nil { // git still lists worktrees that were deleted by hand
			return dir, nil
		}
	}
	return "", nil
}

// Head returns the commit that is checked out, and the branch ("" when HEAD is detached).
func (r *Repo) Head(ctx context.Context) (commit, branch string, err error) {
	if commit, branch, ok := r.readHead(); ok {
		return commit, branch, nil
	}
	commit, err = r.Run(ctx, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	if err != nil {
		return "", "", fmt.Errorf("%s: %w", r.Root, ErrNoCommits)
	}
	ref, err := r.Run(ctx, "symbolic-ref", "--quiet", "HEAD")
	if err != nil {
		return commit, "", nil // detached
	}
	return commit, strings.TrimPrefix(ref, "refs/heads/"), nil // git's own short form is longer if a tag has that name
}

// Dirty returns the changed and untracked paths of the user's checkout. It does not change the index.
func (r *Repo) Dirty(ctx context.Context) (changed, untracked []string, err error) {
	out, err := r.at(ctx, r.Root, nil, "status", "--porcelain", "-z", "--untracked-files=normal", "--ignore-submodules="+
		r.submodules())
	if err != nil {
		return nil, nil, fmt.Errorf("read the state of %s: %w", r.Root, err)
	}
	fields := bytes.Split(out, []byte{0})
	for i := 0; i < len(fields); i++ {
		f := string(fields[i])
		switch {
		case len(f) < 4:
		case f[:2] == "??":
			untracked = append(untracked, f[3:])
		default:
			changed = append(changed, f[3:])
			if strings.ContainsAny(f[:2], "RC") {
				i++ // the old name follows
			}
		}
	}
	return changed, untracked, nil
}

// Resolve returns the commit of a ref, or "" if the ref does not exist.
func (r *Repo) Resolve(ctx context.Context, ref string) (string, error) {
	if name, ok := strings.CutPrefix(ref, "refs/heads/"); ok && !r.reftable() {
		if hash, err := r.branch(name); err != nil || !strings.HasPrefix(hash, "ref:") {
			return hash, err
		}
	}
	out, err := r.Run(ctx, "rev-parse", "--verify", "--quiet", ref+"^{commit}")
	if exitStatus(err) == 1 {
		return "", nil
	}
	return out, err
}

// IsAncestor reports whether commit old is part of the history of commit of.
func (r *Repo) IsAncestor(ctx context.Context, old, of string) (bool, error) {
	_, err := r.Run(ctx, "merge-base", "--is-ancestor", old, of)
	if exitStatus(err) == 1 {
		return false, nil
	}
	return err == nil, err
}

// RefUpdate is one line of a transaction over refs. Old "" does not check the old value; New "" deletes the ref.
type RefUpdate struct{ Ref, New, Old string }

// UpdateRefs changes refs in one transaction: either all of them or none.
func (r *Repo) UpdateRefs(ctx context.Context, updates ...RefUpdate) error {
	var b strings.Builder
	for _, u := range updates {
		switch {
		case u.New == "":
			fmt.Fprintf(&b, "delete %s\x00%s\x00", u.Ref, u.Old)
		default:
			fmt.Fprintf(&b, "update %s\x00%s\x00%s\x00", u.Ref, u.New, u.Old)
		}
	}
	_, err := r.at(ctx, r.Root, strings.NewReader(b.String()), "update-ref", "--stdin", "-z", "--no-deref", "-m",
		"runplan")
	return err
}

// Branches returns the local branches under prefix with their commits.
func (r *Repo) Branches(ctx context.Context, prefix string) (map[string]string, error) {
	return r.under(ctx, "refs/heads/", prefix)
}

// under lists the refs whose names begin with kind and prefix; the names omit kind.
func (r *Repo) under(ctx context.Context, kind, prefix string) (map[string]string, error) {
	out, err := r.Run(ctx, "for-each-ref", "--format=%(refname)%00%(objectname)", kind+prefix)
	if err != nil {
		return nil, err
	}
	refs := map[string]string{}
	for line := range strings.Lines(out) {
		if name, hash, ok := strings.Cut(strings.TrimSpace(line), "\x00"); ok {
			refs[strings.TrimPrefix(name, kind)] = hash
		}
	}
	return refs, nil
}

// PushRemote returns the remote to push to: the preferred one if it exists, else origin, else the first one; "" if
// there is none.
func (r *Repo) PushRemote(ctx context.Context, preferred string) (string, error) {
	out, err := r.Run(ctx, "remote")
	if err != nil {
		return "", err
	}
	names := strings.Fields(out)
	for _, want := range []string{preferred, "origin"} {
		if slices.Contains(names, want) {
			return want, nil
		}
	}
	return cmp.Or(names...), nil
}

// failed returns err with a text before it that says what failed, or nil for a nil err.
func failed(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), err)
}

// lastLine returns git's own message, without the command around it.
func lastLine(err error) string {
	var exit *proc.ExitError
	if !errors.As(err, &exit) {
		return err.Error()
	}
	text := strings.TrimSpace(exit.Stderr)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// exists reports whether path exists, as a file of any kind.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Clone makes a clone of the repository at url, with nothing checked out. dir must not be there.
func Clone(ctx context.Context, url, dir string, env []string) error {
	_, err := proc.Output(ctx, proc.Cmd{
		Args: []string{"git", "clone", "--quiet", "--no-checkout", "--no-tags", "--", url, dir}, Dir: filepath.Dir(dir),
		Env: quiet(env),
	})
	return failed(err, "clone the shared repository")
}

// NoUpkeep returns env with settings that turn off automatic maintenance. They override those in env. It would run in
// the background, where nothing waits for it. If it is killed, it leaves a lock in the user's repository that blocks
// all later maintenance.
func NoUpkeep(env []string) []string {
	return with(env, [][2]string{{"maintenance.auto", "false"}, {"gc.auto", "0"}, {"gc.autoDetach", "false"},
		{"maintenance.autoDetach", "false"}})
}

// with returns env with settings for git that override those in env.
func with(env []string, settings [][2]string) []string {
	last := map[string]string{}
	for _, kv := range env {
		if name, value, ok := strings.Cut(kv, "="); ok && strings.HasPrefix(name, "GIT_CONFIG_") {
			last[name] = value
		}
	}
	count := 0
	if text, ok := last["GIT_CONFIG_COUNT"]; ok && text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return env // git refuses to run with it, and reports the reason
		}
		count = n
	}
	is := map[string]string{} // by key, as git has it
	for i := range count {
		is[strings.ToLower(last[fmt.Sprintf("GIT_CONFIG_KEY_%d", i)])] = last[fmt.Sprintf("GIT_CONFIG_VALUE_%d", i)]
	}
	var add []string
	for _, s := range settings {
		if value, ok := is[strings.ToLower(s[0])]; !ok || value != s[1] {
			add = append(add, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", count, s[0]),
				fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", count, s[1]))
			count++
		}
	}
	if len(add) == 0 {
		return env
	}
	out := make([]string, 0, len(env)+len(add)+1)
	for _, kv := range env {
		if !strings.HasPrefix(kv, "GIT_CONFIG_COUNT=") {
			out = append(out, kv)
		}
	}
	return append(append(out, add...), fmt.Sprintf("GIT_CONFIG_COUNT=%d", count))
}

// UpkeepLock returns the path of the file that exists during background maintenance.
func (r *Repo) UpkeepLock() string { return filepath.Join(r.Common, "objects", "maintenance.lock") }

// HasUpkeepLock reports whether git maintenance runs in the background now, or was killed while it ran.
func (r *Repo) HasUpkeepLock() bool { _, err := os.Lstat(r.UpkeepLock()); return err == nil }

// Stash is one entry of the list of stashes, which all worktrees share.
type Stash struct{ Hash, Message string }

// Stashes returns the list, oldest first. It is read from the file that git keeps it in.
func (r *Repo) Stashes() ([]Stash, error) {
	data, err := os.ReadFile(filepath.Join(r.Common, "logs", "refs", "stash"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the stashes of %s: %w", r.Root, err)
	}
	var list []Stash
	for line := range strings.Lines(string(data)) {
		head, message, _ := strings.Cut(strings.TrimRight(line, "\n"), "\t")
		if f := strings.Fields(head); len(f) > 1 {
			list = append(list, Stash{f[1], message})
		}
	}
	return list, nil
}
