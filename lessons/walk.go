package lessons

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/runplan/runplan/internal/language"
)

// ScanTree scans all files below dir, or below the given paths in it, but not third-party code:
// version control, dependencies and caches are in [Result.Skipped].
func (s *Scanner) ScanTree(ctx context.Context, dir string, below ...string) (Result, error) {
	if len(below) == 0 {
		below = []string{"."}
	}
	return s.run(ctx, dir, func(yield func(string) bool) ([]Skip, error) {
		var skipped []Skip
		for _, root := range below {
			err := filepath.WalkDir(filepath.Join(dir, filepath.FromSlash(root)),
				func(name string, e fs.DirEntry, err error) error {
					if err != nil {
						return fmt.Errorf("read the state of %s: %w", name, err)
					}
					rel := relative(dir, name)
					if e.IsDir() {
						if why := foreignDir(e.Name(), name); why != "" && rel != root && rel != "." {
							skipped = append(skipped, Skip{rel, why})
							return fs.SkipDir
						}
						return nil
					}
					if !yield(rel) {
						return fs.SkipAll
					}
					return nil
				})
			if err != nil {
				return nil, err
			}
		}
		return skipped, nil
	})
}

// relative makes a path below dir relative to it. It is faster than [filepath.Rel].
func relative(dir, name string) string {
	if rest, ok := strings.CutPrefix(name, filepath.Clean(dir)+string(filepath.Separator)); ok {
		return filepath.ToSlash(rest)
	}
	rel, err := filepath.Rel(dir, name)
	if err != nil {
		return filepath.ToSlash(name)
	}
	return filepath.ToSlash(rel)
}

// foreignName returns why a folder with this name contains no code of the project; "" if it may.
func foreignName(name string) string {
	if language.Vendored(name) {
		return "dependencies"
	}
	switch name {
	case ".git", ".hg", ".svn", ".jj":
		return "version control"
	case "__pycache__", ".tox", ".nox", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".gradle", ".next", ".nuxt",
		".terraform", ".cache":
		return "cache"
	}
	return ""
}

// foreignDir also reads the folder, because caches and virtual environments mark themselves.
func foreignDir(base, name string) string {
	if why := foreignName(base); why != "" {
		return why
	}
	switch base {
	case "venv", "env":
		if _, err := os.Stat(filepath.Join(name, "pyvenv.cfg")); err == nil {
			return "dependencies"
		}
	case "target", "build", "dist", "out":
		if _, err := os.Stat(filepath.Join(name, "CACHEDIR.TAG")); err == nil {
			return "cache"
		}
	case "worktrees", "tmp", "logs", "sessions", "reports":
		if filepath.Base(filepath.Dir(name)) == ".runplan" {
			return "runs of runplan"
		}
	}
	return ""
}

// foreign returns the outermost folder of a path that contains no code of the project.
func foreign(file string) (folder, why string) {
	for at := 0; ; {
		i := strings.IndexByte(file[at:], '/')
		if i < 0 {
			return "", ""
		}
		if why := foreignName(path.Base(file[:at+i])); why != "" {
			return file[:at+i], why
		}
		at += i + 1
	}
}

// notText returns why the content of a file is not checked.
func notText(text []byte) string {
	switch {
	case bytes.HasPrefix(text, []byte{0xFF, 0xFE}), bytes.HasPrefix(text, []byte{0xFE, 0xFF}):
		return "UTF-16 text, which is not read"
	case bytes.IndexByte(text[:min(len(text), 8<<10)], 0) >= 0:
		return "binary"
	}
	return ""
}

// generated reports whether the first lines of a file say that a program wrote it.
func generated(text []byte) bool {
	head := text[:min(len(text), 2<<10)]
	for line := range bytes.Lines(head) {
		if bytes.Contains(line, []byte("@generated")) ||
			bytes.Contains(line, []byte("Code generated")) && bytes.Contains(line, []byte("DO NOT EDIT")) {
			return true
		}
	}
	return false
}
