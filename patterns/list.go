package patterns

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/proc"
)

// Files lists the files of a tree, relative to dir. In a repository these are the tracked and the untracked but not
// ignored files, else all files. With paths it lists what is below those, even if git ignores all of it; a missing path
// is an error. Third-party code, in folders such as node_modules, is skipped and reported, unless a path names it.
func Files(ctx context.Context, env []string, dir string, paths ...string) (files []string, skipped []Skip, err error) {
	if len(paths) == 0 {
		paths = []string{"."}
	}
	for _, p := range paths {
		root, err := below(dir, p)
		if err != nil {
			return nil, nil, err
		}
		fi, err := os.Stat(filepath.Join(dir, filepath.FromSlash(root)))
		if err != nil {
			return nil, nil, fmt.Errorf("scan %s: %w", p, err)
		}
		if !fi.IsDir() {
			files = append(files, root)
			continue
		}
		all, ok := tracked(ctx, env, dir, root)
		if !ok || len(all) == 0 {
			if all, err = walk(ctx, dir, root); err != nil {
				return nil, nil, err
			}
		}
		for _, f := range all {
			if folder := foreign(root, f); folder != "" {
				skipped = append(skipped, Skip{folder, "third-party code; name the path to scan it"})
				continue
			}
			files = append(files, f)
		}
	}
	slices.SortFunc(skipped, func(a, b Skip) int { return strings.Compare(a.Path, b.Path) })
	return lists.Unique(files), slices.Compact(skipped), nil
}

// below returns a folder or file in dir, relative to it.
func below(dir, name string) (string, error) {
	if !filepath.IsAbs(name) && path.Clean(filepath.ToSlash(name)) == "." {
		return ".", nil
	}
	if filepath.Clean(name) == filepath.Clean(dir) {
		return ".", nil
	}
	return relative(dir, name)
}

// tracked asks git. It returns false if there is no repository.
func tracked(ctx context.Context, env []string, dir, root string) ([]string, bool) {
	quiet := slices.DeleteFunc(slices.Clone(env), func(kv string) bool { return strings.HasPrefix(kv, "GIT_") })
	out, err := proc.Output(ctx, proc.Cmd{
		Args: []string{"git", "-c", "core.fsmonitor=false", "ls-files", "-z", "--cached", "--others", "--exclude-standard",
			"--deduplicate", "--", ":(literal)" + root},
		Dir: dir, Env: append(quiet, "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C"),
	})
	if err != nil {
		return nil, false
	}
	var files []string
	for f := range strings.SplitSeq(string(out), "\x00") {
		// A deleted file that is still in the index cannot be read; a submodule is a separate repository.
		if fi, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(f))); f != "" && err == nil && !fi.IsDir() {
			files = append(files, f)
		}
	}
	return files, true
}

func walk(ctx context.Context, dir, root string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(filepath.Join(dir, filepath.FromSlash(root)),
		func(name string, e fs.DirEntry, err error) error {
			if err != nil {
				return fmt.Errorf("scan %s: %w", name, err)
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			rel, err := filepath.Rel(dir, name)
			if err != nil {
				return err
			}
			rel = filepath.ToSlash(rel)
			switch {
			case e.IsDir() && nothing(e.Name()):
				return fs.SkipDir
			case e.IsDir() && foreign(root, rel+"/x") != "":
				files = append(files, rel+"/…") // one entry for the whole folder
				return fs.SkipDir
			case !e.IsDir():
				files = append(files, rel)
			}
			return nil
		})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // it was removed meanwhile
	}
	return files, err
}

// nothing reports whether a folder has no source and is not reported; git ignores it too.
func nothing(name string) bool {
	return name == ".runplan" || language.NoCode(name) != "" && !language.Vendored(name)
}

// foreign returns the outermost folder around a file, below root, that contains third-party code.
func foreign(root, file string) string {
	folder := language.Outermost(strings.TrimPrefix(file, root+"/"), language.Vendored)
	if folder == "" {
		return ""
	}
	return path.Join(root, folder)
}
