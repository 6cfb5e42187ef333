package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/proc"
)

// OpenReadOnly is [Open] for commands that only read. Git then runs no program from the repository's own configuration
// or hooks folder, and fetches nothing, so an untrusted repository cannot execute code. Programs in the user's own
// configuration still run, for example git-lfs. [Repo.AllowPrograms] ends that.
func OpenReadOnly(ctx context.Context, dir string, env []string) (*Repo, error) {
	r, err := Open(ctx, dir, env)
	if err != nil {
		return nil, err
	}
	list, err := r.programs(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the git configuration of %s: %w", r.Root, err)
	}
	r.plain = r.env
	r.env = append(with(r.env, list), "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none")
	return r, nil
}

// AllowPrograms lets git run the programs in the repository's configuration: filters, hooks, signing. Call it after the
// user has asked for work that needs them, and before concurrent use of the repository.
func (r *Repo) AllowPrograms() {
	if r.plain != nil {
		r.env, r.plain = r.plain, nil
	}
}

// submodules returns the value of --ignore-submodules. Inside submodules git runs programs of their configurations,
// without our settings.
func (r *Repo) submodules() string {
	if r.plain != nil {
		return "dirty"
	}
	return "none"
}

// Status returns the output of git status with args. In a read-only repository, submodules are compared by commit
// alone.
func (r *Repo) Status(ctx context.Context, args ...string) (string, error) {
	return r.Run(ctx, append([]string{"status", "-z", "--ignore-submodules=" + r.submodules()}, args...)...)
}

// programs returns settings that override the repository's settings that name programs.
func (r *Repo) programs(ctx context.Context) ([][2]string, error) {
	list := [][2]string{{"core.fsmonitor", "false"}, {"core.hooksPath", os.DevNull}, {"log.showSignature", "false"}}
	switch named, err := mentionsPrograms(filepath.Join(r.Common, "config"), filepath.Join(r.GitDir, "config.worktree")); {
	case err != nil:
		return nil, err
	case !named:
		return list, nil // saves a process in nearly all repositories
	}
	out, err := r.Run(ctx, "config", "--list", "--show-scope", "--includes", "-z")
	if err != nil {
		return nil, err
	}
	return append(list, neutral(out)...), nil
}

// mentionsPrograms reports whether one of the files may name a program, or include a file that does.
func mentionsPrograms(files ...string) (bool, error) {
	for _, name := range files {
		data, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return false, err
		}
		// which git writes into each repository
		text := strings.ReplaceAll(strings.ToLower(string(data)), "logallrefupdates", "")
		if strings.Contains(text, "include") ||
			slices.ContainsFunc(programNames(), func(n string) bool { return strings.Contains(text, n) }) {
			return true, nil
		}
	}
	return false, nil
}

// programNames returns the suffixes of settings whose values are programs, or which enable programs. Git neither splits
// such a name over two lines nor writes it with escapes.
func programNames() []string {
	return []string{
		"clean", "smudge", "process", "required", "textconv", "external", "driver", "command", "cmd", "program", "helper",
		"hook", "hookspath", "fsmonitor", "editor", "pager", "askpass", "proxy", "uploadpack", "receivepack", "vcs", "tunnel",
		"difffilter", "update", "transferagent", "customtransfer", "alias",
	}
}

// neutral parses the output of git config: scope, NUL, key, line feed, value, NUL. For each program that the repository
// configures it returns a setting: the user's own value, or one that runs nothing.
func neutral(listing string) [][2]string {
	fields := strings.Split(listing, "\x00")
	users, foreign := map[string]string{}, []string{}
	for i := 0; i+1 < len(fields); i += 2 {
		key, value, _ := strings.Cut(fields[i+1], "\n")
		switch scope := fields[i]; {
		case scope != "local" && scope != "worktree":
			users[key] = value
		case namesProgram(key):
			foreign = append(foreign, key)
		}
	}
	var list [][2]string
	for _, key := range lists.Unique(foreign) {
		value, ok := users[key]
		if !ok {
			value = nothing(key)
		}
		list = append(list, [2]string{key, value})
		// a filter that is required and does nothing is an error
		if name, end := cutLast(key); strings.HasPrefix(key, "filter.") && end != "required" {
			if _, ok := users[name+".required"]; !ok {
				list = append(list, [2]string{name + ".required", "false"})
			}
		}
	}
	return list
}

// namesProgram reports whether the value of a setting is a program, or switches one on. Git prints the section and the
// name in lower case.
func namesProgram(key string) bool {
	if section, _, _ := strings.Cut(key, "."); slices.Contains([]string{"alias", "pager", "hook"}, section) ||
		strings.HasPrefix(key, "lfs.customtransfer.") {
		return true
	}
	_, name := cutLast(key)
	return slices.ContainsFunc(programNames(), func(end string) bool { return strings.HasSuffix(name, end) })
}

// nothing returns the value with which a setting runs nothing, or only a program that copies its input.
func nothing(key string) string {
	section, _, _ := strings.Cut(key, ".")
	_, name := cutLast(key)
	switch {
	case name == "required", name == "fsmonitor", name == "driver", section == "pager":
		return "false"
	case name == "hookspath":
		return os.DevNull
	case name == "textconv", name == "pager":
		return "cat"
	case name == "editor":
		return ":"
	case name == "update":
		return "none"
	}
	return ""
}

func cutLast(key string) (before, after string) {
	i := strings.LastIndexByte(key, '.')
	return key[:max(i, 0)], key[i+1:]
}

// submodulesApart lists the submodules that git add would enter in a read-only repository, and puts their commits
// into the index of env. Reading these commits needs no program.
func (r *Repo) submodulesApart(ctx context.Context, env []string) ([]string, error) {
	if r.plain == nil {
		return nil, nil
	}
	list, err := call(ctx, r.Root, env, nil, "ls-files", "--stage", "-z")
	if err != nil {
		return nil, err
	}
	var apart []string
	for entry := range strings.SplitSeq(string(list), "\x00") {
		meta, path, _ := strings.Cut(entry, "\t")
		dir := filepath.Join(r.Root, filepath.FromSlash(path))
		if !strings.HasPrefix(meta, modeGitlink+" ") || !exists(filepath.Join(dir, ".git")) {
			continue
		}
		head, err := call(ctx, dir, env, nil, "rev-parse", "--verify", "HEAD")
		if err != nil {
			return nil, err
		}
		if _, err := call(ctx, r.Root, env, nil, "update-index", "--cacheinfo",
			modeGitlink+","+strings.TrimSpace(string(head))+","+path); err != nil {
			return nil, err
		}
		apart = append(apart, path)
	}
	return apart, nil
}

// ErrShut reports that a folder is unreadable even after a change of its permissions; usually it belongs to another
// user.
var ErrShut = errors.New("the folder cannot be read; give this user access to it, remove it, or add it to .gitignore")

// loosen restores the permissions of files and folders below dir that programs took from their own user, as some caches
// and tests do: git can neither read nor remove such files. It does not follow links. It returns their number, and the
// folders that are still unreadable, as slash-separated paths below dir.
func loosen(dir string) (n int, shut []string) {
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			if name, rerr := filepath.Rel(dir, path); rerr == nil && d != nil && d.IsDir() {
				shut = append(shut, filepath.ToSlash(name))
			}
			return nil // a later access reports the error
		}
		var least fs.FileMode
		switch {
		case d.IsDir():
			least = 0o700 // before it is read
		case d.Type().IsRegular():
			least = 0o400
		}
		if info, err := d.Info(); err == nil && info.Mode()&least != least && os.Chmod(path, info.Mode()|least) == nil {
			n++
		}
		return nil
	})
	return n, shut
}

// force is [Workspace.Run] for commands that must reach all files, even with restrictive permissions. Git skips
// unreadable folders with a localised message and exits with 0. Here that is an error that wraps [ErrShut].
func (w *Workspace) force(ctx context.Context, args ...string) error {
	said, err := w.complaints(ctx, args...)
	if err == nil && len(said) == 0 {
		return nil
	}
	n, shut := loosen(w.Dir)
	if n > 0 {
		said, err = w.complaints(ctx, args...)
	}
	if err != nil || len(said) == 0 || len(shut) == 0 {
		return err
	}
	ignored, err := w.Ignored(ctx, shut)
	if err != nil {
		return err
	}
	for _, name := range shut {
		if !ignored[name] {
			return fmt.Errorf("%s: %w", name, ErrShut)
		}
	}
	return nil
}

// complaints runs git like [Workspace.Run] and returns its standard error.
func (w *Workspace) complaints(ctx context.Context, args ...string) ([]byte, error) {
	_, said, err := proc.Outputs(context.WithoutCancel(ctx),
		proc.Cmd{Args: append([]string{"git"}, args...), Dir: w.Dir, Env: w.env})
	return said, err
}

// RemoveAll is [os.RemoveAll] that also removes folders with restrictive permissions.
func RemoveAll(dir string) error {
	err := os.RemoveAll(dir)
	if err == nil {
		return nil
	}
	if n, _ := loosen(dir); n > 0 {
		err = os.RemoveAll(dir)
	}
	return err
}

// Special is a file that git neither commits nor removes, and that may block programs that read a tree.
type Special struct {
	Path   string // in the workspace, with slashes
	Kind   string // "named pipe", "socket" or "device"
	Socket bool   // a stopped server leaves one
}

// DropSpecial removes named pipes, sockets and devices from the workspace and returns them. It skips installed
// packages, which are in no commit.
func (w *Workspace) DropSpecial() (found []Special, err error) {
	var left []error
	walk := func() {
		left = nil
		filepath.WalkDir(w.Dir, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return nil // git prints this for unreadable paths
			case d.IsDir() && (language.Installed(d.Name()) || path == filepath.Join(w.Dir, ".git")):
				return fs.SkipDir
			case d.Type()&(fs.ModeNamedPipe|fs.ModeSocket|fs.ModeDevice) == 0:
				return nil
			}
			rel, err := filepath.Rel(w.Dir, path)
			if err == nil {
				err = os.Remove(path)
			}
			if err != nil {
				left = append(left, err)
				return nil
			}
			found = append(found, special(filepath.ToSlash(rel), d.Type()))
			return nil
		})
	}
	if walk(); len(left) > 0 {
		loosen(w.Dir)
		walk()
	}
	return found, failed(errors.Join(left...), "remove special files from %s", w.Dir)
}

func special(path string, mode fs.FileMode) Special {
	switch {
	case mode&fs.ModeNamedPipe != 0:
		return Special{path, "named pipe", false}
	case mode&fs.ModeSocket != 0:
		return Special{path, "socket", true}
	}
	return Special{path, "device", false}
}

// clean removes special files, and all files that are neither in the index nor ignored.
func (w *Workspace) clean(ctx context.Context) error {
	if _, err := w.DropSpecial(); err != nil {
		return err
	}
	return w.force(ctx, "clean", "-ffdq")
}
