// Package links finds symbolic links that lead out of a tree. A program that uses such a path reads a file that is not
// in any commit and differs between machines.
//
//	rule          found in                                                    severity
//	link-outside  a new or changed link that is absolute or leaves the tree   error
//	              … whose target a link of the base had already               info
package links

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/language"
)

// New makes the gate.
func New() gates.Gate {
	info := gates.Info{Name: "links", Kind: gates.Static, Cost: gates.Instant, Blocking: true, Compares: true}
	return gates.New(info, func(ctx context.Context, l *gates.Look) error {
		files, ok, err := l.Changed(ctx, nil)
		if err != nil || !ok {
			return err
		}
		known := map[string]bool{} // targets of existing links; a link may move
		for _, f := range files {
			if outside(path.Dir(f.Path), f.Before) {
				known[f.Before] = f.Link || f.Status == gates.Deleted
			}
		}
		s := l.Subject()
		for _, f := range files {
			if !f.Link || f.Status == gates.Deleted {
				continue
			}
			why := judge(s.Dir, f.Path, f.After)
			if why == "" {
				continue
			}
			found := gates.Finding{Rule: "link-outside", Path: f.Path, Severity: gates.Error,
				Message: fmt.Sprintf("the link leads to %q, %s", f.After, why),
				Fix:     "copy the file into the tree, or link to a file of the tree by a relative path"}
			switch {
			case known[f.After]:
				found.Severity = gates.Note
			case s.Literal:
				found.Severity = gates.Warning
			}
			l.Find(found)
		}
		return nil
	})
}

// judge returns why the target of a link is outside the tree, or "".
func judge(dir, link, target string) string {
	switch {
	case absolute(target):
		return "which is an absolute path"
	case outside(path.Dir(link), target):
		return "which is not in the tree"
	case strayed(dir, link):
		return "which leaves the tree through another link"
	}
	return ""
}

// absolute also recognizes Windows paths, because the tree may be checked out there.
func absolute(target string) bool {
	return path.IsAbs(target) || strings.HasPrefix(target, `\`) || len(target) > 1 && target[1] == ':'
}

// outside reports whether target, seen from the folder of a link, is absolute or leaves the tree by its text alone.
func outside(from, target string) bool {
	to := path.Join(from, strings.ReplaceAll(target, `\`, "/"))
	return target != "" && !strings.Contains(target, "\n") &&
		(absolute(target) || to == ".." || strings.HasPrefix(to, "../"))
}

// maxSteps bounds how many links are followed, like Linux does.
const maxSteps = 40

// strayed follows a link in the tree at dir and reports whether it leaves the tree through other links. It stops at
// folders of installed packages, whose content is not part of the tree.
func strayed(dir, link string) bool {
	at, rest := "", strings.Split(link, "/")
	for steps := 0; len(rest) > 0 && steps < maxSteps; {
		part := rest[0]
		rest = rest[1:]
		switch {
		case part == "" || part == ".":
			continue
		case part == "..":
			if at == "" {
				return true
			}
			if at = path.Dir(at); at == "." {
				at = ""
			}
			continue
		case language.Installed(part):
			return false
		}
		next := path.Join(at, part)
		target, err := os.Readlink(filepath.Join(dir, filepath.FromSlash(next)))
		if err != nil { // not a link, or missing
			if errors.Is(err, fs.ErrNotExist) {
				return outside(next, strings.Join(rest, "/"))
			}
			at = next
			continue
		}
		if absolute(target) {
			return true
		}
		rest = append(strings.Split(filepath.ToSlash(target), "/"), rest...)
		steps++
	}
	return false
}
