package edit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/runplan/runplan/internal/redact"
)

// ErrUnsafePath reports that a path must not be written: it leads out of the workspace, or into files of git or
// runplan.
var ErrUnsafePath = errors.New("path refused")

// SafePath returns the path of p below root. It refuses paths that may lead elsewhere: absolute paths, "..", drive
// letters and symbolic links that lead out. It also refuses everything in .git or .runplan.
func SafePath(root, p string) (string, error) {
	parts, err := lexical(p)
	if err != nil {
		return "", err
	}
	path := filepath.Join(root, filepath.Join(parts...))
	if why := checkLinks(root, parts); why != "" {
		return "", refused(p, why)
	}
	return path, nil
}

// Lexical makes the checks of [SafePath] that need no disk access.
func Lexical(p string) error {
	_, err := lexical(p)
	return err
}

func refused(p, why string) error { return fmt.Errorf("%w: %q %s", ErrUnsafePath, p, why) }

// lexical returns the parts of a path that stays below its starting point.
func lexical(p string) ([]string, error) {
	refuse := func(why string) ([]string, error) { return nil, refused(p, why) }
	switch {
	case p == "":
		return refuse("is empty")
	case strings.ContainsFunc(p, unicode.IsControl):
		return refuse("contains a control character")
	case strings.Contains(p, `\`):
		return refuse("contains a backslash; use forward slashes")
	case strings.HasPrefix(p, "/"):
		return refuse("is absolute; name it relative to the workspace")
	case len(p) >= 2 && p[1] == ':' && unicode.IsLetter(rune(p[0])):
		return refuse("has a drive letter")
	}
	var parts []string
	for part := range strings.SplitSeq(p, "/") {
		switch {
		case part == "" || part == ".":
		case part == "..":
			return refuse("leads upwards")
		case isGitDir(part):
			return refuse("belongs to git")
		case len(parts) == 0 && strings.EqualFold(part, ".runplan"):
			return refuse("belongs to runplan")
		default:
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		return refuse("names no file")
	}
	return parts, nil
}

// isGitDir reports whether file systems that fold case, drop trailing dots or ignore invisible characters resolve a
// name to .git.
func isGitDir(part string) bool {
	part = strings.Map(func(r rune) rune {
		if redact.Hidden(0, r, 0) {
			return -1
		}
		return r
	}, part)
	part, _, _ = strings.Cut(part, ":") // .git::$INDEX_ALLOCATION
	part = strings.TrimRight(part, ". ")
	return strings.EqualFold(part, ".git") || strings.EqualFold(part, "git~1")
}

// checkLinks follows the links in the path and returns why the path is not safe, if it is not.
func checkLinks(root string, parts []string) string {
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		return "is in a workspace that no longer exists"
	}
	at := real
	for i, part := range parts {
		at = filepath.Join(at, part)
		fi, err := os.Lstat(at)
		if errors.Is(err, fs.ErrNotExist) {
			return "" // a missing path is not a link
		}
		if err != nil {
			return "cannot be checked: " + err.Error()
		}
		if fi.Mode()&fs.ModeSymlink == 0 {
			if i < len(parts)-1 && !fi.IsDir() {
				return "goes through " + part + ", which is a file"
			}
			continue
		}
		if at, err = filepath.EvalSymlinks(at); err != nil {
			return "goes through the link " + part + ", whose target does not exist"
		}
		rel, err := filepath.Rel(real, at)
		if err != nil || !filepath.IsLocal(rel) {
			return "goes through the link " + part + ", which leads out of the workspace"
		}
		for j, s := range strings.Split(filepath.ToSlash(rel), "/") {
			if isGitDir(s) || j == 0 && strings.EqualFold(s, ".runplan") {
				return "goes through the link " + part + ", which leads into " + s
			}
		}
	}
	return ""
}
